#include "cli/data_options.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>

#include "cli/usage.h"

namespace amct::cli {

void add_data_options(CLI::App& app, DataSettings& settings) {
  app.add_option("--data,--data_dir,--data-dir", settings.data.data_dir,
                 "Folder(s) or file(s) with data, one per input, separated by ';'")
      ->required();
  app.add_option("--input_shape,--input-shape", settings.data.input_shape,
                 "Shapes \"name:1,3,224,224;...\" (default: the model's)");
  app.add_option("--data_types,--data-types", settings.data.data_types,
                 "Data types, one for all inputs or one each (default: the model's)");
  app.add_option("--batch_num,--batch-num", settings.batch_num, "Batches to run; 0: all")
      ->check(whole_number(0, std::numeric_limits<std::uint32_t>::max()));
  app.add_option("--threads", settings.executor.threads, "Threads (default: all cores)")
      ->check(whole_number(0, std::numeric_limits<int>::max()));
  app.add_option("--onnxruntime", settings.executor.library,
                 "ONNX Runtime library or its folder (default: searched)");
  app.add_option("--custom_op_library,--custom-op-library", settings.executor.custom_op_libraries,
                 "Shared library with the model's own operators; may be given several times");
  app.add_option("--log-level", settings.log_level, "DEBUG, INFO, WARNING or ERROR");
  app.add_flag("--quiet", settings.quiet, "No progress bar");
}

}  // namespace amct::cli
