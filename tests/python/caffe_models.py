"""Small Caffe networks for the tests: a definition as text, weights in Caffe's binary format, and OpenCV to run both."""

import cv2
import numpy as np

LAYER, V1_LAYER = 100, 2


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def blob(array, old=False):
    """A BlobProto with the type of the array; `old`: with the four numbers of early files as its shape."""
    array = np.asarray(array)
    if old:
        dims = (1,) * (4 - array.ndim) + array.shape
        shape = b"".join(varint(i + 1 << 3) + varint(n) for i, n in enumerate(dims))
    else:
        shape = field(7, field(1, b"".join(map(varint, array.shape))))
    if array.dtype == np.float16:
        return shape + varint(10 << 3) + varint(2) + field(12, array.tobytes())
    return shape + field({"float32": 5, "float64": 8}[array.dtype.name], array.tobytes())


def layer(name, blobs, v1=False, extra=b""):
    name_field, blob_field = (4, 6) if v1 else (1, 7)
    body = field(name_field, name.encode()) + b"".join(field(blob_field, blob(b, old=v1)) for b in blobs) + extra
    return field(V1_LAYER if v1 else LAYER, body)


def read_varint(message, at):
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(message):
    """The fields of a message as (number, bytes or int), read the slow and obvious way."""
    at, found = 0, []
    while at < len(message):
        tag, at = read_varint(message, at)
        if tag & 7 == 0:
            value, at = read_varint(message, at)
        else:
            size = {1: 8, 5: 4}.get(tag & 7)
            if size is None:
                size, at = read_varint(message, at)
            value = message[at : at + size]
            at += size
        found.append((tag >> 3, value))
    return found


def blob_array(message):
    parts = dict(fields(message))
    if 7 in parts:
        dims, packed, at = [], dict(fields(parts[7]))[1], 0
        while at < len(packed):
            dim, at = read_varint(packed, at)
            dims.append(dim)
    else:
        dims = [parts[i] for i in (1, 2, 3, 4)]
    kind, data = next((k, parts[n]) for n, k in ((5, "<f4"), (8, "<f8"), (12, "<f2")) if n in parts)
    return np.frombuffer(data, kind).reshape(dims)


def read_weights(path):
    """name -> list of arrays, of both kinds of layers."""
    weights = {}
    for number, content in fields(path.read_bytes()):
        if number in (LAYER, V1_LAYER):
            name_field, blob_field = (4, 6) if number == V1_LAYER else (1, 7)
            parts = fields(content)
            name = next((v for n, v in parts if n == name_field), b"").decode()
            weights[name] = [blob_array(v) for n, v in parts if n == blob_field]
    return weights


def low_rank(rng, cout, cin, kh, kw, rank, dtype=np.float32):
    """A kernel that is a sum of `rank` products of a column [Cin, KH] and a row [Cout, KW]."""
    first, last = rng.standard_normal((rank, cin, kh)), rng.standard_normal((cout, rank, kw))
    kernel = np.einsum("rik,orl->oikl", first, last)
    return (kernel / np.sqrt(rank * cin * kh)).astype(dtype)


class Network:
    """Definition and weights, grown layer by layer."""

    def __init__(self, channels=64, size=12, seed=0, v1=False):
        self.rng = np.random.default_rng(seed)
        self.shape = (1, channels, size, size)
        self.v1 = v1
        dims = " ".join(f"dim: {n}" for n in self.shape)
        if v1:
            self.text = 'name: "net"\ninput: "data"\n' + "".join(f"input_dim: {n}\n" for n in self.shape)
        else:
            self.text = (
                'name: "net"  # a comment\n'
                f'layer {{ name: "data" type: "Input" top: "data" input_param {{ shape {{ {dims} }} }} }}\n'
            )
        self.bytes = field(1, b"net")
        self.top = "data"

    def add(self, text, name=None, blobs=(), extra=b""):
        self.text += text
        if name:
            self.bytes += layer(name, blobs, self.v1, extra)
        return self

    def conv(self, name, weight, settings="pad: 1", bias=None, param="", bottom=None, top=None, stored=True):
        """`bias`: None for a random one, False for none."""
        weight = np.asarray(weight)
        cout, _, kh, kw = weight.shape
        blobs = [weight]
        if bias is None:
            blobs.append(self.rng.standard_normal(cout).astype(weight.dtype))
        else:
            settings += " bias_term: false"
        kernel = f"kernel_size: {kh}" if kh == kw else f"kernel_h: {kh} kernel_w: {kw}"
        kind = "layers { type: CONVOLUTION" if self.v1 else 'layer { type: "Convolution"'
        bottom, self.top = bottom or self.top, top or name
        text = (
            f'{kind} name: "{name}" bottom: "{bottom}" top: "{self.top}" {param}\n'
            f"  convolution_param {{ num_output: {cout} {kernel} {settings} }}\n}}\n"
        )
        return self.add(text, name if stored else None, blobs, b"" if self.v1 else field(2, b"Convolution"))

    def relu(self, name, in_place=True):
        kind = "layers { type: RELU" if self.v1 else 'layer { type: "ReLU"'
        top = self.top if in_place else name
        self.add(f'{kind} name: "{name}" bottom: "{self.top}" top: "{top}" }}\n')
        self.top = top
        return self

    def save(self, folder, stem="net"):
        model, weights = folder / f"{stem}.prototxt", folder / f"{stem}.caffemodel"
        model.write_text(self.text)
        weights.write_bytes(self.bytes)
        return model, weights


def run(model, weights, image, outputs=None):
    net = cv2.dnn.readNetFromCaffe(str(model), str(weights))
    net.setPreferableBackend(cv2.dnn.DNN_BACKEND_OPENCV)
    net.enableWinograd(False)  # less exact than what it is compared with
    net.setInput(image)
    if outputs is None:
        return [net.forward().copy()]
    return [array.copy() for array in net.forward(outputs)]


def image_for(network, seed=7):
    return np.random.default_rng(seed).standard_normal(network.shape).astype(np.float32)


def relative_error(got, wanted):
    return float(np.linalg.norm((got - wanted).ravel()) / np.linalg.norm(np.ravel(wanted)))
