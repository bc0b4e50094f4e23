"""The labelled data and the scores of examples/models."""

import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples"))

import models
from models import common

# Below the float accuracies that were measured, with room for other versions of fonts and voices.
LEAST = {
    "ocr_recognition": 97,
    "ocr_direction": 97,
    "text_detection": 80,
    "ocr_captcha": 88,
    "speech": 92,
    "music_notes": 89,
    "content_type": 90,
    "fashion_mlp": 82,
}


@pytest.mark.parametrize("module", models.ALL, ids=lambda module: module.NAME)
def test_float_model_knows_its_data(module):
    score = module.evaluate(module.model_path())
    assert LEAST[module.NAME] <= score.value <= 100
    assert 100 / score.samples <= 0.25, "one sample must weigh at most a quarter point"


@pytest.mark.parametrize("module", models.ALL, ids=lambda module: module.NAME)
def test_calibration_feeds_fit_the_model_and_repeat(module):
    feeds = module.calibration(2)
    assert len(feeds) == 2
    assert list(feeds[0]) == [x.name for x in common.session(module.model_path()).get_inputs()]
    for first, again in zip(feeds, module.calibration(2)):
        assert all(np.array_equal(first[name], again[name]) for name in first)


@pytest.mark.parametrize("a, b, distance", [("", "", 0), ("abc", "", 3), ("kitten", "sitting", 3), ("ab", "ba", 2)])
def test_edit_distance(a, b, distance):
    assert common.edit_distance(a, b) == common.edit_distance(b, a) == distance


def test_matched_pairs_boxes_one_to_one():
    truth = np.array([[0, 0, 10, 10], [20, 0, 30, 10]], float)
    found = np.array([[0, 0, 10, 10], [0, 0, 10, 9], [21, 0, 31, 10], [50, 50, 60, 60]], float)
    assert common.matched(found, truth) == 2
    assert common.matched(found[:0], truth) == 0
