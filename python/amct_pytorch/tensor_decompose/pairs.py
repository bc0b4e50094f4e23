"""Builds the two convolutions that stand for one, and puts them in its place."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import torch
from amct_core import _native
from torch import nn

from .candidates import pair

_HOOKS = (
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_backward_hooks",
    "_backward_pre_hooks",
    "_is_full_backward_hook",
)


def shapes(conv: nn.Conv2d, mode: str, rank: int) -> tuple[list[int], list[int]]:
    """Weight shapes of the first and the last convolution."""
    height, width = pair(conv.kernel_size)
    kernels = [[height, 1], [1, width]]
    if not _native.first_has_height(_native.Mode[mode]):
        kernels.reverse()
    return [rank, conv.in_channels, *kernels[0]], [conv.out_channels, rank, *kernels[1]]


def build(conv: nn.Conv2d, mode: str, rank: int, device: torch.device | str) -> nn.Sequential:
    """Two convolutions with PyTorch's initial weights; on device meta: without any."""
    first, last = shapes(conv, mode, rank)
    has_bias = conv.bias is not None
    both = nn.Sequential(_part(conv, first, False, device), _part(conv, last, has_bias, device))
    if is_channels_last(conv.weight):
        both.to(memory_format=torch.channels_last)
    return both.train(conv.training)


def _part(conv: nn.Conv2d, shape: list[int], bias: bool, device: torch.device | str) -> nn.Conv2d:
    """One of the two: stride, padding and dilation of `conv` along its own kernel axis."""
    own = 0 if shape[3] == 1 else 1

    def along(values, neutral):
        return tuple(value if axis == own else neutral for axis, value in enumerate(pair(values)))

    return nn.Conv2d(
        shape[1],
        shape[0],
        tuple(shape[2:]),
        stride=along(conv.stride, 1),
        padding=conv.padding if isinstance(conv.padding, str) else along(conv.padding, 0),
        dilation=along(conv.dilation, 1),
        bias=bias,
        padding_mode=conv.padding_mode,
        device=device,
        dtype=conv.weight.dtype,
    )


def is_channels_last(weight: torch.Tensor) -> bool:
    return weight.is_contiguous(memory_format=torch.channels_last) and not weight.is_contiguous()


def parameter(array, like: nn.Parameter) -> nn.Parameter:
    """A factor on the device, in the type and the memory format of the weight that it comes from."""
    layout = torch.channels_last if is_channels_last(like) else torch.contiguous_format
    source = torch.from_dlpack(array)
    data = torch.empty(source.shape, dtype=like.dtype, device=like.device, memory_format=layout)
    return nn.Parameter(data.copy_(source), requires_grad=like.requires_grad)


def carry_over(conv: nn.Conv2d, both: nn.Sequential, move: bool) -> None:
    """Hooks, which see the input and the output that they saw before, and the user's own attributes.

    Moved hooks are the same objects, so the handles that registering them returned still remove them.
    """
    plain = nn.Conv2d(1, 1, 1, device="meta").__dict__
    for name, value in conv.__dict__.items():
        if name in _HOOKS:
            both.__dict__[name] = value if move else copy.copy(value)
        elif name not in plain and not hasattr(both, name):
            setattr(both, name, value)


def relink(model: nn.Module, replacements: Mapping[nn.Module, nn.Module]) -> None:
    """Puts each replacement in every place that holds the original."""
    for parent in list(model.modules()):
        for name, child in list(parent._modules.items()):
            if child in replacements:
                parent.register_module(name, replacements[child])
