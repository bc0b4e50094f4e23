"""What the packages amct_onnx, amct_pytorch, amct_tensorflow and amct_caffe share: the compiled core and the log."""

from ._native import __version__

__all__ = ["__version__"]
