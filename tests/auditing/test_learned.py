"""Questions that train models: features that explain the link, alternative premiums, and repaired prices."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.auditing.audit import execute_audit
from fairdash.auditing.models.averages import reach_in_words
from fairdash.auditing.models.premiums import (
    COST_TREES,
    PREMIUMS,
    PRICE_TREES,
    fit_trees,
    learn_costs,
    networks_out_of_fold,
    share_explained,
)
from fairdash.auditing.plan import AuditPlan, columns_of
from fairdash.auditing.questions import attribution
from fairdash.auditing.questions.attribution import (
    WITH_S,
    WITHOUT_S,
    drivers_of,
    proxy_discrimination,
    shapley_values,
    shares_of_link,
)
from fairdash.auditing.table import AuditTable
from fairdash.errors import DataError, OptionError

ROLES = {"price": "p", "sensitive": "s", "exposure": "w"}


def policies(n: int = 1500, *, seed: int = 0) -> pd.DataFrame:
    """A price of two columns, one of which depends on s, as do the costs; the exposure is 1, 2 or 3."""
    rng = np.random.default_rng(seed)
    s = rng.normal(size=n)
    a = 0.6 * s + 0.8 * rng.normal(size=n)
    b = rng.normal(size=n)
    frame = pd.DataFrame(
        {"p": np.exp(0.2 * a + 0.2 * b), "s": s, "w": rng.integers(1, 4, n) * 1.0, "a": a, "b": b}
    )
    frame["town"] = rng.choice(["x", "y"], n)
    return frame.assign(y=rng.poisson(3 * frame["p"] * np.exp(0.2 * s)) / 3.0)


def table_of(frame: pd.DataFrame, **roles: str) -> AuditTable:
    return AuditTable.of(frame, columns_of("p", "s", **roles))


def test_trees_explain_the_same_share_of_the_price_with_and_without_torch_and_shap(monkeypatch):
    table = table_of(policies(300).drop(columns="y"))
    surrogate = fit_trees(PRICE_TREES, table.features, table.price, table.weight, random_state=0)
    by_columns, *_ = shares_of_link(shapley_values(surrogate, table.features), table)
    monkeypatch.setattr(attribution, "has", lambda _: False)
    fits, _, whole, shares = drivers_of(table)
    assert vars(whole) == pytest.approx(vars(by_columns), rel=1e-6)
    assert list(fits["model"]) == [WITHOUT_S, WITH_S]
    assert shares.empty


def test_networks_predict_a_price_out_of_fold_on_a_sample_and_do_not_predict_noise():
    table = table_of(policies().drop(columns="y")).sampled(900)
    assert 600 < table.n < 1500
    told = networks_out_of_fold(table, table.price, table.sensitive, random_state=0)
    assert share_explained(table.price, told, table).ci_low > 0.5
    # A shuffled price is noise for a model that is evaluated on other rows.
    noise = np.random.default_rng(0).permutation(table.price)
    assert share_explained(noise, networks_out_of_fold(table, noise, random_state=0), table).ci_low < 0


@pytest.mark.parametrize(("trees", "scale"), [(PRICE_TREES, np.asarray), (COST_TREES, np.log)])
def test_shapley_values_add_up_on_the_scale_of_the_trees(trees, scale):
    table = table_of(policies(300).drop(columns="y"))
    fitted = fit_trees(trees, table.features, table.price, table.weight, random_state=0)
    rest = scale(fitted.predict(table.features)) - shapley_values(fitted, table.features).sum(axis=1)
    assert np.ptp(rest) < 1e-9


def test_proxy_discrimination_equals_a_hand_calculation():
    # Two dependent binary columns; μ(x, s) is computed by hand.
    rows = pd.DataFrame({"x": [0, 0, 1, 1], "s": [0.0, 1.0, 0.0, 1.0]})
    frame = rows.loc[rows.index.repeat([40, 10, 10, 40])].reset_index(drop=True)

    def mu(x, s):
        return 1 + x + 2.0 * s

    table = table_of(frame.assign(p=mu(frame["x"], frame["s"])))
    x = table.features["x"].to_numpy()
    at_nodes = np.column_stack([mu(x, 0.0), mu(x, 1.0)])
    # Discrimination-free prices: the mean of μ(x, s) over s, or μ at a fixed s, shifted or scaled.
    for price in (at_nodes.mean(axis=1), 5 + at_nodes[:, 0], 0.4 * at_nodes[:, 1]):
        assert proxy_discrimination(price, at_nodes, table)[0].value == pytest.approx(0, abs=1e-12)
    # Unaware premium: E[Y|x] is 1.4 or 3.6. Of its slope in x, 2.2, only 1 is not due to s, so (2.2 − 1)² /
    # 2.2² is by proxy.
    unaware = np.where(x == 1, 3.6, 1.4)
    weights = proxy_discrimination(unaware, at_nodes, table)[1]
    assert (weights.sum(), weights.min() >= 0) == (pytest.approx(1), True)
    # Best estimate x + 2 s: its variance is 0.25 + 1 + 4 × 0.15 = 1.85, of which 1, the variance of 2 s,
    # depends on s.
    best = mu(x, table.sensitive)
    # None of these prices falls with x.
    falling, constant = 3.0 - x, np.ones(len(x))
    for price, share in ((unaware, (1.2 / 2.2) ** 2), (best, 1 / 1.85), (falling, 1), (constant, 0)):
        assert proxy_discrimination(price, at_nodes, table)[0].value == pytest.approx(share, abs=1e-12)


@pytest.mark.variant
def test_estimates_of_the_five_premiums_are_close_to_their_closed_forms():
    rng = np.random.default_rng(0)
    n = 20_000
    s = rng.normal(size=n)
    x = 0.6 * s + 0.8 * rng.normal(size=n)
    mu = np.exp(0.3 * x + 0.2 * s)
    frame = pd.DataFrame({"p": mu.mean() + 1e-3 * rng.normal(size=n), "s": s, "x": x, "mu": mu})
    costs = learn_costs(table_of(frame, expected_cost="mu"))
    s, x = costs.table.sensitive, costs.table.features["x"].to_numpy()
    truth = {
        "best_estimate": np.exp(0.3 * x + 0.2 * s),
        # s given x is N(.6 x, .64).
        "unaware": np.exp(0.3 * x + 0.12 * x + 0.02 * 0.64),
        "aware": np.exp(0.3 * x + 0.02),
        # log μ given s is N(0.38 s, 0.24²), and its rank is that of x − 0.6 s.
        "corrective": np.exp(0.38**2 / 2 + 0.3 * (x - 0.6 * s)),
        # x − .6 s given x is N(.64 x, .6² × .64).
        "hyperaware": np.exp(0.38**2 / 2 + 0.3 * 0.64 * x + 0.09 * 0.36 * 0.64 / 2),
    }
    assert set(truth) == set(PREMIUMS)
    for name, value in truth.items():
        found = costs.premiums[name]
        assert np.mean((found - value) ** 2) < 0.06 * np.var(value), name
        assert found.mean() == pytest.approx(value.mean(), rel=0.03), name
    best = truth["best_estimate"]
    assert np.mean((costs.by_networks - best) ** 2) < 0.06 * np.var(best), "by networks, too"


def test_questions_6_and_8_are_answered_with_tables_and_surrogate_fits(monkeypatch):
    monkeypatch.setattr("fairdash.training.settings._MAX_EPOCHS", 60)
    plan = AuditPlan(columns=columns_of("p", "s", exposure="w", outcome="y"), questions=(6, 8))
    shares = []
    result = execute_audit(policies(1000), plan, progress=lambda doing, share: shares.append(share))
    assert shares == sorted(shares)
    assert {"drivers", "proxies", "surrogate_fit", "premiums", "premium_differences"} <= set(result.tables)
    fits = result.tables["surrogate_fit"].set_index("model")["value"]
    assert fits[WITHOUT_S] > 0.9
    assert fits["the price, predicted by networks"] > 0.9, "a smooth price without noise"
    assert fits["cost, predicted by networks"] > 0.02
    sentences = {each.question: each.text for each in result.answers}
    for number, part in (
        (6, "“a”"), (6, "R²"), (8, "deviance"), (8, "every column without another role: “a”, “b”, “town”"),
    ):  # fmt: skip
        assert part in sentences[number]
    table = result.tables["premiums"].set_index("premium")
    assert list(table.index) == ["price", *PREMIUMS]
    # The dependence on s falls from the best estimate to the corrective premium.
    assert table["gap"]["best_estimate"] > table["gap"]["aware"] > table["gap"]["corrective"]
    assert table["explained"]["best_estimate"] > table["explained"]["corrective"]
    assert table["less"]["best_estimate"] == 0
    assert set(result.tables["premium_curves"]["premium"]) == set(table.index)


def test_an_outcome_with_a_negative_total_is_refused():
    with pytest.raises(DataError, match="0 or less"):
        fd.audit(policies(300).assign(y=-1.0), **ROLES, outcome="y", questions=[6, 8])


def test_questions_6_and_8_handle_ids_dates_groups_and_missing_or_negative_cells():
    frame = policies(300).assign(id=[f"policy {k}" for k in range(300)], day=pd.Timestamp("2020-01-01"))
    frame = frame.assign(y=frame["y"] - 1, policy=np.arange(300) // 2)
    frame.loc[::3, "a"], frame.loc[::4, "town"], frame.loc[0, "b"] = np.nan, None, np.inf
    result = fd.audit(frame, **ROLES, outcome="y", groups="policy", questions=[6, 8])
    assert set(result.tables["drivers"]["feature"]) - {"s"} == {"a", "b", "town"}
    assert np.isfinite(result.tables["premiums"].drop(columns="premium")).all(axis=None)
    assert result.n == 300  # no row is left out because of a feature


def test_features_can_be_named_and_are_refused_if_unknown_or_in_another_role():
    named = fd.audit(policies(300), **ROLES, features="a", questions=[6])
    assert list(named.tables["drivers"]["feature"]) == ["a"]
    assert "you named: “a”" in named.answers[-1].text
    for feature, says in (("p", "Leave it out of the features"), ("twon", "town")):
        with pytest.raises(OptionError, match=says):
            fd.audit(policies(300), **ROLES, features=[feature])


def test_the_answer_states_how_much_a_repair_achieves_if_the_attribute_is_unknown_at_pricing():
    rows = [("known", 0.0, 0.455), ("known", 1.0, 0.03), ("not known", 0.0, 0.455), ("not known", 1.0, 0.441)]
    figures = pd.DataFrame(rows, columns=["s at pricing", "strength", "dependence"])
    said = reach_in_words(figures)
    assert "changes from 0.46 to 0.03 if the attribute is known at pricing, and to 0.44 if it is not" in said
    assert said.endswith("reaches 3 % of this reduction.")
    assert "reaches" not in reach_in_words(figures.assign(dependence=0.01))
