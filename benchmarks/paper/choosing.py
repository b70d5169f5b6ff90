"""Settings and λ for one row of Table 1, chosen within each split's own training rows.

Every candidate is cross-validated within the training rows of a split; its test rows take no part. The error
and the quick fairness columns of the held-out predictions are those of the candidates and of blends between
neighbouring λ, and of all that keep to the allowed error the fairest is taken. What is chosen is then trained
on all training rows of the split.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.paper import scoring
from fairdash.data.dataset import Dataset
from fairdash.reports.paper.table1 import QUICK, unfairness
from fairdash.training.crossvalidation import cross_validate, rows_of, standard_error
from fairdash.training.device import resolve_device
from fairdash.training.models import train_models
from fairdash.training.objectives import OBJECTIVES as ALL_OBJECTIVES
from fairdash.training.splits import Split, folds
from fairdash.training.stacked_model import StackedModel
from fairdash.utils.records import to_plain
from fairdash.utils.seeds import Stream, seed_of

Array = NDArray[np.float64]

#: Share of the larger λ in the blends between two neighbours.
BLENDS = (0.25, 0.5, 0.75)


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """How to choose.

    Parameters
    ----------
    n_folds
        Of the cross-validation within a split's training rows.
    n_networks
        Networks that differ in their initial weights and mini-batches; their mean predicts.
    margin
        The cross-validated error must keep this many of its standard errors below the allowed one.
    """

    n_folds: int = 5
    n_networks: int = 1
    margin: float = 0.0


@dataclass(frozen=True)
class ChosenModels:
    """One method and objective on every split.

    Parameters
    ----------
    predictions
        (S, n) in the target's units, for all rows, by models trained on each split's training rows.
    choices
        What was chosen, a row a split: ``split``, ``lam`` (between two trained ones where it is blended),
        ``lam_low``, ``lam_high``, ``blend`` (share of the larger), ``settings`` (JSON), ``reached`` the
        allowed error, ``validation_mse`` and its standard error ``validation_se``, and the quick fairness
        columns on the held-out rows.
    tried
        Every trained candidate, means over the splits: ``candidate``, ``lam``, ``batch_size``,
        ``weight_decay``, ``mse``, the quick fairness columns, ``diverged``.
    """

    predictions: Array
    choices: pd.DataFrame
    tried: pd.DataFrame


def error_and_u(
    dataset: Dataset, y_pred: Array, train: NDArray[np.int64], rows: NDArray[np.int64], objective: str
) -> tuple[Array, Array]:
    """Squared errors and U of predictions (…, n) on some rows, on the target as `train` standardises it."""
    y = dataset.target.to_numpy(dtype=float)
    sd = y[train].std()
    audit = ALL_OBJECTIVES[objective].audit
    return ((y_pred[..., rows] - y[rows]) / sd) ** 2, np.asarray(audit(y_pred[..., rows], y[rows])) / sd


def carry_out(
    dataset: Dataset,
    splits: Sequence[Split],
    candidates: Sequence[StackedModel],
    *,
    objective: str,
    paper: pd.Series,
    protocol: Protocol,
    random_state: int,
) -> ChosenModels:
    """Choose on each split's training rows, and train what was chosen on all of them.

    Parameters
    ----------
    candidates
        Of one method; those that share settings stand together, by increasing λ.
    paper
        The paper's row: ``mse`` is the error that is allowed, the fairness columns are the units in which
        unfairness is averaged.
    """
    choices, tried, predictions = [], [], []
    for j, split in enumerate(splits):
        plan = (objective, protocol, random_state + j)
        frame = cross_validated(dataset, split, candidates, *plan)
        chosen, reached = choose(frame, candidates[0].method, paper, margin=protocol.margin)
        predictions.append(refitted(dataset, split, candidates, chosen, *plan))
        choices.append(_words(chosen, candidates, j, reached))
        tried.append(frame[frame["blend"] == 0])
    table = pd.concat(tried).groupby("low")[["lam", "mse", *QUICK, "diverged"]].mean()
    settings = [each.settings for each in candidates]
    table.insert(1, "batch_size", [each.batch_size for each in settings])
    table.insert(2, "weight_decay", [each.weight_decay for each in settings])
    table["diverged"] = table["diverged"] > 0
    return ChosenModels(
        np.stack(predictions), pd.DataFrame(choices), table.rename_axis("candidate").reset_index()
    )


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
        Columns ``mse``, ``mse_se``, ``diverged`` and :data:`fairdash.reports.paper.table1.QUICK`.
    """
    usable = scored[~scored["diverged"]]
    within = usable[usable["mse"] + margin * usable["mse_se"] <= paper["mse"]]
    if method == "standard" or within.empty:
        best = usable.sort_values("mse", kind="stable").iloc[0]
        return best, bool(best["mse"] <= paper["mse"])
    return within.loc[unfairness(within, paper).idxmin()], True


def cross_validated(
    dataset: Dataset,
    split: Split,
    candidates: Sequence[StackedModel],
    objective: str,
    protocol: Protocol,
    random_state: int,
) -> pd.DataFrame:
    """Every candidate and blend within the training rows of a split.

    Returns
    -------
    DataFrame
        ``low`` and ``high``, the candidates that are blended, and ``blend``, the share of the second;
        ``lam``, ``mse``, ``mse_se``, the quick fairness columns as published, ``diverged``.
    """
    held_out, diverged = _held_out(dataset, split, candidates, objective, protocol, random_state)
    frame = _scored(dataset, split, held_out, candidates, objective, protocol, random_state)
    return frame.assign(diverged=diverged[frame["low"]] | diverged[frame["high"]])


def _held_out(
    dataset: Dataset,
    split: Split,
    candidates: Sequence[StackedModel],
    objective: str,
    protocol: Protocol,
    seed: int,
) -> tuple[Array, NDArray[np.bool_]]:
    """Predictions (C, n) for the training rows by models that have not seen them, NaN elsewhere.

    A fold's model takes as many steps as one on all training rows. An epoch leaves out the rows that don't
    fill a batch: of 1,595 rows it has three batches of 512, of four fifths of them two. At the same number of
    epochs the model that is tested would be trained for fairness half as long again as the one chosen.
    """
    inside = rows_of(dataset, split.train)
    total = np.zeros((len(candidates), inside.n_rows))
    diverged = np.zeros(len(candidates), dtype=bool)
    for m in range(protocol.n_networks):
        found = cross_validate(
            inside,
            candidates,
            objective=objective,
            n_folds=protocol.n_folds,
            random_state=seed_of(Stream.AVERAGED_NETWORKS, seed, m),
            device="cpu",
            foretell=True,
        )
        total += found.predictions
        diverged |= found.diverged
    predictions = np.full((len(candidates), dataset.n_rows), np.nan)
    predictions[:, split.train] = total / protocol.n_networks
    return predictions, diverged


def _scored(
    dataset: Dataset,
    split: Split,
    held_out: Array,
    candidates: Sequence[StackedModel],
    objective: str,
    protocol: Protocol,
    seed: int,
) -> pd.DataFrame:
    """Error and quick fairness columns of every candidate and blend, on parts as large as a fold."""
    pairs = _blends(candidates)
    low, high = (np.array([pair[side] for pair in pairs]) for side in (0, 1))
    share = np.array([pair[2] for pair in pairs])
    blended = (1 - share)[:, None] * held_out[low] + share[:, None] * held_out[high]
    s = dataset.sensitive.iloc[:, 0].to_numpy(dtype=float)
    errors, fairness = [], []
    # What diverged is never chosen; zeros keep it out of the measures' way.
    there = np.isfinite(blended[:, split.train]).all(axis=1)
    finite = np.where(there[:, None], blended, 0.0)
    for part in folds(split.train, n_folds=protocol.n_folds, random_state=seed):
        rows = part.validation
        squared, u = error_and_u(dataset, finite, split.train, rows, objective)
        errors.append(squared.mean(axis=-1))
        fairness.append(scoring.paper_scoring(u, s[rows], QUICK))
    by_fold = np.stack(errors, axis=1)
    frame = pd.DataFrame(
        {
            "low": low,
            "high": high,
            "blend": share,
            "lam": [(1 - w) * candidates[a].lam + w * candidates[b].lam for a, b, w in pairs],
            "mse": by_fold.mean(axis=1),
            "mse_se": standard_error(by_fold),
        }
    )
    means = pd.concat(fairness).groupby(level=0).mean()
    return frame.join(means)


def _blends(candidates: Sequence[StackedModel]) -> list[tuple[int, int, float]]:
    """Each candidate, and between it and the next λ of the same settings the blends of both."""
    found: list[tuple[int, int, float]] = []
    for k, each in enumerate(candidates):
        found.append((k, k, 0.0))
        if k + 1 < len(candidates) and candidates[k + 1].settings == each.settings:
            found += [(k, k + 1, share) for share in BLENDS]
    return found


def refitted(
    dataset: Dataset,
    split: Split,
    candidates: Sequence[StackedModel],
    chosen: pd.Series,
    objective: str,
    protocol: Protocol,
    random_state: int,
) -> Array:
    """Predictions (n,) for all rows by the choice, trained on all training rows."""
    ends = [candidates[k] for k in dict.fromkeys([int(chosen["low"]), int(chosen["high"])])]
    shares = [1.0] if len(ends) == 1 else [1 - float(chosen["blend"]), float(chosen["blend"])]
    total = np.zeros(dataset.n_rows)
    for m in range(protocol.n_networks):
        own = seed_of(Stream.AVERAGED_NETWORKS, random_state, m)
        trained = train_models(
            dataset,
            [split],
            [replace(end, seed=own) for end in ends],
            objective=objective,
            random_state=own,
            device=resolve_device("cpu"),
        )
        total += np.average(trained.predictions, axis=0, weights=shares)
    predictions: Array = total / protocol.n_networks
    return predictions


def _words(
    chosen: pd.Series, candidates: Sequence[StackedModel], split: int, reached: bool
) -> dict[str, object]:
    low, high = candidates[int(chosen["low"])], candidates[int(chosen["high"])]
    return {
        "split": split,
        "lam": float(chosen["lam"]),
        "lam_low": low.lam,
        "lam_high": high.lam,
        "blend": float(chosen["blend"]),
        "reached": reached,
        "validation_mse": float(chosen["mse"]),
        "validation_se": float(chosen["mse_se"]),
        **{id: float(chosen[id]) for id in QUICK},
        "settings": json.dumps(to_plain(low.settings)),
    }
