"""Tests import the packages from the build, build/release/python (docs/python.md)."""

import os
import pathlib
import sys

import pytest

PACKAGES = pathlib.Path(__file__).resolve().parents[2] / "build" / "release" / "python"
sys.path.insert(0, str(PACKAGES))
# For the processes that tests start.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(PACKAGES), os.environ.get("PYTHONPATH")]))


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """A test runs in a folder of its own, where log folders and files may lie, with a fixed seed."""
    monkeypatch.chdir(tmp_path)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(3)
