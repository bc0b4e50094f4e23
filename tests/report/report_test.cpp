#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "amct/report/format.h"
#include "amct/report/html.h"
#include "amct/report/quant_json.h"
#include "amct/report/terminal.h"

namespace amct::report {
namespace {

LayerReport quantized_layer(const std::string& name, std::optional<double> sqnr) {
  LayerReport layer;
  layer.name = name;
  layer.op_type = "Conv";
  layer.quantized = true;
  layer.scale_d = 0.25;
  layer.offset_d = -3;
  layer.algorithm = "IFMR";
  layer.sqnr_db = sqnr;
  layer.cosine = 0.5;
  layer.activation_histogram = {{1, 0, 5}, -1.0, 2.0};
  return layer;
}

RunReport small_report() {
  RunReport report;
  report.model = "m.onnx";
  report.float_bytes = 4000;
  report.deploy_bytes = 1000;
  report.calibration_batches = 2;
  report.layers = {quantized_layer("good", 40.0), quantized_layer("bad", 3.0)};
  LayerReport skipped;
  skipped.name = "left";
  skipped.op_type = "MatMul";
  skipped.reason = "its weight is computed at run time";
  report.layers.push_back(skipped);
  report.files_written = {"out/m_deploy_model.onnx"};
  return report;
}

TEST(Terminal, ShowsCountsWorstLayersReasonsAndFiles) {
  const std::string text = render_table(small_report(), 100, false);
  EXPECT_NE(text.find("2 of 3 layers quantized"), std::string::npos);
  EXPECT_NE(text.find("float 4.00 kB -> deploy 1.00 kB (25 %)"), std::string::npos);
  EXPECT_LT(text.find("bad"), text.find("good"));
  EXPECT_NE(text.find("1 x its weight is computed at run time"), std::string::npos);
  EXPECT_NE(text.find("out/m_deploy_model.onnx"), std::string::npos);
  EXPECT_EQ(text.find('\033'), std::string::npos);
  EXPECT_NE(render_table(small_report(), 100, true).find('\033'), std::string::npos);
}

TEST(Terminal, ListsEveryLayerOfADryRun) {
  RunReport report = small_report();
  report.dry_run = true;
  const std::string text = render_table(report, 100, false);
  EXPECT_NE(text.find("2 of 3 layers would be quantized"), std::string::npos);
  EXPECT_NE(text.find("good"), std::string::npos);
  EXPECT_NE(text.find("left"), std::string::npos);
}

TEST(Terminal, KeepsLinesNarrowAndControlCharactersOut) {
  RunReport report = small_report();
  report.files_written.clear();
  report.layers[0].name = std::string(300, 'x') + "\033[31m\n";
  std::size_t start = 0;
  const std::string text = render_table(report, 80, false);
  EXPECT_EQ(text.find('\033'), std::string::npos);
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', start)) {
    EXPECT_LE(display_width(text.substr(start, end - start)), 80U);
    start = end + 1;
  }
}

TEST(Terminal, SurvivesAnEmptyReportAndOddNumbers) {
  EXPECT_NE(render_table({}, 0, false).find("0 of 0 layers"), std::string::npos);
  RunReport report;
  report.layers = {quantized_layer("nan", std::nan("")),
                   quantized_layer("inf", std::numeric_limits<double>::infinity()),
                   quantized_layer("none", std::nullopt)};
  const std::string text = render_table(report, 100, false);
  EXPECT_NE(text.find("NaN"), std::string::npos);
  EXPECT_NE(text.find("exact"), std::string::npos);
}

TEST(Shortened, CutsTheMiddleBetweenCharacters) {
  EXPECT_EQ(shortened("abcdefghij", 7), "ab...ij");
  EXPECT_EQ(shortened("\xC3\xA4\xC3\xB6\xC3\xBC\xC3\xA4\xC3\xB6\xC3\xBC\xC3\xA4\xC3\xB6", 7),
            "\xC3\xA4\xC3\xB6...\xC3\xA4\xC3\xB6");
  EXPECT_EQ(shortened("a\tb", 10), "a?b");
}

TEST(Html, EscapesEveryName) {
  RunReport report = small_report();
  const std::string hostile = "<script>alert(\"1\")</script>&'";
  report.model = hostile;
  report.warnings = {hostile};
  report.command_line = hostile;
  for (LayerReport& layer : report.layers) layer.name = layer.op_type = hostile;
  report.layers.back().reason = hostile;
  const std::string page = render_html(report);
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;alert(&quot;1&quot;)"), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos);
}

TEST(Html, StaysBoundedForTenThousandLayers) {
  RunReport report;
  LayerReport layer = quantized_layer("layer", 20.0);
  layer.activation_histogram.bins.assign(4096, 7);
  layer.weight_histogram = layer.activation_histogram;
  report.layers.assign(10000, layer);
  EXPECT_LT(render_html(report).size(), 20U << 20);
}

TEST(QuantJson, WritesFloatsThatReadBackExactly) {
  QuantMapping mapping;
  mapping.nodes = {{"conv", {"conv", "bn"}}};
  mapping.layers = {{"conv", "Conv", {"conv.quant", "conv.dequant"}, 0.1F, -128, "INT8", "INT8"}};
  const std::string expected = R"({
  "version": 1,
  "nodes": [
    {
      "quantized_node": "conv",
      "original_nodes": [
        "conv",
        "bn"
      ]
    }
  ],
  "layers": [
    {
      "layer": "conv",
      "op_type": "Conv",
      "inserted_nodes": [
        "conv.quant",
        "conv.dequant"
      ],
      "scale_d": 0.1,
      "offset_d": -128,
      "act_type": "INT8",
      "wts_type": "INT8"
    }
  ]
}
)";
  EXPECT_EQ(write_quant_json(mapping), expected);
}

}  // namespace
}  // namespace amct::report
