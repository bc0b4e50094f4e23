"""PP-OCRv4 text recognition (convolutions and attention) on rendered lines."""

import functools

import numpy as np

from .common import PACKAGES, batches, character_accuracy, fit_height, random_text, session, text_line

NAME = "ocr_recognition"
TASK = "text recognition"
HEIGHT, WIDTH, BATCH = 48, 320, 4
EVALUATED = 160


def model_path():
    return PACKAGES / "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx"


@functools.cache
def _lines(count: int, seed: int):
    rng = np.random.default_rng(seed)
    texts = [random_text(rng, int(rng.integers(1, 4))) for _ in range(count)]
    return np.stack([fit_height(text_line(text, rng), HEIGHT, WIDTH) for text in texts]), texts


def calibration(n: int):
    images, _ = _lines(n * BATCH, 1)
    return [{"x": batch} for batch in batches(images, BATCH)]


def _read(scores: np.ndarray, alphabet: list[str]) -> str:
    """Greedy CTC: the best class of each column, repeats merged, blanks (class 0) dropped; spaces are not compared."""
    best = scores.argmax(-1)
    kept = best[np.flatnonzero(np.diff(best, prepend=-1))]
    return "".join(alphabet[i] for i in kept if i).replace(" ", "")


def evaluate(path):
    images, texts = _lines(EVALUATED, 2)
    # The alphabet is stored in the float model; a converter need not keep it.
    stored = session(model_path()).get_modelmeta().custom_metadata_map["character"]
    alphabet = ["", *stored.splitlines(), " "]
    engine = session(path)
    read = [_read(s, alphabet) for batch in batches(images, BATCH) for s in engine.run(None, {"x": batch})[0]]
    return character_accuracy(zip(read, (text.replace(" ", "") for text in texts)))
