"""Basic Pitch (convolutions on a spectrogram) on synthesized chords, scored by the F1 of sounding notes per frame."""

import functools

import numpy as np

from .common import PACKAGES, Score, session

NAME = "music_notes"
TASK = "music transcription"
RATE, SAMPLES, FRAMES, HOP = 22050, 43844, 172, 256
INPUT = "serving_default_input_2:0"
NOTES = "StatefulPartitionedCall:1"
LOWEST = 21  # MIDI number of the first of the 88 notes
EVALUATED = 60
EDGE = 8  # frames at either end that lack context and are not scored


def model_path():
    return PACKAGES / "basic_pitch/saved_models/icassp_2022/nmp.onnx"


def _clip(rng: np.random.Generator):
    """Plucked tones with harmonics that decay; a note sounds until it is damped."""
    time = np.arange(SAMPLES) / RATE
    sound = np.zeros(SAMPLES)
    truth = np.zeros((FRAMES, 88), bool)
    for _ in range(int(rng.integers(3, 8))):
        note = int(rng.integers(40, 84))
        start, length = rng.uniform(0, 1.6), rng.uniform(0.25, 0.8)
        base = 440 * 2 ** ((note - 69) / 12)
        inside = (time >= start) & (time < start + length)
        t = time[inside] - start
        tone = np.zeros(len(t))
        for harmonic in range(1, 9):
            if harmonic * base < RATE / 2:
                tone += np.sin(2 * np.pi * harmonic * base * t) * np.exp(-t * (1 + 0.5 * harmonic)) / harmonic**1.3
        fade = np.clip(np.minimum(t / 0.005, (length - t) / 0.02), 0, 1)
        sound[inside] += rng.uniform(0.4, 1) * tone * fade
        frames = np.arange(FRAMES) * HOP / RATE
        truth[(frames >= start) & (frames < start + length), note - LOWEST] = True
    sound = 0.7 * sound / np.abs(sound).max() + rng.normal(0, 0.003, SAMPLES)
    return sound.astype(np.float32)[None, :, None], truth


@functools.cache
def _clips(count: int, seed: int):
    rng = np.random.default_rng(seed)
    return [_clip(rng) for _ in range(count)]


def calibration(n: int):
    return [{INPUT: sound} for sound, _ in _clips(n, 1)]


def evaluate(path):
    engine = session(path)
    right = found = wanted = 0
    for sound, truth in _clips(EVALUATED, 2):
        notes = engine.run([NOTES], {INPUT: sound})[0][0] > 0.3
        notes, truth = notes[EDGE:-EDGE], truth[EDGE:-EDGE]
        right += int(np.sum(notes & truth))
        found, wanted = found + int(notes.sum()), wanted + int(truth.sum())
    return Score("note frames, F1", 200.0 * right / max(1, found + wanted), wanted)
