"""Quantizes real pretrained models with the amct command line and shows what it costs in accuracy.

Per model: accuracy in float, quantization, accuracy of the fake_quant model in stock ONNX Runtime, agreement of
fake_quant and deploy, sizes, layers. Results are kept in out/demo/cache.json until the model, the scripts, the
binary or ONNX Runtime change.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

import numpy as np
import onnxruntime

import models
from models import common

OUT = common.ROOT / "out" / "demo"
CACHE = OUT / "cache.json"
README = common.ROOT / "README.md"
AMCT = common.ROOT / "build/release/cli/amct"
BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"
CALIBRATION_BATCHES, AGREEMENT_BATCHES = 16, 2
STEPS = 255  # of an 8-bit output


class DemoError(Exception):
    """A step of the demonstration failed; the message says which and how."""


def digest(*paths: pathlib.Path) -> str:
    """One hash of the contents and of the version of ONNX Runtime."""
    total = hashlib.sha256(onnxruntime.__version__.encode())
    for path in paths:
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


class Cache:
    """Values by name, each valid for one key; written at once, so that an interrupted run loses nothing."""

    def __init__(self):
        try:
            self._stored = json.loads(CACHE.read_text())
        except (OSError, ValueError):
            self._stored = {}

    def drop(self, name: str) -> None:
        self._stored.pop(name, None)

    def get(self, name: str, key: str, compute):
        entry = self._stored.get(name)
        if not entry or entry["key"] != key:
            entry = {"key": key, "value": compute()}
            self._stored[name] = entry
            CACHE.parent.mkdir(parents=True, exist_ok=True)
            unfinished = CACHE.with_suffix(".tmp")
            unfinished.write_text(json.dumps(self._stored, indent=1))
            unfinished.replace(CACHE)
        return entry["value"]


def amct(*arguments) -> str:
    """Runs the command line; its standard output."""
    command = [str(AMCT), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode:
        raise DemoError(f"{' '.join(command)}\nended with exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def agreement(folder: pathlib.Path, prefix: pathlib.Path, inputs: list[str]) -> float:
    """Largest difference between the outputs of fake_quant and deploy, in 8-bit steps of each output's range."""
    for kind in ("fake_quant", "deploy"):
        target = folder / "outputs" / kind
        shutil.rmtree(target, ignore_errors=True)
        amct("run", f"{prefix}_{kind}_model.onnx", *inputs, "--batch_num", AGREEMENT_BATCHES, "--output", target, "--quiet")
    written = sorted((folder / "outputs/fake_quant").rglob("*.npy"))
    if not written:
        raise DemoError(f"amct run wrote no output below {folder / 'outputs'}")
    worst = 0.0
    for path in written:
        fake = np.load(path).astype(np.float64)
        deploy = np.load(folder / "outputs/deploy" / path.relative_to(folder / "outputs/fake_quant"))
        if fake.shape != deploy.shape or not np.isfinite(deploy).all():
            raise DemoError(f"{path}: the deploy model's output has another shape or is not finite")
        difference = np.abs(fake - deploy).max(initial=0)
        if difference:
            worst = max(worst, float(difference * STEPS / (np.ptp(fake) or np.abs(fake).max() or 1)))
    return worst


def quantize(module) -> dict:
    folder = OUT / module.NAME
    prefix = folder / module.NAME
    feeds = module.calibration(CALIBRATION_BATCHES)
    data = common.save_calibration(feeds, folder / "calibration")
    shapes = ";".join(f"{name}:{','.join(map(str, array.shape))}" for name, array in feeds[0].items())
    inputs = ["--input_shape", shapes, "--data_dir", ";".join(map(str, data))]
    print(f"  quantizing with {CALIBRATION_BATCHES} batches ...", flush=True)
    start = time.perf_counter()
    output = amct(
        "onnx", "calibration", "--model", module.model_path(), "--save_path", prefix, *inputs, "--batch_num", len(feeds)
    )
    seconds = time.perf_counter() - start
    counts = re.search(r"(\d+) of (\d+) layers quantized", output)
    if not counts:
        raise DemoError(f"the table of amct does not tell how many layers are quantized:\n{output}")
    print("  accuracy of the fake_quant model ...", flush=True)
    int8 = module.evaluate(f"{prefix}_fake_quant_model.onnx").value
    print("  fake_quant against deploy ...", flush=True)
    return {
        "int8": int8,
        "seconds": seconds,
        "output": output,
        "quantized": int(counts[1]),
        "layers": int(counts[2]),
        "steps": agreement(folder, prefix, inputs),
        "float_bytes": module.model_path().stat().st_size,
        "deploy_bytes": pathlib.Path(f"{prefix}_deploy_model.onnx").stat().st_size,
        "report": f"{prefix.relative_to(common.ROOT)}_report.html",
    }


def demonstrate(module, cache: Cache) -> dict:
    print(f"{module.NAME} ({module.TASK}): {module.model_path().name}", flush=True)
    sources = [module.model_path(), pathlib.Path(module.__file__), pathlib.Path(common.__file__)]
    key = digest(*sources)

    def measure_float() -> dict:
        print("  accuracy of the float model ...", flush=True)
        return vars(module.evaluate(module.model_path()))

    base = cache.get(f"{module.NAME} float", key, measure_float)
    key = digest(*sources, AMCT, pathlib.Path(__file__))
    if not (OUT / module.NAME / f"{module.NAME}_deploy_model.onnx").exists():
        cache.drop(f"{module.NAME} int8")
    result = cache.get(f"{module.NAME} int8", key, lambda: quantize(module))
    print("\n".join(f"  {line}" for line in result["output"].rstrip().splitlines()))
    print(f"  accuracy ({base['metric']}): float {base['value']:.2f} %, INT8 {result['int8']:.2f} %")
    print(f"  fake_quant and deploy differ by at most {result['steps']:.3g} output steps; report: {result['report']}\n")
    return {"name": module.NAME, "task": module.TASK, **base, **result}


def table(rows: list[dict]) -> str:
    lines = [["model", "kind", "metric", "samples", "float %", "INT8 %", "drop", "size", "layers INT8 / all", "deploy = fake_quant"]]
    for r in rows:
        lines.append([
            r["name"], r["task"], r["metric"], str(r["samples"]), f"{r['value']:.2f}", f"{r['int8']:.2f}",
            f"{r['value'] - r['int8']:.2f}", f"{100 * r['deploy_bytes'] / r['float_bytes']:.0f} %",
            f"{r['quantized']} / {r['layers']}", "exact" if not r["steps"] else f"{r['steps']:.2g} steps",
        ])  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*lines)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join("| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines)


def update_readme(text: str) -> None:
    before, found, rest = README.read_text().partition(BEGIN)
    _, closed, after = rest.partition(END)
    if not found or not closed:
        raise DemoError(f"{README} has no {BEGIN} ... {END}")
    README.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="MODEL", help=f"of {', '.join(models.BY_NAME)}; default: all")
    parser.add_argument("--update-readme", action="store_true", help="write the table into README.md (needs all models)")
    options = parser.parse_args()
    unknown = set(options.names) - set(models.BY_NAME)
    if unknown:
        parser.error(f"unknown model: {', '.join(sorted(unknown))}")
    if options.update_readme and options.names:
        parser.error("--update-readme needs all models: give no names")
    if not AMCT.exists():
        parser.error(f"{AMCT} is missing: run `make build`")
    cache, rows, failed = Cache(), [], []
    for name in options.names or models.BY_NAME:
        try:
            rows.append(demonstrate(models.BY_NAME[name], cache))
        except (DemoError, OSError, RuntimeError) as error:
            print(f"  FAILED: {error}", file=sys.stderr, flush=True)
            failed.append(name)
    if rows:
        print(table(rows))
        drops = [row["value"] - row["int8"] for row in rows]
        print(f"\nmean drop {np.mean(drops):.2f}, largest {max(drops):.2f} points, over {len(rows)} models")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    elif options.update_readme:
        update_readme(table(rows))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
