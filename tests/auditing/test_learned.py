"""Questions 6 and 8: through what a price follows s, and what could be charged instead."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import fairdash as fd
from fairdash.auditing.audit import carry_out
from fairdash.auditing.models.premiums import OF_A_COST, OF_A_PRICE, PREMIUMS, corrective_of, learn_costs
from fairdash.auditing.plan import AuditPlan, columns_of
from fairdash.auditing.questions import attribution
from fairdash.auditing.questions.attribution import (
    WITH,
    WITHOUT,
    drivers_of,
    proxy_discrimination,
    shapley_values,
    shares_of_link,
)
from fairdash.auditing.table import AuditTable
from fairdash.errors import DataError, OptionError
from fairdash.training.references import sensitive_nodes

ROLES = {"price": "p", "sensitive": "s", "exposure": "w"}


def policies(n: int = 1500, *, seed: int = 0) -> pd.DataFrame:
    """A price of two columns, one of which follows s, and costs that follow s, too; exposure 1, 2 or 3."""
    rng = np.random.default_rng(seed)
    s = rng.normal(size=n)
    a = 0.6 * s + 0.8 * rng.normal(size=n)
    b = rng.normal(size=n)
    price = np.exp(0.2 * a + 0.2 * b)
    return pd.DataFrame(
        {
            **{"p": price, "s": s, "w": rng.integers(1, 4, n).astype(float), "a": a, "b": b},
            "town": rng.choice(["x", "y"], n),
            "y": rng.poisson(3 * price * np.exp(0.2 * s)) / 3.0,
        }
    )


def table_of(frame: pd.DataFrame, **roles: str) -> AuditTable:
    return AuditTable.of(frame, columns_of("p", "s", **roles))


def test_shares_of_an_additive_price_are_the_analytic_ones():
    rng = np.random.default_rng(1)
    n = 40_000
    s, e, b = rng.normal(size=(3, n))
    a = 0.6 * s + 0.8 * e
    frame = pd.DataFrame({"p": 20 + 2 * a + s + b, "s": s})
    table = table_of(frame)
    order = np.argsort(s, kind="stable")
    parts = np.column_stack([2 * a, s, b])[order]
    whole, *each = shares_of_link(parts, table)
    # E[π|s] = 2.2 s and Var π = 4 + 1 + 1 + 4 × .6: shares 1.2 × 2.2, 2.2 and 0 of 8.4.
    for found, truth in zip([whole, *each], np.array([4.84, 2.64, 2.2, 0]) / 8.4, strict=True):
        # Beyond the 5th and 95th percentile a curve is flat: of a straight line that leaves out 2 %.
        assert found.value == pytest.approx(0.98 * truth, abs=0.01)
    assert whole.value == pytest.approx(sum(part.value for part in each), rel=1e-12)


def test_what_carries_the_attribute_is_found_and_adds_up():
    table = table_of(policies(700).drop(columns="y"))
    fits, _, whole, shares = drivers_of(table)
    assert shares["feature"][0] == "a"
    assert shares["share"][0] > 0.8 * whole.value
    assert shares["share"].sum() == pytest.approx(whole.value, rel=1e-9)
    assert fits.set_index("model")["value"][WITHOUT] > 0.9
    assert "s" not in set(shares["feature"])


def test_trees_alone_say_as_much_without_networks_and_shap(monkeypatch):
    table = table_of(policies(300).drop(columns="y"))
    surrogate = OF_A_PRICE.fit(table.features, table.price, table.weight, random_state=0)
    by_columns, *_ = shares_of_link(shapley_values(surrogate, table.features), table)
    monkeypatch.setattr(attribution, "has", lambda _: False)
    fits, _, whole, shares = drivers_of(table)
    assert vars(whole) == pytest.approx(vars(by_columns), rel=1e-6)
    assert list(fits["model"]) == [WITHOUT, WITH]
    assert shares.empty


@pytest.mark.parametrize(("learner", "scale"), [(OF_A_PRICE, np.asarray), (OF_A_COST, np.log)])
def test_shapley_values_add_up_on_the_scale_of_the_trees(learner, scale):
    table = table_of(policies(300).drop(columns="y"))
    fitted = learner.fit(table.features, table.price, table.weight, random_state=0)
    rest = scale(fitted.predict(table.features)) - shapley_values(fitted, table.features).sum(axis=1)
    assert np.ptp(rest) < 1e-9


def test_a_price_that_uses_the_attribute_itself_is_found_out():
    frame = policies(700).assign(p=lambda table: table["p"] + 0.3 * table["s"] + 1)
    _, itself, _, shares = drivers_of(table_of(frame.drop(columns="y")))
    assert itself.ci_low > 0.01
    assert "s" in set(shares["feature"].head(2))


def mixture():
    """Two binary columns that go together, with μ(x, s) by hand."""
    rows = pd.DataFrame({"x": [0, 0, 1, 1], "s": [0, 1, 0, 1], "times": [40, 10, 10, 40]})
    frame = rows.loc[rows.index.repeat(rows["times"])].reset_index(drop=True)
    return frame, lambda x, s: 1 + x + 2.0 * s


def test_proxy_discrimination_by_hand():
    frame, mu = mixture()
    x, s = frame["x"].to_numpy(), frame["s"].to_numpy()
    table = replace(table_of(frame.assign(p=mu(x, s), s=s.astype(float))))
    x = table.features["x"].to_numpy()
    at_nodes = np.column_stack([mu(x, 0.0), mu(x, 1.0)])
    # Discrimination-free: the mean over s of μ(x, s), at any level, or less of it.
    for price in (at_nodes.mean(axis=1), 5 + at_nodes[:, 0], 0.4 * at_nodes[:, 1]):
        assert proxy_discrimination(price, at_nodes, table)[0].value == pytest.approx(0, abs=1e-12)
    # Unaware: E[Y|x] = 1.4, 3.6. All of x but 1 of 2.2 is s by proxy: (2.2 − 1)² / 2.2².
    unaware = np.where(x == 1, 3.6, 1.4)
    found, weights = proxy_discrimination(unaware, at_nodes, table)
    assert found.value == pytest.approx((1.2 / 2.2) ** 2)
    assert weights.sum() == pytest.approx(1)
    assert (weights >= 0).all()
    # Best estimate: what is left of x + 2 s without x is 2 s. Var = .25 + 1 + 4 × .15, missed: E[(2 s)²]c.
    best = mu(x, table.sensitive)
    assert proxy_discrimination(best, at_nodes, table)[0].value == pytest.approx(1 / 1.85)
    # No price of these falls with x.
    assert proxy_discrimination(-x + 3.0, at_nodes, table)[0].value == pytest.approx(1)
    assert proxy_discrimination(np.ones(len(x)), at_nodes, table)[0].value == 0


def test_the_corrective_premium_of_levels_by_hand():
    s = np.repeat([0.0, 1.0], 60)
    best = np.concatenate([np.tile([1.0, 3.0], 30), np.tile([2.0, 6.0], 30)])
    weight = np.repeat([3.0, 1.0], 60)
    table = table_of(pd.DataFrame({"p": best, "s": s, "w": weight}), exposure="w")
    # Each half's lower value becomes the mean of both lower ones, 1 and 2 at weights 3 and 1; so the upper.
    found = corrective_of(table.price, table)
    lower = table.price == np.where(table.sensitive == 0, 1, 2)
    assert_allclose(found, np.where(lower, 1.25, 3.75), rtol=1e-6)


@pytest.mark.variant
def test_five_premiums_are_near_the_analytic_ones():
    rng = np.random.default_rng(0)
    n = 20_000
    s = rng.normal(size=n)
    x = 0.6 * s + 0.8 * rng.normal(size=n)
    mu = np.exp(0.3 * x + 0.2 * s)
    frame = pd.DataFrame({"p": mu.mean(), "s": s, "x": x, "mu": mu})
    frame["p"] += 1e-3 * rng.normal(size=n)
    costs = learn_costs(table_of(frame, expected_cost="mu"))
    s, x = costs.table.sensitive, costs.table.features["x"].to_numpy()
    truth = {
        "best_estimate": np.exp(0.3 * x + 0.2 * s),
        # s given x is N(.6 x, .64).
        "unaware": np.exp(0.3 * x + 0.12 * x + 0.02 * 0.64),
        "aware": np.exp(0.3 * x + 0.02),
        # log μ given s is N(.38 s, .24²), of which the rank is that of x − .6 s.
        "corrective": np.exp(0.38**2 / 2 + 0.3 * (x - 0.6 * s)),
    }
    # x − .6 s given x is N(.64 x, .6² × .64).
    truth["hyperaware"] = np.exp(0.38**2 / 2 + 0.3 * 0.64 * x + 0.09 * 0.36 * 0.64 / 2)
    assert set(truth) == set(PREMIUMS)
    for name, value in truth.items():
        found = costs.premiums[name]
        assert np.mean((found - value) ** 2) < 0.06 * np.var(value), name
        assert found.mean() == pytest.approx(value.mean(), rel=0.03), name
    best = truth["best_estimate"]
    assert np.mean((costs.by_networks - best) ** 2) < 0.06 * np.var(best), "by networks, too"


def test_values_for_given_models_are_those_of_rows_repeated_by_integer_weights():
    frame = policies(600).assign(policy=range(600))
    again = frame.loc[frame.index.repeat(frame["w"].astype(int))].assign(w=1.0)
    found = []
    for each in (frame, again):
        columns = columns_of("p", "s", exposure="w", outcome="y", groups="policy", features=("a", "b"))
        table = AuditTable.of(each, columns)
        a, b, s = table.features["a"].to_numpy(), table.features["b"].to_numpy(), table.sensitive
        shares = shares_of_link(np.column_stack([np.exp(0.2 * a), np.exp(0.2 * b), 0.1 * s]), table)
        nodes, of_nodes = sensitive_nodes(s, sample_weight=table.weight, max_nodes=30)
        at_nodes = np.exp(0.2 * a[:, None] + 0.2 * nodes)
        missed, _ = proxy_discrimination(table.price, at_nodes, table)
        corrective = corrective_of(np.exp(0.2 * a + 0.2 * s), table)
        moments = [table.weight @ corrective, table.weight @ corrective**2, corrective.max()]
        found.append([*(part.value for part in shares), *nodes, *of_nodes, missed.value, *moments])
    assert_allclose(found[0], found[1], rtol=1e-8, atol=1e-10)


@pytest.mark.variant
def test_the_order_of_rows_makes_no_difference():
    frame = policies(300)
    roles = {**ROLES, "outcome": "y", "questions": [6, 8]}
    shuffled = frame.sample(frac=1, random_state=1)
    assert fd.audit(frame, **roles).to_dict() == fd.audit(shuffled, **roles).to_dict()


def test_both_questions_are_answered_with_tables_and_fits(monkeypatch):
    monkeypatch.setattr("fairdash.training.settings._MOST_EPOCHS", 60)
    plan = AuditPlan(columns=columns_of("p", "s", exposure="w", outcome="y"), questions=(6, 8))
    told = []
    result = carry_out(policies(1000), plan, progress=lambda doing, share: told.append((doing, share)))
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    assert {"drivers", "proxies", "surrogate_fit", "premiums", "premium_differences"} <= set(result.tables)
    sentences = {each.question: each.text for each in result.answers}
    fits = result.tables["surrogate_fit"].set_index("model")["value"]
    assert fits["the price, by networks in place of trees"] > 0.9, "a smooth price without noise"
    assert fits["cost, by networks in place of trees"] > 0.02
    assert "“a”" in sentences[6]
    assert "R²" in sentences[6]
    assert "deviance" in sentences[8]
    table = result.tables["premiums"].set_index("premium")
    assert list(table.index) == ["price", *PREMIUMS]
    # From all of s to nothing of it.
    assert table["gap"]["best_estimate"] > table["gap"]["aware"] > table["gap"]["corrective"]
    assert table["explained"]["best_estimate"] > table["explained"]["corrective"]
    assert table["less"]["best_estimate"] == 0
    assert set(result.tables["premium_curves"]["premium"]) == set(table.index)
    assert "every column without another role: “a”, “b”, “town”" in sentences[8]


def test_an_outcome_that_adds_up_to_less_than_nothing_is_refused():
    with pytest.raises(DataError, match="0 or less"):
        fd.audit(policies(300).assign(y=-1.0), **ROLES, outcome="y", questions=[6, 8])


def test_a_price_that_never_changes_has_no_drivers():
    result = fd.audit(policies(300).assign(p=2.0), **ROLES, outcome="y", questions=[6, 8])
    sentences = {each.question: each.text for each in result.answers}
    assert sentences[6] == "“s” explains 0.0 % (0.0 % to 0.0 %) of the price's variance."
    assert "five premiums" in sentences[8]


def test_a_table_with_ids_dates_groups_and_missing_and_negative_cells():
    frame = policies(300).assign(id=[f"policy {k}" for k in range(300)], day=pd.Timestamp("2020-01-01"))
    frame["y"] -= 1
    frame.loc[::3, "a"] = np.nan
    frame.loc[::4, "town"] = None
    frame["b"] = frame["b"].where(frame.index > 0, np.inf)
    frame["policy"] = np.arange(len(frame)) // 2
    result = fd.audit(frame, **ROLES, outcome="y", groups="policy", questions=[6, 8])
    assert set(result.tables["drivers"]["feature"]) - {"s"} == {"a", "b", "town"}
    numbers = result.tables["premiums"].drop(columns="premium")
    assert np.isfinite(numbers).all(axis=None)
    assert result.n == 300  # no row is left out for a feature


def test_features_may_be_named_and_must_be_free():
    named = fd.audit(policies(300), **ROLES, features="a", questions=[6])
    assert list(named.tables["drivers"]["feature"]) == ["a"]
    assert "you named: “a”" in named.answers[-1].text
    with pytest.raises(OptionError, match="Leave it out of the features"):
        fd.audit(policies(300), **ROLES, features=["p"])
    with pytest.raises(OptionError, match="town"):
        fd.audit(policies(300), **ROLES, features=["twon"])
