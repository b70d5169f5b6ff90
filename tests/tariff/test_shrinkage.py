"""How strongly a tariff shrinks is found on rows held out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from fairdash.data.dataset import Dataset
from fairdash.tariff.fit import FitOptions
from fairdash.tariff.many import fit_tariffs
from fairdash.training.losses import find_loss
from fairdash.training.splits import random_splits
from tests.data.tables import dataset_of

POISSON = find_loss("poisson")
LAMS = (0.0, 1.0)


def weak_claims(n: int = 2000) -> Dataset:
    """Policies of which one in twelve has a claim; two of four numbers tell a little."""
    rng = np.random.default_rng(0)
    age, years = rng.integers(18, 90, n), rng.uniform(0.2, 1.0, n)
    numbers = pd.DataFrame(rng.normal(size=(n, 3)), columns=["power", "value", "density"])
    numbers["bonus"] = np.clip(140 - age + rng.normal(0, 15, n), 50, 150)
    rate = 0.1 * np.exp(0.012 * (numbers["bonus"] - 90) + 0.15 * numbers["power"])
    claims = rng.poisson(rate * years) / years
    return dataset_of(numbers, {"claims": claims}, {"age": age.astype(float)}, weight={"years": years})


def test_weak_claims_are_foretold_better_at_every_weight() -> None:
    data, options = weak_claims(), FitOptions(loss=POISSON)
    y, weight = data.target.to_numpy(), data.weight.to_numpy()
    splits = random_splits(data.n_rows, n_splits=3, random_state=0)
    errors = {}
    for shrink in (False, True):
        found = fit_tariffs(data, splits, lams=LAMS, options=options, shrink=shrink)
        tests = [splits[j].test for j in found.members["split"]]
        each = [
            POISSON.mean_deviance(y[rows], p[rows], weight[rows])
            for p, rows in zip(found.predictions, tests, strict=True)
        ]
        errors[shrink] = pd.Series(each).groupby(found.members["lam"].to_numpy()).mean()
    assert (errors[True] < 0.99 * errors[False]).all()


def test_test_rows_take_no_part_and_the_same_seed_gives_the_same() -> None:
    data = weak_claims(600)
    splits = random_splits(data.n_rows, n_splits=1, random_state=0, validation_share=0.25)
    poisoned = data.target.copy()
    poisoned.iloc[splits[0].test] = 50.0
    one, same, other = (
        fit_tariffs(each, splits, lams=LAMS, options=FitOptions(loss=POISSON), shrink=True).predictions
        for each in (data, data, replace(data, target=poisoned))
    )
    np.testing.assert_array_equal(one, same)
    np.testing.assert_array_equal(one, other)
