"""tensor_quantize: inputs of MaxPool and Add that are moved in integers."""

import json

import amct_onnx as amct_package
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from amct_cli import amct, calibrate, infer, make_model, ports_of, run_amct
from onnx import helper

pytestmark = pytest.mark.usefixtures("own_folder")
BOTH = """batch_num: 4
tensor_quantize { layer_name: "pool" input_index: 0 hfmg_quantize { num_of_bins: 2048 } }
tensor_quantize { layer_name: "add" input_index: 1 }
"""


def network():
    random = np.random.default_rng(5)
    nodes = [
        helper.make_node("MaxPool", ["x"], ["p"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["p", "w"], ["c"], name="conv", pads=[1] * 4),
        helper.make_node("Add", ["c", "p"], ["a"], name="add"),
        helper.make_node("AveragePool", ["a"], ["m"], name="mean", kernel_shape=[4, 4]),
        helper.make_node("Flatten", ["m"], ["f"], name="flatten"),
        helper.make_node("MatMul", ["f", "v"], ["mm"], name="fc"),
        helper.make_node("Add", ["mm", "b"], ["y"], name="bias"),
    ]
    weights = {"w": random.normal(0, 0.3, (3, 3, 3, 3)).astype(np.float32), "b": np.ones(5, np.float32),
               "v": random.normal(0, 0.3, (3, 5)).astype(np.float32)}
    return make_model(nodes, {"x": ((1, 3, 8, 8), np.float32)}, {"y": ((1, 5), np.float32)}, weights)


def batches():
    random = np.random.default_rng(3)
    return [random.normal(0.3, 1, (1, 3, 8, 8)).astype(np.float32) for _ in range(4)]


def config(tmp_path, text):
    path = tmp_path / "simple.cfg"
    path.write_text(text)
    return path


def attributes(model, name):
    node = next(node for node in onnx.load(model).graph.node if node.name == name)
    return {item.name: helper.get_attribute_value(item) for item in node.attribute}


def test_pair_in_front_of_the_input(tmp_path):
    done = calibrate(tmp_path, network(), {"x": batches()}, f"--calibration_config={config(tmp_path, BOTH)}")
    assert "5 of 5 layers quantized" in done.run.stdout
    quant, anti = attributes(done.deploy, "pool.input0.quant"), attributes(done.deploy, "pool.input0.anti_quant")
    assert quant["scale"] == np.float32(1) / np.float32(anti["scale"]) and quant["offset"] == anti["offset"]
    assert quant["dst_type"] == b"INT8" and anti["dtype"] == 0
    # Input 1 of the Add is what the Conv reads: one quantizer for both.
    add = next(node for node in onnx.load(done.deploy).graph.node if node.name == "add.input1.anti_quant")
    assert add.input[0] == "conv.quant"
    assert attributes(done.deploy, "add.input1.anti_quant")["scale"] == np.float32(1) / np.float32(
        attributes(done.deploy, "conv.quant")["scale"])

    record = done.record.read_text()
    assert 'key: "pool:0"' in record and record.count("is_tensor_quantize: true") == 2
    layers = {layer["layer"]: layer for layer in json.loads((tmp_path / "out/m_quant.json").read_text())["layers"]}
    assert layers["add:1"]["inserted_nodes"] == ["conv.quant", "add.input1.anti_quant"]
    assert layers["pool:0"]["op_type"] == "MaxPool" and "wts_type" not in layers["pool:0"]

    assert amct("check", done.deploy, cwd=tmp_path).code == 0
    assert ports_of(done.fake_quant) == ports_of(tmp_path / "m.onnx")
    for batch in batches():
        expected = infer(tmp_path / "m.onnx", {"x": batch})[0]
        fake_quant = infer(done.fake_quant, {"x": batch})[0]
        deploy = run_amct(tmp_path, done.deploy, {"x": [batch]})["y/00000.npy"]
        np.testing.assert_allclose(deploy, fake_quant, rtol=1e-6)
        np.testing.assert_allclose(fake_quant, expected, atol=0.05 * np.ptp(expected))


def test_the_steps_of_amct_onnx_give_the_same(tmp_path):
    simple = config(tmp_path, BOTH)
    other = calibrate(tmp_path, network(), {"x": batches()}, f"--calibration_config={simple}")
    amct_package.create_quant_config("config.json", "m.onnx", config_defination=simple)
    amct_package.quantize_model("config.json", "m.onnx", "calib.onnx", "record.txt")
    session = ort.InferenceSession("calib.onnx", amct_package.AMCT_SO)
    for batch in batches():
        session.run(None, {"x": batch})
    amct_package.save_model("calib.onnx", "record.txt", "steps/m")
    lines = (tmp_path / "record.txt").read_text().splitlines(keepends=True)
    assert "".join(line for line in lines if not line.startswith("#")) == other.record.read_text()
    for name, theirs in (("deploy", other.deploy), ("fake_quant", other.fake_quant)):
        assert onnx.load(f"steps/m_{name}_model.onnx").graph == onnx.load(theirs).graph


def test_int16(tmp_path):
    text = 'batch_num: 4\ntensor_quantize { layer_name: "pool" input_index: 0 ifmr_quantize { dst_type: INT16 } }\n'
    done = calibrate(tmp_path, network(), {"x": batches()}, f"--calibration_config={config(tmp_path, text)}")
    assert attributes(done.deploy, "pool.input0.quant")["dst_type"] == b"INT16"
    fake_quant = infer(done.fake_quant, {"x": batches()[0]})[0]
    deploy = run_amct(tmp_path, done.deploy, {"x": [batches()[0]]})["y/00000.npy"]
    np.testing.assert_allclose(deploy, fake_quant, rtol=1e-5)


def test_layers_parameters_count_for_a_shared_tensor(tmp_path):
    text = BOTH.replace("input_index: 1", "input_index: 1 hfmg_quantize { num_of_bins: 1024 }")
    done = calibrate(tmp_path, network(), {"x": batches()}, f"--calibration_config={config(tmp_path, text)}")
    assert "'add:1' reads 'p' like layer 'conv', whose quantization parameters count" in done.run.stderr


def test_input_of_a_bias_add_parts_it_from_its_matmul(tmp_path):
    text = 'batch_num: 4\ntensor_quantize { layer_name: "bias" input_index: 0 }\n'
    done = calibrate(tmp_path, network(), {"x": batches()}, f"--calibration_config={config(tmp_path, text)}")
    names = [node.name for node in onnx.load(done.deploy).graph.node]
    assert names.index("fc.dequant") < names.index("bias.input0.quant") < names.index("bias")
    assert amct("check", done.deploy, cwd=tmp_path).code == 0
    fake_quant = infer(done.fake_quant, {"x": batches()[0]})[0]
    deploy = run_amct(tmp_path, done.deploy, {"x": [batches()[0]]})["y/00000.npy"]
    np.testing.assert_allclose(deploy, fake_quant, rtol=1e-5)


def test_inputs_that_cannot_be_quantized_are_told(tmp_path):
    text = 'batch_num: 4\ntensor_quantize { layer_name: "bias" input_index: 1 }\n'
    done = calibrate(tmp_path, network(), {"x": batches()}, f"--calibration_config={config(tmp_path, text)}")
    assert "'bias:1' stays in float: its input is a constant" in done.run.stderr
    assert "its input is a constant" in done.run.stdout


@pytest.mark.parametrize(("entry", "words"), [
    ('layer_name: "conv" input_index: 0', "of type Conv, expected MaxPool or Add"),
    ('layer_name: "pool" input_index: 1', "has 1 input"),
    ('layer_name: "pol" input_index: 0', "similar: pool"),
])
def test_wrong_entries(tmp_path, entry, words):
    done = calibrate(tmp_path, network(), {"x": batches()}, expect=1,
                     *[f"--calibration_config={config(tmp_path, f'tensor_quantize {{ {entry} }}')}"])
    assert words in done.run.stderr
    assert not (tmp_path / "out").exists()


def test_average_pool_goes_through_the_steps(tmp_path):
    onnx.save(network(), "m.onnx")
    amct_package.create_quant_config("config.json", "m.onnx", skip_layers=["conv", "fc"])
    amct_package.quantize_model("config.json", "m.onnx", "calib.onnx", "record.txt")
    ort.InferenceSession("calib.onnx", amct_package.AMCT_SO).run(None, {"x": batches()[0]})
    amct_package.save_model("calib.onnx", "record.txt", "steps/m")
    assert "scale_w" not in (tmp_path / "record.txt").read_text()
    assert attributes("steps/m_deploy_model.onnx", "mean.quant")["dst_type"] == b"INT8"
