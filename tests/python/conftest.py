"""Tests import the packages from the build, build/release/python (docs/python.md)."""

import os
import pathlib
import sys

PACKAGES = pathlib.Path(__file__).resolve().parents[2] / "build" / "release" / "python"
sys.path.insert(0, str(PACKAGES))
# For the processes that tests start.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(PACKAGES), os.environ.get("PYTHONPATH")]))
