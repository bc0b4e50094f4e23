"""Networks of well-known shapes with seeded random weights, for measuring speed and memory only."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .common import MADE

INPUT = "image"
SHAPE = (3, 224, 224)


class _Builder:
    """Appends nodes to a list; every method takes and returns the name of a value."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def node(self, kind: str, inputs: list[str], **attributes) -> str:
        name = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [f"{name}.out"], name=name, **attributes))
        return f"{name}.out"

    def constant(self, array: np.ndarray, suffix: str) -> str:
        name = f"{suffix}{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def conv_bn(self, x: str, c_in: int, c_out: int, kernel: int, stride: int = 1, group: int = 1) -> str:
        fan_in = c_in // group * kernel * kernel
        weight = self.rng.normal(0, (2 / fan_in) ** 0.5, (c_out, c_in // group, kernel, kernel))
        x = self.node(
            "Conv",
            [x, self.constant(weight, "weight")],
            kernel_shape=[kernel] * 2,
            strides=[stride] * 2,
            pads=[kernel // 2] * 4,
            group=group,
        )
        ranges = {"scale": (0.8, 1.2), "shift": (-0.1, 0.1), "mean": (-0.1, 0.1), "variance": (0.8, 1.2)}
        parts = [self.constant(self.rng.uniform(*r, c_out), name) for name, r in ranges.items()]
        return self.node("BatchNormalization", [x, *parts])

    def classify(self, x: str, channels: int) -> None:
        x = self.node("Flatten", [self.node("GlobalAveragePool", [x])])
        weight = self.constant(self.rng.normal(0, channels**-0.5, (1000, channels)), "weight")
        bias = self.constant(np.zeros(1000), "bias")
        self.nodes.append(helper.make_node("Gemm", [x, weight, bias], ["scores"], name="classifier", transB=1))

    def model(self, name: str) -> onnx.ModelProto:
        image = helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, ["batch", *SHAPE])
        scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", 1000])
        graph = helper.make_graph(self.nodes, name, [image], [scores], self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        onnx.checker.check_model(model)
        return model


def _resnet(name: str, depths: tuple[int, ...], bottleneck: bool) -> onnx.ModelProto:
    b = _Builder(50 if bottleneck else 18)
    x = b.node("Relu", [b.conv_bn(INPUT, 3, 64, 7, 2)])
    x = b.node("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels, grow = 64, 4 if bottleneck else 1
    for stage, depth in enumerate(depths):
        width = 64 << stage
        for block in range(depth):
            stride = 2 if stage and not block else 1
            if bottleneck:
                y = b.node("Relu", [b.conv_bn(x, channels, width, 1)])
                y = b.node("Relu", [b.conv_bn(y, width, width, 3, stride)])
                y = b.conv_bn(y, width, width * grow, 1)
            else:
                y = b.node("Relu", [b.conv_bn(x, channels, width, 3, stride)])
                y = b.conv_bn(y, width, width, 3)
            if stride != 1 or channels != width * grow:
                x = b.conv_bn(x, channels, width * grow, 1, stride)
            channels = width * grow
            x = b.node("Relu", [b.node("Add", [y, x])])
    b.classify(x, channels)
    return b.model(name)


def resnet18() -> onnx.ModelProto:
    return _resnet("resnet18", (2, 2, 2, 2), False)


def resnet50() -> onnx.ModelProto:
    return _resnet("resnet50", (3, 4, 6, 3), True)


def mobilenetv2() -> onnx.ModelProto:
    b = _Builder(2)
    low, high = b.constant(np.array(0), "low"), b.constant(np.array(6), "high")

    def relu6(x: str) -> str:
        return b.node("Clip", [x, low, high])

    x, channels = relu6(b.conv_bn(INPUT, 3, 32, 3, 2)), 32
    stages = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for expand, width, depth, first_stride in stages:
        for block in range(depth):
            stride, inner, y = 1 if block else first_stride, channels * expand, x
            if expand != 1:
                y = relu6(b.conv_bn(y, channels, inner, 1))
            y = relu6(b.conv_bn(y, inner, inner, 3, stride, group=inner))
            y = b.conv_bn(y, inner, width, 1)
            x = b.node("Add", [x, y]) if stride == 1 and channels == width else y
            channels = width
    b.classify(relu6(b.conv_bn(x, channels, 1280, 1)), 1280)
    return b.model("mobilenetv2")


BUILDERS = {builder.__name__: builder for builder in (resnet18, resnet50, mobilenetv2)}


def model_path(name: str):
    """Builds the network once and keeps the file."""
    path = MADE / f"{name}.onnx"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".tmp")
        onnx.save(BUILDERS[name](), unfinished)
        unfinished.replace(path)
    return path


def calibration(n: int, batch: int = 1, seed: int = 1):
    """Smooth random pictures, normalised as ImageNet pictures are (mean 0, deviation about 1)."""
    rng = np.random.default_rng(seed)
    feeds = []
    for _ in range(n):
        coarse = rng.normal(0, 1, (batch, 3, 28, 28)).astype(np.float32)
        fine = rng.normal(0, 0.3, (batch, *SHAPE)).astype(np.float32)
        feeds.append({INPUT: np.repeat(np.repeat(coarse, 8, 2), 8, 3) + fine})
    return feeds
