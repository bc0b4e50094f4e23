"""Reads the .pkl file of auto_decomposition. It is a pickle, and pickles can run code: only built-in types are let in."""

from __future__ import annotations

import pickle

FORMAT = "amct_tensorflow"
VERSION = 1
_GEOMETRY = {"name": str, "strides": tuple, "dilations": tuple, "explicit_paddings": tuple, "kernel_shape": tuple}
_NEW = {**_GEOMETRY, "variable": str}
_ENTRY = {"original": {**_GEOMETRY, "variables": list}, "first": _NEW, "last": _NEW, "rank": int, "data_format": str,
          "padding": str, "has_bias": bool, "dtype": str, "resource": bool}


class _BuiltinsOnly(pickle.Unpickler):
    """dict, list, tuple, str, int, bool and None have opcodes of their own; everything else asks for a class."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")

    def persistent_load(self, pid):
        raise pickle.UnpicklingError("it asks for an outside object")


def load_record(path: str) -> dict[str, dict]:
    """The decomposed convolutions by name. Raises FileNotFoundError, or ValueError when it is no such file."""
    try:
        with open(path, "rb") as file:
            record = _BuiltinsOnly(file).load()
    except FileNotFoundError:
        raise FileNotFoundError(
            f"there is no '{path}'; call auto_decomposition first, with the same save_path") from None
    except OSError:
        raise
    except Exception as error:  # a damaged pickle raises nearly anything
        raise ValueError(f"'{path}' is not a file of auto_decomposition: {error}") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise ValueError(f"'{path}' is not a file of auto_decomposition")
    if record.get("version") != VERSION:
        raise ValueError(f"'{path}' has version {record.get('version')}, expected {VERSION}; run auto_decomposition of "
                         "this release again")
    convolutions = record.get("convolutions")
    if not isinstance(convolutions, dict):
        raise ValueError(f"'{path}' is damaged: it lists no convolutions")
    for name, entry in convolutions.items():
        _check(path, name, entry, _ENTRY)
    return convolutions


def _check(path: str, where: str, found, wanted) -> None:
    if isinstance(wanted, dict):
        if not isinstance(found, dict):
            raise ValueError(f"'{path}' is damaged: '{where}' is no dictionary")
        for key, kind in wanted.items():
            _check(path, f"{where}.{key}", found.get(key), kind)
    elif not isinstance(found, wanted):
        raise ValueError(f"'{path}' is damaged: '{where}' is {type(found).__name__}, expected {wanted.__name__}")
