"""Child processes with their time, and the rows of the result table."""

import dataclasses
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "bench"
AMCT = ROOT / "build" / "release" / "cli" / "amct"
# Both sides run the very same engine.
ENGINE = pathlib.Path(importlib.util.find_spec("onnxruntime").origin).parent / "capi"
ENVIRONMENT = {**os.environ, "AMCT_ONNXRUNTIME": str(ENGINE)}


@dataclasses.dataclass
class Child:
    seconds: float  # from start to end of the process
    output: str


def run_child(command):
    """Runs a command to its end; a failure of it ends the benchmark with its messages."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        start = time.perf_counter()
        process = subprocess.Popen([str(word) for word in command], stdout=output, stderr=errors,
                                   stdin=subprocess.DEVNULL, cwd=FOLDER, env=ENVIRONMENT)
        process.wait()
        seconds = time.perf_counter() - start
        output.seek(0)
        errors.seek(0)
        if process.returncode != 0:
            sys.exit(f"bench: exit status {process.returncode} of {' '.join(map(str, command))}\n"
                     f"{output.read()}{errors.read()}")
        return Child(seconds, output.read())


def peer(*arguments):
    """benchmarks/peer.py in a child; returns (child, what it measured itself)."""
    child = run_child([sys.executable, ROOT / "benchmarks" / "peer.py", *arguments])
    return child, json.loads(child.output.splitlines()[-1])


def amct(model, data, shape, batches, config=None, compare=False):
    """`amct onnx calibration` in a child; returns (child, content of --stats-json).

    `config`: simple-config text, which then has to hold batch_num itself.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="run_", dir=FOLDER))
    try:
        stats = folder / "stats.json"
        command = [AMCT, "onnx", "calibration", "--model", model, "--save_path", folder / "amct",
                   "--input_shape", shape, "--data_dir", data, "--data_types", "float32",
                   "--threads", cores(), "--quiet", "--stats-json", stats]
        if config is None:
            command += ["--batch_num", batches]
        else:
            (folder / "quant.cfg").write_text(config)
            command += ["--calibration_config", folder / "quant.cfg"]
        if not compare:
            command.append("--no-compare")
        child = run_child(command)
        return child, json.loads(stats.read_text())
    finally:
        shutil.rmtree(folder)


def cores():
    return len(os.sched_getaffinity(0))


def interleaved(repeats, *measurements):
    """Smallest result of each of the measurements, taken in turn so that noise hits all alike."""
    rounds = [[measure() for measure in measurements] for _ in range(repeats)]
    return [min(column) for column in zip(*rounds)]


@dataclasses.dataclass
class Row:
    name: str
    ours: float
    peer: float | None
    ratio: float
    target: str  # such as "<= 1.3"
    unit: str = "s"
    note: str = ""

    @property
    def ok(self):
        relation, limit = self.target.split()
        return {"<=": self.ratio <= float(limit), ">=": self.ratio >= float(limit),
                "<": self.ratio < float(limit)}[relation]

    def line(self):
        other = "-" if self.peer is None else f"{self.peer:.3f} {self.unit}"
        return (f"{self.name:<44} {self.ours:>9.3f} {self.unit:<3} {other:>13} {self.ratio:>9.3f}"
                f"  {self.target:<8} {self.note}{' ' if self.note else ''}"
                f"{'ok' if self.ok else 'short'}")

    def as_json(self):
        return {**dataclasses.asdict(self), "ok": self.ok}
