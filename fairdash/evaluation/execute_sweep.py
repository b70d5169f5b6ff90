"""Execution of a sweep: training, assessment under both objectives, blends and reference prices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash._version import versions
from fairdash.data.dataset import Dataset, draw_rows
from fairdash.dependence import REGISTRY
from fairdash.dependence.grouping import as_groups
from fairdash.evaluation.assess import DEFAULT_MEASURE, DEFAULT_MEASURES, N_PERMUTATIONS, assess_predictions
from fairdash.evaluation.result import ReferenceResult, SweepResult, gain_of_standard
from fairdash.evaluation.tradeoff_curve import PARTS, assess_curve
from fairdash.evaluation.work import piloted_method, work_of_plan
from fairdash.jobs.steps import Branch, Found, StepRunner, gather, independent, memoised, run_directly, within
from fairdash.tariff.path import MAX_FITTED_ROWS
from fairdash.tariff.plan import fit_path, lams_of_tariffs, repaired_prices, tariffs_of_plan
from fairdash.training.baselines import LINEAR, TREES, train_baselines
from fairdash.training.crossvalidation import LEARNING_RATE
from fairdash.training.device import TITLES
from fairdash.training.methods import FAIR_TARIFF, METHODS
from fairdash.training.models import TrainedModels
from fairdash.training.pilot import find_lams
from fairdash.training.references import DEFAULT_STRENGTHS
from fairdash.training.references.trained import train_references
from fairdash.training.settings import OBJECTIVES, weight_decay_of
from fairdash.training.split_kinds import check_groups
from fairdash.training.splits import Split, require_varied_target, undefined_in_words
from fairdash.training.sweep import Sweep, SweepProgress, train_sweep
from fairdash.utils.classes import attributes_of

#: Permutations for a noise floor in a preview; `SAMPLE_PERMUTATIONS` if the table has many rows or was slow
#: to read. With 19 permutations, a p-value of 5 % is just possible.
PREVIEW_PERMUTATIONS, SAMPLE_PERMUTATIONS = 39, 19
#: Measures in a preview with tariffs: few, because such a preview uses all rows.
QUICK_MEASURES = (DEFAULT_MEASURE, "fairquant")
#: Reference prices are computed for at most this number of rows, because they require five more models per
#: split.
MAX_ROWS_FOR_REFERENCES = 30_000

Array = NDArray[np.float64]
#: Function that is called with the current step and the completed share of the work.
Progress = Callable[[str, float], None]


def execute_sweep(
    dataset: Dataset,
    plan: Sweep,
    *,
    measures: Sequence[str] = DEFAULT_MEASURES,
    importance: bool = True,
    references: bool = True,
    is_preview: bool = False,
    share: float = 1.0,
    progress: Progress = lambda *_: None,
    on_curve: Callable[[pd.DataFrame], None] = lambda _: None,
    run_step: StepRunner = run_directly,
) -> SweepResult:
    """Execute the plan of a sweep, and return its result.

    Parameters
    ----------
    measures
        Ids in :data:`fairdash.dependence.REGISTRY`.
    importance
        Whether to compute the permutation importance of every feature in every model.
    references
        Whether to train reference prices, which use s, if the table is suitable.
    is_preview
        Whether to compute only results that take seconds: less precise noise floors, none for baselines, and
        no importance, references, tariffs or models for a confirmation.
    share
        Share of the rows to use, above 0 and at most 1; the rows are drawn at random.
    progress
        Function that is called with the current step and the completed share, and may raise
        :class:`fairdash.errors.Cancelled`.
    on_curve
        Function that is called with the values of every epoch; see
        :class:`fairdash.training.sweep.SweepProgress`.
    run_step
        Runner of the steps (:class:`fairdash.jobs.steps.StepRunner`), which take seconds on a small table.
    """
    rows, n_rows, fingerprint = None, dataset.n_rows, dataset.fingerprint
    if share < 1:
        # Holdout rows are never part of a sample.
        open_rows = np.setdiff1d(np.arange(n_rows), plan.set_aside(dataset))
        sample = draw_rows(dataset.take(open_rows), round(share * n_rows), random_state=plan.random_state)
        rows, plan = open_rows[sample], replace(plan, confirmation_share=0.0)
        dataset = dataset.take(rows)
    if is_preview and FAIR_TARIFF in plan.methods:
        measures = QUICK_MEASURES
    n_permutations = N_PERMUTATIONS
    if is_preview:
        is_small = rows is None and FAIR_TARIFF not in plan.methods
        n_permutations = PREVIEW_PERMUTATIONS if is_small else SAMPLE_PERMUTATIONS
    with_references = references and not is_preview and _has_references(dataset)
    work = work_of_plan(dataset, plan, n_permutations, is_preview=is_preview, references=with_references)
    parts = _Steps(
        dataset, plan, measures, is_preview=is_preview, progress=progress, done=work.done, run_step=run_step
    )
    require_varied_target(dataset.target, parts.splits)
    undefined = [
        note
        for name in ("test", "validation")
        if (of_splits := [split.parts[name] for split in parts.splits if name in split.parts])
        for note in undefined_in_words(dataset.sensitive, of_splits, text=f"{name} rows of {{}} splits")
    ]

    def on_training(fraction: SweepProgress) -> None:
        if fraction.curve is not None:
            on_curve(fraction.curve)
        action = "finding weight decay on validation rows"
        if fraction.phase != "tuning":
            action = f"training {METHODS[fraction.method].title} on {TITLES[fraction.device]}"
        progress(action, work.done(fraction.phase, fraction.fraction))

    def on_measuring(first: int, step: int, share: float) -> None:
        # Four steps: a frame of results and a path (trade-off curve), for each of the two objectives.
        progress("measuring", work.done("measuring", (first + step + share) / 4))

    def on_step(share: float) -> None:
        uses_all_rows = rows is None and n_rows <= MAX_FITTED_ROWS
        action = "fitting tariffs to all rows" if uses_all_rows else "fitting tariffs"
        progress(action, work.done("training", share))

    def on_pilot(action: str, fraction: float) -> None:
        progress(action, work.done("pilot", fraction))

    def train() -> TrainedModels:
        plan_used, confirms = planned.result(), not is_preview
        if has_tariffs:
            return fit_path(
                dataset, plan_used, parts.splits, confirms=confirms, on_step=on_step, run_step=run_step
            )
        return train_sweep(
            dataset,
            plan_used,
            importance=importance and not is_preview,
            confirms=confirms,
            brief=is_preview,
            progress=on_training,
            run_step=run_step,
        )

    # Models trained for one objective are assessed under both objectives.
    has_tariffs, objectives = FAIR_TARIFF in plan.methods, _objectives(plan)
    find_lams = partial(with_lams_found, dataset, plan, progress=on_pilot, run_step=run_step)
    planned = Branch(run_step, find_lams, "pilot")
    models = Branch(run_step, train, "tuning", "train", "set-aside", *(["tariffs"] if has_tariffs else []))
    baselines = Branch(
        run_step, lambda: parts.baselines(planned.result), "baselines", *([] if has_tariffs else ["tariffs"])
    )

    def assess(step: int, objective: str) -> tuple[pd.DataFrame, pd.DataFrame]:
        on_measured = partial(on_measuring, 2 * step)
        return parts.assess_models(models.result(), objective, n_permutations, on_measured)

    def assess_baselines(objective: str) -> pd.DataFrame:
        count = 0 if is_preview else n_permutations
        return parts.assess_baselines(*baselines.result(), objective=objective, n_permutations=count)

    tables = [Branch(run_step, partial(assess, *item), f"assess/{item[1]}") for item in enumerate(objectives)]
    baseline_tables = [
        Branch(run_step, partial(assess_baselines, name), f"assess-baselines/{name}") for name in objectives
    ]
    with_s = Branch(run_step, lambda: parts.references(parts=("test",)), "references", "assess/references")
    gather(planned, models, baselines, *tables, *baseline_tables, *([with_s] if with_references else []))
    plan, trained = planned.result(), replace(models.result(), notes=(*models.result().notes, *undefined))
    frames, paths = (
        {objective: branch.result()[k] for objective, branch in zip(objectives, tables, strict=True)}
        for k in range(2)
    )
    roles = dataset.roles
    named_columns = (roles.target, *roles.sensitive)
    return SweepResult(
        sweep=plan,
        frames=frames,
        paths=paths,
        target=dataset.target.to_numpy(dtype=float),
        sensitive=dataset.sensitive,
        weight=None if dataset.weight is None else dataset.weight.to_numpy(dtype=float),
        groups=as_groups(dataset.groups, dataset.n_rows),
        target_name=roles.target,
        units={column: dataset.units[column] for column in named_columns if column in dataset.units},
        names={column: dataset.names[column] for column in named_columns if column in dataset.names},
        references=with_s.result()[0] if with_references else None,
        price=with_s.result()[-1] if with_references else None,
        versions=versions(),
        baselines={name: branch.result() for name, branch in zip(objectives, baseline_tables, strict=True)},
        gain=gain_of_standard(dataset, trained, plan.settings.loss_function),
        evaluations={id: method_of for id in measures if (method_of := REGISTRY[id].recorded)},
        rows=rows,
        drawn_from=None if rows is None else n_rows,
        fingerprint=fingerprint,
        **vars(trained),
    )


def reference_prices(
    dataset: Dataset, plan: Sweep, *, measures: Sequence[str], strengths: Sequence[float]
) -> ReferenceResult:
    """Return reference prices for the splits of a plan, assessed on all parts."""
    check_groups(dataset)
    parts = _Steps(dataset, plan, measures)
    frame, predictions, members, price = parts.references(strengths)
    # Predictions for holdout rows are removed, so nobody can select a model by them.
    predictions[:, plan.set_aside(dataset)] = np.nan
    return ReferenceResult(frame, predictions, members, parts.splits, price)


def _has_references(dataset: Dataset) -> bool:
    return len(attributes_of(dataset.sensitive)) == 1 and dataset.n_rows <= MAX_ROWS_FOR_REFERENCES


def _objectives(plan: Sweep) -> list[str]:
    """Return the ids of both objectives; the training objective comes first."""
    return sorted(OBJECTIVES, key=lambda objective: objective != plan.objective)


def with_lams_found(
    dataset: Dataset,
    plan: Sweep,
    *,
    progress: Progress = lambda *_: None,
    run_step: StepRunner = run_directly,
) -> Sweep:
    """Return the plan; if it requests trial trainings, replace its weights λ by those that they select.

    Trial trainings use the first fair method on the first split. The number of weights stays the same.
    Without dependence to remove, the plan keeps its weights. `run_step` stores the step as ``"pilot"``.
    """
    method = piloted_method(plan)
    if method is None:
        return plan

    def find() -> Found:
        split, settings = plan.splits(dataset)[0], plan.settings
        progress(action := "finding the weights λ on validation rows", 0.0)
        if method == FAIR_TARIFF:
            return {"lams": lams_of_tariffs(dataset, plan, split)}
        if plan.tune:
            settings = replace(settings, lr=LEARNING_RATE, weight_decay=weight_decay_of(len(split.train)))
        lams = find_lams(
            dataset,
            split,
            settings,
            method=method,
            count=len(plan.lams),
            objective=plan.objective,
            random_state=plan.random_state,
            device=plan.device_for(dataset.n_rows).name,
            progress=partial(progress, action),
        )
        return {"lams": np.array(plan.lams if lams is None else lams)}

    return replace(plan, lams=tuple(run_step("pilot", find)["lams"].tolist()))


class _Steps:
    """Steps of a run; they can be computed separately and in any order."""

    def __init__(
        self,
        dataset: Dataset,
        plan: Sweep,
        measures: Sequence[str] = DEFAULT_MEASURES,
        *,
        is_preview: bool = False,
        progress: Progress = lambda *_: None,
        done: Callable[..., float] = lambda *_: 0.0,
        run_step: StepRunner = run_directly,
    ) -> None:
        self.dataset, self.plan, self.is_preview = dataset, plan, is_preview
        self.progress, self.done, self.run_step = progress, done, run_step
        omits_training = is_preview and FAIR_TARIFF in plan.methods
        #: Parts on which models are assessed. A preview of tariffs uses all rows, so it omits the training
        #: part to save time.
        self.parts = PARTS if omits_training else ("train", *PARTS)
        #: Options that all assessments share.
        self._options: dict[str, Any] = {
            "loss": plan.settings.loss_function,
            "measures": measures,
            "random_state": plan.random_state,
        }

    @cached_property
    def splits(self) -> tuple[Split, ...]:
        return memoised(self.run_step, "splits", lambda: self.plan.splits(self.dataset))

    def assess(self, members: pd.DataFrame, predictions: Array, **options: Any) -> pd.DataFrame:
        return assess_predictions(self.dataset, predictions, members, self.splits, **self._options, **options)

    def assess_models(
        self,
        models: TrainedModels,
        objective: str,
        n_permutations: int,
        progress: Callable[[int, float], None] = lambda *_: None,
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return results and trade-off curve of an objective; `progress` receives 0 or 1, and a share."""
        run_step = within(self.run_step, f"assess/{objective}")
        front = partial(
            self.assess,
            models.members,
            models.predictions,
            objective=objective,
            n_permutations=n_permutations,
            parts=self.parts,
            progress=partial(progress, 0),
            run_step=within(run_step, "front"),
        )
        frame = Branch(run_step, front, "front").result()
        path = assess_curve(
            self.dataset,
            models.predictions,
            frame,
            models.members,
            self.splits,
            objective=objective,
            progress=partial(progress, 1),
            run_step=within(run_step, "path"),
            **self._options,
        )
        return frame, path

    def assess_baselines(
        self, members: pd.DataFrame, predictions: Array, *, objective: str, n_permutations: int
    ) -> pd.DataFrame:
        """Return test results of baselines and validation results of tariffs for one objective."""
        run_step = within(self.run_step, f"assess-baselines/{objective}")

        def assess_all() -> pd.DataFrame:
            options: dict[str, Any] = {"parts": ("test",), "n_permutations": n_permutations}
            steps = within(run_step, "test")
            return self.assess(members, predictions, objective=objective, run_step=steps, **options)

        def assess_tariffs() -> pd.DataFrame:
            # A tariff is selected by its results on validation rows, like a network.
            options: dict[str, Any] = {"parts": ("validation",), "n_permutations": 0, "objective": objective}
            rows = members[fair].reset_index(drop=True)
            return self.assess(rows, predictions[fair], run_step=within(run_step, "validation"), **options)

        fair = (members["method"] == FAIR_TARIFF).to_numpy()
        tasks = {"test": assess_all}
        if fair.any() and all(len(split.validation) for split in self.splits):
            tasks["validation"] = assess_tariffs
        return pd.concat(independent(run_step, tasks), ignore_index=True)

    def baselines(self, find_plan: Callable[[], Sweep]) -> tuple[pd.DataFrame, Array]:
        """Return the models and predictions of the baselines and of requested tariffs, for `find_plan()`."""
        plan, is_tariffs = self.plan, FAIR_TARIFF in self.plan.methods

        def train_all() -> tuple[pd.DataFrame, Array]:
            return train_baselines(
                self.dataset,
                self.splits,
                loss=plan.settings.loss_function,
                random_state=plan.random_state,
                leave_out=() if not self.is_preview else (LINEAR, TREES) if is_tariffs else (TREES,),
                run_step=self.run_step,
            )

        def tariffs() -> tuple[pd.DataFrame, Array]:
            plan = find_plan()
            lams: Sequence[float] = plan.lams
            if plan.find_lams:
                find = partial(lams_of_tariffs, self.dataset, plan, self.splits[0])
                lams = self.run_step("tariffs/pilot", lambda: {"lams": find()})["lams"].tolist()
            tariff_path = tariffs_of_plan(
                self.dataset,
                plan,
                self.splits,
                lams=tuple(dict.fromkeys((0.0, *lams))),
                on_step=lambda share: self.progress("fitting tariffs", self.done("beside", share)),
                run_step=within(self.run_step, "tariffs"),
            )
            return tariff_path.members, tariff_path.predictions

        tasks: dict[str, Callable[[], tuple[pd.DataFrame, Array]]] = {"baselines": train_all}
        if not self.is_preview and not is_tariffs and plan.tariff:
            tasks["tariffs"] = tariffs
        (members, predictions), *other_results = independent(self.run_step, tasks)
        if not other_results:
            return members, predictions
        ((fair_members, premiums),) = other_results
        members = pd.concat([members, fair_members[list(members.columns)]], ignore_index=True)
        return members, np.concatenate([predictions, premiums])

    def references(
        self, strengths: Sequence[float] = DEFAULT_STRENGTHS, **options: Any
    ) -> tuple[pd.DataFrame, Array, pd.DataFrame, Array]:
        """Return results, predictions and models of reference prices, and the price of independence."""

        def on_step(third: int, share: float = 0.0) -> None:
            action = "training references that use the sensitive attribute"
            self.progress(action, self.done("references", (third + share) / 3))

        on_step(0)
        run_step = within(self.run_step, "references")
        models_branch = Branch(
            run_step,
            lambda: train_references(
                self.dataset,
                self.splits,
                settings=self.plan.settings,
                strengths=strengths,
                random_state=self.plan.random_state,
                device=self.plan.device_for(self.dataset.n_rows).name,
                on_step=partial(on_step, 0),
                run_step=run_step,
            ),
            "tuning", "base", "folds", "premium",
        )  # fmt: skip
        repaired = Branch(
            run_step,
            lambda: repaired_prices(
                self.dataset,
                self.splits,
                loss=self.plan.settings.loss_function,
                strengths=strengths,
                random_state=self.plan.random_state,
                on_step=partial(on_step, 1),
                run_step=run_step,
            ),
            "repair",
        )
        (members, predictions, price), (of_repair, prices) = gather(models_branch, repaired)
        members = pd.concat([members, of_repair], ignore_index=True)
        predictions = np.concatenate([predictions, prices])
        frame = self.assess(
            members,
            predictions,
            objective="demographic_parity",
            progress=partial(on_step, 2),
            run_step=within(self.run_step, "assess/references"),
            **options,
        )
        return frame, predictions, members, price
