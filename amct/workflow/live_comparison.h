#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>

namespace amct::workflow {

/// How alike a layer's float result and its quantized one are on one batch; 1: equal.
using CompareOutputs =
    std::function<double(std::span<const float> original, std::span<const float> quantized)>;

/// A comparison that operators of the user's own sessions take part in as long as this object
/// lives.
class LiveComparison {
 public:
  /// `compare`: from any thread; empty: cosine.
  explicit LiveComparison(CompareOutputs compare = {});
  ~LiveComparison();
  LiveComparison(const LiveComparison&) = delete;
  LiveComparison& operator=(const LiveComparison&) = delete;

  /// Unlike that of any other comparison.
  [[nodiscard]] const std::string& id() const { return id_; }
  /// Mean over the batches seen, by layer.
  [[nodiscard]] std::map<std::string, double> means() const;

 private:
  std::string id_;
};

/// Takes one batch of one layer. Throws Error(kRuntime) when no such comparison is going on.
void compare_live(const std::string& id, const std::string& layer, std::span<const float> original,
                  std::span<const float> quantized);

}  // namespace amct::workflow
