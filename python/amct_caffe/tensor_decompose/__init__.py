"""Tensor decomposition: convolutions become two smaller ones each. Fine-tune the result, then quantize it."""

import os

from amct_core import _native
from amct_core.logging import start

__all__ = ["auto_decomposition"]


def auto_decomposition(model_file, weights_file, new_model_file, new_weights_file):
    """Decomposes every convolution of a Caffe network that qualifies.

    model_file: definition, .prototxt; weights_file: its weights, .caffemodel;
    new_model_file, new_weights_file: where the decomposed network is written. Inputs are never overwritten.
    """
    log = start("amct_caffe", "tensor_decompose")
    paths = [os.fspath(path) for path in (model_file, weights_file, new_model_file, new_weights_file)]
    results = _native.decompose_caffe(*paths, _native.Options())
    decomposed = [result for result in results if result.mode != _native.Mode.UNCHANGE]
    for result in results:
        log.debug("%s: %s", result.name, result.reason or f"{result.mode.name}, rank {result.rank}")
    log.info("%d of %d convolutions decomposed; wrote '%s' and '%s'", len(decomposed), len(results), *paths[2:])
