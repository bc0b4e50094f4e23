"""Hands the convolutions of a model to the core, and reports what came back."""

from __future__ import annotations

from collections.abc import Sequence
from logging import DEBUG, Logger
from typing import Any, Callable

import torch
from amct_core import _native
from torch import nn

from . import candidates
from .candidates import Candidate, pair


def options(rule: str, value: float, skip: Sequence[str], min_speedup: float, input_data: Any) -> Any:
    names = [item.name.lower() for item in _native.RankRule]
    if rule not in names:
        raise ValueError(f"rule is {rule!r}, expected one of {', '.join(names)}")
    if rule == "macs" and input_data is None:
        raise ValueError("rule 'macs' needs input_data, because multiplications depend on the size of the input")
    if isinstance(skip, str) or not all(isinstance(name, str) for name in skip):
        raise TypeError("skip type is wrong. Expected a list of layer names")
    result = _native.Options()
    result.rule = _native.RankRule[rule.upper()]
    result.value = value
    result.skip = list(skip)
    result.min_speedup = min_speedup
    return result


def run(work: Callable, model: nn.Module, layers: list[Candidate], options: Any, input_data: Any, log: Logger) -> list:
    """One result of the core for each layer."""
    positions = {} if input_data is None else output_positions(model, layers, input_data)
    # The core knows a layer by its first name; the user may have named another one.
    options.skip = [*options.skip, *(layer.name for layer in layers if not set(options.skip).isdisjoint(layer.names[1:]))]
    return work([_describe(layer, positions.get(layer.conv, 0)) for layer in layers], options, lambda *at: _progress(log, *at))


def _progress(log: Logger, done: int, all_layers: int, following: str) -> None:
    if following:
        log.debug("decomposing '%s' (%d of %d)", following, done + 1, all_layers)


def _describe(layer: Candidate, positions: int) -> Any:
    conv = layer.conv
    refusal = candidates.structure_refusal(conv) or candidates.data_refusal(conv)
    shape = _native.ConvShape(
        conv.out_channels, conv.in_channels, pair(conv.kernel_size), pair(conv.stride), pair(conv.dilation), conv.groups
    )
    weight = conv.weight.detach()
    kept = torch.float64 if weight.dtype == torch.float64 else torch.float32
    return _native.Layer(
        layer.name,
        shape,
        lambda: weight.to("cpu", kept).contiguous(),
        weight_id=str(id(conv.weight)),
        output_positions=positions,
        largest_value=torch.finfo(weight.dtype if weight.dtype in candidates.DTYPES else kept).max,
        refusal=refusal,
    )


def output_positions(model: nn.Module, layers: list[Candidate], input_data: Any) -> dict[nn.Module, int]:
    """Height times width of what each convolution computes for one input; runs the model once, in evaluation mode."""
    counts: dict[nn.Module, int] = {}

    def count(conv, _inputs, output):
        counts[conv] = counts.get(conv, 0) + output.shape[-2] * output.shape[-1]

    inputs = (input_data,) if isinstance(input_data, torch.Tensor) else tuple(input_data)
    training = [(module, module.training) for module in model.modules()]
    handles = [layer.conv.register_forward_hook(count) for layer in layers]
    try:
        with torch.no_grad():
            model.eval()(*inputs)
    finally:
        for handle in handles:
            handle.remove()
        for module, flag in training:
            module.training = flag
    return counts


def report(layers: list[Candidate], results: list, has_macs: bool, log: Logger) -> None:
    """Layers left alone by reason, then the sums; each decomposed layer only for DEBUG."""
    reasons: dict[str, list[str]] = {}
    for layer, result in zip(layers, results):
        if result.mode == _native.Mode.UNCHANGE:
            reasons.setdefault(result.reason, []).append(layer.name or "the model itself")
        elif log.isEnabledFor(DEBUG):
            log.debug(
                "'%s': %s, rank %d of %d, parameters %d -> %d, relative error %.3g",
                layer.name,
                result.mode.name,
                result.rank,
                result.full_rank,
                result.before.params,
                result.after.params,
                result.relative_error,
            )
    for reason, names in reasons.items():
        log.info("Not decomposed, because %s: %s", reason, ", ".join(names))
    log.info(
        "%d of %d convolutions decomposed: %s",
        len(results) - sum(map(len, reasons.values())),
        len(results),
        ", ".join(
            f"{word} {before:,} -> {after:,} ({100 * after / before:.1f} %)"
            for word, before, after in _sums(results, has_macs)
            if before
        ),
    )


def _sums(results: list, has_macs: bool):
    for word, field in (("multiplications", "macs"), ("parameters", "params")):
        if field == "params" or has_macs:
            yield word, sum(getattr(r.before, field) for r in results), sum(getattr(r.after, field) for r in results)
