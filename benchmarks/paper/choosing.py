"""Settings and λ for one row of Table 1, chosen within each split's own training rows.

Every candidate is cross-validated within the training rows of a split; its test rows take no part. The error
and the quick fairness columns of the held-out predictions are those of the candidates and of blends between
neighbouring λ, and of all that keep to the allowed error the fairest is taken. What is chosen is then trained
on all training rows of the split.
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
from fairdash.training.splits import Split, folds
from fairdash.utils.seeds import Stream, seed_of

Array = NDArray[np.float64]

#: Share of the larger λ in the blends between two neighbours.
BLENDS = (0.25, 0.5, 0.75)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One method and objective on one split: candidates, compared within its training rows.

    Parameters
    ----------
    candidates
        Of one method; those that share settings stand together, by increasing λ.
    n_folds
        Of the cross-validation within the split's training rows.
    n_networks
        Networks that differ in their initial weights and mini-batches; their mean predicts.
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
        """One for each network."""
        return [seed_of(Stream.AVERAGED_NETWORKS, self.random_state, m) for m in range(self.n_networks)]

    def error_and_u(self, y_pred: Array, rows: NDArray[np.int64]) -> tuple[Array, Array]:
        """Squared errors and U of predictions (…, n) on some rows, on the target as the training rows
        standardise it."""
        y = self.dataset.target.to_numpy(dtype=float)
        sd = y[self.split.train].std()
        u = OBJECTIVES[self.objective].audit(y_pred[..., rows], y[rows])
        return ((y_pred[..., rows] - y[rows]) / sd) ** 2, np.asarray(u) / sd

    def compared(self) -> pd.DataFrame:
        """Every candidate and blend within the training rows of the split, on parts as large as a fold.

        Returns
        -------
        DataFrame
            ``low`` and ``high``, the candidates that are blended, and ``blend``, the share of the second;
            ``lam``, ``mse``, ``mse_se``, the quick fairness columns as published, ``diverged``.
        """
        held_out, diverged = self._held_out()
        pairs = pd.DataFrame(self._blends(), columns=["low", "high", "blend"])
        low, high, share = (pairs[name].to_numpy() for name in pairs)
        blended = (1 - share)[:, None] * held_out[low] + share[:, None] * held_out[high]
        # What diverged is never chosen; zeros keep it out of the measures' way.
        there = np.isfinite(blended[:, self.split.train]).all(axis=1)
        finite = np.where(there[:, None], blended, 0.0)
        errors, fairness = [], []
        for part in folds(self.split.train, n_folds=self.n_folds, random_state=self.random_state):
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

        A fold's model takes as many steps as one on all training rows. An epoch leaves out the rows that
        don't fill a batch: of 1,595 rows it has three batches of 512, of four fifths of them two. At the same
        number of epochs the model that is tested would be trained for fairness half as long again as the one
        chosen.
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
        """Each candidate, and between it and the next λ of the same settings the blends of both."""
        found: list[tuple[int, int, float]] = []
        for k, each in enumerate(self.candidates):
            found.append((k, k, 0.0))
            if k + 1 < len(self.candidates) and self.candidates[k + 1].settings == each.settings:
                found += [(k, k + 1, share) for share in BLENDS]
        return found

    def trained(self, chosen: pd.Series) -> Array:
        """Predictions (n,) for all rows by the choice, trained on all training rows."""
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
    """The model to take by its held-out rows, and whether its error is at most the paper's.

    The standard network is the one with the smallest error. Of the fair ones whose error, with `margin`
    standard errors upon it, is at most the paper's, the one whose quick fairness columns are smallest on
    average, each divided by the paper's; if none is, the one with the smallest error.

    Parameters
    ----------
    scored
        As :meth:`Trial.compared` gives it.
    paper
        The paper's row: ``mse`` is the error that is allowed, the fairness columns are the units in which
        unfairness is averaged.
    """
    usable = scored[~scored["diverged"]]
    within = usable[usable["mse"] + margin * usable["mse_se"] <= paper["mse"]]
    if method == "standard" or within.empty:
        best = usable.sort_values("mse", kind="stable").iloc[0]
        return best, bool(best["mse"] <= paper["mse"])
    return within.loc[unfairness(within, paper).idxmin()], True
