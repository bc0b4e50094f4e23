"""Tensor decomposition: a convolution becomes two smaller ones in series."""

from .decompose import auto_decomposition
from .rebuild import decompose_network

__all__ = ["auto_decomposition", "decompose_network"]
