"""The decomposition information file: a JSON list, one entry for each decomposed layer."""

from __future__ import annotations

import json
import os
from logging import Logger
from typing import Any

from amct_core import _native
from torch import nn

from .candidates import pair

_FIELDS = {"in_channels": 0, "out_channels": 0, "kernel_size": 2, "stride": 2, "dilation": 2, "groups": 0}
MODES = ("FCFK", "FCSK", "SCFK", "SCSK")


def layer_info(name: str, conv: nn.Conv2d) -> dict[str, Any]:
    info: dict[str, Any] = {"name": name}
    for field, length in _FIELDS.items():
        value = getattr(conv, field)
        info[field] = list(pair(value)) if length else value
    return info


def entry(name: str, conv: nn.Conv2d, mode: str, first_shape: list[int], last_shape: list[int]) -> dict[str, Any]:
    return {
        "ori_layer_info": layer_info(name, conv),
        "mode": mode,
        "decom_nodes": {"first": {"weight_shape": first_shape}, "last": {"weight_shape": last_shape}},
    }


def check_writable(path: str) -> None:
    """Refuses early what would be refused after minutes of work."""
    if os.path.isdir(path):
        raise IsADirectoryError(f"'{path}' is a folder; decompose_info_path is the path of a .json file")
    folder = os.path.dirname(path)
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder):
        raise NotADirectoryError(f"'{path}' cannot be written: '{folder}' is not a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"'{path}' cannot be written: no permission to write in '{folder}'")


def save(path: str, entries: list[dict[str, Any]], log: Logger) -> None:
    """Missing folders get mode 0750, the file 0640; it appears whole or not at all."""
    if os.path.exists(path):
        log.warning("'%s' exists and is replaced", path)
    _make_folders(os.path.dirname(path))
    _native.write_file(path, json.dumps(entries, indent="\t").encode())


def _make_folders(folder: str) -> None:
    if not os.path.isdir(folder):
        _make_folders(os.path.dirname(folder))
        try:
            os.mkdir(folder, 0o750)
        except FileExistsError:  # made by another process meanwhile
            if not os.path.isdir(folder):
                raise


def load(path: str) -> list[dict[str, Any]]:
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        entries = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from None
    if not isinstance(entries, list) or not entries:
        raise ValueError(f"{path}: expected a list of decomposed layers, as auto_decomposition writes it")
    for number, item in enumerate(entries):
        problem = _problem(item)
        if problem:
            raise ValueError(f"{path}: entry {number}: {problem}")
    return entries


def _problem(item: Any) -> str:
    """What breaks the form of one entry; the values are compared with the model later."""
    layer = item.get("ori_layer_info") if isinstance(item, dict) else None
    if not isinstance(layer, dict) or not isinstance(layer.get("name"), str):
        return "'ori_layer_info' with a 'name' is missing"
    for field, length in _FIELDS.items():
        if not _is_number(layer.get(field)) if not length else not _is_list(layer.get(field), length):
            return f"'{field}' of layer '{layer['name']}' is {layer.get(field)!r}, expected " + (
                f"{length} positive numbers" if length else "a positive number"
            )
    if item.get("mode") not in MODES:
        return f"'mode' of layer '{layer['name']}' is {item.get('mode')!r}, expected one of {', '.join(MODES)}"
    nodes = item.get("decom_nodes")
    for part in ("first", "last"):
        node = nodes.get(part) if isinstance(nodes, dict) else None
        if not isinstance(node, dict) or not _is_list(node.get("weight_shape"), 4):
            return f"'decom_nodes.{part}.weight_shape' of layer '{layer['name']}' is missing or not 4 positive numbers"
    return ""


def _is_number(value: Any) -> bool:
    return type(value) is int and value > 0


def _is_list(value: Any, length: int) -> bool:
    return isinstance(value, list) and len(value) == length and all(map(_is_number, value))
