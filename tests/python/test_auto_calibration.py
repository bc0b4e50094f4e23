"""amct_onnx's accuracy_based_auto_calibration: evaluators, search orders, files, limits."""

import inspect
import json

import amct_onnx as amct_package
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from amct_cli import amct, infer, make_model, run_amct
from amct_onnx.common.auto_calibration import (AutoCalibrationEvaluatorBase, BinarySearchStrategy, CosineSimilaritySensitivity,
                                               LinearSearchStrategy)
from onnx import helper

pytestmark = pytest.mark.usefixtures("own_folder")
LAYERS = 12
BAD = {"conv3", "conv8", "conv9"}


def network():
    """A chain of residual convolutions; those of BAD read an input channel so large that 8 bits have no room for the rest."""
    random = np.random.default_rng(5)
    nodes, weights, value = [], {}, "x"
    for i in range(LAYERS):
        name = f"conv{i}"
        weight = random.normal(0, 0.05, (8, 8, 1, 1)).astype(np.float32)
        if name in BAD:
            scale = np.ones(8, np.float32)
            scale[0] = 300.0
            weights[f"{name}.up"] = scale.reshape(1, 8, 1, 1)
            weight[:, 0] = 0.0
            nodes.append(helper.make_node("Mul", [value, f"{name}.up"], [f"{name}.in"], name=f"{name}.mul"))
        else:
            nodes.append(helper.make_node("Relu", [value], [f"{name}.in"], name=f"{name}.relu"))
        weights[f"{name}.w"] = weight
        nodes.append(helper.make_node("Conv", [f"{name}.in", f"{name}.w"], [f"{name}.out"], name=name))
        nodes.append(helper.make_node("Add", [value, f"{name}.out"], [f"v{i}"], name=f"{name}.add"))
        value = f"v{i}"
    nodes[-1].output[0] = "y"
    return make_model(nodes, {"x": ((2, 8, 6, 6), np.float32)}, {"y": ((2, 8, 6, 6), np.float32)}, weights)


def batches(count=4, seed=3):
    random = np.random.default_rng(seed)
    return [random.normal(0, 1, (2, 8, 6, 6)).astype(np.float32) for _ in range(count)]


class Evaluator(AutoCalibrationEvaluatorBase):
    """Metric: SQNR in dB against the float model."""

    def __init__(self, limit):
        super().__init__()
        self.limit = limit
        self.calibrated, self.evaluated = 0, 0
        self.truth = [infer("m.onnx", {"x": batch})[0] for batch in batches(2, 7)]

    def calibration(self, model_file):
        self.calibrated += 1
        session = ort.InferenceSession(model_file, amct_package.AMCT_SO)
        for batch in batches():
            session.run(None, {"x": batch})

    def evaluate(self, model_file):
        self.evaluated += 1
        noise = sum(np.square(infer(model_file, {"x": batch})[0] - truth).sum() for batch, truth in zip(batches(2, 7), self.truth))
        signal = sum(np.square(truth).sum() for truth in self.truth)
        return min(10 * np.log10(signal / max(noise, 1e-30)), 200.0)

    def metric_eval(self, original_metric, new_metric):
        return new_metric >= self.limit, original_metric - new_metric


def prepare(**options):
    onnx.save(network(), "m.onnx")
    amct_package.create_quant_config("config.json", "m.onnx", batch_num=4, **options)


def search(evaluator, **options):
    return amct_package.accuracy_based_auto_calibration(
        model_file="m.onnx", model_evaluator=evaluator, config_file="config.json", record_file="record.txt",
        save_dir="out/net", **options)


def history():
    with open("out/net_rollback_history.json", encoding="utf-8") as file:
        return json.load(file)


def sqnr(model):
    return Evaluator(0).evaluate(model)


def test_signature_is_the_documented_one():
    assert str(inspect.signature(amct_package.accuracy_based_auto_calibration)) == (
        "(model_file, model_evaluator, config_file, record_file, save_dir, strategy='BinarySearch', sensitivity='CosineSimilarity')")
    for name, arguments in (("calibration", "(self, model_file)"), ("evaluate", "(self, model_file)"),
                            ("metric_eval", "(self, original_metric, new_metric)")):
        assert str(inspect.signature(getattr(AutoCalibrationEvaluatorBase, name))) == arguments


def test_satisfied_at_once(tmp_path):
    prepare()
    evaluator = Evaluator(limit=1.0)
    result = search(evaluator)
    assert result.satisfied and result.in_float == [] and result.trials == 1
    assert (evaluator.calibrated, evaluator.evaluated) == (1, 2)  # the original and one trial
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "net_deploy_model.onnx", "net_fake_quant_model.onnx", "net_final_config.json", "net_quant.json", "net_rollback_history.json"]


@pytest.mark.parametrize("strategy", ["BinarySearch", "LinearSearch"])
def test_the_worst_layers_and_no_others_are_rolled_back(tmp_path, strategy):
    prepare()
    evaluator = Evaluator(limit=30.0)
    result = search(evaluator, strategy=strategy)
    assert result.satisfied and set(result.in_float) == BAD
    # One calibration, one run for the sensitivity of all layers, and few evaluations.
    assert evaluator.calibrated == 2
    assert result.trials <= (1 + int(np.ceil(np.log2(LAYERS))) if strategy == "BinarySearch" else 1 + len(BAD))
    assert evaluator.evaluated == result.trials + 1

    sensitivity = json.loads((tmp_path / "out/net_sensitivity.json").read_text())["layers"]
    assert {layer["layer"] for layer in sensitivity[:3]} == BAD
    similarities = [layer["similarity"] for layer in sensitivity]
    assert similarities == sorted(similarities) and len(sensitivity) == LAYERS
    saved = history()["trials"][history()["saved_trial"] - 1]
    assert set(saved["in_float"]) == BAD and saved["satisfied"] and history()["satisfied"]
    config = json.loads((tmp_path / "out/net_final_config.json").read_text())
    assert {name for name, layer in config.items() if isinstance(layer, dict) and not layer["quant_enable"]} == BAD
    assert sqnr("out/net_fake_quant_model.onnx") >= 30.0
    assert amct("check", "out/net_deploy_model.onnx", cwd=tmp_path).code == 0
    fake_quant = infer("out/net_fake_quant_model.onnx", {"x": batches()[0]})[0]
    np.testing.assert_allclose(run_amct(tmp_path, "out/net_deploy_model.onnx", {"x": [batches()[0]]})["y/00000.npy"], fake_quant,
                               rtol=1e-5, atol=1e-5)
    assert "conv3" not in (tmp_path / "record.txt").read_text()


def test_the_final_config_gives_the_same_model_again(tmp_path):
    prepare()
    search(Evaluator(limit=30.0))
    amct_package.quantize_model("out/net_final_config.json", "m.onnx", "calib.onnx", "again.txt")
    Evaluator(0).calibration("calib.onnx")
    amct_package.save_model("calib.onnx", "again.txt", "again/net")
    for name in ("deploy", "fake_quant"):
        assert onnx.load(f"again/net_{name}_model.onnx").graph == onnx.load(f"out/net_{name}_model.onnx").graph


def test_target_that_cannot_be_met(tmp_path, capsys):
    prepare()
    result = search(Evaluator(limit=190.0))
    assert not result.satisfied
    assert result.loss == min(trial["loss"] for trial in history()["trials"])
    assert "no trial satisfies the evaluator" in capsys.readouterr().err
    assert not history()["satisfied"]
    assert 200.0 - sqnr("out/net_fake_quant_model.onnx") == pytest.approx(result.loss)
    assert len(result.in_float) == LAYERS - 1


def test_int16_before_float(tmp_path):
    prepare()
    result = search(Evaluator(limit=30.0), strategy=BinarySearchStrategy(int16=True))
    assert result.satisfied and set(result.int16) == BAD and result.in_float == []
    types = {layer["layer"]: layer["act_type"] for layer in json.loads((tmp_path / "out/net_quant.json").read_text())["layers"]}
    assert {layer for layer, act_type in types.items() if act_type == "INT16"} == BAD
    assert json.loads((tmp_path / "out/net_final_config.json").read_text())["conv3"]["activation_quant_params"]["num_bits"] == 16


def test_float_when_int16_does_not_do(tmp_path):
    prepare()
    result = search(Evaluator(limit=55.0), strategy=BinarySearchStrategy(int16=True))
    tried = history()["trials"]
    assert any(trial["int16"] for trial in tried) and any(trial["in_float"] for trial in tried)
    assert result.satisfied == any(trial["satisfied"] for trial in tried)


def test_sensitivity_is_kept_for_the_next_search(tmp_path):
    prepare()
    search(Evaluator(limit=30.0))
    evaluator = Evaluator(limit=25.0)
    assert search(evaluator).satisfied
    assert evaluator.calibrated == 1
    # Other factors, so it is measured anew.
    prepare(activation_offset=False)
    evaluator = Evaluator(limit=25.0)
    search(evaluator)
    assert evaluator.calibrated == 2


@pytest.mark.parametrize("limits", [{"max_trials": 2}, {"max_seconds": 0.0}])
def test_limits(limits, capsys):
    prepare()
    result = search(Evaluator(limit=190.0), strategy=LinearSearchStrategy(**limits))
    assert result.trials == limits.get("max_trials", 1)
    assert "the search ends at its limit of" in capsys.readouterr().err


def test_own_strategy_and_sensitivity(tmp_path):
    class OneByOne:
        def initialize(self, config, candidates):
            assert config["batch_num"] == 4 and set(candidates) == {f"conv{i}" for i in range(LAYERS)}
            self.left = list(candidates)
            self.taken = []

        def update(self, similarities, satisfied):
            if satisfied:
                return None
            assert list(similarities)[0] == min(similarities, key=similarities.get)
            self.taken.append(self.left.pop(0))
            return self.taken

    class Mean:
        seen = 0

        def compare(self, original, quantized):
            self.seen += 1
            assert original.shape == quantized.shape == (2 * 8 * 36,)
            return -float(np.square(original - quantized).mean())

    prepare()
    own = Mean()
    result = search(Evaluator(limit=30.0), strategy=OneByOne(), sensitivity=own)
    assert result.satisfied and BAD <= set(result.in_float) and own.seen == 4 * LAYERS
    assert search(Evaluator(limit=30.0), sensitivity=CosineSimilaritySensitivity()).satisfied


def returning(name, value):
    def method(self, *arguments):
        return value
    return type("Broken", (Evaluator,), {name: method})(30.0)


@pytest.mark.parametrize(("name", "value", "words"), [
    ("evaluate", Evaluator.calibration, "a function; call it"), ("evaluate", "0.9", "expected a number"),
    ("evaluate", None, "expected a number"), ("evaluate", float("nan"), "returned NaN"),
    ("metric_eval", True, r"expected \(satisfied, loss\)"), ("metric_eval", (True, "x"), "a number"),
    ("metric_eval", (True, float("nan")), "a number")])
def test_wrong_returns_are_named_before_the_long_work(tmp_path, name, value, words):
    prepare()
    evaluator = returning(name, value)
    with pytest.raises((TypeError, ValueError), match=words):
        search(evaluator)
    assert evaluator.calibrated == 0 and not (tmp_path / "out").exists()


def test_missing_and_wrong_methods_are_named():
    prepare()

    class NoEvaluate:
        def calibration(self, model_file): ...

    class TwoFiles(Evaluator):
        def calibration(self, model_file, weights_file): ...

    class Unwritten(AutoCalibrationEvaluatorBase):
        pass

    with pytest.raises(TypeError, match="no method evaluate"):
        search(NoEvaluate())
    with pytest.raises(TypeError, match=r"TwoFiles\.calibration\(model_file, weights_file\) must take \(model_file\)"):
        search(TwoFiles(1.0))
    with pytest.raises(TypeError, match="Unwritten does not define evaluate"):
        search(Unwritten())
    with pytest.raises(TypeError, match=r"the class Evaluator, expected an instance"):
        search(Evaluator)


def test_errors_of_the_evaluator_come_through(tmp_path):
    prepare()

    class Fails(Evaluator):
        def evaluate(self, model_file):
            if self.evaluated == 3:
                raise ZeroDivisionError("no pictures")
            return super().evaluate(model_file)

    with pytest.raises(ZeroDivisionError, match="no pictures"):
        search(Fails(30.0))
    assert not list((tmp_path / "out").glob("net_*model.onnx"))
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["net_sensitivity.json"]


def test_calibration_outside_the_session_options(tmp_path):
    prepare()

    class Idle(Evaluator):
        def calibration(self, model_file):
            pass

    with pytest.raises(RuntimeError, match="seen 0 of 4 batches"):
        search(Idle(1.0))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("argument", "value", "words"), [
    ("strategy", "Random", "BinarySearch or LinearSearch"), ("strategy", 3, "without a method initialize"),
    ("sensitivity", "Norm", "CosineSimilarity"), ("sensitivity", 3, "without a method compare")])
def test_wrong_arguments(argument, value, words):
    prepare()
    with pytest.raises((TypeError, ValueError), match=words):
        search(Evaluator(1.0), **{argument: value})
