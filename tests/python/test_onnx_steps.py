"""amct_onnx's create_quant_config, quantize_model, save_model, and calibration inside the user's session."""

import inspect
import json
import subprocess
import sys

import amct_onnx as amct
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from amct_cli import calibrate, infer, make_model, ports_of
from onnx import helper

pytestmark = pytest.mark.usefixtures("own_folder")
BATCHES = 4
HFMG = "activation_offset: false\nbatch_num: 4\ncommon_config { hfmg_quantize { num_of_bins: 2048 } }\n"


def network(bias=0.1):
    """Two branches on one input, joined, then a Gemm."""
    random = np.random.default_rng(5)

    def weight(*shape):
        return random.normal(0, 0.2, shape).astype(np.float32)

    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], name="conv1", pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["x", "w2"], ["c2"], name="conv2"),
        helper.make_node("Relu", ["c1"], ["r1"], name="relu1"),
        helper.make_node("Add", ["r1", "c2"], ["a"], name="add"),
        helper.make_node("Flatten", ["a"], ["f"], name="flatten"),
        helper.make_node("Gemm", ["f", "w3", "b3"], ["y"], name="fc", transB=1),
    ]
    weights = {"w1": weight(8, 3, 3, 3), "b1": np.full(8, bias, np.float32), "w2": weight(8, 3, 1, 1),
               "w3": weight(5, 8 * 36), "b3": weight(5)}
    return make_model(nodes, {"x": ((1, 3, 6, 6), np.float32)}, {"y": ((1, 5), np.float32)}, weights)


def batches(count=BATCHES):
    random = np.random.default_rng(11)
    return [random.normal(0.3, 1, (1, 3, 6, 6)).astype(np.float32) for _ in range(count)]


def prepare(config_defination=None, batch_num=BATCHES, **options):
    onnx.save(network(), "m.onnx")
    amct.create_quant_config("config.json", "m.onnx", batch_num=batch_num, config_defination=config_defination, **options)
    amct.quantize_model("config.json", "m.onnx", "calib.onnx", "record.txt")


def run_calibration(data, fresh_session=False):
    session = ort.InferenceSession("calib.onnx", amct.AMCT_SO)
    results = []
    for batch in data:
        if fresh_session:
            session = ort.InferenceSession("calib.onnx", amct.AMCT_SO)
        results.append(session.run(None, {"x": batch}))
    return results


def record_text(path="record.txt"):
    """Without the lines that tell how far the calibration is."""
    with open(path) as file:
        return "".join(line for line in file if not line.startswith("#"))


def test_signatures_are_the_documented_ones():
    assert str(inspect.signature(amct.create_quant_config)) == (
        "(config_file, model_file, skip_layers=None, batch_num=1, activation_offset=True, config_defination=None, updated_model=None)")
    assert str(inspect.signature(amct.quantize_model)) == "(config_file, model_file, modified_onnx_file, record_file)"
    assert str(inspect.signature(amct.save_model)) == "(modified_onnx_file, record_file, save_path)"


@pytest.mark.parametrize("simple", [None, HFMG], ids=["ifmr", "hfmg"])
@pytest.mark.parametrize("fresh_session", [False, True])
def test_same_record_and_models_as_the_command_line(tmp_path, simple, fresh_session):
    config = None
    extra = []
    if simple:
        config = tmp_path / "simple.cfg"
        config.write_text(simple)
        extra = [f"--calibration_config={config}"]
    prepare(config)
    run_calibration(batches(), fresh_session)
    amct.save_model("calib.onnx", "record.txt", "out/net")
    other = calibrate(tmp_path, network(), {"x": batches()}, *extra)
    assert record_text() == other.record.read_text()
    for end, theirs in (("fake_quant", other.fake_quant), ("deploy", other.deploy)):
        ours = f"out/net_{end}_model.onnx"
        assert ports_of(ours) == ports_of("m.onnx")
        assert onnx.load(ours).graph == onnx.load(theirs).graph
    mapping = json.loads((tmp_path / "out/net_quant.json").read_text())
    assert mapping == json.loads((tmp_path / "out/m_quant.json").read_text())


def test_calibration_model_computes_what_the_original_does():
    prepare()
    assert ports_of("calib.onnx") == ports_of("m.onnx")
    for result, batch in zip(run_calibration(batches()), batches()):
        np.testing.assert_allclose(result[0], infer("m.onnx", {"x": batch})[0], rtol=1e-5, atol=1e-6)


def test_bias_too_large_for_int32_ends_in_the_record(tmp_path):
    onnx.save(network(bias=3e6), "m.onnx")
    amct.create_quant_config("config.json", "m.onnx", batch_num=BATCHES)
    amct.quantize_model("config.json", "m.onnx", "calib.onnx", "record.txt")
    run_calibration(batches())
    before = record_text()
    amct.save_model("calib.onnx", "record.txt", "out/net")
    other = calibrate(tmp_path, network(bias=3e6), {"x": batches()})
    assert record_text() == other.record.read_text() != before


def test_further_batches_change_nothing():
    prepare()
    run_calibration(batches())
    before = open("record.txt").read()
    run_calibration(100 * batch for batch in batches())
    assert open("record.txt").read() == before


def test_quantize_model_begins_anew():
    prepare()
    run_calibration(batches()[:3])
    prepare()
    run_calibration(batches()[:1])
    with pytest.raises(RuntimeError, match="seen 1 of 4 batches"):
        amct.save_model("calib.onnx", "record.txt", "out/net")


def test_too_few_batches_are_told(tmp_path):
    prepare()
    run_calibration(batches()[:2])
    with pytest.raises(RuntimeError, match="record_file is empty, no layers to be quantized. please ensure calibration is "
                                           "finished by checking information! Calibration has seen 2 of 4 batches"):
        amct.save_model("calib.onnx", "record.txt", "out/net")
    assert not (tmp_path / "out/net_deploy_model.onnx").exists()


def in_other_process(code):
    return subprocess.run([sys.executable, "-c", "import numpy as np, onnxruntime as ort, amct_onnx as amct\n" + code],
                          capture_output=True, text=True, check=True)


RUN = """
session = ort.InferenceSession("calib.onnx", amct.AMCT_SO)
for batch in np.load("batches.npy")[:%d]:
    session.run(None, {"x": batch})
"""


def test_each_step_in_a_process_of_its_own():
    prepare()
    np.save("batches.npy", np.stack(batches()))
    in_other_process(RUN % BATCHES)
    amct.save_model("calib.onnx", "record.txt", "out/net")
    once = record_text()
    prepare()
    run_calibration(batches())
    assert record_text() == once


def test_a_process_that_ends_early_says_so():
    prepare()
    np.save("batches.npy", np.stack(batches()))
    done = in_other_process(RUN % 3)
    assert "calibration ended early: it has seen 3 of 4 batches" in done.stderr
    with pytest.raises(RuntimeError, match="seen 3 of 4 batches"):
        amct.save_model("calib.onnx", "record.txt", "out/net")


def test_a_complete_record_survives_a_new_run_that_ends_early():
    prepare()
    run_calibration(batches())
    before = open("record.txt").read()
    np.save("batches.npy", np.stack(batches()))
    in_other_process(RUN % 2)
    assert open("record.txt").read() == before


def test_layer_without_record_is_named():
    prepare()
    run_calibration(batches())
    text = open("record.txt").read()
    open("record.txt", "w").write(text.replace('key: "conv2"', 'key: "conv9"'))
    with pytest.raises(RuntimeError, match="conv2 is quantizable in config but has no record in record_file"):
        amct.save_model("calib.onnx", "record.txt", "out/net")


def test_layer_without_legal_scale_stays_in_float():
    prepare()
    data = batches()
    for batch in data:
        batch[:] = np.float32(3e38)
    run_calibration(data)
    with pytest.raises(NotImplementedError, match="no layer of the model can be quantized"):
        amct.save_model("calib.onnx", "record.txt", "out/net")


def test_user_factors_count():
    prepare()
    run_calibration(batches())
    record = open("record.txt").read()
    start = record.index("scale_d:")
    end = record.index("\n", start)
    open("record.txt", "w").write(record[:start] + "scale_d: 0.25" + record[end:])
    amct.save_model("calib.onnx", "record.txt", "out/net")
    quant = next(node for node in onnx.load("out/net_deploy_model.onnx").graph.node if node.op_type == "AscendQuant")
    assert helper.get_node_attr_value(quant, "scale") == 4.0


def test_config_is_the_users():
    onnx.save(network(), "m.onnx")
    amct.create_quant_config("config.json", "m.onnx", skip_layers=["conv2"], batch_num=2, activation_offset=False)
    config = json.load(open("config.json"))
    assert config["batch_num"] == 2 and config["activation_offset"] is False
    assert config["conv2"]["quant_enable"] is False and config["conv1"]["quant_enable"] is True
    assert config["conv1"]["activation_quant_params"]["asymmetric"] is False
    del config["fc"]
    config["conv1"]["activation_quant_params"]["num_bits"] = 16
    json.dump(config, open("config.json", "w"))
    amct.quantize_model("config.json", "m.onnx", "calib.onnx", "record.txt")
    run_calibration(batches(2))
    amct.save_model("calib.onnx", "record.txt", "out/net")
    quants = [node for node in onnx.load("out/net_deploy_model.onnx").graph.node if node.op_type == "AscendQuant"]
    assert [helper.get_node_attr_value(node, "dst_type") for node in quants] == [b"INT16"]


def test_updated_model_has_complete_names():
    model = network()
    for node in model.graph.node:
        node.name = "same" if node.op_type == "Conv" else ""
    onnx.save(model, "m.onnx")
    amct.create_quant_config("config.json", "m.onnx", updated_model="named.onnx")
    assert [node.name for node in onnx.load("named.onnx").graph.node] == [
        "same", "same_1", "Relu_2", "Add_3", "Flatten_4", "Gemm_5"]
    assert "same_1" in json.load(open("config.json"))


@pytest.mark.parametrize("call, error, words", [
    (lambda: amct.create_quant_config(3, "m.onnx"), TypeError, "config_file is a int"),
    (lambda: amct.create_quant_config("c.json", "m.onnx", batch_num=0), ValueError, "batch_num is 0"),
    (lambda: amct.create_quant_config("c.json", "m.onnx", batch_num=1.5), TypeError, "batch_num is a float"),
    (lambda: amct.create_quant_config("c.json", "m.onnx", skip_layers="conv1"), TypeError, "skip_layers is a str"),
    (lambda: amct.create_quant_config("c.json", "m.onnx", skip_layers=["conv7"]), ValueError, "conv7"),
    (lambda: amct.create_quant_config("c.json", "m.onnx", activation_offset=1), TypeError, "activation_offset is a int"),
    (lambda: amct.create_quant_config("c.json", "none.onnx"), OSError, "none.onnx"),
    (lambda: amct.quantize_model("none.json", "m.onnx", "calib.onnx", "record.txt"), OSError, "none.json"),
    (lambda: amct.quantize_model("config.json", "m.onnx", "m.onnx", "record.txt"), ValueError, "overwritten"),
    (lambda: amct.save_model("m.onnx", "record.txt", "out/net"), ValueError, "not a calibration model"),
    (lambda: amct.save_model("calib.onnx", "none.txt", "out/net"), OSError, "none.txt"),
    (lambda: amct.save_model("calib.onnx", "record.txt", "out/"), ValueError, "ends in a folder"),
])
def test_bad_arguments_are_named(tmp_path, call, error, words):
    prepare()
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(error, match=words):
        call()
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_replaced_files_are_told(capfd):
    prepare()
    capfd.readouterr()
    prepare()
    lines = capfd.readouterr().err
    for name in ("config.json", "calib.onnx", "record.txt"):
        assert f"'{name}' exists and is replaced" in lines


@pytest.mark.parametrize("first", ["torch", "tensorflow", "onnxruntime", "amct_onnx"])
def test_frameworks_in_one_process_in_any_order(first):
    prepare()
    np.save("batches.npy", np.stack(batches()))
    done = in_other_process(f"import {first}, torch, tensorflow, amct_pytorch, amct_tensorflow, amct_caffe\n" + RUN % BATCHES
                            + "amct.save_model('calib.onnx', 'record.txt', 'out/net')")
    assert "The model file is saved in out/net_deploy_model.onnx" in done.stderr
