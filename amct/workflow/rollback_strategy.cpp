#include "amct/workflow/rollback_strategy.h"

namespace amct::workflow {
namespace {

/// Searches over the number of worst layers that are rolled back, one stage after the other.
class PrefixSearch : public RollbackStrategy {
 public:
  explicit PrefixSearch(bool int16) : int16_(int16) {}

  void begin(const std::vector<RankedLayer>& layers) final {
    layers_ = layers;
    start_stage();
  }

  std::optional<Rollback> next(bool satisfied) final {
    if (layers_.empty()) return std::nullopt;
    if (tried_) {
      if (satisfied) {
        enough_ = *tried_;
        found_ = true;
      } else {
        too_few_ = *tried_;
      }
    }
    // In float all layers together are the original model, in INT16 they are a trial like others.
    const std::size_t most = int16_ ? layers_.size() : layers_.size() - 1;
    tried_ =
        found_ || too_few_ < most ? choose(too_few_, found_ ? enough_ : most + 1) : std::nullopt;
    if (tried_) return rollback(*tried_);
    if (found_ || !int16_) return std::nullopt;
    int16_ = false;
    start_stage();
    return next(false);
  }

 protected:
  /// A number strictly between the two, or none when there is none.
  virtual std::optional<std::size_t> choose(std::size_t too_few, std::size_t enough) const = 0;

 private:
  void start_stage() {
    too_few_ = 0;
    enough_ = 0;
    found_ = false;
    tried_.reset();
  }

  Rollback rollback(std::size_t count) const {
    Rollback result;
    for (std::size_t i = 0; i < count; ++i)
      (int16_ && layers_[i].takes_int16 ? result.int16 : result.in_float)
          .push_back(layers_[i].layer);
    return result;
  }

  std::vector<RankedLayer> layers_;
  bool int16_;
  std::size_t too_few_ = 0;
  std::size_t enough_ = 0;
  bool found_ = false;
  std::optional<std::size_t> tried_;
};

class BinarySearch final : public PrefixSearch {
 public:
  using PrefixSearch::PrefixSearch;

 private:
  std::optional<std::size_t> choose(std::size_t too_few, std::size_t enough) const override {
    if (enough - too_few < 2) return std::nullopt;
    return too_few + (enough - too_few) / 2;
  }
};

class LinearSearch final : public PrefixSearch {
 public:
  using PrefixSearch::PrefixSearch;

 private:
  std::optional<std::size_t> choose(std::size_t too_few, std::size_t enough) const override {
    return too_few + 1 < enough ? std::optional(too_few + 1) : std::nullopt;
  }
};

}  // namespace

std::unique_ptr<RollbackStrategy> make_binary_search(bool int16) {
  return std::make_unique<BinarySearch>(int16);
}

std::unique_ptr<RollbackStrategy> make_linear_search(bool int16) {
  return std::make_unique<LinearSearch>(int16);
}

}  // namespace amct::workflow
