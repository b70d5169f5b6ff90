"""How much a stack of 40 fair models saves against training them one after the other.

    python -m benchmarks.stack_vs_loop [--models 40] [--epochs 4] [--rounds 5]

The loop is written as good public code writes it: one nn.Sequential a network, torch.optim.Adam with its
own cosine schedule, mini-batches by indexing tensors (no DataLoader), the supplement's algorithm with the
same networks, batches and number of adversary steps. Both are timed in turn in one process on one thread;
the ratio is taken pair by pair. A loop's time grows with the number of models, so it trains a few of
them and is scaled up.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time

import torch
from torch import nn

from fairdash.training.settings import TrainingSettings
from fairdash.training.stack import Member, StackData, train_stack

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


def train_alone(
    x: torch.Tensor, y: torch.Tensor, s: torch.Tensor, lam: float, settings: TrainingSettings
) -> None:
    """One Fair HGR network, as the supplement's algorithm reads."""
    h = mlp([x.shape[1], *settings.hidden, 1])
    f, g = (mlp([1, *settings.adversary_hidden, 1]) for _ in range(2))
    predictor = torch.optim.Adam(h.parameters(), lr=settings.lr, weight_decay=settings.weight_decay)
    adversary = torch.optim.Adam([*f.parameters(), *g.parameters()], lr=settings.adversary_lr)
    steps = settings.n_epochs * (len(x) // settings.batch_size)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(predictor, T_max=steps)
    for _ in range(settings.n_epochs):
        order = torch.randperm(len(x))
        for batch in order.split(settings.batch_size):
            if len(batch) < settings.batch_size:
                continue
            u = h(x[batch])
            for _ in range(settings.adversary_steps):
                hgr = (standardised(f(standardised(u.detach()))) * standardised(g(s[batch]))).mean()
                adversary.zero_grad()
                (-hgr).backward()
                adversary.step()
            hgr = (standardised(f(standardised(u))) * standardised(g(s[batch]))).mean()
            loss = nn.functional.mse_loss(u, y[batch]) + lam * hgr
            predictor.zero_grad()
            loss.backward()
            predictor.step()
            schedule.step()


def seconds_together(data: StackData, members: list[Member], settings: TrainingSettings) -> float:
    started = time.perf_counter()
    train_stack(data, members, objective="demographic_parity", settings=settings, batch_seeds=range(SPLITS))
    return time.perf_counter() - started


def seconds_alone(data: StackData, count: int, settings: TrainingSettings) -> float:
    started = time.perf_counter()
    for k in range(count):
        train_alone(data.x[k % SPLITS], data.y[k % SPLITS], data.s[k % SPLITS], 1.0, settings)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=40)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--alone", type=int, default=4, help="models that the loop trains a round")
    options = parser.parse_args()
    torch.set_num_threads(1)
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
    print(
        f"{options.models} models, {options.epochs} epochs of {ROWS} rows × {FEATURES} features, one thread"
    )
    print("adversary steps | stack, ms an epoch | loop, ms an epoch | ratio: median (lowest to highest)")
    for adversary_steps in (1, 5, 10):
        settings = TrainingSettings(
            n_epochs=options.epochs, warm_up_epochs=0, adversary_steps=adversary_steps
        )
        stacks, loops = [], []
        for counted in range(-1, options.rounds):
            stack = seconds_together(data, members, settings)
            alone = seconds_alone(data, options.alone, settings)
            if counted >= 0:  # the first round warms up
                stacks.append(stack / options.epochs)
                loops.append(alone * options.models / options.alone / options.epochs)
        ratios = [loop / stack for loop, stack in zip(loops, stacks, strict=True)]
        print(
            f"{adversary_steps:15d} | {1e3 * statistics.median(stacks):18.0f} | "
            f"{1e3 * statistics.median(loops):17.0f} | "
            f"{statistics.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})"
        )


if __name__ == "__main__":
    main()
