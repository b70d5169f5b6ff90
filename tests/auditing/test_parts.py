"""Features of an audit, without components of the price and policy numbers, and folds that ignore outcomes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

from benchmarks.folds import draw
from fairdash.__main__ import main
from fairdash.auditing.plan import columns_of
from fairdash.auditing.table import AuditTable
from tests.auditing.test_audit import policies


def premiums(n: int = 800, *, rows_each: int = 1) -> pd.DataFrame:
    """Liability depends on age and hull doesn't; the price is their sum; each policy has two equal rows."""
    rng = np.random.default_rng(0)
    age, power = rng.integers(18, 80, n), rng.integers(4, 15, n)
    frame = pd.DataFrame({"age": age, "power": power, "zone": rng.choice(list("abc"), n)})
    frame["tpl"] = (180 + 3.0 * (80 - age) + 5 * rng.normal(size=n)).round(2)
    frame["hull"] = (20 * power * rng.gamma(20, 0.05, n)).round(2)
    frame["total"] = (frame["tpl"] + frame["hull"]).round(2)
    frame["key"] = rng.permutation(9 * n)[:n]
    frame = frame.loc[frame.index.repeat(rows_each)].reset_index(drop=True)
    frame["nb"] = rng.poisson(0.3, len(frame))
    frame["claims"] = np.where(frame["nb"] > 0, rng.gamma(2, 300, len(frame)).round(2), 0.0)
    return frame if rows_each > 1 else frame.drop(columns="key")


def test_features_named_by_the_user_are_used_with_a_note_even_if_they_add_up_to_the_price() -> None:
    table = AuditTable.of(premiums(), columns_of("total", "age", features=["power", "tpl", "hull"]))
    assert list(table.features) == ["power", "tpl", "hull"]
    (note,) = table.notes
    assert note.endswith("“total” is the sum of “tpl”, “hull”. fairdash uses them because they are named.")


@pytest.fixture
def panel() -> pd.DataFrame:
    return premiums(300, rows_each=2)


@pytest.mark.parametrize("command", [
    "audit FILE --price total --sensitive age --question 1", "check FILE --target total --sensitive age",
    "measure pearson FILE --u total --v age --permutations 19 --bootstrap 0",
    "sweep --file FILE --predict total --sensitive age --features power --methods standard --splits 0",
], ids=lambda command: command.split()[0])  # fmt: skip
def test_commands_suggest_the_policy_column_when_no_group_is_given(command, panel, tmp_path, capsys) -> None:
    path = tmp_path / "panel.csv"
    panel.drop(columns=["nb", "claims"]).to_csv(path, index=False)
    command = [str(path) if part == "FILE" else part for part in command.split()]
    for group, is_said in (([], True), (["--group", "key"], False)):
        main([*command, *group])
        said = "".join(capsys.readouterr())
        assert ("300 policies in 600 rows: use --group key." in said) == is_said


ROLES = {"exposure": "years", "outcome": "claims", "expected_cost": "mu", "candidate": "new"}


def table_of(frame: pd.DataFrame, **more) -> AuditTable:
    return AuditTable.of(frame, columns_of("premium", "age", **ROLES, **more))


def tariff(n: int = 1_000, *, distinct: int = 25, seed: int = 0) -> pd.DataFrame:
    frame = draw(np.random.default_rng(seed), n, distinct, exposure=False, ties=True)
    return frame.rename(columns={"price": "premium"}).assign(mu=0.1, new=lambda each: each["premium"] + 1)


@pytest.mark.parametrize("predicted", ["premium", "claims", "mu", "new"])
def test_changing_the_predicted_values_leaves_each_row_in_its_fold(predicted):
    frame = policies(400).assign(mu=lambda each: each["premium"] / 2, row=range(400))
    # Exposure and age distinguish these rows.
    frame["years"] += np.linspace(0, 0.5, 400)
    other = frame.assign(**{predicted: np.random.default_rng(1).permutation(frame[predicted])})
    places = [table_of(each, features=("zone", "row")) for each in (frame, other)]
    deals = [pd.Series(each.deal, index=each.features["row"].to_numpy()).sort_index() for each in places]
    pd.testing.assert_series_equal(deals[0], deals[1])


def test_equal_rows_are_spread_over_the_folds_regardless_of_their_outcome():
    table = table_of(tariff(4_000, distinct=10), features=("a", "b"))
    fold = table.folds(5)
    claims = table.outcome > 0
    for rows in (claims, ~claims):
        assert chisquare(np.bincount(fold[rows], minlength=5)).pvalue > 1e-3
    equal = pd.DataFrame({"s": table.sensitive, "price": table.price, "claims": table.outcome})
    sizes = equal.assign(fold=fold).groupby(["s", "price", "claims"])["fold"].agg(["size", "nunique"])
    crowded = sizes[sizes["size"] >= 15]
    assert len(crowded) >= 20
    assert (crowded["nunique"] >= 3).all()


def test_the_number_of_sampling_units_does_not_depend_on_outcomes():
    frame = tariff()
    assert table_of(frame).n_units == table_of(frame.assign(claims=1.0)).n_units == len(frame)


def test_all_rows_of_a_policy_are_in_the_same_fold():
    frame = pd.concat([tariff(300).assign(policy=range(300))] * 3)
    table = table_of(frame, groups="policy", features=("a", "b"))
    assert pd.Series(table.deal).groupby(table.units).nunique().max() == 1
    assert len(np.unique(table.deal)) == 300


def test_rows_that_differ_only_in_class_probabilities_have_a_unique_sort_order():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"premium": 100.0, "s": rng.integers(0, 2, 400), "p": rng.uniform(size=400)})
    frame["q"] = 1 - frame["p"]
    columns = columns_of("premium", "s", probabilities=("p", "q"), features=())
    both = (AuditTable.of(each, columns) for each in (frame, frame.sample(frac=1, random_state=1)))
    pd.testing.assert_frame_equal(*(each.probabilities for each in both))
