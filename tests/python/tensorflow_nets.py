"""A small network of TensorFlow 1's style, as scripts build, train and save it."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
v1.disable_eager_execution()
v1.disable_control_flow_v2()

IMAGES = np.random.default_rng(0).standard_normal((4, 12, 12, 3)).astype(np.float32)
LABELS = np.array([0, 1, 2, 3])
# Variables on several devices go to several shards of a checkpoint.
CONFIG = v1.ConfigProto(device_count={"CPU": 3}, intra_op_parallelism_threads=2)


class Net(NamedTuple):
    images: tf.Tensor
    labels: tf.Tensor
    logits: tf.Tensor

    def loss(self):
        entropy = v1.losses.sparse_softmax_cross_entropy(self.labels, self.logits)
        decay = tf.identity(v1.losses.get_regularization_loss(), name="decay")
        return tf.add(tf.cast(entropy, decay.dtype), decay, name="loss")


def low_rank(shape, rank=6):
    """A kernel that two convolutions of `rank` channels in between are equal to, in either order of the axes."""
    random = np.random.default_rng(sum(shape))
    height, width, inputs, outputs = shape
    tall, wide = random.standard_normal((height, rank)), random.standard_normal((width, rank))
    left, right = random.standard_normal((inputs, rank)), random.standard_normal((rank, outputs))
    kernel = np.einsum("hr,wr,ir,ro->hwio", tall, wide, left, right)
    return (kernel / np.sqrt(height * width * inputs * rank)).astype(np.float32)


def build_net(resource=False, partitions=1, width=64, strides=2, dtype=tf.float32, training_switch=False, devices=None):
    """Three convolutions, of which c1 and c2 are wide enough to be decomposed. `devices` holds variables."""
    places = iter((devices or [""]) * 20)

    def variable(name, shape, **options):
        with tf.device(next(places)):
            value = v1.get_variable(name, shape, dtype, collections=[
                v1.GraphKeys.GLOBAL_VARIABLES, v1.GraphKeys.MODEL_VARIABLES], **options)
        return tf.convert_to_tensor(value)

    def layer(x, name, channels, strides):
        with v1.variable_scope(name):
            kernel = variable("kernel", [3, 3, x.shape[-1], channels],
                              partitioner=v1.fixed_size_partitioner(partitions, 2) if partitions > 1 and name != "c0" else None,
                              regularizer=lambda value: 1e-4 * tf.nn.l2_loss(value))
            bias = variable("bias", [channels], initializer=v1.zeros_initializer())
            return tf.nn.bias_add(tf.nn.conv2d(x, kernel, strides, "SAME", name="Conv2D"), bias)

    images = v1.placeholder(tf.float32, [None, 12, 12, 3], name="x")
    labels = v1.placeholder_with_default(np.arange(4), [None], name="labels")
    with v1.variable_scope("net", use_resource=resource):
        x = tf.nn.relu(layer(tf.cast(images, dtype), "c0", width, 1))
        x = layer(x, "c1", 64, 1)
        if training_switch:
            training = v1.placeholder_with_default(True, [], name="training")
            x = v1.cond(training, lambda: x * 1.0, lambda: x + 0.0)
        x = layer(tf.nn.relu(x), "c2", 80, strides)
        logits = tf.cast(tf.reduce_mean(x, [1, 2]), tf.float32, name="logits_cast")
    return Net(images, labels, tf.identity(logits, name="logits"))


def train_and_save(prefix, shards=1, averages=False, clip=False, **options):
    """A few steps of Adam, then kernels of low rank, then Saver.save with everything."""
    devices = [f"/cpu:{i}" for i in range(shards)] if shards > 1 else None
    with tf.Graph().as_default():
        net = build_net(devices=devices, **options)
        loss = net.loss()
        for variable in v1.trainable_variables():
            v1.summary.histogram(variable.op.name, variable)
        optimizer = v1.train.AdamOptimizer(1e-3)
        pairs = optimizer.compute_gradients(loss)
        if clip:
            gradients, _ = tf.clip_by_global_norm([gradient for gradient, _ in pairs], 5.0)
            pairs = list(zip(gradients, [variable for _, variable in pairs]))
        train = optimizer.apply_gradients(pairs, v1.train.get_or_create_global_step())
        if averages:
            with tf.control_dependencies([train]):
                train = v1.train.ExponentialMovingAverage(0.9).apply(v1.trainable_variables())
        v1.summary.scalar("loss_value", loss)
        v1.summary.merge_all()
        v1.report_uninitialized_variables(name="report")
        tf.identity(v1.report_uninitialized_variables(), name="ready")
        initializer = v1.global_variables_initializer()
        saver = v1.train.Saver(sharded=shards > 1)
        with v1.Session(config=CONFIG) as session:
            session.run(initializer)
            for _ in range(2):
                session.run(train, {net.images: IMAGES, net.labels: LABELS})
            load_low_rank(session)
            saver.save(session, str(prefix))


def load_low_rank(session):
    """Whole kernels, cut along the input channels where they are partitioned."""
    wholes = {}
    for variable in v1.trainable_variables():
        name = variable.op.name
        if name.endswith("kernel"):
            wholes[name] = [variable]
        elif "/kernel/part_" in name:
            wholes.setdefault(name.rpartition("/part_")[0], []).append(variable)
    for name, parts in wholes.items():
        shapes = [part.shape.as_list() for part in parts]
        whole = low_rank((*shapes[0][:2], sum(shape[2] for shape in shapes), shapes[0][3]))
        start = 0
        for part, shape in zip(parts, shapes):
            part.load(whole[:, :, start:start + shape[2]].astype(part.dtype.as_numpy_dtype), session)
            start += shape[2]
