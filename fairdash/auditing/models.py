"""What an audit learns: a price or a cost from features, by boosted trees, judged on rows left out; and by
networks, so that nothing is taken for a fact that only one kind of model sees.

Learned is on at most :data:`MOST_ROWS` rows, of units that the seed deals; folds are cut of the same deal, so
that rows of one policy are in one fold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.auditing.bridge import Estimate
from fairdash.auditing.features import Encoder
from fairdash.auditing.table import AuditTable
from fairdash.seeds import Stream, seed_of

Array = NDArray[np.float64]
Rows = NDArray[np.bool_]

#: Rows that models are learned and judged on, at most, and folds.
MOST_ROWS = 30_000
N_FOLDS = 3


@dataclass(frozen=True, kw_only=True)
class Trees:
    """Boosted trees (scikit-learn's histogram gradient boosting); the fields are its options."""

    loss: str = "squared_error"
    max_iter: int = 100
    max_leaf_nodes: int = 15
    learning_rate: float = 0.1
    min_samples_leaf: int = 20

    def fit(
        self, features: pd.DataFrame, y: Array, weight: Array, *more: Array, random_state: int | None
    ) -> Fitted:
        """Learn y (n,) from features and from further columns of numbers."""
        from sklearn.ensemble import HistGradientBoostingRegressor

        encoder = Encoder.of(features, y, weight)
        seed = None if random_state is None else seed_of(Stream.AUDIT_MODELS, random_state)
        model = HistGradientBoostingRegressor(**vars(self), early_stopping=False, random_state=seed)
        return Fitted(
            encoder=encoder, model=model.fit(encoder.encode(features, *more), y, sample_weight=weight)
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Fitted:
    """A model that has learned, with what turns features into their columns."""

    encoder: Encoder
    model: Any

    def predict(self, features: pd.DataFrame, *more: Array) -> Array:
        """What is foretold of rows, (n,)."""
        return np.asarray(self.model.predict(self.encoder.encode(features, *more)), dtype=float)

    def predict_at(self, features: pd.DataFrame, nodes: Array) -> Array:
        """What would be foretold were the last column each of some values, (n, K)."""
        rows = self.encoder.encode(features, np.zeros(len(features)))
        told = np.empty((len(rows), len(nodes)))
        for k, node in enumerate(nodes):
            rows[:, -1] = node
            told[:, k] = self.model.predict(rows)
        return told


@dataclass(frozen=True, kw_only=True)
class Networks:
    """fairdash's own standard networks, without a penalty, as a second learner beside the trees."""

    loss: str = "squared_error"

    def fit(
        self, features: pd.DataFrame, y: Array, weight: Array, *more: Array, random_state: int | None
    ) -> Fitted:
        """Learn y (n,) from features and from further columns of numbers."""
        from fairdash.training.regressor import FairRegressor

        encoder = Encoder.of(features, y, weight)
        model = FairRegressor(
            method="standard",
            lam=0.0,
            loss=self.loss,
            batch_size=max(_FEWEST_ROWS_A_STEP, len(y) // _STEPS_AN_EPOCH),
            random_state=None if random_state is None else seed_of(Stream.AUDIT_MODELS, random_state),
            device="cpu",
        )
        return Fitted(
            encoder=encoder, model=model.fit(encoder.encode(features, *more), y, sample_weight=weight)
        )


#: A price follows its features closely; costs are mostly chance; a mean given the features is smooth.
OF_A_PRICE = Trees(max_leaf_nodes=31)
OF_A_COST = Trees(loss="poisson", max_iter=60, max_leaf_nodes=8, min_samples_leaf=50)
OF_A_MEAN = Trees(max_iter=60)
#: Mini-batches of a network: steps cost about the same whatever their rows.
_FEWEST_ROWS_A_STEP, _STEPS_AN_EPOCH = 256, 40


def sampled(table: AuditTable, most: int = MOST_ROWS) -> AuditTable:
    """At most about so many of a table's rows, whole units; what they are dealt fills [0, 1) again."""
    share = min(1.0, most / table.n)
    part = table.take(table.deal < share)
    return replace(part, deal=part.deal / share)


def out_of_fold(
    table: AuditTable, y: Array, learner: Trees | Networks, *more: Array, random_state: int | None
) -> Array:
    """What models learned on the other folds foretell of y (n,)."""
    told = np.empty(table.n)
    for fold in folds_of(table):
        fitted = learner.fit(
            table.features[~fold], y[~fold], table.weight[~fold], *(each[~fold] for each in more),
            random_state=random_state,
        )  # fmt: skip
        told[fold] = fitted.predict(table.features[fold], *(each[fold] for each in more))
    return told


def folds_of(table: AuditTable) -> list[Rows]:
    """The rows of each fold, of those that hold some."""
    fold = table.folds(N_FOLDS)
    return [fold == k for k in range(N_FOLDS) if 0 < (fold == k).sum() < table.n]


Loss = Callable[[Array, Array], Array]


def squared_error(y: Array, told: Array) -> Array:
    """(y − told)², by row."""
    return (y - told) ** 2


def poisson_deviance(y: Array, told: Array) -> Array:
    """2 (y log(y / told) − y + told) by row, for y ≥ 0 and told > 0; it holds for any amounts that are not
    negative."""
    from scipy.special import xlogy

    return 2 * (xlogy(y, y / told) - y + told)


def explained(y: Array, told: Array, table: AuditTable, loss: Loss = squared_error) -> Estimate:
    """1 − loss of what is told / loss of the mean: R², or the share of the deviance; 1 is exact, and below 0
    the mean does better."""
    return gained(y, np.full(table.n, weighted_mean(y, table)), told, table, loss)


def gained(y: Array, told: Array, better: Array, table: AuditTable, loss: Loss = squared_error) -> Estimate:
    """By how much of the mean's loss the loss of `better` is below that of `told`, paired by unit."""
    whole = loss(y, np.full(table.n, weighted_mean(y, table)))
    return ratio_of_means(loss(y, told) - loss(y, better), whole, table)


def ratio_of_means(part: Array, whole: Array, table: AuditTable) -> Estimate:
    """Σ w part / Σ w whole with the interval of units drawn at random; 0 where the whole is."""
    total = float(table.weight @ whole)
    if total <= 0:
        return Estimate.of(0.0, 0.0)
    value = float(table.weight @ part) / total
    of_units = np.bincount(table.units, weights=table.weight * (part - value * whole)) / total
    return Estimate.of(value, float(np.sqrt(of_units @ of_units)))


def weighted_mean(y: Array, table: AuditTable) -> float:
    return float(table.weight @ y / table.weight.sum())
