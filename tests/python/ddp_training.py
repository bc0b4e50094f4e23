"""Two processes rebuild a decomposed network, train it under DistributedDataParallel and compare; run by a test."""

import sys

import torch
import torch.distributed as dist
from amct_pytorch.tensor_decompose import decompose_network
from torch import nn


def network() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, 64, 3, padding=1),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.Conv2d(64, 64, 3, stride=2, padding=1),
        nn.Flatten(),
        nn.Linear(64 * 16, 4),
    )


def train(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    net, changes = decompose_network(network(), f"{folder}/info.json")
    assert changes == {"3": ["3.0", "3.1"]}
    net.load_state_dict(torch.load(f"{folder}/weights.pth", weights_only=True))
    before = net[3][0].weight.detach().clone()
    parallel = nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.SGD(parallel.parameters(), 0.02)
    torch.manual_seed(rank)  # every process has its own data
    x, y = torch.randn(16, 3, 8, 8), torch.randint(0, 4, (16,))
    losses = []
    for _ in range(8):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(parallel(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0], losses
    assert not torch.equal(net[3][0].weight, before)
    for parameter in net.parameters():
        both = [torch.empty_like(parameter) for _ in range(2)]
        dist.all_gather(both, parameter.detach())
        assert torch.equal(*both)
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.multiprocessing.spawn(train, (sys.argv[1],), nprocs=2)
