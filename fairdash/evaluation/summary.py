"""Means over random splits, with a standard error that knows the splits overlap."""

from __future__ import annotations

import pandas as pd

from fairdash.training.splits import corrected_standard_error as corrected_standard_error


def summarise_splits(frame: pd.DataFrame, *, test_to_train: float | None = None) -> pd.DataFrame:
    """Mean and corrected standard error over the splits of each method, λ and part.

    Parameters
    ----------
    frame
        As :func:`fairdash.evaluation.assess_predictions` gives it. Models that diverged are left out.
    test_to_train
        Number of test rows divided by that of training rows; None if the frame has both parts.

    Returns
    -------
    DataFrame
        One row a ``method``, ``lam``, ``part``; ``n_splits``; for every figure its mean and, as
        ``<figure>_se``, the Nadeau–Bengio standard error (NaN with a single split).
    """
    keys = ["method", "lam", "part"]
    whole = frame[~frame["diverged"]]
    figures = [c for c in frame.columns if c not in (*keys, "split", "diverged", "n", "best_epoch")]
    if test_to_train is None:
        rows = frame.groupby("part")["n"].mean()
        test_to_train = rows["test"] / rows["train"]
    groups = whole.groupby(keys, sort=False)
    means = groups[figures].mean()
    counts = groups.size()
    variances = groups[figures].var(ddof=1)
    # All columns at once: one after the other as Series this took longer than to draw them.
    of_rows = counts.to_numpy()[:, None]
    errors = pd.DataFrame(
        corrected_standard_error(variances.to_numpy(), n_splits=of_rows, test_to_train=test_to_train),
        index=variances.index,
        columns=variances.columns,
    )
    table = means.join(errors.add_suffix("_se"))
    table.insert(0, "n_splits", counts)
    return table.reset_index()
