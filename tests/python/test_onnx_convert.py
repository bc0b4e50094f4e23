"""amct_onnx's convert_qat_model and `amct onnx convert`, on models that ONNX Runtime's quantizer and PyTorch write."""

import inspect
import json

import amct_onnx as amct_package
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from amct_cli import amct, infer, make_model, ports_of, run_amct
from amct_onnx.convert_model import convert_qat_model
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static

pytestmark = pytest.mark.usefixtures("own_folder")


def weights(*shape, seed=5):
    return np.random.default_rng(seed).normal(0, 0.2, shape).astype(np.float32)


def images(count=4):
    random = np.random.default_rng(11)
    return [random.normal(0.3, 1, (1, 3, 8, 8)).astype(np.float32) for _ in range(count)]


def float_network(opset=17):
    """Convolutions, a residual connection, pooling, Concat, ConvTranspose, a linear layer on a transposed weight."""
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], name="conv1", pads=[1] * 4),
        helper.make_node("Relu", ["c1"], ["r1"], name="relu1"),
        helper.make_node("MaxPool", ["r1"], ["p1"], name="pool1", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["p1", "w2"], ["c2"], name="conv2", pads=[1] * 4, group=2),
        helper.make_node("Add", ["c2", "p1"], ["a"], name="add"),
        helper.make_node("ConvTranspose", ["a", "w4"], ["t"], name="up", group=2),
        helper.make_node("Concat", ["a", "t"], ["cat"], name="cat", axis=1),
        helper.make_node("AveragePool", ["cat"], ["p2"], name="pool2", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["p2"], ["f"], name="flatten"),
        helper.make_node("MatMul", ["f", "w3"], ["mm"], name="fc"),
        helper.make_node("Add", ["mm", "b3"], ["y"], name="bias"),
    ]
    constants = {"w1": weights(8, 3, 3, 3), "b1": weights(8), "w2": weights(8, 4, 3, 3), "w4": weights(8, 2, 1, 1),
                 "w3": weights(48, 5), "b3": weights(5)}
    return make_model(nodes, {"x": ((1, 3, 8, 8), np.float32)}, {"y": ((1, 5), np.float32)}, constants, opset=opset)


class Images(CalibrationDataReader):
    def __init__(self):
        self.left = iter([{"x": batch} for batch in images()])

    def get_next(self):
        return next(self.left, None)


def write_qdq(path="q.onnx", activation="QUInt8", weight="QInt8", per_channel=False, opset=17, **options):
    onnx.save(float_network(opset), "float.onnx")
    quantize_static("float.onnx", path, Images(), quant_format=QuantFormat.QDQ, per_channel=per_channel,
                    activation_type=QuantType[activation], weight_type=QuantType[weight], extra_options=options)
    return onnx.load(path)


def as_written(path, feed):
    """What the quantized model computes, operator by operator."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, feed)


def operators(path):
    found = [node.op_type for node in onnx.load(path).graph.node]
    return {name: found.count(name) for name in set(found)}


def convert(tmp_path, *extra, model="q.onnx", expect=0):
    run = amct("onnx", "convert", f"--model={model}", "--save_path=out/q", *extra, cwd=tmp_path)
    assert run.code == expect, run.stderr
    return run


def check_results(tmp_path, steps=0.0):
    """Fake-quant, deploy and the original agree (up to `steps` of the range of the result)."""
    assert ports_of("out/q_fake_quant_model.onnx") == ports_of("q.onnx") == ports_of("out/q_deploy_model.onnx")
    assert amct("check", "out/q_deploy_model.onnx", cwd=tmp_path).code == 0
    for batch in images(2):
        expected = as_written("q.onnx", {"x": batch})[0]
        fake_quant = infer("out/q_fake_quant_model.onnx", {"x": batch})[0]
        deploy = run_amct(tmp_path, "out/q_deploy_model.onnx", {"x": [batch]})["y/00000.npy"]
        np.testing.assert_allclose(deploy, fake_quant, rtol=1e-6)
        np.testing.assert_allclose(fake_quant, expected, atol=1e-5 + steps * np.ptp(expected))


def test_signature_is_the_documented_one():
    assert str(inspect.signature(convert_qat_model)) == "(model_file, save_path, record_file=None)"
    assert amct_package.convert_qat_model is convert_qat_model


@pytest.mark.parametrize(("activation", "weight", "per_channel", "opset"), [
    ("QUInt8", "QInt8", False, 13), ("QInt8", "QInt8", False, 17), ("QInt16", "QInt8", False, 21), ("QUInt16", "QInt8", False, 21),
    ("QUInt8", "QUInt8", False, 17)])
def test_models_of_onnxruntime_compute_the_same(tmp_path, activation, weight, per_channel, opset):
    write_qdq("q.onnx", activation, weight, per_channel, opset, WeightSymmetric=True)
    run = convert(tmp_path, "--record_file=out/factors.txt")
    assert "layers left in float" not in run.stdout
    check_results(tmp_path, steps=0.002 if "16" in activation else 0.03)
    counts = operators("out/q_deploy_model.onnx")
    assert "QuantizeLinear" not in counts and "DequantizeLinear" not in counts
    assert counts["AscendDequant"] == 5  # 2 Conv, ConvTranspose, AveragePool, MatMul
    text = (tmp_path / "out/factors.txt").read_text()
    assert 'key: "conv1"' in text and 'key: "add:0"' in text and "is_tensor_quantize: true" in text
    layers = json.loads((tmp_path / "out/q_quant.json").read_text())["layers"]
    assert {layer["act_type"] for layer in layers} == {"INT16" if "16" in activation else "INT8"}


def test_one_scale_per_channel_for_convolutions_only(tmp_path):
    write_qdq(per_channel=True)
    run = convert(tmp_path)
    assert "MatMul takes one scale for the whole weight" in run.stdout and "fc" in run.stdout
    deploy = onnx.load("out/q_deploy_model.onnx")
    sizes = {value.name: value.dims[0] for value in deploy.graph.initializer if value.name.endswith(".dequant.param")}
    assert sizes == {"conv1.dequant.param": 8, "conv2.dequant.param": 8, "up.dequant.param": 4, "pool2.dequant.param": 1}
    check_results(tmp_path, steps=0.03)


def test_factors_are_those_of_the_model(tmp_path):
    model = write_qdq()
    amct_package.convert_qat_model("q.onnx", "out/q", "factors.txt")
    constants = {value.name: numpy_helper.to_array(value) for value in model.graph.initializer}
    conv = next(node for node in model.graph.node if node.name == "conv1")
    pair = next(node for node in model.graph.node if node.output[0] == conv.input[0])
    deploy = onnx.load("out/q_deploy_model.onnx")
    quant = next(node for node in deploy.graph.node if node.name == "conv1.quant")
    attributes = {item.name: helper.get_attribute_value(item) for item in quant.attribute}
    assert attributes["scale"] == np.float32(1) / constants[pair.input[1]]
    assert attributes["offset"] == constants[pair.input[2]].astype(int) - 128
    assert f"offset_d: {int(attributes['offset'])}" in (tmp_path / "factors.txt").read_text()


@pytest.mark.parametrize("dynamo", [False, True], ids=["torchscript", "dynamo"])
def test_model_of_pytorch(tmp_path, dynamo):
    import torch

    class Fake(torch.nn.Module):
        def __init__(self, scale, zero_point, low, high):
            super().__init__()
            self.arguments = (scale, zero_point, low, high)

        def forward(self, x):
            return torch.fake_quantize_per_tensor_affine(x, *self.arguments)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.fc = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.Linear(8 * 64, 5)
            self.data, self.more = Fake(0.03, 120, 0, 255), Fake(0.02, -5, -128, 127)
            self.weight, self.fc_weight = Fake(0.0021, 0, -128, 127), Fake(0.0005, 0, -128, 127)

        def forward(self, x):
            x = torch.nn.functional.conv2d(self.data(x), self.weight(self.conv.weight), self.conv.bias, padding=1)
            x = torch.relu(self.more(x)).flatten(1)
            return torch.nn.functional.linear(x, self.fc_weight(self.fc.weight), self.fc.bias)

    torch.manual_seed(3)
    torch.onnx.export(Net().eval(), (torch.from_numpy(images(1)[0]),), "q.onnx", input_names=["x"], output_names=["y"],
                      opset_version=18 if dynamo else 13, dynamo=dynamo)
    run = convert(tmp_path)
    assert "2 of 2 layers quantized" in run.stdout
    check_results(tmp_path, steps=0.01)


def pair(name, source, scale="s", zero="z", **attributes):
    return [helper.make_node("QuantizeLinear", [source, scale, zero], [f"{name}_q"], name=f"{name}_quantize", **attributes),
            helper.make_node("DequantizeLinear", [f"{name}_q", scale, zero], [f"{name}_d"], name=f"{name}_dequantize", **attributes)]


def small(nodes, outputs, extra=(), opset=17):
    constants = {"s": np.float32(0.03), "z": np.uint8(120), "s2": np.float32(0.031), "sw": np.float32(0.004), "zw": np.int8(0),
                 "w": weights(8, 3, 3, 3), **dict(extra)}
    model = make_model(nodes, {"x": ((1, 3, 8, 8), np.float32)}, outputs, constants, opset=opset)
    onnx.save(model, "q.onnx")


Y = {"y": ((1, 8, 6, 6), np.float32)}


def test_pair_with_two_scales_is_named_and_stays(tmp_path):
    nodes = [*pair("a", "x"), *pair("w", "w", "sw", "zw"), helper.make_node("Conv", ["a_d", "w_d"], ["c"], name="good"),
             *pair("b", "x"), helper.make_node("Conv", ["b_d", "w_d"], ["d"], name="bad"),
             helper.make_node("Add", ["c", "d"], ["y"], name="add")]
    nodes[5].input[1] = "s2"
    small(nodes, Y)
    run = convert(tmp_path)
    assert "its factors differ from those of QuantizeLinear 'b_quantize'" in run.stderr and "bad" in run.stdout
    assert "1 of 3 layers quantized" in run.stdout
    counts = operators("out/q_deploy_model.onnx")
    assert counts["AscendDequant"] == counts["QuantizeLinear"] == counts["DequantizeLinear"] == 1
    x = images(1)[0]
    np.testing.assert_allclose(infer("out/q_fake_quant_model.onnx", {"x": x})[0], as_written("q.onnx", {"x": x})[0], atol=1e-3)


def test_quantize_linear_as_the_last_node(tmp_path):
    nodes = [*pair("a", "x"), *pair("w", "w", "sw", "zw"), helper.make_node("Conv", ["a_d", "w_d"], ["c"], name="conv"),
             helper.make_node("QuantizeLinear", ["c", "s", "z"], ["y"], name="last")]
    small(nodes, {"y": ((1, 8, 6, 6), np.uint8)})
    run = convert(tmp_path)
    assert "becomes signed: its values are 128 smaller" in run.stderr
    x = images(1)[0]
    expected = as_written("q.onnx", {"x": x})[0].astype(int) - 128
    fake_quant = infer("out/q_fake_quant_model.onnx", {"x": x})[0]
    assert fake_quant.dtype == np.int8 and np.abs(fake_quant - expected).max() <= 1
    assert np.array_equal(run_amct(tmp_path, "out/q_deploy_model.onnx", {"x": [x]})["y/00000.npy"], fake_quant)
    assert onnx.load("out/q_deploy_model.onnx").graph.output[0].type.tensor_type.elem_type == TensorProto.INT8
    assert amct("check", "out/q_deploy_model.onnx", cwd=tmp_path).code == 0


@pytest.mark.parametrize("opset", [13, 16])
def test_int16_below_opset_21(tmp_path, opset):
    """Invalid by the letter, and what the manual tells users to write."""
    nodes = [*pair("a", "x", "s", "z16"), *pair("w", "w", "sw", "zw"), helper.make_node("Conv", ["a_d", "w_d"], ["y"], name="conv")]
    small(nodes, Y, {"z16": np.uint16(30000)}, opset)
    convert(tmp_path)
    quant = onnx.load("out/q_deploy_model.onnx").graph.node[0]
    attributes = {item.name: helper.get_attribute_value(item) for item in quant.attribute}
    assert attributes["dst_type"] == b"INT16" and attributes["offset"] == 30000 - 32768
    x = images(1)[0]
    deploy = run_amct(tmp_path, "out/q_deploy_model.onnx", {"x": [x]})["y/00000.npy"]
    np.testing.assert_allclose(deploy, infer("out/q_fake_quant_model.onnx", {"x": x})[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("extra", "words"), [
    ({"zw": np.int8(3)}, "the zero point of its weight is not 0"),
    ({"sw": np.full(3, 0.004, np.float32), "zw": np.zeros(3, np.int8)}, "quantized along axis 1; expected the output channels, axis 0"),
    ({"sw": np.float16(0.004)}, "its scale is float16"),
    ({"sw": np.float32(-1)}, "not a positive, finite number"),
    ({"sw": np.full(7, 0.004, np.float32), "zw": np.zeros(7, np.int8)}, "do not fit"),
])
def test_weights_that_do_not_fit_are_named(tmp_path, extra, words):
    good = [helper.make_node("Conv", ["a_d", "v_d"], ["c"], name="good"), *pair("v", "v", "sv", "zv")]
    nodes = [*pair("a", "x"), *good[1:], good[0], *pair("w", "w", "sw", "zw", axis=1),
             helper.make_node("Conv", ["a_d", "w_d"], ["d"], name="conv"), helper.make_node("Add", ["c", "d"], ["y"], name="add")]
    small(nodes, Y, {"v": weights(8, 3, 3, 3), "sv": np.float32(0.004), "zv": np.int8(0), **extra})
    run = convert(tmp_path, expect=1 if words == "do not fit" else 0)
    assert words in run.stderr + run.stdout


def test_conv_axis_0_is_the_channel_axis(tmp_path):
    scales = np.linspace(0.004, 0.008, 8).astype(np.float32)
    nodes = [*pair("a", "x"), *pair("w", "w", "sw", "zw", axis=0), helper.make_node("Conv", ["a_d", "w_d"], ["y"], name="conv")]
    small(nodes, Y, {"sw": scales, "zw": np.zeros(8, np.int8)})
    convert(tmp_path, "--record_file=r.txt")
    lines = (tmp_path / "r.txt").read_text().splitlines()
    assert [np.float32(line.split()[1]) for line in lines if "scale_w" in line] == list(scales)


def test_weight_changed_behind_its_pair_stays_in_float(tmp_path):
    nodes = [*pair("a", "x"), *pair("w", "w", "sw", "zw"), helper.make_node("Mul", ["w_d", "half"], ["wm"], name="mul"),
             helper.make_node("Conv", ["a_d", "wm"], ["c"], name="conv"), *pair("c", "c"),
             helper.make_node("MaxPool", ["c_d"], ["y"], name="pool", kernel_shape=[1, 1])]
    small(nodes, Y, {"half": np.float32(0.3)})
    run = convert(tmp_path)
    assert "its weight does not come from DequantizeLinear" in run.stdout


def test_other_forms_are_refused(tmp_path):
    onnx.save(float_network(), "float.onnx")
    quantize_dynamic("float.onnx", "q.onnx")
    run = convert(tmp_path, expect=1)
    assert "another form than QDQ" in run.stderr and "QuantFormat.QDQ" in run.stderr
    run = convert(tmp_path, model="float.onnx", expect=1)
    assert "has no QuantizeLinear or DequantizeLinear" in run.stderr
    assert not (tmp_path / "out").exists()


def test_dry_run_writes_nothing(tmp_path):
    write_qdq()
    run = convert(tmp_path, "--dry-run")
    assert "conv1" in run.stdout or "layers" in run.stdout
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("argument", ["model_file", "save_path", "record_file"])
def test_argument_types(argument):
    arguments = {"model_file": "q.onnx", "save_path": "out/q", "record_file": None, argument: 3}
    with pytest.raises(TypeError, match=argument):
        convert_qat_model(**arguments)
