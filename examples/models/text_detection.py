"""PP-OCRv4 text detection (segmentation) on rendered pages, scored by the h-mean of boxes at IoU 0.5."""

import functools

import numpy as np
from PIL import Image, ImageDraw
from scipy import ndimage

from .common import PACKAGES, Score, degrade, matched, random_colors, random_font, random_text, session

NAME = "text_detection"
TASK = "text detection"
HEIGHT, WIDTH = 480, 480
EVALUATED = 40
MEAN, DEVIATION = 0.5, 0.5


def model_path():
    return PACKAGES / "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx"


def _page(rng: np.random.Generator):
    """Lines of one to three words in two columns; returns the picture and the boxes of the lines' ink."""
    paper, ink = random_colors(rng)
    image = Image.new("RGB", (WIDTH, HEIGHT), paper)
    draw, boxes = ImageDraw.Draw(image), []
    for column in (8, WIDTH // 2 + 8):
        y = int(rng.integers(8, 30))
        while True:
            font = random_font(rng, int(rng.integers(14, 28)))
            text = random_text(rng, int(rng.integers(1, 4)))
            x = column + int(rng.integers(0, 20))
            left, top, right, bottom = draw.textbbox((x, y), text, font=font)
            if bottom > HEIGHT - 8:
                break
            if right <= column + WIDTH // 2 - 24:
                draw.text((x, y), text, font=font, fill=ink)
                boxes.append((left, top, right, bottom))
                y = int(bottom)
            y += int(rng.integers(12, 36))
    image = degrade(image, rng, float(rng.uniform(0, 20)), float(rng.uniform(0, 1)))
    pixels = (np.asarray(image, np.float32)[:, :, ::-1] / 255 - MEAN) / DEVIATION
    return np.ascontiguousarray(pixels.transpose(2, 0, 1)[None]), np.array(boxes, np.float64)


@functools.cache
def _pages(count: int, seed: int):
    rng = np.random.default_rng(seed)
    return [_page(rng) for _ in range(count)]


def calibration(n: int):
    return [{"x": page} for page, _ in _pages(n, 1)]


def _boxes(probability: np.ndarray) -> np.ndarray:
    """Connected regions above 0.3 whose mean is at least 0.5, grown back by what the model was taught to shrink."""
    regions, _ = ndimage.label(probability > 0.3, np.ones((3, 3)))
    boxes = []
    for number, (rows, columns) in enumerate(ndimage.find_objects(regions), 1):
        inside = regions[rows, columns] == number
        height, width = inside.shape
        if min(height, width) < 3 or probability[rows, columns][inside].mean() < 0.5:
            continue
        grow = 1.6 * height * width / (2 * (height + width))
        boxes.append((columns.start - grow, rows.start - grow, columns.stop + grow, rows.stop + grow))
    return np.array(boxes, np.float64).reshape(-1, 4)


def evaluate(path):
    engine = session(path)
    right = found = wanted = 0
    for page, truth in _pages(EVALUATED, 2):
        boxes = _boxes(engine.run(None, {"x": page})[0][0, 0])
        right, found, wanted = right + matched(boxes, truth), found + len(boxes), wanted + len(truth)
    return Score("boxes, h-mean", 200.0 * right / max(1, found + wanted), wanted)
