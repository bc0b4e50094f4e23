"""Silero voice activity detection (convolutions and LSTM) on synthesized sentences, pauses and noise."""

import functools
import io
import subprocess
import wave

import numpy as np
from scipy import signal

from .common import PACKAGES, WORDS, Score, session

NAME = "speech"
TASK = "voice activity"
RATE, HOP, CONTEXT = 16000, 512, 64
FRAMES = 312  # 10 s
EVALUATED = 24
VOICES = ("en-us", "en-gb", "de", "fr-fr", "es", "it", "pt", "en-gb-scotland")


def model_path():
    return PACKAGES / "silero_vad/data/silero_vad_16k_sequence.onnx"


def _sentence(rng: np.random.Generator) -> np.ndarray:
    text = " ".join(WORDS[i] for i in rng.integers(0, len(WORDS), int(rng.integers(3, 7))))
    command = ["espeak-ng", "--stdout", "-v", VOICES[rng.integers(len(VOICES))]]
    command += ["-p", str(rng.integers(25, 75)), "-s", str(rng.integers(130, 190)), text]
    sound = subprocess.run(command, check=True, capture_output=True).stdout
    with wave.open(io.BytesIO(sound)) as file:
        rate, data = file.getframerate(), file.readframes(2**30)
    samples = np.frombuffer(data[: len(data) // 2 * 2], np.int16).astype(np.float32) / 32768
    return signal.resample_poly(samples, 320, rate * 320 // RATE).astype(np.float32)


def _truth(clean: np.ndarray) -> np.ndarray:
    """A frame speaks when its energy is within 35 dB of the loudest; gaps below 0.2 s belong to the sentence."""
    energy = np.mean(clean.reshape(FRAMES, HOP) ** 2, axis=1)
    speaks = energy > energy.max() * 10**-3.5
    edges = np.flatnonzero(speaks)
    for before, after in zip(edges[:-1], edges[1:]):
        if after - before <= 6:
            speaks[before:after] = True
    return speaks


@functools.cache
def _clips(count: int, seed: int):
    rng = np.random.default_rng(seed)
    clips = []
    for _ in range(count):
        clean = np.zeros(FRAMES * HOP, np.float32)
        at = int(rng.integers(0, RATE))
        while at < len(clean):
            part = _sentence(rng)[: len(clean) - at]
            clean[at : at + len(part)] = part * rng.uniform(0.3, 1)
            at += len(part) + int(rng.uniform(0.5, 1.8) * RATE)
        noise = rng.normal(size=len(clean))
        if rng.random() < 0.5:  # a deeper sound, as of wind or an engine
            noise = signal.lfilter([1.0], [1.0, -0.95], noise)
        level = np.sqrt(np.mean(clean**2) / np.mean(noise**2)) * 10 ** (-rng.uniform(5, 30) / 20)
        sound = (clean + level * noise).astype(np.float32)
        padded = np.concatenate([np.zeros(CONTEXT, np.float32), sound])
        windows = np.lib.stride_tricks.sliding_window_view(padded, CONTEXT + HOP)[::HOP]
        clips.append((np.ascontiguousarray(windows), _truth(clean)))
    return clips


def _feed(windows: np.ndarray):
    zero = np.zeros((1, 1, 128), np.float32)
    return {"input": windows, "h": zero, "c": zero}


def calibration(n: int):
    return [_feed(windows) for windows, _ in _clips(n, 1)]


def evaluate(path):
    engine = session(path)
    right = [(engine.run(["speech_probs"], _feed(w))[0] > 0.5) == t for w, t in _clips(EVALUATED, 2)]
    return Score("frames right", 100.0 * float(np.mean(right)), FRAMES * len(right))
