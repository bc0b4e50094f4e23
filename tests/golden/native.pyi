"""The C++ core of AMCT, as the packages amct_* use it."""

from collections.abc import Callable, Sequence
import enum
import os
from typing import Annotated

import numpy
from numpy.typing import NDArray


def set_log_sink(sink: object | None) -> None:
    """
    Hands every log line of the core to sink(level, line), with the levels of Python's logging module; None drops them.
    """

def log_line(level: int, line: str) -> None:
    """Hands one line to the sink."""

def write_file(path: str | os.PathLike, content: bytes) -> None:
    """Writes a whole file with mode 0640; it appears whole or not at all."""

def auto_calibrate(model_file: str, config_file: str, record_file: str, save_dir: str, calibrate: Callable[[str], None], judge: Callable[[str], tuple[bool, float]], strategy: str, int16: bool, max_trials: int | None, max_seconds: float | None, next_layers: Callable[[Sequence[tuple[str, float]], bool], Sequence[str] | None] | None, compare: Callable[[Annotated[NDArray[numpy.float32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float32], dict(shape=(None,), writable=False)]], float] | None) -> tuple[int, list[tuple[list[str], list[str], float, bool]]]:
    """
    Searches for the layers to leave in float. Returns the index of the trial that was saved, and the trials: (layers in float, layers with INT16, loss, satisfied).
    """

class Mode(enum.Enum):
    """How a kernel is split in two."""

    UNCHANGE = 0

    FCFK = 1

    FCSK = 2

    SCFK = 3

    SCSK = 4

class ConvShape:
    """A 2-D convolution; kernel, stride and dilation are (height, width)."""

    def __init__(self, out_channels: int, in_channels: int, kernel: Sequence[int], stride: Sequence[int] = [1, 1], dilation: Sequence[int] = [1, 1], groups: int = 1) -> None: ...

def choose_mode(shape: ConvShape) -> tuple[Mode, str]:
    """The mode and, when it is UNCHANGE, why."""

def first_has_height(mode: Mode) -> bool:
    """Whether the first of the two convolutions has the kernel's height."""

class Layer:
    """One convolution of a network."""

    def __init__(self, name: str, shape: ConvShape, read_weights: Callable, weight_id: str = '', output_positions: int = 0, largest_value: float = 3.4028234663852886e+38, refusal: str = '', input_moments: object | None = None) -> None:
        """
        read_weights() returns a C-ordered float32 or float64 array [Cout, Cin, KH, KW].
        """

class RankRule(enum.Enum):
    """How the rank of a layer is chosen."""

    EVBMF = 0

    RANK = 1

    RATIO = 2

    ENERGY = 3

    MACS = 4

    PARAMS = 5

class Options:
    def __init__(self) -> None: ...

    @property
    def rule(self) -> RankRule: ...

    @rule.setter
    def rule(self, arg: RankRule, /) -> None: ...

    @property
    def value(self) -> float: ...

    @value.setter
    def value(self, arg: float, /) -> None: ...

    @property
    def skip(self) -> list[str]: ...

    @skip.setter
    def skip(self, arg: Sequence[str], /) -> None: ...

    @property
    def min_speedup(self) -> float: ...

    @min_speedup.setter
    def min_speedup(self, arg: float, /) -> None: ...

    @property
    def threads(self) -> int: ...

    @threads.setter
    def threads(self, arg: int, /) -> None: ...

class Cost:
    @property
    def macs(self) -> int: ...

    @property
    def params(self) -> int: ...

class LayerResult:
    """What became of a layer, and what it costs."""

    @property
    def name(self) -> str: ...

    @property
    def mode(self) -> Mode: ...

    @property
    def reason(self) -> str: ...

    @property
    def full_rank(self) -> int: ...

    @property
    def rank(self) -> int: ...

    @property
    def before(self) -> Cost: ...

    @property
    def after(self) -> Cost: ...

    @property
    def relative_error(self) -> float: ...

    @property
    def output_error(self) -> float | None:
        """Relative error of the output on the data of input_moments, or None."""

    @property
    def shares_with(self) -> int | None:
        """Index of the result whose factors are also this layer's."""

    @property
    def first(self) -> object:
        """Weight of the first convolution, or None; a view."""

    @property
    def last(self) -> object:
        """Weight of the last convolution, or None; a view."""

def decompose_network(layers: Sequence[Layer], options: Options, progress: Callable | None = None) -> list[LayerResult]:
    """
    Decomposes what qualifies; one result per layer. progress(done, all, name of the next).
    """

def plan_network(layers: Sequence[Layer], options: Options, progress: Callable | None = None) -> list[LayerResult]:
    """Modes, ranks and costs without factors."""

def decompose_caffe(model_file: str, weights_file: str, new_model_file: str, new_weights_file: str, options: Options, dry_run: bool = False) -> list[LayerResult]:
    """Decomposes a Caffe network; one result per Convolution layer."""

def decompose_tensorflow(meta_path: str, ckpt_path: str, save_path: str) -> list[str]:
    """
    Decomposes a saved TensorFlow model; returns the names of the new convolutions.
    """

class InputMoments:
    """Second moments of what the first of two convolutions reads."""

    def __init__(self, shape: ConvShape, mode: Mode) -> None: ...

    def add(self, activations: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), order='C', device='cpu', writable=False)]) -> None:
        """Takes [images, channels, height, width] with padding applied."""

    @property
    def count(self) -> int:
        """Places seen so far."""

def create_quant_config(config_file: str, model_file: str, skip_layers: Sequence[str], batch_num: int, activation_offset: bool, config_defination: str, updated_model: str) -> None:
    """Writes the JSON config of an ONNX model; empty paths stand for none."""

def quantize_model(config_file: str, model_file: str, modified_onnx_file: str, record_file: str) -> None:
    """Writes an ONNX model with calibration operators."""

def save_model(modified_onnx_file: str, record_file: str, save_path: str) -> None:
    """Writes the quantized ONNX models."""

def convert_qat_model(model_file: str, save_path: str, record_file: str) -> None:
    """
    Turns an ONNX model with QuantizeLinear/DequantizeLinear into quantized ONNX models.
    """

def unfinished_calibrations() -> list[tuple[str, int, int]]:
    """
    (record file, batches seen, batches wanted) of calibrations that have begun and not ended.
    """
