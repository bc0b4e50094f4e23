"""Small networks and measures for the tests of amct_pytorch.tensor_decompose."""

import torch
from torch import nn


class Body(nn.Module):
    """One convolution, called body.conv1."""

    def __init__(self, conv):
        super().__init__()
        self.body = nn.Module()
        self.body.conv1 = conv

    def forward(self, x):
        return self.body.conv1(x)


class OwnConv(nn.Conv2d):
    pass


def two_layers():
    return nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 128, 3, stride=2))


def conv_of(params):
    params = dict(params)
    layout = params.pop("memory_format", "contiguous_format")
    for field in ("kernel_size", "stride", "padding", "dilation"):
        if isinstance(params.get(field), list):
            params[field] = tuple(params[field])
    params["dtype"] = getattr(torch, params.get("dtype", "float32"))
    return nn.Conv2d(**params).to(memory_format=getattr(torch, layout))


def attributes(model):
    result = []
    for name, conv in model.named_modules():
        if isinstance(conv, nn.Conv2d):
            last = conv.weight.is_contiguous(memory_format=torch.channels_last) and not conv.weight.is_contiguous()
            pairs = {field: list(getattr(conv, field)) for field in ("kernel_size", "stride", "padding", "dilation")}
            result.append(
                {
                    "name": name,
                    "in_channels": conv.in_channels,
                    "out_channels": conv.out_channels,
                    **pairs,
                    "groups": conv.groups,
                    "bias": conv.bias is not None,
                    "padding_mode": conv.padding_mode,
                    "dtype": str(conv.weight.dtype).removeprefix("torch."),
                    "channels_last": last,
                }
            )
    return result


def relative(found, wanted):
    found, wanted = found.detach().double(), wanted.detach().double()
    return float((found - wanted).norm() / wanted.norm())


def composed(both):
    """The kernel that two convolutions amount to, in float64."""
    first, last = (conv.weight.detach().double() for conv in both)
    return torch.einsum("orab,rcde->ocadbe", last, first).reshape(
        last.shape[0], first.shape[1], last.shape[2] * first.shape[2], last.shape[3] * first.shape[3]
    )
