"""The network of decompose_pytorch.py trained with tf.compat.v1, decomposed as files, and tuned again from its script."""

from __future__ import annotations

import os
import pathlib
import sys

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import tensorflow.compat.v1 as tf  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "build" / "release" / "python"), str(ROOT / "examples")]

from amct_tensorflow.tensor_decompose import auto_decomposition, decompose_graph  # noqa: E402
from fashion import MADE, images  # noqa: E402

MODEL = MADE / "fashion_tensorflow" / "net"
DECOMPOSED = MADE / "fashion_tensorflow_decomposed" / "net"
BATCH, LEARNING_RATE, TUNED = 128, 4e-3, 20000


def batch_norm(x: tf.Tensor, training: tf.Tensor) -> tf.Tensor:
    channels = x.shape[-1]
    scale = tf.get_variable("scale", [channels], initializer=tf.ones_initializer())
    shift = tf.get_variable("shift", [channels], initializer=tf.zeros_initializer())
    mean = tf.get_variable("mean", [channels], initializer=tf.zeros_initializer(), trainable=False)
    variance = tf.get_variable("variance", [channels], initializer=tf.ones_initializer(), trainable=False)
    now = tuple(tf.nn.moments(x, [0, 1, 2]))
    for kept, value in zip((mean, variance), now, strict=True):
        tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign(kept, 0.9 * kept + 0.1 * value))
    used = tf.cond(training, lambda: now, lambda: (tf.identity(mean), tf.identity(variance)))
    return tf.nn.batch_normalization(x, *used, shift, scale, 1e-5)


def build() -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Placeholders of pictures [n, 28, 28, 1] and of the mode, and the logits."""
    x = tf.placeholder(tf.float32, [None, 28, 28, 1], "x")
    training = tf.placeholder_with_default(False, [], "training")
    h = x
    for index, (outputs, stride) in enumerate(((64, 2), (128, 2), (256, 1), (512, 2))):
        with tf.variable_scope(f"block{index}"):
            kernel = tf.get_variable("kernel", [3, 3, h.shape[-1], outputs], initializer=tf.variance_scaling_initializer(2.0, seed=index))
            h = tf.nn.conv2d(h, kernel, stride, "SAME", name="conv")
            h = tf.nn.relu(batch_norm(h, training))
    weight = tf.get_variable("weight", [512, 10], initializer=tf.variance_scaling_initializer(2.0, seed=9))
    bias = tf.get_variable("bias", [10], initializer=tf.zeros_initializer())
    return x, training, tf.identity(tf.reduce_mean(h, [1, 2]) @ weight + bias, "logits")


class Training:
    """Loss and optimizer over a net that stands in the default graph."""

    def __init__(self, x: tf.Tensor, training: tf.Tensor, logits: tf.Tensor):
        self.x, self.training, self.logits = x, training, logits
        self.labels = tf.placeholder(tf.int64, [None])
        self.rate = tf.placeholder(tf.float32, [])
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.labels, logits=logits))
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            self.step = tf.train.AdamOptimizer(self.rate).minimize(loss)

    def run(self, session: tf.Session, count: int, rate: float, seed: int) -> None:
        """One pass over the first `count` pictures; the rate rises for a fifth of it, then falls to nothing."""
        pixels, labels = images("train")
        order = np.random.default_rng(seed).permutation(count)
        steps = count // BATCH
        for index in range(steps):
            chosen = order[index * BATCH : (index + 1) * BATCH]
            part = (index + 1) / steps
            feed = {self.x: pixels[chosen].transpose(0, 2, 3, 1), self.labels: labels[chosen], self.training: True,
                    self.rate: rate * min(part / 0.2, (1 - part) / 0.8 + 1e-3)}
            session.run(self.step, feed)


def accuracy(session: tf.Session, x: tf.Tensor, logits: tf.Tensor) -> float:
    """Percent of the 10,000 test pictures that are classified right."""
    pixels, labels = images("t10k")
    right = 0
    for start in range(0, len(labels), 500):
        found = session.run(logits, {x: pixels[start : start + 500].transpose(0, 2, 3, 1)}).argmax(1)
        right += int((found == labels[start : start + 500]).sum())
    return 100 * right / len(labels)


def train_or_load() -> None:
    """Leaves MODEL.meta and its checkpoint, optimizer included, as a training script does."""
    if MODEL.with_suffix(".meta").exists():
        return
    print("training the network with TensorFlow once; this takes some minutes")
    MODEL.parent.mkdir(parents=True, exist_ok=True)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(7)
        training = Training(*build())
        session.run(tf.global_variables_initializer())
        training.run(session, 60000, LEARNING_RATE, seed=7)
        tf.train.Saver().save(session, str(MODEL))


def measure_files(prefix: pathlib.Path) -> float:
    """Accuracy of a .meta and its checkpoint, as any user of the files would load them."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.train.import_meta_graph(f"{prefix}.meta").restore(session, str(prefix))
        return accuracy(session, graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("logits:0"))


def tune() -> float:
    """The training script once more: the net is built, decomposed, restored and trained on."""
    with tf.Graph().as_default(), tf.Session() as session:
        x, mode, logits = build()
        decompose_graph(str(DECOMPOSED))
        restored = tf.global_variables()
        saver = tf.train.Saver(restored)
        training = Training(x, mode, logits)
        session.run(tf.variables_initializer([v for v in tf.global_variables() if v not in restored]))
        saver.restore(session, str(DECOMPOSED))
        training.run(session, TUNED, LEARNING_RATE / 10, seed=8)
        return accuracy(session, x, logits)


def run() -> dict[str, float]:
    tf.disable_eager_execution()
    train_or_load()
    DECOMPOSED.parent.mkdir(parents=True, exist_ok=True)
    added = auto_decomposition(f"{MODEL}.meta", str(MODEL), str(DECOMPOSED))
    result = {"accuracy": measure_files(MODEL), "accuracy_decomposed": measure_files(DECOMPOSED), "accuracy_tuned": tune()}
    print(f"TensorFlow: {len(added) // 2} convolutions decomposed ({', '.join(added)})")
    print(f"  {'':26}{'original':>12}{'decomposed':>12}{'fine-tuned':>12}")
    print(f"  {'accuracy, %':26}" + "".join(f"{value:12.2f}" for value in result.values()))
    return result


if __name__ == "__main__":
    run()
