"""`amct decompose` of ONNX models: what it writes computes the same, and it says what it left alone."""

import itertools
import json
import pathlib

import numpy as np
import onnx
import pytest
from amct_cli import amct, infer, make_model, ops, ports_of, save_batches
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

F32 = np.float32
TOLERANCE = {np.float16: 4e-3, np.float32: 2e-6, np.float64: 1e-13}


def conv_model(weight, bias=None, dtype=np.float32, image=(1, 9, 11), **attributes):
    rng = np.random.default_rng(1)
    inputs = ["x", "w"] + (["b"] if bias is not None else [])
    values = {"w": weight.astype(dtype)} | ({"b": bias.astype(dtype)} if bias is not None else {})
    model = make_model([helper.make_node("Conv", inputs, ["y"], name="conv", **attributes)],
                       {"x": ([image[0], weight.shape[1], *image[1:]], dtype)}, {"y": (None, dtype)}, values)
    return model, {"x": rng.normal(size=(image[0], weight.shape[1], *image[1:])).astype(dtype)}


def decompose(tmp_path, model, *arguments, expect=0):
    path = tmp_path / "m.onnx"
    if not isinstance(model, bytes):
        onnx.save(model, path)
    run = amct("decompose", path, f"--save_path={tmp_path}/out/m", f"--report={tmp_path}/r.json", *arguments,
               cwd=tmp_path)
    assert run.code == expect, run.stderr
    return run, tmp_path / "out" / "m_decomposed_model.onnx"


def report(tmp_path):
    return {entry["name"]: entry for entry in json.loads((tmp_path / "r.json").read_text())["layers"]}


def low_rank(rng, cout, cin, kh, kw, rank):
    """[cout, cin, kh, kw] of that rank between (cin, kh) and (cout, kw)."""
    first = rng.normal(size=(rank, cin, kh)) / np.sqrt(cin * kh)
    last = rng.normal(size=(cout, rank, kw)) / np.sqrt(rank * kw)
    return np.einsum("orw,rih->oihw", last, first)


def outputs(model, feed):
    """ONNX Runtime has no float64 Conv for processors: there the onnx package's own evaluator stands in."""
    if next(iter(feed.values())).dtype != np.float64:
        return infer(model, feed)
    return ReferenceEvaluator(str(model) if isinstance(model, pathlib.Path) else model).run(None, feed)


def scaled_difference(wanted, got):
    wanted, got = wanted.astype(np.float64), got.astype(np.float64)
    return np.abs(wanted - got).max() / np.abs(wanted).max()


MODES = {"SCFK": (64, 64, 3, 3), "SCSK": (72, 64, 5, 3), "FCFK": (64, 80, 3, 5), "FCSK": (64, 80, 5, 3)}
PADDINGS = [{}, {"pads": [1, 2, 0, 1]}, {"auto_pad": "SAME_UPPER"}, {"auto_pad": "SAME_LOWER"}, {"auto_pad": "VALID"}]


@pytest.mark.parametrize("mode,dtype", list(itertools.product(MODES, TOLERANCE)))
def test_full_rank_equals_the_original(tmp_path, mode, dtype):
    shape = MODES[mode]
    rng = np.random.default_rng(2)
    weight = rng.normal(size=shape) / np.sqrt(np.prod(shape[1:]))
    full = min(shape[2:]) * min(shape[:2])
    for index, (padding, stride) in enumerate(itertools.product(PADDINGS, ([1, 1], [2, 1], [2, 2]))):
        model, feed = conv_model(weight, rng.normal(size=shape[0]), dtype, strides=stride, **padding)
        folder = tmp_path / str(index)
        folder.mkdir()
        _, target = decompose(folder, model, "--rule=rank", f"--value={full}", "--min_speedup=0")
        assert report(folder)["conv"]["mode"] == mode
        assert report(folder)["conv"]["rank"] == full
        assert ports_of(target) == ports_of(model)
        difference = scaled_difference(outputs(model, feed)[0], outputs(target, feed)[0])
        assert difference < TOLERANCE[dtype], (padding, stride, difference)


def test_default_rule_on_a_low_rank_kernel(tmp_path):
    rng = np.random.default_rng(3)
    model, feed = conv_model(low_rank(rng, 64, 64, 3, 3, 20), rng.normal(size=64), pads=[1, 1, 1, 1])
    run, target = decompose(tmp_path, model)
    entry = report(tmp_path)["conv"]
    assert (entry["mode"], entry["rank"], entry["full_rank"]) == ("SCFK", 32, 192)
    assert entry["before"] == {"macs": 64 * 64 * 9 * 99, "params": 64 * 64 * 9}
    assert entry["after"] == {"macs": 2 * 32 * 64 * 3 * 99, "params": 2 * 32 * 64 * 3}
    assert entry["relative_error"] < 1e-5
    assert scaled_difference(infer(model, feed)[0], infer(target, feed)[0]) < 1e-5
    assert [node.name for node in ops(target, "Conv")] == ["conv.0", "conv.1"]
    assert [len(node.input) for node in ops(target, "Conv")] == [2, 3]
    assert "1 of 1 convolutions decomposed" in run.stdout


def test_what_is_left_alone_says_why(tmp_path):
    rng = np.random.default_rng(4)
    weights = {"dilated": (64, 64, 3, 3), "grouped": (64, 32, 3, 3), "pointwise": (64, 64, 1, 1),
               "flat": (64, 64, 1, 5), "small": (16, 64, 3, 3), "good": (64, 16, 3, 3), "zero": (64, 64, 3, 3)}
    values = {name: rng.normal(size=shape).astype(F32) for name, shape in weights.items()}
    values["good"] = rng.normal(size=(96, 16, 9, 9)).astype(F32)
    values["zero"][:] = 0
    nodes, previous = [], "x"
    special = {"dilated": {"dilations": [2, 2]}, "grouped": {"group": 2}}
    for name, value in values.items():
        extra = special.get(name, {})
        pads = [d * (k - 1) // 2 for k, d in zip(value.shape[2:], extra.get("dilations", [1, 1]), strict=True)] * 2
        nodes.append(helper.make_node("Conv", [previous, name], [name + "_y"], name=name, pads=pads, **extra))
        previous = name + "_y"
        if name == "good":
            nodes.append(helper.make_node("Slice", [previous, "s", "e", "a"], ["cut"], name="cut"))
            previous = "cut"
    values |= {"s": np.array([0]), "e": np.array([64]), "a": np.array([1])}
    model = make_model(nodes, {"x": ([1, 64, 12, 12], F32)}, {previous: (None, F32)}, values)
    run, target = decompose(tmp_path, model)
    entries = report(tmp_path)
    assert [name for name, entry in entries.items() if entry["mode"] != "UNCHANGE"] == ["good"]
    for name, word in {"dilated": "dilat", "grouped": "group", "pointwise": "kernel", "flat": "kernel",
                       "small": "channels", "zero": "zero"}.items():
        assert word in entries[name]["reason"], entries[name]
        assert name in run.stdout
    assert len(ops(target, "Conv")) == len(weights) + 1


def test_a_shared_weight_stays_shared(tmp_path):
    rng = np.random.default_rng(5)
    weight = low_rank(rng, 64, 64, 3, 3, 16).astype(F32)
    model = make_model(
        [helper.make_node("Conv", ["x", "w"], ["a"], name="first", pads=[1, 1, 1, 1]),
         helper.make_node("Conv", ["a", "w", "b"], ["y"], name="second", strides=[2, 2])],
        {"x": ([1, 64, 9, 9], F32)}, {"y": (None, F32)}, {"w": weight, "b": rng.normal(size=64).astype(F32)})
    _, target = decompose(tmp_path, model)
    first = [list(node.input)[1] for node in ops(target, "Conv")]
    assert first[0] == first[2] and first[1] == first[3]
    assert {tensor.name for tensor in onnx.load(target).graph.initializer} == {"b", first[0], first[1]}
    feed = {"x": rng.normal(size=(1, 64, 9, 9)).astype(F32)}
    assert scaled_difference(infer(model, feed)[0], infer(target, feed)[0]) < 1e-5


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_no_numbers_are_refused(tmp_path, value):
    weight = np.ones((64, 64, 3, 3))
    weight[3, 2, 1, 0] = value
    model, _ = conv_model(weight)
    run, target = decompose(tmp_path, model, expect=1)
    assert len(run.errors) == 1 and "conv" in run.errors[0]
    assert not target.exists() and not (tmp_path / "r.json").exists()


def test_rules_reach_their_budget_and_skips_hold(tmp_path):
    rng = np.random.default_rng(6)
    values = {f"w{i}": rng.normal(size=(64, 64, 3, 3)).astype(F32) for i in range(3)}
    nodes = [helper.make_node("Conv", [f"t{i}", f"w{i}"], [f"t{i + 1}"], name=f"layer{i}") for i in range(3)]
    model = make_model(nodes, {"t0": ([1, 64, 16, 16], F32)}, {"t3": (None, F32)}, values)
    run, _ = decompose(tmp_path, model, "--rule=macs", "--value=0.6", "--skip=*2")
    root = json.loads((tmp_path / "r.json").read_text())
    assert root["after"]["macs"] <= 0.6 * root["before"]["macs"], run.stdout
    assert report(tmp_path)["layer2"]["mode"] == "UNCHANGE"
    assert "skip" in report(tmp_path)["layer2"]["reason"]


@pytest.mark.parametrize("arguments", [["--rule=energy", "--value=1.5"], ["--rule=rank", "--value=0"], ["--rule=macs"]])
def test_bad_options_are_usage_errors(tmp_path, arguments):
    model, _ = conv_model(np.ones((64, 64, 3, 3)))
    run, target = decompose(tmp_path, model, *arguments, expect=2)
    assert len(run.errors) == 1 and not target.exists()


def test_a_dry_run_writes_nothing_and_needs_no_save_path(tmp_path):
    model, _ = conv_model(np.random.default_rng(7).normal(size=(64, 64, 3, 3)))
    onnx.save(model, tmp_path / "m.onnx")
    run = amct("decompose", tmp_path / "m.onnx", "--dry-run", cwd=tmp_path)
    assert run.code == 0 and "1 of 1 convolutions would be decomposed" in run.stdout
    assert sorted(p.name for p in tmp_path.iterdir()) == ["amct_log", "m.onnx"]


def test_files_of_other_kinds(tmp_path):
    (tmp_path / "m.pth").write_bytes(b"x")
    run = amct("decompose", tmp_path / "m.pth", "--save_path=o", cwd=tmp_path)
    assert run.code == 2 and "amct_pytorch" in run.errors[0]
    (tmp_path / "m.onnx").write_bytes(b"not a model")
    run = amct("decompose", tmp_path / "m.onnx", "--save_path=o", cwd=tmp_path)
    assert run.code == 1 and len(run.errors) == 1
    (tmp_path / "n.prototxt").write_text("layer {}")
    run = amct("decompose", tmp_path / "n.prototxt", "--save_path=o", cwd=tmp_path)
    assert run.code == 2 and ".caffemodel" in run.errors[0]


def test_the_input_is_never_overwritten(tmp_path):
    model, _ = conv_model(np.random.default_rng(8).normal(size=(64, 64, 3, 3)))
    path = tmp_path / "m_decomposed_model.onnx"
    onnx.save(model, path)
    before = path.read_bytes()
    run = amct("decompose", path, f"--save_path={tmp_path}/m", cwd=tmp_path)
    assert run.code == 2 and path.read_bytes() == before


def test_a_convolution_in_a_branch(tmp_path):
    rng = np.random.default_rng(9)
    weight = low_rank(rng, 64, 64, 3, 3, 8).astype(F32)
    then = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["t"], name="inner")], "then", [],
                             [helper.make_tensor_value_info("t", TensorProto.FLOAT, None)])
    other = helper.make_graph([helper.make_node("Relu", ["x"], ["e"], name="other")], "else", [],
                              [helper.make_tensor_value_info("e", TensorProto.FLOAT, None)])
    model = make_model([helper.make_node("If", ["c"], ["y"], name="if", then_branch=then, else_branch=other)],
                       {"c": ([], np.bool_), "x": ([1, 64, 8, 8], F32)}, {"y": (None, F32)}, {"w": weight})
    _, target = decompose(tmp_path, model)
    for condition in (True, False):
        feed = {"c": np.array(condition), "x": rng.normal(size=(1, 64, 8, 8)).astype(F32)}
        assert scaled_difference(infer(model, feed)[0], infer(target, feed)[0]) < 1e-5


def test_data_lower_the_error_of_the_output(tmp_path):
    rng = np.random.default_rng(10)
    mixing = rng.normal(size=(64, 64)) * np.geomspace(1, 0.01, 64)
    images = [np.einsum("oc,nchw->nohw", mixing, rng.normal(size=(2, 64, 12, 12))).astype(F32) for _ in range(5)]
    model, _ = conv_model(rng.normal(size=(64, 64, 3, 3)), image=(2, 12, 12), pads=[1, 1, 1, 1])
    save_batches(tmp_path / "images", images[:4])
    errors = {}
    for name, arguments in {"plain": [], "data": [f"--data_dir={tmp_path}/images"]}.items():
        (tmp_path / name).mkdir()
        _, target = decompose(tmp_path / name, model, *arguments)
        wanted, got = infer(model, {"x": images[4]})[0], infer(target, {"x": images[4]})[0]
        errors[name] = np.linalg.norm(wanted - got) / np.linalg.norm(wanted)
    assert errors["data"] < 0.7 * errors["plain"], errors
    told = report(tmp_path / "data")["conv"]["output_error"]
    assert 0.7 * errors["data"] < told < 1.3 * errors["data"]
    assert report(tmp_path / "plain")["conv"]["relative_error"] < report(tmp_path / "data")["conv"]["relative_error"]
