"""Sessions of ONNX Runtime with AMCT's calibration operators."""

from __future__ import annotations

from amct_core import _native


def session_options():
    """onnxruntime.SessionOptions that know the operators of calibration models."""
    try:
        import onnxruntime
    except ImportError as error:
        raise ImportError("AMCT_SO needs ONNX Runtime; install it with: pip install 'onnxruntime>=1.16'") from error
    if not hasattr(onnxruntime, "SessionOptions"):
        raise ImportError(f"the installation of ONNX Runtime in {list(onnxruntime.__path__)} is damaged; repair it with: "
                          "pip install --force-reinstall onnxruntime")
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(_native.__file__)
    return options
