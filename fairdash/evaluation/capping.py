"""Effects of a cap on premium changes: error and dependence of a tariff before and after the cap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.dependence import quantile_groups
from fairdash.dependence.grouping import as_groups
from fairdash.errors import Checks, DataError
from fairdash.evaluation.assess import DEFAULT_MEASURE, N_PERMUTATIONS, Judge
from fairdash.evaluation.figures import FLOOR, VALUE
from fairdash.evaluation.quantile_profile import quantile_profile
from fairdash.evaluation.verdict import part_permutations
from fairdash.tariff.cap import cap_premiums
from fairdash.training.losses import LOSSES, Loss
from fairdash.training.settings import OBJECTIVES
from fairdash.training.splits import Split
from fairdash.utils.seeds import Stream, seed_of
from fairdash.utils.text import at_lines

Array = NDArray[np.float64]

BEFORE, AFTER = "before the cap", "after the cap"
#: `TENTHS`: number of groups of the sensitive column; the gap is between their averages. `ORDERS`: number of
#: permutations for the noise floor of the gap.
TENTHS, ORDERS = 10, 20


def cap_cost(
    dataset: Dataset,
    predictions: NDArray[np.float64],
    splits: Sequence[Split],
    *,
    max_change: float,
    objective: str = "demographic_parity",
    loss: Loss = LOSSES["poisson"],
    measure: str = DEFAULT_MEASURE,
    sensitive: str | None = None,
    n_permutations: int = N_PERMUTATIONS,
    random_state: int = 0,
) -> pd.DataFrame:
    """Return test results of premiums before and after :func:`fairdash.tariff.cap.cap_premiums`.

    The test rows of each split form a separate portfolio. Today's prices are multiplied by one factor, so
    that their total equals the income from the new premiums. A relative change that is equal for all
    customers does not concern the tariff. The cap leaves this income unchanged. Neither the scaling nor the
    cap uses claims.

    Parameters
    ----------
    dataset
        Data set whose `prediction` is today's price.
    predictions
        Premiums (J, n), one row per split; only the premiums of the split's test rows are used.
    max_change
        Largest relative change of a premium, at least 0.
    objective, loss, measure, n_permutations, random_state
        Parameters of :func:`fairdash.evaluation.assess_predictions`, which computes the results.
    sensitive
        Sensitive column; None uses the first column.

    Returns
    -------
    DataFrame
        Two rows, :data:`BEFORE` and :data:`AFTER`, with means over the splits. The columns are ``error``, the
        deviance divided by the deviance of a flat premium (or the mean squared error, for a loss without a
        deviance); ``gap``, the largest difference between averages of the objective's variable over tenths of
        the sensitive column, divided by the mean premium; ``gap_floor``, the mean of the gap with the column
        permuted; ``dependence`` and ``floor``, its mean under independence; ``changed``, the share of the
        customers, by weight, whose premium changes by more than `max_change`; ``level``, ``at_lower`` and
        ``at_upper`` of the cap; and ``brought``, the factor of today's price.

    Raises
    ------
    DataError
        Raised if the data set has no existing price, or a premium is not positive.
    """
    if dataset.prediction is None:
        raise DataError.of(
            "There is no existing price", "Give a data set with an existing price, to which the cap refers."
        )
    existing_price = dataset.prediction.to_numpy(dtype=float)
    rows = np.unique(np.concatenate([split.test for split in splits]))
    checks = Checks(DataError)
    invalid = rows[existing_price[rows] <= 0]
    checks.require(
        not len(invalid),
        str(dataset.prediction.name),
        f"Today's price is not above 0 in {at_lines(invalid + 1, len(invalid), word='row')}",
        "Changes are relative to today's price. Leave these rows out, or correct them.",
    )
    checks.require(
        all((predictions[j, split.test] > 0).all() for j, split in enumerate(splits)),
        None,
        "The tariff's premium is not above 0 for some rows",
        "Choose a loss with multiplicative premiums, such as Poisson's.",
    )
    checks.finish()
    weight = dataset.row_weight
    column = str(dataset.sensitive.columns[0]) if sensitive is None else sensitive
    judge = Judge(dataset, objective=objective, loss=loss, measures=(measure,), random_state=random_state)
    cell, error = (measure, column), ("deviance" if loss.power else "mse", "")
    columns = {"error": (error, VALUE), "dependence": (cell, VALUE), "floor": (cell, FLOOR)}
    by_name: dict[str, Array] = {BEFORE: predictions.copy(), AFTER: predictions.copy()}
    found_of: list[dict[str, Any]] = []
    for j, split in enumerate(splits):
        test, w = split.test, weight[split.test]
        new, old_price = predictions[j, test], existing_price[test]
        income_ratio = float((w @ new) / (w @ old_price))
        capped = cap_premiums(new, income_ratio * old_price, max_change=max_change, sample_weight=w)
        by_name[AFTER][j, test] = capped.premiums
        pairs = np.stack([all_premiums[j] for all_premiums in by_name.values()])
        figures, _ = judge.figures(pairs, split, "test", split_number=j, n_permutations=n_permutations)
        for k, (premiums, all_premiums) in enumerate(by_name.items()):
            # With this tolerance, a change equal to the limit is not counted as above the limit.
            exceeds = np.abs(all_premiums[j, test] / (income_ratio * old_price) - 1) > max_change + 1e-9
            costs = {
                name: float(figures[k, judge.cells.index(key), part]) for name, (key, part) in columns.items()
            }
            costs |= {"changed": float(np.average(exceeds, weights=w)), "brought": income_ratio}
            if premiums == AFTER:
                costs |= {"level": capped.level, "at_lower": capped.at_lower, "at_upper": capped.at_upper}
            found_of.append({"premiums": premiums} | costs)
    gaps = _gaps(dataset, by_name, splits, column, objective, random_state)
    return pd.DataFrame(found_of).groupby("premiums", sort=False).mean().join(gaps)


def _gaps(
    dataset: Dataset,
    predictions: Mapping[str, Array],
    splits: Sequence[Split],
    column: str,
    objective: str,
    random_state: int,
) -> pd.DataFrame:
    """Return the gap and its noise floor for each of the premiums (J, n) in `predictions`."""
    s, y = (values.to_numpy(dtype=float) for values in (dataset.sensitive[column], dataset.target))
    weight = dataset.row_weight
    tenths = quantile_groups(s, TENTHS)
    seed = seed_of(Stream.TABLE_PERMUTATIONS, random_state)
    orders = part_permutations(
        s, np.arange(len(s)), count=ORDERS, seed=seed, groups=as_groups(dataset.groups, len(s))
    )
    gaps = {}
    for name, premiums in predictions.items():
        mean = np.mean([np.average(premiums[j, each.test], weights=weight[each.test])
                        for j, each in enumerate(splits)])  # fmt: skip
        values = np.asarray(OBJECTIVES[objective].audit(premiums, y))
        gap, *chance = (
            float(np.ptp(quantile_profile(values, s, splits, groups=groups, weight=weight)["mean"].dropna()))
            for groups in (tenths, *tenths[orders])
        )
        gaps[name] = {"gap": gap / mean, "gap_floor": np.mean(chance) / mean}
    return pd.DataFrame.from_dict(gaps, orient="index")
