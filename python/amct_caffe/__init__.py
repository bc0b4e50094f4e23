"""AMCT for Caffe networks."""

from amct_core import __version__

from .tensor_decompose import auto_decomposition

__all__ = ["__version__", "auto_decomposition"]
