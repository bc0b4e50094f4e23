"""Decomposes one kernel as the original does, in a process of its own: full SVD in float64 with NumPy, then the rank,
then the factors.

decompose_peer.py KERNEL.npy    prints {"seconds", "peak_bytes", "rank", "squares"}; squares: all squared singular values

The kernel is [Cout, Cin, KH, KW], float32. The time counts reading the file and everything until the factors are there.
"""

import json
import pathlib
import sys
import time

import numpy as np
from scipy.optimize import minimize_scalar


def unfolded(weight):
    """Rows: kernel height and input channels; columns: kernel width and output channels (mode SCFK)."""
    out_channels, in_channels, height, width = weight.shape
    return weight.transpose(1, 2, 0, 3).reshape(in_channels * height, out_channels * width)


def evbmf(values, rows, columns):
    """Number of singular values that are signal (Nakajima et al., JMLR 14, 2013), as the original counts them."""
    alpha = rows / columns
    tau = 2.5129 * np.sqrt(alpha)
    threshold = (1 + tau) * (1 + alpha / tau)
    squares = values**2
    bound = int(min(np.ceil(rows / (1 + alpha)) - 1, rows)) - 1
    upper = squares.sum() / (rows * columns)
    lower = max(squares[bound + 1] / (columns * threshold), squares[bound:].mean() / columns)

    def objective(variance):
        x = squares / (columns * variance)
        above = x[x > threshold]
        b = above - (1 + alpha)
        t = 0.5 * (b + np.sqrt(np.maximum(b * b - 4 * alpha, 0)))
        below = x[x <= threshold]
        return (np.sum(below - np.log(below)) + np.sum(above - t)
                + np.sum(np.log((t + 1) / above)) + alpha * np.sum(np.log(t / alpha + 1)))

    found = minimize_scalar(objective, bounds=(lower, upper), method="bounded",
                            options={"xatol": 1e-5, "maxiter": 500})
    return int(np.sum(values > np.sqrt(columns * found.x * threshold)))


def rank_of(values, weight):
    out_channels, in_channels, height, width = weight.shape
    narrow = min(in_channels, out_channels)
    rows = min(height, width) * narrow
    divisor = 4 if narrow >= 256 else 6
    rank = evbmf(values, rows, max(height, width) * max(in_channels, out_channels))
    rank = max(min(rank, rows // divisor), rows // (divisor + 1))
    rounded = max(16, (rank + 8) // 16 * 16)
    return rounded if rounded >= 0.9 * rank else rounded + 16


def main():
    start = time.perf_counter()
    weight = np.load(sys.argv[1])
    matrix = unfolded(weight).astype(np.float64)
    vectors, values, _ = np.linalg.svd(matrix, full_matrices=False)
    rank = rank_of(values, weight)
    first = vectors[:, :rank]
    last = first.T @ matrix
    factors = first.astype(np.float32), last.astype(np.float32)
    seconds = time.perf_counter() - start
    assert all(np.isfinite(factor).all() for factor in factors)
    status = pathlib.Path("/proc/self/status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0]) * 1024
    print(json.dumps({"seconds": seconds, "peak_bytes": peak, "rank": rank, "squares": (values**2).tolist()}))


if __name__ == "__main__":
    main()
