#include "amct/workflow/compare_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "amct/base/error.h"
#include "amct/base/thread_pool.h"

namespace amct::workflow {
namespace {

bool is_floating(ir::DataType type) {
  return type == ir::DataType::kFloat || type == ir::DataType::kDouble ||
         type == ir::DataType::kFloat16 || type == ir::DataType::kBFloat16;
}

std::string input_names(const ir::Model& model) {
  std::set<std::string> names;
  for (const runtime::PortInfo& port : runtime::model_inputs(model)) names.insert(port.name);
  return fmt::format("'{}'", fmt::join(names, "', '"));
}

void check_inputs(const ir::Model& reference, const ir::Model& other) {
  const std::string a = input_names(reference), b = input_names(other);
  if (a != b)
    raise(ErrorCode::kInvalidModel,
          "the models cannot be compared: their inputs differ ({} and {})", a, b);
}

/// Runs one model and finds tensors by name.
class Side {
 public:
  Side(const ir::Model& model, const runtime::ExecutorOptions& options,
       const std::vector<std::string>& tapped)
      : executor_(runtime::make_onnxruntime_executor(model, options, tapped)) {
    const auto& outputs = executor_->outputs();
    for (std::size_t i = 0; i < outputs.size(); ++i) positions_.emplace(outputs[i].name, i);
  }
  void run(const runtime::Feed& feed) { tensors_ = executor_->run(feed); }
  void release() { tensors_.clear(); }
  const ir::Tensor& tensor(const std::string& name) const { return tensors_[positions_.at(name)]; }
  bool floating(const std::string& name) const {
    return is_floating(executor_->outputs()[positions_.at(name)].type.data_type);
  }

 private:
  std::unique_ptr<runtime::Executor> executor_;
  std::map<std::string, std::size_t> positions_;
  std::vector<ir::Tensor> tensors_;
};

std::string dims_text(const ir::Tensor& tensor) {
  return fmt::format("[{}]", fmt::join(tensor.dims(), ","));
}

void add_batch(TensorComparison& comparison, const ir::Tensor& reference, const ir::Tensor& other) {
  if (!comparison.problem.empty()) return;
  if (reference.dims() != other.dims()) {
    comparison.problem =
        fmt::format("shapes differ: {} and {}", dims_text(reference), dims_text(other));
    return;
  }
  if (reference.type() == ir::DataType::kFloat && other.type() == ir::DataType::kFloat) {
    comparison.sums.add(reference.values<float>(), other.values<float>());
    return;
  }
  const std::vector<float> a = ir::to_float(reference), b = ir::to_float(other);
  comparison.sums.add(a, b);
}

/// Node outputs of the reference in order, split by whether the other model has them.
ModelComparison match(const ir::Model& reference, const ir::Model& other,
                      const std::vector<std::string>& names) {
  const std::set<std::string> chosen(names.begin(), names.end());
  ModelComparison matched;
  for (const auto& node : reference.graph->nodes())
    for (const ir::Value* value : node->outputs()) {
      if (value->name().empty() || (!chosen.empty() && !chosen.contains(value->name()))) continue;
      const ir::Value* twin = other.graph->find(value->name());
      if (twin == nullptr || twin->producer() == nullptr) {
        matched.unmatched.push_back(value->name());
        continue;
      }
      matched.tensors.push_back({value->name(), node->label(), value->is_graph_output(), {}, {}});
    }
  if (matched.tensors.empty())
    raise(ErrorCode::kInvalidModel,
          "the models cannot be compared: they have no computed tensor in common");
  return matched;
}

}  // namespace

ModelComparison compare_models(const ir::Model& reference, const ir::Model& other,
                               runtime::DataSource& data, std::size_t batch_num,
                               const CompareOptions& options) {
  const UsageMeter meter;
  check_inputs(reference, other);
  const std::size_t batches = runtime::batches_to_run(data, batch_num);
  ModelComparison result = match(reference, other, options.names);
  std::vector<std::string> names;
  for (const TensorComparison& tensor : result.tensors) names.push_back(tensor.name);
  const int threads = options.executor.threads > 0 ? options.executor.threads : available_cores();
  runtime::ExecutorOptions half = options.executor;
  half.threads = std::max(1, threads / 2);
  Side a(reference, half, names), b(other, half, names);
  std::erase_if(result.tensors, [&](const TensorComparison& tensor) {
    return !a.floating(tensor.name) || !b.floating(tensor.name);
  });
  ThreadPool pool(std::max(1, threads - 1));
  for (std::size_t i = 0; i < batches; ++i) {
    const runtime::Feed feed = data.batch(i);
    // Side by side: cores that one engine leaves idle work for the other.
    parallel_for(pool, 2, [&](std::size_t side) { (side == 0 ? a : b).run(feed); });
    parallel_for(pool, result.tensors.size(), [&](std::size_t k) {
      TensorComparison& tensor = result.tensors[k];
      add_batch(tensor, a.tensor(tensor.name), b.tensor(tensor.name));
    });
    a.release();
    b.release();
    report_batch(options.progress, meter, i + 1, batches);
  }
  result.batches = batches;
  result.usage = meter.read();
  return result;
}

}  // namespace amct::workflow
