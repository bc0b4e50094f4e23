#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "amct/config/quant_config.h"

namespace amct::config {

/// What the config needs to know of one quantizable layer.
struct LayerInfo {
  std::string name;
  std::string op_type;
  int weight_rank = 0;  // 0: no constant weight
  bool per_channel_allowed = false;
};

/// A parsed simple config file (spec onnx_and_cli 17); empty when default-constructed.
class SimpleConfig {
 public:
  SimpleConfig();
  ~SimpleConfig();
  SimpleConfig(SimpleConfig&& other) noexcept;
  SimpleConfig& operator=(SimpleConfig&& other) noexcept;

  struct Message;
  [[nodiscard]] const Message& message() const { return *message_; }
  [[nodiscard]] Message& message() { return *message_; }

 private:
  std::unique_ptr<Message> message_;
};

/// Reads a simple config in text protobuf; of exclusive fields the last wins, with a logged
/// warning. Throws Error(kInvalidConfig) that lists every violation with line and column.
SimpleConfig parse_simple_config(std::string_view text, const std::string& file_name);

/// Applies layer, then type, then common settings to each layer; skipped layers get quant_enable
/// false. Throws Error(kInvalidConfig) that lists all unknown names and forbidden options.
QuantConfig resolve(const SimpleConfig& simple, const std::vector<LayerInfo>& layers);

/// Checks a user-edited config against the model's layers. Throws as resolve does.
void validate(const QuantConfig& config, const std::vector<LayerInfo>& layers);

}  // namespace amct::config
