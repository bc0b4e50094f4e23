"""From a Conv2D operation of a live graph to the variables that hold its kernel."""

from __future__ import annotations

from dataclasses import dataclass, field

import tensorflow as tf

_VARIABLES = ("VariableV2", "Variable", "VarHandleOp")


@dataclass
class Kernel:
    """Operations: the variables, those on the way to the convolution, and the ConcatV2 of a partitioned kernel."""

    variables: list[tf.Operation] = field(default_factory=list)
    path: list[tf.Operation] = field(default_factory=list)
    joint: tf.Operation | None = None
    axis: int = 0

    def cut(self, whole: tf.Tensor, part: int) -> tf.Tensor:
        """The part of the whole kernel that one of its variables held."""
        shapes = [_shape(variable) for variable in self.variables]
        begin = [0] * len(shapes[part])
        begin[self.axis] = sum(shape[self.axis] for shape in shapes[:part])
        return tf.slice(whole, begin, shapes[part])


def find_kernel(conv: tf.Operation) -> Kernel | None:
    """None when the kernel is no variable, nor variables joined by one ConcatV2."""
    kernel = Kernel()
    op = conv.inputs[1].op
    while op.type in ("Identity", "Cast", "ReadVariableOp"):
        kernel.path.append(op)
        op = op.inputs[0].op
    if op.type in _VARIABLES:
        kernel.variables.append(op)
        return kernel
    if op.type != "ConcatV2":
        return None
    kernel.joint = op
    kernel.path.append(op)
    *parts, axis = op.inputs
    value = tf.get_static_value(axis)
    if value is None:
        return None
    kernel.axis = int(value)
    for part in parts:
        op = part.op
        while op.type in ("Identity", "ReadVariableOp"):
            kernel.path.append(op)
            op = op.inputs[0].op
        if op.type not in _VARIABLES:
            return None
        kernel.variables.append(op)
    return kernel


def _shape(variable: tf.Operation) -> list[int]:
    return [dim.size for dim in variable.get_attr("shape").dim]
