#pragma once

#include <cstddef>
#include <string>

#include "amct/workflow/run_model.h"

namespace CLI {
class App;
}

namespace amct::cli {

/// The options that `amct run` and `amct diff` share.
struct DataSettings {
  runtime::DataOptions data;
  runtime::ExecutorOptions executor;
  std::size_t batch_num = 0;  // 0: all
  std::string log_level;
  bool quiet = false;
};

void add_data_options(CLI::App& app, DataSettings& settings);

}  // namespace amct::cli
