"""amct_pytorch.tensor_decompose: what it keeps of a model, and how the result is trained, saved and rebuilt."""

import copy
import pathlib
import pickle
import subprocess
import sys

import pytest
import torch
from amct_pytorch.tensor_decompose import auto_decomposition, decompose_network
from ddp_training import network
from decompose_nets import attributes, two_layers
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent

pytestmark = pytest.mark.usefixtures("own_folder")


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
    net, _ = auto_decomposition(network(), str(tmp_path / "info.json"))
    torch.save(net.state_dict(), tmp_path / "weights.pth")
    result = subprocess.run([sys.executable, HERE / "ddp_training.py", tmp_path], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
