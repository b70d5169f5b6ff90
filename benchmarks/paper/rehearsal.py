"""Rehearse the choice of models in Table 1 within training rows: ``python -m benchmarks.paper.rehearsal``.

A fifth of each split's training rows replaces the test rows, and the rest is used for training: λ is chosen
by cross-validation within the rest, as in :mod:`benchmarks.paper.choosing`, and the chosen model is scored on
the fifth. The split's test rows are not used. The study shows how many networks should predict, and by how
many standard errors the error should be below the paper's. Writes ``rehearsal_<dataset>``.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np
import pandas as pd

from benchmarks.paper import scoring
from benchmarks.paper.choosing import Trial, choose
from benchmarks.paper.frame import processor_seconds, result_of, say, write_result
from benchmarks.paper.table1 import N_SPLITS, candidates, candidates_of, options_of
from fairdash.data.catalogue import load_dataset
from fairdash.data.dataset import Dataset
from fairdash.lab.paper import COMMITTED, FAIRNESS, OBJECTIVES, row_of
from fairdash.training.splits import Split, random_splits

VALIDATION_SHARE = 0.2
MARGINS = (0.0, 0.25, 0.5)
#: Methods, and numbers of networks that predict.
TRIED = (("hgr_spline", 1), ("hgr_spline", 5))
RANDOM_STATE = 0


def rehearsed(
    dataset: Dataset, splits: list[Split], name: str, method: str, objective: str, n_networks: int
) -> pd.DataFrame:
    """Return one row per margin, as means over the splits.

    The columns are the error in cross-validation, the error on the rows that replace the test rows, and the
    published fairness columns on these rows.
    """
    paper, held_to = row_of(name, method, objective), row_of(name, "hgr_nn", objective)
    rows: dict[float, list[pd.Series]] = {margin: [] for margin in MARGINS}
    for j, split in enumerate(splits):
        trial = Trial(
            dataset=dataset,
            split=split,
            candidates=candidates_of(name, method, objective),
            objective=objective,
            n_folds=candidates()[name]["folds"],
            n_networks=n_networks,
            random_state=RANDOM_STATE + j,
        )
        frame = trial.compared()
        for margin in MARGINS:
            chosen, _ = choose(frame, method, paper, margin=margin)
            squared, u = trial.error_and_u(trial.trained(chosen), split.test)
            scores = scoring.paper_scoring(u[None], trial.s[split.test]).iloc[0]
            errors = {"lam": chosen["lam"], "cv_mse": chosen["mse"], "mse": squared.mean()}
            rows[margin].append(pd.concat([pd.Series(errors), scores]))
    about = {"objective": objective, "method": method, "networks": n_networks}
    found = []
    for margin, of_splits in rows.items():
        mean = pd.DataFrame(of_splits).mean()
        below = sum(round(mean[id], 3) <= held_to[id] for id in FAIRNESS)
        cells = below if round(mean["mse"], 3) <= held_to["mse"] else 0
        found.append(about | {"margin": margin, **mean, "paper_mse": held_to["mse"], "cells": cells})
    return pd.DataFrame(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="crime")
    parser.add_argument("--objectives", nargs="+", default=OBJECTIVES)
    parsed = parser.parse_args()
    name = parsed.dataset
    started = processor_seconds()
    dataset = load_dataset(name, **options_of(name))
    splits = [
        replace(split, test=split.validation, validation=np.empty(0, dtype=np.int64))
        for split in random_splits(
            dataset.n_rows, n_splits=N_SPLITS, random_state=RANDOM_STATE, validation_share=VALIDATION_SHARE
        )
    ]
    parts = []
    for objective in parsed.objectives:
        for method, n_networks in TRIED:
            parts.append(rehearsed(dataset, splits, name, method, objective, n_networks))
            say(parts[-1].to_string(index=False))
    result = result_of(
        f"rehearsal_{name}",
        f"python -m benchmarks.paper.rehearsal --dataset {name} --objectives {' '.join(parsed.objectives)}",
        {"tries": pd.concat(parts)},
        started=started,
        options={"dataset": name, "splits": N_SPLITS, "validation_share": VALIDATION_SHARE},
        seed=RANDOM_STATE,
    )
    print(write_result(result, COMMITTED))


if __name__ == "__main__":
    main()
