#include "amct/passes/pass_manager.h"

#include <algorithm>
#include <chrono>

#include "amct/base/error.h"
#include "amct/base/log.h"
#include "amct/passes/reproducer.h"

namespace amct::passes {

std::vector<PassRecord> PassManager::run(ir::Model& model, const Pipeline& pipeline) const {
  for (const std::string& name : options_.skip_passes)
    if (std::ranges::none_of(pipeline, [&](const auto& pass) { return pass->name() == name; }))
      raise(ErrorCode::kUsage, "there is no pass '{}' to skip in this pipeline", name);
  std::vector<PassRecord> records;
  for (const auto& pass : pipeline)
    if (!skipped(pass->name())) records.push_back(run_pass(model, *pass));
  return records;
}

bool PassManager::skipped(std::string_view pass) const {
  return std::ranges::find(options_.skip_passes, pass) != options_.skip_passes.end();
}

PassRecord PassManager::run_pass(ir::Model& model, Pass& pass) const {
  // Constants share their buffers, so that the copy costs no more than the graph's structure.
  ir::Model before = model.clone();
  const std::string name(pass.name());
  const auto fail = [&](ErrorCode code, std::string_view cause) {
    model = std::move(before);
    raise(code, "pass '{}' failed: {}{}", name, cause, write_reproducer(model, name));
  };
  PassRecord record{name, 0, 0.0};
  const auto start = std::chrono::steady_clock::now();
  try {
    record.changes = pass.run(model);
  } catch (const Error& error) {
    fail(error.code(), error.what());
  } catch (const std::exception& error) {
    fail(ErrorCode::kInternal, error.what());
  }
  try {
    if (record.changes > 0) ir::verify(*model.graph);
  } catch (const Error& error) {
    fail(ErrorCode::kInternal, fmt::format("it left a broken graph: {}", error.what()));
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  record.seconds = elapsed.count();
  log_debug("pass {}: {} changes in {:.3f} s", name, record.changes, record.seconds);
  return record;
}

std::string PassManager::write_reproducer(const ir::Model& before, std::string_view pass) const {
  if (options_.reproducer_dir.empty()) return {};
  try {
    const auto file = passes::write_reproducer(before, pass, options_.reproducer_dir);
    return fmt::format("; the model as it was before is in '{}'", file.string());
  } catch (const std::exception& error) {
    return fmt::format("; no reproducer could be written: {}", error.what());
  }
}

}  // namespace amct::passes
