"""Accuracy-based quantization: rolls back as few layers as the user's accuracy requirement allows."""

from __future__ import annotations

import inspect
import json
import logging
import math
import numbers
from dataclasses import dataclass

from amct_core import _native
from amct_core.arguments import count, path
from amct_core.logging import start

from .common.auto_calibration import (BinarySearchStrategy, CosineSimilaritySensitivity, LinearSearchStrategy,
                                      _PrefixSearchStrategy)

__all__ = ["accuracy_based_auto_calibration", "AutoCalibrationResult"]

_METHODS = {"calibration": ("model_file",), "evaluate": ("model_file",), "metric_eval": ("original_metric", "new_metric")}
_STRATEGIES = {strategy.name: strategy for strategy in (BinarySearchStrategy, LinearSearchStrategy)}


@dataclass
class AutoCalibrationResult:
    """satisfied: whether the saved model meets the requirement; loss: by metric_eval; in_float, int16: layers that were
    rolled back; trials: how many models were evaluated."""

    satisfied: bool
    loss: float
    in_float: list[str]
    int16: list[str]
    trials: int


def accuracy_based_auto_calibration(model_file, model_evaluator, config_file, record_file, save_dir, strategy="BinarySearch",
                                    sensitivity="CosineSimilarity"):
    """Quantizes a model; while model_evaluator is not satisfied, leaves its most sensitive layers in float.

    model_evaluator: see common.auto_calibration.AutoCalibrationEvaluatorBase; config_file: by create_quant_config; strategy:
    "BinarySearch", "LinearSearch", an instance of a class of common.auto_calibration, or an object with initialize(config,
    candidates) and update(similarities, satisfied), which returns the names of the layers to leave in float, or None to end;
    sensitivity: "CosineSimilarity" or an object with compare(original, quantized), two flat arrays of a layer's results.

    Writes <save_dir>_fake_quant_model.onnx, _deploy_model.onnx, _quant.json, _sensitivity.json, _rollback_history.json,
    _final_config.json and record_file. When no model satisfies, they are of the one with the smallest loss, and a warning and
    the result say so.
    """
    logger = start("amct_onnx", "accuracy_based_auto_calibration")
    model_file, config_file = path(model_file, "model_file"), path(config_file, "config_file")
    record_file, save_dir = path(record_file, "record_file"), path(save_dir, "save_dir")
    check_evaluator(model_evaluator)
    search = _search_arguments(strategy, config_file)
    compare = _compare_function(sensitivity)
    judge = _Judge(model_evaluator, model_file, logger)
    best, trials = _native.auto_calibrate(
        model_file, config_file, record_file, save_dir, lambda model: _call(model_evaluator, "calibration", model),
        judge, compare=compare, **search)
    in_float, int16, loss, satisfied = trials[best]
    return AutoCalibrationResult(satisfied, loss, in_float, int16, len(trials))


def check_evaluator(evaluator, methods=tuple(_METHODS)):
    """Raises TypeError that names the first method which is missing or takes other arguments."""
    if inspect.isclass(evaluator):
        raise TypeError(f"model_evaluator is the class {evaluator.__name__}, expected an instance: {evaluator.__name__}()")
    for name in methods:
        method = getattr(evaluator, name, None)
        if not callable(method):
            raise TypeError(f"model_evaluator ({type(evaluator).__name__}) has no method {name}({', '.join(_METHODS[name])})")
        try:
            inspect.signature(method).bind(*_METHODS[name])
        except TypeError:
            raise TypeError(f"{type(evaluator).__name__}.{name}{inspect.signature(method)} must take "
                            f"({', '.join(_METHODS[name])})") from None
        except ValueError:
            pass  # a builtin without a signature


class _Judge:
    """Measures models; the original once, before any long work."""

    def __init__(self, evaluator, model_file: str, logger: logging.Logger) -> None:
        self.evaluator = evaluator
        self.original = self._metric(model_file)
        satisfied, _ = self._compare(self.original)
        if not satisfied:
            logger.warning("metric_eval(%s, %s) is not satisfied by the original model itself; no quantized one will do",
                           self.original, self.original)

    def __call__(self, model_file: str):
        return self._compare(self._metric(model_file))

    def _metric(self, model_file: str):
        metric = _call(self.evaluator, "evaluate", model_file)
        where = f"{type(self.evaluator).__name__}.evaluate('{model_file}')"
        if callable(metric):
            raise TypeError(f"{where} returned {metric!r}, a function; call it: return the number that it yields")
        if metric is None or isinstance(metric, (str, bytes)):
            raise TypeError(f"{where} returned {metric!r}, expected a number")
        if isinstance(metric, numbers.Real) and math.isnan(metric):
            raise ValueError(f"{where} returned NaN, expected a number")
        return metric

    def _compare(self, metric) -> tuple[bool, float]:
        verdict = _call(self.evaluator, "metric_eval", self.original, metric)
        where = f"{type(self.evaluator).__name__}.metric_eval({self.original!r}, {metric!r})"
        if not isinstance(verdict, (tuple, list)) or len(verdict) != 2:
            raise TypeError(f"{where} returned {verdict!r}, expected (satisfied, loss)")
        try:
            satisfied, loss = bool(verdict[0]), float(verdict[1])
        except (TypeError, ValueError):
            raise TypeError(f"{where} returned {verdict!r}, expected (True or False, a number)") from None
        if callable(verdict[0]) or isinstance(verdict[0], str) or math.isnan(loss):
            raise ValueError(f"{where} returned {verdict!r}, expected (True or False, a number)")
        return satisfied, loss


def _call(evaluator, name: str, *arguments):
    try:
        return getattr(evaluator, name)(*arguments)
    except NotImplementedError as error:
        raise TypeError(f"{type(evaluator).__name__} does not define {name}({', '.join(_METHODS[name])})") from error
    except Exception as error:
        _add_note(error, f"raised by {type(evaluator).__name__}.{name}{arguments!r}")
        raise


def _add_note(error: Exception, note: str) -> None:
    if hasattr(error, "add_note"):
        error.add_note(note)
    logging.getLogger("amct_onnx").error("%s: %s (%s)", type(error).__name__, error, note)


def _search_arguments(strategy, config_file: str) -> dict:
    if isinstance(strategy, str):
        if strategy not in _STRATEGIES:
            raise ValueError(f"strategy is '{strategy}', expected {' or '.join(_STRATEGIES)}, or an object")
        strategy = _STRATEGIES[strategy]()
    if isinstance(strategy, _PrefixSearchStrategy):
        return {"strategy": strategy.name, "int16": strategy.int16, "max_trials": _limit(strategy.max_trials, "max_trials"),
                "max_seconds": None if strategy.max_seconds is None else float(strategy.max_seconds), "next_layers": None}
    for name in ("initialize", "update"):
        if not callable(getattr(strategy, name, None)):
            raise TypeError(f"strategy is a {type(strategy).__name__} without a method {name}")
    return {"strategy": "", "int16": False, "max_trials": None, "max_seconds": None,
            "next_layers": _own_strategy(strategy, config_file)}


def _limit(value, name: str):
    return None if value is None else count(value, name)


def _own_strategy(strategy, config_file: str):
    started = False

    def next_layers(similarities, satisfied):
        nonlocal started
        if not started:
            started = True
            with open(config_file, encoding="utf-8") as file:
                strategy.initialize(json.load(file), [layer for layer, _ in similarities])
        layers = strategy.update(dict(similarities), satisfied)
        return None if layers is None else list(layers)

    return next_layers


def _compare_function(sensitivity):
    if isinstance(sensitivity, str):
        if sensitivity != "CosineSimilarity":
            raise ValueError(f"sensitivity is '{sensitivity}', expected CosineSimilarity, or an object with compare(original, quantized)")
        return None
    if isinstance(sensitivity, CosineSimilaritySensitivity):
        return None
    if not callable(getattr(sensitivity, "compare", None)):
        raise TypeError(f"sensitivity is a {type(sensitivity).__name__} without a method compare")
    return lambda original, quantized: float(sensitivity.compare(original, quantized))
