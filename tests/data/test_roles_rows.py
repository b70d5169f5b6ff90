"""Choosing roles: every row of this section of the table of bad inputs, with the proposed fixes."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fairdash.data import ColumnProfile, Roles, profile_table
from fairdash.data.source import DatasetSource, UploadSource
from fairdash.errors import Fix, Problem
from fairdash.tables.column_profile import quantile_support, support_sentence, target_remarks
from fairdash.tables.features import exclusion_reason, find_leakage, fixes_of_columns
from fairdash.tables.grammar import to_numbers
from tests.data.tables import ROLES, all_features, build, policies, unusable


def problems_of(frame: pd.DataFrame, roles: Roles = ROLES, **options: object) -> tuple[Problem, ...]:
    return unusable(frame, roles, **options).problems


@pytest.mark.bad_input(24)
@pytest.mark.parametrize("column", ["cost", "age"])
def test_a_constant_target_or_sensitive_column_is_refused_without_a_fix(column: str) -> None:
    for same in (7391, np.where(np.arange(60) % 2, 0.1 + 0.2, 0.3)):
        (problem,) = problems_of(policies().assign(**{column: same}))
        assert "dependence on it is undefined" in problem.what
        assert (problem.column, problem.fixes) == (column, ())
        assert "7391" not in str(problem)


@pytest.mark.bad_input(25)
@pytest.mark.parametrize("column", ["cost", "age"])
def test_rows_with_a_missing_target_or_sensitive_value_are_dropped_if_the_user_agrees(column: str) -> None:
    frame = policies(70).astype({"age": float})
    frame.loc[[3, 11], column] = np.nan
    (problem,) = problems_of(frame)
    assert (problem.column, problem.count, list(problem.lines)) == (column, 2, [5, 13])
    assert problem.fixes == (Fix("drop_rows", column),)
    dataset = build(frame, fixes=problem.fixes)
    assert dataset.n_rows == 68
    assert f"2 rows left out, because “{column}” can't be used there." in dataset.notes


@pytest.mark.bad_input(27)
def test_identifiers_are_not_features_unless_the_user_chooses_to_keep_them() -> None:
    frame = policies().assign(name=[f"person {i}" for i in range(60)])
    roles = all_features(frame)
    assert "name" not in build(frame, roles).features
    (offer,) = fixes_of_columns(frame[list(roles.features)])
    assert offer.fixes == (Fix("keep", "name"),)
    assert "name" in build(frame, roles, fixes=offer.fixes).features
    too_many = policies(1200).assign(name=[f"person {i}" for i in range(1200)])
    assert fixes_of_columns(too_many[list(roles.features)]) == (), "1,200 levels would be 1,200 inputs"


@pytest.mark.bad_input(28)
@pytest.mark.parametrize(("kind", "low", "high"), [("year", 1950, 2001), ("age", 0, 51)])
def test_dates_are_offered_as_year_and_age(kind: str, low: float, high: float) -> None:
    rng = np.random.default_rng(1)
    born = pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 51 * 365, 60), unit="D")
    frame = policies().assign(born=born)
    frame.loc[5, "born"] = pd.NaT
    roles = all_features(frame)
    (offer,) = fixes_of_columns(frame[list(roles.features)])
    assert offer.fixes == (Fix("year", "born"), Fix("age", "born"))
    dataset = build(frame, roles, fixes=(Fix(kind, "born"),))
    assert dataset.features["born"].between(low, high).sum() == 59
    year = pd.DatetimeIndex(born).year + (pd.DatetimeIndex(born).day_of_year - 1) / 365.25
    expected = year if kind == "year" else born.year.max() + 1 - year
    kept = np.arange(60) != 5
    np.testing.assert_allclose(dataset.features["born"][kept], np.asarray(expected)[kept], atol=1e-9)
    assert any("“born” is used as" in note for note in dataset.notes)


COPIES = {
    "rescaled": lambda age: 3 - 0.25 * age,
    "curved": lambda age: np.exp(age / 20),
    "written": lambda age: age.map("{} years".format),
    "permuted": lambda age: age.map(np.random.default_rng(0).permutation(99).item),
    "more finely divided": lambda age: age + np.random.default_rng(1).integers(0, 2, len(age)) / 10,
}


@pytest.mark.bad_input(29)
@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
def test_copies_of_the_sensitive_column_are_refused_until_the_user_leaves_out_or_keeps_them(copy) -> None:
    frame = policies(600)
    frame["other"] = copy(frame["age"])
    (problem,) = problems_of(frame, all_features(frame))
    assert problem.column == "other"
    assert "“age” can be recovered" in problem.what
    leave, keep = problem.fixes
    assert "other" not in build(frame, all_features(frame), fixes=(leave,)).features
    assert "other" in build(frame, all_features(frame), fixes=(keep,)).features


@pytest.mark.bad_input(29)
def test_monotone_transformations_of_a_sensitive_column_are_found_as_copies() -> None:
    rng = np.random.default_rng(2)
    s = pd.Series(rng.normal(size=500), name="s")
    other, noise = rng.normal(size=(2, 500))
    features = pd.DataFrame({"minus": -s, "cubed": s**3, "other": other, "noisy": s + noise})
    assert list(find_leakage(features, s.to_frame())) == [("minus", "s"), ("cubed", "s")]


INSURED = Roles(target="cost", sensitive=("age",), features=("rooms", "town"), weight="years")


@pytest.mark.bad_input(31)
def test_the_quantile_groups_that_remain_distinct_despite_ties_are_counted() -> None:
    ages = pd.Series(np.repeat(np.arange(18.0, 38.0), 10))
    assert support_sentence(ages) == (
        "20 different values; the most common is in 5 % of the rows. 20 of 50 quantile groups are distinct."
    )
    assert "30 different values; no two rows are tied" in support_sentence(pd.Series(np.arange(30.0)))
    assert (quantile_support(ages), quantile_support(pd.Series(np.arange(500.0)))) == (20, 50)
    assert quantile_support(pd.Series([0.0, 1.0] * 30)) == 2
    assert quantile_support(pd.Series(np.arange(30.0))) == 30


@pytest.mark.bad_input(32)
def test_zeros_and_heavy_tails_of_the_target_are_reported_and_nothing_is_clipped() -> None:
    rng = np.random.default_rng(4)
    cost = np.where(rng.random(10_000) < 0.88, 0, rng.pareto(1.5, 10_000) * 100)
    remarks = target_remarks(pd.Series(cost, name="cost"))
    assert "“cost” is zero in 88 % of the rows" in remarks[0]
    assert "heavy tail: the 1 % of rows" in remarks[1]
    assert f"beyond {np.quantile(cost, 0.99):.3g}" in remarks[1]
    sizes = np.sort(np.abs(cost - np.median(cost)))[::-1]
    assert f"make up {100 * sizes[:100].sum() / sizes.sum():.0f} %" in remarks[1]
    for usual in (rng.normal(size=5000), rng.exponential(size=5000), rng.integers(0, 5, 5000)):
        assert target_remarks(pd.Series(usual, name="y")) == ()
    frame = policies(200).assign(cost=cost[:200])
    assert build(frame).target.tolist() == cost[:200].tolist()
    # Only two rows exceed the quantile, so a sentence about them would describe single persons.
    assert "beyond" not in "".join(target_remarks(pd.Series(cost[:200], name="cost")))


@pytest.mark.bad_input(16)
def test_a_few_words_among_numbers_become_missing_when_the_user_agrees() -> None:
    frame = policies(70)
    frame["cost"] = frame["cost"].round(2).astype(str)
    frame.loc[[4, 9], "cost"] = "CANARY"
    (problem,) = problems_of(frame)
    assert (problem.count, list(problem.lines), problem.fixes) == (2, [6, 11], (Fix("convert", "cost"),))
    (again,) = problems_of(frame, fixes=problem.fixes)
    assert "missing" in again.what
    dataset = build(frame, fixes=(*problem.fixes, *again.fixes))
    assert dataset.n_rows == 68
    assert any("2 cells that are not numbers become missing" in note for note in dataset.notes)
    assert "CANARY" not in str(problem) + str(again) + "".join(dataset.notes)


@pytest.mark.parametrize(("text", "number"), [
    ("1 234", 1234), ("1'234'567.5", 1234567.5), ("1.234,5", 1234.5), ("1,234.5", 1234.5), ("-12", -12),
    ("1.234.567,25", 1234567.25), (" 3,5 ", 3.5), ("1e3", 1000), ("12 34", None), ("x", None), ("1e999", None),
    ("", None),
])  # fmt: skip
def test_numbers_are_parsed_in_each_supported_notation(text: str, number: float | None) -> None:
    (got,) = to_numbers(pd.Series([text], name="x"))
    assert np.isnan(got) if number is None else got == number


def test_all_problems_are_reported_together_with_their_fixes() -> None:
    frame = policies(70).astype({"age": float}).assign(years=1.0, born=policies(70)["age"] * 2)
    frame.loc[0, "cost"] = np.nan
    frame.loc[1, "age"] = np.inf
    frame.loc[2, "years"] = 0
    problems = problems_of(frame, INSURED)
    assert [(p.column, [fix.kind for fix in p.fixes]) for p in problems] == [
        ("cost", ["drop_rows"]), ("age", ["drop_rows"]), ("years", ["drop_rows"])
    ]  # fmt: skip
    fixes = tuple(fix for problem in problems for fix in problem.fixes)
    assert build(frame, INSURED, fixes=fixes).n_rows == 67


# An existing prediction and a row id.


def test_an_existing_prediction_and_a_row_id_are_stored_with_the_data_set() -> None:
    frame = policies(70).assign(price=np.linspace(1, 2, 70), id=[f"P{i}" for i in range(70)])
    frame.loc[3, "cost"] = np.nan
    roles = Roles(target="cost", sensitive=("age",), features=("rooms",), prediction="price", row_id="id")
    dataset = build(frame, roles, fixes=(Fix("drop_rows", "cost"),))
    assert (dataset.roles, dataset.prediction.tolist()) == (roles, frame["price"].drop(3).tolist())
    assert dataset.row_id.tolist() == frame["id"].drop(3).tolist()
    assert list(dataset.table()) == ["rooms", "age", "cost", "price", "id"]
    assert "P1" not in repr(dataset)
    plain = build(frame, Roles(target="cost", sensitive=("age",), features=("rooms",)), drop_missing=True)
    assert dataset.fingerprint != plain.fingerprint


def test_an_existing_prediction_may_be_constant_but_not_have_missing_cells() -> None:
    frame = policies(70).assign(price=1.0)
    roles = Roles(target="cost", sensitive=("age",), features=("rooms",), prediction="price")
    assert build(frame, roles).prediction.nunique() == 1
    frame.loc[2, "price"] = np.nan
    (problem,) = problems_of(frame, roles)
    assert "the existing prediction has missing cells" in problem.what
    assert build(frame, roles, fixes=problem.fixes).n_rows == 69


@pytest.mark.parametrize("part", ["prediction", "row_id", "weight"])
def test_a_prediction_row_id_or_weight_column_cannot_have_a_second_role(part: str) -> None:
    for column in ("cost", "age", "rooms"):
        roles = Roles(target="cost", sensitive=("age",), features=("rooms",), **{part: column})
        assert "as well" in str(problems_of(policies(), roles)[0])


def test_a_stored_data_source_keeps_the_fixes_that_the_user_agreed_to() -> None:
    source = UploadSource(sha256="0" * 64, name="x", roles=ROLES, fixes=(Fix("convert", "cost"),))
    assert DatasetSource.from_json(source.to_json()) == source
    assert source.id != UploadSource(sha256="0" * 64, name="x", roles=ROLES).id
    content = json.loads(source.to_json())
    assert content["mends"] == [{"kind": "convert", "column": "cost"}]


def test_a_valid_table_becomes_a_data_set_with_its_types_units_and_notes() -> None:
    dataset = build(policies(), units={"age": "years", "gone": "m"}, notes=("Read well.",))
    assert (dataset.n_rows, dataset.sensitive["age"].dtype) == (60, np.float64)
    assert dataset.features["rooms"].dtype == np.int64
    assert list(dataset.features["town"].cat.categories) == ["Brest", "Lyon", "Paris"]
    assert (dataset.units, dataset.notes) == ({"age": "years"}, ("Read well.",))


@pytest.mark.bad_input(12)
def test_a_table_of_fewer_than_50_rows_is_refused() -> None:
    assert "49 rows left, but training and testing need at least 50" in str(unusable(policies(49)))
    assert build(policies(50)).n_rows == 50


@pytest.mark.bad_input(29)
@pytest.mark.parametrize(("roles", "words"), [
    ({"features": ("cost",)}, "the target can't be a feature"),
    ({"features": ("age",)}, "a sensitive column can't be a feature"),
    ({"target": "gone"}, "“gone”: there is no such column"),
    ({"sensitive": ()}, "No sensitive column is chosen"), ({"features": ()}, "No feature is chosen"),
    ({"features": ("rooms", "rooms")}, "chosen twice"),
    ({"sensitive": ("cost",)}, "the target can't be sensitive as well"),
])  # fmt: skip
def test_contradictory_roles_are_refused(roles: dict, words: str) -> None:
    assert words in str(unusable(policies(), replace(ROLES, **roles)))


@pytest.mark.bad_input(26)
def test_unusable_features_are_left_out_and_reported() -> None:
    days = {"day": pd.date_range("2020-01-01", periods=60)}
    days["written_day"] = [f"{1 + i % 5}.3.2020" for i in range(60)]
    others = {"name": [f"person {i}" for i in range(60)], **days, "mixed": [1, "a"] * 30}
    frame = policies().assign(empty=np.nan, same=7, same_or_missing=[1.0] * 30 + [np.nan] * 30, **others)
    dataset = build(frame, all_features(frame))
    assert list(dataset.features) == ["rooms", "town"]
    assert dataset.notes == (
        "1 column left out: every cell is missing (“empty”).",
        "2 columns left out: only one value (“same”, “same_or_missing”).",
        "1 column left out: almost as many levels as rows, like an identifier (“name”).",
        "1 column left out: dates (“day”).",
        "1 column left out: dates written as text (“written_day”).",
        "1 column left out: the cells are neither numbers nor text (“mixed”).",
    )


def test_a_table_without_any_usable_feature_is_refused() -> None:
    frame = policies().assign(rooms=1, town="Lyon")
    assert "No feature is left" in str(unusable(frame))


@pytest.mark.bad_input(28)
def test_boolean_columns_become_0_and_1() -> None:
    frame = policies().assign(garden=[True, False] * 30, sold=pd.array([True, None] * 30, dtype="boolean"))
    frame.loc[3, "sold"] = False
    dataset = build(frame, all_features(frame))
    assert (set(dataset.features["garden"]), dataset.features["sold"].isna().sum()) == ({0, 1}, 29)
    assert "“garden”: true is 1, false is 0." in dataset.notes
    sensitive = build(frame, Roles(target="cost", sensitive=("garden",), features=("rooms",)))
    assert set(sensitive.sensitive["garden"]) == {0.0, 1.0}
    assert "“garden”: true is 1, false is 0." in sensitive.notes


@pytest.mark.bad_input(33)
def test_numbers_beyond_single_precision_are_rescaled() -> None:
    frame = policies()
    frame["cost"] *= 1e200
    frame["rooms"] = frame["rooms"] * 1e-40
    dataset = build(frame, units={"cost": "€"})
    assert 1 <= dataset.target.max() < 10
    assert 1 <= dataset.features["rooms"].max() < 10
    assert dataset.units == {"cost": "10^202 €", "rooms": "10^-40"}
    assert np.corrcoef(dataset.target, frame["cost"] / 1e200)[0, 1] == pytest.approx(1)


def test_text_columns_with_too_many_levels_are_taken_for_identifiers() -> None:
    def levels(n_levels: int, n_rows: int) -> str | None:
        return exclusion_reason(pd.Series([f"level {i % n_levels}" for i in range(n_rows)]))

    assert (levels(19, 19), levels(25, 60), levels(500, 2000)) == (None, None, None)
    assert re.match("almost as many levels", levels(31, 60) or "")
    assert levels(501, 2000) == "more than 500 levels"


def test_a_column_profile_states_kind_counts_and_histogram_for_each_kind_of_column() -> None:
    frame = pd.DataFrame(
        {
            "price": [1.5, np.nan, 2.5, 1.5], "rooms": [1, 2, 3, 4], "garden": [True, False, True, True],
            "town": ["a", "b", None, "a"], "level": pd.Categorical(["x", "y", "x", None]),
            "day": pd.to_datetime(["2020-01-01", None, "2020-01-02", "2020-01-01"]), "nothing": [np.nan] * 4,
            "lists": [[1], [2], None, [1]], "nullable": pd.array([1, None, 3, 3], dtype="Int64"),
            "huge": [1.7e308] * 4,
        }
    )  # fmt: skip
    got = {profile.name: profile for profile in profile_table(frame)}
    numbers = {"minimum": 1.5, "mean": 5.5 / 3, "maximum": 2.5, "histogram": (2, *[0] * 10, 1)}
    assert got["price"] == ColumnProfile(name="price", kind="number", n_missing=1, n_distinct=2, **numbers)
    assert (got["town"].histogram, sum(got["rooms"].histogram), got["day"].histogram) == ((2, 1), 4, ())
    assert [(p.kind, p.n_missing, p.n_distinct) for p in got.values()] == [
        ("number", 1, 2), ("whole number", 0, 4), ("truth value", 0, 2), ("text", 1, 2), ("text", 1, 2),
        ("date", 1, 2), ("number", 4, 0), ("other", 1, 0), ("whole number", 1, 2), ("number", 0, 1),
    ]  # fmt: skip
    assert [got[name].mean for name in ("garden", "town", "nothing")] == [0.75, None, None]
    assert (got["nullable"].maximum, got["huge"].mean) == (3, np.inf)


def test_means_in_column_profiles_are_weighted_by_exposure_except_means_of_totals() -> None:
    frame = pd.DataFrame({"rate": [0.0, 4.0, np.nan], "power": [1, 3, 5], "years": [1.0, 0.25, 2.0]})
    got = {profile.name: profile.mean for profile in profile_table(frame, weight=frame["years"])}
    assert (got["rate"], got["power"], got["years"]) == (0.25 * 4 / 1.25, (1 + 0.75 + 10) / 3.25, 3.25 / 3)
    totals = profile_table(frame, weight=frame["years"], totals=["rate"])
    assert next(each.mean for each in totals if each.name == "rate") == 2
