"""A dense network trained here with scikit-learn on Fashion-MNIST and written as ONNX Gemm layers."""

import functools
import gzip
import pathlib
import warnings

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from .common import MADE, Score, batches, session

NAME = "fashion_mlp"
TASK = "image classification"
DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")
BATCH = 100
TRAINED = 30000  # images; more would only take longer


def _read(name: str, header: int) -> np.ndarray:
    with gzip.open(DATA / name) as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)


@functools.cache
def _images(part: str):
    pixels = _read(f"{part}-images-idx3-ubyte.gz", 16).reshape(-1, 784).astype(np.float32) / 255
    return pixels, _read(f"{part}-labels-idx1-ubyte.gz", 8)


def _to_onnx(network: MLPClassifier) -> onnx.ModelProto:
    nodes, initializers, value = [], [], "image"
    for i, (weight, bias) in enumerate(zip(network.coefs_, network.intercepts_)):
        last = i + 1 == len(network.coefs_)
        names, result = [f"dense{i}.weight", f"dense{i}.bias"], "scores" if last else f"dense{i}.out"
        for name, array in zip(names, (weight, bias)):
            initializers.append(numpy_helper.from_array(array.astype(np.float32), name))
        nodes.append(helper.make_node("Gemm", [value, *names], [result], name=f"dense{i}"))
        value = result
        if not last:
            nodes.append(helper.make_node("Relu", [value], [f"relu{i}.out"], name=f"relu{i}"))
            value = f"relu{i}.out"
    shapes = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["batch", s]) for n, s in (("image", 784), ("scores", 10))]
    graph = helper.make_graph(nodes, "fashion_mlp", shapes[:1], shapes[1:], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def model_path():
    """Trains once (some seconds) and keeps the result."""
    path = MADE / "fashion_mlp.onnx"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        network = MLPClassifier((128, 64), batch_size=256, max_iter=6, random_state=1, learning_rate_init=2e-3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            pixels, labels = _images("train")
            network.fit(pixels[:TRAINED], labels[:TRAINED])
        unfinished = path.with_suffix(".tmp")
        onnx.save(_to_onnx(network), unfinished)
        unfinished.replace(path)
    return path


def calibration(n: int):
    return [{"image": batch} for batch in batches(_images("train")[0][: n * BATCH], BATCH)]


def evaluate(path):
    pixels, labels = _images("t10k")
    engine = session(path)
    found = np.concatenate([engine.run(None, {"image": b})[0].argmax(1) for b in batches(pixels, 1000)])
    return Score("images right", 100.0 * float(np.mean(found == labels)), len(labels))
