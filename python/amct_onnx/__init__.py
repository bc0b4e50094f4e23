"""AMCT for ONNX networks."""

from amct_core import __version__

__all__ = ["__version__"]
