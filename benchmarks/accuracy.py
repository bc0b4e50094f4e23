"""INT8 accuracy on real models with default settings, against the calibrators of ONNX Runtime."""

import contextlib
import io
import logging
import re
import shutil
import statistics
import sys

import onnx
import onnx.version_converter
import onnxruntime

from measure import AMCT, FOLDER, ROOT, Row, cores, run_child
from peer import Batches, prepare, quantize_static

BATCHES = 16
METHODS = ("MinMax", "Entropy", "Percentile")


def _named_copy(path, target):
    """The model with a name on each node, so that both sides speak of the same layers."""
    model = onnx.load(str(path))
    taken = {node.name for node in model.graph.node}
    for index, node in enumerate(model.graph.node):
        if not node.name:
            node.name = f"{node.op_type}_{index}"
            while node.name in taken:
                node.name += "_"
            taken.add(node.name)
    onnx.save(model, str(target))
    return target


def _quantized_layers(record):
    """Names of the layers that a record file holds an activation factor for."""
    entries = re.split(r"^record \{", record.read_text(), flags=re.MULTILINE)[1:]
    return [re.search(r'key: "(.*)"', entry).group(1) for entry in entries if "scale_d" in entry]


def _ours(model, feeds, folder, common):
    folders = common.save_calibration(feeds, folder / "data")
    run_child([AMCT, "onnx", "calibration", "--model", model, "--save_path", folder / "amct",
               "--data_dir", ";".join(map(str, folders)), "--batch_num", len(feeds),
               "--threads", cores(), "--no-compare", "--quiet"])
    return folder / "amct_fake_quant_model.onnx", _quantized_layers(folder / "amct_record.txt")


def _raised(model, target):
    """The model in a form that the peer can quantize per channel: opset 13 or newer, constants as initializers."""
    loaded = onnx.load(str(model))
    if next(entry.version for entry in loaded.opset_import if entry.domain in ("", "ai.onnx")) < 13:
        loaded = onnx.version_converter.convert_version(loaded, 13)
    graph = loaded.graph
    for node in [n for n in graph.node if n.op_type == "Constant" and n.attribute[0].name == "value"]:
        tensor = graph.initializer.add()
        tensor.CopyFrom(node.attribute[0].t)
        tensor.name = node.output[0]
        graph.node.remove(node)
    onnx.save(loaded, str(target))
    return target


def _prepared(model, layers, folder):
    """The model as ONNX Runtime wants it, not optimized where that would lose a layer."""
    model = _raised(model, folder / "raised.onnx")
    for skip_optimization in (False, True):
        target = folder / f"prepared_{skip_optimization}.onnx"
        try:
            prepare(str(model), str(target), skip_optimization)
        except Exception:  # it refuses some valid models; the next attempt asks less of it
            continue
        names = {node.name for node in onnx.load(str(target)).graph.node}
        if names.issuperset(layers):
            return target
    return model


def _best_peer(module, model, feeds, layers, folder):
    """(method, percent) of the most accurate calibrator, or None when all of them fail."""
    scores = {}
    prepared = _prepared(model, layers, folder)
    for method in METHODS:
        target = folder / f"{method}.onnx"
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                quantize_static(method, str(prepared), Batches(feeds), str(target), layers,
                                output_in_float=True)
            scores[method] = module.evaluate(target).value
        except Exception as error:  # a failure of the peer is its result
            print(f"note: {module.NAME}: {method} of onnxruntime fails: {str(error)[-150:]!r}")
    return max(scores.items(), key=lambda item: item[1]) if scores else None


def _measure(module, common):
    """Drops in points of our model and of the best peer's, and what to say about them."""
    folder = FOLDER / "accuracy" / module.NAME
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        model = _named_copy(module.model_path(), folder / "model.onnx")
        feeds = module.calibration(BATCHES)
        quantized, layers = _ours(model, feeds, folder, common)
        before = module.evaluate(model)
        ours = before.value - module.evaluate(quantized).value
        best = _best_peer(module, model, feeds, layers, folder)
        note = f"({before.metric} {before.value:.2f} % of {before.samples}"
        if best is None:
            return ours, None, note + ", no peer)"
        return ours, before.value - best[1], f"{note}, peer {best[0]})"
    finally:
        shutil.rmtree(folder)


def accuracy():
    """Drop per model minus the best peer's drop, then the mean of our drops."""
    yield from _rows(*_models())


def _models():
    sys.path.insert(0, str(ROOT / "examples"))
    import models
    from models import common

    return models.ALL, common


def _rows(modules, common):
    # Both libraries warn about what is asked for here on purpose.
    logging.disable(logging.WARNING)
    onnxruntime.set_default_logger_severity(3)
    drops = []
    for module in modules:
        ours, best, note = _measure(module, common)
        drops.append(ours)
        difference = ours - (0.0 if best is None else best)
        yield Row(f"accuracy drop of {module.NAME}", ours, best, difference, "<= 0", "pt", note)
    mean = statistics.fmean(drops)
    yield Row("accuracy drop, mean over models", mean, None, mean, "<= 0.5", "pt")
