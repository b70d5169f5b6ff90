"""Policies with several rows: ids are found by what their rows share, and nothing else is taken for one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairdash.data import suggest_roles
from fairdash.tables.exposure import find_policies
from fairdash.tables.suggestion import NAMES_POLICIES


def book(n: int = 900, *, years: int = 3, names: bool = True) -> pd.DataFrame:
    """A portfolio over years, in which some policies begin late, without an id."""
    rng = np.random.default_rng(0)
    policy = np.repeat(np.arange(n), rng.integers(1, years + 1, n))
    year = pd.Series(policy).groupby(policy).cumcount().to_numpy()
    place, model = rng.integers(0, 160, n)[policy], rng.integers(0, 120, n)[policy]
    born = np.datetime64("1950-01-01") + rng.integers(0, 300, n)[policy]
    columns = {
        "year": 2020 + year,
        "age": rng.integers(18, 80, n)[policy] + year,
        "sex": rng.choice(["F", "M"], n)[policy],
        "use": rng.choice(["work", "leisure", "both"], n)[policy],
        "zip": 10_000 + 37 * place,
        "region": np.array(list("ABCDE"))[place % 5],
        "density": (place * 13 % 97) ** 2,
        "model": [f"model {each}" for each in model],
        "body": np.array(["saloon", "estate", "van"])[model % 3],
        "kw": 40 + model % 90,
        "born": born.astype(str),
        "claims": rng.poisson(0.1, len(policy)),
    }
    frame = pd.DataFrame(columns)
    frame["premium"] = (200 + 2 * frame["age"] + 0.5 * frame["kw"] + 40 * (frame["sex"] == "M")).round()
    frame = frame if names else frame.rename(columns={name: f"v{k}" for k, name in enumerate(frame)})
    return frame.assign(**{"policy of it": policy})


NUMBERED = {
    "numbers": lambda policy: 70_000 + 11 * policy,
    "floats": lambda policy: 70_000.0 + 11 * policy,
    "texts": lambda policy: policy.map("AB-{:06d}/x".format),
}


@pytest.mark.parametrize("as_id", NUMBERED.values(), ids=NUMBERED)
def test_ids_are_found_by_their_values(as_id) -> None:
    frame = book().rename(columns={"policy of it": "k"})
    frame = frame.assign(k=as_id(frame["k"])).sample(frac=1, random_state=0)
    found = find_policies(frame)
    assert (found.column, found.count, found.rows) == ("k", 900, len(frame))
    assert found.in_words() == f"900 policies in {len(frame):,} rows"
    given = suggest_roles(frame, target="claims")
    assert given.group == "k"
    assert "k" not in given.features
    assert given.left_out["k"]


@pytest.mark.parametrize("names", [True, False], ids=["names", "no names"])
def test_places_models_dates_ages_and_amounts_are_no_policies(names) -> None:
    assert find_policies(book(names=names).drop(columns="policy of it")) is None


def test_a_row_for_each_policy_is_no_group() -> None:
    frame = book(2000, years=1).rename(columns={"policy of it": "k"})
    assert find_policies(frame) is None


def test_a_cell_of_the_tariff_is_no_policy() -> None:
    """Rows of one cell agree in all factors, but cells differ much in size."""
    frame = book(3000, years=1)
    weight = np.random.default_rng(1).pareto(1.0, 300) + 0.05
    cell = np.random.default_rng(2).choice(300, len(frame), p=weight / weight.sum())
    for name in ("age", "sex", "use", "region", "body", "premium"):
        frame[name] = frame[name].to_numpy()[cell]
    frame = frame.assign(cell=cell * 7 + 1000).drop(columns="policy of it")
    assert find_policies(frame) is None


def test_a_policy_number_is_believed_if_it_repeats() -> None:
    frame = book().rename(columns={"policy of it": "Vertragsnummer"})[["Vertragsnummer", "claims", "year"]]
    assert find_policies(frame).column == "Vertragsnummer"
    assert suggest_roles(frame, target="claims").left_out["Vertragsnummer"] == NAMES_POLICIES
    assert find_policies(frame.rename(columns={"Vertragsnummer": "k"})) is None
