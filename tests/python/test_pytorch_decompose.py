"""amct_pytorch.tensor_decompose: golden results of the original, equality at full rank, options."""

import copy
import itertools
import json
import math
import os
import pathlib
import stat

import pytest
import torch
from amct_pytorch.tensor_decompose import auto_decomposition, decompose_network
from decompose_nets import Body, attributes, composed, conv_of, relative, two_layers
from torch import nn

GOLDEN = json.loads((pathlib.Path(__file__).parents[1] / "golden" / "decompose_layers.json").read_text())["cases"]
ROWS = [case for case in GOLDEN if "kernel_size" in case["params"] and "model_is_the_conv_itself" not in case["params"]]
FULL = {"rule": "ratio", "value": 1.0, "min_speedup": 0}
EPSILON = {torch.float16: 2.0**-10, torch.float32: 2.0**-23, torch.float64: 2.0**-52}
MODES = {"SCFK": (64, 72, (3, 5)), "SCSK": (64, 64, (4, 3)), "FCFK": (72, 64, (3, 3)), "FCSK": (80, 64, (5, 3))}

pytestmark = pytest.mark.usefixtures("own_folder")


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


@pytest.mark.parametrize("change", [{}, {"padding": "same"}, {"padding": 2, "padding_mode": "circular"}, {"stride": 2}], ids=str)
@pytest.mark.parametrize("kernel", [(3, 5), (5, 3)], ids=str)
def test_factors_fitted_to_data_have_less_error_on_them(kernel, change):
    def net():
        torch.manual_seed(5)
        return nn.Sequential(nn.Conv2d(8, 64, 1), nn.BatchNorm2d(64), nn.Conv2d(64, 72, kernel, **change)).eval()

    batches = [torch.randn(4, 8, 12, 12) for _ in range(3)]  # 8 dimensions in 64 channels
    errors = []
    for data in (None, batches, ((batch,) for batch in batches)):
        model, changes = auto_decomposition(net().train(), calibration_data=data)
        assert changes and model.training and model[1].num_batches_tracked == 0 and not model[2]._forward_hooks
        with torch.no_grad():
            errors.append(relative(model.eval()(torch.cat(batches)), net()(torch.cat(batches))))
    assert errors[1] < 0.5 * errors[0]
    assert errors[1] == pytest.approx(errors[2])


def test_calibration_data_without_batches():
    with pytest.raises(ValueError, match="calibration_data holds no batch"):
        auto_decomposition(two_layers(), calibration_data=[])


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
