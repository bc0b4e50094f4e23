"""Post-training quantization in three steps; between the second and the third the user runs the calibration model."""

from __future__ import annotations

import atexit
import logging

from amct_core import _native
from amct_core.arguments import boolean, count, names, path
from amct_core.logging import start

__all__ = ["create_quant_config", "quantize_model", "save_model"]


def create_quant_config(config_file, model_file, skip_layers=None, batch_num=1, activation_offset=True,
                        config_defination=None, updated_model=None):
    """Writes the JSON config of a model, with an entry for every layer that can be quantized.

    config_file: where; model_file: ONNX model; skip_layers: names of layers to leave in float; batch_num: batches to
    calibrate with; activation_offset: asymmetric activations; config_defination: simple config file, which then alone
    counts; updated_model: where to write the model with complete and unique node names.
    """
    start("amct_onnx", "create_quant_config")
    _native.create_quant_config(
        path(config_file, "config_file"), path(model_file, "model_file"), names(skip_layers, "skip_layers"),
        count(batch_num, "batch_num"), boolean(activation_offset, "activation_offset"),
        path(config_defination, "config_defination", optional=True),
        path(updated_model, "updated_model", optional=True))


def quantize_model(config_file, model_file, modified_onnx_file, record_file):
    """Writes a model that calibrates itself while it runs, and the record file that will hold the factors.

    Run modified_onnx_file with onnxruntime.InferenceSession(modified_onnx_file, amct_onnx.AMCT_SO) on batch_num batches.
    """
    start("amct_onnx", "quantize_model")
    _native.quantize_model(path(config_file, "config_file"), path(model_file, "model_file"),
                           path(modified_onnx_file, "modified_onnx_file"), path(record_file, "record_file"))


def save_model(modified_onnx_file, record_file, save_path):
    """Writes <save_path>_fake_quant_model.onnx, <save_path>_deploy_model.onnx and <save_path>_quant.json.

    modified_onnx_file: what quantize_model wrote; record_file: filled by batch_num runs of it.
    """
    start("amct_onnx", "save_model")
    _native.save_model(path(modified_onnx_file, "modified_onnx_file"), path(record_file, "record_file"),
                       path(save_path, "save_path"))


@atexit.register
def _tell_of_unfinished():
    for record_file, seen, wanted in _native.unfinished_calibrations():
        logging.getLogger("amct_onnx").warning(
            "calibration ended early: it has seen %d of %d batches, so that '%s' holds no factors", seen, wanted, record_file)
