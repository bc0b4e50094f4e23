"""What the model modules share: where packages lie, sessions, calibration folders, rendered text."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import shutil

import numpy as np
import onnxruntime
from PIL import Image, ImageDraw, ImageFilter, ImageFont

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGES = ROOT / "build" / "model_packages"
MADE = ROOT / "build" / "made_models"
FONT_ROOT = pathlib.Path("/usr/share/fonts/truetype")
FONTS = (
    "dejavu/DejaVuSans.ttf",
    "dejavu/DejaVuSans-Bold.ttf",
    "dejavu/DejaVuSerif.ttf",
    "dejavu/DejaVuSansMono.ttf",
    "liberation/LiberationSans-Regular.ttf",
    "liberation/LiberationSans-Italic.ttf",
    "liberation/LiberationSerif-Regular.ttf",
    "liberation/LiberationSerif-Bold.ttf",
    "liberation/LiberationMono-Regular.ttf",
)
WORDS = (
    "account address amount balance batch before between bridge budget calendar capital carbon "
    "central charge circle client common company contact control credit current customer daily "
    "delivery deposit detail device digital direct discount district document dollar east energy "
    "engine entry equipment estate evening exchange express factory field final flight forward "
    "garden general global ground harbour health highway history hotel import income index island "
    "invoice journal kitchen labour language letter library license limited machine manager market "
    "medical member memory metal minute mobile morning mountain museum nature network normal north "
    "number office orange order packet paper parking payment period phone picture planet platform "
    "point police postal power private product profit project public quality quarter question "
    "railway receipt record reference region report return river road salary school science season "
    "second section service signal silver single south special square standard station storage "
    "street student summer supply system table taxi terminal ticket total tower traffic travel "
    "union value vehicle village visit volume water weekend west window winter wonder yellow zone"
).split()


@dataclasses.dataclass(frozen=True)
class Score:
    """`value` is in percent; `samples` is what the percentage is taken over."""

    metric: str
    value: float
    samples: int


def session(path, threads: int = 0) -> onnxruntime.InferenceSession:
    """A stock ONNX Runtime session on the CPU; 0 threads: as many as this process may use."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads or len(os.sched_getaffinity(0))
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def save_calibration(feeds, folder: pathlib.Path) -> list[pathlib.Path]:
    """Writes one folder of .npy files per input, one file per batch, and returns the folders in input order."""
    shutil.rmtree(folder, ignore_errors=True)
    folders = []
    for number, name in enumerate(feeds[0]):
        inner = folder / f"input{number}"
        inner.mkdir(parents=True)
        for index, feed in enumerate(feeds):
            np.save(inner / f"batch{index:04d}.npy", feed[name])
        folders.append(inner)
    return folders


def batches(items: np.ndarray, size: int):
    for start in range(0, len(items), size):
        yield items[start : start + size]


def edit_distance(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]


def character_accuracy(pairs, metric: str = "characters right") -> Score:
    """`pairs`: (read, truth). An insertion, deletion or substitution is one wrong character."""
    pairs = list(pairs)
    total = sum(len(truth) for _, truth in pairs)
    wrong = sum(min(edit_distance(read, truth), len(truth)) for read, truth in pairs)
    return Score(metric, 100.0 * (total - wrong) / total, total)


def random_font(rng: np.random.Generator, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(FONT_ROOT / FONTS[rng.integers(len(FONTS))]), size)


def random_text(rng: np.random.Generator, words: int) -> str:
    """Words in three spellings and numbers, as on invoices and signs."""
    parts = []
    for _ in range(words):
        word = WORDS[rng.integers(len(WORDS))]
        kind = rng.integers(4)
        if kind == 0:
            word = str(rng.integers(1, 100000))
        elif kind == 1:
            word = word.upper()
        elif kind == 2:
            word = word.capitalize()
        parts.append(word)
    return " ".join(parts)


def random_colors(rng: np.random.Generator) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Background and ink with enough contrast to be read."""
    paper = rng.integers(175, 256, 3)
    ink = rng.integers(0, 90, 3)
    if rng.random() < 0.2:
        paper, ink = ink, paper
    return tuple(map(int, paper)), tuple(map(int, ink))


def degrade(image: Image.Image, rng: np.random.Generator, noise: float, blur: float) -> Image.Image:
    """Blur, then Gaussian noise of that standard deviation (in grey levels)."""
    if blur > 0:
        image = image.filter(ImageFilter.GaussianBlur(blur))
    pixels = np.asarray(image, np.float32)
    pixels = pixels + rng.normal(0, noise, pixels.shape)
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def text_line(text: str, rng: np.random.Generator, noise: float = 12, blur: float = 0.8, angle: float = 2) -> Image.Image:
    """One rendered line, cropped with a random margin, slightly turned, blurred and noisy."""
    size = int(rng.integers(22, 40))
    font = random_font(rng, size)
    left, top, right, bottom = font.getbbox(text)
    margin = int(rng.integers(3, 9))
    paper, ink = random_colors(rng)
    image = Image.new("RGB", (right - left + 2 * margin, bottom - top + 2 * margin), paper)
    ImageDraw.Draw(image).text((margin - left, margin - top), text, font=font, fill=ink)
    image = image.rotate(float(rng.uniform(-angle, angle)), Image.Resampling.BICUBIC, fillcolor=paper)
    return degrade(image, rng, float(rng.uniform(0, noise)), float(rng.uniform(0, blur)))


def fit_height(image: Image.Image, height: int, width: int) -> np.ndarray:
    """[3, height, width] in BGR, -1 to 1; scaled to the height, padded with 0 on the right."""
    scaled = min(width, max(1, round(image.width * height / image.height)))
    pixels = np.asarray(image.resize((scaled, height), Image.Resampling.BILINEAR), np.float32)
    result = np.zeros((3, height, width), np.float32)
    result[:, :, :scaled] = pixels[:, :, ::-1].transpose(2, 0, 1) / 127.5 - 1
    return result


def iou(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Intersection over union of boxes [n, 4] and [m, 4] given by left, top, right, bottom: [n, m]."""
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    inner = np.prod(np.clip(high - low, 0, None), axis=2)
    area_a, area_b = (np.prod(x[:, 2:] - x[:, :2], axis=1) for x in (a, b))
    return inner / (area_a[:, None] + area_b[None, :] - inner)


def matched(found: np.ndarray, truth: np.ndarray, threshold: float = 0.5) -> int:
    """How many boxes pair up one to one at that IoU, best pairs first."""
    if not len(found) or not len(truth):
        return 0
    overlap, count = iou(found, truth), 0
    while overlap.max() >= threshold:
        i, j = np.unravel_index(overlap.argmax(), overlap.shape)
        overlap[i, :] = overlap[:, j] = -1
        count += 1
    return count
