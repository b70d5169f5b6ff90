"""Figs. 1 and 2: estimators on known distributions. Fig. 3: losses and gradients in a small Fair HGR NN.

The loop of Fig. 3 follows the supplement's Algorithm "Fair HGR NN" line by line: one step of the adversary
and one of the predictor on the same mini-batch. It is for illustration; fairdash trains with
:mod:`fairdash.training`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from benchmarks.paper import published_estimators
from benchmarks.paper.frame import processor_seconds, result_of, say, tables_of_parts
from benchmarks.paper.judging import AUTHORS
from fairdash.data.catalogue import load_dataset
from fairdash.dependence.patterns import PATTERNS
from fairdash.lab import FIG2_NOISES, Scene, gaussian_study, noise_axis_study
from fairdash.lab.paper import StudyResult
from fairdash.nets import StackedAdam, StackedMLP

#: Fig. 1: χ² by network, compared with HGR² and mutual information; and the estimators that the paper names.
FIG1_IDS = ("hgr_nn", "hgr_kde", "chi2_kde", "chi2_nn", "mi_ksg", "mi_mine")
#: Estimators in Fig. 2.
FIG2_IDS = ("hgr_nn", "hgr_kde", "hgr_rdc")
#: “When no noise is added”, then levels of the noise axis chosen here, because the paper does not print its
#: levels.
NOISES = (0.0, *FIG2_NOISES)

#: Epochs at which Fig. 3 shows losses and gradients.
EPOCHS = (0, 1, 2, 5, 10, 20, 40)
BATCH = 256
LAM = 1.0
_EPSILON = 1e-8
_LEARNING_RATE = 5e-3


def reproduce_fig1(*, n: int = 2000, repeats: int = 3) -> StudyResult:
    """Tables ``values`` and ``exact`` of :func:`fairdash.lab.gaussian_study`."""
    started = processor_seconds()
    for progress in gaussian_study(n=n, repeats=repeats, ids=FIG1_IDS):
        say(progress.doing)
    options = {"rows": n, "repeats": repeats, "measures": list(FIG1_IDS)}
    tables = dict(progress.tables)
    return result_of("fig1", "python -m fairdash reproduce fig1", tables, started=started, options=options)


def reproduce_fig2(*, n: int = 500, repeats: int = 5, processes: int = 1) -> StudyResult:
    """Tables ``values`` and ``exact`` of :func:`fairdash.lab.noise_axis_study`.

    ``values`` has three versions of HGR_NN: ``evaluation`` "ours" (cross-fitted), "published" (fairdash's
    networks, evaluated on their training rows) and "authors" (as the authors' code trains them).

    Parameters
    ----------
    processes
        Number of patterns computed at once, which does not affect the values.
    """
    started = processor_seconds()
    scenes = [Scene(pattern=one.id, n=n) for one in PATTERNS.values() if one.paper]
    make = partial(_pattern, repeats=repeats, noises=NOISES)
    tables = tables_of_parts(make, scenes, processes=processes)
    # The order of a single process: by measure, and by pattern within a measure.
    order = tables["values"].groupby(["id", "evaluation"], sort=False).ngroup()
    rows = np.argsort(order, kind="stable")
    tables["values"] = tables["values"].iloc[rows].reset_index(drop=True)
    options = {
        "patterns": [scene.pattern for scene in scenes],
        "noises": list(NOISES),
        "rows": n,
        "repeats": repeats,
        "measures": [*FIG2_IDS, "hgr_spline"],
    }
    return result_of("fig2", "python -m fairdash reproduce fig2", tables, started=started, options=options)


def _pattern(scene: Scene, *, repeats: int, noises: tuple[float, ...]) -> dict[str, pd.DataFrame]:
    """All estimators along the noise axis of one pattern; HGR_NN also with the authors' networks."""
    for progress in noise_axis_study([scene], noises=noises, repeats=repeats, ids=(*FIG2_IDS, "hgr_spline")):
        say(f"{scene.shape.title}: {progress.doing}")
    drawn = [replace(scene, noise=noise).draw(repeats=repeats) for noise in noises]
    u, v = (np.concatenate(side) for side in zip(*drawn, strict=True))
    authors = pd.DataFrame(
        {
            "pattern": scene.pattern,
            "noise": np.repeat(noises, repeats),
            "repeat": np.tile(np.arange(repeats), len(noises)),
            "id": "hgr_nn",
            "evaluation": AUTHORS,
            "value": published_estimators.hgr_nn_published(u, v),
        }
    )
    values = pd.concat([progress.tables["values"], authors], ignore_index=True)
    return {"values": values, "exact": progress.tables["exact"]}


def reproduce_fig3(*, n: int = 2000, epochs: tuple[int, ...] = EPOCHS) -> StudyResult:
    """Train on the household scenario for demographic parity, and evaluate all rows at some epochs.

    Returns
    -------
    StudyResult
        ``flow`` has one row per epoch: ``mse`` (on the standardised price), ``j``, ``loss`` = mse + λ J; mean
        and sd of ``y_pred``, ``f`` and ``g`` before standardisation; Euclidean norms of the gradients
        ``grad_f`` = ∂J/∂θ_f, ``grad_g`` = ∂J/∂θ_g, ``grad_error`` = ∂MSE/∂φ and ``grad_penalty`` = λ ∂J/∂φ.
    """
    started = processor_seconds()
    dataset = load_dataset("household", n=n)
    x, y, s = (
        standardised(each) for each in (dataset.features, dataset.target.to_frame(), dataset.sensitive)
    )
    players = Players(x.shape[2])
    rng = np.random.default_rng(0)
    looks = []
    for epoch in range(max(epochs) + 1):
        if epoch in epochs:
            looks.append({"epoch": epoch, **players.look(x, y, s)})
            say(f"epoch {epoch}: MSE {looks[-1]['mse']:.3f}, J {looks[-1]['j']:.3f}")
        order = torch.from_numpy(rng.permutation(n))
        for rows in order.split(BATCH):
            players.step(x[:, rows], y[:, rows], s[:, rows])
    options = {
        "rows": n,
        "batch_size": BATCH,
        "lam": LAM,
        "objective": "demographic_parity",
        "features": list(dataset.features.columns),
    }
    tables = {"flow": pd.DataFrame(looks)}
    command = "python -m fairdash reproduce fig3"
    return result_of("fig3", command, tables, started=started, options=options, notes=dataset.notes)


def standardised(frame: pd.DataFrame) -> Tensor:
    values = frame.to_numpy(dtype=float)
    return torch.tensor((values - values.mean(axis=0)) / values.std(axis=0))[None]


class Players:
    """The networks h, f and g, and both optimisers."""

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
        """One step of both players; only of the predictor if the adversary is frozen."""
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
