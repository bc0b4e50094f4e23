"""auto_decomposition: computes the two convolutions of each layer that qualifies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from amct_core import _native, logging
from torch import nn

from . import candidates, info_file, network, pairs
from .arguments import check_model, check_path
from .candidates import Candidate
from .changes import finish

_HINT = (
    "No convolution was decomposed. One qualifies when it is a torch.nn.Conv2d with groups 1, dilation 1, stride 1 or 2, "
    "a kernel of at least 3 in both directions and enough channels (64 for kernels below 7)."
)


def auto_decomposition(
    model: nn.Module,
    decompose_info_path: str | None = None,
    *,
    rule: str = "evbmf",
    value: float = 0.0,
    skip: Sequence[str] = (),
    min_speedup: float = 1.0,
    input_data: Any = None,
    calibration_data: Iterable[Any] | None = None,
) -> tuple[nn.Module, dict[str, list[str]]]:
    """Decomposes the convolutions of a model with trained weights, in place.

    Call it before the parameters go to an optimizer and before DistributedDataParallel. A model that is itself a
    torch.nn.Conv2d is left alone; when it is decomposed, a new module is returned.

    decompose_info_path: JSON file for decompose_network; not written when no layer is decomposed.
    rule, value: how the rank of a layer is chosen. "evbmf" (by its noise, within the documented limits); "rank": `value`;
        "ratio": this share of the full rank; "energy": the smallest rank that keeps this share of the squared norm;
        "macs", "params": what is left of the multiplications or weights of all convolutions, as a share.
    skip: names of layers to leave alone; '*' and '?' match any text and any character.
    min_speedup: a layer whose multiplications fall by less than this factor stays as it is.
    input_data: a tensor or a tuple of the model's inputs, to count multiplications; rule "macs" needs it.
    calibration_data: batches, each a tensor or a tuple of the model's inputs. The model runs on them in evaluation mode, and
        the factors make the error of each layer's output small on these data instead of the error of its weight.

    Returns the model and the changed names, for example {'conv1': ['conv1.0', 'conv1.1']}.
    """
    log = logging.start("amct_pytorch", "tensor_decompose")
    check_model(model)
    path = None if decompose_info_path is None else check_path(decompose_info_path)
    options = network.options(rule, value, skip, min_speedup, input_data)
    if path is not None:
        info_file.check_writable(path)
    layers = candidates.find(model)
    for layer in layers:
        if candidates.has_shape(layer.conv) and layer.conv.weight.dtype not in candidates.DTYPES:
            log.warning("Unsupported data type %s of layer '%s' ignored", layer.conv.weight.dtype, layer.name)
    layers = [layer for layer in layers if candidates.has_shape(layer.conv)]
    results = network.run(_native.decompose_network, model, layers, options, input_data, calibration_data, log)
    network.report(layers, results, input_data is not None, log)
    changed = [i for i, result in enumerate(results) if result.mode != _native.Mode.UNCHANGE]
    if not changed:
        log.info("%s%s", _HINT, f" '{path}' is not written." if path else "")
        return model, {}
    if path is not None:
        _save(path, [(layers[i], results[i]) for i in changed], log)
    alone = isinstance(model, nn.Conv2d)
    with torch.inference_mode(False), torch.no_grad():
        replacements = _replacements(layers, results, changed, alone)
    return finish(model, [layers[i] for i in changed], replacements, log)


def _save(path: str, decomposed: list[tuple[Candidate, Any]], log) -> None:
    entries = []
    for layer, result in decomposed:
        first, last = pairs.shapes(layer.conv, result.mode.name, result.rank)
        entries += [info_file.entry(name, layer.conv, result.mode.name, first, last) for name in layer.names]
    info_file.save(path, entries, log)


def _replacements(layers: list[Candidate], results, changed: list[int], alone: bool) -> dict[nn.Module, nn.Module]:
    """A layer that shares its weight with an earlier one gets the same parameters."""
    replacements: dict[nn.Module, nn.Module] = {}
    weights: dict[int, tuple[nn.Parameter, nn.Parameter]] = {}
    for i in changed:
        conv, result = layers[i].conv, results[i]
        source = i if result.shares_with is None else result.shares_with
        if source not in weights:
            factors = results[source]
            weights[source] = (pairs.parameter(factors.first, conv.weight), pairs.parameter(factors.last, conv.weight))
        both = pairs.build(conv, result.mode.name, result.rank, "meta")
        both[0].weight, both[1].weight = weights[source]
        if conv.bias is not None:
            both[1].bias = nn.Parameter(conv.bias.clone(), conv.bias.requires_grad) if alone else conv.bias
        pairs.carry_over(conv, both, move=not alone)
        replacements[conv] = both
    return replacements
