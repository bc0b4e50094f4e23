"""Adaptation of models that are quantized already."""

from __future__ import annotations

from amct_core import _native
from amct_core.arguments import path
from amct_core.logging import start

__all__ = ["convert_qat_model"]


def convert_qat_model(model_file, save_path, record_file=None):
    """Turns a model with QuantizeLinear and DequantizeLinear into <save_path>_fake_quant_model.onnx,
    <save_path>_deploy_model.onnx and <save_path>_quant.json.

    model_file: ONNX model; record_file: where to write the factors of all quantized layers. What does not fit stays in
    float; the log names it with the reason.
    """
    start("amct_onnx", "convert_qat_model")
    _native.convert_qat_model(path(model_file, "model_file"), path(save_path, "save_path"),
                              path(record_file, "record_file", optional=True))
