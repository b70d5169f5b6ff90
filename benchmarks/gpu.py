"""Seconds of a GPU compared with all cores of its machine, and equality of the results on both.

    FAIRDASH_DATA=… python -m benchmarks.gpu [--only run rule] [--seconds 150]
    python -m benchmarks.gpu --dry-run

Needs a CUDA GPU, and FAIRDASH_DATA for Crime; with `--dry-run` it trains small models on the CPU twice. It
takes eight minutes on an H200 with 16 cores. Writes results/gpu.csv, each row as soon as it is measured:

`estimate_s`  seconds predicted for one slow core by :func:`fairdash.training.stack_trainer.seconds_of`
`cpu_s`, `gpu_s`  wall seconds, after an initial training that starts the device
`share`       gpu_s ÷ cpu_s
`gap`         the largest difference between the errors of a method and weight on both devices, means over
              the splits, as a share of the target's variance
`twice_equal` whether the GPU's predictions are the same to the last bit when it trains again
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd
import torch

import fairdash as fd
from benchmarks.portfolio import simulated
from fairdash.data.dataset import Dataset
from fairdash.errors import Cancelled
from fairdash.evaluation.execute_sweep import execute_sweep, with_lams_found
from fairdash.training.defaults import LAMS, training_rows
from fairdash.training.models import TrainedModels
from fairdash.training.stack_trainer import seconds_of
from fairdash.training.sweep import Sweep, default_plan, train_sweep

RESULTS = Path(__file__).parent / "results" / "gpu.csv"
#: Plans of increasing size, given by methods and splits, for the rule of device="auto".
SIZES = (
    (("hgr_spline",), 1),
    (("standard", "hgr_spline"), 2),
    (("standard", "hgr_spline"), 5),
    (("hgr_nn",), 1),
    (("hgr_nn",), 2),
)
ROWS_OF_CLAIMS = (20_000, 60_000)
MANY_MODELS, ROWS = 400, 678_000
Found = TypeVar("Found")


@dataclass
class Measured:
    """Rows of the results, written one by one.

    Parameters
    ----------
    devices
        Names of the CPU and of the GPU.
    path
        Where the table is written; None for nowhere.
    """

    devices: tuple[str, str]
    path: Path | None
    rows: list[dict[str, object]] = field(default_factory=list)

    def add(self, work: str, **values: object) -> None:
        """Add a row, with the GPU's seconds as a share of the CPU's."""
        cpu, gpu = values.get("cpu_s"), values.get("gpu_s")
        if isinstance(cpu, float) and isinstance(gpu, float):
            values["share"] = gpu / cpu
        self.rows.append({"work": work, **values})
        print(self.rows[-1], flush=True)
        if self.path is not None:
            card = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
            names = ["work", "estimate_s", "cpu_s", "gpu_s", "share", "gap", "twice_equal"]
            frame = pd.DataFrame(self.rows).reindex(columns=names)
            frame.assign(gpu=card, cores=torch.get_num_threads()).round(4).to_csv(self.path, index=False)


def timed(compute: Callable[[], Found]) -> tuple[float, Found]:
    """Seconds, and the computed value."""
    begun = time.perf_counter()
    found = compute()
    return time.perf_counter() - begun, found


def errors(dataset: Dataset, trained: TrainedModels) -> pd.Series:
    """Mean squared error of each method and weight on test rows, as a share of the variance of the target."""
    y, members = dataset.target.to_numpy(float), trained.members
    rows = [trained.splits[j].test for j in members["split"]]
    each = [np.mean((trained.predictions[k, own] - y[own]) ** 2) / y.var() for k, own in enumerate(rows)]
    return pd.Series(each).groupby([members["method"], members["lam"]]).mean()


def estimate(dataset: Dataset, plan: Sweep) -> float:
    """Predicted seconds of training on one slow core."""
    return seconds_of(plan.models(), training_rows(dataset.n_rows))


def start(measured: Measured, dataset: Dataset, plan: Sweep) -> None:
    """Seconds that a GPU takes to start: the first training of all methods less the second one."""
    plan = replace(plan, n_splits=1, tune=False, confirmation_share=0.0)
    # The CPU is measured first, because the first training of a process imports modules.
    _, gpu = (
        [timed(partial(train_sweep, dataset, replace(plan, device=device)))[0] for _ in range(2)]
        for device in measured.devices
    )
    measured.add("start of the GPU", gpu_s=gpu[0] - gpu[1])


def networks(measured: Measured, dataset: Dataset, plan: Sweep) -> None:
    """Pilot, networks and feature importance of a refined run, with the same weights on both devices."""
    both = [replace(plan, device=device) for device in measured.devices]
    pilots, found = zip(*(timed(partial(with_lams_found, dataset, own)) for own in both), strict=True)
    both = [replace(own, lams=found[0].lams, find_lams=False) for own in both]
    trainings, trained = zip(*(timed(partial(train_sweep, dataset, own)) for own in both), strict=True)
    again_s, again = timed(partial(train_sweep, dataset, both[1]))
    cpu, gpu = errors(dataset, trained[0]), errors(dataset, trained[1])
    measured.add(
        f"pilot and networks of {dataset.name}'s refined run",
        estimate_s=estimate(dataset, plan),
        cpu_s=pilots[0] + trainings[0],
        gpu_s=pilots[1] + min(trainings[1], again_s),
        gap=float((cpu - gpu).abs().max()),
        twice_equal=np.array_equal(trained[1].predictions, again.predictions, equal_nan=True),
    )
    for method in plan.methods:
        own = (cpu - gpu).loc[method].abs()
        measured.add(f"errors of {method}, of which the gap is at λ = {own.idxmax():g}", gap=float(own.max()))
    with_importance = [timed(partial(train_sweep, dataset, own, importance=True))[0] for own in both]
    seconds = [max(long - short, 0.0) for long, short in zip(with_importance, trainings, strict=True)]
    measured.add("importance of its features", cpu_s=seconds[0], gpu_s=seconds[1])


def rounding(measured: Measured, dataset: Dataset, plan: Sweep) -> None:
    """Differences between errors on the CPU when the features change in their seventh digit."""
    plan = replace(plan, device=measured.devices[0], confirmation_share=0.0)
    plan = with_lams_found(dataset, replace(plan, methods=("hgr_spline", "hgr_nn")))
    signs = np.random.default_rng(0).choice([-1e-7, 1e-7], dataset.features.shape)
    other = replace(dataset, features=dataset.features * (1 + signs))
    for method in plan.methods:
        own = replace(plan, methods=(method,))
        gap = errors(dataset, train_sweep(dataset, own)) - errors(other, train_sweep(other, own))
        measured.add(f"errors of {method}, features in their seventh digit", gap=float(gap.abs().max()))


def whole_run(measured: Measured, dataset: Dataset, plan: Sweep) -> None:
    """A refined run with references, benchmarks and measures, which stay on the CPU; twice on each device."""
    seconds: dict[str, list[float]] = {device: [] for device in measured.devices}
    for device in (*measured.devices, *reversed(measured.devices)):
        seconds[device].append(timed(partial(execute_sweep, dataset, replace(plan, device=device)))[0])
    cpu, gpu = (float(np.mean(seconds[device])) for device in measured.devices)
    measured.add(f"{dataset.name}'s refined run", cpu_s=cpu, gpu_s=gpu)


def many(measured: Measured, dataset: Dataset, *, count: int) -> None:
    """One model alone compared with many models trained together, on the GPU."""
    for method in ("hgr_spline", "chi2_kde", "hgr_nn"):
        seconds = []
        for models in (1, count):
            plan = Sweep(methods=(method,), lams=tuple(np.linspace(0.1, 5, models).round(4)), n_splits=1)
            plan = replace(plan, device=measured.devices[1], validation_share=0.2)
            found = [timed(partial(train_sweep, dataset, plan)) for _ in range(3)]
            seconds.append(min(each for each, _ in found[1:]))
            same = np.array_equal(found[1][1].predictions, found[2][1].predictions)
            measured.add(f"{models} models of {method}", gpu_s=seconds[-1], twice_equal=same)
        measured.add(f"{count} models of {method} ÷ one", share=seconds[1] / seconds[0])


def rule(measured: Measured, dataset: Dataset, claims: tuple[Dataset, ...]) -> None:
    """Trainings of increasing size on both devices, to find the smallest size for which a GPU is faster."""
    options = {"lams": LAMS, "tune": False, "confirmation": 0.0, "tariff": False}
    sized = [(dataset, methods, n_splits) for methods, n_splits in SIZES]
    sized += [(each, ("hgr_spline",), 2) for each in claims]
    for table, methods, n_splits in sized:
        plan = default_plan(table, methods=methods, n_splits=n_splits, **options)
        both = [replace(plan, device=device) for device in measured.devices]
        cpu, gpu = (timed(partial(train_sweep, table, own))[0] for own in both)
        work = f"{', '.join(methods)}: 8 λ, {n_splits} splits of {table.name}"
        measured.add(work, estimate_s=estimate(table, plan), cpu_s=cpu, gpu_s=gpu)


def large(measured: Measured, dataset: Dataset, plan: Sweep, *, most_seconds: float) -> None:
    """A refined run of a large table on the GPU, by stage; stopped after `most_seconds`."""
    begun, told, doing = time.perf_counter(), {}, ["reading"]

    def progress(what: str, share: float) -> None:
        elapsed = time.perf_counter() - begun
        told[what] = elapsed, share
        if what != doing[-1]:
            doing.append(what)
            print(f"{elapsed:6.1f} s, {share:.0%}: {what}", flush=True)
        if elapsed > most_seconds:
            raise Cancelled

    is_over = True
    try:
        execute_sweep(dataset, replace(plan, device=measured.devices[1]), progress=progress)
    except Cancelled:
        is_over = False
    end = "" if is_over else f", ended at {max(share for _, share in told.values()):.0%}"
    measured.add(f"{dataset.name}, refined run{end}", gpu_s=time.perf_counter() - begun)
    for what, (elapsed, _) in told.items():
        measured.add(f"last told of “{what}”, after", gpu_s=elapsed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parts = ("start", "networks", "rounding", "many", "rule", "run", "large")
    parser.add_argument("--only", nargs="+", choices=parts, default=parts, help="parts to measure")
    parser.add_argument("--seconds", type=float, default=150.0, help="at most for the large table")
    parser.add_argument("--rows", type=int, default=ROWS, help="of the large table")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--dry-run", action="store_true", help="small, on the CPU twice, and write nothing")
    options = parser.parse_args()
    if options.dry_run:
        measured = Measured(("cpu", "cpu"), None)
        settings = fd.TrainingSettings(n_epochs=3, warm_up_epochs=1)
        dataset, claims = fd.load_dataset("household", n=600), (simulated(2_000),)
        plan = default_plan(dataset, methods=("standard", "hgr_spline"), n_splits=2, settings=settings)
        count, table = 20, simulated(1_500)
    else:
        measured = Measured(("cpu", "cuda"), options.out)
        dataset, claims = fd.load_dataset("crime"), tuple(simulated(n) for n in ROWS_OF_CLAIMS)
        plan, count = default_plan(dataset), MANY_MODELS
        table = simulated(options.rows) if "large" in options.only else dataset
    of_table = default_plan(table)
    if options.dry_run:
        of_table = replace(of_table, methods=("standard", "hgr_spline"), n_splits=2, settings=settings)
    work: dict[str, Callable[[], None]] = {
        "start": lambda: start(measured, dataset, plan),
        "networks": lambda: networks(measured, dataset, plan),
        "rounding": lambda: rounding(measured, dataset, plan),
        "many": lambda: many(measured, dataset, count=count),
        "rule": lambda: rule(measured, dataset, claims),
        "run": lambda: whole_run(measured, dataset, plan),
        "large": lambda: large(measured, table, of_table, most_seconds=options.seconds),
    }
    for part in parts:
        if part in options.only:
            work[part]()


if __name__ == "__main__":
    main()
