"""What the packages amct_onnx, amct_pytorch, amct_tensorflow and amct_caffe share: the compiled core and the log."""

import os
import sys


def _load_native():
    """TensorFlow gives all its symbols to the whole process, among them those of another release of protobuf. The core's
    libraries must find their own first, whichever of the two is imported first."""
    flags = sys.getdlopenflags()
    sys.setdlopenflags(flags | getattr(os, "RTLD_DEEPBIND", 0))
    try:
        from . import _native
    finally:
        sys.setdlopenflags(flags)
    return _native


__version__ = _load_native().__version__

__all__ = ["__version__"]
