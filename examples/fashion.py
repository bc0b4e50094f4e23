"""Fashion-MNIST as Debian packages it, for the decomposition examples."""

from __future__ import annotations

import gzip
import pathlib

import numpy as np

DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")
MADE = pathlib.Path(__file__).resolve().parent.parent / "build" / "made_models"


def images(part: str) -> tuple[np.ndarray, np.ndarray]:
    """`part` is "train" or "t10k": pixels [n, 1, 28, 28] from -1 to 1, labels [n]."""
    with gzip.open(DATA / f"{part}-images-idx3-ubyte.gz") as file:
        pixels = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 1, 28, 28)
    with gzip.open(DATA / f"{part}-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8)
    return pixels.astype(np.float32) / 127.5 - 1, labels.astype(np.int64)
