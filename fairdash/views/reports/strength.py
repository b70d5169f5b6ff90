"""Statistical limits of a run: its number of rows, the rows needed, and the gain of networks over tariffs."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from fairdash.dependence import REGISTRY
from fairdash.evaluation import least_error
from fairdash.evaluation.assess import MAX_JUDGED_ROWS
from fairdash.evaluation.figures import of_measure
from fairdash.tariff import title_of
from fairdash.training.methods import THE_STANDARD
from fairdash.utils.text import number
from fairdash.views.reports.comparison import Comparison
from fairdash.views.reports.fronts import mean_over_splits

#: A gain or link counts as visible if its z is at least this.
Z = 3.0
#: Quantile for one-sided 95 % bounds, and the smallest z that counts as a sign.
_POSSIBLE, _SIGN = 1.645, 0.5


def shows_nothing(comparison: Comparison) -> bool:
    """Return whether a price's front would lie inside the noise: nothing was gained, or there is
    no link to lose."""
    gain = comparison.result.gain
    if comparison.front.error != "deviance":
        return False
    return (gain is not None and not gain.is_beyond_noise) or not comparison.has_link(THE_STANDARD)


def rows_that_would(comparison: Comparison) -> str:
    """Estimate the rows needed to detect the gain or the link, and name the assumption."""
    gain, result = comparison.result.gain, comparison.result
    n_rows, what = len(result.target), "gain"
    if gain is not None and not gain.is_beyond_noise:
        z = (1 - gain.error) / gain.error_se if gain.error_se else 0.0
    else:
        p, what = comparison.verdict_p(THE_STANDARD), "link"
        if np.isnan(p):
            return ""
        z = NormalDist().inv_cdf(1 - min(p, 0.999))
        # No estimate of needed rows goes beyond this number.
        n_rows = round(n_rows * min(1.0, MAX_JUDGED_ROWS / len(result.splits[0].test)))
    return f"{_needed(z, n_rows, what)} No curve is drawn, because all of it would be within the noise."


def _needed(z: float, n_rows: int, what: str) -> str:
    """State the number of rows for z = 3; z grows with the root of the rows."""
    if z >= _SIGN:
        return (
            f"If the {what} is as large as these {n_rows:,} rows suggest (z = {z:.1f}), about "
            f"{_about(n_rows * (Z / z) ** 2)} rows would show it (z = {Z:g}, as z grows with the square root "
            "of the rows)."
        )
    possible = max(z + _POSSIBLE, _SIGN)
    return (
        f"These {n_rows:,} rows give no sign of a {what} (z = {z:.1f}). With 95 % confidence the {what} is "
        f"so small that showing it would take at least {_about(n_rows * (Z / possible) ** 2)} rows (z = "
        f"{Z:g}, as z grows with the square root of the rows)."
    )


def _about(rows: float) -> str:
    """Two digits are more than it deserves."""
    return f"{float(f'{rows:.2g}'):,.0f}"


def networks_and_tariffs(comparison: Comparison) -> str:
    """Compare the best network with an equally fair tariff; empty without tariffs.

    The tariff is that halfway along the dependence that both reach, the network that with the least error
    that is no more dependent, both on validation rows. The figures are those of test rows: the paired
    difference over the splits, with Student's interval by Nadeau and Bengio's standard error.
    """
    from scipy.stats import t as student

    front, measure, error = comparison.front, comparison.measure, comparison.front.error
    tariffs = front.tariffs
    if error != "deviance" or tariffs.empty or front.validation.empty or tariffs["split"].nunique() < 2:
        return ""
    of_tariffs = of_measure(tariffs[tariffs["part"] == "validation"], measure)
    on_validation = of_tariffs.groupby("lam")["value"].mean()
    networks = of_measure(front.validation, measure)["value"]
    # If both have models: halfway between the ends of their ranges.
    most, least = min(on_validation.max(), networks.max()), max(on_validation.min(), networks.min())
    middle = (most + least) / 2
    lam = float((on_validation - middle).abs().idxmin())
    symbol, limit = REGISTRY[measure].symbol, float(on_validation[lam])
    point, is_reached = least_error(front.validation, measure, at_most=limit, error=error)
    if not is_reached:
        return f"No network is as fair on validation rows as the {title_of(lam)} ({symbol} {number(limit)})."
    rows = (
        tariffs[(tariffs["part"] == "test") & (tariffs["lam"] == lam)],
        front.single[(front.single["method"] == point.method) & (front.single["lam"] == point.lam)],
    )
    test, own = (each.pivot(index="split", columns="measure", values="value") for each in rows)
    unit = float(test[error].mean())
    less = ((test[error] - own[error]) / unit).dropna().to_numpy()
    mean, se = mean_over_splits(less, test_to_train=comparison.result.test_to_train)
    reach = float(student.ppf(0.975, len(less) - 1)) * se
    wins = "wins" if mean > reach else "loses" if mean < -reach else "neither wins nor loses"
    return (
        f"At equal dependence the best network {wins} against the tariff: its deviance is "
        f"{100 * abs(mean):.2f} % {'below' if mean >= 0 else 'above'} (95 % over {len(less)} splits: "
        f"{100 * (mean - reach):+.2f} to {100 * (mean + reach):+.2f} % below). {symbol} is "
        f"{own[measure].mean():.3f} for {point.title} and {test[measure].mean():.3f} for the "
        f"{title_of(lam)}. Both were chosen on validation rows, and the figures are for test rows."
    )
