"""Accuracy of every estimator compared with the exact value, and seconds per value compared with other code.

    OMP_NUM_THREADS=1 python -m benchmarks.estimators [--quick]

Writes estimators_gaussian.csv, estimators_patterns.csv and estimators_speed.csv into results/. Times are
processor times, which other programs on the machine affect less; all times of one table come from one run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from fairdash.dependence import REGISTRY, exact, measure, measure_many
from fairdash.dependence.kde import hgr_kde
from fairdash.dependence.patterns import PATTERNS, draw

RESULTS = Path(__file__).parent / "results"
NOISE = (0.5, 1, 2, 3, 4, 5, 6, 7, 8, 9)
FOUR = [one.id for one in PATTERNS.values() if one.paper]
ESTIMATORS: dict[str, tuple[str, dict[str, object]]] = {
    "hgr_spline cross-fitted": ("hgr_spline", {"evaluation": "cross_fit"}),
    "hgr_spline corrected": ("hgr_spline", {"evaluation": "corrected"}),
    "hgr_spline in-sample": ("hgr_spline", {"evaluation": "in_sample"}),
    "hgr_nn cross-fitted": ("hgr_nn", {}),
    "hgr_nn in-sample": ("hgr_nn", {"evaluation": "in_sample"}),
    "hgr_kde": ("hgr_kde", {}),
    "hgr_kde published": ("hgr_kde", {"grid": "published"}),
    "hgr_rdc": ("hgr_rdc", {}),
    "kcca": ("kcca", {}),
}


def seconds(function: Callable[[], object], repeats: int = 3) -> float:
    """The smallest processor time of a few calls."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def gaussian(count: int) -> pd.DataFrame:
    """Means over Gaussian samples of 2,000 rows."""
    rows = []
    for rho in (0.0, 0.3, 0.6, 0.9):
        rng = np.random.default_rng(int(100 * rho))
        u = rng.normal(size=(count, 2000))
        v = rho * u + np.sqrt(1 - rho**2) * rng.normal(size=u.shape)
        truth = exact.gaussian(rho)
        for id, want in (
            ("hgr_spline", truth.hgr),
            ("hgr_nn", truth.hgr),
            ("hgr_kde", truth.hgr),
            ("hgr_rdc", truth.hgr),
            ("chi2_nn", truth.chi2),
            ("chi2_kde", truth.chi2),
            ("mi_mine", truth.mi),
            ("mi_ksg", truth.mi),
        ):
            values = measure_many(id, u, v, random_state=0)
            rows.append(
                {
                    "rho": rho,
                    "measure": id,
                    "truth": want,
                    "mean": values.mean(),
                    "sd": values.std(ddof=1),
                    "sets": count,
                }
            )
            print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def patterns(repeats: int) -> pd.DataFrame:
    """Errors for the paper's four patterns, with 500 rows and ten noise levels."""
    cells = [
        (name, sigma, *draw(name, sigma, 500, repeats=repeats, random_state=100 * i + j))
        for i, name in enumerate(FOUR)
        for j, sigma in enumerate(NOISE)
    ]
    u, v = np.concatenate([cell[2] for cell in cells]), np.concatenate([cell[3] for cell in cells])
    truth = np.repeat([exact.pattern_hgr(name, noise=sigma).value for name, sigma, *_ in cells], repeats)
    which = np.repeat([name for name, *_ in cells], repeats)
    clean = [draw(name, 0, 500, random_state=3) for name in FOUR]
    rows = []
    for label, (id, options) in ESTIMATORS.items():
        start = time.process_time()
        error = measure_many(id, u, v, random_state=0, **options) - truth
        took = time.process_time() - start
        without = [measure(id, a[0], b[0], random_state=0, **options) for a, b in clean]
        row = {"estimator": label, "rmse": np.sqrt((error**2).mean()), "ms_a_value": 1e3 * took / len(u)}
        row |= {f"bias {name}": error[which == name].mean() for name in FOUR}
        row |= {f"no noise {name}": value for name, value in zip(FOUR, without, strict=True)}
        rows.append(row)
        print(row, flush=True)
    return pd.DataFrame(rows)


def loop_steps(hidden: tuple[int, ...], n: int, steps: int) -> None:
    """Algorithm 2 on one pair as in public code: torch modules and two optimisers."""
    u, v = torch.randn(n, 1), torch.randn(n, 1)
    nets = []
    for _ in range(2):
        layers: list[torch.nn.Module] = []
        for a, b in pairwise((1, *hidden)):
            layers += [torch.nn.Linear(a, b), torch.nn.Tanh()]
        nets.append(torch.nn.Sequential(*layers, torch.nn.Linear(hidden[-1], 1)))
    optimisers = [torch.optim.Adam(net.parameters(), lr=1e-2) for net in nets]
    for _ in range(steps):
        f, g = nets[0](u), nets[1](v)
        f = (f - f.mean()) / torch.sqrt(f.std().pow(2) + 1e-9)
        g = (g - g.mean()) / torch.sqrt(g.std().pow(2) + 1e-9)
        loss = -(f * g).mean()
        for optimiser in optimisers:
            optimiser.zero_grad()
        loss.backward()
        for optimiser in optimisers:
            optimiser.step()


def whole_grid_kde(u: torch.Tensor, v: torch.Tensor, grid: int) -> torch.Tensor:
    """HGR_KDE with O(G²n) operations as published: the distance of every row to every grid point."""
    z = torch.stack([(x - x.mean()) / x.std() for x in (u, v)], dim=-1)
    h = len(u) ** (-1 / 6)
    points = torch.linspace(-2.5, 2.5, grid, dtype=u.dtype)
    data = torch.stack(torch.meshgrid(points, points, indexing="ij"), dim=-1)
    distance = (data[:, :, None] - z[None, None]).norm(dim=-1)
    joint = torch.exp(-(distance**2) / h**2 / 2).mean(dim=-1) / np.sqrt(2 * np.pi) / h + 1e-10
    joint = joint / joint.sum()
    return torch.linalg.svdvals(joint / torch.sqrt(joint.sum(1, keepdim=True) * joint.sum(0, keepdim=True)))[
        1
    ]


def speed() -> pd.DataFrame:
    """Seconds per value, and paired ratios."""
    rng = np.random.default_rng(0)
    rows = []

    def note(what: str, value: float, unit: str) -> None:
        rows.append({"what": what, "value": value, "unit": unit})
        print(rows[-1], flush=True)

    u = rng.normal(size=(200, 500))
    v = u**2 + rng.normal(size=u.shape)
    for evaluation in ("cross_fit", "in_sample"):
        took = seconds(
            lambda evaluation=evaluation: measure_many("hgr_spline", u, v, evaluation=evaluation), 7
        )
        note(f"hgr_spline {evaluation}, n=500, stack of 200", 1e6 * took / 200, "µs a value")

    for hidden in ((10, 10, 10), (24, 12)):
        ratios, stacks = [], []
        for _ in range(5):
            loop = seconds(lambda hidden=hidden: loop_steps(hidden, 500, 100), 1) / 100
            options = {"evaluation": "in_sample", "n_steps": 300, "hidden": hidden, "random_state": 0}
            stack = (
                seconds(lambda options=options: measure_many("hgr_nn", u[:40], v[:40], **options), 1)
                / 300
                / 40
            )
            ratios.append(loop / stack)
            stacks.append(stack)
        note(f"hgr_nn {hidden}, 40 pairs of 500, stacked", 1e6 * float(np.median(stacks)), "µs a step a pair")
        note(f"hgr_nn {hidden}, 40 pairs of 500, loop / stack", float(np.median(ratios)), "ratio")

    a, b = (torch.from_numpy(x) for x in rng.normal(size=(2, 7000)))
    b = a**2 + b
    grid = int(min(50, 5 / 7000 ** (-1 / 6)))
    difference = abs(float(whole_grid_kde(a, b, grid)) - float(hgr_kde(a, b, grid="published")))
    note("hgr_kde n=7000, difference to the O(G²n) form", difference, "absolute")

    def backward(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        x = a.clone().requires_grad_()
        function(x).backward()

    forms = {"forward": lambda function: function(a), "with gradient": backward}
    for what, run in forms.items():
        # Take the median of many rounds: the large arrays of the O(G²n) form need two to three times as long
        # if the allocator uses new memory pages, so single ratios vary.
        ratios = [
            seconds(lambda run=run: run(lambda x: whole_grid_kde(x, b, grid)), 1)
            / seconds(lambda run=run: run(lambda x: hgr_kde(x, b, grid="published")), 3)
            for _ in range(15)
        ]
        note(f"hgr_kde n=7000, O(G²n) / separable, {what}", float(np.median(ratios)), "ratio")

    for one in REGISTRY.values():
        x, y = (np.clip(np.round(z[:5]), -1, 1) for z in (u, v)) if one.discrete else (u[:5], v[:5])
        # Unlike other fitted measures, the displayed spline value is not cross-fitted.
        for evaluation in ("cross_fit", "corrected") if one.id == "hgr_spline" else ("",):
            options = {"evaluation": evaluation} if evaluation else {}
            call = partial(measure_many, one.id, x, y, random_state=0, **options)
            call()
            name = f"{one.id} {evaluation}".strip()
            note(f"{name}, n=500, stack of 5", 1e3 * seconds(call, 1) / 5, "ms a value")
    for label, function in others(u[0], v[0]).items():
        function()
        note(label, 1e3 * seconds(function), "ms a value")
    return pd.DataFrame(rows)


def others(u: np.ndarray, v: np.ndarray) -> dict[str, Callable[[], object]]:
    """Other packages on the same pair, if they are installed."""
    found: dict[str, Callable[[], object]] = {}
    try:
        import dcor

        found["dcor.distance_correlation, n=500"] = lambda: dcor.distance_correlation(u, v)
    except ImportError:
        pass
    try:
        from hyppo.independence import Dcorr, Hsic

        x, y = u[:, None], v[:, None]
        found["hyppo Dcorr statistic, n=500"] = lambda: Dcorr().statistic(x, y)
        found["hyppo Hsic statistic, n=500"] = lambda: Hsic().statistic(x, y)
    except ImportError:
        pass
    try:
        from maxcorr import indicator

        for kind in ("nn", "dk"):
            found[f"maxcorr {kind}, n=500"] = lambda kind=kind: indicator(
                semantics="hgr", algorithm=kind, backend="torch" if kind == "nn" else "numpy"
            ).compute(u, v)
    except ImportError:
        pass
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer samples")
    parser.add_argument("--only", choices=["gaussian", "patterns", "speed"])
    args = parser.parse_args()
    torch.set_num_threads(1)
    RESULTS.mkdir(exist_ok=True)
    studies = {
        "speed": speed,
        "patterns": lambda: patterns(1 if args.quick else 5),
        "gaussian": lambda: gaussian(4 if args.quick else 20),
    }
    for name, study in studies.items():
        if args.only in (None, name):
            study().to_csv(RESULTS / f"estimators_{name}.csv", index=False, float_format="%.5g")


if __name__ == "__main__":
    main()
