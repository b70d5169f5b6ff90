"""Fig. 3, alive: a small Fair HGR NN, and what flows through each box of its picture as it trains.

The loop is the supplement's Algorithm "Fair HGR NN", line by line: one step of the adversary and one of the
predictor on the same mini-batch. fairdash trains with :mod:`fairdash.training`; this one is to be looked at.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from fairdash.data.catalogue import load_dataset
from fairdash.nets import StackedAdam, StackedMLP
from fairdash.reproduction.results import (
    About,
    StudyResult,
    Tell,
    processor_seconds,
    silent,
)

#: Epochs at which the flow is looked at.
EPOCHS = (0, 1, 2, 5, 10, 20, 40)
ROWS = 2000
BATCH = 256
LAM = 1.0
_EPSILON = 1e-8
_LEARNING_RATE = 5e-3


def reproduce_fig3(*, n: int = ROWS, epochs: tuple[int, ...] = EPOCHS, tell: Tell = silent) -> StudyResult:
    """Train on the household scenario for demographic parity, and look at all rows now and then.

    Returns
    -------
    StudyResult
        ``flow``: a row an epoch; ``mse`` (on the standardised price), ``j``, ``loss`` = mse + λ J; mean and
        sd of ``y_pred``, ``f`` and ``g`` before they are standardised; Euclidean norms of the gradients
        ``grad_f`` = ∂J/∂θ_f, ``grad_g`` = ∂J/∂θ_g, ``grad_error`` = ∂MSE/∂φ and ``grad_penalty`` = λ ∂J/∂φ.
    """
    started = processor_seconds()
    dataset = load_dataset("household", n=n)
    x, y, s = (
        standardised(values) for values in (dataset.features, dataset.target.to_frame(), dataset.sensitive)
    )
    players = Players(x.shape[2])
    rng = np.random.default_rng(0)
    looks = []
    for epoch in range(max(epochs) + 1):
        if epoch in epochs:
            looks.append({"epoch": epoch, **players.look(x, y, s)})
            words = f"epoch {epoch}: MSE {looks[-1]['mse']:.3f}, J {looks[-1]['j']:.3f}"
            tell(words, epoch / max(epochs))
        order = torch.from_numpy(rng.permutation(n))
        for rows in order.split(BATCH):
            players.step(x[:, rows], y[:, rows], s[:, rows])
    about = About.of(
        "fig3",
        started=started,
        command="python -m fairdash reproduce fig3",
        seed=0,
        options={
            "rows": n,
            "batch_size": BATCH,
            "lam": LAM,
            "objective": "demographic_parity",
            "features": list(dataset.features.columns),
        },
        notes=dataset.notes,
    )
    return StudyResult(about, {"flow": pd.DataFrame(looks)})


def standardised(frame: pd.DataFrame) -> Tensor:
    values = frame.to_numpy(dtype=float)
    return torch.tensor((values - values.mean(axis=0)) / values.std(axis=0))[None]


class Players:
    """h, f and g, and the two optimisers."""

    def __init__(self, n_features: int) -> None:
        self.h = StackedMLP([n_features, 16, 8, 1], seeds=[0]).double()
        self.f = StackedMLP([1, 10, 10, 10, 1], seeds=[1]).double()
        self.g = StackedMLP([1, 10, 10, 10, 1], seeds=[2]).double()
        self.descent = StackedAdam(self.h.parameters(), lr=_LEARNING_RATE)
        self.ascent = StackedAdam([*self.f.parameters(), *self.g.parameters()], lr=1e-2, maximize=True)

    def forward(self, x: Tensor, y: Tensor, s: Tensor) -> tuple[Tensor, ...]:
        """ŷ, f(ŷ), g(s), the error and J."""
        y_pred = self.h(x)
        f, g = self.f(y_pred), self.g(s)
        return y_pred, f, g, ((y_pred - y) ** 2).mean(), (_scaled(f) * _scaled(g)).mean()

    def step(self, x: Tensor, y: Tensor, s: Tensor, *, lam: float = LAM, frozen: bool = False) -> None:
        """One step of both; of the predictor alone where the adversary is frozen."""
        *_, error, j = self.forward(x, y, s)
        up = torch.autograd.grad(j, self.ascent.parameters, retain_graph=True)
        down = torch.autograd.grad(error + lam * j, self.descent.parameters)
        if not frozen:
            self.ascent.step(up)
        self.descent.step(down)

    def look(self, x: Tensor, y: Tensor, s: Tensor) -> dict[str, float]:
        y_pred, f, g, error, j = self.forward(x, y, s)

        def norm(value: Tensor, network: StackedMLP) -> float:
            parts = torch.autograd.grad(value, list(network.parameters()), retain_graph=True)
            return torch.cat([part.flatten() for part in parts]).norm().item()

        values = {"mse": error.item(), "j": j.item(), "loss": (error + LAM * j).item()}
        for name, output in (("y_pred", y_pred), ("f", f), ("g", g)):
            values |= {f"{name}_mean": output.mean().item(), f"{name}_sd": output.std().item()}
        return values | {
            "grad_f": norm(j, self.f),
            "grad_g": norm(j, self.g),
            "grad_error": norm(error, self.h),
            "grad_penalty": norm(LAM * j, self.h),
        }


def _scaled(x: Tensor) -> Tensor:
    centred = x - x.mean()
    return centred * torch.rsqrt(centred.square().mean() + _EPSILON)
