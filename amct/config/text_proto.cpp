#include "amct/config/text_proto.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <vector>

namespace amct::config {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::TextFormat;

// The deepest valid file has four levels; unknown fields may have a few more before the reader
// stops.
constexpr int kRecursionLimit = 16;

class Collector final : public google::protobuf::io::ErrorCollector {
 public:
  Collector(const std::string& file_name, Violations* violations)
      : file_name_(file_name), violations_(violations) {}

  void AddError(int line, int column, const std::string& message) override {
    if (line < 0) {
      violations_->add(file_name_, "{}", message);
    } else {
      violations_->add(fmt::format("{}:{}:{}", file_name_, line + 1, column + 1), "{}", message);
    }
  }

  // The parser only warns of unknown fields, so that it can go on to the next one.
  void AddWarning(int line, int column, const std::string& message) override {
    AddError(line, column, message);
  }

 private:
  const std::string& file_name_;
  Violations* violations_;
};

}  // namespace

void merge_text(std::string_view text, const std::string& file_name, Message* message,
                Violations* violations, TextFormat::ParseInfoTree* locations) {
  Collector collector(file_name, violations);
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&collector);
  parser.AllowUnknownField(true);
  parser.SetRecursionLimit(kRecursionLimit);
  if (locations != nullptr) parser.WriteLocationsTo(locations);
  google::protobuf::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  if (!parser.Merge(&stream, message) && violations->empty()) {
    violations->add(file_name, "the file is not a valid text protobuf");
  }
}

void check_strings(const Message& message, const std::string& path, Violations* violations) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const std::string name =
          field->is_repeated() ? fmt::format("{}[{}]", field->name(), i) : field->name();
      const std::string where = path.empty() ? name : fmt::format("{}.{}", path, name);
      if (field->type() == FieldDescriptor::TYPE_MESSAGE) {
        check_strings(field->is_repeated() ? reflection.GetRepeatedMessage(message, field, i)
                                           : reflection.GetMessage(message, field),
                      where, violations);
      } else if (field->type() == FieldDescriptor::TYPE_STRING) {
        const std::string value = field->is_repeated()
                                      ? reflection.GetRepeatedString(message, field, i)
                                      : reflection.GetString(message, field);
        if (find_invalid_utf8(value) != std::string::npos) {
          violations->add(where, "the text is not valid UTF-8 once its escapes are resolved");
        }
      }
    }
  }
}

}  // namespace amct::config
