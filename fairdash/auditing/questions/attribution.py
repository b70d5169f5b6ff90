"""Question 6: through which columns does the price depend on s?

The answer gives the features' shares of the link, the direct use of s, and proxy discrimination. The price is
reproduced by a surrogate model π̂, which is fitted to the table's features. The share of π̂'s variance that s
explains, UF = Var(E[π̂|s]) / Var(π̂), is divided among the features by Shapley values φⱼ, which add up to π̂:
UFⱼ = Cov(E[φⱼ|s], E[π̂|s]) / Var(π̂) (Lindholm, Richman, Tsanakas and Wüthrich 2026).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import nnls

from fairdash.auditing.curve import basis_of, fit_curve, predicted_out_of_fold
from fairdash.auditing.data import Answered, AuditData, Part
from fairdash.auditing.gaps import Estimate, typical_gap, with_interval
from fairdash.auditing.models.premiums import (
    MAX_ROWS,
    NETWORKS_PACKAGE,
    NO_NETWORKS,
    PRICE_TREES,
    Costs,
    Fitted,
    features_in_words,
    fit_in_words,
    fit_trees,
    networks_out_of_fold,
    out_of_fold,
    points_in_words,
    ratio_of_means,
    reason_without_costs,
    relative_gain,
    share_explained,
    share_explained_in_words,
)
from fairdash.auditing.table import AuditTable
from fairdash.utils.imports import EXTRA_OF, has
from fairdash.utils.rounding import varies
from fairdash.utils.seeds import Stream, rng_of
from fairdash.utils.text import percent

Array = NDArray[np.float64]

#: Maximum number of rows for which Shapley values are computed.
MAX_EXPLAINED = 2_000
#: A price uses s directly if s improves the surrogate model by more than this share of the variance of the
#: price. Trees are never exact. Their error may therefore fall slightly if s is added, even if the price does
#: not use s.
MIN_DIRECT_USE = 0.005
#: Display names of the models of the price.
WITHOUT_S = "the price from its features"
WITH_S = "the price from its features and the sensitive attribute"
NETWORKS_MODEL = "the price, predicted by networks"
_NO_SHARES = (
    "To divide the link among the columns, install the package shap: "
    f'pip install "fairdash[{EXTRA_OF["shap"]}]".'
)
_NO_FEATURES = "The table has no further informative columns, so the columns behind the link are unknown."
#: A sentence names at most this number of features.
_MAX_NAMED = 3
#: A sentence names only features with at least this share of the explained variance.
_MIN_NAMED = 0.02
#: Ranking of proxies: `_PROXY_ROWS` is the number of rows, `_PERMUTATIONS` the number of permutations.
_PROXY_ROWS, _PERMUTATIONS = 2_000, 39


def attribute_link(data: AuditData, _: Answered) -> Part:
    """Explain the price's link with s: the share of variance that s explains, the features behind it, any
    direct use of s, and proxy discrimination."""
    table, name = data.on("features").table, data.table.columns.sensitive
    _typical, uf = typical_gap(table, data.basis, data.curve)
    measures = [data.measure("share_of_variance", uf, of_price=False)]
    explained_by_s = f"“{name}” explains {with_interval(uf)} of the price's variance."
    # Even if its averages do not differ along s, a price may use s in interactions with other columns.
    if table.features.columns.empty or not varies(table.price):
        no_features = [_NO_FEATURES] if table.features.columns.empty else []
        return Part(sentences=(explained_by_s, *no_features), measures=tuple(measures))
    fits, direct_use, surrogate_uf, shares = drivers_of(table, random_state=data.seed)
    measures.append(data.measure("surrogate_share_of_variance", surrogate_uf, of_price=False))
    measures.append(data.measure("uses_itself", direct_use, of_price=False))
    data.report_progress("Measuring which columns depend on the sensitive attribute", 6, 0.4)
    proxies, proxy_r2 = _proxies(table, seed=data.seed)
    data.report_progress("Estimating the expected cost", 6, 0.6)
    costs, discrimination = data.costs, None
    if costs is not None and costs.is_learned and (fits["ci_low"] > 0).any():
        discrimination, _weights = proxy_discrimination(costs.table.price, costs.at_nodes, costs.table)
        measures.append(data.measure("proxy_discrimination", discrimination, of_price=False))
    return Part(
        sentences=(
            f"{explained_by_s} {_parts_in_words(shares, surrogate_uf, uf)}",
            _fit_in_words(fits, shares, direct_use, name),
            _direct_use_in_words(direct_use, name),
            _proxies_in_words(proxies, name),
            _discrimination_in_words(discrimination, costs, fits),
            features_in_words(table),
        ),
        tables={
            **({} if shares.empty else {"drivers": shares}),
            "proxies": proxies,
            "surrogate_fit": pd.concat(
                # The share of the variance of ranks is left out, because classes of s have no order.
                [fits, _further_fits(costs, proxy_r2=None if table.classes else proxy_r2)],
                ignore_index=True,
            ),
        },
        measures=tuple(measures),
    )


def _uses_s_directly(direct_use: Estimate) -> bool:
    """Return True if the price certainly uses s directly; the surrogate model then has s as a feature."""
    return direct_use.ci_low > MIN_DIRECT_USE


def _parts_in_words(shares: pd.DataFrame, surrogate_uf: Estimate, uf: Estimate) -> str:
    """Return a sentence on the features through which the surrogate model depends on s."""
    if shares.empty:
        return _NO_SHARES
    clear_parts = shares[(shares["ci_low"] > 0) & (shares["share"] >= _MIN_NAMED * surrogate_uf.value)].head(
        _MAX_NAMED
    )
    if uf.ci_low <= 0 or surrogate_uf.ci_low <= 0 or clear_parts.empty:
        return "No column contributes detectably."
    pairs = zip(clear_parts["feature"].tolist(), clear_parts["share"].tolist(), strict=True)
    parts = ", ".join(f"“{feature}” {percent(share / surrogate_uf.value)}" for feature, share in pairs)
    return f"In a model of the price, the link comes from these columns: {parts}."


def _fit_in_words(fits: pd.DataFrame, shares: pd.DataFrame, direct_use: Estimate, name: str) -> str:
    """Return a sentence on the surrogate model of the price and its fit."""
    model, suffix = (WITH_S, f" and “{name}”") if _uses_s_directly(direct_use) else (WITHOUT_S, "")
    r2 = fits.set_index("model")["value"]
    networks_in_words = (
        f", and that of networks is {r2[NETWORKS_MODEL]:.3f}." if NETWORKS_MODEL in r2 else f". {NO_NETWORKS}"
    )
    shapley_in_words = "" if shares.empty else " Shapley values divide the link among the columns."
    return (
        f"The model consists of trees that predict the price from the other columns{suffix}. The R² of "
        f"this model on held-out rows is {r2[model]:.3f}{networks_in_words}{shapley_in_words}"
    )


def _direct_use_in_words(direct_use: Estimate, name: str) -> str:
    """Return a sentence on the direct use of s in the price."""
    gain_in_words = f"Adding “{name}” itself raises R² by {points_in_words(direct_use)}"
    if _uses_s_directly(direct_use):
        return f"{gain_in_words}. The price uses “{name}” itself, or a related column that the table lacks."
    if direct_use.ci_high < MIN_DIRECT_USE:
        beyond_text = f"Beyond what these columns reveal about “{name}”"
        return f"{gain_in_words}. {beyond_text}, the price does not use “{name}”."
    return f"{gain_in_words}. The data do not show whether the price uses “{name}” itself."


def _proxies_in_words(table: pd.DataFrame, name: str) -> str:
    """Return a sentence on the features that depend on s."""
    clear_rows = table[table["p_corrected"] <= 0.05]
    if clear_rows.empty:
        return f"No column shows a detectable dependence on “{name}”."
    first = clear_rows.iloc[0]
    return f"“{first['feature']}” depends most on “{name}” (HGR {first['hgr']:.2f})."


def _discrimination_in_words(discrimination: Estimate | None, costs: Costs | None, fits: pd.DataFrame) -> str:
    """Return a sentence on the distance between the price and a price without proxy discrimination."""
    if costs is None:
        return "Proxy discrimination can't be measured without an outcome or an expected cost."
    if discrimination is None:
        reason = "No column explains the price." if costs.is_learned else reason_without_costs(costs)
        return f"Proxy discrimination can't be measured. {reason}"
    return (
        "The distance between the price and the nearest price without proxy discrimination is "
        f"{with_interval(discrimination)} of the price's variance, of which the columns leave "
        f"{percent(1 - fits['value'].max())} unexplained. This distance depends on our estimate of cost "
        f"({fit_in_words(costs)})."
    )


def _proxies(table: AuditTable, *, seed: int | None) -> tuple[pd.DataFrame, float]:
    """Return the dependence of each feature on s, and the R² of all features as predictors of ranks of s."""
    from fairdash.data.dataset import Dataset
    from fairdash.data.proxies import rank_proxies

    part = table.sampled(_PROXY_ROWS)
    name = table.columns.sensitive
    ranking = rank_proxies(
        Dataset(
            name="audit",
            features=part.features,
            # The proxies do not depend on a target, but a data set requires one.
            target=pd.Series(range(part.n), dtype=float, name=table.columns.price),
            sensitive=pd.DataFrame({name: part.sensitive}),
            group=None if part.n_units == part.n else pd.Series(part.units, name=table.columns.groups),
        ),
        n_permutations=_PERMUTATIONS,
        random_state=int(rng_of(Stream.AUDIT_PROXIES, seed).integers(2**31)),
    )
    return ranking.features, ranking.joint_r2


def _further_fits(costs: Costs | None, *, proxy_r2: float | None) -> pd.DataFrame:
    """Return the fit, on held-out rows, of the models that predict s or cost."""
    ranks = "ranks of the sensitive attribute from the features"
    rows: list[dict[str, Any]] = []
    if proxy_r2 is not None:
        rows.append({"model": ranks, "measure": "R²", "value": proxy_r2})
    if costs is not None:
        rows += [
            {"model": model, "rows": costs.table.n, "measure": share_explained_in_words(costs), **vars(fit)}
            for model, fit in (
                ("cost from the features and the sensitive attribute", costs.fit),
                ("cost, predicted by networks", costs.fit_networks),
            )
            if fit is not None
        ]
    return pd.DataFrame(rows)


def drivers_of(
    table: AuditTable, *, random_state: int | None = 0
) -> tuple[pd.DataFrame, Estimate, Estimate, pd.DataFrame]:
    """Return the columns through which the price of a table with features depends on s.

    The networks need torch, and the shares of the features need shap.

    Returns
    -------
    DataFrame
        One row per model of the price, with its R² on held-out rows: model, rows, measure, value, ci_low,
        ci_high. The models are the surrogate without s, the surrogate with s, and networks instead of trees.
        The networks use s if the surrogate uses it.
    Estimate
        Increase of the surrogate's R² on held-out rows if s is added to its features. If this increase is
        certainly larger than :data:`MIN_DIRECT_USE`, the shares are computed from the surrogate with s.
    Estimate
        Share UF of the surrogate's variance that s explains.
    DataFrame
        One row per feature, with the largest share first: feature, share (UFⱼ, whose sum is UF), ci_low,
        ci_high.
    """
    part = table.sampled(MAX_ROWS)
    prices_without = out_of_fold(part, part.price, PRICE_TREES, random_state=random_state)
    with_s = out_of_fold(part, part.price, PRICE_TREES, part.sensitive, random_state=random_state)
    direct_use = relative_gain(part.price, prices_without, with_s, part)
    uses_s = _uses_s_directly(direct_use)
    sensitive_columns = (part.sensitive,) if uses_s else ()
    trees_fitted = fit_trees(
        PRICE_TREES, part.features, part.price, part.weight, *sensitive_columns, random_state=random_state
    )
    models = {WITHOUT_S: prices_without, WITH_S: with_s}
    if has(NETWORKS_PACKAGE):
        sensitive = part.s_columns if uses_s else ()
        models[NETWORKS_MODEL] = networks_out_of_fold(part, part.price, *sensitive, random_state=random_state)
    fits = pd.DataFrame(
        [
            {
                "model": model,
                "rows": part.n,
                "measure": "R²",
                **vars(share_explained(part.price, predicted, part)),
            }
            for model, predicted in models.items()
        ]
    )
    explained_rows = part.sampled(MAX_EXPLAINED)
    features = (explained_rows.features, *((explained_rows.sensitive,) if uses_s else ()))
    if not has("shap"):
        (surrogate_uf, _) = shares_of_link(trees_fitted.predict(*features)[:, None], explained_rows)
        return fits, direct_use, surrogate_uf, pd.DataFrame()
    surrogate_uf, *parts = shares_of_link(shapley_values(trees_fitted, *features), explained_rows)
    shares = pd.DataFrame([vars(part) for part in parts]).rename(columns={"value": "share"})
    shares.insert(
        0, "feature", [*map(str, explained_rows.features), *([table.columns.sensitive] if uses_s else [])]
    )
    return (
        fits,
        direct_use,
        surrogate_uf,
        shares.sort_values("share", ascending=False, kind="stable", ignore_index=True),
    )


def shapley_values(trees_fitted: Fitted, features: pd.DataFrame, *extra: Array) -> Array:
    """Return Shapley values, (n, p), on the scale on which the trees are additive.

    The Shapley values of a row add up to the row's prediction minus the mean on this scale. This scale is the
    price for squared error, and its logarithm for Poisson, gamma or Tweedie losses.

    The library ``shap`` computes path-dependent values for trees (Lundberg et al. 2020).
    """
    with warnings.catch_warnings():
        # shap's figures import deprecated parts of matplotlib, but they are not used here.
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        from shap.explainers import TreeExplainer

    explainer = TreeExplainer(trees_fitted.model, feature_perturbation="tree_path_dependent")
    return np.asarray(explainer.shap_values(trees_fitted.encode(features, *extra)), dtype=float)


def shares_of_link(parts: Array, table: AuditTable) -> list[Estimate]:
    """Return UF of the sum of p parts (n, p), then the share UFⱼ of each part: estimates corrected for noise.

    Cov(E[a|s], E[b|s]) = Cov(a, b) − E[(a − E[a|s])(b − E[b|s])], where the conditional means are fitted on
    other folds. The shares of the parts add up to UF (compare :func:`fairdash.auditing.gaps.typical_gap`).
    """
    total = parts.sum(axis=1)
    basis = basis_of(table)
    columns = np.column_stack([total, parts])
    centred = columns - table.share @ columns
    lam = fit_curve(total, table, basis).lam
    residuals = columns - predicted_out_of_fold(columns, table, basis, lam=lam)
    explained_parts = centred * centred[:, :1] - residuals * residuals[:, :1]
    return [ratio_of_means(part, centred[:, 0] ** 2, table) for part in explained_parts.T]


def proxy_discrimination(price: Array, at_nodes: Array, table: AuditTable) -> tuple[Estimate, Array]:
    """Return PD, the share of a price's variance that no price without proxy discrimination reproduces.

    Prices without proxy discrimination are c + Σₖ μ(x, sₖ) vₖ with v ≥ 0 and Σ v ≤ 1. The expected cost of a
    policy is averaged over s with weights that do not depend on the policy's features (Lindholm, Richman,
    Tsanakas and Wüthrich 2026).

    Parameters
    ----------
    price : (n,) array
    at_nodes : (n, K) array
        μ(x, sₖ) in units of the price.

    Returns
    -------
    PD, v
        PD in [0, 1], which is 0 for a price without proxy discrimination, and 1 if the closest price without
        it is a constant. The interval of PD treats μ as known. `v`, (K,), contains the weights of the closest
        price.
    """
    share = table.share
    centred = price - share @ price
    total = float(share @ centred**2)
    if total <= 0:
        return Estimate.of(0.0, 0.0), np.zeros(at_nodes.shape[1])
    # The columns are the extreme points of the allowed set minus the price: c alone, and c + μ(x, sₖ) for
    # each k.
    corner_values = np.column_stack([np.zeros(len(price)), at_nodes - share @ at_nodes]) - centred[:, None]
    gram = corner_values.T @ (share[:, None] * corner_values) / total
    eigenvalues, vectors = np.linalg.eigh(gram)
    root = np.sqrt(np.maximum(eigenvalues, 0))[:, None] * vectors.T
    # The shortest vector in the convex hull of columns d solves min ‖Du‖² + (Σu − 1)² over u ≥ 0, scaled to u
    # / Σu. If u = tv with Σv = 1, the minimum over t is ‖Dv‖² / (1 + ‖Dv‖²). It increases with ‖Dv‖.
    u, _ = nnls(np.vstack([root, np.ones(len(gram))]), np.append(np.zeros(len(gram)), 1.0))
    weights = u / u.sum()
    distance = corner_values @ weights
    value = ratio_of_means(distance**2, centred**2, table)
    return value.map(lambda number: min(max(number, 0.0), 1.0)), weights[1:]
