"""Table 1: methods × objectives on one data set, with 80/20 splits, scored in both ways.

For each method, objective and split, λ is chosen by cross-validation within the split's training rows: the
fairest of all models whose held-out error is at most that in the paper. The models are then trained on all
training rows of the split, and scored on its test rows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.paper import scoring
from benchmarks.paper.choosing import Trial, choose
from benchmarks.paper.frame import processor_seconds, result_of, say, stacked, tables_of_parts
from benchmarks.paper.judging import QUICK
from fairdash.data.catalogue import load_dataset
from fairdash.data.dataset import Dataset
from fairdash.errors import OptionError
from fairdash.lab.paper import METHODS, OBJECTIVES, STANDS_FOR, StudyResult, row_of
from fairdash.training.methods import METHODS as ALL_METHODS
from fairdash.training.settings import OBJECTIVES as ALL_OBJECTIVES
from fairdash.training.settings import StackedModel, TrainingSettings
from fairdash.training.splits import Split, random_splits
from fairdash.utils.records import from_plain, to_plain
from fairdash.utils.registry import get_entry
from fairdash.utils.seeds import Stream, rng_of

Array = NDArray[np.float64]

#: The paper's rows, and fairdash's default method, which must meet the error of the paper's Fair HGR NN.
COMPARED = (*METHODS, "hgr_spline")
#: Candidates for each data set.
CANDIDATES = Path(__file__).parent / "candidates.json"
#: Number of splits, unless a data set has another number.
N_SPLITS = 5
#: Number of rows of the motor table in the paper, and number of its test rows.
MOTOR_ROWS = 36_311
MOTOR_TEST_ROWS = 7_262


@dataclass(frozen=True, kw_only=True)
class Table1Plan:
    """Plan for one data set.

    Parameters
    ----------
    dataset
        ``"crime"``, ``"motor"``, ``"census_county"`` or ``"census"``.
    all_rows
        Use all 100,021 motor policies instead of 36,311 drawn at random, the paper's number. Fairness columns
        are still measured on as many random test rows as with 36,311 policies, because the value of an
        estimator for independent data depends on the number of rows.
    methods, objectives
        Rows of the table to compute; without methods, all methods of the data set.
    n_permutations
        Permutations for each floor; None for a number that depends on the rows of the data set.
    random_state
        Seed of all random numbers.
    """

    dataset: str
    all_rows: bool = False
    methods: tuple[str, ...] = ()
    objectives: tuple[str, ...] = OBJECTIVES
    n_permutations: int | None = None
    random_state: int = 0

    def __post_init__(self) -> None:
        if self.all_rows and "all_rows" not in self.tried:
            raise OptionError.of(
                f"“{self.dataset}” has all its rows in the table already",
                "Leave the option out; it is for the motor policies.",
                column="all_rows",
            )
        if not self.methods:
            besides = self.tried.get("methods_besides", ())
            object.__setattr__(self, "methods", (*COMPARED, *besides))
        for method in self.methods:
            get_entry(ALL_METHODS, method, option="method")
        for objective in self.objectives:
            get_entry(ALL_OBJECTIVES, objective, option="objective")

    @property
    def tried(self) -> dict[str, Any]:
        """Candidates for the data set."""
        found: dict[str, Any] = get_entry(candidates(), self.dataset, option="dataset")
        return found

    @property
    def n_splits(self) -> int:
        """Number of splits over which the table of the data set averages."""
        return int(self.tried.get("splits", N_SPLITS))

    @property
    def permutations(self) -> int:
        """Number of permutations for each floor."""
        return int(self.tried["n_permutations"]) if self.n_permutations is None else self.n_permutations

    @property
    def study(self) -> str:
        """Name of the result's folder."""
        return f"table1_{self.dataset}" + ("_all" if self.all_rows else "")

    @property
    def command(self) -> str:
        return f"python -m fairdash reproduce table1 --dataset {self.dataset}" + (
            " --all-rows" if self.all_rows else ""
        )


def candidates() -> dict[str, Any]:
    """Candidates for each data set, from the file next to this one."""
    found: dict[str, Any] = json.loads(CANDIDATES.read_text(encoding="utf-8"))
    found.pop("about")
    return found


def base_settings(tried: dict[str, Any], method: str) -> TrainingSettings:
    """Settings of a method before any search."""
    adversary = {"adversary_steps": tried["adversary_steps"].get(method, 1), "adversary_schedule": "constant"}
    return from_plain(TrainingSettings, tried["base"] | adversary)


def candidates_of(
    dataset: str, method: str, objective: str, *, all_rows: bool = False
) -> tuple[StackedModel, ...]:
    """Candidates for a method: one model per λ, with the settings that a search found.

    With `all_rows` there are fewer epochs, so that a model takes about as many steps as with the sample.
    """
    tried = get_entry(candidates(), dataset, option="dataset")
    searched = tried["settings"][method][objective] if "settings" in tried else {}
    fewer_epochs = tried["all_rows"] if all_rows else {}
    settings = from_plain(TrainingSettings, to_plain(base_settings(tried, method)) | searched | fewer_epochs)
    lams = (0.0,) if method == "standard" else tried["lams"]
    return tuple(StackedModel(method, lam, settings) for lam in lams)


def options_of(dataset: str, *, all_rows: bool = False) -> dict[str, Any]:
    """Options of the data set itself."""
    return {"n": MOTOR_ROWS} if dataset == "motor" and not all_rows else {}


def reproduce_table1(plan: Table1Plan, *, processes: int = 1) -> StudyResult:
    """Choose, train and score the models.

    Parameters
    ----------
    processes
        2 to compute both objectives at once, which does not affect the values.

    Returns
    -------
    StudyResult
        ``splits``: one row per method, objective and split, with ``lam``, ``mse``, ``constant`` (the error of
        a constant prediction on the same rows) and for each fairness column ``<id>_paper`` (as published) and
        ``<id>_right``; ``floors``: the same columns with the suffixes ``_floor`` and ``_floor_q95``, as means
        over the splits, one row per method and objective; ``choices``: the chosen model of each split and its
        results on held-out rows; ``validation``: all candidates.
    """
    started = processor_seconds()
    options = options_of(plan.dataset, all_rows=plan.all_rows)
    dataset = load_dataset(plan.dataset, **options)
    make = partial(_objective, dataset, plan)
    tables = tables_of_parts(make, plan.objectives, processes=processes)
    tried = plan.tried
    options |= {
        "rows": dataset.n_rows,
        "features": dataset.features.shape[1],
        "splits": plan.n_splits,
        **{name: tried[name] for name in ("folds", "networks", "margin")},
        "n_permutations": plan.permutations,
    }
    return result_of(
        plan.study,
        plan.command,
        tables,
        started=started,
        options={"dataset": plan.dataset, **options},
        seed=plan.random_state,
        notes=_notes(plan, dataset),
    )


def _objective(dataset: Dataset, plan: Table1Plan, objective: str) -> dict[str, pd.DataFrame]:
    """All methods of one objective."""
    splits = random_splits(dataset.n_rows, n_splits=plan.n_splits, random_state=plan.random_state)
    parts = []
    neural: dict[int, pd.DataFrame] = {}
    for method in plan.methods:
        say(f"{ALL_OBJECTIVES[objective].title}, {ALL_METHODS[method].title}")
        paper = row_of(plan.dataset, method, objective)
        candidates = candidates_of(plan.dataset, method, objective, all_rows=plan.all_rows)
        scores, floors, choices, tried = [], [], [], []
        for j, split in enumerate(splits):
            trial = Trial(
                dataset=dataset,
                split=split,
                candidates=candidates,
                objective=objective,
                n_folds=plan.tried["folds"],
                n_networks=plan.tried["networks"].get(method, 1),
                random_state=plan.random_state + j,
            )
            frame = trial.compared()
            margin = plan.tried["margin"].get(objective, 0.0)
            chosen, reached = choose(frame, method, paper, margin=margin)
            own, beside = _tested(trial, plan, j, trial.trained(chosen), neural)
            scores.append(pd.concat([pd.DataFrame({"split": [j], "lam": chosen["lam"]}), own], axis=1))
            floors.append(beside)
            choices.append({"paper_mse": paper["mse"], "split": j, **_choice(trial, chosen, reached)})
            tried.append(frame[frame["blend"] == 0])
        made = {
            "splits": pd.concat(scores, ignore_index=True),
            "floors": pd.concat(floors).mean().to_frame().T,
            "choices": pd.DataFrame(choices),
            "validation": _means_of_tries(pd.concat(tried), candidates),
        }
        key = pd.DataFrame({"method": [method], "objective": [objective]})
        parts.append({name: key.merge(table, how="cross") for name, table in made.items()})
    return stacked(parts)


def _tested(
    trial: Trial, plan: Table1Plan, j: int, y_pred: Array, neural: dict[int, pd.DataFrame]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both scores of a choice on the test rows of split `j`, and its floors, one row each.

    The networks use ranks or standardised values, so their floors hardly depend on the model. The floors of
    the first method on each split are therefore stored in `neural` and used for the whole objective, which
    halves the time.
    """
    y, split = trial.dataset.target.to_numpy(dtype=float), trial.split
    squared, _ = trial.error_and_u(y_pred, split.test)
    measured = _measured_rows(split, plan, j)
    u, s, seed = trial.error_and_u(y_pred, measured)[1][None], trial.s[measured], plan.random_state
    own = pd.DataFrame(
        {
            "mse": [squared.mean()],
            # Error of predicting the mean of the training rows for every row; it is 1 on the training rows.
            "constant": np.mean((y[split.test] - y[split.train].mean()) ** 2) / y[split.train].var(),
            "n_test": len(split.test),
            "n_train": len(split.train),
        }
    )
    paper = scoring.paper_scoring(u, s, random_state=seed).add_suffix("_paper")
    right = scoring.corrected_scoring(u, s, random_state=seed).add_suffix("_right")
    draws = {"n_permutations": plan.permutations, "random_state": seed + j}
    if j not in neural:
        neural[j] = scoring.floors(u, s, scoring.NEURAL, **draws)
    floors = pd.concat([scoring.floors(u, s, QUICK, **draws), neural[j]], axis=1)
    return pd.concat([own, paper, right], axis=1), floors


def _measured_rows(split: Split, plan: Table1Plan, j: int) -> NDArray[np.int64]:
    """Test rows of split `j` on which the fairness columns are measured."""
    if not plan.all_rows:
        return split.test
    rng = rng_of(Stream.STUDY_ROWS, plan.random_state, j)
    return np.sort(rng.choice(split.test, MOTOR_TEST_ROWS, replace=False))


def _choice(trial: Trial, chosen: pd.Series, reached: bool) -> dict[str, object]:
    low, high = (trial.candidates[int(chosen[end])] for end in ("low", "high"))
    return {
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


def _means_of_tries(tried: pd.DataFrame, candidates: Sequence[StackedModel]) -> pd.DataFrame:
    """Every trained candidate, as means over the splits."""
    table = tried.groupby("low")[["lam", "mse", *QUICK, "diverged"]].mean()
    for place, name in enumerate(("batch_size", "weight_decay"), 1):
        table.insert(place, name, [getattr(each.settings, name) for each in candidates])
    return table.assign(diverged=table["diverged"] > 0).rename_axis("candidate").reset_index()


def _notes(plan: Table1Plan, dataset: Dataset) -> tuple[str, ...]:
    tried = plan.tried
    notes = [
        "The same models are scored in both ways; “as the paper” concerns the scoring alone.",
        f"λ is chosen for each split by {tried['folds']}-fold cross-validation within its own training rows; "
        "its test rows take no part.",
        "In cross-validation a model takes as many steps as the one that is tested: at the same number of "
        "epochs more rows would mean more steps, and a fairer, less accurate model than the one chosen.",
    ]
    if plan.all_rows:
        notes.append(
            f"Fairness columns are measured on {MOTOR_TEST_ROWS:,} test rows of each split, drawn at "
            "random: as many as a test part of the paper's number of rows has, since floors depend on the "
            "number. Errors are of all test rows. Models take about as many steps as with the paper's number "
            "of rows."
        )
    if "settings" in tried:
        notes.append(
            "Networks, dropout, learning rate and weight decay were searched once for each method and "
            f"objective, within the rows that are test rows in none of the first {N_SPLITS} splits."
        )
    for method, count in tried["networks"].items():
        notes.append(
            f"{ALL_METHODS[method].title} predicts with the mean of {count} networks that differ in their "
            "initial weights; the paper's methods with one, as in the paper."
        )
    for objective, margin in tried["margin"].items():
        notes.append(
            f"{ALL_OBJECTIVES[objective].title}: λ is chosen so that the cross-validated error keeps "
            f"{margin:g} of its standard errors below the paper's."
        )
    notes += [*tried.get("notes", ()), *dataset.notes]
    if plan.dataset in STANDS_FOR:
        notes.append(
            f"Stands in for the paper's {STANDS_FOR[plan.dataset]} data, which is by tract and has 72,727 "
            "complete rows: other rows, other figures."
        )
    if plan.dataset == "motor":
        those = "all policies of the one that has"
        drawn = f"{MOTOR_ROWS:,} policies of the one that has, drawn at random"
        notes.append(
            "The paper's 36,311 rows are the game's other table, which has no claims; these are "
            f"{those if plan.all_rows else drawn}."
        )
    return tuple(notes)
