"""From predictions to a tidy frame: one row a model and part, a column a measure, each with its floor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.dependence import REGISTRY, independence_floor, measure_many
from fairdash.lookup import look_up
from fairdash.training.losses import LOSSES, Loss
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.splits import Split

DEFAULT_MEASURES = ("hgr_kde", "fairquant", "fairquant_cumulative")
N_PERMUTATIONS = 100
#: Dependence in larger parts is measured on so many of their rows, drawn at random.
MOST_ROWS = 20_000
#: Rows times permutations behind a floor: large parts, whose floors are low and steady, get fewer.
ROWS_PERMUTED = 400_000
FEWEST_PERMUTATIONS = 20


def assess_predictions(
    dataset: Dataset,
    predictions: NDArray[np.float64],
    members: pd.DataFrame,
    splits: Sequence[Split],
    *,
    objective: str,
    loss: Loss = LOSSES["squared_error"],
    measures: Sequence[str] = DEFAULT_MEASURES,
    n_permutations: int = N_PERMUTATIONS,
    random_state: int = 0,
    progress: Callable[[float], None] | None = None,
) -> pd.DataFrame:
    """Accuracy and dependence of K models, on the rows of every part.

    Parameters
    ----------
    dataset
        The rows that were predicted.
    predictions : (K, n) array
        In the target's units.
    members : DataFrame with K rows
        Columns ``method``, ``lam``, ``split``, ``diverged``.
    splits
        Row numbers of each split.
    objective
        What must not depend on the sensitive columns: ``"demographic_parity"`` or ``"equalized_residuals"``.
    loss
        Adds the column ``deviance`` unless it is squared error.
    measures
        Ids in :data:`fairdash.dependence.REGISTRY`.
    n_permutations
        Permutations of the sensitive columns behind each floor, at most; with many rows fewer do.
    progress
        Called with the share done, 0 to 1.

    Returns
    -------
    DataFrame, one row a model and part
        ``method``, ``lam``, ``split``, ``part`` ("train", "validation" or "test"), ``diverged``, ``n`` rows;
        ``mse``: mean squared error divided by the variance of the target's training rows (0 is perfect, 1 is
        what the constant mean reaches); ``rmse`` in the target's units; ``deviance`` likewise, divided by
        that of the training rows' mean; and for each measure ``id``, ``id_floor`` (mean of the same
        estimator with the sensitive column permuted) and ``id_floor_q95`` (its 95 % quantile). Training rows
        have been fitted to: their figures flatter the model, and have no floor (NaN).

        With several sensitive columns ``id[column]`` stands for each of them, and ``id`` for all together
        where the measure takes several; see :func:`of_sensitive`.

        Rows count by the data set's weight. A measure that takes no weights counts every row once.
        Dependence in a part of more than 20,000 rows is that of 20,000 of them, drawn at random.
    """
    judge = Judge(dataset, objective=objective, loss=loss, measures=measures, random_state=random_state)
    jobs = [(j, part) for j, split in enumerate(splits) for part in split.parts]
    frames = []
    for done, (j, part) in enumerate(jobs):
        of_split = (members["split"] == j).to_numpy()
        figures = judge.figures(
            predictions[of_split],
            splits[j],
            part,
            split_number=j,
            n_permutations=0 if part == "train" else n_permutations,
        )
        frames.append(members[of_split].assign(part=part, **figures))
        if progress is not None:
            progress((done + 1) / len(jobs))
    order = ["method", "lam", "split", "part", "diverged"]
    table = pd.concat(frames).sort_index(kind="stable").reset_index(drop=True)
    return table[[*order, *(column for column in table.columns if column not in order)]]


class Judge:
    """What the figures of one data set's models have in common: objective, loss, measures and seeds."""

    def __init__(
        self,
        dataset: Dataset,
        *,
        objective: str,
        loss: Loss,
        measures: Sequence[str],
        random_state: int,
    ) -> None:
        """Parameters as those of :func:`assess_predictions`."""
        self.objective = look_up(OBJECTIVES, objective, option="objective")
        self.sensitive = dataset.sensitive
        self.loss = loss
        self.measures = measures
        self.random_state = random_state
        self.y = dataset.target.to_numpy(dtype=float)
        self.has_weight = dataset.weight is not None
        self.weight = np.ones(len(self.y)) if dataset.weight is None else dataset.weight.to_numpy()

    def figures(
        self,
        predictions: NDArray[np.float64],
        split: Split,
        part: str,
        *,
        split_number: int,
        n_permutations: int,
    ) -> dict[str, Any]:
        """Column to its K values, in one part of a split, of the models whose `predictions` (K, n) these are.

        The split's number chooses the rows and the permutations that are drawn; without permutations the
        floors are NaN.
        """
        rows, train, y, weight = split.parts[part], split.train, self.y, self.weight
        constant = np.average(y[train], weights=weight[train])
        squared = np.average((predictions[:, rows] - y[rows]) ** 2, weights=weight[rows], axis=1)
        columns = {
            "n": len(rows),
            "mse": squared / np.average((y[train] - constant) ** 2, weights=weight[train]),
            "rmse": np.sqrt(squared),
        }
        if self.loss.power:
            base = self.loss.mean_deviance(y[train], np.full(len(train), constant), weight[train])
            columns["deviance"] = [
                self.loss.mean_deviance(y[rows], y_pred[rows], weight[rows]) / base for y_pred in predictions
            ]
        if len(rows) > MOST_ROWS:
            draw = np.random.default_rng([self.random_state, split_number, 4])
            rows = draw.choice(rows, MOST_ROWS, replace=False)
        return columns | _dependence(
            np.asarray(self.objective.audit(predictions[:, rows], y[rows])),
            self.sensitive.iloc[rows],
            weight[rows] if self.has_weight else None,
            measures=self.measures,
            n_permutations=n_permutations,
            seeds=(self.random_state, _seed(self.random_state, split_number)),
        )


def _dependence(
    u: NDArray[np.float64],
    sensitive: pd.DataFrame,
    weight: NDArray[np.float64] | None,
    *,
    measures: Sequence[str],
    n_permutations: int,
    seeds: tuple[int, int],
) -> dict[str, NDArray[np.float64]]:
    """Each measure and its floor for K models, u (K, n): a column a measure and sensitive column."""
    columns = {}
    several = sensitive.shape[1] > 1
    for name in measures:
        measure = look_up(REGISTRY, name, option="measure")
        against = {f"{name}[{column}]" if several else name: [column] for column in sensitive.columns}
        if several and measure.multivariate:
            against[name] = list(sensitive.columns)
        for title, chosen in against.items():
            s = sensitive[chosen].to_numpy(dtype=float)
            v = np.broadcast_to(s, (len(u), *s.shape))
            given = {"sample_weight": weight} if measure.accepts_weights else {}
            columns[title] = measure_many(name, u, v, random_state=seeds[0], **given)
            columns[f"{title}_floor"] = columns[f"{title}_floor_q95"] = np.full(len(u), np.nan)
            if n_permutations:
                enough = max(FEWEST_PERMUTATIONS, ROWS_PERMUTED // len(s))
                floor = independence_floor(
                    name,
                    u,
                    v,
                    n_permutations=min(n_permutations, enough),
                    random_state=seeds[1],
                    **given,
                )
                columns[f"{title}_floor"], columns[f"{title}_floor_q95"] = floor.mean, floor.q95
    return columns


def of_sensitive(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """The frame as if `column` were the only sensitive one: its figures under the plain measures' names.

    A frame of one sensitive column comes back as it is.
    """
    marks = [f"[{column}]{end}" for end in ("", "_floor", "_floor_q95")]
    own = {name: name.replace(f"[{column}]", "") for name in frame.columns if name.endswith(tuple(marks))}
    if not own:
        return frame
    others = [name for name in frame.columns if name not in own and ("[" in name or name in own.values())]
    return frame.drop(columns=others).rename(columns=own)


def _seed(random_state: int, split: int) -> int:
    """A seed of its own for each split: its permutations are not those of the next."""
    return int(np.random.SeedSequence([random_state, split, 3]).generate_state(1)[0])
