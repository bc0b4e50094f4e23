"""Trains a convolutional network on Fashion-MNIST, decomposes it with amct_pytorch, and tunes it again for a short time."""

from __future__ import annotations

import copy
import json
import pathlib
import sys
import time

import numpy as np
import torch
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "build" / "release" / "python"), str(ROOT / "examples")]

import fashion  # noqa: E402
from amct_pytorch.tensor_decompose import auto_decomposition  # noqa: E402
from fashion import MADE  # noqa: E402

WEIGHTS = MADE / "fashion_cnn.pt"
EPOCHS, LEARNING_RATE = 2, 4e-3
TUNED = 20000  # images of the fine-tuning, at a tenth of the learning rate as the manual advises


def images(part: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Pixels [n, 1, 28, 28] and labels [n] of "train" or "t10k"."""
    pixels, labels = fashion.images(part)
    return torch.from_numpy(pixels), torch.from_numpy(labels)


def build() -> nn.Sequential:
    """3x3 convolutions from 64 to 512 channels, with a classifier on the mean over all positions."""
    layers: list[nn.Module] = []
    for inputs, outputs, stride in ((1, 64, 2), (64, 128, 2), (128, 256, 1), (256, 512, 2)):
        layers += [nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def train(net: nn.Module, count: int, epochs: int, rate: float, seed: int) -> None:
    """One cycle of the learning rate over `epochs` passes of the first `count` images, turned over at random."""
    pixels, labels = images("train")
    generator = torch.Generator().manual_seed(seed)
    batch = 128
    steps = epochs * (count // batch)
    optimizer = torch.optim.AdamW(net.parameters(), lr=rate, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    loss = nn.CrossEntropyLoss()
    net.train()
    for _ in range(epochs):
        order = torch.randperm(count, generator=generator)
        for start in range(0, count - batch + 1, batch):
            chosen = order[start : start + batch]
            x = pixels[chosen]
            mirrored = torch.rand(batch, generator=generator) < 0.5
            x[mirrored] = x[mirrored].flip(-1)
            optimizer.zero_grad(set_to_none=True)
            loss(net(x.contiguous(memory_format=torch.channels_last)), labels[chosen]).backward()
            optimizer.step()
            schedule.step()
    net.eval()


def train_or_load() -> nn.Sequential:
    """The trained network, in evaluation mode; trained once (some minutes) and kept in build/made_models."""
    torch.manual_seed(7)
    net = build().to(memory_format=torch.channels_last)
    if WEIGHTS.exists():
        net.load_state_dict(torch.load(WEIGHTS, weights_only=True))
        return net.eval()
    print("training the network once; this takes some minutes")
    train(net, 60000, EPOCHS, LEARNING_RATE, seed=7)
    MADE.mkdir(parents=True, exist_ok=True)
    unfinished = WEIGHTS.with_suffix(".tmp")
    torch.save(net.state_dict(), unfinished)
    unfinished.replace(WEIGHTS)
    return net


@torch.inference_mode()
def accuracy(net: nn.Module) -> float:
    """Percent of the 10,000 test images that are classified right."""
    pixels, labels = images("t10k")
    right = sum(
        int((net(x.contiguous(memory_format=torch.channels_last)).argmax(1) == y).sum())
        for x, y in zip(pixels.split(500), labels.split(500))
    )
    return 100 * right / len(labels)


@torch.inference_mode()
def cost(net: nn.Module) -> tuple[int, int]:
    """Multiplications for one image and parameters of all layers."""
    macs = 0

    def count(module, _inputs, output):
        nonlocal macs
        positions = output.shape[2] * output.shape[3] if output.dim() == 4 else 1
        macs += positions * module.weight.numel()

    layers = [m for m in net.modules() if isinstance(m, (nn.Conv2d, nn.Linear))]
    handles = [layer.register_forward_hook(count) for layer in layers]
    net(torch.zeros(1, 1, 28, 28))
    for handle in handles:
        handle.remove()
    return macs, sum(p.numel() for p in net.parameters())


@torch.inference_mode()
def compare_speed(nets: list[nn.Module], batch: int, rounds: int = 15) -> list[float]:
    """Median milliseconds for a batch of each network, measured in turns."""
    x = images("t10k")[0][:batch].contiguous(memory_format=torch.channels_last)
    times: list[list[float]] = [[] for _ in nets]
    for _ in range(rounds):
        for net, seconds in zip(nets, times):
            begin = time.perf_counter()
            net(x)
            seconds.append(time.perf_counter() - begin)
    return [1000 * float(np.median(seconds)) for seconds in times]


def run() -> dict[str, float]:
    net = train_or_load()
    original = copy.deepcopy(net)
    begin = time.perf_counter()
    net, changes = auto_decomposition(net, str(MADE / "fashion_cnn_decomposed.json"))
    seconds = time.perf_counter() - begin
    result = {"accuracy": accuracy(original), "accuracy_decomposed": accuracy(net)}
    train(net, TUNED, 1, LEARNING_RATE / 10, seed=8)
    result["accuracy_tuned"] = accuracy(net)
    torch.save(net.state_dict(), MADE / "fashion_cnn_decomposed.pt")
    (result["macs"], result["parameters"]), (result["macs_decomposed"], result["parameters_decomposed"]) = cost(original), cost(net)
    for batch in (1, 256):
        result[f"ms_batch_{batch}"], result[f"ms_batch_{batch}_decomposed"] = compare_speed([original, net], batch)
    print(f"PyTorch: {len(changes)} convolutions decomposed in {seconds:.2f} s")
    print(f"  {'':26}{'original':>12}{'decomposed':>12}{'fine-tuned':>12}")
    print(f"  {'accuracy, %':26}{result['accuracy']:12.2f}{result['accuracy_decomposed']:12.2f}{result['accuracy_tuned']:12.2f}")
    for word, key in (("multiplications", "macs"), ("parameters", "parameters")):
        before, after = result[key], result[key + "_decomposed"]
        print(f"  {word:26}{before:12,}{after:12,}{100 * after / before:11.1f}%")
    for batch in (1, 256):
        before, after = result[f"ms_batch_{batch}"], result[f"ms_batch_{batch}_decomposed"]
        print(f"  {f'ms for {batch} image(s)':26}{before:12.2f}{after:12.2f}{before / after:10.2f} x")
    (MADE / "fashion_cnn_decomposed_result.json").write_text(json.dumps(result, indent=2))
    return result


if __name__ == "__main__":
    run()
