"""fake_quant models, lowered deploy models and the NPU's arithmetic agree to the last bit."""
import os
import pathlib
import subprocess

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from quant_reference import Device

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXACT = 2 ** 24  # integers up to here are exact in float32
# Share of elements that x * (1 / s) and x / s round to different integers. It grows with the size of
# the integers: float32 has 24 bits, of which a 16-bit integer leaves 8 behind the point.
NEWEST = min(onnx.defs.onnx_opset_version(), 26)


def find_tool():
    folders = [os.environ["AMCT_BUILD_DIR"]] if "AMCT_BUILD_DIR" in os.environ else [
        ROOT / "build/release", ROOT / "build/dev"]
    for folder in folders:
        tool = pathlib.Path(folder) / "tests/passes/quantize_tool"
        if tool.exists():
            return tool
    pytest.fail("quantize_tool is not built; build it, or set AMCT_BUILD_DIR")


class Net:
    """A model under construction; values in float32, seeded."""

    def __init__(self, seed=1):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.constants, self.inputs, self.outputs, self.factors = [], [], [], [], {}

    def input(self, name, dims, shape=None):
        self.inputs.append((name, dims, shape or dims))
        return name

    def constant(self, name, value):
        if not any(c.name == name for c in self.constants):
            self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def weight(self, name, dims):
        return self.constant(name, self.rng.normal(0, 0.2, dims).astype(np.float32))

    def node(self, op_type, name, inputs, output=None, **attributes):
        output = output or name + "_out"
        self.nodes.append(helper.make_node(op_type, inputs, [output], name=name, **attributes))
        return output

    def layer(self, op_type, name, inputs, output=None, scale=0.03125 * 0.77, offset=-7, bits=8,
              weight_bits=8, channel_wise=1, **attributes):
        self.factors[name] = (scale, offset, bits, weight_bits, channel_wise)
        return self.node(op_type, name, inputs, output, **attributes)

    def output(self, name, shape=None):
        self.outputs.append((name, shape))

    def model(self, opset):
        graph = helper.make_graph(
            self.nodes, "g",
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, _, s in self.inputs],
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in self.outputs],
            self.constants)
        ir_version = 10 if opset >= 21 else 7 if opset >= 10 else 4
        return helper.make_model(graph, ir_version=ir_version,
                                 opset_imports=[helper.make_opsetid("", opset)])

    def feeds(self):
        return {n: self.rng.normal(0, 1.2, d).astype(np.float32) for n, d, _ in self.inputs}


def run_ort(path, feeds):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return ort.InferenceSession(str(path), options, ["CPUExecutionProvider"]).run(None, feeds)


def quantize(net, opset, folder):
    (folder / "model.onnx").write_bytes(net.model(opset).SerializeToString())
    (folder / "factors.txt").write_text("".join(
        f"{layer} {np.float32(scale)!s} {' '.join(map(str, rest))}\n"
        for layer, (scale, *rest) in net.factors.items()))
    done = subprocess.run([find_tool(), folder / "model.onnx", folder / "factors.txt", folder / "q"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "", done.stdout
    return [folder / f"q_{kind}.onnx" for kind in ("fake", "deploy", "lowered")]


def declared(model):
    """Names, types and shapes of true inputs and of outputs."""
    constants = {c.name for c in model.graph.initializer}
    return ([i.SerializeToString() for i in model.graph.input if i.name not in constants],
            [o.SerializeToString() for o in model.graph.output])


def findings(path):
    done = subprocess.run([find_tool(), path, "check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def check(net, folder, opset=13, exact=True, inexact=()):
    """Quantizes and compares; returns (original, fake, deploy) models. `inexact` names outputs that
    a float operator computes, whose last bits depend on the engine."""
    fake, deploy, lowered = quantize(net, opset, folder)
    models = [onnx.load(folder / "model.onnx"), onnx.load(fake), onnx.load(deploy)]
    onnx.checker.check_model(models[1], full_check=True)
    for model in models[1:] + [onnx.load(lowered)]:
        assert declared(model) == declared(models[0])
    kinds = [n.op_type for n in models[2].graph.node]
    assert kinds.count("AscendDequant") == len(net.factors)
    errors = [f for f in findings(deploy) if f.startswith("error") and "operator set" not in f]
    assert errors == []

    feeds = net.feeds()
    device = Device(models[2])
    want = device.run(feeds)
    names = [name for name, _ in net.outputs]
    for name, got, expected in zip(names, run_ort(lowered, feeds), want):
        if name in inexact:
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)
        else:
            np.testing.assert_array_equal(got, expected, err_msg="lowered")
    if exact:
        assert device.peak < EXACT
    for name, got, expected in zip(names, run_ort(fake, feeds), want):
        if name in inexact:
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)
        elif device.peak < EXACT:
            np.testing.assert_array_equal(got, expected, err_msg="fake_quant")
        else:
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-6 * np.abs(expected).max())
    assert all(len(np.unique(q)) >= min(8, q.size // 2) for q in device.integers)
    return models


def conv_net(w_dims, x_dims, bias=True, op="Conv", **attributes):
    net = Net()
    channels = w_dims[0] if op == "Conv" else w_dims[1] * attributes.get("group", 1)
    inputs = [net.input("x", x_dims), net.weight("w", w_dims)]
    if bias:
        inputs.append(net.weight("b", [channels]))
    net.output(net.layer(op, "conv", inputs, **attributes), [None] * len(x_dims))
    return net


CONVS = {
    "plain": ([8, 4, 3, 3], [2, 4, 9, 10], {}),
    "no_bias": ([8, 4, 3, 3], [2, 4, 9, 10], dict(bias=False)),
    "one_dimension": ([6, 4, 5], [2, 4, 30], dict(pads=[2, 1])),
    "one_dimension_strided": ([6, 4, 5], [2, 4, 30], dict(strides=[3], dilations=[2])),
    "three_dimensions": ([4, 3, 3, 2, 3], [1, 3, 6, 7, 8], dict(pads=[1, 0, 1, 1, 0, 1])),
    "groups": ([8, 2, 3, 3], [1, 4, 9, 9], dict(group=2, pads=[1, 1, 1, 1])),
    "depthwise": ([6, 1, 3, 3], [2, 6, 9, 9], dict(group=6, pads=[1, 1, 1, 1])),
    "asymmetric_pads": ([5, 4, 3, 3], [1, 4, 8, 9], dict(pads=[0, 1, 2, 3])),
    "same_upper": ([5, 4, 4, 3], [1, 4, 8, 9], dict(auto_pad="SAME_UPPER", strides=[2, 3])),
    "same_lower": ([5, 4, 4, 3], [1, 4, 8, 9], dict(auto_pad="SAME_LOWER", strides=[2, 3])),
    "valid": ([5, 4, 4, 3], [1, 4, 8, 9], dict(auto_pad="VALID")),
    "strides": ([5, 4, 3, 3], [1, 4, 11, 12], dict(strides=[2, 3], pads=[1, 1, 1, 1])),
    "dilations": ([5, 4, 3, 3], [1, 4, 11, 12], dict(dilations=[2, 3], pads=[2, 3, 2, 3])),
    "pointwise": ([7, 5, 1, 1], [3, 5, 6, 6], {}),
    "one_output_channel": ([1, 5, 3, 3], [3, 5, 6, 6], {}),
    "per_tensor": ([8, 4, 3, 3], [2, 4, 9, 10], dict(channel_wise=0)),
    "six_bits": ([8, 4, 3, 3], [2, 4, 9, 10], dict(weight_bits=6)),
    "seven_bits": ([8, 4, 3, 3], [2, 4, 9, 10], dict(weight_bits=7)),
    "lowest_offset": ([8, 4, 3, 3], [2, 4, 9, 10], dict(offset=-128, pads=[1, 1, 1, 1])),
    "highest_offset": ([8, 4, 3, 3], [2, 4, 9, 10], dict(offset=127, pads=[1, 1, 1, 1])),
    "int16": ([4, 2, 1, 2], [2, 2, 9, 10], dict(bits=16, scale=0.001, offset=55, bias=False)),
    "int16_padded": ([4, 2, 3, 2], [1, 2, 9, 9],
                     dict(bits=16, scale=0.003, offset=-700, pads=[1, 1, 1, 1], bias=False)),
}

TRANSPOSED = {
    "plain": ([4, 5, 3, 3], [2, 4, 6, 7], {}),
    "one_dimension": ([4, 5, 3], [2, 4, 9], dict(strides=[2])),
    "groups": ([6, 4, 3, 2], [1, 6, 5, 5], dict(group=2, strides=[2, 2])),
    "depthwise": ([6, 1, 4, 4], [1, 6, 5, 5], dict(group=6, strides=[2, 2], pads=[1, 1, 1, 1])),
    "pads": ([4, 5, 3, 3], [1, 4, 6, 6], dict(pads=[1, 0, 2, 1], strides=[2, 3])),
    "output_padding": ([4, 5, 3, 3], [1, 4, 6, 6],
                       dict(strides=[2, 3], output_padding=[1, 2], pads=[1, 1, 1, 1])),
    "output_shape": ([4, 5, 3, 3], [1, 4, 6, 6], dict(strides=[2, 2], output_shape=[12, 12])),
    "same_upper": ([4, 5, 3, 3], [1, 4, 6, 6], dict(strides=[2, 2], auto_pad="SAME_UPPER")),
    "same_lower": ([4, 5, 3, 3], [1, 4, 6, 6], dict(strides=[2, 2], auto_pad="SAME_LOWER")),
    "valid": ([4, 5, 3, 3], [1, 4, 6, 6], dict(strides=[2, 2], auto_pad="VALID")),
    "per_tensor": ([4, 5, 3, 3], [1, 4, 6, 6], dict(channel_wise=0)),
    "int16": ([2, 3, 2, 2], [1, 2, 6, 6], dict(bits=16, scale=0.001, offset=333, bias=False)),
}


@pytest.mark.parametrize("name", CONVS)
def test_conv(name, tmp_path):
    w, x, options = CONVS[name]
    check(conv_net(w, x, **options), tmp_path, opset=13)


@pytest.mark.parametrize("name", TRANSPOSED)
def test_conv_transpose(name, tmp_path):
    w, x, options = TRANSPOSED[name]
    check(conv_net(w, x, op="ConvTranspose", **options), tmp_path, opset=13)


def test_conv_transpose_of_many_channels_needs_weight_digits(tmp_path):
    check(conv_net([1200, 3, 3, 3], [1, 1200, 4, 4], op="ConvTranspose"), tmp_path, exact=False)
    many = onnx.load(tmp_path / "q_lowered.onnx")
    assert sum(n.op_type == "ConvTranspose" for n in many.graph.node) > 1


@pytest.mark.parametrize("opset", [7, 9, 10, 11, 13, 17, 21, NEWEST])
@pytest.mark.parametrize("bits", [8, 16])
def test_operator_sets(opset, bits, tmp_path):
    scale = 0.02 if bits == 8 else 0.002
    net = Net()
    x = net.layer("Conv", "conv", [net.input("x", [2, 2, 8, 8]), net.weight("w", [3, 2, 1, 2])],
                  bits=bits, scale=scale)
    x = net.node("Relu", "relu", [x])
    x = net.layer("ConvTranspose", "up", [x, net.weight("u", [3, 2, 1, 2])], bits=bits,
                  scale=scale / 2)
    x = net.node("MaxPool", "pool", [x], kernel_shape=[2, 2], strides=[2, 2])
    x = net.node("Flatten", "flatten", [x])
    x = net.layer("MatMul", "product", [x, net.weight("m", [32, 3])], bits=bits, scale=scale / 4)
    net.output(net.layer("Gemm", "dense", [x, net.weight("d", [3, 2]), net.weight("e", [2])],
                         bits=bits, scale=scale / 4, offset=0), ["batch", 2])
    check(net, tmp_path, opset)


@pytest.mark.parametrize("rank", [2, 3, 4])
@pytest.mark.parametrize("bias", [None, "right", "left", "row"])
def test_matmul(rank, bias, tmp_path):
    net = Net()
    x = net.input("x", [2, 3, 4, 6][4 - rank:])
    out = net.layer("MatMul", "product", [x, net.weight("w", [6, 5])])
    if bias:
        b = net.weight("b", [1, 5] if bias == "row" else [5])
        out = net.node("Add", "add", [b, out] if bias == "left" else [out, b])
    net.output(out, [None] * rank)
    fake = check(net, tmp_path)[1]
    if bias:
        add = next(n for n in fake.graph.node if n.op_type == "Add")
        assert add.output[0] != out, "the bias is added to the integers"


@pytest.mark.parametrize("case", [dict(), dict(transB=1), dict(alpha=0.5, beta=2.0), dict(bias=0)])
def test_gemm(case, tmp_path):
    net, case = Net(), dict(case)
    inputs = [net.input("x", [4, 6]), net.weight("w", [5, 6] if "transB" in case else [6, 5])]
    if case.pop("bias", 1):
        inputs.append(net.weight("b", [5]))
    net.output(net.layer("Gemm", "dense", inputs, **case), [4, 5])
    check(net, tmp_path)


def test_int16_beyond_float32_stays_close(tmp_path):
    net = conv_net([4, 64, 3, 3], [1, 64, 9, 9], bits=16, scale=0.0001, offset=1000)
    check(net, tmp_path, exact=False)


@pytest.mark.parametrize("attributes", [
    dict(pads=[1, 1, 1, 1]), dict(pads=[1, 1, 1, 1], count_include_pad=1),
    dict(ceil_mode=1, strides=[2, 2]), dict(auto_pad="SAME_UPPER")])
def test_average_pool(attributes, tmp_path):
    net = Net()
    net.output(net.layer("AveragePool", "pool", [net.input("x", [1, 3, 8, 8])],
                         kernel_shape=[3, 3], **attributes), [None] * 4)
    fake, deploy, lowered = quantize(net, 13, tmp_path)
    onnx.checker.check_model(onnx.load(fake), full_check=True)
    assert findings(deploy) == []
    feeds = net.feeds()
    got = run_ort(fake, feeds)[0]
    np.testing.assert_array_equal(got, run_ort(lowered, feeds)[0])
    scale, offset = np.float32(net.factors["pool"][0]), net.factors["pool"][1]
    x = np.clip(np.rint(feeds["x"] / scale) + offset, -128, 127) - offset
    pool = run_ort(tmp_path / "model.onnx", {"x": x.astype(np.float32)})[0]
    np.testing.assert_array_equal(got, pool * scale)


def test_shared_activation_weight_and_bias(tmp_path):
    net = Net()
    x, w, b = net.input("x", [1, 4, 8, 8]), net.weight("w", [4, 4, 3, 3]), net.weight("b", [4])
    outs = [net.layer("Conv", "one", [x, w, b]), net.layer("Conv", "two", [x, w, b]),
            net.layer("Conv", "other", [x, w, b], channel_wise=0, scale=0.05, offset=3),
            net.node("Conv", "float", [x, w, b])]
    for out in outs:
        net.output(out, [None] * 4)
    # Requests in any order: the quantizer stands in front of the first layer all the same.
    net.factors = dict(reversed(net.factors.items()))
    deploy = check(net, tmp_path, inexact=["float_out"])[2]
    assert sum(n.op_type == "AscendQuant" for n in deploy.graph.node) == 2
    assert {i.name for i in deploy.graph.initializer} >= {"w", "b"}


def test_output_used_inside_too(tmp_path):
    net = Net()
    x = net.layer("Conv", "first", [net.input("x", ["n", 4, 8, 8], ["n", 4, 8, 8]),
                                    net.weight("w", [4, 4, 3, 3])], "first_result")
    net.inputs[0] = ("x", [1, 4, 8, 8], ["n", 4, "height", 8])
    net.output(x, ["n", 4, None, None])
    net.output(net.layer("Conv", "second", [x, net.weight("v", [2, 4, 3, 3])]), ["n", 2, None, None])
    net.output(net.node("Sigmoid", "sigmoid", [x]), ["n", 4, None, None])
    deploy = check(net, tmp_path, inexact=["sigmoid_out"])[2]
    assert {"first_output0", "first_result"} <= {o for n in deploy.graph.node for o in n.output}


def test_dequant_feeds_the_next_quant_through_moves(tmp_path):
    net = Net()
    x = net.layer("Conv", "a", [net.input("x", [1, 4, 8, 8]), net.weight("w", [4, 4, 3, 3])])
    x = net.layer("Conv", "b", [x, net.weight("v", [4, 4, 1, 1])])
    x = net.node("MaxPool", "pool", [x], kernel_shape=[2, 2])
    x = net.node("Transpose", "turn", [x], perm=[0, 1, 3, 2])
    x = net.layer("Conv", "c", [x, net.weight("u", [4, 4, 1, 1])])
    x = net.node("Reshape", "reshape", [x, net.constant("shape", np.array([4, 25], np.int64))])
    net.output(net.layer("MatMul", "d", [x, net.weight("t", [25, 6])]), [4, 6])
    check(net, tmp_path)


def test_names_that_clash(tmp_path):
    net = Net()
    x = net.input("conv.quant", [1, 4, 8, 8])
    x = net.node("Relu", "conv.dequant", [x], "conv_output0")
    net.constant("conv.dequant.param", np.float32(2))
    x = net.node("Mul", "conv.weight", [x, "conv.dequant.param"], "conv.accumulator")
    y = net.layer("Conv", "conv", [x, net.weight("conv.bias", [4, 4, 1, 1]),
                                   net.weight("conv.weight.quantized", [4])])
    net.output(net.node("Add", "conv.quant", [y, x], "conv.dequant.scale"), [None] * 4)
    check(net, tmp_path)


def test_layer_whose_result_is_unused(tmp_path):
    net = Net()
    x, w = net.input("x", [1, 4, 8, 8]), net.weight("w", [4, 4, 3, 3])
    net.output(net.layer("Conv", "used", [x, w]), [None] * 4)
    net.layer("Conv", "unused", [x, net.weight("v", [4, 4, 3, 3])])
    fake, deploy, lowered = quantize(net, 13, tmp_path)
    feeds = net.feeds()
    np.testing.assert_array_equal(run_ort(fake, feeds)[0], run_ort(lowered, feeds)[0])
    assert findings(deploy) == []


def test_layers_in_subgraphs_stay_float_and_may_read_a_layer(tmp_path):
    net = Net()
    x = net.layer("Conv", "outer", [net.input("x", [1, 4, 8, 8]), net.weight("w", [4, 4, 3, 3])])
    net.weight("v", [2, 4, 3, 3])
    branches = []
    for name, op in (("then", "Conv"), ("else", "Conv")):
        node = helper.make_node(op, [x, "v"], [name + "_y"], name=name + "_conv",
                                strides=[1 + (name == "else")] * 2)
        branches.append(helper.make_graph([node], name, [], [
            helper.make_tensor_value_info(name + "_y", TensorProto.FLOAT, [1, 2, None, None])]))
    net.constant("condition", np.array(True))
    net.output(net.node("If", "choose", ["condition"], then_branch=branches[0],
                        else_branch=branches[1]), [1, 2, None, None])
    fake, deploy, lowered = quantize(net, 13, tmp_path)
    feeds = net.feeds()
    got = run_ort(fake, feeds)[0]
    np.testing.assert_array_equal(got, run_ort(lowered, feeds)[0])
    assert np.abs(got).max() > 0


def test_weights_listed_as_inputs_disappear_with_their_floats(tmp_path):
    net = conv_net([8, 4, 3, 3], [2, 4, 9, 10])
    model = net.model(9)
    model.ir_version = 3
    for name, dims in (("w", [8, 4, 3, 3]), ("b", [8])):
        model.graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, dims))
    net.model = lambda opset: model
    fake = check(net, tmp_path, 9)[1]
    assert [i.name for i in fake.graph.input] == ["x"]
    assert all(i.data_type != TensorProto.FLOAT or np.prod(i.dims) < 9
               for i in fake.graph.initializer)


@pytest.mark.parametrize("scale", ["0", "nan", "inf", "1e-8", "1e7", "-1"])
def test_illegal_factor_skips_the_layer_with_a_reason(scale, tmp_path):
    net = conv_net([8, 4, 3, 3], [2, 4, 9, 10])
    (tmp_path / "model.onnx").write_bytes(net.model(13).SerializeToString())
    (tmp_path / "factors.txt").write_text(f"conv {scale} 0 8 8 1\n")
    done = subprocess.run([find_tool(), tmp_path / "model.onnx", tmp_path / "factors.txt",
                           tmp_path / "q"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("skipped conv: its activation has scale")
    feeds = net.feeds()
    np.testing.assert_array_equal(run_ort(tmp_path / "q_fake.onnx", feeds)[0],
                                  run_ort(tmp_path / "model.onnx", feeds)[0])


def block_net():
    """A residual network with the operators around layers that engines like to fuse."""
    net = Net()
    x = net.input("x", [1, 3, 32, 32])
    x = net.layer("Conv", "stem", [x, net.weight("w0", [32, 3, 3, 3]), net.weight("b0", [32])],
                  pads=[1, 1, 1, 1])
    x = net.node("Relu", "relu0", [x])
    y = net.layer("Conv", "wide", [x, net.weight("w1", [64, 32, 1, 1]), net.weight("b1", [64])],
                  scale=0.05)
    y = net.node("Clip", "relu6", [y, net.constant("low", np.float32(0)),
                                   net.constant("high", np.float32(6))])
    y = net.layer("Conv", "depthwise", [y, net.weight("w2", [64, 1, 3, 3]), net.weight("b2", [64])],
                  group=64, pads=[1, 1, 1, 1], scale=0.04, offset=-128)
    y = net.node("LeakyRelu", "leaky", [y], alpha=0.125)
    y = net.layer("Conv", "narrow", [y, net.weight("w3", [32, 64, 1, 1])], scale=0.05)
    x = net.node("Add", "residual", [x, y])
    x = net.node("MaxPool", "pool", [x], kernel_shape=[2, 2], strides=[2, 2])
    parts = [net.layer("Conv", name, [x, net.weight("w" + name, [16, 32, 3, 3])], scale=0.1,
                       pads=[1, 1, 1, 1]) for name in ("left", "right")]
    x = net.node("Concat", "concat", parts, axis=1)
    x = net.layer("ConvTranspose", "up", [x, net.weight("w4", [32, 8, 2, 2])], strides=[2, 2],
                  scale=0.5)
    x = net.node("Flatten", "flatten", [x])
    x = net.layer("Gemm", "dense", [x, net.weight("w5", [8192, 24]), net.weight("b5", [24])],
                  scale=1.5)
    net.output(x, [1, 24])
    return net


@pytest.mark.parametrize("opset", [11, 13, 21])
def test_network_that_engines_fuse(opset, tmp_path):
    check(block_net(), tmp_path, opset)


@pytest.mark.parametrize("shape", [[16, 16, 3, 3], [64, 32, 3, 3], [24, 128, 1, 1]])
def test_channel_counts_of_blocked_layouts(shape, tmp_path):
    """Engines rearrange such convolutions; 65 by 66 leaves partial blocks."""
    check(conv_net(shape, [2, shape[1], 65, 66], strides=[2, 2]), tmp_path)


def deploy_model(nodes, constants, x_dims, y_rank, opset=13):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x_dims)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * y_rank)],
        [numpy_helper.from_array(v, k) for k, v in constants.items()])
    return helper.make_model(graph, ir_version=7, opset_imports=[helper.make_opsetid("", opset)])


def run_deploy(model, folder, x):
    path = folder / "deploy.onnx"
    path.write_bytes(model.SerializeToString())
    done = subprocess.run([find_tool(), path, "lower", folder / "lowered.onnx"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return run_ort(folder / "lowered.onnx", {"x": x})[0]


def ascend_quant(scale=16.0, offset=-3.0, **more):
    return helper.make_node("AscendQuant", ["x"], ["q"], name="quant", scale=scale, offset=offset,
                            dst_type="INT8", **more)


@pytest.mark.parametrize("shift", [0, 1, 5, 16])
@pytest.mark.parametrize("relu", [0, 1])
@pytest.mark.parametrize("sqrt", [0, 1])
def test_lowering_knows_shift_relu_and_sqrt_mode(shift, relu, sqrt, tmp_path):
    rng = np.random.default_rng(3)
    w = rng.integers(-128, 128, (5, 40, 1, 1)).astype(np.int8)
    scales = rng.uniform(1e-3, 1e-2, 5).astype(np.float32)
    packed = scales.view(np.uint32).astype(np.uint64) | np.uint64(shift << 32)
    dequant = helper.make_node("AscendDequant", ["acc", "s"], ["y"], name="dequant", dtype=0,
                               relu_flag=relu, sqrt_mode=sqrt)
    model = deploy_model([ascend_quant(), helper.make_node("Conv", ["q", "w"], ["acc"], name="c"),
                          dequant], dict(w=w, s=packed), [1, 40, 6, 6], 4)
    x = rng.normal(0, 3, (1, 40, 6, 6)).astype(np.float32)
    q = np.clip(np.rint(x * np.float32(16)) - 3, -128, 127).astype(np.int64) + 3
    acc = np.einsum("nchw,oc->nohw", q, w[:, :, 0, 0].astype(np.int64))
    if shift:
        acc = np.clip(np.floor(acc / 2 ** shift), -32768, 32767)
        assert shift == 16 or np.abs(acc).max() > 1000
    scale = (scales * np.float32(2 ** shift)).reshape(1, 5, 1, 1)
    want = acc.astype(np.float32) * scale
    want = want * scale if sqrt else want
    np.testing.assert_array_equal(run_deploy(model, tmp_path, x),
                                  np.maximum(want, 0) if relu else want)


def test_lowering_undoes_quantization_by_anti_quant(tmp_path):
    anti = helper.make_node("AscendAntiQuant", ["q"], ["a"], name="anti", scale=1 / 16, offset=-3.0)
    pool = helper.make_node("MaxPool", ["a"], ["y"], kernel_shape=[2, 2])
    model = deploy_model([ascend_quant(), anti, pool], {}, [1, 2, 5, 5], 4)
    x = np.random.default_rng(4).normal(0, 5, (1, 2, 5, 5)).astype(np.float32)
    q = (np.clip(np.rint(x * 16) - 3, -128, 127) + 3) / np.float32(16)
    want = np.max([q[:, :, i:4 + i, j:4 + j] for i in (0, 1) for j in (0, 1)], axis=0)
    np.testing.assert_array_equal(run_deploy(model, tmp_path, x), want.astype(np.float32))


def test_lowering_turns_a_transposed_gemm(tmp_path):
    rng = np.random.default_rng(5)
    w = rng.integers(-128, 128, (5, 9)).astype(np.int8)
    b = rng.integers(-10000, 10000, 5).astype(np.int32)
    scale = np.array([0.37], np.float32)
    nodes = [ascend_quant(), helper.make_node("Gemm", ["q", "w", "b"], ["acc"], name="g", transB=1),
             helper.make_node("AscendDequant", ["acc", "s"], ["y"], name="dequant")]
    model = deploy_model(nodes, dict(w=w, b=b, s=scale.view(np.uint32).astype(np.uint64)), [4, 9],
                         2, opset=8)
    x = rng.normal(0, 3, (4, 9)).astype(np.float32)
    q = np.clip(np.rint(x * np.float32(16)) - 3, -128, 127).astype(np.int64) + 3
    want = (q @ w.T.astype(np.int64) + b).astype(np.float32) * scale
    np.testing.assert_array_equal(run_deploy(model, tmp_path, x), want)
