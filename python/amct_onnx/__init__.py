"""AMCT for ONNX networks: `import amct_onnx as amct`.

AMCT_SO is the onnxruntime.SessionOptions object with which sessions on calibration models are made; ONNX Runtime is
imported when it is first asked for.
"""

from amct_core import __version__

from .auto_calibration import accuracy_based_auto_calibration
from .convert_model import convert_qat_model
from .quantize_tool import create_quant_config, quantize_model, save_model

__all__ = ["__version__", "AMCT_SO", "accuracy_based_auto_calibration", "convert_qat_model", "create_quant_config", "quantize_model", "save_model"]


def __getattr__(name):
    if name != "AMCT_SO":
        raise AttributeError(f"module 'amct_onnx' has no attribute '{name}'")
    from .session import session_options

    globals()["AMCT_SO"] = options = session_options()
    return options
