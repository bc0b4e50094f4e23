"""The network of decompose_pytorch.py as an ONNX file, decomposed by the command line, without and with calibration data."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples"))

import decompose_pytorch  # noqa: E402
from fashion import MADE, images  # noqa: E402

AMCT = ROOT / "build" / "release" / "cli" / "amct"
FOLDER = MADE / "fashion_onnx"
CALIBRATION = 512  # pictures


def export(net: nn.Sequential, path: pathlib.Path) -> pathlib.Path:
    """A Sequential of Conv2d, BatchNorm2d, ReLU, AdaptiveAvgPool2d(1), Flatten and Linear as opset 13; pairs are unfolded."""
    nodes, weights, value = [], [], "x"

    def constant(name: str, tensor: torch.Tensor) -> str:
        weights.append(numpy_helper.from_array(tensor.detach().contiguous().numpy(), name))
        return name

    def add(kind: str, name: str, inputs: list[str], **attributes) -> None:
        nonlocal value
        nodes.append(helper.make_node(kind, [value, *inputs], [name + "_y"], name=name, **attributes))
        value = name + "_y"

    for name, layer in net.named_modules():
        tensors = {key: constant(f"{name}.{key}", tensor) for key, tensor in layer._parameters.items() if tensor is not None}
        tensors |= {key: constant(f"{name}.{key}", tensor) for key, tensor in layer._buffers.items() if tensor.dim() > 0}
        if isinstance(layer, nn.Conv2d):
            add("Conv", name, list(tensors.values()), strides=layer.stride, pads=[*layer.padding, *layer.padding])
        elif isinstance(layer, nn.BatchNorm2d):
            add("BatchNormalization", name, list(tensors.values()), epsilon=layer.eps)
        elif isinstance(layer, nn.ReLU):
            add("Relu", name, [])
        elif isinstance(layer, nn.AdaptiveAvgPool2d):
            add("GlobalAveragePool", name, [])
        elif isinstance(layer, nn.Flatten):
            add("Flatten", name, [])
        elif isinstance(layer, nn.Linear):
            add("Gemm", name, list(tensors.values()), transB=1)
        elif not isinstance(layer, nn.Sequential):
            raise TypeError(f"{name} is a {type(layer).__name__}, which this example does not export")
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 1, 28, 28]),
             helper.make_tensor_value_info(value, TensorProto.FLOAT, ["n", 10])]
    graph = helper.make_graph(nodes, "fashion", ports[:1], ports[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, path)
    return path


def accuracy(path: pathlib.Path) -> float:
    """Percent of the 10,000 test pictures that are classified right by stock ONNX Runtime."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    pixels, labels = images("t10k")
    found = np.concatenate([session.run(None, {"x": part})[0].argmax(1) for part in np.split(pixels, 20)])
    return 100 * float((found == labels).mean())


def calibration_data() -> pathlib.Path:
    folder = FOLDER / "calibration"
    folder.mkdir(parents=True, exist_ok=True)
    pixels, _ = images("train")
    for index, part in enumerate(np.split(pixels[:CALIBRATION], CALIBRATION // 64)):
        np.save(folder / f"batch{index}.npy", part)
    return folder


def decompose(model: pathlib.Path, name: str, *arguments: str) -> tuple[pathlib.Path, dict]:
    """Runs `amct decompose`; returns the new model and the totals of its report."""
    prefix, figures = FOLDER / name, FOLDER / f"{name}.json"
    environment = dict(os.environ, VIRTUAL_ENV=sys.prefix)  # where amct looks for ONNX Runtime
    command = [AMCT, "decompose", model, f"--save_path={prefix}", f"--report={figures}", *arguments]
    subprocess.run(command, env=environment, check=True)
    return pathlib.Path(f"{prefix}_decomposed_model.onnx"), json.loads(figures.read_text())


def run() -> dict[str, float]:
    net = decompose_pytorch.train_or_load()
    shutil.rmtree(FOLDER, ignore_errors=True)
    model = export(net, FOLDER / "fashion.onnx")
    plain, figures = decompose(model, "plain", "--quiet")
    fitted, _ = decompose(model, "fitted", f"--data_dir={calibration_data()}", "--input_shape=x:1,1,28,28")
    result = {"accuracy": accuracy(model), "accuracy_decomposed": accuracy(plain), "accuracy_fitted": accuracy(fitted)}
    print(f"  {'':26}{'original':>12}{'decomposed':>12}{'with data':>12}")
    print(f"  {'accuracy, %':26}" + "".join(f"{value:12.2f}" for value in result.values()))
    return result | {"params": figures["before"]["params"], "params_decomposed": figures["after"]["params"]}


if __name__ == "__main__":
    run()
