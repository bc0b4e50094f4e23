"""Models that break tools of this kind: files, graphs and axes. One test each, with the right value."""

import shutil

import numpy as np
import onnx
import pytest
from amct_cli import (amct, calibrate, cosine, infer, make_model, ops, ports_of, run_amct, save_batches)
from onnx import TensorProto, helper, numpy_helper

F32 = np.float32


def rng(seed=0):
    return np.random.default_rng(seed)


def conv_model(weight, bias=None, opset=13, name="conv", **attributes):
    initializers = {"w": weight} if bias is None else {"w": weight, "b": bias}
    node = helper.make_node("Conv", ["x", *initializers], ["y"], name=name, **attributes)
    channels = weight.shape[1] * attributes.get("group", 1)
    rank = weight.ndim - 2
    return make_model([node], {"x": ([1, channels] + [8] * rank, F32)},
                      {"y": ([1, weight.shape[0]] + [None] * rank, F32)}, initializers, opset)


def batches(shape, count=4, seed=1, scale=1.0):
    return [(rng(seed + i).normal(size=shape) * scale).astype(F32) for i in range(count)]


def assert_close(float_model, result, feed, limit=0.999):
    """fake_quant runs in stock ONNX Runtime, its ports are those of the float model, its outputs are near."""
    assert ports_of(result.fake_quant) == ports_of(float_model)
    assert ports_of(result.deploy) == ports_of(float_model)
    for expected, found in zip(infer(float_model, feed), infer(result.fake_quant, feed), strict=True):
        assert found.shape == expected.shape and found.dtype == expected.dtype
        assert cosine(expected, found) > limit


def assert_deploy_agrees(folder, result, data):
    """`amct run` of fake_quant and deploy."""
    fake = run_amct(folder, result.fake_quant, data, "run_fake")
    deploy = run_amct(folder, result.deploy, data, "run_deploy")
    assert fake.keys() == deploy.keys() and fake
    for name, values in fake.items():
        np.testing.assert_allclose(values, deploy[name], rtol=1e-5, atol=1e-6)


def test_o1_big_weights_in_constant_nodes(tmp_path):
    weights = [rng(i).normal(size=(512, 512)).astype(F32) * 0.05 for i in range(3)]
    nodes = []
    for i, weight in enumerate(weights):
        nodes.append(helper.make_node("Constant", [], [f"w{i}"], value=numpy_helper.from_array(weight)))
        nodes.append(helper.make_node("MatMul", ["x" if i == 0 else f"h{i - 1}", f"w{i}"],
                                      [f"h{i}" if i < 2 else "y"], name=f"fc{i}"))
    model = make_model(nodes, {"x": ([1, 512], F32)}, {"y": ([1, 512], F32)})
    data = {"x": batches((1, 512))}
    result = calibrate(tmp_path, model, data)
    assert len(ops(result.fake_quant, "QuantizeLinear")) == 3
    assert_close(model, result, {"x": data["x"][0]})


def test_o2_external_data_elsewhere_and_moved_results(tmp_path):
    home = tmp_path / "models"
    home.mkdir()
    weight = rng().normal(size=(16, 3, 3, 3)).astype(F32)
    model = conv_model(weight)
    onnx.save_model(model, home / "m.onnx", save_as_external_data=True, location="m.bin", size_threshold=0)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    data = {"x": batches((1, 3, 8, 8))}
    result = calibrate(tmp_path, home / "m.onnx", data, cwd=elsewhere)
    moved = tmp_path / "moved"
    shutil.move(tmp_path / "out", moved)
    found = infer(moved / "m_fake_quant_model.onnx", {"x": data["x"][0]})
    assert cosine(found[0], infer(home / "m.onnx", {"x": data["x"][0]})[0]) > 0.999
    assert result.run.code == 0


def test_o3_typed_storage_of_initializers(tmp_path):
    weight = rng().normal(size=(4, 3, 3, 3)).astype(F32)
    half = rng(1).normal(size=(4,)).astype(np.float16)
    model = make_model(
        [helper.make_node("Cast", ["bh"], ["b"], to=TensorProto.FLOAT),
         helper.make_node("Conv", ["x", "w", "b"], ["y"], name="conv")],
        {"x": ([1, 3, 8, 8], F32)}, {"y": ([1, 4, 6, 6], F32)})
    model.graph.initializer.append(helper.make_tensor("w", TensorProto.FLOAT, weight.shape, weight.ravel()))
    model.graph.initializer.append(_half_in_int32(half))
    assert model.graph.initializer[0].float_data and model.graph.initializer[1].int32_data
    data = {"x": batches((1, 3, 8, 8))}
    result = calibrate(tmp_path, model, data)
    assert len(ops(result.deploy, "AscendQuant")) == 1
    assert_close(model, result, {"x": data["x"][0]})


def _half_in_int32(values):
    tensor = TensorProto(name="bh", data_type=TensorProto.FLOAT16, dims=values.shape)
    tensor.int32_data.extend(int(bits) for bits in values.view(np.uint16))
    return tensor


def test_o4_upsample_of_opset_9(tmp_path):
    weight = rng().normal(size=(4, 3, 3, 3)).astype(F32)
    model = make_model(
        [helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1] * 4),
         helper.make_node("Upsample", ["c", "s"], ["y"], name="up", mode="nearest")],
        {"x": ([1, 3, 8, 8], F32)}, {"y": ([1, 4, 16, 16], F32)},
        {"w": weight, "s": np.array([1, 1, 2, 2], F32)}, opset=9, ir_version=4)
    data = {"x": batches((1, 3, 8, 8))}
    result = calibrate(tmp_path, model, data)
    assert len(ops(result.deploy, "AscendQuant")) == 1
    assert_close(model, result, {"x": data["x"][0]})


def test_o5_ir_version_3_weights_are_inputs_too(tmp_path):
    weight = rng().normal(size=(4, 3, 3, 3)).astype(F32)
    model = conv_model(weight, opset=8)
    model.ir_version = 3
    model.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, weight.shape))
    data = {"x": batches((1, 3, 8, 8))}
    result = calibrate(tmp_path, model, data)
    assert len(ops(result.deploy, "AscendQuant")) == 1
    assert_close(model, result, {"x": data["x"][0]})


def test_o6_half_precision_weights_through_cast(tmp_path):
    weight = rng().normal(size=(4, 3, 3, 3)).astype(np.float16)
    bias = rng(1).normal(size=(4,)).astype(np.float16)
    model = make_model(
        [helper.make_node("Cast", ["wh"], ["w"], to=TensorProto.FLOAT),
         helper.make_node("Cast", ["bh"], ["b"], to=TensorProto.FLOAT),
         helper.make_node("Conv", ["x", "w", "b"], ["y"], name="conv")],
        {"x": ([1, 3, 8, 8], F32)}, {"y": ([1, 4, 6, 6], F32)}, {"wh": weight, "bh": bias})
    data = {"x": batches((1, 3, 8, 8))}
    result = calibrate(tmp_path, model, data)
    assert len(ops(result.deploy, "AscendQuant")) == 1
    assert_close(model, result, {"x": data["x"][0]})


def test_o7_both_branches_of_an_if_read_one_outer_weight(tmp_path):
    weight = rng().normal(size=(8, 8)).astype(F32)

    def branch(name, factor):
        return helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], [f"{name}_m"], name=f"{name}_matmul"),
             helper.make_node("Mul", [f"{name}_m", f"{name}_f"], [f"{name}_out"])],
            name, [], [helper.make_tensor_value_info(f"{name}_out", TensorProto.FLOAT, [2, 8])],
            [numpy_helper.from_array(np.array(factor, F32), f"{name}_f")])

    model = make_model(
        [helper.make_node("If", ["c"], ["h"], name="choice", then_branch=branch("a", 2), else_branch=branch("b", -1)),
         helper.make_node("MatMul", ["h", "w"], ["y"], name="last")],
        {"x": ([2, 8], F32), "c": ([], np.bool_)}, {"y": ([2, 8], F32)}, {"w": weight})
    data = {"x": batches((2, 8)), "c": [np.array(i % 2 == 0) for i in range(4)]}
    result = calibrate(tmp_path, model, data)
    for condition in (True, False):
        feed = {"x": data["x"][0], "c": np.array(condition)}
        assert cosine(infer(model, feed)[0], infer(result.fake_quant, feed)[0]) > 0.999
    assert "subgraph" in result.run.stdout


def test_o8_shared_bias_and_taken_names(tmp_path):
    weights = {f"w{i}": rng(i).normal(size=(4, 3, 3, 3)).astype(F32) for i in range(2)}
    model = make_model(
        [helper.make_node("Conv", ["x", "w0", "b"], ["p"], name="c0"),
         helper.make_node("Mul", ["x", "ten"], ["x10"], name="scale"),
         helper.make_node("Conv", ["x10", "w1", "b"], ["q"], name="c1"),
         helper.make_node("Identity", ["taken"], ["c0.bias"], name="c0.quant"),
         helper.make_node("Add", ["p", "q"], ["s"], name="sum"),
         helper.make_node("Add", ["s", "c0.bias"], ["y"], name="sum2")],
        {"x": ([1, 3, 8, 8], F32), "taken": ([1], F32)}, {"y": ([1, 4, 6, 6], F32)},
        {**weights, "b": np.array([1, -2, 3, 0.5], F32), "ten": np.array(10, F32)})
    data = {"x": batches((1, 3, 8, 8)), "taken": [np.zeros(1, F32)] * 4}
    result = calibrate(tmp_path, model, data)
    feed = {"x": data["x"][0], "taken": np.ones(1, F32)}
    assert_close(model, result, feed)
    deploy = onnx.load(str(result.deploy))
    biases = [i for i in deploy.graph.initializer if i.data_type == TensorProto.INT32]
    assert len(biases) == 2
    assert numpy_helper.to_array(biases[0]).tolist() != numpy_helper.to_array(biases[1]).tolist()
    names = [node.name for node in deploy.graph.node]
    assert len(names) == len(set(names))


def test_o9_empty_and_double_node_names(tmp_path):
    weights = {f"w{i}": rng(i).normal(size=(3, 3, 1, 1)).astype(F32) for i in range(4)}
    model = make_model(
        [helper.make_node("Conv", ["x", "w0"], ["a"], name=""),
         helper.make_node("Conv", ["x", "w1"], ["b"], name="twice"),
         helper.make_node("Conv", ["x", "w2"], ["c"], name="twice"),
         helper.make_node("Sum", ["a", "b", "c"], ["y"], name="")],
        {"x": ([1, 3, 4, 4], F32)}, {"y": ([1, 3, 4, 4], F32)}, weights)
    config = tmp_path / "quant.cfg"
    config.write_text('batch_num: 2\nskip_layers: "twice"\n')
    result = calibrate(tmp_path, model, {"x": batches((1, 3, 4, 4), 2)}, f"--calibration_config={config}")
    names = [node.name for node in onnx.load(str(result.deploy)).graph.node]
    assert "" not in names and len(names) == len(set(names))
    layers = ops(result.deploy, "Conv")
    assert [node.name for node in layers if node.input[0] == "x"] == ["twice"]


def test_o10_graph_output_inside_the_graph(tmp_path):
    weight = rng().normal(size=(3, 3, 3, 3)).astype(F32)
    model = make_model(
        [helper.make_node("Conv", ["x", "w"], ["mid"], name="c0", pads=[1] * 4),
         helper.make_node("Conv", ["mid", "w"], ["y"], name="c1", pads=[1] * 4)],
        {"x": ([1, 3, 8, 8], F32)}, {"mid": ([1, 3, 8, 8], F32), "y": ([1, 3, 8, 8], F32)}, {"w": weight})
    data = {"x": batches((1, 3, 8, 8))}
    result = calibrate(tmp_path, model, data)
    assert len(ops(result.deploy, "AscendQuant")) == 2
    assert_close(model, result, {"x": data["x"][0]})
    assert_deploy_agrees(tmp_path, result, data)


def test_o11_integer_shape_arithmetic(tmp_path):
    model = make_model(
        [helper.make_node("Shape", ["x"], ["sh"], name="shape"),
         helper.make_node("Gather", ["sh", "zero"], ["n"], name="gather"),
         helper.make_node("Concat", ["n", "minus"], ["target"], name="concat", axis=0),
         helper.make_node("Reshape", ["x", "target"], ["flat"], name="reshape"),
         helper.make_node("Gemm", ["flat", "w", "b"], ["y"], name="fc")],
        {"x": (["n", 3, 4], F32)}, {"y": (["n", 5], F32)},
        {"zero": np.array([0]), "minus": np.array([-1]), "w": rng().normal(size=(12, 5)).astype(F32),
         "b": rng(1).normal(size=5).astype(F32)})
    data = {"x": batches((2, 3, 4))}
    result = calibrate(tmp_path, model, data)
    assert_close(model, result, {"x": data["x"][0]})
    for name in ("Shape", "Gather", "Concat", "Reshape"):
        assert len(ops(result.deploy, name)) == 1


@pytest.mark.parametrize("algorithm", ["ifmr_quantize", "hfmg_quantize"])
def test_o12_symbolic_shapes_and_items_of_several_sizes(tmp_path, algorithm):
    weight = rng().normal(size=(4, 3, 3, 3)).astype(F32)
    model = make_model([helper.make_node("Conv", ["x", "w"], ["y"], name="conv", pads=[1] * 4)],
                       {"x": (["n", "c", "h", "w_"], F32)}, {"y": (["n", 4, "h", "w_"], F32)}, {"w": weight})
    data = {"x": [rng(i).normal(size=shape).astype(F32)
                  for i, shape in enumerate([(1, 3, 8, 8), (2, 3, 10, 6), (1, 3, 16, 16)])]}
    config = tmp_path / "quant.cfg"
    config.write_text(f"batch_num: 3\ncommon_config {{ {algorithm} {{ }} }}\n")
    result = calibrate(tmp_path, model, data, f"--calibration_config={config}")
    assert_close(model, result, {"x": data["x"][1]})


def test_o13_operator_of_an_unknown_domain(tmp_path):
    weight = rng().normal(size=(3, 3, 1, 1)).astype(F32)
    model = make_model(
        [helper.make_node("Conv", ["x", "w"], ["a"], name="c0"),
         helper.make_node("Mystery", ["a"], ["b"], name="mystery_node", domain="com.example"),
         helper.make_node("Conv", ["b", "w"], ["y"], name="c1")],
        {"x": ([1, 3, 4, 4], F32)}, {"y": ([1, 3, 4, 4], F32)}, {"w": weight})
    model.opset_import.append(helper.make_opsetid("com.example", 1))
    result = calibrate(tmp_path, model, {"x": batches((1, 3, 4, 4))}, expect=1)
    assert len(result.run.errors) == 1
    assert "Mystery" in result.run.errors[0] and "custom_op_library" in result.run.errors[0]
    assert not any(path.exists() for path in result.files())


def test_o14_last_add_keeps_the_output_name(tmp_path):
    model = make_model(
        [helper.make_node("Conv", ["x", "w"], ["c"], name="conv"),
         helper.make_node("Add", ["c", "k"], ["y"], name="add")],
        {"x": ([1, 3, 8, 8], F32)}, {"y": ([1, 4, 6, 6], F32)},
        {"w": rng().normal(size=(4, 3, 3, 3)).astype(F32), "k": rng(1).normal(size=(1, 4, 1, 1)).astype(F32)})
    data = {"x": batches((1, 3, 8, 8))}
    result = calibrate(tmp_path, model, data)
    assert [port.name for port in onnx.load(str(result.fake_quant)).graph.output] == ["y"]
    assert_close(model, result, {"x": data["x"][0]})


def test_o15_transposed_convolution_per_channel(tmp_path):
    weight = (rng().normal(size=(3, 64, 3, 3)) * np.geomspace(0.01, 10, 64).reshape(1, 64, 1, 1)).astype(F32)
    model = make_model(
        [helper.make_node("ConvTranspose", ["x", "w", "b"], ["y"], name="deconv", strides=[2, 2])],
        {"x": ([1, 3, 8, 8], F32)}, {"y": ([1, 64, 17, 17], F32)},
        {"w": weight, "b": rng(1).normal(size=64).astype(F32)})
    data = {"x": batches((1, 3, 8, 8))}
    result = calibrate(tmp_path, model, data)
    assert_close(model, result, {"x": data["x"][0]}, 0.99)
    packed = next(i for i in onnx.load(str(result.deploy)).graph.initializer if i.name == "deconv.dequant.param")
    assert packed.dims == [64]
    expected, found = infer(model, {"x": data["x"][0]})[0], infer(result.fake_quant, {"x": data["x"][0]})[0]
    assert min(cosine(expected[:, c], found[:, c]) for c in range(64)) > 0.99
    assert_deploy_agrees(tmp_path, result, data)


def test_o16_gemm_with_alpha_beta_and_transposed_weight(tmp_path):
    model = make_model(
        [helper.make_node("Gemm", ["x", "w", "b"], ["y"], name="fc", alpha=2.0, beta=0.5, transB=1)],
        {"x": ([4, 16], F32)}, {"y": ([4, 8], F32)},
        {"w": rng().normal(size=(8, 16)).astype(F32), "b": rng(1).normal(size=8).astype(F32)})
    data = {"x": batches((4, 16))}
    result = calibrate(tmp_path, model, data)
    assert_close(model, result, {"x": data["x"][0]})
    gemm = ops(result.deploy, "Gemm")[0]
    attributes = {a.name: helper.get_attribute_value(a) for a in gemm.attribute}
    assert attributes.get("alpha", 1.0) == 1.0 and attributes.get("beta", 1.0) == 1.0 and not attributes.get("transB", 0)
    assert_deploy_agrees(tmp_path, result, data)


def test_o17_tiny_weights_and_large_bias(tmp_path):
    weight = (rng().normal(size=(2, 3, 1, 1)) * 1e-7).astype(F32)
    model = conv_model(weight, np.array([5, -4.5], F32))
    data = {"x": [np.clip(batch * 30, -64, 63.5) for batch in batches((1, 3, 8, 8))]}
    result = calibrate(tmp_path, model, data)
    expected, found = infer(model, {"x": data["x"][0]})[0], infer(result.fake_quant, {"x": data["x"][0]})[0]
    assert np.abs(expected - found).max() <= 9.5 / 255
    assert_deploy_agrees(tmp_path, result, data)


def test_o18_zero_weights_and_zero_channels(tmp_path):
    zero_channel = rng().normal(size=(4, 3, 3, 3)).astype(F32)
    zero_channel[2] = 0
    tiny = rng(1).normal(size=(4, 4, 1, 1)).astype(np.float16)
    tiny[1] = np.float16(1e-6)
    model = make_model(
        [helper.make_node("Conv", ["x", "w0", "b"], ["a"], name="c0"),
         helper.make_node("Cast", ["w1h"], ["w1"], to=TensorProto.FLOAT),
         helper.make_node("Conv", ["a", "w1"], ["b1"], name="c1"),
         helper.make_node("Conv", ["b1", "w2", "b"], ["y"], name="c2")],
        {"x": ([1, 3, 8, 8], F32)}, {"y": ([1, 4, 6, 6], F32)},
        {"w0": zero_channel, "w1h": tiny, "w2": np.zeros((4, 4, 1, 1), F32), "b": np.array([0.3, -1, 0.7, 2], F32)})
    data = {"x": batches((1, 3, 8, 8))}
    result = calibrate(tmp_path, model, data)
    text = result.record.read_text()
    scales = [float(line.split(":")[1]) for line in text.splitlines() if line.strip().startswith("scale_w")]
    assert len(scales) == 12 and all(np.isfinite(scales)) and min(scales) > 0
    expected, found = infer(model, {"x": data["x"][0]})[0], infer(result.fake_quant, {"x": data["x"][0]})[0]
    np.testing.assert_allclose(found, expected, atol=0.02)
    deploy = {i.name: numpy_helper.to_array(i) for i in onnx.load(str(result.deploy)).graph.initializer}
    assert not deploy["c0.weight"][2].any() and not deploy["c2.weight"].any()


def test_o19_non_finite_activations(tmp_path):
    model = make_model(
        [helper.make_node("Div", ["x", "m"], ["d"], name="div"),
         helper.make_node("Conv", ["d", "w"], ["y"], name="conv")],
        {"x": ([1, 3, 8, 8], F32), "m": ([1, 3, 8, 8], F32)}, {"y": ([1, 4, 6, 6], F32)},
        {"w": rng().normal(size=(4, 3, 3, 3)).astype(F32)})
    x, m = batches((1, 3, 8, 8)), [np.ones((1, 3, 8, 8), F32) for _ in range(4)]
    x[0][0, 0, :2], m[0][0, 0, :2] = 0, 0
    x[1][0, 0, 0, 0], m[1][0, 0, 0, 0] = 1, 0
    result = calibrate(tmp_path, model, {"x": x, "m": m})
    warnings = [line for line in result.run.stderr.splitlines() if "WARNING" in line and "'d'" in line]
    assert len(warnings) == 1 and "17" in warnings[0], result.run.stderr
    assert_close(model, result, {"x": x[2], "m": m[2]})


def test_o22_data_that_never_reach_zero(tmp_path):
    model = conv_model(rng().normal(size=(4, 3, 3, 3)).astype(F32))
    data = {"x": [rng(i).uniform(1, 2, (1, 3, 8, 8)).astype(F32) for i in range(4)]}
    result = calibrate(tmp_path, model, data)
    text = result.record.read_text()
    assert "offset_d: -128" in text
    scale = next(float(line.split(":")[1]) for line in text.splitlines() if "scale_d" in line)
    assert 1.3 / 255 < scale < 2.7 / 255
    assert_close(model, result, {"x": data["x"][0]})


def test_o23_too_little_data(tmp_path):
    model = tmp_path / "m.onnx"
    onnx.save(conv_model(rng().normal(size=(4, 3, 3, 3)).astype(F32)), model)
    empty = tmp_path / "empty"
    empty.mkdir()
    result = calibrate(tmp_path, model, str(empty), expect=1)
    assert len(result.run.errors) == 1 and "empty" in result.run.errors[0]
    few = save_batches(tmp_path / "few", batches((1, 3, 8, 8), 3))
    result = calibrate(tmp_path, model, str(few), batch_num=8, expect=1)
    assert "3" in result.run.errors[0] and "8" in result.run.errors[0]
    short = tmp_path / "short"
    short.mkdir()
    for i, batch in enumerate(batches((1, 3, 8, 8), 3)):
        (short / f"b{i}.bin").write_bytes(batch.tobytes()[: 768 if i < 2 else 700])
    result = calibrate(tmp_path, model, str(short), batch_num=3, expect=1)
    assert "b2.bin" in result.run.errors[0] and "700" in result.run.errors[0] and "768" in result.run.errors[0]
    assert not (tmp_path / "out" / "m_deploy_model.onnx").exists()


def test_o25_integer_input_beside_a_float_one(tmp_path):
    model = make_model(
        [helper.make_node("Gather", ["table", "i"], ["e"], name="embed"),
         helper.make_node("Add", ["e", "x"], ["s"], name="add"),
         helper.make_node("MatMul", ["s", "w"], ["y"], name="fc")],
        {"i": ([4], np.int32), "x": ([4, 8], F32)}, {"y": ([4, 8], F32)},
        {"table": rng().normal(size=(10, 8)).astype(F32), "w": rng(1).normal(size=(8, 8)).astype(F32)})
    data = {"i": [np.arange(4, dtype=np.int32)] * 4, "x": batches((4, 8))}
    result = calibrate(tmp_path, model, data)
    for path in (result.fake_quant, result.deploy):
        assert onnx.load(str(path)).graph.input[0].type.tensor_type.elem_type == TensorProto.INT32
    assert_close(model, result, {"i": data["i"][0], "x": data["x"][0]})


def test_o4_deploy_models_of_opset_7_become_opset_8(tmp_path):
    model = conv_model(rng().normal(size=(4, 3, 3, 3)).astype(F32), opset=7)
    model.ir_version = 4
    result = calibrate(tmp_path, model, {"x": batches((1, 3, 8, 8))})
    assert onnx.load(str(result.deploy)).opset_import[0].version == 8
    assert amct("check", result.deploy, cwd=tmp_path).code == 0


def test_p6_dynamically_quantized_models_are_refused_with_the_way_out(tmp_path):
    weight = rng().integers(-128, 127, (4, 3, 3, 3)).astype(np.int8)
    model = make_model(
        [helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
         helper.make_node("ConvInteger", ["q", "w", "z"], ["c"]),
         helper.make_node("Cast", ["c"], ["cf"], to=TensorProto.FLOAT),
         helper.make_node("Mul", ["cf", "s"], ["y"])],
        {"x": ([1, 3, 8, 8], F32)}, {"y": ([1, 4, 6, 6], F32)}, {"w": weight})
    result = calibrate(tmp_path, model, {"x": batches((1, 3, 8, 8))}, expect=1)
    assert len(result.run.errors) == 1 and "already quantized" in result.run.errors[0]
    assert "float model" in result.run.errors[0]


def test_p6_partly_quantized_models_are_refused_too(tmp_path):
    model = make_model(
        [helper.make_node("Conv", ["x", "wf"], ["h"], name="conv"),
         helper.make_node("DynamicQuantizeLinear", ["h"], ["q", "s", "z"], name="dynamic"),
         helper.make_node("ConvInteger", ["q", "w", "z"], ["c"], name="integer"),
         helper.make_node("Cast", ["c"], ["cf"], to=TensorProto.FLOAT),
         helper.make_node("Mul", ["cf", "s"], ["y"])],
        {"x": ([1, 3, 8, 8], F32)}, {"y": ([1, 4, 4, 4], F32)},
        {"wf": rng().normal(size=(3, 3, 3, 3)).astype(F32),
         "w": rng().integers(-128, 127, (4, 3, 3, 3)).astype(np.int8)})
    result = calibrate(tmp_path, model, {"x": batches((1, 3, 8, 8))}, expect=1)
    assert len(result.run.errors) == 1 and "dynamic" in result.run.errors[0]
    check = amct("check", tmp_path / "m.onnx", cwd=tmp_path)
    assert check.code == 1 and "error: integer: the compiler does not read ConvInteger" in check.stdout


def test_dry_run_writes_nothing(tmp_path):
    model = tmp_path / "m.onnx"
    onnx.save(conv_model(rng().normal(size=(4, 3, 3, 3)).astype(F32)), model)
    run = amct("onnx", "calibration", f"--model={model}", f"--save_path={tmp_path}/out/m", "--dry-run", cwd=tmp_path)
    assert run.code == 0 and "conv" in run.stdout
    assert not (tmp_path / "out").exists()
