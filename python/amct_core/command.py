"""Starts the program `amct` of this package under the name it was called by."""

import importlib.util
import os
import pathlib
import sys


def main() -> None:
    program = pathlib.Path(__file__).with_name("bin") / "amct"
    engine = importlib.util.find_spec("onnxruntime")
    if engine is not None and engine.origin:
        os.environ.setdefault("AMCT_ONNXRUNTIME", str(pathlib.Path(engine.origin).with_name("capi")))
    name = pathlib.Path(sys.argv[0]).stem
    os.execv(program, [name, *sys.argv[1:]])
