#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "amct/decompose/conv_shape.h"
#include "amct/decompose/input_moments.h"
#include "amct/decompose/network.h"
#include "python/src/bindings.h"

namespace nb = nanobind;

namespace amct::python {
namespace {

using namespace decompose;

/// Any C-ordered array in main memory: NumPy, PyTorch, or what else speaks DLPack or buffers.
using AnyArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

template <typename Element>
std::vector<Element> copied(const AnyArray& array) {
  const auto* data = static_cast<const Element*>(array.data());
  return {data, data + array.size()};
}

Weights to_weights(const AnyArray& array) {
  if (array.dtype() == nb::dtype<float>()) return copied<float>(array);
  if (array.dtype() == nb::dtype<double>()) return copied<double>(array);
  throw nb::type_error("weights must be float32 or float64");
}

/// May be copied and dropped by any thread.
template <typename Object>
std::shared_ptr<Object> shared(Object object) {
  return {new Object(std::move(object)), [](Object* owned) {
            nb::gil_scoped_acquire hold;
            delete owned;
          }};
}

std::function<Weights()> weight_reader(nb::callable function) {
  return [python = shared(std::move(function))] {
    nb::gil_scoped_acquire hold;
    return to_weights(nb::cast<AnyArray>((*python)()));
  };
}

std::function<std::vector<double>()> moments_reader(std::optional<nb::object> moments) {
  if (!moments) return {};
  auto* object = nb::cast<InputMoments*>(*moments);
  return [object, owner = shared(std::move(*moments))] { return object->lower(); };
}

Progress progress_of(std::optional<nb::callable> function) {
  std::shared_ptr<nb::callable> python = function ? shared(std::move(*function)) : nullptr;
  return [python](std::size_t done, std::size_t all, const std::string& next) {
    nb::gil_scoped_acquire hold;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();  // Ctrl-C
    if (python) (*python)(done, all, next);
  };
}

using Work = std::vector<LayerResult> (*)(std::span<const Layer>, const Options&, const Progress&);

std::vector<LayerResult> run(Work work, const std::vector<Layer>& layers, const Options& options,
                             std::optional<nb::callable> progress) {
  const Progress report = progress_of(std::move(progress));
  nb::gil_scoped_release release;
  return work(layers, options, report);
}

/// A view of a factor, which keeps its LayerResult alive.
nb::object view(nb::pointer_and_handle<LayerResult> self, Weights Factors::* weights,
                std::array<std::int64_t, 4> Factors::* shape) {
  if (!self.p->factors) return nb::none();
  Factors& factors = *self.p->factors;
  std::array<std::size_t, 4> extent{};
  for (std::size_t i = 0; i < 4; ++i) extent[i] = static_cast<std::size_t>((factors.*shape)[i]);
  return std::visit(
      [&](auto& values) {
        using Element = typename std::decay_t<decltype(values)>::value_type;
        return nb::cast(nb::ndarray<nb::array_api, Element>(values.data(), extent.size(),
                                                            extent.data(), self.h));
      },
      factors.*weights);
}

void bind_shapes(nb::module_& module) {
  nb::enum_<Mode>(module, "Mode", "How a kernel is split in two.")
      .value("UNCHANGE", Mode::kUnchange)
      .value("FCFK", Mode::kFcfk)
      .value("FCSK", Mode::kFcsk)
      .value("SCFK", Mode::kScfk)
      .value("SCSK", Mode::kScsk);
  nb::class_<ConvShape>(module, "ConvShape",
                        "A 2-D convolution; kernel, stride and dilation are (height, width).")
      .def(
          "__init__",
          [](ConvShape* self, std::int64_t out_channels, std::int64_t in_channels,
             std::array<std::int64_t, 2> kernel, std::array<std::int64_t, 2> stride,
             std::array<std::int64_t, 2> dilation, std::int64_t groups) {
            new (self) ConvShape{out_channels, in_channels, kernel[0],   kernel[1], stride[0],
                                 stride[1],    dilation[0], dilation[1], groups};
          },
          nb::arg("out_channels"), nb::arg("in_channels"), nb::arg("kernel"),
          nb::arg("stride") = std::array<std::int64_t, 2>{1, 1},
          nb::arg("dilation") = std::array<std::int64_t, 2>{1, 1}, nb::arg("groups") = 1);
  module.def(
      "choose_mode",
      [](const ConvShape& shape) {
        Eligibility found = choose_mode(shape);
        return std::pair(found.mode, std::move(found.reason));
      },
      nb::arg("shape"), "The mode and, when it is UNCHANGE, why.");
  module.def("first_has_height", &first_has_height, nb::arg("mode"),
             "Whether the first of the two convolutions has the kernel's height.");
}

void bind_request(nb::module_& module) {
  nb::class_<Layer>(module, "Layer", "One convolution of a network.")
      .def(
          "__init__",
          [](Layer* self, std::string name, const ConvShape& shape, nb::callable read_weights,
             std::string weight_id, std::int64_t output_positions, double largest_value,
             std::string refusal, std::optional<nb::object> input_moments) {
            new (self) Layer{.name = std::move(name),
                             .shape = shape,
                             .read_weights = weight_reader(std::move(read_weights)),
                             .weight_id = std::move(weight_id),
                             .output_positions = output_positions,
                             .largest_value = largest_value,
                             .input_moments = moments_reader(std::move(input_moments)),
                             .refusal = std::move(refusal)};
          },
          nb::arg("name"), nb::arg("shape"), nb::arg("read_weights"), nb::arg("weight_id") = "",
          nb::arg("output_positions") = 0, nb::arg("largest_value") = Layer{}.largest_value,
          nb::arg("refusal") = "", nb::arg("input_moments") = nb::none(),
          "read_weights() returns a C-ordered float32 or float64 array [Cout, Cin, KH, KW].");
  nb::enum_<RankRule>(module, "RankRule", "How the rank of a layer is chosen.")
      .value("EVBMF", RankRule::kEvbmf)
      .value("RANK", RankRule::kRank)
      .value("RATIO", RankRule::kRatio)
      .value("ENERGY", RankRule::kEnergy)
      .value("MACS", RankRule::kMacs)
      .value("PARAMS", RankRule::kParams);
  nb::class_<Options>(module, "Options")
      .def(nb::init<>())
      .def_rw("rule", &Options::rule)
      .def_rw("value", &Options::value)
      .def_rw("skip", &Options::skip)
      .def_rw("min_speedup", &Options::min_speedup)
      .def_rw("threads", &Options::threads);
}

void bind_results(nb::module_& module) {
  nb::class_<Cost>(module, "Cost").def_ro("macs", &Cost::macs).def_ro("params", &Cost::params);
  nb::class_<LayerResult>(module, "LayerResult", "What became of a layer, and what it costs.")
      .def_ro("name", &LayerResult::name)
      .def_ro("mode", &LayerResult::mode)
      .def_ro("reason", &LayerResult::reason)
      .def_ro("full_rank", &LayerResult::full_rank)
      .def_ro("rank", &LayerResult::rank)
      .def_ro("before", &LayerResult::before)
      .def_ro("after", &LayerResult::after)
      .def_ro("relative_error", &LayerResult::relative_error)
      .def_ro("output_error", &LayerResult::output_error,
              "Relative error of the output on the data of input_moments, or None.")
      .def_ro("shares_with", &LayerResult::shares_with,
              "Index of the result whose factors are also this layer's.")
      .def_prop_ro(
          "first",
          [](nb::pointer_and_handle<LayerResult> self) {
            return view(self, &Factors::first, &Factors::first_shape);
          },
          "Weight of the first convolution, or None; a view.")
      .def_prop_ro(
          "last",
          [](nb::pointer_and_handle<LayerResult> self) {
            return view(self, &Factors::last, &Factors::last_shape);
          },
          "Weight of the last convolution, or None; a view.");
}

}  // namespace

void bind_decompose(nb::module_& module) {
  bind_shapes(module);
  bind_request(module);
  bind_results(module);
  module.def(
      "decompose_network",
      [](const std::vector<Layer>& layers, const Options& options,
         std::optional<nb::callable> progress) {
        return run(&decompose_network, layers, options, std::move(progress));
      },
      nb::arg("layers"), nb::arg("options"), nb::arg("progress") = nb::none(),
      "Decomposes what qualifies; one result per layer. progress(done, all, name of the next).");
  module.def(
      "plan_network",
      [](const std::vector<Layer>& layers, const Options& options,
         std::optional<nb::callable> progress) {
        return run(&plan_network, layers, options, std::move(progress));
      },
      nb::arg("layers"), nb::arg("options"), nb::arg("progress") = nb::none(),
      "Modes, ranks and costs without factors.");
}

}  // namespace amct::python
