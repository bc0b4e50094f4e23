"""ResNet- and MobileNet-shaped ONNX models with random weights, and image-like calibration data.

The layers, shapes and BatchNormalization nodes are those of the trained networks, so time and memory
are theirs; the weights are drawn so that every activation keeps a standard deviation near one.
"""

import json
import os
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

INPUT = "input"
INPUT_SHAPE = (1, 3, 224, 224)
OPSET = 13
# Part of the folder name: a change of the generators makes new files.
VERSION = 1


class NetBuilder:
    """Appends nodes to a graph; each method returns the name of the tensor that it computes."""

    def __init__(self, name, seed):
        self._name = name
        self._rng = np.random.default_rng(seed)
        self._nodes = []
        self._weights = []

    def _weight(self, name, values):
        self._weights.append(numpy_helper.from_array(np.asarray(values, np.float32), name))
        return name

    def _node(self, op_type, inputs, name, **attributes):
        output = name + "_out"
        self._nodes.append(helper.make_node(op_type, inputs, [output], name=name, **attributes))
        return output

    def conv_bn(self, x, name, channels_in, channels_out, kernel, stride=1, groups=1, gain=1.0):
        """Conv without bias, then BatchNormalization with the output scaled by `gain`."""
        fan_in = channels_in // groups * kernel * kernel
        weight = self._rng.normal(0, np.sqrt(2 / fan_in),
                                  (channels_out, channels_in // groups, kernel, kernel))
        pad = kernel // 2
        y = self._node("Conv", [x, self._weight(name + ".weight", weight)], name,
                       kernel_shape=[kernel, kernel], strides=[stride, stride],
                       pads=[pad] * 4, group=groups)
        parameters = {
            "scale": self._rng.uniform(0.6, 1.4, channels_out) * gain,
            "bias": self._rng.normal(0, 0.2, channels_out) * gain,
            "mean": self._rng.normal(0, 0.2, channels_out),
            "var": self._rng.uniform(0.6, 1.6, channels_out),
        }
        names = [self._weight(f"{name}_bn.{key}", values) for key, values in parameters.items()]
        return self._node("BatchNormalization", [y, *names], name + "_bn", epsilon=1e-5)

    def relu(self, x, name):
        return self._node("Relu", [x], name)

    def relu6(self, x, name):
        if not any(w.name == "six" for w in self._weights):
            self._weight("zero", 0.0)
            self._weight("six", 6.0)
        return self._node("Clip", [x, "zero", "six"], name)

    def add(self, x, y, name):
        return self._node("Add", [x, y], name)

    def max_pool(self, x, name):
        return self._node("MaxPool", [x], name, kernel_shape=[3, 3], strides=[2, 2],
                          pads=[1, 1, 1, 1])

    def classifier(self, x, channels, classes=1000):
        x = self._node("GlobalAveragePool", [x], "avgpool")
        x = self._node("Flatten", [x], "flatten", axis=1)
        weight = self._rng.normal(0, np.sqrt(1 / channels), (classes, channels))
        return self._node("Gemm", [x, self._weight("fc.weight", weight),
                                   self._weight("fc.bias", np.zeros(classes))], "fc", transB=1)

    def model(self, output, classes=1000):
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            self._nodes, self._name,
            [value(INPUT, TensorProto.FLOAT, INPUT_SHAPE)],
            [value(output, TensorProto.FLOAT, [INPUT_SHAPE[0], classes])], self._weights)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)],
                                 ir_version=8, producer_name="amct-benchmarks")
        onnx.checker.check_model(made)
        return onnx.shape_inference.infer_shapes(made)


def resnet(name, blocks, bottleneck, seed):
    """`blocks`: residual blocks of each of the four stages."""
    net = NetBuilder(name, seed)
    x = net.relu(net.conv_bn(INPUT, "conv1", 3, 64, 7, stride=2), "relu1")
    x = net.max_pool(x, "maxpool")
    channels = 64
    for stage, count in enumerate(blocks):
        width = 64 << stage
        out = width * (4 if bottleneck else 1)
        for index in range(count):
            stride = 2 if stage > 0 and index == 0 else 1
            prefix = f"layer{stage + 1}_{index}"
            shape = [(1, 1), (3, stride), (1, 1)] if bottleneck else [(3, stride), (3, 1)]
            y, source = x, channels
            for i, (kernel, step) in enumerate(shape):
                last = i + 1 == len(shape)
                target = out if last else width
                y = net.conv_bn(y, f"{prefix}_conv{i + 1}", source, target, kernel, step,
                                gain=0.4 if last else 1.0)
                source = target
                if not last:
                    y = net.relu(y, f"{prefix}_relu{i + 1}")
            if stride != 1 or channels != out:
                x = net.conv_bn(x, f"{prefix}_down", channels, out, 1, stride, gain=0.7)
            x = net.relu(net.add(y, x, f"{prefix}_add"), f"{prefix}_relu")
            channels = out
    return net.model(net.classifier(x, channels))


def mobilenet_v2(name, seed):
    settings = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                (6, 160, 3, 2), (6, 320, 1, 1)]  # expansion, channels, blocks, first stride
    net = NetBuilder(name, seed)
    x = net.relu6(net.conv_bn(INPUT, "stem", 3, 32, 3, stride=2), "stem_relu")
    channels = 32
    for stage, (expansion, out, count, first_stride) in enumerate(settings):
        for index in range(count):
            stride = first_stride if index == 0 else 1
            prefix = f"block{stage}_{index}"
            hidden = channels * expansion
            y = x
            if expansion != 1:
                y = net.relu6(net.conv_bn(y, prefix + "_expand", channels, hidden, 1),
                              prefix + "_expand_relu")
            y = net.relu6(net.conv_bn(y, prefix + "_depth", hidden, hidden, 3, stride, hidden),
                          prefix + "_depth_relu")
            y = net.conv_bn(y, prefix + "_project", hidden, out, 1, gain=0.7)
            x = net.add(x, y, prefix + "_add") if stride == 1 and channels == out else y
            channels = out
    x = net.relu6(net.conv_bn(x, "head", channels, 1280, 1), "head_relu")
    return net.model(net.classifier(x, 1280))


MODELS = {
    "resnet18": lambda: resnet("resnet18", (2, 2, 2, 2), False, seed=18),
    "resnet50": lambda: resnet("resnet50", (3, 4, 6, 3), True, seed=50),
    "mobilenetv2": lambda: mobilenet_v2("mobilenetv2", seed=2),
}


def image(rng):
    """A normalised picture: smooth colours over several scales, a few edges, some noise."""
    size = INPUT_SHAPE[-1]
    picture = np.zeros((3, size, size), np.float32)
    for cells in (2, 4, 8, 16, 32):
        coarse = rng.normal(0, 1 / np.sqrt(cells), (3, cells, cells)).astype(np.float32)
        position = np.linspace(0, cells - 1, size)
        low = np.minimum(position.astype(int), cells - 2)
        part = (position - low).astype(np.float32)
        rows = coarse[:, low] * (1 - part)[:, None] + coarse[:, low + 1] * part[:, None]
        picture += rows[:, :, low] * (1 - part) + rows[:, :, low + 1] * part
    for _ in range(4):
        top, left = rng.integers(0, size - 32, 2)
        height, width = rng.integers(16, size // 2, 2)
        picture[:, top:top + height, left:left + width] += rng.normal(0, 0.8, (3, 1, 1))
    picture += rng.normal(0, 0.05, picture.shape)
    return np.clip(picture * 1.5, -2.2, 2.6).astype(np.float32)


def _write_new(path, write):
    """Calls write(temporary path) unless `path` exists; an interrupted run leaves nothing."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(path.name + ".new")
        write(temporary)
        os.replace(temporary, path)
    return path


def model_file(folder, name):
    """Path of the model, made when missing."""
    path = pathlib.Path(folder) / f"v{VERSION}" / f"{name}.onnx"
    return _write_new(path, lambda to: onnx.save_model(MODELS[name](), str(to)))


def data_folder(folder, batches):
    """Folder with `batches` files of raw float32 values, one image each, made when missing."""
    path = pathlib.Path(folder) / f"v{VERSION}" / f"images_{batches}"
    for index in range(batches):
        rng = np.random.default_rng([7, index])
        _write_new(path / f"image_{index:04d}.bin",
                   lambda to, rng=rng: image(rng)[None].tofile(to))
    return path


def load_batches(folder):
    """The batches of data_folder as feeds of an inference session."""
    return [{INPUT: np.fromfile(file, np.float32).reshape(INPUT_SHAPE)}
            for file in sorted(pathlib.Path(folder).glob("*.bin"))]


if __name__ == "__main__":
    print(json.dumps({name: str(model_file("build/bench", name)) for name in MODELS}, indent=2))
