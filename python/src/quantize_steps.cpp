#include "amct/workflow/quantize_steps.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "amct/workflow/convert_qat.h"
#include "amct/workflow/live_calibration.h"
#include "python/src/bindings.h"

namespace nb = nanobind;

namespace amct::python {

void bind_quantize_steps(nb::module_& module) {
  const nb::call_guard<nb::gil_scoped_release> unlocked;
  module.def(
      "create_quant_config",
      [](const std::string& config_file, const std::string& model_file,
         const std::vector<std::string>& skip_layers, std::uint32_t batch_num,
         bool activation_offset, const std::string& config_defination,
         const std::string& updated_model) {
        workflow::create_quant_config({config_file, model_file, skip_layers, batch_num,
                                       activation_offset, config_defination, updated_model});
      },
      nb::arg("config_file"), nb::arg("model_file"), nb::arg("skip_layers"), nb::arg("batch_num"),
      nb::arg("activation_offset"), nb::arg("config_defination"), nb::arg("updated_model"),
      unlocked, "Writes the JSON config of an ONNX model; empty paths stand for none.");
  module.def(
      "quantize_model",
      [](const std::string& config_file, const std::string& model_file,
         const std::string& modified_onnx_file, const std::string& record_file) {
        workflow::quantize_model(config_file, model_file, modified_onnx_file, record_file);
      },
      nb::arg("config_file"), nb::arg("model_file"), nb::arg("modified_onnx_file"),
      nb::arg("record_file"), unlocked, "Writes an ONNX model with calibration operators.");
  module.def(
      "save_model",
      [](const std::string& modified_onnx_file, const std::string& record_file,
         const std::string& save_path) {
        workflow::save_model(modified_onnx_file, record_file, save_path);
      },
      nb::arg("modified_onnx_file"), nb::arg("record_file"), nb::arg("save_path"), unlocked,
      "Writes the quantized ONNX models.");
  module.def(
      "convert_qat_model",
      [](const std::string& model_file, const std::string& save_path,
         const std::string& record_file) {
        workflow::convert_qat_model({model_file, save_path, record_file});
      },
      nb::arg("model_file"), nb::arg("save_path"), nb::arg("record_file"), unlocked,
      "Turns an ONNX model with QuantizeLinear/DequantizeLinear into quantized ONNX models.");
  module.def(
      "unfinished_calibrations",
      [] {
        std::vector<std::tuple<std::string, std::size_t, std::size_t>> out;
        for (const auto& one : workflow::unfinished_calibrations())
          out.emplace_back(one.record_file, one.seen, one.batch_num);
        return out;
      },
      "(record file, batches seen, batches wanted) of calibrations that have begun and not ended.");
}

}  // namespace amct::python
