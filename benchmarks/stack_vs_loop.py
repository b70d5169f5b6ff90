"""How much a stack of 40 fair models saves against training them one after the other.

    python -m benchmarks.stack_vs_loop [--models 40] [--epochs 10] [--rounds 5]

The loop is written as public code writes it: one nn.Sequential a network, torch.optim.Adam with a cosine
schedule, the supplement's algorithm with the same networks, batches and number of adversary steps; its
mini-batches come from a DataLoader, the usual idiom, or, in the stricter comparison, from indexing tensors.
All are timed in turn in one process; ratios are taken round by round. A loop's time grows with
the number of models, so it trains a few of them and is scaled up.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from fairdash.training.settings import TrainingSettings
from fairdash.training.stack import Member, StackData, train_stack

Batches = Callable[..., Iterable[Sequence[torch.Tensor]]]
ROWS, FEATURES, SPLITS = 1595, 99, 5  # Crime's training part


def mlp(widths: list[int]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for n_in, n_out in itertools.pairwise(widths):
        layers += [nn.Linear(n_in, n_out), nn.Tanh()]
    for layer in layers:
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
    return nn.Sequential(*layers[:-1])


def standardised(x: torch.Tensor) -> torch.Tensor:
    return (x - x.mean()) / torch.sqrt(x.var(unbiased=False) + 1e-8)


def loaded(*parts: torch.Tensor, batch_size: int) -> Iterable[Sequence[torch.Tensor]]:
    """An epoch's mini-batches as most public code has them."""
    return DataLoader(TensorDataset(*parts), batch_size=batch_size, shuffle=True, drop_last=True)


def indexed(*parts: torch.Tensor, batch_size: int) -> Iterable[Sequence[torch.Tensor]]:
    """The same without a DataLoader's cost."""
    order = torch.randperm(len(parts[0]))
    for batch in order.split(batch_size):
        if len(batch) == batch_size:
            yield [part[batch] for part in parts]


def train_alone(
    x: torch.Tensor,
    y: torch.Tensor,
    s: torch.Tensor,
    lam: float,
    settings: TrainingSettings,
    batches: Batches,
) -> None:
    """One Fair HGR network, as the supplement's algorithm reads."""
    h = mlp([x.shape[1], *settings.hidden, 1])
    f, g = (mlp([1, *settings.adversary_hidden, 1]) for _ in range(2))
    predictor = torch.optim.Adam(h.parameters(), lr=settings.lr, weight_decay=settings.weight_decay)
    adversary = torch.optim.Adam([*f.parameters(), *g.parameters()], lr=settings.adversary_lr)
    steps = settings.n_epochs * (len(x) // settings.batch_size)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(predictor, T_max=steps)
    for _ in range(settings.n_epochs):
        for x_batch, y_batch, s_batch in batches(x, y, s, batch_size=settings.batch_size):
            u = h(x_batch)
            for _ in range(settings.adversary_steps):
                hgr = (standardised(f(standardised(u.detach()))) * standardised(g(s_batch))).mean()
                adversary.zero_grad()
                (-hgr).backward()
                adversary.step()
            hgr = (standardised(f(standardised(u))) * standardised(g(s_batch))).mean()
            loss = nn.functional.mse_loss(u, y_batch) + lam * hgr
            predictor.zero_grad()
            loss.backward()
            predictor.step()
            schedule.step()


def seconds_together(data: StackData, members: list[Member], settings: TrainingSettings) -> float:
    started = time.perf_counter()
    train_stack(data, members, objective="demographic_parity", settings=settings, batch_seeds=range(SPLITS))
    return time.perf_counter() - started


def seconds_alone(data: StackData, count: int, settings: TrainingSettings, batches: Batches) -> float:
    started = time.perf_counter()
    for k in range(count):
        split = k % SPLITS
        train_alone(data.x[split], data.y[split], data.s[split], 1.0, settings, batches)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=40)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--alone", type=int, default=4, help="models that the loop trains a round")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    data = StackData(
        x=torch.randn(SPLITS, ROWS, FEATURES),
        y=torch.randn(SPLITS, ROWS, 1),
        s=torch.randn(SPLITS, ROWS, 1),
    )
    members = [
        Member("hgr_nn", lam=0.25 * (k // SPLITS), split=k % SPLITS, seed=k % SPLITS)
        for k in range(options.models)
    ]
    print(f"{options.models} models, {ROWS} × {FEATURES} numbers, {options.threads} thread(s)")
    print("adversary | stack, ms  |        DataLoader loop        |         indexing loop")
    print("    steps | an epoch   | ms an epoch, times the stack  | ms an epoch, times the stack")
    for adversary_steps in (1, 5, 10):
        settings = TrainingSettings(
            n_epochs=options.epochs, warm_up_epochs=0, adversary_steps=adversary_steps
        )
        rounds = []
        for _ in range(options.rounds + 1):
            stack = seconds_together(data, members, settings)
            loops = [seconds_alone(data, options.alone, settings, each) for each in (loaded, indexed)]
            rounds.append([stack, *(loop * options.models / options.alone for loop in loops)])
        times = 1e3 * torch.tensor(rounds[1:]) / options.epochs  # the first round warms up
        stack, *loops = times.median(dim=0).values.tolist()
        cells = []
        for loop, ratios in zip(loops, (times[:, 1:] / times[:, :1]).T, strict=True):
            low, middle, high = ratios.min(), ratios.median(), ratios.max()
            cells.append(f"{loop:10.0f}, {middle:4.1f} ({low:4.1f} to {high:4.1f})")
        print(f"{adversary_steps:9d} | {stack:10.0f} | {cells[0]} | {cells[1]}")


if __name__ == "__main__":
    main()
