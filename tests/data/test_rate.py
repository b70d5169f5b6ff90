"""Counts with an exposure: the target is the rate, so that averages are the true frequency."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairdash.cli.training import DataOptions
from fairdash.data import Roles, build_dataset, suggest_roles
from fairdash.errors import DataError
from fairdash.tables.exposure import looks_like_total
from fairdash.training.defaults import suggested_loss

COLUMNS = {"sensitive": ("DrivAge",), "features": ("VehPower", "BonusMalus"), "weight": "Exposure"}
ROLES = Roles(target="ClaimNb", rate=True, **COLUMNS)


def claims(n: int = 4000, seed: int = 0) -> pd.DataFrame:
    """Policies of very unequal length: new ones, with more claims a year, ran for a few weeks."""
    rng = np.random.default_rng(seed)
    exposure = rng.choice([0.05, 0.25, 1.0], n)
    ends = {"DrivAge": (18, 80), "VehPower": (4, 12), "BonusMalus": (50, 120)}
    whole = {name: rng.integers(*each, n) for name, each in ends.items()}
    frame = pd.DataFrame({"Exposure": exposure, **whole})
    rate = 0.05 * np.exp(0.01 * (frame["BonusMalus"] - 70)) * np.where(exposure < 0.1, 3, 1)
    return frame.assign(ClaimNb=rng.poisson(rate * exposure))


def test_the_target_is_the_rate_and_its_mean_the_true_frequency() -> None:
    frame = claims()
    dataset = build_dataset(frame, ROLES, name="claims")
    frequency = frame["ClaimNb"].sum() / frame["Exposure"].sum()
    assert np.average(dataset.target, weights=dataset.weight) == pytest.approx(frequency)
    # What averaging the counts by exposure gave instead.
    assert np.average(frame["ClaimNb"], weights=frame["Exposure"]) != pytest.approx(frequency, rel=0.1)
    assert dataset.per_exposure
    assert dataset.roles == ROLES
    assert dataset.label("ClaimNb") == "ClaimNb (per unit of exposure)"
    (note,) = [note for note in dataset.notes if "a rate" in note]
    assert "“ClaimNb” ÷ “Exposure”" in note
    assert f"{frequency:.4g}" in note


def test_it_is_suggested_for_counts_with_an_exposure_alone() -> None:
    frame = claims()
    assert suggest_roles(frame).rate
    assert not suggest_roles(frame.drop(columns="Exposure")).rate
    assert not suggest_roles(frame.assign(ClaimNb=frame["ClaimNb"] / frame["Exposure"] + 0.5)).rate


@pytest.mark.parametrize(
    ("name", "cells", "expected"),
    [
        ("ClaimNb", [0, 1, 0, 2], True),
        ("ClaimAmount", [0.0, 0.0, 812.5], True),
        ("ClaimsPerYear", [0, 1, 0, 2], False),
        ("frequency", [0.0, 0.0, 1.5], False),
        ("Premium", [312.5, 800.25, 17.0], False),
        ("balance", [-1, 0, 0, 2], False),
        ("ClaimAmount", [0.0, 0.0, 0.0, 0.0, 812.5, 70.0, -30.0], True),
        ("result", [-2.5, 1.5, 3.0], False),
        ("colour", ["red", "blue", "red"], False),
    ],
)
def test_what_looks_like_a_total(name: str, cells: list[object], *, expected: bool) -> None:
    assert looks_like_total(pd.Series(cells, name=name)) is expected


def test_a_rate_needs_an_exposure() -> None:
    with pytest.raises(DataError, match="needs an exposure"):
        build_dataset(claims(), replace(ROLES, weight=None), name="claims")


COSTS = replace(ROLES, target="ClaimAmount")


def with_recoveries(n: int = 4000) -> pd.DataFrame:
    """Costs of claims, of which every fortieth is a recovery: below zero, in rows 7, 407, …."""
    frame = claims(n).drop(columns="ClaimNb")
    rng = np.random.default_rng(3)
    cost = np.where(rng.random(n) < 0.15, rng.gamma(1.5, 600, n).round(2), 0.0)
    cost[7::400] = -250.5
    return frame.assign(ClaimAmount=cost)


def test_a_total_that_is_not_divided_is_said_to_be_one() -> None:
    dataset = build_dataset(with_recoveries(), replace(COSTS, rate=False), name="costs")
    assert any("looks like a total over the exposure" in note for note in dataset.notes)
    assert any("below zero in 10 rows" in note for note in dataset.notes)
    alone = build_dataset(with_recoveries(), replace(COSTS, rate=False, weight=None), name="costs")
    assert not any("looks like a total" in note for note in alone.notes)
    assert any("below zero in 10 rows" in note for note in alone.notes)


def test_the_command_line_takes_the_same_three_ways(tmp_path: Path) -> None:
    frame = with_recoveries()
    frame.to_csv(tmp_path / "costs.csv", index=False)
    roles = {"predict": "ClaimAmount", "sensitive": ("DrivAge",), "exposure": "Exposure"}
    given = DataOptions(file=tmp_path / "costs.csv", **roles)
    with pytest.raises(DataError, match="amounts below zero") as caught:
        given.load()
    assert "--below-zero" in str(caught.value)
    means = []
    for way in ("as-they-are", "floor", "drop"):
        dataset = replace(given, below_zero=way).load()
        means.append(np.average(dataset.target, weights=dataset.weight))
    assert means == sorted(means)
    assert means[0] == pytest.approx(frame["ClaimAmount"].sum() / frame["Exposure"].sum())


@pytest.mark.parametrize(
    ("target", "weight", "expected"),
    [
        ([0, 0, 1, 0, 2], None, "poisson"),
        ([0, 0, 1 / 3, 0, 40], [1, 1, 3, 0.5, 0.05], "poisson"),
        ([0, 0, 812.4, 0, 0], [1, 1, 0.25, 0.5, 1], "tweedie"),
        ([1, 2, 3, 50, 900], None, "gamma"),
        ([90, 200, 350, 510, 40], [0.5, 1, 0.5, 1, 0.2], "squared_error"),
        ([10, 12, 9, 11, 14], None, "squared_error"),
        ([-1, 0, 0, 0, 0], None, "squared_error"),
        ([0, 0.2, 0.6, 0, 0], None, "squared_error"),
    ],
)
def test_the_loss_follows_the_target(target: list[float], weight: list[float] | None, expected: str) -> None:
    given = None if weight is None else np.array(weight, dtype=float)
    assert suggested_loss(np.array(target, dtype=float), given)[0] == expected
