"""Compares ONNX messages after bringing tensors to one storage form."""
import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, ModelProto, TensorProto

_BYTE_WIDE = {
    getattr(TensorProto, name)
    for name in ("INT8", "UINT8", "BOOL", "INT4", "UINT4", "FLOAT4E2M1", "FLOAT8E4M3FN",
                 "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "FLOAT8E8M0", "INT2", "UINT2")
    if hasattr(TensorProto, name)
}
_DATA_FIELDS = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data")

# The field that belongs to an attribute without a type (IR version 1), and the type.
_KINDS = (("f", AttributeProto.FLOAT), ("i", AttributeProto.INT), ("s", AttributeProto.STRING),
          ("t", AttributeProto.TENSOR), ("g", AttributeProto.GRAPH),
          ("floats", AttributeProto.FLOATS), ("ints", AttributeProto.INTS),
          ("strings", AttributeProto.STRINGS))


def _raw_bytes(tensor):
    if tensor.float_data:
        return np.array(tensor.float_data, np.float32).tobytes()
    if tensor.double_data:
        return np.array(tensor.double_data, np.float64).tobytes()
    if tensor.int64_data:
        return np.array(tensor.int64_data, np.int64).tobytes()
    if tensor.uint64_data:
        wide = np.array(tensor.uint64_data, np.uint64)
        return wide.astype(np.uint32 if tensor.data_type == TensorProto.UINT32 else np.uint64).tobytes()
    values = np.array(tensor.int32_data, np.int32)
    if tensor.data_type == TensorProto.INT32:
        return values.tobytes()
    return values.astype(np.uint8 if tensor.data_type in _BYTE_WIDE else np.uint16).tobytes()


def normalise_tensor(tensor):
    """Raw form; the caller has brought external data in."""
    if tensor.data_type == TensorProto.STRING:
        return
    if not tensor.raw_data:
        tensor.raw_data = _raw_bytes(tensor)
    for field in _DATA_FIELDS:
        tensor.ClearField(field)
    tensor.ClearField("data_location")
    tensor.ClearField("external_data")


def normalise(message):
    """One storage form for all tensors, a type for all attributes, lists without order sorted."""
    if isinstance(message, TensorProto):
        normalise_tensor(message)
        return
    if isinstance(message, AttributeProto) and not message.type and not message.ref_attr_name:
        for field, kind in _KINDS:
            present = message.HasField(field) if len(field) == 1 else len(getattr(message, field))
            if present:
                message.type = kind
                break
    for field, value in message.ListFields():
        if field.type != field.TYPE_MESSAGE:
            continue
        for item in (value if hasattr(value, "__len__") else [value]):
            normalise(item)
    if isinstance(message, GraphProto):
        message.initializer.sort(key=lambda tensor: tensor.name)
        message.value_info.sort(key=lambda info: info.name)
    if isinstance(message, ModelProto):
        message.opset_import.sort(key=lambda opset: opset.domain)


def canonical(model):
    """Bytes that are equal for equal models; unknown fields count."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    normalise(copy)
    return copy.SerializeToString(deterministic=True)


def first_difference(left, right):
    """Where two models differ, for the message of a failed test."""
    texts = []
    for model in (left, right):
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        normalise(copy)
        texts.append(str(copy).splitlines())
    for number, (a, b) in enumerate(zip(*texts)):
        if a != b:
            return f"line {number}: {a!r} became {b!r}"
    return f"{len(texts[0])} lines became {len(texts[1])}, or unknown fields differ"
