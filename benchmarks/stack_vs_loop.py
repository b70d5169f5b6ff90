"""Time saved by training 40 fair models together instead of one after the other.

    python -m benchmarks.stack_vs_loop [--models 40] [--epochs 10] [--rounds 5]

The loop follows the usual public code: one nn.Sequential per network, torch.optim.Adam with a cosine
schedule, and the supplement's algorithm with the same networks, batches and number of adversary steps.
Mini-batches come from a DataLoader, as usual, or, in the stricter comparison, from indexing tensors. All
versions are timed alternately in one process, and ratios are computed for each round. The time of a loop is
proportional to the number of models, so it trains a few models and is scaled up. The arithmetic limit shows
the gain if the loop's matrix products took only the time that this core needs for one large product with the
same number of operations, and everything else took no time.

The other methods are compared with fairdash training one model at a time.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from fairdash.training.methods import METHODS
from fairdash.training.settings import StackedModel, TrainingSettings
from fairdash.training.stack import StackData, train_stack

RESULT = Path(__file__).parent / "results" / "stack_vs_loop.csv"
Batches = Callable[..., Iterable[Sequence[torch.Tensor]]]
ROWS, FEATURES, SPLITS = 1595, 99, 5  # Crime's training rows


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
    """Mini-batches of an epoch, as in most public code."""
    return DataLoader(TensorDataset(*parts), batch_size=batch_size, shuffle=True, drop_last=True)


def indexed(*parts: torch.Tensor, batch_size: int) -> Iterable[Sequence[torch.Tensor]]:
    """Mini-batches without the cost of a DataLoader."""
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
    """One Fair HGR network, trained by the supplement's algorithm."""
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


def members(method: str, count: int, settings: TrainingSettings) -> list[StackedModel]:
    each = count // SPLITS
    return [
        StackedModel(method, lam=0.25 * (k + 1), settings=settings, split=split, seed=split)
        for split in range(SPLITS)
        for k in range(each)
    ]


def seconds_together(data: StackData, stack: list[StackedModel]) -> float:
    started = time.perf_counter()
    train_stack(data, stack, objective="demographic_parity", batch_seeds=range(SPLITS))
    return time.perf_counter() - started


def seconds_one_by_one(data: StackData, stack: list[StackedModel]) -> float:
    """Seconds of fairdash training one model at a time."""
    started = time.perf_counter()
    for member in stack:
        own = slice(member.split, member.split + 1)
        one = StackData(x=data.x[own], y=data.y[own], s=data.s[own], train=data.train[own])
        train_stack(
            one, [replace(member, split=0)], objective="demographic_parity", batch_seeds=[member.split]
        )
    return time.perf_counter() - started


def seconds_of_arithmetic(settings: TrainingSettings, count: int) -> float:
    """The least time for the matrix products of `count` models in an epoch, at this core's best rate."""
    a, b = torch.randn(2, 1024, 1024)
    times = []
    for _ in range(5):
        started = time.perf_counter()
        torch.mm(a, b)
        times.append(time.perf_counter() - started)
    rate = 2 * 1024**3 / min(times)

    def products(widths: list[int]) -> int:
        return sum(n_in * n_out for n_in, n_out in itertools.pairwise(widths))

    # Forward, and backward with respect to the weights and to the layer's inputs (except those of the first
    # layer).
    predictor = 3 * products([FEATURES, *settings.hidden, 1]) - FEATURES * settings.hidden[0]
    adversary = 2 * (3 * products([1, *settings.adversary_hidden, 1]))
    operations = 2 * settings.batch_size * (predictor + settings.adversary_steps * adversary)
    return count * (ROWS // settings.batch_size) * operations / rate


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
        train=tuple(torch.arange(ROWS) for _ in range(SPLITS)),
    )
    table = pd.DataFrame([*against_loops(data, options), *against_itself(data, options)])
    print(table.to_string(index=False, float_format="{:.3g}".format))
    table.to_csv(RESULT, index=False, float_format="%.4g")


def against_loops(data: StackData, options: argparse.Namespace) -> Iterator[dict[str, object]]:
    """hgr_nn compared with usual public code, one row per number of adversary steps and kind of loop."""
    for adversary_steps in (1, 5, 10):
        settings = TrainingSettings(
            n_epochs=options.epochs, warm_up_epochs=0, adversary_steps=adversary_steps
        )
        stack = members("hgr_nn", options.models, settings)
        limit = seconds_of_arithmetic(settings, options.models)
        rounds = []
        for _ in range(options.rounds + 1):
            together = seconds_together(data, stack)
            loops = [seconds_alone(data, options.alone, settings, each) for each in (loaded, indexed)]
            rounds.append([together, *(loop * options.models / options.alone for loop in loops)])
        times = torch.tensor(rounds[1:]) / options.epochs  # the first round warms up
        for kind, loop in zip(("a DataLoader", "indexed tensors"), times[:, 1:].T, strict=True):
            yield {
                "method": "hgr_nn",
                "adversary_steps": adversary_steps,
                "against": f"a loop with {kind}",
                **_figures(times[:, 0], loop),
                "arithmetic limit": float(loop.median()) / limit,
            }


def against_itself(data: StackData, options: argparse.Namespace) -> Iterator[dict[str, object]]:
    """Every method compared with training one model at a time; one adversary step."""
    for method in METHODS:
        settings = TrainingSettings(n_epochs=options.epochs, warm_up_epochs=0, adversary_steps=1)
        stack = members(method, options.models, settings)
        few = stack[:: options.models // options.alone][: options.alone]
        rounds = []
        for _ in range(options.rounds + 1):
            together = seconds_together(data, stack)
            rounds.append([together, seconds_one_by_one(data, few) * options.models / len(few)])
        times = torch.tensor(rounds[1:]) / options.epochs
        yield {
            "method": method,
            "adversary_steps": 1,
            "against": "this engine, one at a time",
            **_figures(times[:, 0], times[:, 1]),
        }


def _figures(stack: torch.Tensor, loop: torch.Tensor) -> dict[str, float]:
    ratio = loop / stack
    return {
        "stack, ms an epoch": 1e3 * float(stack.median()),
        "loop, ms an epoch": 1e3 * float(loop.median()),
        "times": float(ratio.median()),
        "lowest": float(ratio.min()),
        "highest": float(ratio.max()),
    }


if __name__ == "__main__":
    main()
