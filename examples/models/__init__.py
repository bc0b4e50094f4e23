"""Pretrained models with labelled data that is made here, so that accuracy can be measured anywhere.

Every module offers NAME, TASK, model_path(), calibration(n) -> list of n feeds (one batch each, a
dict from input name to array), evaluate(path) -> Score.
"""

from . import (
    content_type,
    fashion_mlp,
    music_notes,
    ocr_captcha,
    ocr_direction,
    ocr_recognition,
    speech,
    text_detection,
)

ALL = [
    ocr_recognition,
    ocr_direction,
    text_detection,
    ocr_captcha,
    speech,
    music_notes,
    content_type,
    fashion_mlp,
]
BY_NAME = {module.NAME: module for module in ALL}
