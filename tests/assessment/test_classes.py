"""Figures of classes are the standard formulas', and their tests hold their level."""

from __future__ import annotations

import doctest

import numpy as np
import pandas as pd
import pytest

from fairdash.auditing import gaps
from fairdash.evaluation import assess_predictions, classes, wide
from fairdash.evaluation.classes import by_group, pairs_of_groups
from fairdash.training.splits import random_splits
from fairdash.utils.classes import classes_of
from tests.data.tables import dataset_of

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
            "rows": len(own),
            "share": own["w"].sum() / table["w"].sum(),
            "mean": mean,
            "difference": mean - other,
            "ratio": mean / other,
            "standardized_difference": (mean - other) / np.sqrt(sum(variances) / 2),
            "selection_rate": rates[k],
            "adverse_impact_ratio": rates[k] / rates.max(),
        }
        assert found.loc[name, list(expected)].to_dict() == pytest.approx(expected, rel=1e-12)
    pairs = pairs_of_groups(y, codes, NAMES, sample_weight=weight)
    assert len(pairs) == 21
    assert pairs["difference"][0] == pytest.approx(found["mean"]["A"] - found["mean"]["B"], rel=1e-12)


def test_intervals_and_tests_hold_their_level() -> None:
    """Each class against the rest, and all pairs, by Holm: a false claim in at most 16 of 200 samples."""
    claims, covered, pairs = 0, [], 0
    for seed in range(200):
        y, codes, weight = sample(seed=seed)
        found = by_group(y, codes, NAMES, sample_weight=weight)
        claims += bool((found["p_value"] <= 0.05).any())
        covered.append(((found["low"] <= 200) & (found["high"] >= 200)).mean())
        pairs += bool((pairs_of_groups(y, codes, NAMES, sample_weight=weight)["p_value"] <= 0.05).any())
    assert claims <= 16
    assert pairs <= 16
    assert np.mean(covered) > 0.92
    assert by_group(*sample(shift=80)[:2], NAMES)["p_value"].idxmin() == 2


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


def predicted(code: np.ndarray, u: np.ndarray, **more: object) -> pd.DataFrame:
    """Test rows' figures of predictions (K, n), each as a λ of its own, over two splits."""
    classes = classes_of(np.array(NAMES)[code])
    sensitive = pd.DataFrame(classes.columns("region")).assign(**more)
    data = dataset_of({"x": u[0]}, {"y": u[0]}, sensitive)
    lams, split = np.tile(np.arange(float(len(u))), 2), np.repeat([0, 1], len(u))
    members = pd.DataFrame({"method": "standard", "lam": lams, "split": split, "diverged": False})
    splits = random_splits(len(code), n_splits=2, random_state=0)
    options = {"objective": "demographic_parity", "measures": ("pearson",), "n_permutations": 20}
    table = assess_predictions(data, np.tile(u, (2, 1)), members, splits, parts=("test",), **options)
    return wide(table).drop_duplicates("lam")


def test_the_verdicts_on_a_models_classes_are_one_test() -> None:
    """Seven columns with a test each would find a link by chance in a third of all models."""
    found = shifted = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        code = rng.choice(7, 600, p=[0.3, 0.25, 0.15, 0.1, 0.08, 0.07, 0.05])
        noise = rng.exponential(size=(50, len(code)))
        frame = predicted(code, noise, age=rng.normal(size=len(code)))
        p_values = frame[[f"verdict[region: {name}]_p" for name in NAMES]]
        assert (p_values.nunique(axis=1) == 1).all()
        assert not frame["verdict[age]_p"].equals(p_values.iloc[:, 0])
        found += int((p_values <= 0.05 + 1e-9).any(axis=1).sum())
        moved = predicted(code, noise[:10] + 0.8 * (code == 3))
        shifted += int((moved["verdict[region: A]_p"] <= 0.05).sum())
    assert found <= 16
    assert shifted >= 20
