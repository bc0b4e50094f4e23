"""amct_pytorch.tensor_decompose: layers that break such tools, wrong arguments, broken and foreign files."""

import copy
import json
import math
import os

import pytest
import torch
from amct_pytorch.tensor_decompose import auto_decomposition, decompose_network
from decompose_nets import OwnConv, composed, relative, two_layers
from torch import nn
from torch.nn.utils import parametrizations, prune, weight_norm

pytestmark = pytest.mark.usefixtures("own_folder")


def test_d1_what_does_not_qualify_is_left_with_a_reason(capsys):
    refused = {
        "dilated": nn.Conv2d(64, 64, 3, dilation=2),
        "grouped": nn.Conv2d(64, 64, 3, groups=2),
        "depthwise": nn.Conv2d(64, 64, 3, groups=64),
        "pointwise": nn.Conv2d(64, 64, 1),
        "flat": nn.Conv2d(64, 64, (1, 7)),
        "strided": nn.Conv2d(64, 64, 3, stride=3),
        "own": OwnConv(64, 64, 3),
        "complex": nn.Conv2d(64, 64, 3, dtype=torch.complex64),
        "brain": nn.Conv2d(64, 64, 3, dtype=torch.bfloat16),
        "meta": nn.Conv2d(64, 64, 3, device="meta"),
        "lazy": nn.LazyConv2d(64, 3),
        "normed": parametrizations.weight_norm(nn.Conv2d(64, 64, 3)),
        "spectral": parametrizations.spectral_norm(nn.Conv2d(64, 64, 3)),
        "old_normed": weight_norm(nn.Conv2d(64, 64, 3)),
        "pruned": prune.l1_unstructured(nn.Conv2d(64, 64, 3), "weight", 0.5),
        "transposed": nn.ConvTranspose2d(64, 64, 3),
        "buffered": nn.Conv2d(64, 64, 3),
        "patched": nn.Conv2d(64, 64, 3),
        "integer": nn.Conv2d(64, 64, 3),
        "boolean": nn.Conv2d(64, 64, 3),
    }
    refused["buffered"].register_buffer("mask", torch.ones(1))
    refused["patched"].forward = lambda x: x
    for name, dtype in (("integer", torch.int8), ("boolean", torch.bool)):
        refused[name].weight = nn.Parameter(torch.ones(64, 64, 3, 3, dtype=dtype), requires_grad=False)
    model = nn.ModuleDict({**refused, "good": nn.Conv2d(64, 64, 3)})
    _, changes = auto_decomposition(model)
    assert changes == {"good": ["good.0", "good.1"]}
    assert all(model[name] is module for name, module in refused.items())
    lines = [line for line in capsys.readouterr().err.splitlines() if "Not decomposed, because" in line]
    explained = {name for line in lines for name in line.rpartition(": ")[2].split(", ")}
    assert explained == set(refused) - {"transposed", "lazy"}


def test_d2_kernel_of_rank_one():
    conv = nn.Conv2d(64, 64, 3)
    rows, columns = torch.randn(64 * 3), torch.randn(64 * 3)
    conv.weight.data = torch.outer(rows, columns).reshape(64, 3, 64, 3).permute(2, 0, 1, 3).contiguous()
    both, changes = auto_decomposition(conv)
    assert changes and relative(composed(both), conv.weight) < 1e-5


def test_d2_zero_kernel_is_left():
    model = nn.Sequential(nn.Conv2d(64, 64, 3), nn.Conv2d(64, 64, 3))
    nn.init.zeros_(model[0].weight)
    assert auto_decomposition(model)[1] == {"1": ["1.0", "1.1"]}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_d2_nan_and_infinity_name_the_layer_and_change_nothing(value, tmp_path):
    model = nn.ModuleDict({"good": nn.Conv2d(64, 64, 3), "broken": nn.Conv2d(64, 64, 3)})
    model["broken"].weight.data[1, 2, 0, 1] = value
    with pytest.raises(ValueError, match="broken"):
        auto_decomposition(model, str(tmp_path / "info.json"))
    assert type(model["good"]) is nn.Conv2d and not (tmp_path / "info.json").exists()


def test_d3_one_module_under_two_names_stays_one(tmp_path):
    def net():
        conv = nn.Conv2d(64, 64, 3, padding=1)
        return nn.Sequential(conv, nn.ReLU(), nn.Sequential(conv))

    path = str(tmp_path / "info.json")
    model, changes = auto_decomposition(net(), path)
    assert changes == {"0": ["0.0", "0.1"], "2.0": ["2.0.0", "2.0.1"]}
    assert model[0] is model[2][0]
    assert len(list(model.parameters())) == 3
    rebuilt, again = decompose_network(net(), path)
    assert again == changes and rebuilt[0] is rebuilt[2][0]
    rebuilt.load_state_dict(model.state_dict())


def test_d3_one_module_twice_in_one_parent():
    conv = nn.Conv2d(64, 64, 3)
    model = nn.ModuleDict({"a": conv, "b": conv})
    assert auto_decomposition(model)[1] == {"a": ["a.0", "a.1"], "b": ["b.0", "b.1"]}
    assert model["a"] is model["b"] and type(model["a"]) is nn.Sequential


def test_d3_shared_weights_and_biases_are_shared_after_rebuilding(tmp_path):
    def net():
        model = nn.Sequential(*(nn.Conv2d(64, 64, 3, padding=1) for _ in range(3)))
        model[1].weight, model[1].bias = model[0].weight, model[0].bias
        return model

    path = str(tmp_path / "info.json")
    model, _ = auto_decomposition(net(), path)
    rebuilt, _ = decompose_network(net(), path)
    for result in (model, rebuilt):
        assert len(list(result.parameters())) == 6
        assert result[0][0].weight is result[1][0].weight is not result[2][0].weight
        assert result[0][1].bias is result[1][1].bias is not result[2][1].bias


def test_d3_weight_shared_with_a_layer_that_is_left(capsys):
    model = nn.Sequential(nn.Conv2d(64, 64, 3), nn.Conv2d(64, 64, 3, dilation=2))
    model[1].weight = model[0].weight
    assert auto_decomposition(model)[1] == {"0": ["0.0", "0.1"]}
    assert "'1' shared its weight with a layer that is decomposed" in capsys.readouterr().err


@pytest.mark.parametrize("scale", [6e4, 1e-7])
def test_d4_float16_factors_stay_finite_and_close(scale):
    conv = nn.Conv2d(64, 64, 3).half()
    pattern = torch.outer(torch.rand(64 * 3) * 0.2 + 0.8, torch.rand(64 * 3) * 0.2 + 0.8) * scale
    conv.weight.data = pattern.reshape(64, 3, 64, 3).permute(2, 0, 1, 3).contiguous().half()
    both, changes = auto_decomposition(conv)
    assert changes and all(part.weight.isfinite().all() for part in both)
    assert relative(composed(both), conv.weight) < (0.01 if scale > 1 else 0.5)


def test_attributes_that_disagree_with_the_weight(capsys):
    conv = nn.Conv2d(64, 64, 3)
    conv.weight = nn.Parameter(torch.randn(64, 32, 3, 3))
    assert auto_decomposition(nn.Sequential(conv))[1] == {}
    assert "its attributes say [64, 64, 3, 3]" in capsys.readouterr().err


@pytest.mark.parametrize("function", [auto_decomposition, decompose_network])
def test_types_of_arguments(function):
    with pytest.raises(TypeError, match="model type is wrong. Expected type torch.nn.Module"):
        function("model", "info.json")
    with pytest.raises(TypeError, match="decompose_info_path type is wrong"):
        function(two_layers(), 7)
    with pytest.raises(ValueError, match="decompose_info_path is empty"):
        function(two_layers(), "")
    with pytest.raises(TypeError, match="skip type is wrong"):
        auto_decomposition(two_layers(), skip="conv1")


def test_unwritable_paths_are_refused_before_the_work_and_change_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    model = two_layers()
    for path in (tmp_path, tmp_path / "file" / "info.json", tmp_path / "file" / "deep" / "info.json"):
        with pytest.raises(OSError, match=str(tmp_path)):
            auto_decomposition(model, str(path))
    assert type(model[0]) is nn.Conv2d and sorted(set(os.listdir(tmp_path)) - {"amct_log"}) == ["file"]


def test_wrapped_model_is_refused(tmp_path):
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/meeting", rank=0, world_size=1)
    try:
        model = nn.parallel.DistributedDataParallel(two_layers())
        with pytest.raises(ValueError, match="before it is wrapped"):
            auto_decomposition(model)
    finally:
        torch.distributed.destroy_process_group()


def test_file_of_another_model_names_every_difference(tmp_path):
    path = str(tmp_path / "info.json")
    auto_decomposition(
        nn.ModuleDict(
            {
                "a": nn.Conv2d(64, 96, (3, 5), stride=2),
                "b": nn.Conv2d(64, 64, 3),
                "c": nn.Conv2d(64, 64, 3),
                "d": nn.Conv2d(64, 64, 3),
                "e": nn.Conv2d(64, 64, 3),
            }
        ),
        path,
    )
    other = nn.ModuleDict(
        {
            "a": nn.Conv2d(128, 64, 3, dilation=2, groups=2),
            "b": nn.ReLU(),
            "d": OwnConv(64, 64, 3),
            "e": nn.Conv2d(64, 64, 3),
        }
    )
    with pytest.raises(ValueError) as caught:
        decompose_network(other, path)
    for words in (
        "layer 'a': in_channels is 128 in the model and 64 in the file",
        "out_channels is 64 in the model and 96 in the file",
        "kernel_size is [3, 3] in the model and [3, 5] in the file",
        "stride is [1, 1] in the model and [2, 2] in the file",
        "dilation is [2, 2] in the model and [1, 1] in the file",
        "groups is 2 in the model and 1 in the file",
        "layer 'b': is a ReLU",
        "layer 'c': the model has no layer",
        "layer 'd': it is a OwnConv",
    ):
        assert words in str(caught.value)
    assert "'e'" not in str(caught.value) and type(other["e"]) is nn.Conv2d


def test_a_decomposed_model_is_another_model(tmp_path):
    path = str(tmp_path / "info.json")
    model, _ = auto_decomposition(two_layers(), path)
    with pytest.raises(ValueError, match="layer '0': is a Sequential in the model"):
        decompose_network(model, path)


def test_broken_files(tmp_path):
    path = tmp_path / "info.json"
    auto_decomposition(two_layers(), str(path))
    good = json.loads(path.read_text())

    def changed(*keys, value):
        entries = copy.deepcopy(good)
        place = entries
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value
        return json.dumps(entries)

    cases = {
        "{": "info.json:1:2: not JSON",
        "[]": "expected a list of decomposed layers",
        "{}": "expected a list of decomposed layers",
        "[1]": "entry 0: 'ori_layer_info' with a 'name' is missing",
        changed(1, "mode", value="UNCHANGE"): "entry 1: 'mode' of layer '2' is 'UNCHANGE', expected one of FCFK",
        changed(0, "ori_layer_info", "stride", value=[1]): "'stride' of layer '0' is [1], expected 2 positive numbers",
        changed(0, "ori_layer_info", "groups", value=True): "'groups' of layer '0' is True, expected a positive number",
        changed(0, "decom_nodes", "last", value={}): "'decom_nodes.last.weight_shape' of layer '0'",
        changed(0, "decom_nodes", "last", "weight_shape", 1, value=31): "weight_shape of 'last' is [64, 31, 1, 3]",
        changed(0, "mode", value="SCSK"): "mode SCSK needs [32, 64, 1, 3]",
    }
    for text, words in cases.items():
        path.write_text(text)
        with pytest.raises(ValueError) as caught:
            decompose_network(two_layers(), str(path))
        assert words in str(caught.value)
    with pytest.raises(FileNotFoundError):
        decompose_network(two_layers(), str(tmp_path / "missing.json"))
