"""Runs the model on the user's data, to see what its convolutions read and how many outputs they have."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any

import torch
from amct_core import _native
from torch import nn

from .candidates import Candidate, pair


@contextlib.contextmanager
def _evaluating(model: nn.Module, handles: list):
    """Evaluation mode without gradients; afterwards flags are as before and the hooks are gone."""
    training = [(module, module.training) for module in model.modules()]
    try:
        with torch.no_grad():
            model.eval()
            yield
    finally:
        for handle in handles:
            handle.remove()
        for module, flag in training:
            module.training = flag


def _run(model: nn.Module, batch: Any) -> None:
    model(*((batch,) if isinstance(batch, torch.Tensor) else tuple(batch)))


def output_positions(model: nn.Module, layers: list[Candidate], input_data: Any) -> dict[nn.Module, int]:
    """Height times width of what each convolution computes for one input."""
    counts: dict[nn.Module, int] = {}

    def count(conv, _inputs, output):
        counts[conv] = counts.get(conv, 0) + output.shape[-2] * output.shape[-1]

    with _evaluating(model, [layer.conv.register_forward_hook(count) for layer in layers]):
        _run(model, input_data)
    return counts


def input_moments(
    model: nn.Module, layers: list[Candidate], shapes: dict[nn.Module, Any], batches: Iterable[Any]
) -> dict[nn.Module, Any]:
    """What the core needs to fit the factors to each qualifying layer's output; memory does not grow with the batches."""
    moments: dict[nn.Module, Any] = {}
    handles = []
    for layer in layers:
        mode, _ = _native.choose_mode(shapes[layer.conv])
        if mode != _native.Mode.UNCHANGE:
            moments[layer.conv] = _native.InputMoments(shapes[layer.conv], mode)
            axis = 0 if _native.first_has_height(mode) else 1
            handles.append(layer.conv.register_forward_hook(_observer(moments[layer.conv], axis)))
    seen = 0
    with _evaluating(model, handles):
        for batch in batches:
            _run(model, batch)
            seen += 1
    if not seen:
        raise ValueError("calibration_data holds no batch")
    return {conv: found for conv, found in moments.items() if found.count}


def _observer(moments: Any, axis: int):
    def observe(conv: nn.Conv2d, inputs: tuple, _output) -> None:
        x = inputs[0].detach().float()
        x = x if x.dim() == 4 else x.unsqueeze(0)
        moments.add(_padded(conv, x, axis).cpu().contiguous())

    return observe


def _padded(conv: nn.Conv2d, x: torch.Tensor, axis: int) -> torch.Tensor:
    """The input as the first of the two convolutions sees it: padded along its own kernel axis."""
    if conv.padding == "valid":
        return x
    if conv.padding == "same":
        total = pair(conv.kernel_size)[axis] - 1
        ends = (total // 2, total - total // 2)
    else:
        ends = (pair(conv.padding)[axis],) * 2
    pads = (0, 0, *ends) if axis == 0 else (*ends, 0, 0)
    return nn.functional.pad(x, pads, "constant" if conv.padding_mode == "zeros" else conv.padding_mode)
