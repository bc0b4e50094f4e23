"""Tensor decomposition of TensorFlow networks: one convolution becomes two smaller ones.

auto_decomposition works on files alone and does not import TensorFlow; decompose_graph repeats the change on the graph
of the training script.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from amct_core import _native
from amct_core.logging import start

from .record import load_record

if TYPE_CHECKING:
    import tensorflow

__all__ = ["auto_decomposition", "decompose_graph"]


def auto_decomposition(meta_path: str, ckpt_path: str, save_path: str) -> list[str]:
    """Decomposes the convolutions of a saved model.

    meta_path is the model's .meta, ckpt_path the common prefix of its .data-XXXXX-of-XXXXX and .index files. Writes
    <save_path>.meta, .index, .data-00000-of-00001 and .pkl, and the file "checkpoint" beside them. Returns the names of
    the new convolutions.
    """
    start("amct_tensorflow", "auto_decomposition")
    paths = [_text(path, name) for path, name in
             ((meta_path, "meta_path"), (ckpt_path, "ckpt_path"), (save_path, "save_path"))]
    return _native.decompose_tensorflow(*paths)


def decompose_graph(save_path: str, graph: tensorflow.Graph | None = None) -> list[str]:
    """Repeats on a graph, in place, what auto_decomposition did to the model saved from it.

    save_path is that of auto_decomposition, graph None the default graph. To be called after the network is built and
    before loss and optimizer are. Returns the names of the new convolutions.
    """
    log = start("amct_tensorflow", "decompose_graph")
    record = load_record(_text(save_path, "save_path") + ".pkl")
    from .live_graph import decompose  # TensorFlow is needed here only

    names = decompose(record, graph)
    log.info("%d convolutions of the graph are decomposed", len(names) // 2)
    return names


def _text(path, name: str) -> str:
    if not isinstance(path, (str, os.PathLike)) or not isinstance(os.fspath(path), str):
        raise TypeError(f"{name} is a {type(path).__name__}, expected a str")
    return os.fspath(path)
