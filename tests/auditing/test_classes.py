"""Audits along classes: they run to the end, say what has no meaning for classes, and hold their levels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

import fairdash as fd
from fairdash.auditing.evidence import AuditResult
from fairdash.auditing.table import AuditTable
from fairdash.errors import DataError
from fairdash.evaluation.classes import by_group
from tests.auditing.test_audit import ROLES, policies
from tests.tiers import few

SHARES = [0.3, 0.3, 0.2, 0.1, 0.06, 0.035, 0.005]


def frame(n: int = 1_500) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = policies(n).assign(sex=rng.choice(["F", "M"], n), region=rng.choice(list("ABCDEFG"), n, p=SHARES))
    table["premium"] *= 1 + 0.1 * (table["sex"] == "M") + 0.2 * (table["region"] == "C")
    return table


#: Sensitive columns and options of the four audits of classes that page and command line take to the last file.
FOUR = {"sex": ["sex"], "region": ["region"], "age × sex": ["age", "sex"]}
FOUR["probabilities"] = ["p_a", "p_b", "p_c", "p_d"]


def mixed(n: int = 500) -> pd.DataFrame:
    """Two classes, seven regions, ages, and probabilities of four classes, which are known in some rows."""
    rng, table = np.random.default_rng(1), frame(n)
    p = pd.DataFrame(rng.dirichlet([4, 3, 2, 1], n), columns=FOUR["probabilities"])
    code = (p.to_numpy().cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    truth = np.where(np.arange(n) < 300, np.array(list("abcd"), dtype=object)[code], None)
    return table.drop(columns="new").join(p).assign(truth=truth)


def along(column: str, table: pd.DataFrame | None = None, **more: object) -> AuditResult:
    return fd.audit(frame() if table is None else table, **(ROLES | {"sensitive": column} | more))


def test_its_means_are_those_of_the_classes() -> None:
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
    with pytest.raises(DataError, match="does not hold numbers only"):
        along("text", table.assign(text=table["age"].astype(str)))


def test_many_classes_of_few_rows_have_a_bias_surface() -> None:
    rng, n = np.random.default_rng(0), 300
    table = pd.DataFrame({"region": list("abcdefghijkl") * 25, "price": rng.gamma(20, 5, n)})
    table["claims"] = table["price"] * rng.gamma(2, 0.5, n)
    found = fd.audit(table, price="price", sensitive="region", outcome="claims", questions=[5])
    assert (found.tables["bias_surface"]["rows"] >= 20).all()
    assert found.verdicts.set_index("criterion").loc["sufficiency", "verdict"] != "none"


def test_a_class_of_few_rows_is_wider_than_a_normal_law_says() -> None:
    """The variance of 20 rows is uncertain: Student's quantile of Welch's degrees of freedom, not the normal one."""
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
def test_verdicts_on_classes_are_seldom_false(gap: float) -> None:
    """At no gap "above" is false, and at a gap of δ either verdict."""
    shares, false = [0.3, 0.25, 0.15, 0.1, 0.08, 0.07, 0.05], 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        code = rng.choice(7, 1_000, p=shares)
        price = 100 * np.exp(rng.normal(0, 0.25, len(code))) * (1 + gap * (code == 3))
        table = pd.DataFrame({"price": price, "region": np.array(list("abcdefg"))[code]})
        found = fd.audit(table, price="price", sensitive="region", questions=[1], max_gap=0.1)
        false += found.verdict in ({"above"} if gap == 0 else {"above", "below"})
    assert false <= 5
