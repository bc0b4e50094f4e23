#pragma once

#include <cstdint>
#include <string>

/// Dense linear algebra of OpenBLAS, for float and double. All matrices are row-major and packed.
namespace amct::kernels {

using Index = std::int64_t;
enum class Transpose : bool { kNo, kYes };

/// c[m, n] = alpha * op(a)[m, k] * op(b)[k, n] + beta * c. `a` is stored as [m, k], or [k, m] when
/// transposed; `b` as [k, n], or [n, k].
void gemm(Transpose ta, Transpose tb, Index m, Index n, Index k, float alpha, const float* a,
          const float* b, float beta, float* c);
void gemm(Transpose ta, Transpose tb, Index m, Index n, Index k, double alpha, const double* a,
          const double* b, double beta, double* c);

/// Lower triangle of c[n, n] = a[n, k] * a^T + beta * c.
void gram(Index n, Index k, const float* a, float beta, float* c);
void gram(Index n, Index k, const double* a, double beta, double* c);

/// a[n, n], of which the lower triangle is read and written, becomes its Cholesky factor; false
/// when it is not positive definite to working precision.
bool cholesky(Index n, float* a);
bool cholesky(Index n, double* a);

/// x[n, k] = lower^-1 * x, with a lower triangular matrix [n, n].
void solve_lower(Index n, Index k, const float* lower, float* x);
void solve_lower(Index n, Index k, const double* lower, double* x);

/// The same with the transposed matrix: x[n, k] = lower^-T * x.
void solve_lower_transposed(Index n, Index k, const float* lower, float* x);
void solve_lower_transposed(Index n, Index k, const double* lower, double* x);

/// Makes the n rows of x[n, k], n <= k, orthonormal by Householder reflections: safe for every x.
void orthonormalize_rows(Index n, Index k, float* x);
void orthonormalize_rows(Index n, Index k, double* x);

/// Eigenvalues of a symmetric a[n, n] (lower triangle read), ascending. With `vectors`, row i of a
/// becomes the eigenvector of value i; otherwise a is destroyed. False when it does not converge.
bool symmetric_eigen(Index n, float* a, bool vectors, float* values);
bool symmetric_eigen(Index n, double* a, bool vectors, double* values);

/// Singular values of a[m, n], m <= n, descending, and the left vectors as the rows of ut[m, m].
/// Destroys a. False when it does not converge.
bool left_singular_vectors(Index m, Index n, double* a, double* values, double* ut);

/// Sets the number of threads of OpenBLAS, for the whole process, and restores it at the end.
class BlasThreads {
 public:
  explicit BlasThreads(int threads);
  ~BlasThreads();
  BlasThreads(const BlasThreads&) = delete;
  BlasThreads& operator=(const BlasThreads&) = delete;

 private:
  int before_;
};

/// Version, kernel in use and threads, for the log.
std::string blas_description();

}  // namespace amct::kernels
