"""Decomposed TensorFlow models: the real TensorFlow loads what AMCT writes, computes the same, and trains on."""

import os
import pickle
import shutil

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import pytest
import tensorflow as tf
from amct_cli import amct
from amct_tensorflow.tensor_decompose import auto_decomposition, decompose_graph
from tensorflow_nets import CONFIG, IMAGES, LABELS, build_net, low_rank, train_and_save, v1


def load(prefix, fetches, feed=IMAGES, after=None):
    """Values of tensors of a saved model; `after` sees the session too."""
    graph = tf.Graph()
    with graph.as_default(), v1.Session(graph=graph, config=CONFIG) as session:
        saver = v1.train.import_meta_graph(f"{prefix}.meta")
        saver.restore(session, str(prefix))
        values = session.run(list(fetches), {"x:0": feed})
        if after is not None:
            after(graph, session, saver)
        return values


def keys(prefix):
    return {name: tuple(shape) for name, shape in v1.train.list_variables(str(prefix))}


def make_model(folder, **options):
    """A trained model whose kernels have a low rank, so that the default rank loses nothing."""
    prefix = folder / "net"
    train_and_save(prefix, **options)
    return prefix


KINDS = {
    "reference": {},
    "resource": {"resource": True},
    "partitioned": {"partitions": 2},
    "partitioned resource": {"partitions": 3, "resource": True},
    "sharded": {"shards": 3, "partitions": 2},
    "float64": {"dtype": tf.float64},
}


@pytest.mark.parametrize("kind", KINDS)
def test_decomposed_model_computes_the_same(tmp_path, kind):
    prefix = make_model(tmp_path, **KINDS[kind])
    out = tmp_path / "out" / "net"
    names = auto_decomposition(f"{prefix}.meta", str(prefix), str(out))
    assert names == ["net/c1/Conv2D_decomp_first", "net/c1/Conv2D_decomp_last", "net/c2/Conv2D_decomp_first",
                     "net/c2/Conv2D_decomp_last"]
    fetches = ["logits:0", "net/c1/Conv2D:0", "loss:0", "Merge/MergeSummary:0"]
    old = load(prefix, fetches)
    new = load(out, fetches)
    for before, after in zip(old[:3], new[:3]):
        np.testing.assert_allclose(after, before, rtol=1e-3, atol=1e-4 * np.abs(before).max())
    assert isinstance(new[3], bytes)
    assert sorted(os.listdir(out.parent)) == ["checkpoint", "net.data-00000-of-00001", "net.index", "net.meta", "net.pkl"]
    assert v1.train.latest_checkpoint(str(out.parent)) == str(out)


@pytest.mark.parametrize("kind", KINDS)
def test_old_kernels_and_their_slots_leave_the_checkpoint(tmp_path, kind):
    prefix = make_model(tmp_path, **KINDS[kind])
    auto_decomposition(f"{prefix}.meta", str(prefix), str(tmp_path / "out"))
    before, after = keys(prefix), keys(tmp_path / "out")
    gone = {key for key in before if key.startswith(("net/c1/kernel", "net/c2/kernel"))}
    assert {"net/c1/kernel", "net/c1/kernel/Adam", "net/c1/kernel/Adam_1"} <= gone
    assert set(before) - set(after) == gone
    assert set(after) - set(before) == {f"net/{name}/kernel_decomp_{part}" for name in ("c1", "c2")
                                       for part in ("first", "last")}
    for key in set(before) & set(after):
        np.testing.assert_array_equal(v1.train.load_variable(str(prefix), key),
                                      v1.train.load_variable(str(tmp_path / "out"), key))


def test_imported_graph_is_complete(tmp_path):
    prefix = make_model(tmp_path)
    out = tmp_path / "out"
    auto_decomposition(f"{prefix}.meta", str(prefix), str(out))

    def check(graph, session, saver):
        variables = [variable.op.name for variable in v1.global_variables()]
        trainable = [variable.op.name for variable in v1.trainable_variables()]
        at = trainable.index("net/c1/kernel_decomp_first")
        assert trainable[at + 1] == "net/c1/kernel_decomp_last"
        assert not [name for name in variables if name.startswith("net/c1/kernel/")]
        assert set(trainable) <= set(variables)
        assert "net/c1/kernel_decomp_first" in [v.op.name for v in v1.get_collection(v1.GraphKeys.MODEL_VARIABLES)]
        # Saved again, and initialized from scratch.
        saver.save(session, str(tmp_path / "again"))
        session.run("init")
        spread = session.run("net/c1/kernel_decomp_first:0").std()
        assert 0.5 / np.sqrt(3 * 64) < spread < 2 / np.sqrt(3 * 64)
        assert session.run(v1.report_uninitialized_variables()).size == 0

    load(out, ["logits:0"], after=check)
    assert keys(tmp_path / "again") == keys(out)
    assert not [op for op in graph_operations(out) if op.startswith("gradients/net/c1/Conv2D_grad/")]


def graph_operations(prefix):
    graph = tf.Graph()
    with graph.as_default():
        v1.train.import_meta_graph(f"{prefix}.meta")
        return [op.name for op in graph.get_operations()]


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("partitions", [1, 2])
def test_fine_tuning_as_the_manual_shows(tmp_path, resource, partitions):
    """auto_decomposition, then in the training script decompose_graph, restore, train."""
    prefix = make_model(tmp_path, resource=resource, partitions=partitions)
    save_path = str(tmp_path / "decomposed" / "net")
    expected = load(prefix, ["logits:0"])[0]
    offline = auto_decomposition(meta_path=f"{prefix}.meta", ckpt_path=str(prefix), save_path=save_path)
    graph = tf.Graph()
    with graph.as_default():
        net = build_net(resource=resource, partitions=partitions)
        assert decompose_graph(save_path) == offline
        variables_to_restore = v1.global_variables()
        restorer = v1.train.Saver(variables_to_restore)
        loss = net.loss()
        train = v1.train.AdamOptimizer(1e-3).minimize(loss)
        rest = [variable for variable in v1.global_variables() if variable not in variables_to_restore]
        with v1.Session(config=CONFIG) as session:
            session.run(v1.variables_initializer(rest))
            restorer.restore(session, save_path)
            feed = {net.images: IMAGES, net.labels: LABELS}
            np.testing.assert_allclose(session.run(net.logits, feed), expected, rtol=1e-3,
                                       atol=1e-4 * np.abs(expected).max())
            kernel, = [variable for variable in variables_to_restore if variable.op.name == "net/c1/kernel_decomp_last"]
            before, start = session.run([loss, kernel], feed)
            for _ in range(10):
                session.run(train, feed)
            after, moved = session.run([loss, kernel], feed)
        assert after < before
        assert np.abs(moved - start).max() > 1e-4
        assert "net/c1/kernel" not in [variable.op.name for variable in v1.trainable_variables()]


def test_warm_start_restores_by_name_like_estimators_do(tmp_path):
    """Estimator's warm_start_from maps the names of variables to those of the checkpoint."""
    prefix = make_model(tmp_path)
    save_path = str(tmp_path / "out")
    auto_decomposition(f"{prefix}.meta", str(prefix), save_path)
    with tf.Graph().as_default() as graph:
        net = build_net()
        decompose_graph(save_path, graph=graph)
        v1.train.AdamOptimizer().minimize(net.loss())
        v1.train.init_from_checkpoint(save_path, {variable.op.name: variable for variable in v1.trainable_variables()})
        with v1.Session(config=CONFIG) as session:
            session.run(v1.global_variables_initializer())
            logits = session.run(net.logits, {net.images: IMAGES})
    expected = load(prefix, ["logits:0"])[0]
    np.testing.assert_allclose(logits, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())


def test_weight_decay_goes_on_as_that_of_the_product(tmp_path):
    prefix = make_model(tmp_path, partitions=2)
    save_path = str(tmp_path / "out")
    auto_decomposition(f"{prefix}.meta", str(prefix), save_path)
    with tf.Graph().as_default():
        net = build_net(partitions=2)
        decompose_graph(save_path)
        decay = v1.losses.get_regularization_loss()
        first, = [v for v in v1.trainable_variables() if v.op.name == "net/c1/kernel_decomp_first"]
        gradient, = v1.gradients(decay, [first])
        with v1.Session(config=CONFIG) as session:
            v1.train.Saver().restore(session, save_path)
            value, slope = session.run([decay, gradient])
    expected = load(prefix, ["decay:0"])[0]
    np.testing.assert_allclose(value, expected, rtol=1e-3)
    np.testing.assert_allclose(load(save_path, ["decay:0"])[0], expected, rtol=1e-3)
    assert np.abs(slope).max() > 0


def test_shared_kernel_is_split_once(tmp_path):
    """Case D3."""
    prefix = tmp_path / "net"
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 8, 8, 64], name="x")
        kernel = v1.get_variable("kernel", [3, 3, 64, 64])
        middle = tf.nn.relu(tf.nn.conv2d(x, kernel, 1, "SAME", name="a"))
        tf.identity(tf.nn.conv2d(middle, kernel, 1, "SAME", name="b"), name="y")
        save_initialized(prefix, {"kernel": low_rank((3, 3, 64, 64))})
    names = auto_decomposition(f"{prefix}.meta", str(prefix), str(tmp_path / "out"))
    assert names == ["a_decomp_first", "a_decomp_last", "b_decomp_first", "b_decomp_last"]
    assert set(keys(tmp_path / "out")) == {"kernel_decomp_first", "kernel_decomp_last"}
    feed = np.random.default_rng(1).standard_normal((2, 8, 8, 64)).astype(np.float32)
    old, new = load(prefix, ["y:0"], feed)[0], load(tmp_path / "out", ["y:0"], feed)[0]
    np.testing.assert_allclose(new, old, atol=1e-4 * np.abs(old).max())


def save_initialized(prefix, values=()):
    saver = v1.train.Saver()
    with v1.Session(config=CONFIG) as session:
        session.run(v1.global_variables_initializer())
        for name, value in dict(values).items():
            variable, = [v for v in v1.global_variables() if v.op.name == name]
            variable.load(value, session)
        saver.save(session, str(prefix))


def test_shared_kernel_stays_when_one_convolution_cannot_be_split(tmp_path):
    prefix = tmp_path / "net"
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 8, 8, 64], name="x")
        kernel = v1.get_variable("kernel", [3, 3, 64, 64])
        other = tf.nn.conv2d(x, v1.get_variable("other", [3, 3, 64, 64]), 1, "SAME", name="plain")
        dilated = tf.nn.conv2d(other, kernel, 1, "SAME", dilations=2, name="dilated")
        tf.nn.conv2d(dilated, kernel, 1, "SAME", name="dense")
        save_initialized(prefix)
    assert auto_decomposition(f"{prefix}.meta", str(prefix), str(tmp_path / "out")) == [
        "plain_decomp_first", "plain_decomp_last"]
    assert "kernel" in keys(tmp_path / "out")


GEOMETRY = {
    "same stride 2": dict(strides=2, padding="SAME"),
    "valid": dict(strides=1, padding="VALID"),
    "valid stride (2, 1)": dict(strides=[1, 2, 1, 1], padding="VALID"),
    "explicit": dict(strides=2, padding=[[0, 0], [2, 1], [0, 3], [0, 0]]),
}


@pytest.mark.parametrize("shape", [(3, 3, 64, 64), (5, 3, 64, 96), (3, 5, 96, 64), (3, 3, 96, 64), (7, 7, 8, 64)])
@pytest.mark.parametrize("geometry", GEOMETRY)
def test_every_mode_and_padding(tmp_path, shape, geometry):
    prefix = tmp_path / "net"
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 13, 14, shape[2]], name="x")
        tf.nn.conv2d(x, v1.get_variable("kernel", shape), name="y", **GEOMETRY[geometry])
        save_initialized(prefix, {"kernel": low_rank(shape)})
    assert auto_decomposition(f"{prefix}.meta", str(prefix), str(tmp_path / "out")) == ["y_decomp_first", "y_decomp_last"]
    feed = np.random.default_rng(1).standard_normal((2, 13, 14, shape[2])).astype(np.float32)
    old, new = load(prefix, ["y:0"], feed)[0], load(tmp_path / "out", ["y:0"], feed)[0]
    assert old.shape == new.shape
    np.testing.assert_allclose(new, old, atol=2e-4 * np.abs(old).max())


def test_nchw_graph_is_split_along_its_own_axes(tmp_path):
    """The CPU runs no NCHW convolution: the nodes tell."""
    prefix = tmp_path / "net"
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 64, 13, 14], name="x")
        tf.nn.conv2d(x, v1.get_variable("kernel", [3, 5, 64, 64]), strides=[1, 1, 2, 1], data_format="NCHW",
                     padding=[[0, 0], [0, 0], [1, 2], [3, 4]], name="y")
        save_initialized(prefix)
    auto_decomposition(f"{prefix}.meta", str(prefix), str(tmp_path / "out"))
    graph = tf.Graph()
    with graph.as_default():
        v1.train.import_meta_graph(str(tmp_path / "out.meta"))
    first, last = (graph.get_operation_by_name(f"y_decomp_{part}") for part in ("first", "last"))
    assert first.inputs[1].shape[:2] == [3, 1] and last.inputs[1].shape[:2] == [1, 5]
    assert first.get_attr("strides") == [1, 1, 2, 1] and last.get_attr("strides") == [1, 1, 1, 1]
    assert first.get_attr("explicit_paddings") == [0, 0, 0, 0, 1, 2, 0, 0]
    assert last.get_attr("explicit_paddings") == [0, 0, 0, 0, 0, 0, 3, 4]
    assert last.outputs[0].shape.as_list() == [None, 64, 7, 17]
    assert graph.get_tensor_by_name("y:0").op.inputs[0].op is last


def test_float16_kernel_computed_in_float32(tmp_path):
    prefix = tmp_path / "net"
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 8, 8, 64], name="x")
        kernel = v1.get_variable("kernel", [3, 3, 64, 64], tf.float16, v1.random_normal_initializer(dtype=tf.float16))
        tf.nn.conv2d(x, tf.cast(kernel, tf.float32), 1, "SAME", name="y")
        save_initialized(prefix, {"kernel": low_rank((3, 3, 64, 64)).astype(np.float16)})
    auto_decomposition(f"{prefix}.meta", str(prefix), str(tmp_path / "out"))
    feed = np.random.default_rng(1).standard_normal((2, 8, 8, 64)).astype(np.float32)
    old, new = load(prefix, ["y:0"], feed)[0], load(tmp_path / "out", ["y:0"], feed)[0]
    np.testing.assert_allclose(new, old, atol=1e-2 * np.abs(old).max())
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 8, 8, 64])
        kernel = v1.get_variable("kernel", [3, 3, 64, 64], tf.float16)
        tf.add(tf.nn.conv2d(x, tf.cast(kernel, tf.float32), 1, "SAME", name="y"), 0.0, name="z")
        decompose_graph(str(tmp_path / "out"))
        with v1.Session(config=CONFIG) as session:
            v1.train.Saver().restore(session, str(tmp_path / "out"))
            np.testing.assert_allclose(session.run("z:0", {x: feed}), new, atol=1e-5 * np.abs(old).max())


def test_inference_graph_with_a_training_checkpoint(tmp_path):
    """Slots that the graph does not have are dropped too; control flow around the network stays."""
    prefix = make_model(tmp_path)
    with tf.Graph().as_default():
        net = build_net(training_switch=True)
        tf.identity(net.logits, name="out")
        v1.train.Saver(v1.trainable_variables())
        v1.train.export_meta_graph(str(tmp_path / "eval.meta"))
    names = auto_decomposition(str(tmp_path / "eval.meta"), str(prefix), str(tmp_path / "out"))
    assert len(names) == 4
    assert not [key for key in keys(tmp_path / "out") if "/c1/kernel/" in key]
    with tf.Graph().as_default(), v1.Session(config=CONFIG) as session:
        v1.train.import_meta_graph(str(tmp_path / "out.meta"))
        v1.train.Saver(v1.trainable_variables()).restore(session, str(tmp_path / "out"))
        logits = session.run("out:0", {"x:0": IMAGES})
    expected = load(prefix, ["logits:0"])[0]
    np.testing.assert_allclose(logits, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())


def test_training_graph_with_control_flow_and_averages(tmp_path):
    """Gradients through tf.cond, moving averages of kernels, clipping, a check for readiness."""
    prefix = make_model(tmp_path, training_switch=True, averages=True, clip=True)
    out = tmp_path / "out"
    auto_decomposition(f"{prefix}.meta", str(prefix), str(out))
    old, new = load(prefix, ["logits:0", "ready:0"]), load(out, ["logits:0", "ready:0"])
    np.testing.assert_allclose(new[0], old[0], rtol=1e-3, atol=1e-4 * np.abs(old[0]).max())
    assert old[1].size == new[1].size == 0
    assert "net/c1/kernel/ExponentialMovingAverage" not in keys(out)
    assert "net/c1/bias/ExponentialMovingAverage" in keys(out)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("model"), shards=2)


def copy_model(model, folder):
    for file in model.parent.glob("net.*"):
        shutil.copy(file, folder)
    return folder / "net"


def expect(error, *parts, call):
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    for part in parts:
        assert part in message, message


def run(prefix, save_path, meta=None):
    return lambda: auto_decomposition(str(meta or f"{prefix}.meta"), str(prefix), str(save_path))


def test_files_that_do_not_belong_together(tmp_path, model):
    other = make_model(tmp_path, width=96)
    out = tmp_path / "out" / "net"
    expect(ValueError, "do not belong together", "'net/c0/kernel' is float32 [3, 3, 3, 96] in the checkpoint, float32 "
           "[3, 3, 3, 64] in the .meta", call=run(other, out, f"{model}.meta"))
    with tf.Graph().as_default():
        v1.get_variable("unrelated", [2])
        save_initialized(tmp_path / "small")
    expect(ValueError, "do not belong together", "the checkpoint has no ", "'net/c0/kernel'", "more",
           call=run(tmp_path / "small", out, f"{model}.meta"))
    assert not out.parent.exists()


def test_missing_and_damaged_files(tmp_path, model):
    out = tmp_path / "out" / "net"
    prefix = copy_model(model, tmp_path)
    shard = tmp_path / "net.data-00001-of-00003"
    data = shard.read_bytes()
    shard.unlink()
    expect(OSError, str(shard), "is missing", call=run(prefix, out))
    shard.write_bytes(data[:-100])
    expect(ValueError, str(shard), "ends too early", call=run(prefix, out))
    shard.write_bytes(data[:1000] + bytes([data[1000] ^ 1]) + data[1001:])
    expect(ValueError, str(shard), "checksum", call=run(prefix, out))
    shard.write_bytes(data)
    index = tmp_path / "net.index"
    text = index.read_bytes()
    index.write_bytes(text[:40] + bytes([text[40] ^ 1]) + text[41:])
    expect(ValueError, str(index), "damaged", call=run(prefix, out))
    index.write_bytes(text[:-10])
    expect(ValueError, str(index), "damaged", call=run(prefix, out))
    index.unlink()
    expect(OSError, str(index), "no such file", call=run(prefix, out))
    expect(OSError, "nowhere.meta", call=run(prefix, out, tmp_path / "nowhere.meta"))
    assert not list(out.parent.glob("*"))


def test_other_kinds_of_files(tmp_path, model):
    out = tmp_path / "out" / "net"
    graph = tf.Graph()
    with graph.as_default():
        v1.train.import_meta_graph(f"{model}.meta")
        v1.train.export_meta_graph(str(tmp_path / "text.meta"), as_text=True)
    expect(ValueError, "text.meta", "binary form", call=run(model, out, tmp_path / "text.meta"))
    (tmp_path / "frozen.pb").write_bytes(graph.as_graph_def().SerializeToString())
    expect(ValueError, "frozen.pb", "GraphDef", call=run(model, out, tmp_path / "frozen.pb"))
    expect(ValueError, "one file of a checkpoint", f"'{model}'", call=run(f"{model}.index", out, f"{model}.meta"))
    (tmp_path / "old").write_bytes(b"V1")
    expect(NotImplementedError, "V1", "write_version", call=run(tmp_path / "old", out, f"{model}.meta"))
    assert not out.parent.exists()


def test_v1_checkpoint_is_refused_with_the_way_out(tmp_path, model):
    with tf.Graph().as_default():
        v1.get_variable("w", [3, 3, 64, 64])
        saver = v1.train.Saver(write_version=v1.train.SaverDef.V1)
        with v1.Session(config=CONFIG) as session:
            session.run(v1.global_variables_initializer())
            saver.save(session, str(tmp_path / "old"))
    expect(NotImplementedError, "V1", "Saver(write_version=tf.compat.v1.train.SaverDef.V2)",
           call=run(tmp_path / "old", tmp_path / "out" / "net", tmp_path / "old.meta"))


def test_kernel_with_nan_is_named(tmp_path):
    prefix = tmp_path / "net"
    kernel = low_rank((3, 3, 64, 64))
    kernel[1, 2, 3, 4] = np.nan
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 8, 8, 64], name="x")
        tf.nn.conv2d(x, v1.get_variable("kernel", [3, 3, 64, 64]), 1, "SAME", name="bad/layer")
        save_initialized(prefix, {"kernel": kernel})
    expect(ValueError, "bad/layer", call=run(prefix, tmp_path / "out" / "net"))
    assert not (tmp_path / "out").exists()


def test_input_is_not_overwritten_and_old_results_stay(tmp_path, model):
    prefix = copy_model(model, tmp_path)
    expect(ValueError, "overwritten", call=run(prefix, prefix))
    out = tmp_path / "out" / "net"
    run(prefix, out)()
    before = {file.name: file.read_bytes() for file in out.parent.iterdir()}
    (tmp_path / "net.data-00000-of-00003").unlink()
    expect(OSError, "is missing", call=run(prefix, out))
    assert {file.name: file.read_bytes() for file in out.parent.iterdir()} == before


def test_unwritable_path_and_wrong_arguments(tmp_path, model):
    (tmp_path / "file").write_text("")
    expect(OSError, "file", call=run(model, tmp_path / "file" / "net"))
    expect(TypeError, "meta_path", "int", call=lambda: auto_decomposition(1, str(model), "x"))
    expect(TypeError, "save_path", "NoneType", call=lambda: decompose_graph(None))


def test_nothing_to_decompose_still_writes_a_model(tmp_path):
    prefix = tmp_path / "net"
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        tf.matmul(x, v1.get_variable("w", [4, 3]), name="y")
        save_initialized(prefix)
    assert auto_decomposition(f"{prefix}.meta", str(prefix), str(tmp_path / "out")) == []
    feed = np.ones((1, 4), np.float32)
    np.testing.assert_array_equal(load(prefix, ["y:0"], feed)[0], load(tmp_path / "out", ["y:0"], feed)[0])
    with tf.Graph().as_default():
        assert decompose_graph(str(tmp_path / "out")) == []


def test_same_input_gives_the_same_files(tmp_path, model):
    for name in ("a", "b"):
        run(model, tmp_path / name / "net")()
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes(), file.name


# decompose_graph


@pytest.fixture(scope="module")
def record(model, tmp_path_factory):
    save_path = tmp_path_factory.mktemp("record") / "net"
    run(model, save_path)()
    return save_path


def test_record_holds_builtin_types_only(record):
    with open(f"{record}.pkl", "rb") as file:
        content = pickle.load(file)
    entry = content["convolutions"]["net/c1/Conv2D"]
    assert entry["original"]["variables"] == ["net/c1/kernel"]
    assert entry["original"]["kernel_shape"] == (3, 3, 64, 64)
    assert entry["first"]["kernel_shape"] == (3, 1, 64, entry["rank"])
    assert entry["last"]["variable"] == "net/c1/kernel_decomp_last"
    assert entry["has_bias"] is True and entry["data_format"] == "NHWC" and entry["padding"] == "SAME"

    def types(value):
        if isinstance(value, dict):
            return set().union({dict}, *map(types, [*value, *value.values()]))
        if isinstance(value, (list, tuple)):
            return set().union({type(value)}, *map(types, value))
        return {type(value)}

    assert types(content) <= {dict, list, tuple, str, int, bool, type(None)}


def test_graph_of_other_code_is_left_alone(record):
    with tf.Graph().as_default() as graph:
        expect(ValueError, "no operation 'net/c1/Conv2D'", call=lambda: decompose_graph(str(record)))
        build_net(width=96)
        count = len(graph.get_operations())
        expect(ValueError, "'net/c1/Conv2D' is not the convolution", "kernel shape is (3, 3, 96, 64)",
               call=lambda: decompose_graph(str(record)))
        assert len(graph.get_operations()) == count
    with tf.Graph().as_default():
        build_net(strides=1)
        expect(ValueError, "'net/c2/Conv2D'", "strides is (1, 1, 1, 1) in the graph, (1, 2, 2, 1) in the .pkl",
               call=lambda: decompose_graph(str(record)))
    with tf.Graph().as_default():
        build_net(partitions=2)
        expect(ValueError, "kernel variables", "part_0", call=lambda: decompose_graph(str(record)))


def test_graph_at_the_wrong_time(record):
    with tf.Graph().as_default():
        net = build_net()
        v1.train.AdamOptimizer().minimize(net.loss())
        expect(ValueError, "before the optimizer", call=lambda: decompose_graph(str(record)))
    with tf.Graph().as_default():
        build_net()
        decompose_graph(str(record))
        expect(ValueError, "decomposed already", call=lambda: decompose_graph(str(record)))
    expect(TypeError, "tf.Graph", call=lambda: decompose_graph(str(record), graph="net"))


def test_record_that_is_none(tmp_path):
    path = str(tmp_path / "net")
    expect(FileNotFoundError, "net.pkl", "auto_decomposition first", call=lambda: decompose_graph(path))
    for content in (b"", b"no pickle", pickle.dumps([1]), pickle.dumps({"format": "amct_tensorflow", "version": 1}),
                    pickle.dumps({"format": "amct_tensorflow", "version": 1, "convolutions": {"c": {}}})):
        (tmp_path / "net.pkl").write_bytes(content)
        expect(ValueError, "net.pkl", call=lambda: decompose_graph(path))


class Hostile:
    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return os.mkdir, (self.target,)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_hostile_record_runs_nothing(tmp_path, protocol):
    target = tmp_path / "made"
    (tmp_path / "net.pkl").write_bytes(pickle.dumps(Hostile(str(target)), protocol))
    expect(ValueError, "asks for", "mkdir", call=lambda: decompose_graph(str(tmp_path / "net")))
    assert not target.exists()


def test_command_line_shows_and_then_writes(tmp_path):
    prefix = make_model(tmp_path)
    dry = amct("decompose", f"{prefix}.meta", "--dry-run", cwd=tmp_path)
    assert dry.code == 0, dry.stderr
    assert "net/c1/Conv2D" in dry.stdout and "would be" in dry.stdout
    before = sorted(os.listdir(tmp_path))
    done = amct("decompose", f"{prefix}.meta", f"--save_path={tmp_path}/out/net", cwd=tmp_path)
    assert done.code == 0, done.stderr
    assert sorted(os.listdir(tmp_path)) == sorted([*before, "out"])
    old, new = load(prefix, ["logits:0"]), load(tmp_path / "out" / "net", ["logits:0"])
    np.testing.assert_allclose(new[0], old[0], rtol=1e-3, atol=1e-4 * np.abs(old[0]).max())


def test_refused_input_leaves_no_folder(tmp_path):
    prefix = make_model(tmp_path)
    os.remove(f"{prefix}.data-00000-of-00001")
    run = amct("decompose", f"{prefix}.meta", f"--save_path={tmp_path}/out/net", cwd=tmp_path)
    assert run.code == 1 and ".data-00000-of-00001" in run.stderr
    assert not (tmp_path / "out").exists()
