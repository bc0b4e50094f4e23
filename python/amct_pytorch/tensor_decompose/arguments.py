"""Checks of the arguments that both functions take."""

from __future__ import annotations

import os

from torch import nn
from torch.nn.parallel import DistributedDataParallel


def check_model(model: object) -> None:
    if not isinstance(model, nn.Module):
        raise TypeError(f"model type is wrong. Expected type torch.nn.Module, found {type(model).__name__}")
    for name, module in model.named_modules():
        if isinstance(module, DistributedDataParallel):
            where = f"'{name}' is" if name else "the model is"
            raise ValueError(f"{where} wrapped in DistributedDataParallel; decompose it before it is wrapped")


def check_path(path: object) -> str:
    if not isinstance(path, str):
        raise TypeError(f"decompose_info_path type is wrong. Expected type str, found {type(path).__name__}")
    if not path:
        raise ValueError("decompose_info_path is empty; expected the path of a .json file")
    return os.path.realpath(path)
