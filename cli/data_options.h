#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "amct/runtime/data_source.h"
#include "amct/runtime/executor.h"

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

/// Data for the model's inputs; checks that there are enough batches.
std::unique_ptr<runtime::DataSource> open_source(const DataSettings& settings,
                                                 const ir::Model& model);

}  // namespace amct::cli
