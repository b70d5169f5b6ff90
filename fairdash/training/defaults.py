"""Default training settings, which are the same in the app, on the command line and in notebooks.

>>> import numpy as np
>>> suggested_loss(np.array([0.0, 1.0, 0.0, 2.0, 0.0]))[0]
'poisson'
>>> suggested_loss(np.array([0.0, 4.0, 0.0]), np.array([1.0, 0.25, 0.5]))[0]  # a claim in three months
'poisson'
>>> suggested_loss(np.array([0.0, 0.0, 812.5, 0.0]))[0], suggested_loss(np.array([12.0, 14.5, 13.1]))[0]
('tweedie', 'squared_error')
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairdash._version import __version__
from fairdash.data.dataset import Dataset
from fairdash.training.losses import find_loss
from fairdash.training.methods import DEFAULT_METHOD, METHODS, STANDARD
from fairdash.training.settings import BUDGETED, TrainingSettings, budget_of
from fairdash.training.splits import TEST_SHARE
from fairdash.utils.records import to_plain

#: Fair methods that a run trains in addition to the default fair method.
FURTHER_METHODS = ("chi2_kde", "hgr_nn")
#: Weights λ that cover the whole trade-off between error and fairness on the Crime data and the household
#: data. For other data, a pilot training (:mod:`fairdash.training.pilot`) selects this number of weights.
LAMS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)
#: Weights λ for a preview. The largest weight is 2,000 times the smallest, because a preview does not know
#: which weights matter for the data.
PREVIEW_LAMS = (0.01, 0.03, 0.1, 0.25, 0.75, 2.0, 6.0, 20.0)
#: Weights λ for a preview with tariffs. At the largest weight, premiums hardly differ between policies.
PREVIEW_TARIFF_LAMS = (0.002, 0.005, 0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1.5)
N_SPLITS = 5
#: For tables with at least MANY_ROWS rows, training takes a long time and results have little noise. The
#: default number of splits is therefore N_SPLITS_OF_MANY_ROWS, the minimum for a confidence interval.
MANY_ROWS, N_SPLITS_OF_MANY_ROWS = 100_000, 3
#: Share of the rows outside the test set that become validation rows, on which models are selected.
VALIDATION_SHARE = 0.2
#: A preview of a table with at most MAX_ROWS rows uses all rows, which takes seconds on two cores. A preview
#: of a larger table uses a random sample of ROWS_DRAWN rows.
MAX_ROWS, ROWS_DRAWN = 12_000, 5_000
#: Maximum number of table cells that a preview with tariffs uses. A preview with so many cells takes about 20
#: seconds. A preview of a larger table uses a sample of the rows.
MAX_PREVIEW_CELLS = 15_000_000


def default_methods(dataset: Dataset) -> tuple[str, ...]:
    """Return the ids of the standard model and of default fair methods that suit the sensitive columns."""
    several = len(dataset.roles.sensitive) > 1
    fair = [
        method for method in (DEFAULT_METHOD, *FURTHER_METHODS) if METHODS[method].multivariate or not several
    ]
    return (STANDARD, *fair)


def default_settings(dataset: Dataset, *, loss: str | None = None) -> TrainingSettings:
    """Return training settings for the number of rows, with the given loss or a loss that suits the data.

    Predictions are balanced if the loss has a log link.
    """
    if loss is None:
        weight = None if dataset.weight is None else dataset.weight.to_numpy()
        loss = suggested_loss(dataset.target.to_numpy(), weight)[0]
    has_log_link = find_loss(loss).has_log_link
    schedule: dict[str, Any] = budget_of(training_rows(dataset.n_rows))
    return TrainingSettings(loss=loss, balance=has_log_link, **schedule)


def default_n_splits(n_rows: int) -> int:
    """Return the number of splits for a table with `n_rows` rows."""
    return N_SPLITS if n_rows < MANY_ROWS else N_SPLITS_OF_MANY_ROWS


def training_rows(n_rows: int) -> int:
    """Return the approximate number of training rows per split of a default plan, at least 1."""
    return max(round((1 - TEST_SHARE) * (1 - VALIDATION_SHARE) * n_rows), 1)


#: Settings whose defaults depend on the data.
_DATA_DEPENDENT = {"loss", "tweedie_power", "balance", *BUDGETED}
#: Names that messages use for fields of a plan, if the Python names would be unclear to users.
_TITLES = {
    "lams": "weights λ",
    "n_splits": "splits",
    "validation_share": "share of validation rows",
    "tune": "weight decay found on validation rows",
    "find_lams": "weights λ found by a pilot training",
}


def current_defaults() -> dict[str, Any]:
    """Return the version of fairdash, and the defaults of a run that do not depend on the data."""
    settings = to_plain(TrainingSettings())
    return {
        "fairdash": __version__,
        "methods": [STANDARD, DEFAULT_METHOD, *FURTHER_METHODS],
        "lams": list(LAMS),
        "n_splits": N_SPLITS,
        "validation_share": VALIDATION_SHARE,
        "tune": True,
        "find_lams": True,
        **{name: value for name, value in settings.items() if name not in _DATA_DEPENDENT},
    }


def other_defaults(plan: Mapping[str, Any], then: Mapping[str, Any]) -> str:
    """Describe the options of a plan that were defaults when the plan was created but are no longer defaults.

    Parameters
    ----------
    plan
        Values of the fields of a plan and of its settings, by the name of the field.
    then
        Result of :func:`current_defaults` when the plan was created.

    Returns
    -------
    str
        One sentence, or empty text if no default has changed.
    """
    values = {name: list(value) if isinstance(value, tuple) else value for name, value in plan.items()}
    if values["tune"]:
        # Tuning replaces the learning rate and the weight decay.
        del values["lr"], values["weight_decay"]
    current = current_defaults()
    changed = [
        f"{_TITLES.get(name, name)} {_in_words(values[name])} (now {_in_words(current[name])})"
        for name in current
        if name in values
        and not _is_default(name, values[name], current)
        and name in then
        and _is_default(name, values[name], then)
    ]
    version = str(then.get("fairdash", ""))[:20]
    return (
        f"fairdash {version}, which made this run, had other defaults: {'; '.join(changed)}."
        if changed
        else ""
    )


def _is_default(name: str, value: object, defaults: Mapping[str, Any]) -> bool:
    """True if a plan's value is the default. Methods that accept only one sensitive column may be missing.

    The defaults may come from an imported run, so a value may have any type.
    """
    default = defaults[name]
    if name == "methods" and isinstance(default, list):
        of_several = [id for id, method in METHODS.items() if method.multivariate]
        return value in (default, [entry for entry in default if entry in of_several])
    return bool(value == default)


def _in_words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(_in_words, value)) or "none"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def share_of_rows(n_rows: int, *, tariff_columns: int = 0) -> float:
    """Return the share of the rows that a preview uses, at most 1.

    If `tariff_columns` is above 0, the preview fits tariffs to this number of columns, and uses more rows
    than a preview with networks.
    """
    if tariff_columns:
        return min(1.0, MAX_PREVIEW_CELLS / (n_rows * tariff_columns))
    return 1.0 if n_rows <= MAX_ROWS else ROWS_DRAWN / n_rows


#: Whole numbers up to this value can be counts; larger whole numbers are treated as rounded amounts.
MAX_COUNT = 100
_FEW_ZEROS, _MANY_ZEROS = 0.2, 0.5
#: Amounts are treated as skewed if the ratio of their standard deviation to their mean is at least this
#: value. The ratio is 1 for an exponential distribution.
_MIN_VARIATION = 1.0
#: Minimum ratio of the standard deviation to the mean for averages of several claims, which vary less than
#: single claims.
_MIN_VARIATION_OF_AVERAGES = 0.5


def suggested_loss(target: NDArray[np.float64], weight: NDArray[np.float64] | None = None) -> tuple[str, str]:
    """Suggest a loss that suits the target.

    The loss is Poisson for counts, and for rates that become counts when multiplied by the exposure. The loss
    is Tweedie for amounts of which at least half are zero, and for amounts with some zeros and a standard
    deviation of at least the mean. The loss is gamma for positive amounts with a standard deviation of at
    least the mean. For averages over a count, such as costs per claim, the limit of the standard deviation is
    half the mean instead of the mean. For all other targets, the loss is the squared error.

    Parameters
    ----------
    target : (n,) array
        Finite values of the target.
    weight : (n,) array, optional
        Positive exposures.

    Returns
    -------
    tuple of str
        An id in :data:`fairdash.training.losses.LOSSES`, and the reason as a clause that describes the
        target. The reason is empty for squared error, which suits any target.
    """
    if target.min() < 0:
        return "squared_error", ""
    zeros = float(np.mean(target == 0))
    if weight is None:
        counts = _counts(target) and len(np.unique(target)) > 2
    else:
        counts = _counts(target * weight) or _counts(target)
    if counts and zeros >= _FEW_ZEROS:
        return "poisson", "the target is a count or a rate of counts"
    if zeros >= _MANY_ZEROS and target.max() > 1:
        return "tweedie", f"the target is zero in {100 * zeros:.0f} % of rows"
    mean = float(np.average(target, weights=weight))
    averages = weight is not None and _counts(weight) and len(np.unique(weight)) > 1
    spread = _MIN_VARIATION_OF_AVERAGES if averages else _MIN_VARIATION
    if np.average((target - mean) ** 2, weights=weight) >= (spread * mean) ** 2:
        if target.min() > 0:
            return "gamma", "the target is positive, and its standard deviation is about as large as its mean"
        if target.max() > 1:
            return (
                "tweedie",
                "the target is never below zero, and its standard deviation is about as large as its mean",
            )
    return "squared_error", ""


def _counts(values: NDArray[np.float64]) -> bool:
    return bool(values.max() <= MAX_COUNT and np.allclose(values, np.round(values), rtol=0, atol=1e-6))
