"""Through what a price follows s: shares of its factors, whether it uses s itself, and proxy discrimination.

The price is made again by a surrogate π̂ of the table's features. Its share of variance that s explains,
UF = Var(E[π̂|s]) / Var(π̂), is shared out over the features by their Shapley values φⱼ, which add up to π̂:
UFⱼ = Cov(E[φⱼ|s], E[π̂|s]) / Var(π̂) (Lindholm, Richman, Tsanakas and Wüthrich 2026).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import nnls

from fairdash.auditing.basis import Basis, basis_of
from fairdash.auditing.bridge import Estimate
from fairdash.auditing.curve import fit_curve
from fairdash.auditing.models import (
    OF_A_PRICE,
    Fitted,
    Networks,
    explained,
    gained,
    out_of_fold,
    ratio_of_means,
    sampled,
)
from fairdash.auditing.table import AuditTable

Array = NDArray[np.float64]

#: Rows whose Shapley values are taken, at most, and folds of the means given s.
MOST_EXPLAINED = 2_000
_FOLDS = 5
#: A price uses s itself where s makes the surrogate better by more than this share of the price's variance:
#: trees are never exact, and s may mend a little of what they miss.
USES_ITSELF = 0.005


@dataclass(frozen=True, eq=False, kw_only=True)
class Drivers:
    """Through what a price follows s.

    Attributes
    ----------
    rows
        Rows that the surrogate was learned and judged on.
    n_explained
        Rows whose Shapley values were taken.
    fit, fit_with
        R² of the surrogate on rows left out, without s and with it.
    fit_networks
        That of networks in place of the trees, with s where the surrogate has it.
    itself
        By how much of the price's variance s makes it better, likewise.
    uses_itself
        Whether that is shown to be more than :data:`USES_ITSELF`; the surrogate that is shared out then
        has s among its features.
    whole
        UF of the surrogate.
    shares
        A row a feature, the largest first: feature, share (UFⱼ; they add up to UF), ci_low, ci_high.
    """

    rows: int
    n_explained: int
    fit: Estimate
    fit_with: Estimate
    fit_networks: Estimate
    itself: Estimate
    uses_itself: bool
    whole: Estimate
    shares: pd.DataFrame


def drivers_of(table: AuditTable, *, random_state: int | None = 0) -> Drivers:
    """Through what the price of a table with features follows s."""
    part = sampled(table)
    without = out_of_fold(part, part.price, OF_A_PRICE, random_state=random_state)
    with_s = out_of_fold(part, part.price, OF_A_PRICE, part.sensitive, random_state=random_state)
    itself = gained(part.price, without, with_s, part)
    uses = itself.ci_low > USES_ITSELF
    more = (part.sensitive,) if uses else ()
    fitted = OF_A_PRICE.fit(part.features, part.price, part.weight, *more, random_state=random_state)
    networks = out_of_fold(part, part.price, Networks(), *more, random_state=random_state)
    few = sampled(part, MOST_EXPLAINED)
    values = shapley_values(fitted, few.features, *((few.sensitive,) if uses else ()))
    parts = shares_of_link(values, few)
    names = [*map(str, few.features), *([table.columns.sensitive] if uses else [])]
    shares = pd.DataFrame(
        {
            "feature": names,
            "share": [each.value for each in parts[1:]],
            "ci_low": [each.ci_low for each in parts[1:]],
            "ci_high": [each.ci_high for each in parts[1:]],
        }
    )
    return Drivers(
        rows=part.n,
        n_explained=few.n,
        fit=explained(part.price, without, part),
        fit_with=explained(part.price, with_s, part),
        fit_networks=explained(part.price, networks, part),
        itself=itself,
        uses_itself=uses,
        whole=parts[0],
        shares=shares.sort_values("share", ascending=False, kind="stable", ignore_index=True),
    )


def shapley_values(fitted: Fitted, features: pd.DataFrame, *more: Array) -> Array:
    """Shapley values of rows, (n, p): what each feature adds to the mean; a row's add up to its prediction.

    Along the trees' own paths (Lundberg et al. 2020), by the library ``shap``.
    """
    from shap.explainers import TreeExplainer

    explainer = TreeExplainer(fitted.model, feature_perturbation="tree_path_dependent")
    return np.asarray(explainer.shap_values(fitted.encoder.encode(features, *more)), dtype=float)


def shares_of_link(parts: Array, table: AuditTable) -> list[Estimate]:
    """UF of the sum of some parts (n, p), and each part's share of it, p + 1 estimates; noise not counted.

    Cov(E[a|s], E[b|s]) = Cov(a, b) − E[(a − E[a|s])(b − E[b|s])] with the means learned on other folds, so
    that the parts' add up to the whole's (compare :func:`fairdash.auditing.bridge.typical_gap`).
    """
    whole = parts.sum(axis=1)
    basis = basis_of(table)
    columns = np.column_stack([whole, parts])
    around = columns - table.weight @ columns / table.weight.sum()
    left = columns - _told_by_s(columns, table, basis)
    told = around * around[:, :1] - left * left[:, :1]
    return [ratio_of_means(each, around[:, 0] ** 2, table) for each in told.T]


def _told_by_s(columns: Array, table: AuditTable, basis: Basis) -> Array:
    """E[·|s] of each column (n, k), learned on the other folds with the penalty that suits the first."""
    lam = fit_curve(columns[:, 0], table, basis).lam
    folds = table.folds(_FOLDS)
    told = np.empty_like(columns)
    for fold in range(_FOLDS):
        out = folds == fold
        weighted = basis.rows[~out].multiply(table.weight[~out][:, None] / table.weight[~out].sum())
        gram = np.asarray((basis.rows[~out].T @ weighted).todense())
        gram += 1e-10 * np.trace(gram) / len(gram) * np.eye(len(gram))
        moments = np.asarray(weighted.T @ columns[~out])
        told[out] = basis.rows[out] @ np.linalg.solve(gram + lam * basis.penalty, moments)
    return told


def proxy_discrimination(price: Array, at_nodes: Array, table: AuditTable) -> tuple[Estimate, Array]:
    """PD, the share of a price's variance by which it misses every price free of proxy discrimination.

    Such prices are c + Σₖ μ(x, sₖ) vₖ with v ≥ 0 and Σ v ≤ 1: what a policy would cost, averaged over s
    with weights that its features don't change (Lindholm, Richman, Tsanakas and Wüthrich 2026).

    Parameters
    ----------
    price : (n,) array
    at_nodes : (n, K) array
        μ(x, sₖ) in units of the price.

    Returns
    -------
    PD, v
        PD in [0, 1]: 0 where the price is such a price, 1 where none is nearer than a constant. Its interval
        takes μ as known. And the weights v (K,) of the nearest one.
    """
    share = table.weight / table.weight.sum()
    around = price - share @ price
    total = float(share @ around**2)
    if total <= 0:
        return Estimate.of(0.0, 0.0), np.zeros(at_nodes.shape[1])
    # The corners of what is allowed, from the price: nothing but c, and each node alone.
    corners = np.column_stack([np.zeros(len(price)), at_nodes - share @ at_nodes]) - around[:, None]
    gram = corners.T @ (share[:, None] * corners) / total
    size, vectors = np.linalg.eigh(gram)
    root = np.sqrt(np.maximum(size, 0))[:, None] * vectors.T
    # The shortest vector in the hull of columns d: min ‖Du‖² + (Σu − 1)² over u ≥ 0, then u / Σu. For u = tv
    # with Σv = 1 that is ‖Dv‖² / (1 + ‖Dv‖²) at its best t, which is smallest where ‖Dv‖ is.
    u, _ = nnls(np.vstack([root, np.ones(len(gram))]), np.append(np.zeros(len(gram)), 1.0))
    weights = u / u.sum()
    missed = corners @ weights
    value = ratio_of_means(missed**2, around**2, table)
    limits = {name: min(max(getattr(value, name), 0.0), 1.0) for name in ("value", "ci_low", "ci_high")}
    return Estimate(**limits), weights[1:]
