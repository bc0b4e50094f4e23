"""Decomposes one network through PyTorch, ONNX and TensorFlow; fails when accuracy does not come back."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULT = ROOT / "out" / "demo_decompose.json"
TRAINED_ENOUGH = 90.0  # percent
MAY_BE_LOST = 0.5  # points, after fine-tuning


def in_own_process(framework: str) -> dict[str, float]:
    """One framework per process: each brings its own thread pools and libraries."""
    code = f"import json, {framework} as example; print(json.dumps(example.run()))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "examples", stdout=subprocess.PIPE, text=True, check=True)
    *shown, last = done.stdout.splitlines()
    print("\n".join(shown), flush=True)
    return json.loads(last)


def main() -> int:
    results = {name: in_own_process(f"decompose_{name}") for name in ("pytorch", "onnx", "tensorflow")}
    failures = [f"{name}: only {result['accuracy']:.2f} % before" for name, result in results.items() if result["accuracy"] < TRAINED_ENOUGH]
    failures += [
        f"{name}: {result['accuracy_tuned']:.2f} % after fine-tuning, {result['accuracy']:.2f} % before"
        for name, result in results.items()
        if "accuracy_tuned" in result and result["accuracy_tuned"] < result["accuracy"] - MAY_BE_LOST
    ]
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(results, indent=2))
    for failure in failures:
        print(f"demo: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
