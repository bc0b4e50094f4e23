"""The interface of the compiled module is what tests/golden/native.pyi says; a change has to be meant.

Renew: PYTHONPATH=build/release/python python -m nanobind.stubgen -q -m amct_core._native -o tests/golden/native.pyi
"""

import os
import pathlib
import subprocess
import sys

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden" / "native.pyi"


def test_interface_is_the_recorded_one(tmp_path):
    stub = tmp_path / "native.pyi"
    subprocess.run(
        [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "amct_core._native", "-o", stub], check=True, env=os.environ
    )
    assert stub.read_text() == GOLDEN.read_text()
