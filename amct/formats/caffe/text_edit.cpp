#include <algorithm>
#include <utility>

#include "amct/base/assert.h"
#include "amct/formats/caffe/prototxt.h"

namespace amct::caffe {
namespace {

constexpr std::string_view kBlanks = " \t\r";

bool is_blank(char c) { return kBlanks.find(c) != std::string_view::npos; }

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

/// Appends a piece; two words that a mark between them kept apart, as in "[2]name", stay apart.
void join(std::string& text, std::string_view piece) {
  if (!text.empty() && !piece.empty() && is_word(text.back()) && is_word(piece.front()))
    text += ' ';
  text += piece;
}

/// The end of the line when only blanks follow, its line feed included.
std::optional<std::size_t> end_of_line(const std::string& text, std::size_t offset) {
  while (offset < text.size() && is_blank(text[offset])) ++offset;
  if (offset == text.size()) return offset;
  if (text[offset] == '\n') return offset + 1;
  return std::nullopt;
}

}  // namespace

std::optional<std::string_view> indentation(const Prototxt& file, std::size_t offset) {
  const std::string_view text = file.text();
  std::size_t begin = offset;
  while (begin > 0 && is_blank(text[begin - 1])) --begin;
  if (begin > 0 && text[begin - 1] != '\n') return std::nullopt;
  return text.substr(begin, offset - begin);
}

void TextEdit::replace(std::size_t begin, std::size_t end, std::string text) {
  replacements_.push_back({begin, end, false, std::move(text)});
}

void TextEdit::remove(const Field& field) {
  replacements_.push_back({field.begin, field.end, true, {}});
}

void TextEdit::truncate(const std::vector<Field>& fields, std::string_view name,
                        std::size_t count) {
  for (const Field& field : fields) {
    if (field.name != name) continue;
    const std::size_t kept = std::min(count, field.values.size());
    count -= kept;
    if (kept == field.values.size()) continue;
    if (kept == 0) {
      remove(field);
    } else {
      replace(field.values[kept - 1].end, field.values.back().end, "");
    }
  }
}

void TextEdit::replace(const Field& field, const std::vector<std::string>& others) {
  const auto indent = indentation(*file_, field.begin);
  std::string text;
  for (const std::string& other : others) {
    if (!text.empty()) text += indent ? "\n" + std::string(*indent) : " ";
    text += other;
  }
  replace(field.begin, field.end, std::move(text));
}

/// Replacements inside text[begin, end) in order; neighbouring removals are one, which takes the
/// blanks around it, or the whole line when nothing else stands there.
std::vector<TextEdit::Replacement> TextEdit::sorted(std::size_t begin, std::size_t end) const {
  std::vector<Replacement> all;
  for (const Replacement& replacement : replacements_)
    if (replacement.begin >= begin && replacement.end <= end) all.push_back(replacement);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  const std::string& text = file_->text();
  std::vector<Replacement> merged;
  for (Replacement& next : all) {
    if (next.removal && !merged.empty() && merged.back().removal &&
        text.find_first_not_of(kBlanks, merged.back().end) == next.begin) {
      merged.back().end = next.end;
    } else {
      merged.push_back(std::move(next));
    }
  }
  for (Replacement& removal : merged) {
    if (!removal.removal) continue;
    const auto indent = indentation(*file_, removal.begin);
    const auto line_end = end_of_line(text, removal.end);
    if (indent && line_end) {
      removal.begin -= indent->size();
      removal.end = *line_end;
    } else if (!indent && is_blank(text[removal.begin - 1])) {
      --removal.begin;
    }
  }
  return merged;
}

std::string TextEdit::apply(std::size_t begin, std::size_t end) const {
  std::string result;
  for (const Replacement& replacement : sorted(begin, end)) {
    AMCT_ASSERT(replacement.begin >= begin);
    join(result, std::string_view(file_->text()).substr(begin, replacement.begin - begin));
    join(result, replacement.text);
    begin = replacement.end;
  }
  join(result, std::string_view(file_->text()).substr(begin, end - begin));
  return result;
}

std::string quote(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace amct::caffe
