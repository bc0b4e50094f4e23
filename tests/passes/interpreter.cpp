#include "interpreter.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <stdexcept>

namespace amct::passes {
namespace {

using Dims = std::vector<std::int64_t>;

std::size_t count(const Dims& dims) {
  std::size_t result = 1;
  for (const std::int64_t dim : dims) result *= static_cast<std::size_t>(dim);
  return result;
}

/// Every index of an array of these dims, in row-major order.
void for_each_index(const Dims& dims, const std::function<void(const Dims&)>& visit) {
  if (count(dims) == 0) return;
  Dims index(dims.size(), 0);
  for (;;) {
    visit(index);
    std::size_t d = dims.size();
    while (d > 0 && ++index[d - 1] == dims[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

double& at(Array& array, const Dims& index) {
  std::int64_t flat = 0;
  for (std::size_t d = 0; d < index.size(); ++d) flat = flat * array.dims[d] + index[d];
  return array.values[static_cast<std::size_t>(flat)];
}
double get(const Array& array, const Dims& index) { return at(const_cast<Array&>(array), index); }

/// Element under NumPy's broadcasting.
double broadcast(const Array& array, const Dims& index) {
  Dims own(array.dims.size());
  for (std::size_t d = 0; d < own.size(); ++d) {
    const std::int64_t i = index[index.size() - own.size() + d];
    own[d] = array.dims[d] == 1 ? 0 : i;
  }
  return get(array, own);
}

Array filled(Dims dims, double value = 0.0) {
  Array result{std::move(dims), {}};
  result.values.assign(count(result.dims), value);
  return result;
}

Array element_wise(const Array& a, const Array& b, const std::function<double(double, double)>& f) {
  Dims dims(std::max(a.dims.size(), b.dims.size()), 1);
  for (const Array* side : {&a, &b})
    for (std::size_t d = 0; d < side->dims.size(); ++d) {
      std::int64_t& dim = dims[dims.size() - side->dims.size() + d];
      dim = std::max(dim, side->dims[d]);
    }
  Array result = filled(dims);
  for_each_index(dims, [&](const Dims& i) { at(result, i) = f(broadcast(a, i), broadcast(b, i)); });
  return result;
}

Array normalize(const ir::Node& node, const std::vector<Array>& in) {
  const double epsilon = node.attribute_float("epsilon", 1e-5F);
  Array result = filled(in[0].dims);
  for_each_index(in[0].dims, [&](const Dims& i) {
    const Dims c = {i[1]};
    at(result, i) =
        (get(in[0], i) - get(in[3], c)) / std::sqrt(get(in[4], c) + epsilon) * get(in[1], c) +
        get(in[2], c);
  });
  return result;
}

struct Window {
  Dims strides, dilations, pads;
  std::int64_t groups;
  Window(const ir::Node& node, std::size_t spatial)
      : strides(node.attribute_ints("strides", Dims(spatial, 1))),
        dilations(node.attribute_ints("dilations", Dims(spatial, 1))),
        pads(node.attribute_ints("pads", Dims(2 * spatial, 0))),
        groups(node.attribute_int("group", 1)) {}
};

Array convolve(const ir::Node& node, const std::vector<Array>& in) {
  const Array& x = in[0];
  const Array& w = in[1];
  const std::size_t spatial = x.dims.size() - 2;
  const Window window(node, spatial);
  Dims dims = {x.dims[0], w.dims[0]};
  for (std::size_t s = 0; s < spatial; ++s)
    dims.push_back((x.dims[s + 2] + window.pads[s] + window.pads[s + spatial] -
                    window.dilations[s] * (w.dims[s + 2] - 1) - 1) /
                       window.strides[s] +
                   1);
  Array y = filled(dims);
  const std::int64_t per_group = w.dims[0] / window.groups;
  for_each_index(dims, [&](const Dims& o) {
    double sum = in.size() > 2 ? get(in[2], {o[1]}) : 0.0;
    const Dims taps(w.dims.begin() + 1, w.dims.end());
    for_each_index(taps, [&](const Dims& k) {
      Dims source = {o[0], o[1] / per_group * w.dims[1] + k[0]};
      for (std::size_t s = 0; s < spatial; ++s) {
        source.push_back(o[s + 2] * window.strides[s] + k[s + 1] * window.dilations[s] -
                         window.pads[s]);
        if (source.back() < 0 || source.back() >= x.dims[s + 2]) return;
      }
      Dims tap = {o[1]};
      tap.insert(tap.end(), k.begin(), k.end());
      sum += get(x, source) * get(w, tap);
    });
    at(y, o) = sum;
  });
  return y;
}

Array convolve_transposed(const ir::Node& node, const std::vector<Array>& in) {
  const Array& x = in[0];
  const Array& w = in[1];
  const std::size_t spatial = x.dims.size() - 2;
  const Window window(node, spatial);
  const std::int64_t inputs_per_group = w.dims[0] / window.groups;
  Dims dims = {x.dims[0], w.dims[1] * window.groups};
  for (std::size_t s = 0; s < spatial; ++s)
    dims.push_back((x.dims[s + 2] - 1) * window.strides[s] + w.dims[s + 2] - window.pads[s] -
                   window.pads[s + spatial]);
  Array y = filled(dims);
  if (in.size() > 2) for_each_index(dims, [&](const Dims& o) { at(y, o) = get(in[2], {o[1]}); });
  for_each_index(x.dims, [&](const Dims& i) {
    const Dims taps(w.dims.begin() + 1, w.dims.end());
    for_each_index(taps, [&](const Dims& k) {
      Dims target = {i[0], i[1] / inputs_per_group * w.dims[1] + k[0]};
      for (std::size_t s = 0; s < spatial; ++s) {
        target.push_back(i[s + 2] * window.strides[s] + k[s + 1] - window.pads[s]);
        if (target.back() < 0 || target.back() >= dims[s + 2]) return;
      }
      Dims tap = {i[1]};
      tap.insert(tap.end(), k.begin(), k.end());
      at(y, target) += get(x, i) * get(w, tap);
    });
  });
  return y;
}

/// Product of the last two dimensions; b has two.
Array multiply(const Array& a, bool turn_a, const Array& b, bool turn_b) {
  const std::size_t rank = a.dims.size();
  const std::int64_t inner = b.dims[turn_b ? 1 : 0];
  Dims dims = a.dims;
  dims[rank - 1] = b.dims[turn_b ? 0 : 1];
  if (turn_a) dims[0] = a.dims[1];
  Array y = filled(dims);
  for_each_index(dims, [&](const Dims& o) {
    for (std::int64_t k = 0; k < inner; ++k) {
      Dims left = o;
      left[rank - 1] = k;
      if (turn_a) left = {k, o[0]};
      at(y, o) += get(a, left) * (turn_b ? get(b, {o.back(), k}) : get(b, {k, o.back()}));
    }
  });
  return y;
}

Array gemm(const ir::Node& node, const std::vector<Array>& in) {
  Array y = multiply(in[0], node.attribute_int("transA", 0) != 0, in[1],
                     node.attribute_int("transB", 0) != 0);
  for (double& value : y.values) value *= node.attribute_float("alpha", 1.0F);
  if (in.size() < 3) return y;
  const double beta = node.attribute_float("beta", 1.0F);
  return element_wise(y, in[2], [beta](double a, double b) { return a + beta * b; });
}

Array compute(const ir::Node& node, const std::vector<Array>& in) {
  const std::string& op = node.op_type;
  if (op == "Conv") return convolve(node, in);
  if (op == "ConvTranspose") return convolve_transposed(node, in);
  if (op == "BatchNormalization") return normalize(node, in);
  if (op == "Gemm") return gemm(node, in);
  if (op == "MatMul") return multiply(in[0], false, in[1], false);
  if (op == "Mul") return element_wise(in[0], in[1], std::multiplies<>());
  if (op == "Div") return element_wise(in[0], in[1], std::divides<>());
  if (op == "Add") return element_wise(in[0], in[1], std::plus<>());
  if (op == "Identity" || op == "Dropout") return in[0];
  if (op == "Relu")
    return element_wise(in[0], in[0], [](double a, double) { return std::max(a, 0.0); });
  throw std::runtime_error("the interpreter does not know " + op);
}

Array constant_array(const ir::Tensor& tensor) {
  Array result{tensor.dims(), {}};
  if (tensor.type() != ir::DataType::kFloat) return result;
  const auto values = tensor.values<float>();
  result.values.assign(values.begin(), values.end());
  return result;
}

Array seeded_input(const ir::Value& value, unsigned seed) {
  Dims dims;
  for (const ir::Dim& dim : value.type.shape.value()) dims.push_back(dim.value.value());
  Array result = filled(dims);
  std::mt19937 generator(seed + static_cast<unsigned>(value.name().size()));
  std::uniform_real_distribution<float> draw(-2.0F, 2.0F);
  for (double& number : result.values) number = draw(generator);
  return result;
}

}  // namespace

std::vector<Array> interpret(const ir::Graph& graph, unsigned seed) {
  std::map<const ir::Value*, Array> known;
  for (const ir::Value* value : graph.constants())
    known[value] = constant_array(*value->constant());
  for (const ir::Value* value : graph.inputs())
    if (value->constant() == nullptr) known[value] = seeded_input(*value, seed);
  for (const auto& node : graph.nodes()) {
    std::vector<Array> inputs;
    for (const ir::Value* input : node->inputs())
      if (input != nullptr) inputs.push_back(known.at(input));
    known[node->output()] = compute(*node, inputs);
  }
  std::vector<Array> outputs;
  for (const ir::Value* value : graph.outputs()) outputs.push_back(known.at(value));
  return outputs;
}

double difference(const std::vector<Array>& a, const std::vector<Array>& b) {
  double worst = 0.0;
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  for (std::size_t o = 0; o < a.size(); ++o) {
    if (a[o].dims != b[o].dims) return std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < a[o].values.size(); ++i) {
      const double gap =
          std::abs(a[o].values[i] - b[o].values[i]) / (1.0 + std::abs(b[o].values[i]));
      worst = std::isnan(gap) ? std::numeric_limits<double>::infinity() : std::max(worst, gap);
    }
  }
  return worst;
}

}  // namespace amct::passes
