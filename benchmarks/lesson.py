"""Trained scenes of the lesson: estimates of an adversary on noise, and who pays for fairness.

    python -m benchmarks.lesson            writes fairdash/lab/lesson_data/*.csv again
    python -m benchmarks.lesson noise      one of noise, payers and duel
    python -m benchmarks.lesson --check    compares instead of writing; exits with 1 where something differs

Sentences of the scenes quote these numbers; each is the result of one call of the library.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

import fairdash as fd
from benchmarks.household_run import household_run
from benchmarks.paper.figures import Players, standardised
from fairdash.evaluation import DEFAULT_MEASURE, assess_predictions, summarise_splits, wide
from fairdash.lab.lesson import (
    AGES,
    DATA,
    DUEL_LAM,
    DUEL_STEPS,
    FROZEN_AT,
    LAMS,
    NOISE_ROWS,
    NOISE_STEPS,
    independent_rows,
)
from fairdash.nets import StackedAdam
from fairdash.storage import write_whole
from fairdash.training.sweep import train_sweep
from fairdash.utils.safe_csv import safe_csv

#: Permutations for a floor.
SHUFFLES = 19
#: Scene with predictor and adversary: policies, policies per step, and age groups of its curves.
ROWS_OF_DUEL, BATCH, GROUPS_OF_DUEL = 1000, 256, 15
#: Additional steps of the adversary before each joint step.
AHEAD = 4
OBJECTIVES = ("demographic_parity", "equalized_residuals")


def noise(rows: Sequence[int] = NOISE_ROWS, steps: Sequence[int] = NOISE_STEPS) -> dict[str, pd.DataFrame]:
    """HGR_NN of independent rows on training and on new rows, and its in-sample floor."""
    found = []
    for n in rows:
        u, v = independent_rows(n)
        shuffled = np.stack([np.random.default_rng([0, n, k]).permutation(v) for k in range(SHUFFLES)])
        pairs = np.broadcast_to(u, shuffled.shape).copy()
        for count in steps:
            options = {"random_state": 0, "n_steps": count}
            own = fd.measure("hgr_nn", u, v, evaluation="in_sample", **options)
            new = fd.measure("hgr_nn", u, v, evaluation="cross_fit", **options)
            floor = fd.measure_many("hgr_nn", pairs, shuffled, evaluation="in_sample", **options)
            found.append(
                {"n": n, "steps": count, "own": own, "new": new, "low": floor.min(), "high": floor.max()}
            )
    return {"noise": pd.DataFrame(found)}


def payers(objectives: Sequence[str] = OBJECTIVES, lams: Sequence[float] = LAMS) -> dict[str, pd.DataFrame]:
    """Error, dependence and averages by age along λ for both objectives, on test rows of the splits."""
    points, profiles = [], []
    for objective in objectives:
        data, plan = household_run(objective=objective, lams=lams)
        age, cost = data.sensitive.iloc[:, 0].to_numpy(), data.target.to_numpy()
        trained = train_sweep(data, plan, confirms=False)
        frame = assess_predictions(
            data, trained.predictions, trained.members, trained.splits, objective=objective,
            measures=(DEFAULT_MEASURE,), random_state=plan.random_state,
        )  # fmt: skip
        found = wide(summarise_splits(frame)).query("part == 'test'").set_index("lam").sort_index()
        of_average = np.mean(
            [np.sqrt(np.mean((cost[each.test] - cost[each.train].mean()) ** 2)) for each in trained.splits]
        )
        for lam, members in trained.members.groupby("lam"):
            one = {"objective": objective, "lam": lam}
            own = found.loc[lam]
            names = {"rmse": "rmse", "hgr": DEFAULT_MEASURE}
            values = {f"{name}{end}": own[f"{of}{end}"] for name, of in names.items() for end in ("", "_se")}
            edge = {"edge": own[f"{DEFAULT_MEASURE}_edge"], "rmse_of_average": of_average}
            points.append(one | values | edge)
            test = [(k, trained.splits[split].test) for k, split in members["split"].items()]
            years = np.concatenate([age[rows] for _, rows in test])
            prices = np.concatenate([trained.predictions[k][rows] for k, rows in test])
            residuals = prices - np.concatenate([cost[rows] for _, rows in test])
            for low, high in pairwise(AGES):
                inside = (years >= low) & (years < high)
                averages = {
                    "age": (low + high) / 2,
                    "n": int(inside.sum()),
                    "price": prices[inside].mean(),
                    "residual": residuals[inside].mean(),
                }
                profiles.append(one | averages)
    return {"payers": pd.DataFrame(points), "payers_by_age": pd.DataFrame(profiles)}


def duel(games: Sequence[bool] = (False, True), steps: Sequence[int] = DUEL_STEPS) -> dict[str, pd.DataFrame]:
    """Training of a predictor against its adversary, and with the adversary frozen from some step on."""
    import torch

    data = fd.load_dataset("household", n=ROWS_OF_DUEL)
    parts = (data.features, data.target.to_frame(), data.sensitive)
    x, y, s = (standardised(values) for values in parts)
    age, cost = data.sensitive.iloc[:, 0].to_numpy(), data.target.to_numpy()
    order = np.argsort(age)
    states, curves = [], []
    for frozen in games:
        players, rng = Players(x.shape[2]), np.random.default_rng(0)
        players.descent = StackedAdam(players.h.parameters(), lr=2e-3)
        for step in range(max(steps) + 1):
            if step in steps:
                with torch.no_grad():
                    y_pred, _, g, error, j = players.forward(x, y, s)
                price = y_pred[0, :, 0].numpy() * cost.std() + cost.mean()
                seen = g[0, :, 0].numpy()
                seen = (seen - seen.mean()) / max(float(seen.std()), 1e-8)
                fresh = fd.measure("hgr_spline", price, age)
                one = {"frozen": frozen, "step": step}
                states.append(one | {"mse": error.item(), "j": j.item(), "fresh": fresh})
                for rows in np.array_split(order, GROUPS_OF_DUEL):
                    means = {"age": age[rows].mean(), "price": price[rows].mean(), "g": seen[rows].mean()}
                    curves.append(one | means)
            rows = torch.from_numpy(rng.permutation(len(age))[:BATCH])
            batch = x[:, rows], y[:, rows], s[:, rows]
            # The adversary must stay ahead, because otherwise both only oscillate.
            for _ in range(0 if frozen and step >= FROZEN_AT else AHEAD):
                j = players.forward(*batch)[-1]
                players.ascent.step(torch.autograd.grad(j, players.ascent.parameters))
            players.step(*batch, lam=DUEL_LAM, frozen=frozen and step >= FROZEN_AT)
    return {"duel": pd.DataFrame(states), "duel_by_age": pd.DataFrame(curves)}


PARTS = {"noise": noise, "payers": payers, "duel": duel}


#: Tolerance for a reproduced value on the same kind of processor.
SAME = 1e-6


def differences(table: str, again: pd.DataFrame) -> list[str]:
    """Columns of a committed table that are not reproduced, each with its largest difference."""
    committed = pd.read_csv(DATA / f"{table}.csv")
    if list(committed) != list(again) or len(committed) != len(again):
        return [f"{table}: other columns or rows"]
    found = []
    for name in committed:
        was, now = committed[name], again[name]
        if not pd.api.types.is_float_dtype(was):
            if list(was) != list(now):
                found.append(f"{table}.{name}: other values")
        elif not np.allclose(now, was, rtol=SAME, atol=SAME):
            found.append(f"{table}.{name}: up to {np.abs(now - was).max():.2g} apart")
    return found


def main(arguments: Sequence[str]) -> int:
    names = [each for each in arguments if each != "--check"] or list(PARTS)
    made = {table: frame for name in names for table, frame in PARTS[name]().items()}
    if "--check" not in arguments:
        for table, frame in made.items():
            write_whole(DATA / f"{table}.csv", safe_csv(frame, float_format="%.9g"))
        return 0
    found = [line for table, frame in made.items() for line in differences(table, frame)]
    print("\n".join(found) or f"{', '.join(made)}: as committed")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
