"""Tolerance of a frozen value on another processor, by its kind.

exact          words, ids, counts, settings and structure
closed form    sums, means and shares of a table's cells: 1e-9 of the value
p-value        one of its shuffles, since a rounding may decide a tie
sentence       a number's last digit, or a thousandth of it; the words are exact
learned        what is trained, searched, smoothed or resampled, and its tail probability: :data:`SHARE` of its own
               standard error, which the frozen row tells by its interval, its noise floor, its ``_se`` or its number
               of rows
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

#: Share of a standard error. ``python -m benchmarks.processors`` prints how much of it other processors use.
SHARE = 0.05
CLOSED = 1e-9
EXACT, CLOSED_FORM, P_VALUE, SENTENCE, LEARNED = "exact", "closed form", "p-value", "sentence", "learned"
#: Numbers of permutations used for p-values.
_SHUFFLES = (39, 199, 999, 1999, 9999)
#: Errors of n rows, with the standard error of a mean of n squared normal errors.
_ERRORS = {"mse", "rmse", "deviance", "error", "error_of_standard", "loss"}
#: Numbers derived from trained models, without an interval.
_DERIVED = {
    "verdict_value", "verdict_edge", "smallest", "smallest_money", "rows_needed", "statistic", "in_sample",
    "increase", "behind", "score", "excess", "hgr", "dependence", "upper", "lower", "price", "candidate",
    "size", "u_explained", "s_explained", "difference", "money", "value", "gap", "floor",
}  # fmt: skip
#: Number of rows if the frozen row does not state it: the test rows of the policies.
_ROWS = 120
_NUMBER = re.compile(r"-?\d[\d,]*\.?\d*")


@dataclass(frozen=True)
class Difference:
    """A changed value: its place, its kind, the change, and the tolerance."""

    where: str
    kind: str
    size: float
    allowed: float
    then: object
    now: object

    @property
    def share(self) -> float:
        """The change as a share of the tolerance."""
        return self.size / self.allowed if self.allowed else math.inf

    def __str__(self) -> str:
        return (
            f"{self.where}: {self.then!r} was, {self.now!r} is ({self.kind}, may move by {self.allowed:.1g})"
        )


def differences(
    then: object, now: object, where: str, row: Mapping[str, Any] | None = None
) -> Iterator[Difference]:
    """All places at which two JSON values differ."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in sorted(then.keys() ^ now.keys()):
            yield Difference(f"{where}.{key}", EXACT, math.inf, 0.0, then.get(key), now.get(key))
        for key in sorted(then.keys() & now.keys()):
            yield from differences(then[key], now[key], f"{where}.{key}", then)
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for k, (a, b) in enumerate(zip(then, now, strict=True)):
            yield from differences(a, b, f"{where}[{k}]", row)
    elif isinstance(then, str) and isinstance(now, str) and _NUMBER.split(then) == _NUMBER.split(now):
        pairs = zip(_NUMBER.findall(then), _NUMBER.findall(now), strict=True)
        yield from (_shown(where, a, b) for a, b in pairs if a != b)
    elif isinstance(then, float) and isinstance(now, float | int) and not isinstance(now, bool):
        if then != now and not (math.isnan(then) and math.isnan(now)):
            name = where.rpartition(".")[2].partition("[")[0]
            yield Difference(where, *tolerance(name, then, row or {}, abs(then - now)), then, now)
    elif then != now:
        yield Difference(where, EXACT, math.inf, 0.0, then, now)


def too_large(found: Iterator[Difference]) -> list[str]:
    """Descriptions of differences that another processor can't explain."""
    return [str(each) for each in found if not each.share <= 1]


def _shown(where: str, then: str, now: str) -> Difference:
    a, b = (float(each.replace(",", "").rstrip(".")) for each in (then, now))
    last = 10.0 ** -len(then.partition(".")[2])
    return Difference(where, SENTENCE, abs(a - b), 1.001 * max(last, 1e-3 * abs(a)), then, now)


def tolerance(name: str, value: float, row: Mapping[str, Any], size: float) -> tuple[str, float, float]:
    """Kind, change and tolerance of a number that changed by `size`; `row` has the other values of its row."""
    if name in ("p", "p_value", "p_values", "p_at_best") or name.endswith("_p"):
        whole = (each + 1 for each in _SHUFFLES if abs(value * (each + 1) - round(value * (each + 1))) < 1e-6)
        steps = next(whole, None)
        if steps or name != "p":
            return P_VALUE, size, 1.001 / (steps or max(_SHUFFLES) + 1)
    if name in ("p", "p_below"):
        # Per standard error, a normal tail probability changes by at most the density at 0.
        return LEARNED, size, SHARE * 0.4
    if name in ("lam", "lams"):
        return EXACT, size, 0.0
    error = standard_error(name, value, row)
    if error is None:
        return CLOSED_FORM, size, CLOSED * max(abs(value), 1e-3)
    return LEARNED, size, max(SHARE * error, CLOSED * abs(value))


def standard_error(name: str, value: float, row: Mapping[str, Any]) -> float | None:
    """Standard error of a number from the other values of its row; None for a closed form."""
    if f"{name}_se" in row:
        return _known(row[f"{name}_se"])
    if name.endswith("_se"):
        # The estimate of two folds is uncertain by its whole size.
        return abs(value)
    stem = re.sub("(_floor|_floor_q95|_edge)$", "", name)
    if f"{stem}_floor_q95" in row and (top := row[f"{stem}_floor_q95"]) is not None and top == top:
        return (top - row[f"{stem}_floor"]) / 1.645
    if "floor_q95" in row and name in {"floor", "floor_q95", "dependence", "excess", "value", "hgr"}:
        return (row["floor_q95"] - row["floor"]) / 1.645
    ends = re.sub("_(low|high)$", "", name)
    for low, high in ((f"{ends}_low", f"{ends}_high"), ("ci_low", "ci_high"), ("low", "high")):
        if _is_interval(name, low, row) and _known(row[low]) is not None and _known(row[high]) is not None:
            return (row[high] - row[low]) / 3.92
    if name in _ERRORS | _DERIVED or f"{stem}_floor" in row:
        return abs(value) * (2 / (row.get("n") or _ROWS)) ** 0.5
    return None


def _is_interval(name: str, low: str, row: Mapping[str, Any]) -> bool:
    """Return True if `low` and its upper counterpart are this number's interval, not bounds of a group."""
    if low not in row or low in ("price_low", "s_low", "ratio_low"):
        return False
    if low == "low":
        return "value" in row and "ci_low" not in row and name in ("value", "low", "high")
    return low != "ci_low" or name in ("ci_low", "ci_high", *_DERIVED)


def _known(value: Any) -> float | None:
    return None if value is None or value != value else abs(float(value))
