#include "amct/workflow/auto_calibration.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <tuple>
#include <utility>

#include "amct/base/error.h"
#include "python/src/bindings.h"

namespace nb = nanobind;

namespace amct::python {
namespace {

using Floats = nb::ndarray<const float, nb::ndim<1>, nb::numpy>;
using Names = std::vector<std::string>;
/// (layer, similarity), least alike first.
using Similarities = std::vector<std::pair<std::string, double>>;
using Compare = std::function<double(Floats, Floats)>;
using NextLayers = std::function<std::optional<Names>(const Similarities&, bool)>;

/// A strategy of the user's: a function that names the layers to leave in float.
class OwnStrategy final : public workflow::RollbackStrategy {
 public:
  explicit OwnStrategy(NextLayers next) : next_(std::move(next)) {}

  void begin(const std::vector<workflow::RankedLayer>& layers) override {
    for (const workflow::RankedLayer& layer : layers)
      similarities_.emplace_back(layer.layer, layer.similarity);
  }

  std::optional<workflow::Rollback> next(bool satisfied) override {
    std::optional<Names> layers = next_(similarities_, satisfied);
    if (!layers) return std::nullopt;
    return workflow::Rollback{std::move(*layers), {}};
  }

 private:
  NextLayers next_;
  Similarities similarities_;
};

std::unique_ptr<workflow::RollbackStrategy> make_strategy(const std::string& name, bool int16,
                                                          NextLayers own) {
  if (own) return std::make_unique<OwnStrategy>(std::move(own));
  if (name == "BinarySearch") return workflow::make_binary_search(int16);
  if (name == "LinearSearch") return workflow::make_linear_search(int16);
  raise(ErrorCode::kUsage, "strategy is '{}', expected BinarySearch or LinearSearch", name);
}

workflow::CompareOutputs with_arrays(Compare compare) {
  if (!compare) return {};
  return [compare = std::move(compare)](std::span<const float> original,
                                        std::span<const float> quantized) {
    const nb::gil_scoped_acquire hold;
    return compare(Floats(original.data(), {original.size()}),
                   Floats(quantized.data(), {quantized.size()}));
  };
}

using TrialTuple = std::tuple<Names, Names, double, bool>;

}  // namespace

void bind_auto_calibration(nb::module_& module) {
  module.def(
      "auto_calibrate",
      [](const std::string& model_file, const std::string& config_file,
         const std::string& record_file, const std::string& save_dir,
         std::function<void(const std::string&)> calibrate,
         std::function<std::pair<bool, double>(const std::string&)> judge,
         const std::string& strategy, bool int16, std::optional<std::size_t> max_trials,
         std::optional<double> max_seconds, std::optional<NextLayers> next_layers,
         std::optional<Compare> compare) {
        workflow::AutoCalibrationHooks hooks;
        hooks.calibrate = std::move(calibrate);
        hooks.judge = [judge = std::move(judge)](const std::string& model) {
          const auto [satisfied, loss] = judge(model);
          return workflow::Verdict{satisfied, loss};
        };
        hooks.compare = with_arrays(compare.value_or(Compare()));
        const auto search = make_strategy(strategy, int16, next_layers.value_or(NextLayers()));
        const nb::gil_scoped_release unlocked;
        const workflow::AutoCalibrationResult result = workflow::auto_calibrate(
            {model_file, config_file, record_file, save_dir, max_trials, max_seconds}, hooks,
            *search);
        std::vector<TrialTuple> trials;
        for (const workflow::Trial& trial : result.trials)
          trials.emplace_back(trial.rollback.in_float, trial.rollback.int16, trial.verdict.loss,
                              trial.verdict.satisfied);
        return std::make_pair(result.best, std::move(trials));
      },
      nb::arg("model_file"), nb::arg("config_file"), nb::arg("record_file"), nb::arg("save_dir"),
      nb::arg("calibrate"), nb::arg("judge"), nb::arg("strategy"), nb::arg("int16"),
      nb::arg("max_trials").none(), nb::arg("max_seconds").none(), nb::arg("next_layers").none(),
      nb::arg("compare").none(),
      "Searches for the layers to leave in float. Returns the index of the trial that was saved, "
      "and "
      "the trials: (layers in float, layers with INT16, loss, satisfied).");
}

}  // namespace amct::python
