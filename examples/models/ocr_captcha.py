"""ddddocr recognition (residual convolutions and LSTM) on rendered codes with lines and dots over them."""

import functools
import importlib.util

import numpy as np
from PIL import Image, ImageDraw

from .common import PACKAGES, character_accuracy, degrade, random_colors, random_font, session

NAME = "ocr_captcha"
TASK = "captcha reading"
WIDTH, HEIGHT = 160, 64
# Characters that look alike are left out, as in real captchas.
SYMBOLS = "abdefhkmnprtwxy2345678"
EVALUATED = 100


def model_path():
    return PACKAGES / "ddddocr/common.onnx"


def _code(rng: np.random.Generator):
    text = "".join(SYMBOLS[i] for i in rng.integers(0, len(SYMBOLS), int(rng.integers(4, 6))))
    paper, ink = random_colors(rng)
    image = Image.new("RGB", (WIDTH, HEIGHT), paper)
    draw = ImageDraw.Draw(image)
    step = (WIDTH - 16) / len(text)
    for place, symbol in enumerate(text):
        font = random_font(rng, int(rng.integers(28, 38)))
        tile = Image.new("L", (48, 56))
        ImageDraw.Draw(tile).text((24, 28), symbol, font=font, fill=255, anchor="mm")
        tile = tile.rotate(float(rng.uniform(-25, 25)), Image.Resampling.BICUBIC)
        image.paste(ink, (int(8 + (place + 0.5) * step) - 24, int(rng.integers(0, 9))), tile)
    for _ in range(5):
        ends = [(0, int(rng.integers(HEIGHT))), (WIDTH, int(rng.integers(HEIGHT)))]
        draw.line(ends, fill=tuple(map(int, rng.integers(0, 255, 3))), width=1)
    image = degrade(image, rng, float(rng.uniform(10, 50)), 1.0).convert("L")
    return np.asarray(image, np.float32)[None, None] / 255, text


@functools.cache
def _codes(count: int, seed: int):
    rng = np.random.default_rng(seed)
    return [_code(rng) for _ in range(count)]


def calibration(n: int):
    return [{"input1": image} for image, _ in _codes(n, 1)]


@functools.cache
def _alphabet() -> list[str]:
    """Loads the package's table alone: importing the package would need all it depends on."""
    spec = importlib.util.spec_from_file_location("ddddocr_charsets", PACKAGES / "ddddocr/charsets.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(module.CHARSET_BETA)


def evaluate(path):
    alphabet, engine, pairs = _alphabet(), session(path), []
    for image, text in _codes(EVALUATED, 2):
        # The file declares class numbers, but the scores of all classes come out.
        scores = engine.run(None, {"input1": image})[0]
        best = scores.reshape(-1, scores.shape[-1]).argmax(1)
        kept = best[np.flatnonzero(np.diff(best, prepend=-1))]
        pairs.append(("".join(alphabet[i] for i in kept if i).lower(), text))
    return character_accuracy(pairs)
