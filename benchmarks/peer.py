"""Runs ONNX Runtime, the peer of every comparison, in a process of its own.

peer.py run MODEL DATA THREADS          prints {"open": ..., "run": ...}, seconds
peer.py prepare MODEL OUTPUT            pre-processes a model for quantization, as ONNX Runtime advises
peer.py quantize METHOD MODEL DATA OUTPUT   quantize_static with MinMax, Entropy or Percentile;
                                        prints {"seconds": ...} of that call alone
"""

import json
import logging
import sys
import time

import onnxruntime as ort
from onnxruntime import quantization
from onnxruntime.quantization.shape_inference import quant_pre_process

from synthetic_models import load_batches

LAYER_TYPES = ["Conv", "ConvTranspose", "Gemm", "MatMul", "AveragePool"]


class Batches(quantization.CalibrationDataReader):
    def __init__(self, batches):
        self._batches = iter(batches)

    def get_next(self):
        return next(self._batches, None)


def run(model, data, threads):
    """Seconds of opening the model and of running all batches, with the data in memory before."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = int(threads)
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    batches = load_batches(data)
    start = time.perf_counter()
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    opened = time.perf_counter()
    for batch in batches:
        session.run(None, batch)
    return {"open": opened - start, "run": time.perf_counter() - opened}


def prepare(model, output, skip_optimization=False):
    start = time.perf_counter()
    # Symbolic shape inference needs one more package; nothing here gains by it.
    quant_pre_process(model, output, skip_symbolic_shape=True, skip_optimization=skip_optimization)
    return {"seconds": time.perf_counter() - start}


def quantize_static(method, model, reader, output, nodes=None, output_in_float=False):
    """`output_in_float`: quantize what the layers read and their weights only, as AMCT does."""
    options = {"OpTypesToExcludeOutputQuantization": LAYER_TYPES} if output_in_float else None
    quantization.quantize_static(
        model, output, reader, quant_format=quantization.QuantFormat.QDQ, per_channel=True,
        activation_type=quantization.QuantType.QInt8, weight_type=quantization.QuantType.QInt8,
        calibrate_method=quantization.CalibrationMethod[method], nodes_to_quantize=nodes,
        extra_options=options)


def quantize(method, model, data, output):
    batches = load_batches(data)
    start = time.perf_counter()
    quantize_static(method, model, Batches(batches), output)
    return {"seconds": time.perf_counter() - start}


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    command = {"run": run, "prepare": prepare, "quantize": quantize}[sys.argv[1]]
    print(json.dumps(command(*sys.argv[2:])))
