"""The NPU's arithmetic in plain numpy, slow and obvious: what a deploy model means."""
import itertools

import numpy as np
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun


def pads_of(auto_pad, pads, size, kernel, strides, dilations):
    """Padding [(begin, end)] of a convolution over the spatial size."""
    rank = len(size)
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        result = []
        for n, k, s, d in zip(size, kernel, strides, dilations):
            total = max(0, (-(-n // s) - 1) * s + d * (k - 1) + 1 - n)
            small, large = total // 2, total - total // 2
            result.append((small, large) if auto_pad == "SAME_UPPER" else (large, small))
        return result
    if auto_pad == "VALID" or not pads:
        return [(0, 0)] * rank
    return list(zip(pads[:rank], pads[rank:]))


def conv(x, w, strides, dilations, pads, groups):
    """Convolution in float64; x and w hold integers."""
    kernel = w.shape[2:]
    x = np.pad(x, [(0, 0), (0, 0)] + list(pads))
    out = [(n - d * (k - 1) - 1) // s + 1
           for n, k, s, d in zip(x.shape[2:], kernel, strides, dilations)]
    y = np.zeros([x.shape[0], w.shape[0]] + out)
    cin, cout = w.shape[1], w.shape[0] // groups
    for at in itertools.product(*map(range, kernel)):
        part = tuple(slice(a * d, a * d + s * (o - 1) + 1, s)
                     for a, d, s, o in zip(at, dilations, strides, out))
        for g in range(groups):
            data = x[(slice(None), slice(g * cin, (g + 1) * cin)) + part]
            weight = w[(slice(g * cout, (g + 1) * cout), slice(None)) + at]
            y[:, g * cout:(g + 1) * cout] += np.einsum("nc...,oc->no...", data, weight)
    return y


def conv_transpose(x, w, attributes):
    """Transposed convolution in float64: every input element is scattered to the output."""
    kernel, rank = w.shape[2:], w.ndim - 2
    groups = attributes.get("group", 1)
    strides = attributes.get("strides", [1] * rank)
    extra = attributes.get("output_padding", [0] * rank)
    auto_pad = attributes.get("auto_pad", "NOTSET")
    full = [(n - 1) * s + k for n, s, k in zip(x.shape[2:], strides, kernel)]
    if "output_shape" in attributes or auto_pad.startswith("SAME"):
        shape = attributes.get("output_shape", [n * s for n, s in zip(x.shape[2:], strides)])
        begin = []
        for f, e, o in zip(full, extra, shape):
            total = max(0, f + e - o)
            begin.append(total // 2 if auto_pad == "SAME_UPPER" else total - total // 2)
    else:
        pads = attributes.get("pads", [0] * 2 * rank) if auto_pad != "VALID" else [0] * 2 * rank
        begin = pads[:rank]
        shape = [f + e - b - t for f, e, b, t in zip(full, extra, begin, pads[rank:])]
    cin, cout = x.shape[1] // groups, w.shape[1]
    whole = np.zeros([x.shape[0], cout * groups] + [f + e for f, e in zip(full, extra)])
    for at in itertools.product(*map(range, kernel)):
        part = tuple(slice(a, a + s * (n - 1) + 1, s)
                     for a, s, n in zip(at, strides, x.shape[2:]))
        for g in range(groups):
            data = x[:, g * cin:(g + 1) * cin]
            weight = w[(slice(g * cin, (g + 1) * cin), slice(None)) + at]
            whole[(slice(None), slice(g * cout, (g + 1) * cout)) + part] += np.einsum(
                "nc...,co->no...", data, weight)
    return whole[(slice(None), slice(None)) +
                 tuple(slice(b, b + o) for b, o in zip(begin, shape))]


class Device:
    """Computes a deploy model as the NPU does."""

    def __init__(self, model):
        device = self
        self.integers = []  # of every AscendQuant, in order
        self.peak = 0.0  # largest |sum| that may occur in any layer

        class AscendQuant(OpRun):
            op_domain = ""

            def _run(self, x, scale=None, offset=None, dst_type=None):
                bits = {"INT8": 8, "INT16": 16}[dst_type]
                scaled = x * np.float32(scale)
                assert scaled.dtype == np.float32
                q = np.clip(np.rint(scaled).astype(np.float64) + offset, -2 ** (bits - 1),
                            2 ** (bits - 1) - 1)
                device.integers.append(q)
                return (q - offset,)  # so that padding is zero

        class AscendDequant(OpRun):
            op_domain = ""

            def _run(self, x, packed, dtype=None):
                assert dtype == 0 and packed.dtype == np.uint64 and np.all(packed < 1 << 32)
                scale = packed.astype(np.uint32).view(np.float32)
                if len(scale) > 1:
                    scale = scale.reshape([1, -1] + [1] * (x.ndim - 2))
                return (x.astype(np.float32) * scale,)

        def layer(op_type, compute):
            def run(self, x, w, *bias, **_):
                attributes = {a.name: attribute_value(a) for a in self.onnx_node.attribute}
                if x.dtype != np.float64:  # not quantized
                    assert w.dtype == np.float32
                    return (compute(x, w, bias, attributes).astype(np.float32),)
                assert w.dtype == np.int8
                assert all(b.dtype == np.int32 for b in bias)
                w = w.astype(np.float64)
                bias = [b.astype(np.float64) for b in bias]
                bound = compute(np.abs(x), np.abs(w), [np.abs(b) for b in bias], attributes)
                device.peak = max(device.peak, float(bound.max(initial=0)))
                return (compute(x, w, bias, attributes),)

            return type(op_type, (OpRun,), {"op_domain": "", "_run": run})

        class Add(OpRun):
            op_domain = ""

            def _run(self, a, b):
                if np.float64 in (a.dtype, b.dtype):
                    assert np.int32 in (a.dtype, b.dtype)
                    device.peak += float(max(np.abs(v).max() for v in (a, b) if v.dtype == np.int32))
                return (a + b,)

        self.session = ReferenceEvaluator(model, new_ops=[
            AscendQuant, AscendDequant, Add, layer("Conv", conv_layer),
            layer("ConvTranspose", conv_transpose_layer), layer("Gemm", gemm_layer),
            layer("MatMul", lambda x, w, bias, attributes: x @ w)])

    def run(self, feeds):
        self.integers.clear()
        return self.session.run(None, feeds)


def attribute_value(attribute):
    from onnx import helper
    value = helper.get_attribute_value(attribute)
    return value.decode() if isinstance(value, bytes) else value


def with_bias(y, bias):
    for b in bias:
        y = y + b.reshape([1, -1] + [1] * (y.ndim - 2))
    return y


def conv_layer(x, w, bias, attributes):
    rank = w.ndim - 2
    strides = attributes.get("strides", [1] * rank)
    dilations = attributes.get("dilations", [1] * rank)
    pads = pads_of(attributes.get("auto_pad", "NOTSET"), attributes.get("pads"), x.shape[2:],
                   w.shape[2:], strides, dilations)
    return with_bias(conv(x, w, strides, dilations, pads, attributes.get("group", 1)), bias)


def conv_transpose_layer(x, w, bias, attributes):
    return with_bias(conv_transpose(x, w, attributes), bias)


def gemm_layer(x, w, bias, attributes):
    assert set(attributes) <= {"alpha", "beta", "transA"}
    y = x @ w
    return y + bias[0] if bias else y
