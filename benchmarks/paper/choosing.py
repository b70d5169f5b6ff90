"""Settings and λ for one row of Table 1, chosen within the training rows of each split.

Every candidate is cross-validated within the training rows of a split, without its test rows. Candidates and
blends between neighbouring λ are compared by error and quick fairness columns of their held-out predictions;
the fairest one within the allowed error is chosen. It is then trained on all training rows of the split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.paper import scoring
from benchmarks.paper.judging import QUICK, unfairness
from fairdash.data.dataset import Dataset
from fairdash.training.crossvalidation import cross_validate, rows_of, standard_error
from fairdash.training.device import resolve_device
from fairdash.training.models import train_models
from fairdash.training.settings import OBJECTIVES, StackedModel
from fairdash.training.splits import Split, fold_rows
from fairdash.utils.seeds import Stream, seed_of

Array = NDArray[np.float64]

#: Share of the larger λ in blends of two neighbours.
BLENDS = (0.25, 0.5, 0.75)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One method and objective on one split: candidates, compared within the training rows of the split.

    Parameters
    ----------
    candidates
        Candidates of one method; those with the same settings are adjacent, by increasing λ.
    n_folds
        Number of folds of the cross-validation within the split's training rows.
    n_networks
        Number of networks with different initial weights and mini-batches; the prediction is their mean.
    """

    dataset: Dataset
    split: Split
    candidates: Sequence[StackedModel]
    objective: str
    n_folds: int = 5
    n_networks: int = 1
    random_state: int = 0

    @cached_property
    def s(self) -> Array:
        return self.dataset.sensitive.iloc[:, 0].to_numpy(dtype=float)

    @property
    def _seeds(self) -> list[int]:
        """One seed per network."""
        return [seed_of(Stream.AVERAGED_NETWORKS, self.random_state, m) for m in range(self.n_networks)]

    def error_and_u(self, y_pred: Array, rows: NDArray[np.int64]) -> tuple[Array, Array]:
        """Squared errors and U of predictions (…, n), with the target standardised on the training rows."""
        y = self.dataset.target.to_numpy(dtype=float)
        sd = y[self.split.train].std()
        u = OBJECTIVES[self.objective].audit(y_pred[..., rows], y[rows])
        return ((y_pred[..., rows] - y[rows]) / sd) ** 2, np.asarray(u) / sd

    def compared(self) -> pd.DataFrame:
        """Results of all candidates and blends within the split's training rows, on parts as large as a fold.

        Returns
        -------
        DataFrame
            ``low`` and ``high``, the blended candidates, and ``blend``, the share of ``high``; ``lam``,
            ``mse``, ``mse_se``, the quick fairness columns as published, ``diverged``.
        """
        held_out, diverged = self._held_out()
        pairs = pd.DataFrame(self._blends(), columns=["low", "high", "blend"])
        low, high, share = (pairs[name].to_numpy() for name in pairs)
        blended = (1 - share)[:, None] * held_out[low] + share[:, None] * held_out[high]
        # A diverged candidate is never chosen; zeros keep it from affecting the measures.
        there = np.isfinite(blended[:, self.split.train]).all(axis=1)
        finite = np.where(there[:, None], blended, 0.0)
        errors, fairness = [], []
        for part in fold_rows(self.split.train, n_folds=self.n_folds, random_state=self.random_state):
            squared, u = self.error_and_u(finite, part.validation)
            errors.append(squared.mean(axis=-1))
            fairness.append(scoring.paper_scoring(u, self.s[part.validation], QUICK))
        by_fold, lams = np.stack(errors, axis=1), np.array([each.lam for each in self.candidates])
        found = pairs.assign(
            lam=(1 - share) * lams[low] + share * lams[high],
            mse=by_fold.mean(axis=1),
            mse_se=standard_error(by_fold),
        )
        means = pd.concat(fairness).groupby(level=0).mean()
        return found.join(means).assign(diverged=diverged[low] | diverged[high])

    def _held_out(self) -> tuple[Array, NDArray[np.bool_]]:
        """Predictions (C, n) for the training rows by models that have not seen them, NaN elsewhere.

        The model of a fold takes as many steps as a model on all training rows. An epoch omits rows that do
        not fill a batch: 1,595 rows have three batches of 512, and four fifths of them have two. With the
        same number of epochs, the final model would be trained half as long again as the tested one.
        """
        inside = rows_of(self.dataset, self.split.train)
        found = [
            cross_validate(
                inside,
                self.candidates,
                objective=self.objective,
                n_folds=self.n_folds,
                random_state=seed,
                device="cpu",
                for_refit=True,
            )
            for seed in self._seeds
        ]
        predictions = np.full((len(self.candidates), self.dataset.n_rows), np.nan)
        predictions[:, self.split.train] = sum(each.predictions for each in found) / self.n_networks
        return predictions, np.any([each.diverged for each in found], axis=0)

    def _blends(self) -> list[tuple[int, int, float]]:
        """All candidates, and the blends between each candidate and the next λ with the same settings."""
        found: list[tuple[int, int, float]] = []
        for k, each in enumerate(self.candidates):
            found.append((k, k, 0.0))
            if k + 1 < len(self.candidates) and self.candidates[k + 1].settings == each.settings:
                found += [(k, k + 1, share) for share in BLENDS]
        return found

    def trained(self, chosen: pd.Series) -> Array:
        """Predictions (n,) for all rows by the chosen candidate, trained on all training rows."""
        ends = [self.candidates[k] for k in dict.fromkeys([int(chosen["low"]), int(chosen["high"])])]
        shares = [1.0] if len(ends) == 1 else [1 - float(chosen["blend"]), float(chosen["blend"])]
        total = np.zeros(self.dataset.n_rows)
        for seed in self._seeds:
            models = train_models(
                self.dataset,
                [self.split],
                [replace(end, seed=seed) for end in ends],
                objective=self.objective,
                random_state=seed,
                device=resolve_device("cpu"),
            )
            total += np.average(models.predictions, axis=0, weights=shares)
        return total / self.n_networks


def choose(
    scored: pd.DataFrame, method: str, paper: pd.Series, *, margin: float = 0.0
) -> tuple[pd.Series, bool]:
    """The candidate to choose by held-out rows, and whether its error is at most that of the paper.

    For the standard network, the one with the smallest error. For fair networks, those whose error plus
    `margin` standard errors is at most that of the paper are compared by the average of their quick fairness
    columns, each divided by the paper's value, and the smallest is chosen; if none has such an error, the one
    with the smallest error.

    Parameters
    ----------
    scored
        Result of :meth:`Trial.compared`.
    paper
        The paper's row: ``mse`` is the allowed error, and unfairness is averaged in units of the fairness
        columns.
    """
    usable = scored[~scored["diverged"]]
    within = usable[usable["mse"] + margin * usable["mse_se"] <= paper["mse"]]
    if method == "standard" or within.empty:
        best = usable.sort_values("mse", kind="stable").iloc[0]
        return best, bool(best["mse"] <= paper["mse"])
    return within.loc[unfairness(within, paper).idxmin()], True
