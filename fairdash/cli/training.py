"""Commands ``sweep``, ``search`` and ``find-lam``, and the data options that they share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
from cyclopts import Parameter

from fairdash import api
from fairdash.cli import AsJson, Columns, Numbers, Seed, Words, print_result, rows, with_options
from fairdash.cli.measuring import note_policies
from fairdash.cli.reading import Marks, read_file
from fairdash.data.building import build_dataset
from fairdash.data.catalogue import load_dataset
from fairdash.data.dataset import Dataset
from fairdash.errors import DataError, Fix, OptionError, Problem
from fairdash.evaluation import SweepResult, summarise_splits, wide
from fairdash.tables.exposure import looks_like_total
from fairdash.tables.leak_candidates import find_suspects
from fairdash.tables.roles import Roles
from fairdash.tables.suggestion import NAMES_POLICIES, suggest_roles
from fairdash.training import search as searching
from fairdash.training.defaults import default_settings
from fairdash.training.lam_search import LamSearch
from fairdash.training.search import SearchResult, SettingsSearch
from fairdash.training.settings import TrainingSettings
from fairdash.training.split_kinds import SPLITS
from fairdash.utils.imports import need
from fairdash.utils.records import to_plain
from fairdash.utils.registry import get_entry
from fairdash.utils.text import visible

#: Values of --below-zero, with the kinds of fixes.
_BELOW_ZERO = {"as-they-are": "as_they_are", "floor": "floor", "drop": "drop_negative"}


@Parameter(name="*", group="Data")
@dataclass(frozen=True, kw_only=True)
class DataOptions:
    """A data set of the catalogue, or a file with the roles of its columns.

    Parameters
    ----------
    dataset
        Id in the catalogue: household, crime, motor, …
    file
        Table with a header, such as a CSV file.
    predict
        For a file: the column to predict.
    sensitive
        For a file: sensitive column; repeatable.
    exposure
        For a file: column of row weights (exposure).
    per_exposure
        Predict target ÷ exposure. By default, this is true for counts and totals.
    price
        For a file: column of an existing prediction.
    row_id
        For a file: column of row ids.
    group
        For a file: column with the group of each row, such as a policy number.
    time
        For a file: column with the time of each row, a number or a date.
    features
        For a file: feature columns; by default all columns that neither reveal the target nor identify
        policies.
    leave_out
        For a file: column to leave out of the features; repeatable.
    below_zero
        For a file: treatment of amounts below zero (recoveries). Use them unchanged, treat them as 0, or
        leave out their rows.
    sheet
        For a file: sheet of a workbook, or table of an R file or a SAS transport file.
    missing
        For a file: text that marks missing cells in addition to the usual marks, such as 999, or age=999 for
        a single column.
    one_spelling
        For a file: columns in which spellings of a level, such as male and Male, are replaced by the most
        common spelling.
    """

    dataset: str | None = None
    file: Path | None = None
    predict: str | None = None
    sensitive: Columns = ()
    exposure: str | None = None
    per_exposure: bool | None = None
    price: str | None = None
    row_id: str | None = None
    group: str | None = None
    time: str | None = None
    features: Annotated[Columns, Parameter(consume_multiple=1)] = ()
    leave_out: Columns = ()
    below_zero: Literal["as-they-are", "floor", "drop"] | None = None
    sheet: str | None = None
    missing: Marks = ()
    one_spelling: Columns = ()

    def load(self) -> Dataset:
        """Return the data set that the options name.

        Every column of a file without another role is a feature, unless it is known only with the target or
        identifies policies. The names of columns left out are printed on standard error.

        Raises
        ------
        OptionError
            The options name no data set, two data sets, a file without target or sensitive column, an unknown
            column, or roles for a data set of the catalogue, whose roles are fixed.
        DataError
            The roles don't fit the table.
        """
        if self.dataset is not None and self.file is None:
            return self._load_from_catalogue(self.dataset)
        if self.dataset is not None or self.file is None:
            raise OptionError.of("One table is needed", "Name the table with --dataset, or with --file.")
        if self.predict is None or not self.sensitive:
            raise OptionError.of(
                "A file needs a target and a sensitive column", "Add --predict and --sensitive."
            )
        frame, report = read_file(
            self.file, sheet=self.sheet, missing=self.missing, one_spelling=self.one_spelling
        )
        single = (self.predict, self.exposure, self.price, self.row_id, self.group, self.time)
        used = [*(column for column in single if column is not None), *self.sensitive, *self.leave_out]
        columns = {str(name): name for name in frame.columns}
        for column in (*used, *self.features):
            get_entry(columns, column, option="column")
        note_policies(
            frame, self.group, but=(self.predict, *self.sensitive, self.exposure, self.price, self.time)
        )
        rate = self.per_exposure
        if rate is None:
            rate = self.exposure is not None and looks_like_total(frame[self.predict])
        roles = Roles(
            target=self.predict,
            sensitive=self.sensitive,
            features=self.features or self._features(frame, [name for name in columns if name not in used]),
            weight=self.exposure,
            prediction=self.price,
            row_id=self.row_id,
            group=self.group,
            time=self.time,
            rate=rate,
        )
        try:
            return build_dataset(
                frame,
                roles,
                name=self.file.stem,
                fixes=() if self.below_zero is None else (Fix(_BELOW_ZERO[self.below_zero], self.predict),),
                units=report.units,
                lines=report.lines,
                notes=report.sentences(),
            )
        except DataError as error:
            raise DataError(*map(_with_option, error.problems)) from None

    def _load_from_catalogue(self, dataset: str) -> Dataset:
        names = [field.name for field in fields(self) if field.name != "dataset"]
        options = [f"--{name.replace('_', '-')}" for name in names if getattr(self, name) not in (None, ())]
        if options:
            raise OptionError.of(
                f"{', '.join(options)} applies to a file only: “{dataset}” has its own roles",
                "Name a file with --file, or leave this option out.",
            )
        return load_dataset(dataset)

    def _features(self, frame: pd.DataFrame, others: list[str]) -> tuple[str, ...]:
        target = str(self.predict)
        suggestion = suggest_roles(frame, target=target, exposure=self.exposure, prediction=self.price)
        not_used = {
            name: suggestion.left_out[name]
            for name in others
            if name in (*suggestion.notes_on_codes, suggestion.group)
            or suggestion.left_out.get(name) == NAMES_POLICIES
        }
        for name, text in not_used.items():
            _note(f"“{name}” is not used as a feature: {text}. To use it, name the features with --features.")
        features = tuple(name for name in others if name not in not_used)
        for suspect in find_suspects(frame, target, features, other_columns=self.sensitive, group=self.group):
            _note(f"“{suspect.column}” looks too good to be true: {suspect.sentence}.")
        return features


def _with_option(problem: Problem) -> Problem:
    """Add the command's option to the hint of a problem that a page solves with buttons."""
    if not any(fix.kind in _BELOW_ZERO.values() for fix in problem.fixes):
        return problem
    return replace(problem, hint=f"{problem.hint} Choose with --below-zero.")


@Parameter(name="*", group="Training")
@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Training options. The library chooses all options that you do not name.

    Parameters
    ----------
    objective
        demographic_parity or equalized_residuals.
    epochs
        Passes over the training rows.
    loss
        squared_error, poisson, tweedie or gamma; the default depends on the target.
    balance
        Make predictions add up to the target. By default, this is true with a log link.
    random_state
        Seed of all random draws.
    device
        auto, cpu, cuda or mps.
    """

    objective: str = "demographic_parity"
    epochs: int | None = None
    loss: str | None = None
    balance: bool | None = None
    random_state: Seed = 0
    device: str = "auto"

    def of(self, dataset: Dataset) -> dict[str, Any]:
        """Return the options as arguments for the library's functions."""
        settings: TrainingSettings = default_settings(dataset, loss=self.loss)
        if self.balance is not None:
            settings = replace(settings, balance=self.balance)
        if self.epochs is not None:
            warm_up = min(settings.warm_up_epochs, self.epochs // 4)
            settings = replace(settings, n_epochs=self.epochs, warm_up_epochs=warm_up)
        return {
            "dataset": dataset,
            "objective": self.objective,
            "settings": settings,
            "random_state": self.random_state,
            "device": self.device,
        }


_NO_DATA, _DEFAULT_TRAINING = DataOptions(), TrainingOptions()


def sweep(
    *,
    data: DataOptions = _NO_DATA,
    training: TrainingOptions = _DEFAULT_TRAINING,
    methods: Words = None,
    lams: Numbers = None,
    splits: int | None = None,
    validation: float | None = None,
    split: str | None = None,
    confirmation: float | None = None,
    measures: Words = None,
    tune: bool = True,
    tariff: bool | None = None,
    as_json: AsJson = False,
) -> None:
    """Train over a grid of λ and print the trade-off.

    Parameters
    ----------
    methods
        Methods, comma-separated; by default the methods that the app trains.
    lams
        Weights λ, comma-separated.
    splits
        Number of splits into training and test rows.
    validation
        Share of the non-test rows used for validation.
    split
        random, group or time; the default is group if there are groups, else random.
    confirmation
        Share of holdout rows, which are set aside to confirm the selected model.
    measures
        Measures of dependence, comma-separated.
    tune
        First tune learning rate and weight decay on validation rows.
    tariff
        Fit tariffs in addition to networks. By default, this is true with a log link.
    """
    need("torch")
    dataset = data.load()
    result = api.sweep(
        **training.of(dataset),
        split=split,
        confirmation=confirmation,
        tune=tune,
        tariff=tariff,
        progress=lambda report: _show(report.phase, report.fraction),
        **_named(methods=methods, lams=lams, n_splits=splits, validation_share=validation, measures=measures),
    )
    content = {
        "dataset": dataset.name,
        "target": dataset.label(dataset.roles.target),
        "sweep": to_plain(result.sweep),
        "device": result.device,
        "seconds": result.seconds,
        "notes": result.notes,
        "rows": rows(result.frame),
    }
    print_result(content, _table(result), as_json=as_json)


def _table(result: SweepResult) -> Iterator[str]:
    summary = summarise_splits(result.frames[result.objective])
    test = wide(summary[summary["part"] == "test"].drop(columns=["part", "se", "floor_q95"]))
    yield f"Test rows, {SPLITS[result.sweep.split].mean_of(result.sweep.n_splits)} ({result.device}):"
    yield from _lines(test)
    yield from result.notes


@with_options(SettingsSearch, only=("lam", "n_folds"))
def search(
    *,
    data: DataOptions = _NO_DATA,
    training: TrainingOptions = _DEFAULT_TRAINING,
    method: str | None = None,
    grid: str = "default",
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """Compare settings of the networks by cross-validation.

    Parameters
    ----------
    method
        Training method.
    grid
        Grid of settings: default or small.
    """
    need("torch")
    result = searching.search(
        **training.of(data.load()),
        **_named(method=method),
        **options,
        grid=grid,
        progress=partial(_show, "cross-validating"),
    )
    _print_search(result, {"best": to_plain(result.best)}, as_json=as_json)


@with_options(LamSearch, only=("n_folds", "refine"))
def find_lam(
    *,
    target: str,
    data: DataOptions = _NO_DATA,
    training: TrainingOptions = _DEFAULT_TRAINING,
    method: str | None = None,
    lams: Numbers = None,
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """Find the weight λ that meets a target.

    Parameters
    ----------
    target
        Condition, such as hgr_spline<=0.05, hgr_spline<=floor+0.02 (noise floor plus 0.02) or error<=+10%.
    method
        Training method.
    lams
        Weights λ to try, comma-separated. By default, a short pilot training finds eight weights.
    """
    need("torch")
    choice = api.find_lam(
        **training.of(data.load()),
        **_named(method=method, lams=lams),
        **options,
        target=target,
        progress=partial(_show, "cross-validating"),
    )
    _print_search(choice, {"lam": choice.lam, "reached": choice.reached}, as_json=as_json)


def _print_search(result: SearchResult, choice: dict[str, Any], *, as_json: bool) -> None:
    record = {"rule": result.rule, "device": result.device, "seconds": result.seconds, "notes": result.notes}
    lines = [f"Held-out rows ({result.device}):", *_lines(result.frame), result.rule, *result.notes]
    print_result(choice | record | {"rows": rows(result.frame)}, lines, as_json=as_json)


def _named(**options: Any) -> dict[str, Any]:
    """Return the options that the user named. The library chooses all others."""
    return {name: value for name, value in options.items() if value is not None}


def _lines(table: pd.DataFrame) -> list[str]:
    return str(table.to_string(index=False, float_format="{:.4g}".format)).split("\n")


def _note(text: str) -> None:
    print(visible(text), file=sys.stderr)


def _show(phase: str, share: float) -> None:
    """Show the current phase and the completed share of the work on one line of the terminal."""
    if sys.stderr.isatty():
        print(f"\r{phase}: {share:4.0%}", end="\n" if share >= 1 else "", file=sys.stderr, flush=True)
