"""PP-OCR direction classification (MobileNetV3) on rendered lines, upright or turned by 180 degrees."""

import functools

import numpy as np
from PIL import Image

from .common import PACKAGES, Score, batches, fit_height, random_text, session, text_line

NAME = "ocr_direction"
TASK = "direction of text"
BATCH = 8
EVALUATED = 800


def model_path():
    return PACKAGES / "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx"


@functools.cache
def _lines(count: int, seed: int):
    rng = np.random.default_rng(seed)
    turned = rng.integers(0, 2, count)
    images = []
    for turn in turned:
        line = text_line(random_text(rng, int(rng.integers(1, 4))), rng, noise=30, blur=1.6, angle=4)
        images.append(fit_height(line.transpose(Image.Transpose.ROTATE_180) if turn else line, 48, 192))
    return np.stack(images), turned


def calibration(n: int):
    return [{"x": batch} for batch in batches(_lines(n * BATCH, 1)[0], BATCH)]


def evaluate(path):
    images, turned = _lines(EVALUATED, 2)
    engine = session(path)
    found = np.concatenate([engine.run(None, {"x": b})[0].argmax(1) for b in batches(images, BATCH)])
    return Score("lines right", 100.0 * float(np.mean(found == turned)), len(turned))
