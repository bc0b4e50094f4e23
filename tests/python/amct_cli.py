"""Runs the built command line on small models; shared by the tests of this folder."""

import os
import pathlib
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("AMCT_BUILD_DIR", ROOT / "build" / "release"))
AMCT = BUILD / "cli" / "amct"


@dataclass
class Run:
    code: int
    stdout: str
    stderr: str

    @property
    def errors(self):
        return [line for line in self.stderr.splitlines() if "error:" in line]


def amct(*arguments, cwd, env=None, timeout=120):
    environment = dict(os.environ, VIRTUAL_ENV=sys.prefix, **(env or {}))
    done = subprocess.run(
        [str(AMCT), *map(str, arguments)], cwd=cwd, env=environment, capture_output=True, text=True,
        timeout=timeout, check=False,
    )
    assert done.returncode >= 0, f"killed by signal {-done.returncode}: {done.stderr}"
    return Run(done.returncode, done.stdout, done.stderr)


def make_model(nodes, inputs, outputs, initializers=(), opset=13, ir_version=8):
    """inputs and outputs: name -> (shape, numpy dtype); initializers: name -> array."""

    def ports(items):
        return [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)
            for name, (shape, dtype) in items.items()
        ]

    graph = helper.make_graph(
        list(nodes), "g", ports(inputs), ports(outputs),
        [numpy_helper.from_array(value, name) for name, value in dict(initializers).items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=ir_version)


def save_batches(folder, batches):
    """One numbered .npy file per batch."""
    folder.mkdir(parents=True, exist_ok=True)
    for index, batch in enumerate(batches):
        np.save(folder / f"batch{index:04d}.npy", batch)
    return folder


@dataclass
class Quantized:
    run: Run
    fake_quant: pathlib.Path
    deploy: pathlib.Path
    record: pathlib.Path
    report: pathlib.Path

    def files(self):
        return [self.fake_quant, self.deploy, self.record, self.report]


def calibrate(folder, model, data, *extra, batch_num=None, expect=0, cwd=None):
    """Saves the model unless it is a path, writes `data` (input name -> list of arrays), runs the
    calibration and checks the exit code."""
    path = model if isinstance(model, (str, pathlib.Path)) else folder / "m.onnx"
    if not isinstance(model, (str, pathlib.Path)):
        onnx.save(model, path)
    arguments = ["onnx", "calibration", f"--model={path}", f"--save_path={folder}/out/m"]
    if isinstance(data, dict):
        folders = [str(save_batches(folder / f"data{i}", batches)) for i, batches in enumerate(data.values())]
        arguments.append("--data_dir=" + ";".join(folders))
        if batch_num is None:
            batch_num = len(next(iter(data.values())))
    elif data is not None:
        arguments.append(f"--data_dir={data}")
    if not any(str(item).startswith("--calibration_config") for item in extra):
        arguments.append(f"--batch_num={batch_num or 1}")
    run = amct(*arguments, *extra, cwd=cwd or folder)
    assert run.code == expect, f"exit code {run.code}, expected {expect}\n{run.stdout}\n{run.stderr}"
    prefix = f"{folder}/out/m"
    return Quantized(
        run, *(pathlib.Path(prefix + end) for end in
               ("_fake_quant_model.onnx", "_deploy_model.onnx", "_record.txt", "_report.html")))


def infer(model, feed):
    """Outputs of stock ONNX Runtime, no custom library."""
    options = ort.SessionOptions()
    options.log_severity_level = 3
    source = str(model) if isinstance(model, (str, pathlib.Path)) else model.SerializeToString()
    return ort.InferenceSession(source, options, providers=["CPUExecutionProvider"]).run(None, feed)


def run_amct(folder, model, data, name="run"):
    """Outputs of `amct run` over the batches of `data`, by output name, in order of batches."""
    out = folder / name
    folders = [str(save_batches(folder / f"run_data{i}", batches)) for i, batches in enumerate(data.values())]
    run = amct("run", model, "--data", ";".join(folders), "--output", out, cwd=folder)
    assert run.code == 0, run.stderr
    return {path.relative_to(out).as_posix(): np.load(path) for path in sorted(out.rglob("*.npy"))}


def cosine(left, right):
    left, right = np.ravel(left).astype(np.float64), np.ravel(right).astype(np.float64)
    return float(left @ right / max(np.linalg.norm(left) * np.linalg.norm(right), 1e-300))


def ports_of(model):
    """Names, types and (symbolic) shapes of outputs and of the inputs that are no weights."""
    loaded = onnx.load(str(model), load_external_data=False) if not isinstance(model, onnx.ModelProto) else model
    weights = {initializer.name for initializer in loaded.graph.initializer}
    return [
        (value.name, value.type.SerializeToString())
        for values in (loaded.graph.input, loaded.graph.output)
        for value in values
        if value.name not in weights
    ]


def ops(model, kind):
    return [node for node in onnx.load(str(model)).graph.node if node.op_type == kind]
