"""Question 5: at a given price, who is undercharged? Sufficiency and autocalibration.

The bias b(p, s) = E[Y/L − π | π = p, S = s] is estimated in cells of price and s, and b(p) is the mean bias
at price p. Y is the outcome, and L is the portfolio's loss ratio. A loading that is common to all prices is
therefore not a bias. Sufficiency is the root mean square of b(p, s) − b(p), the part that depends on s at a
given price. b(p) does not depend on s. The mean bias b(p) measures autocalibration (Denuit, Michaelides and
Trufin 2021): the fit at each price, not only over the portfolio; :func:`fairdash.evaluation.insurance.murphy`
decomposes it.

Prices are divided into bands of equal exposure, and each band is divided along s into cells of at least 20
rows. b(p) is a straight line in p in each third of a band. Because of these lines, s is not a proxy for the
price within a band, even if prices are capped and depend on s. Differences in bias within a cell are ignored.
Mean squares are corrected for noise: θ = Σ share b̂² minus the contribution of noise. θ equals the product of
the estimates from two halves of the units, averaged over all ways to split the units.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack
from scipy.special import ndtr, ndtri

from fairdash.auditing.curve import basis_of, fit_curve, sum_by_unit
from fairdash.auditing.data import Answered, AuditData, Measured, Part, gap_along
from fairdash.auditing.gaps import LEVEL, POWER, Gap, Tested, largest_gap, noise_in_words, percent_of_mean
from fairdash.auditing.questions.money import levels_of, other_columns
from fairdash.auditing.table import MIN_ROWS, AuditTable
from fairdash.dependence.classical import Z, quantiles, symmetric_root
from fairdash.evaluation.insurance import MIN_SHOWN, N_BANDS, bands_of, deviances, drawn_lorenz, gini, murphy
from fairdash.utils.seeds import Stream, rng_of
from fairdash.utils.text import p_equals, percent

Array = NDArray[np.float64]
Index = NDArray[np.intp]

_DRAWS = 2000
#: `_MAX_BANDS`: maximum number of bands of the price, and of bands of s in each of them. `_ROWS_PER_CELL`:
#: target number of rows in a cell.
_MAX_BANDS, _ROWS_PER_CELL = 8, 100
#: Number of straight lines of which b(p) consists in a price band.
_LINES_PER_BAND = 3
#: Maximum number of columns in the table ``one_way``: the first factors and features.
_MAX_COLUMNS = 20


@dataclass(frozen=True, eq=False, kw_only=True)
class Surface(Tested):
    """Root mean square of biases of cells, corrected for noise and at least 0, in units of the price.

    For sufficiency, the root mean square is of b(p, s) − b(p), which is 0 if rows with equal prices have
    equal costs at every s. For autocalibration, the root mean square is of b(p), which is 0 if the cost at
    each price equals the price. The p-value tests the hypothesis that all cells have bias 0.

    Attributes
    ----------
    cells
        Columns price_low, price_high, s_low, s_high (not for autocalibration), rows, share, b,
        standard_error. b is the bias of the cell; for sufficiency, b(p) is subtracted from it.
    """

    cells: pd.DataFrame


def assess_sufficiency(data: AuditData, _: Answered) -> Part:
    """Answer question 5: test sufficiency and equalized residuals; report the usual insurance ratios."""
    data_with_cost = data.on("outcome", "expected_cost")
    data = data.on("outcome")
    table, seed = data.table, data.seed
    assert table.outcome is not None
    surface = bias_surface(table, data.delta, random_state=seed)
    calibrated = autocalibration(table, data.delta, random_state=seed)
    residual = table.outcome_at_price_level - table.price
    residuals, band = gap_along(table, residual, fit_curve(residual, table, data.basis), data.plan)
    return Part(
        sentences=_in_words(surface, residuals, calibrated, table),
        tables={
            "residual_curve": band,
            "bias_surface": surface.cells,
            "autocalibration": calibrated.cells,
            "lorenz": drawn_lorenz(table.price, table.outcome, table.weight),
            "murphy": murphy(table.price, table.outcome_at_price_level, table.weight),
            "actual_to_expected": actual_to_expected(table),
            "calibration": actual_to_expected(table, by="price"),
            "deviances": deviances({table.columns.price: table.price}, table.outcome, table.weight),
            **_one_ways(data_with_cost),
        },
        measures=(
            data.measure("autocalibration", calibrated),
            {"measure": "loss_ratio", "value": table.loss_ratio},
            {"measure": "gini", "value": gini(table.price, table.outcome, table.weight)},
        ),
        criteria={
            "sufficiency": Measured(found=surface, table=table, mean_price=table.mean_price),
            "equalized_residuals": residuals,
        },
    )


def _one_ways(data: AuditData) -> dict[str, pd.DataFrame]:
    tables = {"one_way": one_way(data.table)}
    if data.table.columns.coverage is not None:
        tables["by_coverage"] = by_coverage(data)
    return {name: table for name, table in tables.items() if len(table)}


def _in_words(
    surface: Surface, residuals: Measured, calibrated: Surface, table: AuditTable
) -> tuple[str, ...]:
    """Return the answer, then explanations."""
    mean, name, gap = table.mean_price, table.columns.sensitive, residuals.found
    assert isinstance(gap, Gap)
    cells = surface.cells
    worst = cells.iloc[int(np.argmax(cells["b"] / cells["standard_error"].clip(lower=1e-300)))]
    location = (
        f"Compared with other rows at the same price, the clearest undercharge is {table.money(worst['b'])}. "
        f"This undercharge occurs at prices from {table.money(worst['price_low'])} to "
        f"{table.money(worst['price_high'])} and “{name}” "
        f"{'' if table.classes else 'from '}{table.s_range(worst['s_low'], worst['s_high'])}."
    )
    is_clear = surface.p_value <= LEVEL and worst["b"] > 0
    return (
        f"Among customers who pay the same price, expected cost varies along “{name}” by "
        f"{table.money(surface.value)} {table.a_unit_of_exposure}, which is "
        f"{percent_of_mean(surface, mean)}.",
        f"Cost is {percent(table.loss_ratio)} of the price. We scaled cost to the total price before the "
        "comparison.",
        "This figure is the root mean square over cells of price and attribute, with noise subtracted "
        f"({p_equals(surface.p_value)}).",
        *([location] if is_clear else []),
        f"The average of cost minus price varies along “{name}”: its highest point exceeds its lowest by "
        f"{percent_of_mean(gap, mean)}. {noise_in_words(gap, mean)}",
        residuals.any_link_in_words(f" between cost minus price and “{name}”"),
        _calibration(calibrated, mean),
    )


def _calibration(surface: Surface, mean: float) -> str:
    """Describe autocalibration, which does not involve the sensitive attribute."""
    if surface.p_value > LEVEL:
        return (
            "Autocalibration: at no price does the cost of the rows differ detectably from the price "
            f"({p_equals(surface.p_value)})."
        )
    bands = surface.cells
    low, high = bands["b"].iloc[0], bands["b"].iloc[-1]
    slope = {
        (True, False): " Low prices are too low and high prices too high.",
        (False, True): " Low prices are too high and high prices too low.",
    }.get((bool(low > 0), bool(high > 0)), "")
    return (
        "Autocalibration: at a given price, the average cost of all rows differs from the price by "
        f"{percent_of_mean(surface, mean)} ({p_equals(surface.p_value)}).{slope}"
    )


def bias_surface(table: AuditTable, delta: float, *, random_state: int | None = 0) -> Surface:
    """Test sufficiency for a table with an outcome, against a threshold δ in units of the price."""
    price_band, bands = _price_bands(table, len(table.classes))
    s_band = np.empty_like(price_band)
    for band in range(bands):
        rows = price_band == band
        if rows.any():
            s_band[rows] = (
                table.sensitive[rows]
                if table.classes
                else _bands(table.sensitive[rows], table.weight[rows], bands)
            )
    lines = _lines_in_price(_bands(table.price, table.weight, _LINES_PER_BAND * bands), table)
    ranges = {"price": table.price, "s": table.sensitive}
    cell = price_band * (int(s_band.max()) + 1) + s_band
    return _surface(table, cell, ranges, lines, delta, random_state=random_state)


def autocalibration(table: AuditTable, delta: float, *, random_state: int | None = 0) -> Surface:
    """Test autocalibration: the mean cost at each price, divided by the loss ratio, equals the price."""
    bands, _ = _price_bands(table)
    return _surface(table, bands, {"price": table.price}, None, delta, random_state=random_state)


def _price_bands(table: AuditTable, classes: int = 0) -> tuple[Index, int]:
    """Return each row's price band, (n,), and the number of bands.

    Many classes reduce the number of bands, so that cells of price and class have enough rows to be shown.
    """
    bands, min_bands = np.sqrt(table.n / _ROWS_PER_CELL), 2
    if classes > 2:
        bands, min_bands = min(bands, table.n / (2 * MIN_SHOWN * classes)), 1
    bands = int(np.clip(bands, min_bands, _MAX_BANDS))
    return _bands(table.price, table.weight, bands), bands


def _bands(x: Array, weight: Array, count: int) -> Index:
    cut_points = np.unique(quantiles(x, weight, np.arange(1, count) / count))
    return np.searchsorted(cut_points, x, side="left")


def _surface(
    table: AuditTable,
    cell: Index,
    ranges: Mapping[str, Array],
    lines: csr_matrix | None,
    delta: float,
    *,
    random_state: int | None,
) -> Surface:
    """Return the root mean square of the cells' mean errors, after subtracting straight lines in the price.

    Parameters
    ----------
    cell
        Cell of each row, (n,).
    ranges
        Map of names to arrays (n,) whose ranges describe a cell.
    """
    _, code, rows = np.unique(cell, return_inverse=True, return_counts=True)
    weight = np.bincount(code, weights=table.weight)
    frame = pd.DataFrame(index=range(len(rows)))
    for name, values in ranges.items():
        by = pd.Series(values).groupby(code)
        frame[f"{name}_low"], frame[f"{name}_high"] = by.min(), by.max()
    frame["rows"], frame["share"] = rows, weight / weight.sum()
    # Each row contributes to the mean of its cell. Through the fitted lines, it also contributes to all cells
    # of the band.
    cell_means = csr_matrix((table.weight / weight[code], (np.arange(table.n), code)))
    error = table.outcome_at_price_level - table.price
    contributions = cell_means
    if lines is not None:
        error = error - lines @ (lines.T @ (table.weight * error))
        contributions = cell_means - lines.multiply(table.weight[:, None]).tocsr() @ (lines.T @ cell_means)
    b = error @ cell_means
    unit_errors = sum_by_unit(contributions, error - b[code], table)
    covariance = (unit_errors.T @ unit_errors).toarray()
    covariance = covariance * np.sqrt(np.outer(*[rows / np.maximum(rows - 1, 1)] * 2))
    frame = frame.assign(b=b, standard_error=np.sqrt(np.diag(covariance)))
    dense = rows >= MIN_SHOWN
    share = frame["share"].to_numpy()[dense]
    fields_of_test = _rms_of_means(
        b[dense], covariance[np.ix_(dense, dense)], share / share.sum(), delta, random_state=random_state
    )
    return Surface(**fields_of_test, cells=frame[dense].reset_index(drop=True))


def _lines_in_price(band: Index, table: AuditTable) -> csr_matrix:
    """Return the basis functions of b(p), (n, q): a straight line in each of the given price bands.

    The basis functions L are orthonormal under the weights w, so L @ (L.T @ (w y)) is the projection of y.
    """
    _, code = np.unique(band, return_inverse=True)
    total = np.bincount(code, weights=table.weight)
    centre = np.bincount(code, weights=table.weight * table.price) / total
    deviation = table.price - centre[code]
    width = np.sqrt(np.bincount(code, weights=table.weight * deviation**2) / total)
    # A band with only one price has no slope.
    has_slope = width > 1e-9 * max(float(np.abs(table.price).max()), 1e-300)
    rows, count = np.arange(table.n), len(total)
    level, slope = (
        csr_matrix((values / np.sqrt(total)[code], (rows, code)), shape=(table.n, count))
        for values in (np.ones(table.n), deviation / np.where(has_slope, width, 1.0)[code])
    )
    return hstack([level, slope[:, has_slope]], format="csr")


def _rms_of_means(
    b: Array, covariance: Array, share: Array, delta: float, *, random_state: int | None
) -> dict[str, float]:
    """Return the root mean square of C normal means b, with its error and test (see :class:`Surface`)."""
    noise = covariance * share[:, None]  # the matrix CD, where C is the covariance and D = diag(share)
    theta = float(share @ b**2 - np.trace(noise))
    # Variance of a quadratic form of normal means: 4 b'DCDb + 2 tr(DCDC).
    noise_variance = 2 * float((noise * noise.T).sum())
    spread = float(np.sqrt(max(4 * float((share * b) @ covariance @ (share * b)) + noise_variance, 1e-300)))
    draws = rng_of(Stream.AUDIT_DRAWS, random_state, 1).normal(size=(_DRAWS, len(b)))
    draws = draws @ symmetric_root(covariance)
    theta_without_bias = (draws**2) @ share - np.trace(noise)
    limits = [theta + ndtri(level) * spread for level in (0.025, 0.05, 0.95, 0.975)]
    low, lower, upper, high = (float(np.sqrt(max(limit, 0.0))) for limit in limits)
    return {
        "value": float(np.sqrt(max(theta, 0.0))),
        "ci_low": low,
        "ci_high": high,
        "lower": lower,
        "upper": upper,
        "p_value": float((1 + (theta_without_bias >= theta).sum()) / (1 + _DRAWS)),
        "p_below": float(ndtr((theta - delta**2) / spread)),
        "p_above": float(ndtr((delta**2 - theta) / spread)),
        "smallest": float(
            np.sqrt(
                np.quantile(np.maximum(theta_without_bias + ndtri(0.95) * np.sqrt(noise_variance), 0), POWER)
            )
        ),
    }


def actual_to_expected(table: AuditTable, *, by: str = "sensitive", n_bands: int = N_BANDS) -> pd.DataFrame:
    """Return actual ÷ expected, Σ w Y / Σ w π, in equal-exposure bands of s or the price, with 95 % limits.

    Parameters
    ----------
    by
        ``"sensitive"`` or ``"price"``.

    Returns
    -------
    DataFrame
        Columns low, high (of s or the price), rows, exposure, price, outcome (means), ratio, ci_low,
        ci_high.
    """
    variable = getattr(table, by)
    code = table.bands(n_bands) if by == "sensitive" else bands_of(variable, table.weight, n_bands)
    rows = pd.Series(variable).groupby(code)
    return _ratios(table, code, table.price, low=rows.min(), high=rows.max()).drop(columns="loss_ratio")


def one_way(table: AuditTable) -> pd.DataFrame:
    """Return one row per level (or fifth) of each factor and feature, for a table with an outcome.

    Returns
    -------
    DataFrame
        Columns column, level, rows, exposure, price and outcome (means), loss_ratio (Σ w Y / Σ w π), ratio
        (actual ÷ expected outcome, where the latter is the user's expected cost or, without it, the price
        times the portfolio's loss ratio), ci_low and ci_high (95 %).
    """
    columns = other_columns(table).iloc[:, :_MAX_COLUMNS]
    parts = [
        _ratios(table, level, _expected(table), level=labels).assign(column=name)
        for name, level, labels in levels_of(columns, table.weight)
    ]
    if not parts:
        return pd.DataFrame()
    frame = pd.concat(parts, ignore_index=True)
    return frame[["column", "level", *frame.columns.drop(["column", "level"])]]


def by_coverage(data: AuditData) -> pd.DataFrame:
    """Return, for each coverage, the numbers of :func:`one_way` and the price's largest gap along s.

    ``gap``, ``gap_low`` and ``gap_high`` are shares of that coverage's mean price. The gap is missing if the
    coverage has fewer than 100 units or too few values of s.
    """
    table, name = data.table, data.table.columns.coverage
    assert name is not None
    ((_, level, labels),) = levels_of(other_columns(table)[[name]], table.weight)
    frame = _ratios(table, level, _expected(table), level=labels)
    gaps = [_gap(table.take(level == code), data) for code in np.unique(level[level >= 0])]
    names = ("gap", "gap_low", "gap_high")
    return frame.assign(**dict(zip(names, np.array(gaps).reshape(-1, 3).T, strict=True)))


def _expected(table: AuditTable) -> Array:
    """Return each row's expected cost, (n,): the user's estimate or else the price times the loss ratio."""
    return table.price * table.loss_ratio if table.expected_cost is None else table.expected_cost


def _ratios(table: AuditTable, code: Index, expected: Array, **first: Any) -> pd.DataFrame:
    """Return actual ÷ expected with 95 % limits, one row per code; the columns in `first` come first."""
    assert table.outcome is not None
    has_code = code >= 0
    rows = np.bincount(code[has_code])
    exposure, price, outcome, cost = (
        np.bincount(code[has_code], weights=(table.weight * values)[has_code])
        for values in (np.ones(table.n), table.price, table.outcome, expected)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        loss_ratio, ratio = outcome / price, outcome / cost
        residual = table.weight * (table.outcome - np.where(has_code, ratio[code], 0.0) * expected)
        error = np.array([table.error(residual * (code == k)) for k in range(len(rows))]) / cost
        columns = {
            **first, "rows": rows, "exposure": exposure, "price": price / exposure,
            "outcome": outcome / exposure, "loss_ratio": loss_ratio, "ratio": ratio,
            "ci_low": ratio - Z * error, "ci_high": ratio + Z * error,
        }  # fmt: skip
    return pd.DataFrame(columns)[rows > 0].replace([np.inf, -np.inf], math.nan).reset_index(drop=True)


def _gap(part: AuditTable, data: AuditData) -> tuple[float, float, float]:
    unknown = (math.nan, math.nan, math.nan)
    if part.n_units < MIN_ROWS or np.ptp(part.sensitive) == 0 or not part.mean_price > 0:
        return unknown
    basis = basis_of(part)
    if len(basis.at) < 2:
        return unknown
    mean = part.mean_price
    gap, _ = largest_gap(
        fit_curve(part.price, part, basis), data.plan.gap_allowed(mean), random_state=data.seed
    )
    return gap.value / mean, gap.ci_low / mean, gap.ci_high / mean
