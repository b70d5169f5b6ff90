"""Repaired price of an audited table: changes at each repair strength, on held-out rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.auditing.data import Progress
from fairdash.auditing.table import AuditTable
from fairdash.dependence import assess_dependence
from fairdash.training.losses import LOSSES
from fairdash.utils.text import percent

Array = NDArray[np.float64]

ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
N_FOLDS = 5
#: A price that changes by more than this share counts as changed.
CHANGED = 0.1
#: Columns that are shares.
SHARES = ("mean change", "moved by a tenth")
#: Ways to compute a repaired price: with s at pricing, or from the other columns only.
WITH_S, WITHOUT_S = "known", "not known"


def repaired(
    table: AuditTable, *, random_state: int | None = 0, progress: Progress = lambda *_: None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Repair an audit's price with :class:`fairdash.FairPostprocessor`, cross-fitted; `progress` may raise
    Cancelled.

    Returns
    -------
    figures
        A row a way (with s at pricing, or without) and strength: dependence and its floor (HGR, splines),
        the mean absolute change as a share of the mean price, the share of the exposure whose price moves
        by more than a tenth, and with an outcome the error ÷ that of the mean.
    prices
        A row a row of the audit, in its order: price, s, and a column a way and strength.
    """
    # The import loads scikit-learn, which a page that only shows an audit does not need.
    from fairdash.tariff.postprocessor import FairPostprocessor

    seed, price, columns = random_state or 0, table.price, table.columns
    x = table.features.assign(**{columns.price: price})
    fold, s = table.folds(N_FOLDS), pd.Series(table.s_for_tests)
    predictions: dict[tuple[str, float], Array] = {
        (way, alpha): np.empty(table.n) for way in (WITH_S, WITHOUT_S) for alpha in ALPHAS
    }
    for k in np.unique(fold):
        progress("repairing the price", 0.7 * k / N_FOLDS)
        out, rest = fold == k, fold != k
        repair = FairPostprocessor(columns.price, random_state=seed)
        repair.fit(x[rest], sensitive_features=s[rest], sample_weight=table.weight[rest])
        for way, own in ((WITH_S, s[out]), (WITHOUT_S, None)):
            full = repair.predict(x[out], sensitive_features=own, alpha=1.0)
            for alpha in ALPHAS:
                predictions[way, alpha][out] = (1 - alpha) * price[out] + alpha * full
    rows: list[dict[str, str | float]] = []
    v = np.column_stack(table.s_columns)
    for (way, alpha), each in predictions.items():
        progress("measuring repaired prices", 0.7 + 0.3 * len(rows) / len(predictions))
        found = assess_dependence("hgr_spline", each, v, n_permutations=39, n_bootstrap=0, random_state=seed)
        change = np.abs(each - price)
        row: dict[str, str | float] = {"s at pricing": way, "strength": alpha}
        row |= {"dependence": found.value, "floor": found.floor}
        row |= {"mean change": table.mean(change) / table.mean_price}
        row |= {"moved by a tenth": table.mean((change > CHANGED * np.abs(price)).astype(float))}
        if table.outcome is not None:
            known = np.isfinite(table.outcome)
            part = table.take(known)
            y = part.outcome_at_price_level
            loss = (
                LOSSES["poisson"] if min(each.min(), price.min()) > 0 <= y.min() else LOSSES["squared_error"]
            )
            mean = np.full(part.n, part.mean(y))
            error, worst = part.mean(loss.deviances(y, each[known])), part.mean(loss.deviances(y, mean))
            row["error"] = error / worst
        rows.append(row)
    named = {f"s {way}, strength {alpha:g}": each for (way, alpha), each in predictions.items() if alpha}
    return pd.DataFrame(rows), pd.DataFrame(
        {columns.price: price, columns.sensitive: table.s_for_tests, **named}
    )


def reach_in_words(figures: pd.DataFrame) -> str:
    """State how much of a repair remains if s is not known at pricing; `figures` are of :func:`repaired`."""
    dependence = figures.set_index(["s at pricing", "strength"])["dependence"]
    before, known, without = (dependence[each] for each in ((WITH_S, 0.0), (WITH_S, 1.0), (WITHOUT_S, 1.0)))
    said = (
        f"At full strength, the dependence (HGR, splines) changes from {before:.2f} to {known:.2f} if the "
        f"attribute is known at pricing, and to {without:.2f} if it is not."
    )
    if before <= known:
        return said
    share = np.clip((before - without) / (before - known), 0.0, 1.0)
    return f"{said} Without the attribute, the repair reaches {percent(share, decimals=0)} of this reduction."
