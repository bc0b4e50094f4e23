"""The user's part of accuracy-based quantization: the evaluator, and how the search goes."""

from __future__ import annotations

__all__ = ["AutoCalibrationEvaluatorBase", "BinarySearchStrategy", "LinearSearchStrategy", "CosineSimilaritySensitivity"]


class AutoCalibrationEvaluatorBase:
    """Derive from it, and write the three methods with these parameters."""

    def __init__(self):
        pass

    def calibration(self, model_file):
        """Runs model_file on at least batch_num batches of calibration data, in onnxruntime.InferenceSession(model_file,
        amct_onnx.AMCT_SO)."""
        raise NotImplementedError

    def evaluate(self, model_file):
        """Returns the metric of model_file on the evaluation set, a number."""
        raise NotImplementedError

    def metric_eval(self, original_metric, new_metric):
        """Returns (satisfied, loss): whether new_metric is good enough against original_metric, and by how much it is worse."""
        raise NotImplementedError


class _PrefixSearchStrategy:
    def __init__(self, int16=False, max_trials=None, max_seconds=None):
        """int16: try activations of 16 bits before float, where the device takes them; max_trials, max_seconds: limits of the
        whole search, at which the best model so far is saved."""
        self.int16 = bool(int16)
        self.max_trials = max_trials
        self.max_seconds = max_seconds


class BinarySearchStrategy(_PrefixSearchStrategy):
    """Finds by bisection how many of the most sensitive layers have to stay in float."""

    name = "BinarySearch"


class LinearSearchStrategy(_PrefixSearchStrategy):
    """Leaves one more of the most sensitive layers in float, trial by trial."""

    name = "LinearSearch"


class CosineSimilaritySensitivity:
    """Ranks layers by the cosine between their float and their quantized results, averaged over the calibration batches."""
