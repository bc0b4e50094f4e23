"""Magika (embedding, convolution, dense layers) on this machine's files whose type their extension tells."""

import functools
import json
import os
import pathlib

import numpy as np

from .common import PACKAGES, ROOT, Score, batches, session

NAME = "content_type"
TASK = "content type"
FOLDER = PACKAGES / "magika/models/standard_v3_3"
BATCH = 16
PER_TYPE = 25
SMALLEST = 64  # bytes; shorter files say too little
BLOCK, SIDE, PADDING = 4096, 1024, 256
# Extension to label; only extensions that leave no doubt.
TYPES = {
    ".py": "python", ".pm": "perl", ".pl": "perl", ".json": "json", ".xml": "xml", ".html": "html", ".css": "css",
    ".js": "javascript", ".png": "png", ".gz": "gzip", ".so": "elf", ".ttf": "ttf", ".svg": "svg", ".rst": "rst",
    ".cmake": "cmake", ".npy": "npy", ".npz": "npz", ".zip": "zip", ".gif": "gif", ".jpg": "jpeg", ".pyc": "pythonbytecode",
    ".whl": "zip", ".yaml": "yaml", ".toml": "toml", ".proto": "proto", ".po": "po", ".tcl": "tcl", ".el": "lisp",
    ".pdf": "pdf", ".sh": "shell", ".m4": "m4", ".csv": "csv", ".cpp": "cpp", ".cc": "cpp", ".hpp": "cpp", ".f90": "fortran",
}  # fmt: skip
ROOTS = ("/usr/share", "/usr/lib", "/usr/include", str(ROOT / ".venv/lib"))


def model_path():
    return FOLDER / "model.onnx"


def _features(content: bytes) -> np.ndarray:
    """The first and last KiB without outer white space, padded between."""
    begin, end = content[:BLOCK].lstrip()[:SIDE], content[-BLOCK:].rstrip()[-SIDE:]
    row = np.full(2 * SIDE, PADDING, np.int32)
    row[: len(begin)] = np.frombuffer(begin, np.uint8)
    row[len(row) - len(end) :] = np.frombuffer(end, np.uint8)
    return row


@functools.cache
def _files() -> dict[str, list[str]]:
    """Paths by label, in an order that depends only on the paths."""
    found: dict[str, list[str]] = {label: [] for label in TYPES.values()}
    for root in ROOTS:
        for folder, folders, names in os.walk(root):
            folders.sort()
            for name in sorted(names):
                path = os.path.join(folder, name)
                label = TYPES.get(os.path.splitext(name)[1])
                if label and not os.path.islink(path) and os.path.getsize(path) >= SMALLEST:
                    found[label].append(path)
    rng = np.random.default_rng(0)
    return {label: [paths[i] for i in rng.permutation(len(paths))] for label, paths in sorted(found.items()) if paths}


@functools.cache
def _features_of(first: int, count: int):
    """Rows and labels of files first..first+count-1 of every type that has so many."""
    rows, labels = [], []
    for label, paths in _files().items():
        for path in paths[first : first + count]:
            rows.append(_features(pathlib.Path(path).read_bytes()))
            labels.append(label)
    return np.stack(rows), labels


def calibration(n: int):
    rows, _ = _features_of(PER_TYPE, 8)
    rows = rows[np.random.default_rng(1).integers(0, len(rows), n * BATCH)]
    return [{"bytes": batch} for batch in batches(rows, BATCH)]


def evaluate(path):
    names = json.loads((FOLDER / "config.min.json").read_text())["target_labels_space"]
    rows, labels = _features_of(0, PER_TYPE)
    engine = session(path)
    best = np.concatenate([engine.run(None, {"bytes": b})[0].argmax(1) for b in batches(rows, BATCH)])
    right = [names[i] == label for i, label in zip(best, labels)]
    return Score("files right", 100.0 * float(np.mean(right)), len(right))
