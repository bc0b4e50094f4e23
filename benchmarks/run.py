"""Measures speed, memory and accuracy against ONNX Runtime: `run.py [GROUP...]` (default: all).

Prints one row per ratio, whose last word is `ok` or `short`, and writes build/bench/results.json.
How each number comes about is told in docs/benchmarks.md.
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import sys
import time

import accuracy
import decompose
import groups
from measure import AMCT, FOLDER, cores

GROUPS = {"calibration": groups.calibration, "quantize": groups.quantize, "memory": groups.memory,
          "accuracy": accuracy.accuracy, "decompose": decompose.decompose}


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def header():
    return {
        "date": datetime.date.today().isoformat(),
        "processor": processor(),
        "cores": cores(),
        "load before": round(os.getloadavg()[0], 2),
        "onnxruntime": importlib.metadata.version("onnxruntime"),
        "numpy": importlib.metadata.version("numpy"),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join(GROUPS))
    chosen = parser.parse_args().groups or list(GROUPS)
    unknown = [name for name in chosen if name not in GROUPS]
    if unknown:
        parser.error(f"unknown group {unknown[0]}; there are: {', '.join(GROUPS)}")
    if not AMCT.exists():
        sys.exit(f"bench: {AMCT} is missing; run `make build` first")
    FOLDER.mkdir(parents=True, exist_ok=True)

    head = header()
    print(", ".join(f"{key} {value}" for key, value in head.items()))
    if head["load before"] > 0.3 * head["cores"]:
        print("note: other programs are running; the times are noisy")
    print(f"{'name':<44} {'ours':>13} {'peer':>13} {'ratio':>9}  target")
    rows = []
    start = time.perf_counter()
    for group in chosen:
        for row in GROUPS[group]():
            print(row.line(), flush=True)
            rows.append({"group": group, **row.as_json()})
    short = sum(not row["ok"] for row in rows)
    print(f"{len(rows)} rows, {len(rows) - short} ok, {short} short, "
          f"{(time.perf_counter() - start) / 60:.1f} minutes")
    (FOLDER / "results.json").write_text(json.dumps({"machine": head, "rows": rows}, indent=2))


if __name__ == "__main__":
    main()
