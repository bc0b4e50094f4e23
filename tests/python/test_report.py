"""The HTML report of a run is one well-formed page that asks for nothing from outside."""

import html.parser
import json

import numpy as np
from amct_cli import calibrate, make_model
from onnx import helper

VOID = {"meta", "input", "br", "rect", "line"}


class Checker(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.tags, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            assert name not in ("src", "href"), f"{tag} {name}={value}"
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_report_is_one_well_formed_page(tmp_path):
    hostile = 'conv"><script>alert(1)</script>&\n;'
    rng = np.random.default_rng(0)
    model = make_model(
        [helper.make_node("Conv", ["x", "w"], ["h"], name=hostile),
         helper.make_node("BatchNormalization", ["h", "s", "b", "m", "v"], ["n"], name="bn"),
         helper.make_node("MatMul", ["n", "n"], ["y"], name="product")],
        {"x": ([1, 3, 8, 8], np.float32)}, {"y": ([1, 4, 8, 8], np.float32)},
        {"w": rng.normal(size=(4, 3, 1, 1)).astype(np.float32), **{name: np.ones(4, np.float32) for name in "sbmv"}})
    data = {"x": [rng.normal(size=(1, 3, 8, 8)).astype(np.float32)]}
    result = calibrate(tmp_path, model, data)
    checker = Checker()
    checker.feed(result.report.read_text())
    checker.close()
    assert checker.open == [] and checker.tags.count("html") == 1
    assert checker.tags.count("svg") == 2 and checker.tags.count("script") == 1
    text = " ".join(checker.text)
    assert "<script>alert(1)</script>" in text and "run time" in text and "1 of 2 quantized" in text
    mapping = json.loads((tmp_path / "out" / "m_quant.json").read_text())
    assert {"quantized_node": hostile, "original_nodes": [hostile, "bn"]} in mapping["nodes"]
    assert mapping["layers"][0]["inserted_nodes"] == [f"{hostile}.quant", f"{hostile}.dequant"]
