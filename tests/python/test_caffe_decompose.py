"""Tensor decomposition of Caffe networks: OpenCV runs the original and the result and must agree."""

import os

import cv2
import numpy as np
import pytest
from caffe_models import Network, image_for, layer, low_rank, read_weights, relative_error, run

from amct_caffe.tensor_decompose import auto_decomposition
from amct_core import _native

FULL_RANK = {"rule": _native.RankRule.RATIO, "value": 1.0}


def decompose(network, folder, **settings):
    """Result files and layer results; with settings, those of the compiled module."""
    files = [*network.save(folder), folder / "new.prototxt", folder / "new.caffemodel"]
    options = _native.Options()
    for name, value in settings.items():
        setattr(options, name, value)
    results = _native.decompose_caffe(*map(str, files), options)
    return files[2], files[3], {result.name: result for result in results}


def agree(network, folder, tolerance, outputs=None, **settings):
    model, weights, results = decompose(network, folder, **settings)
    image = image_for(network)
    wanted = run(folder / "net.prototxt", folder / "net.caffemodel", image, outputs)
    got = run(model, weights, image, outputs)
    for a, b in zip(got, wanted):
        assert a.shape == b.shape
        assert relative_error(a, b) < tolerance
    return model, weights, results


@pytest.mark.parametrize("v1", [False, True], ids=["layer", "layers"])
@pytest.mark.parametrize(
    "cout, cin, kh, kw, settings, mode",
    [
        (80, 64, 3, 3, "pad: 1", "SCFK"),
        (64, 80, 3, 3, "pad: 1 stride: 2", "FCFK"),
        (80, 64, 5, 3, "pad_h: 2 pad_w: 1 stride_h: 2 stride_w: 1", "SCSK"),
        (64, 80, 5, 3, "pad_h: 1 pad_w: 0", "FCSK"),
        (64, 64, 3, 5, "pad: 0 pad: 2 stride: 1 stride: 2", "SCFK"),
        (16, 16, 7, 7, "", "SCFK"),
    ],
)
def test_full_rank_is_equal(tmp_path, cout, cin, kh, kw, settings, mode, v1):
    network = Network(channels=cin, v1=v1)
    weight = (network.rng.standard_normal((cout, cin, kh, kw)) / np.sqrt(cin * kh * kw)).astype(np.float32)
    network.conv("c", weight, settings).relu("r")
    model, weights, results = agree(network, tmp_path, 2e-6, **FULL_RANK, min_speedup=0)
    assert results["c"].mode == getattr(_native.Mode, mode)
    stored = read_weights(weights)
    assert list(stored) == ["c_0", "c_1"]
    rank = results["c"].rank
    assert rank == min(kh, kw) * min(cin, cout)
    first, last = ((kh, 1), (1, kw)) if mode in ("SCFK", "FCSK") else ((1, kw), (kh, 1))
    assert [blob.shape for blob in stored["c_0"]] == [(rank, cin, *first)]
    assert stored["c_1"][0].shape == (cout, rank, *last)
    np.testing.assert_array_equal(stored["c_1"][1], read_weights(tmp_path / "net.caffemodel")["c"][1])


def test_default_rank_keeps_what_low_rank_weights_compute(tmp_path):
    network = Network(channels=64)
    network.conv("c1", low_rank(network.rng, 128, 64, 3, 3, 10)).relu("r1")
    network.conv("c2", low_rank(network.rng, 128, 128, 3, 3, 12), "pad: 1 stride: 2", bias=False).relu("r2")
    files = [*network.save(tmp_path), tmp_path / "new.prototxt", tmp_path / "new.caffemodel"]
    assert auto_decomposition(*map(str, files)) is None
    image = image_for(network)
    assert relative_error(run(*files[2:], image)[0], run(*files[:2], image)[0]) < 1e-5
    assert os.path.getsize(files[3]) < 0.45 * os.path.getsize(files[1])
    assert list(read_weights(files[3])) == ["c1_0", "c1_1", "c2_0", "c2_1"]


def test_layers_that_do_not_qualify_stay_with_a_reason(tmp_path):
    """D1."""
    network = Network(channels=64)
    rng = network.rng
    network.conv("dilated", low_rank(rng, 64, 64, 3, 3, 8), "pad: 2 dilation: 2")
    network.conv("grouped", low_rank(rng, 64, 32, 3, 3, 8), "pad: 1 group: 2")
    network.conv("depthwise", low_rank(rng, 64, 1, 3, 3, 1), "pad: 1 group: 64")
    network.conv("pointwise", low_rank(rng, 64, 64, 1, 1, 8), "")
    network.conv("flat", low_rank(rng, 64, 64, 1, 3, 8), "pad_w: 1")
    network.conv("narrow", low_rank(rng, 32, 64, 3, 3, 8), "pad: 1")
    network.conv("wide", low_rank(rng, 64, 32, 3, 3, 8), "pad: 1")
    network.conv("strided", low_rank(rng, 64, 64, 3, 3, 8), "pad: 1 stride: 3")
    network.conv("good", low_rank(rng, 64, 64, 3, 3, 8))
    _, weights, results = agree(network, tmp_path, 1e-5)
    for name in ("dilated", "grouped", "depthwise", "pointwise", "flat", "narrow", "wide", "strided"):
        assert results[name].mode == _native.Mode.UNCHANGE
        assert results[name].reason
    assert results["good"].mode == _native.Mode.SCFK
    old, new = read_weights(tmp_path / "net.caffemodel"), read_weights(weights)
    assert set(new) == set(old) - {"good"} | {"good_0", "good_1"}
    for name in set(new) & set(old):
        for a, b in zip(old[name], new[name]):
            np.testing.assert_array_equal(a, b)


def test_rank_one_and_zero_kernels(tmp_path):
    """D2."""
    network = Network(channels=64)
    network.conv("one", low_rank(network.rng, 64, 64, 3, 3, 1))
    network.conv("zero", np.zeros((64, 64, 3, 3), np.float32))
    _, _, results = agree(network, tmp_path, 1e-5, outputs=["one", "zero"])
    assert results["one"].mode == _native.Mode.SCFK
    assert results["zero"].mode == _native.Mode.UNCHANGE
    assert results["zero"].reason


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_non_finite_kernel_names_the_layer(tmp_path, value):
    """D2."""
    network = Network(channels=64)
    weight = low_rank(network.rng, 64, 64, 3, 3, 8)
    weight[3, 2, 1, 0] = value
    network.conv("broken", weight)
    with pytest.raises(ValueError, match="'broken'"):
        decompose(network, tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["net.caffemodel", "net.prototxt"]


def shared_network(**second):
    network = Network(channels=64)
    weight = low_rank(network.rng, 64, 64, 3, 3, 8)
    bias = network.rng.standard_normal(64).astype(np.float32)
    param = 'param { name: "w" lr_mult: 1 } param { name: "b" lr_mult: 2 }'
    for name, settings in (("a", "pad: 1"), ("b", second.get("settings", "pad: 1 stride: 2"))):
        network.conv(name, weight, settings, param=param, stored=False)
        network.bytes += layer(name, [second.get("weight", weight) if name == "b" else weight, bias])
    return network


def test_shared_weights_stay_shared(tmp_path):
    """D3, D6."""
    model, weights, results = agree(shared_network(), tmp_path, 1e-5, outputs=["a", "b"])
    assert results["b"].shares_with == 0
    stored = read_weights(weights)
    for half in ("0", "1"):
        for a, b in zip(stored[f"a_{half}"], stored[f"b_{half}"]):
            np.testing.assert_array_equal(a, b)
    text = model.read_text()
    for name in ("w_0", "w_1", "b"):
        assert text.count(f'name: "{name}" lr_mult') == 2
    assert 'name: "w"' not in text


@pytest.mark.parametrize(
    "second, reason",
    [({"settings": "pad: 1 stride: 3"}, "shared with layer 'b'"), ({"weight": None}, "holds different ones")],
    ids=["other layer stays", "different values"],
)
def test_shared_weights_are_decomposed_together_or_not_at_all(tmp_path, second, reason):
    if "weight" in second:
        second = {"weight": low_rank(np.random.default_rng(5), 64, 64, 3, 3, 8)}
    network = shared_network(**second)
    _, _, results = agree(network, tmp_path, 1e-7, outputs=["a", "b"])
    assert reason in results["a"].reason
    assert results["b"].mode == _native.Mode.UNCHANGE
    assert (tmp_path / "new.caffemodel").read_bytes() == network.bytes
    assert (tmp_path / "new.prototxt").read_text() == network.text


def test_skipping_one_of_two_shared_layers_skips_both(tmp_path):
    _, _, results = agree(shared_network(), tmp_path, 1e-7, outputs=["a", "b"], skip=["b"])
    assert "shared with layer 'b'" in results["a"].reason


def test_half_precision_stays_half_and_finite(tmp_path):
    """D4: OpenCV's own converter writes the float16 file; the kernel reaches float16's limit."""
    network = Network(channels=64)
    weight = low_rank(network.rng, 64, 64, 3, 3, 4)
    weight *= 60000 / np.abs(weight).max()
    network.conv("c", weight, bias=False)
    model, weights = network.save(tmp_path)
    half = tmp_path / "half.caffemodel"
    cv2.dnn.shrinkCaffeModel(str(weights), str(half), ["Convolution"])
    network.bytes = half.read_bytes()
    _, weights, _ = agree(network, tmp_path, 3e-3)
    for blobs in read_weights(weights).values():
        assert blobs[0].dtype == np.float16
        assert np.isfinite(blobs[0]).all()


def test_double_precision_stays_double(tmp_path):
    network = Network(channels=64)
    weight = low_rank(network.rng, 64, 64, 3, 3, 8, np.float64)
    network.conv("c", weight, bias=False)
    _, weights, _ = decompose(network, tmp_path)
    first, last = (read_weights(weights)[name][0] for name in ("c_0", "c_1"))
    assert first.dtype == last.dtype == np.float64
    composed = np.einsum("rik,orl->oikl", first[:, :, :, 0], last[:, :, 0, :])
    assert relative_error(composed, weight) < 1e-12


class Doubled:
    """A custom layer in OpenCV."""

    def __init__(self, params, blobs):
        self.factor = float(params["factor"])

    def getMemoryShapes(self, inputs):
        return [inputs[0]]

    def forward(self, inputs):
        return [inputs[0] * self.factor]


def test_in_place_layers_and_unknown_types_keep_working(tmp_path):
    """D6."""
    cv2.dnn_registerLayer("MyDoubled", Doubled)
    network = Network(channels=64)
    network.conv("c", low_rank(network.rng, 64, 64, 3, 3, 8)).relu("r")
    custom = b"\xfa\x7f\x03xyz"  # an unknown field of the layer
    own = 'layer { name: "own" type: "MyDoubled" bottom: "c" top: "own" my_param { factor: 3 } }  # mine\n'
    network.add(own, "own", [np.arange(3, dtype=np.float32)], custom)
    network.conv("d", low_rank(network.rng, 64, 64, 3, 3, 8), bottom="own").relu("r2")
    model, weights, _ = agree(network, tmp_path, 1e-5)
    assert own in model.read_text()
    assert layer("own", [np.arange(3, dtype=np.float32)], extra=custom) in weights.read_bytes()


def test_taken_names_are_avoided(tmp_path):
    network = Network(channels=64)
    network.conv("c", low_rank(network.rng, 64, 64, 3, 3, 8)).relu("c_0", in_place=False)
    network.bytes += layer("c_1", [])
    _, weights, _ = agree(network, tmp_path, 1e-5)
    assert list(read_weights(weights)) == ["c_0_1", "c_1_1", "c_1"]


def test_training_settings_are_copied(tmp_path):
    network = Network(channels=64)
    param = (
        "param { lr_mult: 1 decay_mult: 3 } param { lr_mult: 2 decay_mult: 0 } include { phase: TRAIN } "
        "include { phase: TEST } propagate_down: true"
    )
    settings = 'pad: 1 weight_filler { type: "xavier" } bias_filler { type: "constant" value: 0.1 }'
    network.conv("c", low_rank(network.rng, 64, 64, 3, 3, 8), settings, param=param)
    model, _, _ = agree(network, tmp_path, 1e-5)
    first, last = model.read_text().split('type: "Convolution"')[1:]
    for half in (first, last):
        assert "param { lr_mult: 1 decay_mult: 3 }" in half
        assert 'weight_filler { type: "xavier" }' in half
        assert half.count("include {") == 2
    assert "lr_mult: 2" not in first and "bias_filler" not in first and "bias_term: false" in first
    assert "lr_mult: 2" in last and "bias_filler" in last and "bias_term" not in last
    assert "propagate_down" in first and "propagate_down" not in last


def test_costs_know_the_size_of_the_outputs(tmp_path):
    network = Network(channels=64, size=13)
    network.conv("c", low_rank(network.rng, 64, 64, 3, 3, 8), "pad: 1 stride: 2")
    network.add('layer { name: "p" type: "Pooling" bottom: "c" top: "p" pooling_param { kernel_size: 2 stride: 2 } }\n')
    network.top = "p"
    network.conv("d", low_rank(network.rng, 64, 64, 3, 3, 8))
    _, _, results = agree(network, tmp_path, 1e-5)
    per_position = 64 * 64 * 9
    assert results["c"].before.macs == per_position * 7 * 7
    assert results["d"].before.macs == per_position * 4 * 4  # pooling rounds up
    assert results["c"].after.params == results["c"].rank * (64 * 3 + 64 * 3)


def test_dry_run_writes_nothing(tmp_path):
    network = Network(channels=64)
    network.conv("c", low_rank(network.rng, 64, 64, 3, 3, 8))
    model, weights = network.save(tmp_path)
    results = _native.decompose_caffe(str(model), str(weights), "", "", _native.Options(), dry_run=True)
    assert results[0].rank > 0
    assert results[0].after.macs < results[0].before.macs
    assert sorted(os.listdir(tmp_path)) == ["net.caffemodel", "net.prototxt"]


def good_network():
    network = Network(channels=64)
    return network.conv("c", low_rank(network.rng, 64, 64, 3, 3, 8)).relu("r")


def refused(folder, network, error, words, new=("new.prototxt", "new.caffemodel")):
    model, weights = network.save(folder)
    before = {name: (folder / name).read_bytes() for name in os.listdir(folder)}
    with pytest.raises(error) as caught:
        auto_decomposition(str(model), str(weights), *(str(folder / name) for name in new))
    for word in words:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)
    assert {name: (folder / name).read_bytes() for name in os.listdir(folder)} == before


@pytest.mark.parametrize("share", [0.01, 0.5, 0.999])
def test_truncated_weights_name_the_file(tmp_path, share):
    network = good_network()
    network.conv("d", low_rank(network.rng, 64, 64, 3, 3, 8))
    network.bytes = network.bytes[: int(len(network.bytes) * share)]
    refused(tmp_path, network, ValueError, ["net.caffemodel"])


def test_weights_of_another_network_name_each_layer(tmp_path):
    network = good_network()
    network.conv("d", low_rank(network.rng, 64, 64, 3, 3, 8), stored=False)
    network.text = network.text.replace("num_output: 64", "num_output: 65", 1)
    words = ["layer 'c'", "[65, input channels, 3, 3]", "[64, 64, 3, 3]", "layer 'd'", "no layer of this name"]
    refused(tmp_path, network, ValueError, words)


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda text: text + "layer {", ["net.prototxt:7:7: the '}' of this message is missing"]),
        (lambda text: text.replace("num_output: 64", 'num_output: "64"'), [":4:35: expected a whole number"]),
        (lambda text: "", ["no layers"]),
        (lambda text: text.replace("kernel_size: 3", ""), ["'c' needs 'kernel_size'"]),
    ],
)
def test_broken_definitions_say_where(tmp_path, change, words):
    network = good_network()
    network.text = change(network.text)
    refused(tmp_path, network, ValueError, ["net.prototxt", *words])


def test_swapped_files(tmp_path):
    model, weights = good_network().save(tmp_path)
    with pytest.raises(ValueError, match="net.caffemodel' is a binary file"):
        auto_decomposition(str(weights), str(model), str(tmp_path / "a"), str(tmp_path / "b"))
    with pytest.raises(ValueError, match="a text file"):
        auto_decomposition(str(model), str(model), str(tmp_path / "a"), str(tmp_path / "b"))


@pytest.mark.parametrize("new", [("net.prototxt", "x"), ("x", "net.caffemodel"), ("net.caffemodel", "x"), ("x", "x")])
def test_inputs_are_never_overwritten(tmp_path, new):
    refused(tmp_path, good_network(), ValueError, [f"{tmp_path}/"], new)


def test_unwritable_places(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        auto_decomposition(
            *map(str, good_network().save(tmp_path)), str(tmp_path / "file/a"), str(tmp_path / "b.caffemodel")
        )
    assert not (tmp_path / "b.caffemodel").exists()


def test_missing_input(tmp_path):
    with pytest.raises(OSError, match="no.prototxt"):
        auto_decomposition(str(tmp_path / "no.prototxt"), str(tmp_path / "no.caffemodel"), "a", "b")


@pytest.mark.parametrize("wrong", range(4))
def test_arguments_are_paths(tmp_path, wrong):
    arguments = [*map(str, good_network().save(tmp_path)), str(tmp_path / "a"), str(tmp_path / "b")]
    arguments[wrong] = 5
    with pytest.raises(TypeError):
        auto_decomposition(*arguments)
