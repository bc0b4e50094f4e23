"""amct_pytorch.tensor_decompose: what is decomposed, what the result computes, and what it keeps of the model."""

import copy
import itertools
import json
import math
import os
import pathlib
import pickle
import stat
import subprocess
import sys

import pytest
import torch
from amct_pytorch.tensor_decompose import auto_decomposition, decompose_network
from torch import nn
from torch.nn.utils import parametrizations, prune, weight_norm

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = json.loads((HERE.parent / "golden" / "decompose_layers.json").read_text())["cases"]
ROWS = [case for case in GOLDEN if "kernel_size" in case["params"] and "model_is_the_conv_itself" not in case["params"]]
FULL = {"rule": "ratio", "value": 1.0, "min_speedup": 0}
EPSILON = {torch.float16: 2.0**-10, torch.float32: 2.0**-23, torch.float64: 2.0**-52}


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(3)


class Body(nn.Module):
    """One convolution, called body.conv1."""

    def __init__(self, conv):
        super().__init__()
        self.body = nn.Module()
        self.body.conv1 = conv

    def forward(self, x):
        return self.body.conv1(x)


def conv_of(params):
    params = dict(params)
    layout = params.pop("memory_format", "contiguous_format")
    for field in ("kernel_size", "stride", "padding", "dilation"):
        if isinstance(params.get(field), list):
            params[field] = tuple(params[field])
    params["dtype"] = getattr(torch, params.get("dtype", "float32"))
    return nn.Conv2d(**params).to(memory_format=getattr(torch, layout))


def two_layers():
    return nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 128, 3, stride=2))


def attributes(model):
    result = []
    for name, conv in model.named_modules():
        if isinstance(conv, nn.Conv2d):
            last = conv.weight.is_contiguous(memory_format=torch.channels_last) and not conv.weight.is_contiguous()
            pairs = {field: list(getattr(conv, field)) for field in ("kernel_size", "stride", "padding", "dilation")}
            result.append(
                {
                    "name": name,
                    "in_channels": conv.in_channels,
                    "out_channels": conv.out_channels,
                    **pairs,
                    "groups": conv.groups,
                    "bias": conv.bias is not None,
                    "padding_mode": conv.padding_mode,
                    "dtype": str(conv.weight.dtype).removeprefix("torch."),
                    "channels_last": last,
                }
            )
    return result


def relative(found, wanted):
    found, wanted = found.detach().double(), wanted.detach().double()
    return float((found - wanted).norm() / wanted.norm())


def composed(both):
    """The kernel that two convolutions amount to, in float64."""
    first, last = (conv.weight.detach().double() for conv in both)
    return torch.einsum("orab,rcde->ocadbe", last, first).reshape(
        last.shape[0], first.shape[1], last.shape[2] * first.shape[2], last.shape[3] * first.shape[3]
    )


# What the original does


@pytest.mark.parametrize("case", ROWS, ids=lambda case: case["id"])
def test_golden_rows(case, tmp_path):
    model = Body(conv_of(case["params"]))
    path = tmp_path / "info.json"
    returned, changes = auto_decomposition(model, str(path))
    assert returned is model
    if "error" in case:  # string padding, which the original cannot do
        assert changes == {"body.conv1": ["body.conv1.0", "body.conv1.1"]}
        return
    assert changes == case["changes"]
    assert attributes(model) == case["new_layers"]
    if case["info"] is None:
        assert not path.exists()
    else:
        assert json.loads(path.read_text()) == case["info"]


def test_golden_shared_weight():
    params = next(case for case in GOLDEN if "two_layers_sharing_one_weight" in case["params"])["params"]
    model = nn.ModuleDict({"a": conv_of(params["a"]), "b": conv_of(params["b"])})
    model["b"].weight = model["a"].weight
    _, changes = auto_decomposition(model)
    assert changes == {"a": ["a.0", "a.1"], "b": ["b.0", "b.1"]}
    assert model["a"][0].weight is model["b"][0].weight and model["a"][1].weight is model["b"][1].weight
    assert (model["b"][0].stride, model["b"][1].stride) == ((2, 1), (1, 2))
    assert model["b"][1].bias is None


def test_golden_lone_convolution(tmp_path):
    conv = nn.Conv2d(64, 64, 3)
    before = copy.deepcopy(conv.state_dict())
    model, changes = auto_decomposition(conv, str(tmp_path / "info.json"))
    assert changes == {"": ["0", "1"]}
    assert isinstance(model, nn.Sequential) and type(conv) is nn.Conv2d
    assert all(torch.equal(value, before[name]) for name, value in conv.state_dict().items())
    assert not {id(p) for p in model.parameters()} & {id(p) for p in conv.parameters()}
    rebuilt, changes = decompose_network(conv, str(tmp_path / "info.json"))
    assert changes == {"": ["0", "1"]} and rebuilt is not conv
    rebuilt.load_state_dict(model.state_dict())
    x = torch.randn(1, 64, 7, 7)
    assert torch.equal(rebuilt(x), model(x))


def test_lone_convolution_that_does_not_qualify_is_returned():
    conv = nn.Conv2d(8, 8, 3)
    assert auto_decomposition(conv) == (conv, {})


def test_file_is_indented_by_tabs_and_folders_and_file_are_closed_to_others(tmp_path):
    path = tmp_path / "new" / "deep" / "info.json"
    auto_decomposition(two_layers(), str(path))
    text = path.read_text()
    assert text == json.dumps(json.loads(text), indent="\t")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert stat.S_IMODE(path.parent.stat().st_mode) == stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o750
    assert os.listdir(path.parent) == ["info.json"]


def test_log_lines(tmp_path, capsys):
    path = str(tmp_path / "info.json")
    model = nn.Sequential(two_layers(), nn.Conv2d(64, 64, 3, dtype=torch.bfloat16), nn.Conv2d(64, 64, 1))
    auto_decomposition(model, path)
    auto_decomposition(two_layers(), path)
    text = capsys.readouterr().err
    assert "INFO - [AMCT]:[tensor_decompose]: Decompose: 0.0 -> [0.0.0, 0.0.1]\n" in text
    assert "WARNING - [AMCT]:[tensor_decompose]: Unsupported data type torch.bfloat16 of layer '1' ignored\n" in text
    assert "INFO - [AMCT]:[tensor_decompose]: Not decomposed, because its kernel of 1 x 1 is too small" in text
    assert f"WARNING - [AMCT]:[tensor_decompose]: '{path}' exists and is replaced\n" in text


def test_nothing_eligible_writes_nothing_and_says_so(tmp_path, capsys):
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Linear(2, 2))
    assert auto_decomposition(model, str(tmp_path / "no" / "info.json")) == (model, {})
    assert not (tmp_path / "no").exists()
    assert "No convolution was decomposed" in capsys.readouterr().err


# Equal at full rank

MODES = {"SCFK": (64, 72, (3, 5)), "SCSK": (64, 64, (4, 3)), "FCFK": (72, 64, (3, 3)), "FCSK": (80, 64, (5, 3))}


@pytest.mark.parametrize("layout", ["contiguous_format", "channels_last"])
@pytest.mark.parametrize("dtype", EPSILON, ids=str)
@pytest.mark.parametrize("stride", [1, 2, (2, 1)], ids=str)
@pytest.mark.parametrize("mode", MODES)
def test_full_rank_equals_the_original(mode, stride, dtype, layout):
    inputs, outputs, kernel = MODES[mode]
    paddings = [0, (1, 2), "valid"] + (["same"] if stride == 1 else [])
    for padding, bias in zip(paddings, itertools.cycle((True, False))):
        conv = nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=bias, dtype=dtype)
        check_full_rank(conv.to(memory_format=getattr(torch, layout)), mode)


@pytest.mark.parametrize("padding_mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("padding", [(2, 1), "same"], ids=str)
def test_full_rank_with_padding_modes(padding_mode, padding):
    check_full_rank(nn.Conv2d(64, 64, (3, 5), padding=padding, padding_mode=padding_mode), "SCFK")


def test_full_rank_with_few_channels():
    check_full_rank(nn.Conv2d(3, 5, 7, stride=2, padding=3), "SCFK")


def check_full_rank(conv, mode):
    tolerance = 40 * EPSILON[conv.weight.dtype]
    both, changes = auto_decomposition(conv, "info.json", **FULL)
    assert changes
    assert json.loads(pathlib.Path("info.json").read_text())[0]["mode"] == mode
    assert relative(composed(both), conv.weight) < tolerance
    x = torch.randn(2, conv.in_channels, 9, 8, dtype=conv.weight.dtype)
    with torch.no_grad():
        wanted = copy.deepcopy(conv).double()(x.double())
        assert both(x).shape == wanted.shape and both(x).dtype == x.dtype
        assert relative(copy.deepcopy(both).double()(x.double()), wanted) < tolerance
        assert relative(both(x), wanted) < tolerance


def test_truncation_is_the_best_of_its_rank():
    conv = nn.Conv2d(64, 96, 3, dtype=torch.float64)
    for rank in (1, 16, 100):
        both, _ = auto_decomposition(conv, rule="rank", value=rank, min_speedup=0)
        # SCFK: rows are (Cin, KH), columns (Cout, KW).
        singular = torch.linalg.svdvals(conv.weight.detach().permute(1, 2, 0, 3).reshape(64 * 3, 96 * 3))
        best = float(singular[rank:].norm() / singular.norm())
        assert both[0].out_channels == rank
        assert math.isclose(relative(composed(both), conv.weight), best, rel_tol=0.01)


# Inputs that break tools of this kind


class OwnConv(nn.Conv2d):
    pass


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


# What is kept of the model


def test_flags_attributes_and_other_layers_are_kept():
    model = two_layers()
    model[0].eval()
    model[0].weight.requires_grad_(False)
    model[2].bias.requires_grad_(False)
    model[0].note = "mine"
    bias, relu = model[0].bias, model[1]
    state = torch.get_rng_state()
    auto_decomposition(model)
    assert torch.equal(torch.get_rng_state(), state)
    assert model[0][1].bias is bias and model[1] is relu
    assert [module.training for module in model.modules()] == [True, False, False, False, True, True, True, True]
    flags = {name: parameter.requires_grad for name, parameter in model.named_parameters()}
    assert flags == {"0.0.weight": False, "0.1.weight": False, "0.1.bias": True, "2.0.weight": True, "2.1.weight": True, "2.1.bias": False}
    assert model[0].note == "mine"
    assert all(parameter.is_leaf and parameter.grad is None for parameter in model.parameters())


def test_hooks_move_and_their_handles_still_remove_them(tmp_path):
    for change in (lambda m, p: auto_decomposition(m, p), decompose_network):
        model, calls = two_layers(), []
        handles = [
            model[0].register_forward_pre_hook(lambda module, args: calls.append("pre")),
            model[0].register_forward_hook(lambda module, args, kwargs, out: calls.append("post"), with_kwargs=True),
            model[0].register_full_backward_hook(lambda module, grad_in, grad_out: calls.append("back")),
        ]
        change(model, str(tmp_path / "info.json"))
        x = torch.randn(1, 64, 6, 6, requires_grad=True)
        model(x).sum().backward()
        assert calls == ["pre", "post", "back"]
        for handle in handles:
            handle.remove()
        model(x).sum().backward()
        assert len(calls) == 3


def test_works_inside_no_grad_and_inference_mode():
    for context in (torch.no_grad(), torch.inference_mode()):
        model = two_layers()
        with context:
            auto_decomposition(model)
        model(torch.randn(1, 64, 6, 6)).sum().backward()
        assert all(parameter.grad is not None for parameter in model.parameters())


def test_result_is_pickled_scripted_traced_exported_and_compiled_to_a_graph():
    model, _ = auto_decomposition(two_layers().eval())
    x = torch.randn(1, 64, 8, 8)
    wanted = model(x)
    results = [
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        torch.jit.script(model),
        torch.jit.trace(model, x),
        torch.export.export(model, (x,)).module(),
        torch.fx.symbolic_trace(model),
    ]
    for result in results:
        assert torch.allclose(result(x), wanted, atol=1e-5)


def test_online_use_of_the_manual_trains():
    model, _ = auto_decomposition(two_layers())
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    x, y = torch.randn(8, 64, 6, 6), torch.randn(8, 128, 2, 2)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_offline_use_of_the_manual(tmp_path):
    info, weights = str(tmp_path / "decomp.json"), tmp_path / "decomp.pth"
    net, changes = auto_decomposition(two_layers().half().to(memory_format=torch.channels_last), info)
    torch.save(net.state_dict(), weights)
    fresh = two_layers().half().to(memory_format=torch.channels_last)
    net2, changes2 = decompose_network(fresh, info)
    assert net2 is fresh and changes2 == changes and attributes(net2) == attributes(net)
    assert not torch.equal(net2[0][0].weight, net[0][0].weight)  # initial values until they are loaded
    net2.load_state_dict(torch.load(weights, weights_only=True))
    x = torch.randn(1, 64, 8, 8).half()
    assert torch.equal(net2(x), net(x))


def test_structure_of_a_model_without_data(tmp_path):
    info = str(tmp_path / "info.json")
    auto_decomposition(two_layers(), info)
    with torch.device("meta"):
        model = two_layers()
    decompose_network(model, info)
    assert model[0][0].weight.is_meta and model[0][0].weight.shape == (32, 64, 3, 1)


def test_trains_under_distributed_data_parallel(tmp_path):
    sys.path.insert(0, str(HERE))
    from ddp_training import network

    net, _ = auto_decomposition(network(), str(tmp_path / "info.json"))
    torch.save(net.state_dict(), tmp_path / "weights.pth")
    result = subprocess.run([sys.executable, HERE / "ddp_training.py", tmp_path], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


# Options beyond the manual


def test_skip_takes_names_patterns_and_second_names():
    assert set(auto_decomposition(two_layers(), skip=["0"])[1]) == {"2"}
    assert auto_decomposition(two_layers(), skip=["?"])[1] == {}
    conv = nn.Conv2d(64, 64, 3)
    model = nn.ModuleDict({"a": conv, "b": conv, "c": nn.Conv2d(64, 64, 3)})
    assert set(auto_decomposition(model, skip=["b"])[1]) == {"c"}


def test_min_speedup_and_rank_rules():
    assert auto_decomposition(two_layers(), min_speedup=100)[1] == {}
    model, _ = auto_decomposition(two_layers(), rule="rank", value=8)
    assert model[0][0].out_channels == model[2][0].out_channels == 8
    model, _ = auto_decomposition(two_layers(), rule="params", value=0.4)
    assert sum(m.weight.numel() for m in model.modules() if isinstance(m, nn.Conv2d)) <= 0.4 * (64 * 64 * 9 + 64 * 128 * 9)


def test_budget_of_multiplications_counts_positions():
    model = two_layers().train()
    x = torch.randn(1, 64, 12, 12)
    _, changes = auto_decomposition(model, rule="macs", value=0.5, input_data=x)
    assert changes and model.training
    wanted = 144 * 64 * 64 * 9 + 25 * 64 * 128 * 9
    found = []
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            module.register_forward_hook(lambda m, _, y: found.append(y[0, 0].numel() * m.weight.numel()))
    model(x)
    assert 0.3 * wanted < sum(found) <= 0.5 * wanted


@pytest.mark.parametrize(
    "options, error",
    [
        ({"rule": "best"}, "rule is 'best', expected one of evbmf, rank"),
        ({"rule": "macs", "value": 0.5}, "input_data"),
        ({"rule": "ratio", "value": 1.5}, "1.5"),
        ({"rule": "rank", "value": 0}, "rank"),
        ({"min_speedup": -1}, "min_speedup"),
    ],
)
def test_bad_options(options, error):
    with pytest.raises(ValueError, match=error):
        auto_decomposition(two_layers(), **options)


# Bad arguments and files


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
