#include "amct/workflow/live_calibration.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "amct/base/atomic_file.h"
#include "amct/base/error.h"
#include "amct/base/log.h"
#include "amct/base/thread_pool.h"
#include "amct/config/record.h"
#include "amct/quant/activation_observer.h"
#include "amct/workflow/record_state.h"

namespace amct::workflow {
namespace {

/// One observed tensor. Sessions on several threads take turns.
struct Slot {
  LiveTensor tensor;
  std::mutex mutex;
  std::unique_ptr<quant::ActivationObserver> observer;  // null when the calibration has ended
  std::size_t seen = 0;
};

class LiveCalibration {
 public:
  explicit LiveCalibration(const LiveTensor& one)
      : record_file_(one.record_file),
        id_(one.calibration_id),
        operator_num_(one.operator_num),
        batch_num_(one.batch_num) {
    const std::string text = read_file(record_file_);
    const auto state = read_record_state(text);
    if (!state || state->calibration_id != id_)
      raise(ErrorCode::kRuntime,
            "record file '{}' does not belong to this calibration model; call quantize_model again",
            record_file_);
    record_ = config::parse_record(text, record_file_);
    // A record that an earlier process completed stays until this one is complete too.
    writes_progress_ = !state->complete();
  }

  void observe(const LiveTensor& tensor, std::span<const float> batch) {
    Slot& slot = slot_of(tensor);
    {
      const std::lock_guard lock(slot.mutex);
      if (slot.seen == batch_num_) return note_surplus();
      slot.observer->observe(batch);
      ++slot.seen;
    }
    advance();
  }

  [[nodiscard]] UnfinishedCalibration progress() {
    const std::lock_guard lock(mutex_);
    return {record_file_, done_, batch_num_};
  }

 private:
  Slot& slot_of(const LiveTensor& tensor) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<Slot>& slot = slots_[tensor.layers.front()];
    if (slot == nullptr) {
      slot = std::make_unique<Slot>();
      slot->tensor = tensor;
      slot->observer = quant::make_observer(tensor.options);
    }
    return *slot;
  }

  void note_surplus() {
    const std::lock_guard lock(mutex_);
    if (surplus_noted_) return;
    surplus_noted_ = true;
    log_debug("calibration has its {} batches; further ones are ignored", batch_num_);
  }

  /// Tells how many batches all operators have seen, when that has grown.
  void advance() {
    const std::lock_guard lock(mutex_);
    if (slots_.size() < operator_num_) return;
    std::size_t seen = batch_num_;
    for (const auto& [layer, slot] : slots_) {
      const std::lock_guard slot_lock(slot->mutex);
      seen = std::min(seen, slot->seen);
    }
    if (seen <= done_) return;
    done_ = seen;
    log_info("calibration has seen {} of {} batches", done_, batch_num_);
    if (done_ == batch_num_) return finish();
    if (writes_progress_)
      write_file(record_file_,
                 write_record_state({id_, done_, batch_num_, {}}) + config::write_record(record_));
  }

  void finish() {
    std::vector<Slot*> slots;
    for (const auto& [layer, slot] : slots_) slots.push_back(slot.get());
    std::vector<quant::ActivationResult> results(slots.size());
    ThreadPool pool;
    parallel_for(pool, slots.size(), [&](std::size_t i) {
      const ActivationOptions& options = slots[i]->tensor.options;
      results[i] = slots[i]->observer->finish(options.num_bits, options.asymmetric);
    });
    RecordState state{id_, done_, batch_num_, {}};
    for (std::size_t i = 0; i < slots.size(); ++i) {
      slots[i]->observer.reset();
      for (const std::string& layer : slots[i]->tensor.layers) settle(layer, results[i], state);
    }
    write_file(record_file_, write_record_state(state) + config::write_record(record_));
    log_info("calibration is finished; the factors are in {}", record_file_);
  }

  /// Gives a layer its factor, or takes it out of the record.
  void settle(const std::string& layer, const quant::ActivationResult& result, RecordState& state) {
    if (result.nonfinite_count > 0)
      log_warning("layer '{}': {} NaN or infinite values of its input were ignored", layer,
                  result.nonfinite_count);
    const auto entry =
        std::ranges::find(record_.entries, layer, [](const auto& item) { return item.first; });
    if (entry == record_.entries.end()) return;
    if (result.ok()) {
      entry->second.scale_d = result.factor.scale;
      entry->second.offset_d = result.factor.offset;
      return;
    }
    std::string reason = fmt::format("its input: {}", result.reason());
    log_warning("layer '{}' stays in float: {}", layer, reason);
    state.in_float.emplace_back(layer, std::move(reason));
    record_.entries.erase(entry);
  }

  const std::string record_file_;
  const std::string id_;
  const std::size_t operator_num_;
  const std::size_t batch_num_;
  bool writes_progress_ = true;
  std::mutex mutex_;
  config::Record record_;
  std::map<std::string, std::unique_ptr<Slot>> slots_;  // by first layer
  std::size_t done_ = 0;
  bool surplus_noted_ = false;
};

/// All calibrations of the process, by id.
struct Registry {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<LiveCalibration>> calibrations;
};

Registry& registry() {
  static Registry all;
  return all;
}

std::shared_ptr<LiveCalibration> calibration_of(const LiveTensor& tensor) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::shared_ptr<LiveCalibration>& found = all.calibrations[tensor.calibration_id];
  if (found == nullptr) found = std::make_shared<LiveCalibration>(tensor);
  return found;
}

}  // namespace

void observe_live(const LiveTensor& tensor, std::span<const float> batch) {
  calibration_of(tensor)->observe(tensor, batch);
}

void forget_live(const std::string& record_file) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.calibrations, [&](const auto& entry) {
    return entry.second == nullptr || entry.second->progress().record_file == record_file;
  });
}

std::vector<UnfinishedCalibration> unfinished_calibrations() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::vector<UnfinishedCalibration> out;
  for (const auto& [id, calibration] : all.calibrations) {
    if (calibration == nullptr) continue;
    UnfinishedCalibration progress = calibration->progress();
    if (progress.seen < progress.batch_num) out.push_back(std::move(progress));
  }
  return out;
}

}  // namespace amct::workflow
