"""Puts two convolutions in the place of one in a live graph. An operation cannot be taken out of a tf.Graph: the old ones
stay behind, unused, and their variables leave the collections."""

from __future__ import annotations

import math
from typing import NamedTuple

import tensorflow as _tensorflow

from .kernel import Kernel, find_kernel

tf = _tensorflow.compat.v1


class _Site(NamedTuple):
    op: tf.Operation
    entry: dict
    kernel: Kernel


def decompose(record: dict[str, dict], graph: tf.Graph | None) -> list[str]:
    """Checks everything first, so that a graph that does not fit stays as it is."""
    graph = tf.get_default_graph() if graph is None else graph
    if not isinstance(graph, tf.Graph):
        raise TypeError(f"graph is a {type(graph).__name__}, expected a tf.Graph or None")
    sites = [_match(graph, name, entry) for name, entry in record.items()]
    names = []
    pairs = {}
    _build_lazy_tensors(graph)
    with graph.as_default(), graph.control_dependencies(None), graph.name_scope(None):
        for site in sites:
            key = site.entry["first"]["variable"]
            if key not in pairs:
                pairs[key] = _add_variables(graph, site)
            names += _replace(graph, site, pairs[key])
        dead = {site.op for site in sites}
        done = set()
        for site in sites:
            key = site.entry["first"]["variable"]
            if key not in done:
                done.add(key)
                kernels = [other.kernel for other in sites if other.entry["first"]["variable"] == key]
                _redirect_readers(kernels, site.entry, pairs[key], dead)
    return names


def _match(graph: tf.Graph, name: str, entry: dict) -> _Site:
    try:
        op = graph.get_operation_by_name(name)
    except KeyError:
        raise ValueError(f"the graph has no operation '{name}'; the files given to auto_decomposition must come from "
                         "this code") from None
    for new in (entry["first"], entry["last"]):
        for taken in (new["name"], new["variable"]):
            if _has(graph, taken):
                raise ValueError(f"the graph already has '{taken}': it is decomposed already")
    original = entry["original"]
    problems = []

    def compare(what, found, wanted):
        if found != wanted:
            problems.append(f"{what} is {found} in the graph, {wanted} in the .pkl")

    compare("its operation", op.type, "Conv2D")
    if not problems:
        compare("data_format", _text(op, "data_format"), entry["data_format"])
        compare("padding", _text(op, "padding"), entry["padding"])
        compare("strides", tuple(op.get_attr("strides")), original["strides"])
        compare("dilations", tuple(op.get_attr("dilations")), original["dilations"])
        compare("explicit_paddings", tuple(op.get_attr("explicit_paddings")), original["explicit_paddings"])
        shape = op.inputs[1].shape
        compare("kernel shape", tuple(shape.as_list()) if shape.rank is not None else None, original["kernel_shape"])
    kernel = find_kernel(op) if not problems else None
    if kernel is not None:
        compare("kernel variables", [variable.name for variable in kernel.variables], original["variables"])
    elif not problems:
        problems.append("its kernel is no variable")
    if problems:
        raise ValueError(f"'{name}' is not the convolution that auto_decomposition saw: " + "; ".join(problems))
    if op._get_control_flow_context() is not None:
        raise ValueError(f"'{name}' is inside tf.cond or tf.while_loop")
    if any(consumer.type == "Conv2DBackpropInput" for consumer in op.inputs[1].consumers()):
        raise ValueError(f"'{name}' already has a gradient; call decompose_graph before the optimizer's minimize")
    return _Site(op, entry, kernel)


def _build_lazy_tensors(graph: tf.Graph) -> None:
    """get_variable leaves weight decay to be built when it is first asked for, which would then read the old kernels."""
    with graph.as_default():
        for key in graph.get_all_collection_keys():
            items = graph.get_collection_ref(key)
            items[:] = [tf.convert_to_tensor(item) if type(item).__name__ == "_LazyEvalTensor" else item for item in items]


def _has(graph: tf.Graph, name: str) -> bool:
    try:
        graph.get_operation_by_name(name)
    except KeyError:
        return False
    return True


def _text(op: tf.Operation, name: str) -> str:
    value = op.get_attr(name)
    return value.decode() if isinstance(value, bytes) else value


def _add_variables(graph: tf.Graph, site: _Site) -> list[tf.Variable]:
    """New variables stand where the old ones stood, in every collection."""
    names = {variable.name for variable in site.kernel.variables}
    old = [item for key in graph.get_all_collection_keys() for item in graph.get_collection_ref(key)
           if isinstance(item, _tensorflow.Variable) and item.op.name in names]
    trainable = any(variable.trainable for variable in old)
    keys = [key for key in graph.get_all_collection_keys()
            if any(isinstance(item, _tensorflow.Variable) and item.op.name in names for item in graph.get_collection_ref(key))]
    new = []
    with graph.device(site.kernel.variables[0].device):
        for part in (site.entry["first"], site.entry["last"]):
            new.append(_add_variable(part, site.entry, trainable))
    for key in graph.get_all_collection_keys():
        items = graph.get_collection_ref(key)
        rest = []
        for item in items:
            if isinstance(item, _tensorflow.Variable) and item.op.name in names:
                rest += [variable for variable in new if not any(variable is other for other in rest)]
            elif not any(item is variable for variable in new) or key not in keys:
                rest.append(item)
        items[:] = rest
    return new


def _add_variable(part: dict, entry: dict, trainable: bool) -> tf.Variable:
    shape = part["kernel_shape"]
    dtype = tf.as_dtype(entry["dtype"])
    deviation = 1 / math.sqrt(shape[0] * shape[1] * shape[2])
    variable = tf.Variable(lambda: tf.truncated_normal(shape, stddev=deviation, dtype=dtype), trainable=trainable,
                           collections=[], name=part["variable"], dtype=dtype, use_resource=entry["resource"])
    if variable.op.name != part["variable"]:
        raise RuntimeError(f"the new variable is called '{variable.op.name}' instead of '{part['variable']}'")
    return variable


def _replace(graph: tf.Graph, site: _Site, pair: list[tf.Variable]) -> list[str]:
    op = site.op
    with graph.device(op.device):
        with graph.control_dependencies(op.control_inputs):
            first = _add_convolution(op, op.inputs[0], pair[0], site.entry, site.entry["first"])
        last = _add_convolution(op, first, pair[1], site.entry, site.entry["last"])
    _replace_tensor(op.outputs[0], last)
    for reader in list(op._control_outputs):
        others = [other for other in reader.control_inputs if other is not op]
        reader._remove_all_control_inputs()
        reader._add_control_inputs([*others, last.op])
    for key in graph.get_all_collection_keys():
        items = graph.get_collection_ref(key)
        items[:] = [last if item is op.outputs[0] else item for item in items]
    return [first.op.name, last.op.name]


def _add_convolution(op: tf.Operation, inputs, variable: tf.Variable, entry: dict, part: dict):
    kernel = tf.convert_to_tensor(variable)
    if kernel.dtype.base_dtype != inputs.dtype.base_dtype:
        kernel = tf.cast(kernel, inputs.dtype.base_dtype)
    return tf.raw_ops.Conv2D(input=inputs, filter=kernel, strides=list(part["strides"]), padding=entry["padding"],
                             use_cudnn_on_gpu=op.get_attr("use_cudnn_on_gpu"),
                             explicit_paddings=list(part["explicit_paddings"]), data_format=entry["data_format"],
                             dilations=list(part["dilations"]), name=part["name"])


def _replace_tensor(old: tf.Tensor, new: tf.Tensor, keep: set = frozenset()) -> None:
    for reader in list(old.consumers()):
        if reader in keep:
            continue
        for index, tensor in enumerate(reader.inputs):
            if tensor is old:
                reader._update_input(index, new)


def _redirect_readers(kernels: list[Kernel], entry: dict, pair: list[tf.Variable], dead: set) -> None:
    """What else reads the old kernel (weight decay, summaries) reads the product of the new ones."""
    path = [op for kernel in kernels for op in kernel.path]
    while True:
        more = {op for op in path if op not in dead and all(reader in dead for reader in op.outputs[0].consumers())}
        if not more:
            break
        dead |= more
    product = None
    kernel = kernels[0]
    joints = {other.joint for other in kernels if other.joint is not None and other.joint not in dead}
    jobs = [(joint.outputs[0], None) for joint in joints]
    for part, variable in enumerate(kernel.variables):
        for read in variable.outputs[0].consumers():
            if read.type in ("Identity", "ReadVariableOp") and read not in dead:
                jobs.append((read.outputs[0], part))
    for tensor, part in jobs:
        readers = [reader for reader in tensor.consumers() if reader not in dead and reader not in joints]
        if not readers:
            continue
        if product is None:
            product = _product(entry, pair)
        value = product if part is None or len(kernel.variables) == 1 else kernel.cut(product, part)
        _replace_tensor(tensor, value, keep=dead | joints)


def _product(entry: dict, pair: list[tf.Variable]) -> tf.Tensor:
    """The kernel [height, width, in, out] that the two convolutions stand for."""
    height, width, channels, out = entry["original"]["kernel_shape"]
    rank = entry["rank"]
    tall = entry["first"]["kernel_shape"][1] == 1
    inner, outer = (height, width) if tall else (width, height)
    first = tf.reshape(tf.convert_to_tensor(pair[0]), [inner * channels, rank])
    last = tf.transpose(tf.reshape(tf.convert_to_tensor(pair[1]), [outer, rank, out]), [1, 0, 2])
    whole = tf.reshape(tf.matmul(first, tf.reshape(last, [rank, outer * out])), [inner, channels, outer, out])
    return tf.transpose(whole, [0, 2, 1, 3] if tall else [2, 0, 1, 3])
