"""What has moved since another audit: two results held side by side, without their rows.

Both are taken as shares of their own mean price, so that a rise of all prices is no drift, and as independent
samples: the interval of a difference has the root of the sum of both squared half-widths. Where the same rows
stand in both it is too wide, never too narrow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairdash.auditing.plan import CRITERIA
from fairdash.errors import OptionError

if TYPE_CHECKING:
    from fairdash.auditing.result import AuditResult

#: Points that are the mean of all rows beyond the range.
TAILS = ("below", "above")
#: Names of the tables in which it stands.
MOVED, MOVED_CURVE = "moved", "moved_curve"


@dataclass(frozen=True, kw_only=True)
class Since:
    """What has moved since another audit.

    Attributes
    ----------
    has_moved
        Whether the price's curve has, at 5 %: somewhere the band of the difference does not hold 0.
    sentence
        That in words, with its number.
    sha256
        Hash of the other audit's ``audit.json``.
    """

    has_moved: bool
    sentence: str
    sha256: str


def moved_since(
    now: AuditResult, before: AuditResult, *, sha256: str
) -> tuple[Since, dict[str, pd.DataFrame]]:
    """What has moved, and its tables.

    Returns
    -------
    Since, dict of frames
        ``moved``: a row a criterion and a measure with an interval in both audits: before, now, difference,
        ci_low, ci_high as shares of the mean price, verdict_before and verdict_now.
        ``moved_curve``: the difference of the curves where both have a point: at, value, low, high, kind; the
        band holds the whole difference in 95 % of samples where nothing has moved.

    Raises
    ------
    OptionError
        The audits are of different sensitive attributes, or their curves have no point in common.
    """
    name, other = now.plan.columns.sensitive, before.plan.columns.sensitive
    if name != other:
        raise OptionError.of(
            f"The other audit is of “{other}”, this one of “{name}”",
            "Compare audits of the same sensitive attribute.",
            column="against",
        )
    curve = _curves(now, before)
    if curve.empty:
        raise OptionError.of(
            f"The two audits share no range of “{name}”",
            "Compare audits whose sensitive attribute is counted alike.",
            column="against",
        )
    values = pd.DataFrame([*_verdicts(now, before), *_measures(now, before)])
    off = (curve["low"] > 0) | (curve["high"] < 0)
    # The point that is furthest from 0 in widths of its own band.
    clearness = curve["value"].abs() / (curve["high"] - curve["low"]).clip(lower=1e-300)
    at = curve.iloc[int(clearness.to_numpy().argmax())]
    place = (
        f"at {at['at']:,.4g}"
        if at["kind"] in ("curve", "level")
        else f"among the rows {at['kind']} the range"
    )
    said = (
        f"{place} of “{name}” the price, as a share of its mean, stands {100 * abs(at['value']):.1f} points "
        f"{'higher' if at['value'] > 0 else 'lower'} than then (95 % band of the whole difference "
        f"{100 * at['low']:+.1f} to {100 * at['high']:+.1f})"
    )
    was, is_now = before.verdict, now.verdict
    verdict = (
        f" The primary verdict is “{is_now}”, as then."
        if was == is_now
        else f" The primary verdict was “{was}” and is “{is_now}”."
    )
    if before.plan.criterion != now.plan.criterion or before.plan.max_gap != now.plan.max_gap:
        verdict += " The two were not asked for the same criterion and threshold."
    begin = "The curve has moved" if off.any() else "No move of the curve is shown; where it is clearest"
    if now.origin.get("rows_sha256") == before.origin.get("rows_sha256"):
        verdict += " Both audits saw the same rows."
    since = Since(has_moved=bool(off.any()), sentence=f"{begin}: {said}.{verdict}", sha256=sha256)
    return since, {MOVED: values, MOVED_CURVE: curve}


def _curves(now: AuditResult, before: AuditResult) -> pd.DataFrame:
    """The difference of the curves at this one's points, as far as the other one has them."""
    parts = []
    for kind, own in now.curve.groupby("kind", sort=False):
        other = before.curve[before.curve["kind"] == kind]
        if kind == "curve" and len(other) > 1:
            own = own[own["at"].between(other["at"].min(), other["at"].max())]
            there = {
                key: np.interp(own["at"], other["at"], other[key] / before.mean_price)
                for key in ("value", "low", "high")
            }
        else:
            # A level is compared with the same level; a tail is a mean, wherever it begins.
            on = ["at"] if kind == "level" else ["kind"]
            own = own.merge(other, on=on, suffixes=("", "_before"))
            there = {key: own[f"{key}_before"] / before.mean_price for key in ("value", "low", "high")}
        value = own["value"].to_numpy() / now.mean_price - np.asarray(there["value"])
        half = np.hypot(
            (own["high"] - own["low"]).to_numpy() / now.mean_price,
            np.asarray(there["high"]) - np.asarray(there["low"]),
        ) / 2  # fmt: skip
        parts.append(
            pd.DataFrame(
                {
                    "at": own["at"].to_numpy(),
                    "kind": kind,
                    "value": value,
                    "low": value - half,
                    "high": value + half,
                }
            )
        )
    return pd.concat(parts, ignore_index=True).sort_values("at", ignore_index=True)


def _difference(now: Any, before: Any) -> dict[str, float]:
    value = now["value"] - before["value"]
    # Of each audit's interval the side that the other one lies on.
    low = value - np.hypot(now["value"] - now["ci_low"], before["ci_high"] - before["value"])
    high = value + np.hypot(now["ci_high"] - now["value"], before["value"] - before["ci_low"])
    return {
        "before": before["value"], "now": now["value"], "difference": value, "ci_low": low, "ci_high": high,
    }  # fmt: skip


def _verdicts(now: AuditResult, before: AuditResult) -> list[dict[str, Any]]:
    then = before.verdicts.set_index("criterion")
    rows = []
    for _, row in now.verdicts.iterrows():
        if row["verdict"] != "none" and row["criterion"] in then.index:
            other = then.loc[row["criterion"]]
            if other["verdict"] != "none":
                named = {"what": CRITERIA[row["criterion"]].title, **_difference(row, other)}
                rows.append(named | {"verdict_before": other["verdict"], "verdict_now": row["verdict"]})
    return rows


def _measures(now: AuditResult, before: AuditResult) -> list[dict[str, Any]]:
    key = ["question", "measure"]
    both = now.measures.merge(before.measures, on=key, suffixes=("", "_before")).dropna(
        subset=["ci_low", "ci_high", "ci_low_before", "ci_high_before"]
    )
    rows = []
    for _, row in both.iterrows():
        other = {name: row[f"{name}_before"] for name in ("value", "ci_low", "ci_high")}
        named = {"what": str(row["measure"]).replace("_", " "), **_difference(row, other)}
        rows.append(named | {"verdict_before": "", "verdict_now": ""})
    return rows
