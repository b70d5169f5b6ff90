"""Figures of classes are the standard formulas', and their tests hold their level."""

from __future__ import annotations

import doctest

import numpy as np
import pandas as pd
import pytest

from fairdash.auditing import gaps
from fairdash.evaluation import classes
from fairdash.evaluation.classes import by_group, pairs_of_groups

NAMES = tuple("ABCDEFG")


def sample(n: int = 800, seed: int = 0, shift: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    codes = rng.choice(7, n, p=[0.3, 0.25, 0.15, 0.1, 0.08, 0.07, 0.05])
    return rng.gamma(2, 100, n) + shift * (codes == 2), codes, rng.uniform(0.2, 1, n)


def test_the_modules_example_holds() -> None:
    assert doctest.testmod(classes).failed == 0
    assert gaps.holm is classes.holm


def test_figures_are_the_standard_formulas() -> None:
    y, codes, weight = sample()
    found = by_group(y, codes, NAMES, sample_weight=weight, cut_off=250.0).set_index("class")
    table = pd.DataFrame({"y": y, "code": codes, "w": weight})
    rates = table.groupby("code").apply(lambda part: np.average(part["y"] <= 250, weights=part["w"]))
    for k, name in enumerate(NAMES):
        own, rest = table[table["code"] == k], table[table["code"] != k]
        mean, other = (np.average(part["y"], weights=part["w"]) for part in (own, rest))
        variances = [np.cov(part["y"], aweights=part["w"], ddof=0) for part in (own, rest)]
        expected = {
            "rows": len(own), "share": own["w"].sum() / table["w"].sum(), "mean": mean,
            "difference": mean - other, "ratio": mean / other,
            "standardized_difference": (mean - other) / np.sqrt(sum(variances) / 2),
            "selection_rate": rates[k], "adverse_impact_ratio": rates[k] / rates.max(),
        }  # fmt: skip
        assert found.loc[name, list(expected)].to_dict() == pytest.approx(expected, rel=1e-12)
    pairs = pairs_of_groups(y, codes, NAMES, sample_weight=weight)
    assert len(pairs) == 21
    assert pairs["difference"][0] == pytest.approx(found["mean"]["A"] - found["mean"]["B"], rel=1e-12)


def test_rows_of_a_unit_are_one_witness() -> None:
    y, codes, _ = sample(200)
    one = by_group(y, codes, NAMES)
    thrice = by_group(*(np.repeat(each, 3) for each in (y, codes)), NAMES, units=np.repeat(np.arange(200), 3))
    columns = ["mean", "low", "high", "difference", "difference_low", "p_value"]
    assert np.allclose(one[columns], thrice[columns], rtol=1e-9)


def test_what_has_no_spread_has_no_noise() -> None:
    codes = np.repeat([0, 1], 30)
    alike, apart = (by_group(y, codes, ("F", "M")) for y in (np.ones(60), codes + 1.0))
    assert (alike["p_value"].tolist(), apart["p_value"].tolist()) == ([1, 1], [0, 0])
    assert apart["ratio"].tolist() == [0.5, 2]
