#include "amct/kernels/linear_algebra.h"

#include <cblas.h>
#include <fmt/core.h>
#include <lapacke.h>

#include <algorithm>
#include <vector>

#include "amct/base/assert.h"

#define AMCT_BLAS_JOIN2(prefix, name) prefix##name
#define AMCT_BLAS_JOIN(prefix, name) AMCT_BLAS_JOIN2(prefix, name)
#define AMCT_BLAS(name) AMCT_BLAS_JOIN(AMCT_BLAS_PREFIX, name)

namespace amct::kernels {
namespace {

int narrow(Index n) {
  AMCT_ASSERT(n >= 0 && n <= 0x7FFFFFFF);
  return static_cast<int>(n);
}

CBLAS_TRANSPOSE flag(Transpose t) { return t == Transpose::kYes ? CblasTrans : CblasNoTrans; }

// LAPACK counts columns first, so the rows of a row-major matrix are the columns it sees, and the
// lower triangle is its upper one. Its own row-major mode would copy and transpose.
constexpr int kLayout = LAPACK_COL_MAJOR;
constexpr char kLowerTriangle = 'U';

}  // namespace

void gemm(Transpose ta, Transpose tb, Index m, Index n, Index k, float alpha, const float* a,
          const float* b, float beta, float* c) {
  AMCT_BLAS(cblas_sgemm)
  (CblasRowMajor, flag(ta), flag(tb), narrow(m), narrow(n), narrow(k), alpha, a,
   narrow(ta == Transpose::kYes ? m : k), b, narrow(tb == Transpose::kYes ? k : n), beta, c,
   narrow(n));
}

void gemm(Transpose ta, Transpose tb, Index m, Index n, Index k, double alpha, const double* a,
          const double* b, double beta, double* c) {
  AMCT_BLAS(cblas_dgemm)
  (CblasRowMajor, flag(ta), flag(tb), narrow(m), narrow(n), narrow(k), alpha, a,
   narrow(ta == Transpose::kYes ? m : k), b, narrow(tb == Transpose::kYes ? k : n), beta, c,
   narrow(n));
}

void gram(Index n, Index k, const float* a, float beta, float* c) {
  AMCT_BLAS(cblas_ssyrk)
  (CblasRowMajor, CblasLower, CblasNoTrans, narrow(n), narrow(k), 1.0F, a, narrow(k), beta, c,
   narrow(n));
}

void gram(Index n, Index k, const double* a, double beta, double* c) {
  AMCT_BLAS(cblas_dsyrk)
  (CblasRowMajor, CblasLower, CblasNoTrans, narrow(n), narrow(k), 1.0, a, narrow(k), beta, c,
   narrow(n));
}

bool cholesky(Index n, float* a) {
  return AMCT_BLAS(LAPACKE_spotrf_work)(kLayout, kLowerTriangle, narrow(n), a, narrow(n)) == 0;
}

bool cholesky(Index n, double* a) {
  return AMCT_BLAS(LAPACKE_dpotrf_work)(kLayout, kLowerTriangle, narrow(n), a, narrow(n)) == 0;
}

void solve_lower(Index n, Index k, const float* lower, float* x) {
  AMCT_BLAS(cblas_strsm)
  (CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, narrow(n), narrow(k), 1.0F,
   lower, narrow(n), x, narrow(k));
}

void solve_lower(Index n, Index k, const double* lower, double* x) {
  AMCT_BLAS(cblas_dtrsm)
  (CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, narrow(n), narrow(k), 1.0,
   lower, narrow(n), x, narrow(k));
}

void solve_lower_transposed(Index n, Index k, const float* lower, float* x) {
  AMCT_BLAS(cblas_strsm)
  (CblasRowMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, narrow(n), narrow(k), 1.0F,
   lower, narrow(n), x, narrow(k));
}

void solve_lower_transposed(Index n, Index k, const double* lower, double* x) {
  AMCT_BLAS(cblas_dtrsm)
  (CblasRowMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, narrow(n), narrow(k), 1.0, lower,
   narrow(n), x, narrow(k));
}

void orthonormalize_rows(Index n, Index k, float* x) {
  AMCT_ASSERT(n <= k);
  const int rows = narrow(n);
  const int columns = narrow(k);
  std::vector<float> tau(static_cast<std::size_t>(n));
  float wanted = 0;
  AMCT_BLAS(LAPACKE_sgeqrf_work)(kLayout, columns, rows, x, columns, tau.data(), &wanted, -1);
  std::vector<float> work(
      static_cast<std::size_t>(std::max(wanted, 64.0F * static_cast<float>(n))));
  const int size = narrow(static_cast<Index>(work.size()));
  AMCT_BLAS(LAPACKE_sgeqrf_work)
  (kLayout, columns, rows, x, columns, tau.data(), work.data(), size);
  AMCT_BLAS(LAPACKE_sorgqr_work)
  (kLayout, columns, rows, rows, x, columns, tau.data(), work.data(), size);
}

void orthonormalize_rows(Index n, Index k, double* x) {
  AMCT_ASSERT(n <= k);
  const int rows = narrow(n);
  const int columns = narrow(k);
  std::vector<double> tau(static_cast<std::size_t>(n));
  double wanted = 0;
  AMCT_BLAS(LAPACKE_dgeqrf_work)(kLayout, columns, rows, x, columns, tau.data(), &wanted, -1);
  std::vector<double> work(
      static_cast<std::size_t>(std::max(wanted, 64.0 * static_cast<double>(n))));
  const int size = narrow(static_cast<Index>(work.size()));
  AMCT_BLAS(LAPACKE_dgeqrf_work)
  (kLayout, columns, rows, x, columns, tau.data(), work.data(), size);
  AMCT_BLAS(LAPACKE_dorgqr_work)
  (kLayout, columns, rows, rows, x, columns, tau.data(), work.data(), size);
}

// The workspace is given as the documentation of ?syevd states it: LAPACKE's own query of it goes
// through a float, which cannot hold it exactly for n >= 3072.
bool symmetric_eigen(Index n, float* a, bool vectors, float* values) {
  const Index size = vectors ? 1 + 6 * n + 2 * n * n : 34 * n + 1;
  const Index integers = vectors ? 3 + 5 * n : 1;
  std::vector<float> work(static_cast<std::size_t>(size));
  std::vector<lapack_int> iwork(static_cast<std::size_t>(integers));
  return AMCT_BLAS(LAPACKE_ssyevd_work)(kLayout, vectors ? 'V' : 'N', kLowerTriangle, narrow(n), a,
                                        narrow(n), values, work.data(), narrow(size), iwork.data(),
                                        narrow(integers)) == 0;
}

bool symmetric_eigen(Index n, double* a, bool vectors, double* values) {
  const Index size = vectors ? 1 + 6 * n + 2 * n * n : 34 * n + 1;
  const Index integers = vectors ? 3 + 5 * n : 1;
  std::vector<double> work(static_cast<std::size_t>(size));
  std::vector<lapack_int> iwork(static_cast<std::size_t>(integers));
  return AMCT_BLAS(LAPACKE_dsyevd_work)(kLayout, vectors ? 'V' : 'N', kLowerTriangle, narrow(n), a,
                                        narrow(n), values, work.data(), narrow(size), iwork.data(),
                                        narrow(integers)) == 0;
}

// Seen by LAPACK, a is its transpose b[n, m] = u * s * vt, so that the left vectors of a are v; vt
// in column order is v in row order, and what is wanted is v transposed.
bool left_singular_vectors(Index m, Index n, double* a, double* values, double* ut) {
  AMCT_ASSERT(m <= n);
  std::vector<lapack_int> iwork(static_cast<std::size_t>(8 * m));
  std::vector<double> v(static_cast<std::size_t>(m * m));
  double wanted = 0;
  // With job 'O' the right vectors that nobody asked for overwrite a.
  const auto run = [&](double* work, Index size) {
    return AMCT_BLAS(LAPACKE_dgesdd_work)(kLayout, 'O', narrow(n), narrow(m), a, narrow(n), values,
                                          nullptr, narrow(n), v.data(), narrow(m), work,
                                          narrow(size), iwork.data()) == 0;
  };
  if (!run(&wanted, -1)) return false;
  std::vector<double> work(static_cast<std::size_t>(wanted));
  if (!run(work.data(), static_cast<Index>(work.size()))) return false;
  for (Index i = 0; i < m; ++i) {
    for (Index j = 0; j < m; ++j) ut[i * m + j] = v[static_cast<std::size_t>(j * m + i)];
  }
  return true;
}

BlasThreads::BlasThreads(int threads) : before_(AMCT_BLAS(openblas_get_num_threads)()) {
  AMCT_BLAS(openblas_set_num_threads)(threads);
}

BlasThreads::~BlasThreads() { AMCT_BLAS(openblas_set_num_threads)(before_); }

std::string blas_description() {
  return fmt::format("{}; kernel {}, {} thread(s)", AMCT_BLAS(openblas_get_config)(),
                     AMCT_BLAS(openblas_get_corename)(), AMCT_BLAS(openblas_get_num_threads)());
}

}  // namespace amct::kernels
