#include "amct/formats/caffe/prototxt.h"

#include "networks.h"

namespace amct::caffe {
namespace {

Prototxt parse(const std::string& text) { return Prototxt::parse(text, "net.prototxt"); }

void expect_error(const std::string& text, const std::string& part) {
  const std::string message = error_of([&] { parse(text); });
  expect_part(message, "net.prototxt");
  expect_part(message, part);
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

TEST(Prototxt, ReadsEveryFormOfAField) {
  const Prototxt file = parse(
      "a: 1 b { c: 'x' } # comment with } and \"\n"
      "d < e: -1.5e-3f; f: nan, > g: [1, 2 , 3] h: { } i: [{ j: 1 }, < j: 2 >] k: []\n"
      "[my.extension/v-1]: ENUM_VALUE 12: 0x1F s: \"one\" 'two'\t\"three\"\n");
  const std::vector<Field>& fields = file.fields();
  ASSERT_EQ(fields.size(), 10U);
  EXPECT_EQ(fields[0].values[0].text, "1");
  EXPECT_EQ(find(file, as_message(file, fields[1].values[0]), "c")->text, "x");
  EXPECT_EQ(fields[2].values[0].fields[0].values[0].text, "-1.5e-3f");
  EXPECT_EQ(fields[2].values[0].fields[1].values[0].text, "nan");
  EXPECT_EQ(all(fields, "g").size(), 3U);
  EXPECT_EQ(fields[4].values[0].kind, Value::Kind::kMessage);
  EXPECT_EQ(fields[5].values[1].fields[0].values[0].text, "2");
  EXPECT_TRUE(fields[6].values.empty());
  EXPECT_EQ(fields[7].name, "[my.extension/v-1]");
  EXPECT_EQ(fields[8].values[0].text, "0x1F");
  EXPECT_EQ(fields[9].values[0].text, "onetwothree");
}

TEST(Prototxt, ResolvesEscapes) {
  const Prototxt file = parse(R"(s: "a\n\t\\\"\'\x41\101\u00e9\U0001F600\q")");
  EXPECT_EQ(file.fields()[0].values[0].text, "a\n\t\\\"'AA\u00e9\U0001F600q");
}

TEST(Prototxt, SaysLineAndColumn) {
  expect_error("a: 1\n  b {\n    c: }\n}", "net.prototxt:3:8: '}', expected a value");
  expect_error("a 1", "net.prototxt:1:3: '1', expected ':' or '{'");
  expect_error("a: 1\nb {\n", "net.prototxt:2:3: the '}' of this message is missing");
  expect_error("a < b: 1 }", "net.prototxt:1:10: '}', expected a field name");
  expect_error("a: \"x\nb: 1", "net.prototxt:1:4: this string has no end on its line");
  expect_error("a: 1\n}", "net.prototxt:2:1: '}', expected a field name");
  expect_error("a: [1 2]", "net.prototxt:1:7: '2', expected ',' or ']'");
  expect_error("a:", "net.prototxt:1:3: the end of the file, expected a value");
  expect_error("\x01\x02", "'?', expected a field name");
}

TEST(Prototxt, RefusesWhatIsNoText) {
  expect_error(std::string("\x0a\x05\0\0abc", 7), "is a binary file");
  expect_error(std::string((16U << 20) + 1, ' '), "at most");
}

TEST(Prototxt, StopsAtDeepNesting) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "a{";
  expect_error(text, "nested more than 100 deep");
}

TEST(Prototxt, ChecksTypes) {
  const Prototxt file =
      parse("s: 'x' n: 5 m { } t: true big: 4294967296 neg: -1 dup: 1 dup: 2 c: '\\n'");
  const auto value = [&](std::size_t i) -> const Value& { return file.fields()[i].values[0]; };
  EXPECT_EQ(as_string(file, value(0)), "x");
  EXPECT_EQ(as_uint(file, value(1)), 5U);
  EXPECT_TRUE(as_bool(file, value(3)));
  expect_part(error_of([&] { as_uint(file, value(0)); }), "1:4: expected a whole number");
  expect_part(error_of([&] { as_uint(file, value(4)); }), "found '4294967296'");
  expect_part(error_of([&] { as_uint(file, value(5)); }), "found '-1'");
  expect_part(error_of([&] { as_string(file, value(1)); }), "expected a quoted string, found '5'");
  expect_part(error_of([&] { as_string(file, value(8)); }), "control character 10");
  expect_part(error_of([&] { as_bool(file, value(2)); }),
              "expected true or false, found a message");
  expect_part(error_of([&] { as_message(file, value(1)); }), "expected a message, found '5'");
  expect_part(error_of([&] { find(file, file.fields(), "dup"); }), "'dup' is set a second time");
}

TEST(TextEdit, ChangesOnlyWhatItNames) {
  const Prototxt file = parse(
      "# head\n"
      "a: 1\n"
      "b: 2  # stays\n"
      "  c: [1, 2, 3]\n"
      "d: 1 e: 2 d: 3\r\n"
      "f: 4; g: 5,\n");
  TextEdit edit(file);
  edit.remove(file.fields()[0]);
  edit.remove(file.fields()[1]);
  edit.truncate(file.fields(), "c", 1);
  edit.truncate(file.fields(), "d", 1);
  edit.replace(file.fields()[6], {"x: 1", "y: 2"});
  EXPECT_EQ(edit.apply(0, file.text().size()),
            "# head\n"
            "  # stays\n"
            "  c: [1]\n"
            "d: 1 e: 2\r\n"
            "x: 1\ny: 2 g: 5,\n");
}

TEST(TextEdit, KeepsWordsApart) {
  const Prototxt file = parse("a: 1 b: [2]c: [3]d: 4");
  TextEdit edit(file);
  edit.remove(file.fields()[1]);
  edit.replace(file.fields()[2], {"x: 5"});
  EXPECT_EQ(edit.apply(0, file.text().size()), "a: 1 x: 5 d: 4");
}

TEST(TextEdit, QuotesNames) { EXPECT_EQ(quote("a\"b\\c"), "\"a\\\"b\\\\c\""); }

}  // namespace
}  // namespace amct::caffe
