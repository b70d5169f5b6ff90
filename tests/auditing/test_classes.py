"""Audits along classes and by class probabilities: error rates, bounds, and refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from scipy.stats import t as student

import fairdash as fd
from benchmarks.class_probabilities import NAMES, sample
from fairdash.auditing.evidence import AuditResult
from fairdash.auditing.filing.view import tables_of
from fairdash.auditing.table import AuditTable
from fairdash.errors import DataError
from fairdash.evaluation.classes import by_group, by_probability
from fairdash.views.blocks import document
from tests.auditing.test_audit import ROLES, policies
from tests.tiers import few

SHARES = [0.3, 0.3, 0.2, 0.1, 0.06, 0.035, 0.005]


def frame(n: int = 1_500) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = policies(n).assign(sex=rng.choice(["F", "M"], n), region=rng.choice(list("ABCDEFG"), n, p=SHARES))
    table["premium"] *= 1 + 0.1 * (table["sex"] == "M") + 0.2 * (table["region"] == "C")
    return table


#: Sensitive columns and options of the four audits of classes, which page and command line run to the end.
FOUR = {"sex": ["sex"], "region": ["region"], "age × sex": ["age", "sex"]}
FOUR["probabilities"] = ["p_a", "p_b", "p_c", "p_d"]


def mixed(n: int = 500) -> pd.DataFrame:
    """Two classes, seven regions, ages, and probabilities of four classes; some rows have a known class."""
    rng, table = np.random.default_rng(1), frame(n)
    p = pd.DataFrame(rng.dirichlet([4, 3, 2, 1], n), columns=FOUR["probabilities"])
    code = (p.to_numpy().cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    truth = np.where(np.arange(n) < 300, np.array(list("abcd"), dtype=object)[code], None)
    return table.drop(columns="new").join(p).assign(truth=truth)


def along(column: str, table: pd.DataFrame | None = None, **more: object) -> AuditResult:
    return fd.audit(frame() if table is None else table, **(ROLES | {"sensitive": column} | more))


def test_an_audit_of_a_class_attribute_reports_the_mean_price_of_each_class() -> None:
    regions = along("region", questions=[1, 2])
    own = AuditTable.of(frame(), regions.plan.columns)
    each = by_group(own.price, own.sensitive.astype(int), own.classes, own.weight)
    assert np.allclose(regions.curve["value"], each["mean"], rtol=1e-9)
    assert np.allclose(regions.tables["classes"]["mean"], each["mean"], rtol=1e-12)
    assert set(own.s_for_tests) == set(own.classes)
    gap = float(regions.verdicts["value"].iloc[0])
    assert gap == pytest.approx(np.ptp(each["mean"]) / own.mean_price, rel=1e-9)


def test_classes_of_too_few_rows_and_numbers_as_text_are_refused() -> None:
    table = frame()
    with pytest.raises(DataError, match="most of its rows are in classes of fewer than 20 rows"):
        along("id", table.assign(id=[f"p{k}" for k in range(len(table))]))
    with pytest.raises(DataError, match="column does not hold numbers only"):
        along("text", table.assign(text=table["age"].astype(str)))


def test_the_interval_of_a_class_with_few_rows_uses_students_t_distribution() -> None:
    """For few rows, the interval uses Student's quantile with Welch's degrees of freedom."""
    rng = np.random.default_rng(0)
    code = np.repeat([0, 1], [20, 2_000])
    table = pd.DataFrame({"price": rng.normal(100, 10, len(code)), "region": np.array(["a", "b"])[code]})
    found = fd.audit(table, price="price", sensitive="region", questions=[1])
    a, b = (table["price"][code == k] for k in (0, 1))
    error = np.sqrt(a.var(ddof=0) / 20 + b.var(ddof=0) / 2_000) * np.sqrt(2_020 / 2_018)
    freedom = error**4 / (a.var(ddof=0) ** 2 / 20**2 / 19 + b.var(ddof=0) ** 2 / 2_000**2 / 1_999)
    upper = abs(a.mean() - b.mean()) + student.ppf(0.95, freedom) * error
    assert found.details["independence"]["upper"] == pytest.approx(upper / table["price"].mean(), rel=1e-3)


@pytest.mark.parametrize("gap", few([0.0, 0.1013]))
def test_the_error_rate_of_verdicts_on_class_attributes_is_within_the_stated_limit(gap: float) -> None:
    """Without a gap, "above" is a false verdict; if the gap equals δ, both "above" and "below" are false."""
    shares, false = [0.3, 0.25, 0.15, 0.1, 0.08, 0.07, 0.05], 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        code = rng.choice(7, 1_000, p=shares)
        price = 100 * np.exp(rng.normal(0, 0.25, len(code))) * (1 + gap * (code == 3))
        table = pd.DataFrame({"price": price, "region": np.array(list("abcdefg"))[code]})
        found = fd.audit(table, price="price", sensitive="region", questions=[1], max_gap=0.1)
        false += found.verdict in ({"above"} if gap == 0 else {"above", "below"})
    assert false <= 5


COLUMNS = [f"p_{name}" for name in NAMES]


def table(*, calibrated: bool = True, n: int = 800) -> pd.DataFrame:
    y, p, known = sample(0, calibrated=calibrated, extra=8.0)
    frame = pd.DataFrame(p, columns=COLUMNS).assign(
        price=y, truth=np.array([*NAMES, None], dtype=object)[known]
    )
    return frame.assign(age=np.random.default_rng(1).normal(50, 9, len(y))).head(n)


def audited(frame: pd.DataFrame, **more: object) -> AuditResult:
    return fd.audit(frame, price="price", probabilities=COLUMNS, questions=[1], features=["age"], **more)


def test_class_probabilities_of_zero_and_one_give_the_results_of_known_classes() -> None:
    rng = np.random.default_rng(0)
    y, code, weight = rng.gamma(2, 50, 400), rng.integers(0, 3, 400), rng.uniform(0.5, 2, 400)
    found = by_probability(y, np.eye(3)[code], "abc", weight)
    classes = by_group(y, code, "abc", weight)
    columns = ["mean", "difference"]
    np.testing.assert_allclose(found[columns], classes[columns], rtol=1e-12)
    np.testing.assert_allclose(
        found[["bound_low", "bound_high"]], found[["difference_low", "difference_high"]], rtol=1e-6
    )
    np.testing.assert_allclose(found["p_value"], classes["p_value"], atol=0.02)


def test_bounds_from_class_probabilities_equal_those_of_a_linear_program() -> None:
    """The linear program varies memberships in [0, 1], with a fixed mean among rows of equal probability."""
    rng = np.random.default_rng(0)
    y, cell = rng.gamma(2, 50, 60), np.repeat([0, 1, 2], 20)
    q = np.array([0.2, 0.5, 0.9])[cell]
    found = by_probability(y, np.column_stack([q, 1 - q]), "ab")
    cells = np.eye(3)[cell].T
    for bound, sign in (("high", -1), ("low", 1)):
        best = linprog(sign * y, A_eq=cells, b_eq=cells @ q, bounds=(0, 1))
        ours = sign * best.fun
        exact = ours / q.sum() - (y.sum() - ours) / (1 - q).sum()
        off = found[f"bound_{bound}"][0] - exact
        assert 0 < -sign * off < 60
        # Repeating the table many times leaves the bounds unchanged and reduces the sampling error.
        many = by_probability(np.tile(y, 900), np.tile(np.column_stack([q, 1 - q]), (900, 1)), "ab")
        assert many[f"bound_{bound}"][0] - exact == pytest.approx(off / 30, rel=0.05)


def test_an_audit_by_class_probabilities_states_its_assumptions_and_ignores_row_order(tmp_path) -> None:
    result = audited(table(), known_class="truth")
    assert result.plan.columns.sensitive == "p_a"
    for part in ("if price and class are unrelated among rows of equal probability",
                 "the frequency of each class agrees with its probabilities"):  # fmt: skip
        assert part in result.answers[0].text
    assert set(result.tables["class_probabilities"]["class"]) == set(NAMES)
    assert document("", list(tables_of(result.tables, result)))
    assert AuditResult.load(result.save(tmp_path / "evidence.zip")).to_dict() == result.to_dict()
    shuffled = audited(table().sample(frac=1, random_state=1), known_class="truth")
    columns = result.tables["class_probabilities"].select_dtypes("number")
    assert np.allclose(shuffled.tables["class_probabilities"][columns.columns], columns)
    both = audited(table(), sensitive=["p_b", "p_a"])
    assert "A test of whether the probabilities are calibrated" in both.answers[0].text
    assert "class_probabilities" not in both.others[0].tables
    wrong = audited(table(calibrated=False), known_class="truth")
    assert "We corrected the probabilities" in wrong.answers[0].text


def test_invalid_class_probabilities_are_refused_with_their_rows() -> None:
    wrong = table()
    wrong.loc[3, COLUMNS] *= 1.1
    wrong.loc[7, COLUMNS] *= 0.9
    with pytest.raises(DataError, match="add up to 1") as caught:
        audited(wrong)
    (problem,) = caught.value.problems
    assert (list(problem.lines), problem.count) == ([5, 9], 2)
    with pytest.raises(DataError, match="no column of probabilities"):
        audited(table().assign(truth="z"), known_class="truth")
    with pytest.raises(DataError, match="a column for each class"):
        fd.audit(table(), price="price", probabilities=["p_a"])
