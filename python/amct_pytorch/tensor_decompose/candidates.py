"""Finds the convolutions of a model and says which of them cannot be replaced."""

from __future__ import annotations

import dataclasses

import torch
from torch import nn
from torch.nn.parameter import UninitializedParameter
from torch.nn.utils import parametrize

DTYPES = (torch.float16, torch.float32, torch.float64)
_OWN_FORWARD = ("forward", "_conv_forward", "_call_impl", "_compiled_call_impl")
_STATE_HOOKS = ("_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks")


@dataclasses.dataclass
class Candidate:
    """One convolution object and every name that the model has for it."""

    conv: nn.Conv2d
    names: list[str]

    @property
    def name(self) -> str:
        return self.names[0]


def find(model: nn.Module) -> list[Candidate]:
    """All Conv2d of a model, subclasses too, in the model's order, each object once."""
    found: dict[int, Candidate] = {}
    for name, module in model.named_modules(remove_duplicate=False):
        if isinstance(module, nn.Conv2d):
            found.setdefault(id(module), Candidate(module, [])).names.append(name)
    return list(found.values())


def pair(value: int | tuple[int, int]) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (int(value[0]), int(value[1]))


def structure_refusal(conv: nn.Conv2d) -> str:
    """Why two plain convolutions cannot stand for this one; empty when they can."""
    if parametrize.is_parametrized(conv):
        return "it has a parametrization"
    if type(conv) is not nn.Conv2d:
        return f"it is a {type(conv).__name__}, not exactly a torch.nn.Conv2d"
    if any(name in conv.__dict__ for name in _OWN_FORWARD):
        return "its forward function is replaced or compiled"
    own = conv._parameters
    if type(own.get("weight")) is not nn.Parameter:
        return "its weight is not a plain parameter (weight_norm, spectral_norm, pruning or sharding?)"
    if "bias" not in own or type(own["bias"]) not in (nn.Parameter, type(None)):
        return "its bias is not a plain parameter"
    extra = [name for name in (*own, *conv._buffers, *conv._modules) if name not in ("weight", "bias")]
    if extra:
        return f"it holds more than weight and bias: {', '.join(extra)}"
    if any(getattr(conv, name, None) for name in _STATE_HOOKS):
        return "it has hooks on its state_dict"
    shape = (conv.out_channels, conv.in_channels // conv.groups, *pair(conv.kernel_size))
    if tuple(conv.weight.shape) != shape:
        return f"its weight has shape {list(conv.weight.shape)}, its attributes say {list(shape)}"
    return ""


def data_refusal(conv: nn.Conv2d) -> str:
    """Why the weight cannot be read; empty when it can."""
    if conv.weight.dtype not in DTYPES:
        return f"data type {conv.weight.dtype} is not supported"
    if conv.weight.is_meta:
        return "its weight has no data (device meta)"
    if conv.weight.layout is not torch.strided:
        return f"its weight has layout {conv.weight.layout}"
    return ""


def has_shape(conv: nn.Conv2d) -> bool:
    """False for a lazy convolution that has seen no input yet."""
    return not isinstance(conv.weight, UninitializedParameter)
