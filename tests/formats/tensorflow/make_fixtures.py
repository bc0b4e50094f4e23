"""Writes data/: small files of TensorFlow's own making. Run again only to change them; bytes differ from run to run.

python tests/formats/tensorflow/make_fixtures.py
"""

import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
v1.disable_eager_execution()
DATA = pathlib.Path(__file__).parent / "data"


def train():
    """A partitioned reference kernel and a resource kernel on three devices, with momentum: three shards."""
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [1, 6, 6, 4], name="x")
        with tf.device("/cpu:1"):
            joint = v1.get_variable("a/kernel", [3, 3, 4, 6], partitioner=v1.fixed_size_partitioner(2, 2),
                                    use_resource=False)
        with tf.device("/cpu:2"):
            plain = v1.get_variable("b/kernel", [3, 3, 6, 4], use_resource=True)
        y = tf.nn.conv2d(x, tf.convert_to_tensor(joint), 1, "SAME", name="a/Conv2D")
        y = tf.nn.bias_add(tf.nn.conv2d(y, plain, 2, "VALID", name="b/Conv2D"), v1.get_variable("bias", [4]))
        step = v1.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_mean(y, name="loss"))
        saver = v1.train.Saver(sharded=True)
        with v1.Session(config=v1.ConfigProto(device_count={"CPU": 3})) as session:
            session.run(v1.global_variables_initializer())
            session.run(step, {x: np.ones([1, 6, 6, 4])})
            for i, part in enumerate(joint):
                part.load(np.arange(108).reshape(3, 3, 2, 6) + 1000.0 * i, session)
            saver.save(session, str(DATA / "train"))


def types():
    """One tensor of each type."""
    kinds = ["float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
             "uint64", "bool", "complex64", "complex128"]
    with tf.Graph().as_default():
        values = {kind: tf.cast(tf.constant([[0, 1, 2], [3, 4, 5]]), kind) for kind in kinds}
        values["string"] = tf.constant(["", "text", "x" * 300])
        values["empty"] = tf.zeros([0, 3])
        values["scalar"] = tf.constant(7.0)
        values["variant"] = tf.raw_ops.TensorListFromTensor(tensor=tf.ones([2, 2]), element_shape=tf.constant([2]))
        save = tf.raw_ops.SaveV2(prefix=str(DATA / "types"), tensor_names=list(values),
                                 shape_and_slices=[""] * len(values), tensors=list(values.values()))
        with v1.Session() as session:
            session.run(save)


train()
types()
for file in DATA.iterdir():
    if file.name == "checkpoint":
        file.unlink()
