"""Tensor decomposition against the full SVD of the original, shape by shape; yields rows of the table."""

import json
import math
import os
import sys

import numpy as np
from measure import FOLDER, ROOT, Row, cores, run_child

BENCH = ROOT / "build" / "release" / "benchmarks" / "decompose" / "bench_decompose"
SHAPES = {(512, 5): 8, (1024, 3): 8, (1024, 5): 8, (2048, 3): 10, (2048, 5): 10}  # channels, kernel: least times faster
REPEATS = 3
LONG = 20  # seconds
GIGABYTE = 1e9


def chosen_shapes():
    """All shapes, or those that AMCT_BENCH_SHAPES names ("512x5,1024x3"), for quick work."""
    wanted = os.environ.get("AMCT_BENCH_SHAPES")
    if not wanted:
        return list(SHAPES)
    named = {f"{channels}x{kernel}": (channels, kernel) for channels, kernel in SHAPES}
    unknown = [name for name in wanted.split(",") if name not in named]
    if unknown:
        sys.exit(f"bench: AMCT_BENCH_SHAPES names {unknown[0]}; there are: {', '.join(named)}")
    return [named[name] for name in wanted.split(",")]


def kernel_file(channels, kernel, spectrum):
    """A seeded float32 kernel: random values, or one whose singular values fall off as in trained nets."""
    path = FOLDER / f"kernel_{channels}_{kernel}_{spectrum}.npy"
    if path.exists():
        return path
    random = np.random.default_rng(channels + kernel)
    rows = channels * kernel
    if spectrum == "random":
        weight = random.standard_normal((channels, channels, kernel, kernel), dtype=np.float32)
    else:
        left, right = (random.standard_normal((rows, rows), dtype=np.float32) for _ in range(2))
        decay = (1 + np.arange(rows, dtype=np.float32)) ** -0.5
        # A Gaussian matrix turns the decay little; noise as training leaves it covers the rest.
        matrix = (left * decay) @ right + 0.3 * math.sqrt(math.log(rows)) * random.standard_normal((rows, rows), dtype=np.float32)
        weight = matrix.reshape(channels, kernel, channels, kernel).transpose(2, 0, 1, 3)
    np.save(path, np.ascontiguousarray(0.02 * weight))
    os.sync()  # so that the disk does not work while times are taken
    return path


def ours(*files):
    return json.loads(run_child([BENCH, cores(), REPEATS, *files]).output)


def peer(path):
    """The fastest of several runs; of one where it takes long."""
    best = None
    for _ in range(REPEATS):
        found = json.loads(run_child([sys.executable, ROOT / "benchmarks" / "decompose_peer.py", path]).output)
        best = found if best is None or found["seconds"] < best["seconds"] else best
        if found["seconds"] > LONG:
            break
    return best


def decompose():
    """Seconds, memory, rank and error for each shape and two kinds of spectrum."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for channels, kernel in chosen_shapes():
        for spectrum in ("random", "decaying"):
            name = f"{channels},{channels},{kernel},{kernel} {spectrum}"
            path = kernel_file(channels, kernel, spectrum)
            mine = ours(path)
            theirs = peer(path)
            layer = mine["layers"][0]
            total = sum(theirs["squares"])
            optimum = math.sqrt(sum(theirs["squares"][layer["rank"]:]) / total)
            yield Row(f"decompose {name}, times faster", mine["seconds"], theirs["seconds"],
                      theirs["seconds"] / mine["seconds"], f">= {SHAPES[channels, kernel]}")
            yield Row(f"decompose {name}, memory", mine["peak_bytes"] / GIGABYTE, theirs["peak_bytes"] / GIGABYTE,
                      mine["peak_bytes"] / theirs["peak_bytes"], "<= 0.25", unit="GB")
            yield Row(f"decompose {name}, rank", layer["rank"], theirs["rank"],
                      abs(layer["rank"] - theirs["rank"]), "<= 0", unit="")
            yield Row(f"decompose {name}, error / least", layer["error"], optimum, layer["error"] / optimum,
                      "<= 1.01", unit="")
            path.unlink()
    yield whole_network()


def whole_network():
    """Several layers as one network: all cores work."""
    files = [kernel_file(512, 3, "random"), kernel_file(512, 5, "random"), kernel_file(256, 5, "random")]
    alone = sum(ours(path)["seconds"] for path in files)
    together = ours(*files)["seconds"]
    for path in files:
        path.unlink()
    return Row("decompose 3 layers together / one by one", together, alone, together / alone, "<= 1.05")
