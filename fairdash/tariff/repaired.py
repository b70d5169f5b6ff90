"""Repair the trees' predictions over splits and strengths, for a front beside networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.jobs.steps import Found, Unit, at_once, independent, within
from fairdash.tables.columns import clean_features
from fairdash.training.baselines import MAX_TREES
from fairdash.training.feature_encoder import FeatureEncoder
from fairdash.training.losses import Loss
from fairdash.training.references import DEFAULT_STRENGTHS, REPAIR, REPAIR_PROJECTED
from fairdash.training.splits import Split
from fairdash.utils.classes import one_column_each
from fairdash.utils.trees import boosted_trees

#: Number of folds, and so of models; the price is their mean.
N_FOLDS, LEARNING_RATE = 5, 0.2


def repaired_prices(
    dataset: Dataset,
    splits: Sequence[Split],
    *,
    loss: Loss,
    strengths: Sequence[float] = DEFAULT_STRENGTHS,
    random_state: int = 0,
    on_step: Callable[[float], None] = lambda _: None,
    unit: Unit = at_once,
) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """Fit trees to each split's training rows, and repair their predictions for every sensitive attribute.

    Parameters
    ----------
    strengths
        From 0, the trees' own price, to 1.
    on_step
        Called with the share done, 0 to 1, before and after each split; what it raises ends the fits.
    unit
        Asked for ``"repair/<split>"``.

    Returns
    -------
    members, predictions
        Columns ``method`` (:data:`~fairdash.training.references.REPAIR` with s at pricing, or
        :data:`~fairdash.training.references.REPAIR_PROJECTED` without), ``lam`` (the strength), ``split``,
        ``diverged`` (False); and (K, n) predictions in the target's units, a row of `members` each.
    """

    s = one_column_each(dataset.sensitive)
    s.columns = pd.RangeIndex(s.shape[1])

    def of_split(split: Split, number: int) -> Found:
        from fairdash.tariff.postprocessor import FairPostprocessor

        on_step(number / len(splits))
        train, seed = split.train, random_state + number
        features = clean_features(dataset.features)
        x = FeatureEncoder.fit(features, rows=train).transform(features)
        trees = boosted_trees(
            loss=loss.of_trees,
            learning_rate=LEARNING_RATE,
            max_iter=MAX_TREES,
            early_stopping=True,
            random_state=seed,
        )
        repair = FairPostprocessor(trees, n_folds=N_FOLDS, random_state=seed).fit(
            x[train],
            dataset.target.to_numpy(dtype=float)[train],
            sensitive_features=s.iloc[train],
            sample_weight=None if dataset.weight is None else dataset.weight.to_numpy(dtype=float)[train],
            groups=None if dataset.groups is None else np.asarray(dataset.groups)[train],
        )
        price = repair.predict(x, alpha=0.0)
        t = np.asarray(strengths, dtype=float)[:, None]
        told = {
            REPAIR: repair.predict(x, sensitive_features=s, alpha=1.0),
            REPAIR_PROJECTED: repair.predict(x, alpha=1.0),
        }
        on_step((number + 1) / len(splits))
        return {method: (1 - t) * price + t * full for method, full in told.items()}

    unit = within(unit, "repair")
    founds = independent(
        unit, {str(j): partial(unit, str(j), partial(of_split, split, j)) for j, split in enumerate(splits)}
    )
    members, predictions = [], []
    for j, found in enumerate(founds):
        for method in (REPAIR, REPAIR_PROJECTED):
            predictions.append(found[method])
            members += [{"method": method, "lam": float(t), "split": j, "diverged": False} for t in strengths]
    return pd.DataFrame(members), np.concatenate(predictions)
