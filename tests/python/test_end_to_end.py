"""Pretrained models on labelled data: INT8 accuracy in stock ONNX Runtime, and the deploy model's agreement."""

import numpy as np
import pytest
from amct_cli import calibrate, run_amct
from test_models import LEAST, models

BATCHES = 16
# Points below the floor of the float model; every model loses less than 1.5 points when measured.
MARGIN = 2.0


@pytest.mark.parametrize("module", models.ALL, ids=lambda module: module.NAME)
def test_quantized_model_keeps_its_accuracy(module, tmp_path):
    feeds = module.calibration(BATCHES)
    data = {name: [feed[name] for feed in feeds] for name in feeds[0]}
    result = calibrate(tmp_path, module.model_path(), data)
    accuracy = module.evaluate(result.fake_quant).value
    assert accuracy >= LEAST[module.NAME] - MARGIN

    few = {name: values[:2] for name, values in data.items()}
    fake, deploy = (run_amct(tmp_path, path, few, path.stem) for path in (result.fake_quant, result.deploy))
    assert fake.keys() == deploy.keys() and any(name.endswith("00001.npy") for name in fake)
    for name, values in fake.items():
        np.testing.assert_array_equal(values, deploy[name], err_msg=name)
