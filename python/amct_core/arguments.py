"""Checks of arguments; each returns the argument as the core takes it, or raises what names argument and value."""

from __future__ import annotations

import operator
import os


def path(value, name: str, optional: bool = False) -> str:
    """A str or path object; "" for None when it may be absent."""
    if value is None and optional:
        return ""
    if not isinstance(value, (str, os.PathLike)) or not isinstance(os.fspath(value), str):
        raise _wrong(value, name, "a str" + (" or None" if optional else ""))
    if not os.fspath(value):
        raise ValueError(f"{name} is empty, expected a path")
    return os.fspath(value)


def names(value, name: str) -> list[str]:
    """A list or tuple of str; [] for None."""
    if value is None:
        return []
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise _wrong(value, name, "a list of str or None")
    return list(value)


def count(value, name: str) -> int:
    """An integer above 0."""
    if isinstance(value, bool):
        raise _wrong(value, name, "an int above 0")
    try:
        number = operator.index(value)
    except TypeError:
        raise _wrong(value, name, "an int above 0") from None
    if not 0 < number < 2**32:
        raise ValueError(f"{name} is {number}, expected an int above 0 and below 2**32")
    return number


def boolean(value, name: str) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise _wrong(value, name, "a bool")
    return value


def _wrong(value, name: str, expected: str) -> TypeError:
    return TypeError(f"{name} is a {type(value).__name__}, expected {expected}")
