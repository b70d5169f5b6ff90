"""A p-value tests the sentence that it stands beside: no gap of averages, whatever their spread."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.auditing.curve import basis_of, fit_curve
from fairdash.auditing.filing.view import verdicts_of
from fairdash.auditing.gaps import p_of_flat
from fairdash.auditing.plan import columns_of
from fairdash.auditing.table import AuditTable
from tests.tiers import few


def costs_that_spread(seed: int, n: int = 1_500) -> pd.DataFrame:
    """Policies whose price follows age; cost is a gamma about the price, so its spread follows age as well."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(18, 90, n)
    price = 100 * np.exp(0.02 * (age - 54) + 0.3 * rng.normal(size=n))
    return pd.DataFrame({"price": price, "age": age, "cost": price * rng.gamma(1, 1, n)})


def p_of_no_gap(y: np.ndarray, s: np.ndarray, **more: np.ndarray) -> float:
    """p-value of the largest gap of y along s."""
    roles = {role: name for role, name in (("exposure", "years"), ("groups", "policy")) if name in more}
    table = AuditTable.of(pd.DataFrame({"y": y, "s": s, **more}), columns_of("y", "s", **roles))
    return p_of_flat(fit_curve(table.price, table, basis_of(table)))


def test_a_criterion_has_the_p_value_of_its_gap_and_that_of_any_link_by_name():
    result = fd.audit(costs_that_spread(3), price="price", sensitive="age", outcome="cost", questions=[5])
    rows = result.verdicts.set_index("criterion")
    residuals = rows.loc["equalized_residuals"]
    assert residuals["p_any_link"] < 0.01 < 0.1 < residuals["p_value"]
    assert np.isnan(rows.loc["sufficiency", "p_any_link"])
    for part in (
        f"so this gap may be noise (p = {residuals['p_value']:.2g})",
        f"between cost minus price and “age” (p = {residuals['p_any_link']:.2g}). The averages do not",
    ):
        assert part in result.answers[-1].text
    shown = verdicts_of(result)
    np.testing.assert_array_equal(shown.frame["p-value of no gap"], result.verdicts["p_value"])
    assert "p-value of no link of any kind" in shown.frame
    assert "whatever their spread" in shown.note


def noises(kind: str, rng: np.random.Generator, n: int):
    """y of one mean at every s, s, and further columns."""
    s = rng.uniform(18, 90, n)
    if kind == "policies":
        policy = np.arange(n) // 5
        return 100 + 20 * rng.normal(size=n)[policy] + rng.normal(size=n), s[policy], {"policy": policy}
    if kind == "exposure":
        years = np.where(s > 60, 0.2, 1.0)
        return 100 + 20 * rng.normal(size=n) / np.sqrt(years), s, {"years": years}
    if kind == "levels":
        s = np.floor(s / 3.6)
        return 100 + 20 * np.exp(s / 10 - 1.5) * rng.normal(size=n), s, {}
    return 100 + 20 * np.exp((s - 54) / 36) * rng.normal(size=n), s, {}


@pytest.mark.parametrize(
    "kind", few(["spread", "policies", "exposure", "levels"], "spread", "policies", "levels")
)
def test_the_p_value_of_no_gap_keeps_its_level(kind):
    drawn = [noises(kind, np.random.default_rng(seed), 500) for seed in range(40)]
    found = [p_of_no_gap(y, s, **more) <= 0.05 for y, s, more in drawn]
    # 5 % of 40 are 2; 7 or more come in 1 of 300.
    assert sum(found) <= 6


def test_prices_without_noise_have_no_gap_or_a_certain_one():
    s = np.linspace(18, 90, 300)
    assert p_of_no_gap(np.full(300, 0.1 + 0.2), s) == 1
    assert p_of_no_gap(100 + s, s) < 0.001


def test_a_link_that_is_alike_everywhere_is_not_called_one_that_varies():
    rng = np.random.default_rng(0)
    z, zone = rng.normal(size=800), rng.choice(["city", "land"], 800)
    frame = pd.DataFrame({"price": 100 + 10 * z + 10 * rng.normal(size=800), "s": z, "zone": zone})
    result = fd.audit(frame, price="price", sensitive="s", controls=["zone"], questions=[4])
    assert "A test that also counts links that vary with the factors finds one" in result.answers[-1].text
