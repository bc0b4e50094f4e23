"""The last step of both functions: relinks the model and tells what changed."""

from __future__ import annotations

from collections.abc import Mapping
from logging import Logger

from torch import nn

from . import pairs
from .candidates import Candidate


def finish(
    model: nn.Module, layers: list[Candidate], replacements: Mapping[nn.Module, nn.Module], log: Logger
) -> tuple[nn.Module, dict[str, list[str]]]:
    """Returns the model, or what replaces it, and the names of each changed layer before and after."""
    _warn_of_separated_weights(model, replacements, log)
    if model in replacements:
        model = replacements[model]
    else:
        pairs.relink(model, replacements)
    changes: dict[str, list[str]] = {}
    for layer in layers:
        for name in layer.names:
            changes[name] = [f"{name}.{part}" if name else str(part) for part in (0, 1)]
            log.info("Decompose: %s -> [%s]", name, ", ".join(changes[name]))
    return model, changes


def _warn_of_separated_weights(model: nn.Module, replacements: Mapping[nn.Module, nn.Module], log: Logger) -> None:
    owners = {id(conv.weight): conv for conv in replacements}
    for name, module in model.named_modules():
        if module in replacements:
            continue
        for parameter in module._parameters.values():
            if id(parameter) in owners:
                log.warning("'%s' shared its weight with a layer that is decomposed; it keeps the weight to itself", name)
