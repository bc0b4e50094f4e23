"""Broken deploy models are refused with a message; they never crash the check or the lowering."""
import copy
import random
import subprocess

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from test_quant_numerics import Net, conv_net, find_tool, quantize

MODELS = 60  # mutated from each base
SETTINGS = [0, -1, 5, 1.5, float("nan"), 1e30, "INT8", "INT16", "INT4", "x", [0], [1, 2, 3], [2.5]]
NAMES = ["group", "transB", "transA", "alpha", "dilations", "strides", "scale", "offset",
         "dst_type", "sqrt_mode", "relu_flag", "dtype", "round_mode"]
OPERATORS = ["Conv", "Gemm", "MatMul", "ConvTranspose", "AveragePool", "AscendQuant",
             "AscendDequant", "AscendAntiQuant", "Add", "Relu"]


def products():
    net = Net()
    x = net.layer("MatMul", "p", [net.input("x", [2, 6]), net.weight("w", [6, 5])])
    x = net.node("Add", "add", [x, net.weight("b", [5])])
    net.output(net.layer("Gemm", "g", [x, net.weight("v", [5, 3]), net.weight("c", [3])]), [2, 3])
    return net


BASES = {
    "products": products,
    "conv": lambda: conv_net([4, 2, 3], [1, 4, 9], group=2),
    "transposed": lambda: conv_net([4, 2, 3, 3], [1, 4, 5, 5], op="ConvTranspose", group=2, bits=16),
}


def change_attribute(rng, model, node):
    name = rng.choice(NAMES)
    kept = [a for a in node.attribute if a.name != name]
    del node.attribute[:]
    node.attribute.extend(kept + [helper.make_attribute(name, rng.choice(SETTINGS))])


def drop_attribute(rng, model, node):
    if node.attribute:
        del node.attribute[rng.randrange(len(node.attribute))]


def rewire(rng, model, node):
    values = [o for n in model.graph.node for o in n.output] + ["", "x"]
    values += [c.name for c in model.graph.initializer]
    node.input[rng.randrange(len(node.input))] = rng.choice(values)


def drop_input(rng, model, node):
    if len(node.input) > 1:
        del node.input[rng.randrange(len(node.input))]


def change_constant(rng, model, node):
    constant = rng.choice(model.graph.initializer)
    value = numpy_helper.to_array(constant)
    kind = rng.choice([np.int8, np.int32, np.uint64, np.float32, np.float64])
    changed = rng.choice([value.reshape(-1), value.reshape(-1)[:0], value[None], value.astype(kind)])
    constant.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(changed), constant.name))


def change_operator(rng, model, node):
    node.op_type = rng.choice(OPERATORS)


def change_opset(rng, model, node):
    model.opset_import[0].version = rng.choice([1, 6, 7, 8, 10, 22, 26])


MUTATIONS = [change_attribute, change_attribute, drop_attribute, rewire, drop_input,
             change_constant, change_operator, change_opset]


@pytest.mark.parametrize("base", BASES)
def test_mutated_deploy_models_are_judged(base, tmp_path):
    rng = random.Random(base)
    sound = onnx.load(quantize(BASES[base](), 13, tmp_path)[1])
    refused = 0
    for _ in range(MODELS):
        model = copy.deepcopy(sound)
        for _ in range(rng.randint(1, 3)):
            rng.choice(MUTATIONS)(rng, model, rng.choice(model.graph.node))
        (tmp_path / "mutated.onnx").write_bytes(model.SerializeToString())
        for arguments in (["lower", tmp_path / "lowered.onnx"], ["check"]):
            done = subprocess.run([find_tool(), tmp_path / "mutated.onnx", *arguments],
                                  capture_output=True, text=True)
            assert done.returncode in (0, 1), f"{model.graph.node}\n{done.stderr}"
            assert (done.returncode == 1) == bool(done.stderr), done.stderr
            refused += done.returncode
    assert refused > MODELS / 4
