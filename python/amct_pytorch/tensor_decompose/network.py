"""Hands the convolutions of a model to the core, and reports what came back."""

from __future__ import annotations

from collections.abc import Sequence
from logging import DEBUG, Logger
from typing import Any, Callable

import torch
from amct_core import _native
from torch import nn

from . import candidates, observe
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


def run(
    work: Callable, model: nn.Module, layers: list[Candidate], options: Any, input_data: Any, calibration_data: Any, log: Logger
) -> list:
    """One result of the core for each layer."""
    shapes = {layer.conv: _shape(layer.conv) for layer in layers}
    refusals = {layer.conv: candidates.structure_refusal(layer.conv) or candidates.data_refusal(layer.conv) for layer in layers}
    positions = {} if input_data is None else observe.output_positions(model, layers, input_data)
    moments = {}
    if calibration_data is not None:
        usable = [layer for layer in layers if not refusals[layer.conv]]
        moments = observe.input_moments(model, usable, shapes, calibration_data)
    # The core knows a layer by its first name; the user may have named another one.
    options.skip = [*options.skip, *(layer.name for layer in layers if not set(options.skip).isdisjoint(layer.names[1:]))]
    described = [
        _describe(layer, shapes[layer.conv], refusals[layer.conv], positions.get(layer.conv, 0), moments.get(layer.conv))
        for layer in layers
    ]
    return work(described, options, lambda *at: _progress(log, *at))


def _progress(log: Logger, done: int, all_layers: int, following: str) -> None:
    if following:
        log.debug("decomposing '%s' (%d of %d)", following, done + 1, all_layers)


def _shape(conv: nn.Conv2d) -> Any:
    return _native.ConvShape(
        conv.out_channels, conv.in_channels, pair(conv.kernel_size), pair(conv.stride), pair(conv.dilation), conv.groups
    )


def _describe(layer: Candidate, shape: Any, refusal: str, positions: int, moments: Any) -> Any:
    conv = layer.conv
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
        input_moments=moments,
    )


def report(layers: list[Candidate], results: list, has_macs: bool, log: Logger) -> None:
    """Layers left alone by reason, then the sums; each decomposed layer only for DEBUG."""
    reasons: dict[str, list[str]] = {}
    for layer, result in zip(layers, results):
        if result.mode == _native.Mode.UNCHANGE:
            reasons.setdefault(result.reason, []).append(layer.name or "the model itself")
        elif log.isEnabledFor(DEBUG):
            log.debug(
                "'%s': %s, rank %d of %d, parameters %d -> %d, relative error of the weight %.3g%s",
                layer.name,
                result.mode.name,
                result.rank,
                result.full_rank,
                result.before.params,
                result.after.params,
                result.relative_error,
                "" if result.output_error is None else f", of the output {result.output_error:.3g}",
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
