"""decompose_network: gives a fresh model the structure that an information file describes."""

from __future__ import annotations

from typing import Any

import torch
from amct_core import logging
from torch import nn

from . import candidates, info_file, pairs
from .arguments import check_model, check_path
from .candidates import Candidate
from .changes import finish


def decompose_network(model: nn.Module, decompose_info_path: str) -> tuple[nn.Module, dict[str, list[str]]]:
    """Changes the structure of a model, in place, to that of the decomposed model which the file describes.

    The new weights are PyTorch's initial ones; load the saved weights of the decomposed model afterwards. The model
    must be built as the one that auto_decomposition got. Call it before the parameters go to an optimizer and before
    DistributedDataParallel. For a model that is itself a torch.nn.Conv2d a new module is returned.

    Returns the model and the changed names, for example {'conv1': ['conv1.0', 'conv1.1']}.
    """
    log = logging.start("amct_pytorch", "tensor_decompose")
    check_model(model)
    path = check_path(decompose_info_path)
    plan = _match(model, info_file.load(path), path)
    alone = isinstance(model, nn.Conv2d)
    with torch.inference_mode(False), torch.no_grad():
        replacements = _replacements(plan, alone)
    return finish(model, [layer for layer, _, _ in plan], replacements, log)


def _match(model: nn.Module, entries: list[dict[str, Any]], path: str) -> list[tuple[Candidate, str, int]]:
    """(layer, mode, rank) of every layer in the file; names everything in which model and file differ."""
    modules = dict(model.named_modules(remove_duplicate=False))
    layers = {name: layer for layer in candidates.find(model) for name in layer.names}
    plan: dict[int, tuple[Candidate, str, int]] = {}
    problems = []
    for item in entries:
        name = item["ori_layer_info"]["name"]
        differences = _differences(modules.get(name), item)
        if differences:
            problems.append(f"layer '{name}': " + "; ".join(differences))
            continue
        layer = layers[name]
        found = (layer, item["mode"], item["decom_nodes"]["first"]["weight_shape"][0])
        if plan.setdefault(id(layer.conv), found)[1:] != found[1:]:
            problems.append(f"layer '{name}': is the same module as '{layer.name}', but is decomposed in another way")
    if problems:
        raise ValueError(f"'{path}' was made for another model: " + ". ".join(problems))
    return list(plan.values())


def _differences(module: nn.Module | None, item: dict[str, Any]) -> list[str]:
    if module is None:
        return ["the model has no layer of this name"]
    if not isinstance(module, nn.Conv2d):
        return [f"is a {type(module).__name__} in the model, not a torch.nn.Conv2d"]
    refusal = candidates.structure_refusal(module)
    if refusal:
        return [refusal]
    info = item["ori_layer_info"]
    result = [
        f"{field} is {value} in the model and {info[field]} in the file"
        for field, value in info_file.layer_info(info["name"], module).items()
        if value != info[field]
    ]
    if result:
        return result
    nodes = item["decom_nodes"]
    wanted = pairs.shapes(module, item["mode"], nodes["first"]["weight_shape"][0])
    for part, shape in zip(("first", "last"), wanted):
        if nodes[part]["weight_shape"] != shape:
            result.append(f"weight_shape of '{part}' is {nodes[part]['weight_shape']}, mode {item['mode']} needs {shape}")
    return result


def _replacements(plan: list[tuple[Candidate, str, int]], alone: bool) -> dict[nn.Module, nn.Module]:
    """Layers that share a weight or a bias share the new ones."""
    replacements: dict[nn.Module, nn.Module] = {}
    weights: dict[tuple[int, str, int], tuple[nn.Parameter, nn.Parameter]] = {}
    biases: dict[int, nn.Parameter] = {}
    for layer, mode, rank in plan:
        conv = layer.conv
        both = pairs.build(conv, mode, rank, conv.weight.device)
        first, last = both
        first.weight, last.weight = weights.setdefault((id(conv.weight), mode, rank), (first.weight, last.weight))
        for part in both:
            part.weight.requires_grad_(conv.weight.requires_grad)
        if conv.bias is not None:
            last.bias = biases.setdefault(id(conv.bias), last.bias)
            last.bias.requires_grad_(conv.bias.requires_grad)
        pairs.carry_over(conv, both, move=not alone)
        replacements[conv] = both
    return replacements
