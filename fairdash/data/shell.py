"""The data of a command: a data set of the catalogue, or a file with the roles of its columns."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fairdash.errors import DataError, Fix, OptionError, Problem
from fairdash.utils.registry import get_entry
from fairdash.utils.text import visible

if TYPE_CHECKING:
    import pandas as pd

    from fairdash.data.dataset import Dataset

#: Options that say something of a file's columns.
_OF_A_FILE = (
    "predict",
    "sensitive",
    "exposure",
    "per_exposure",
    "price",
    "row_id",
    "group",
    "time",
    "features",
    "leave_out",
    "below_zero",
)

#: What can be said of amounts below zero, and the fix that it is.
_BELOW_ZERO = {"as-they-are": "as_they_are", "floor": "floor", "drop": "drop_negative"}


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Give a command the options that name its data."""
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--dataset", help="id in the catalogue: household, crime, motor, …")
    which.add_argument("--file", type=Path, help="a table with a header, such as a CSV file")
    parser.add_argument("--predict", default=None, help="of a file: column to predict")
    parser.add_argument(
        "--sensitive",
        action="append",
        default=None,
        help="of a file: column that must not matter; may come again",
    )
    parser.add_argument(
        "--features",
        nargs="+",
        default=None,
        metavar="COLUMN",
        help="of a file: columns that the model may see; by default all without another role, but for those "
        "that give the target away or name policies, which are said",
    )
    parser.add_argument("--exposure", default=None, help="of a file: column that says how much a row counts")
    parser.add_argument(
        "--per-exposure",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="predict target ÷ exposure; by default for counts and sums",
    )
    parser.add_argument(
        "--below-zero",
        choices=list(_BELOW_ZERO),
        default=None,
        help="of a file whose target is divided by the exposure: what to do about amounts below zero, "
        "such as recoveries: use them as they are, count them as 0 (floor), or leave these rows out (drop)",
    )
    parser.add_argument("--price", default=None, help="of a file: a prediction that is there already")
    parser.add_argument("--row-id", default=None, help="of a file: column that names the rows")
    parser.add_argument("--group", default=None, help="of a file: what rows have in common, such as a policy")
    parser.add_argument("--time", default=None, help="of a file: when a row was, a number or a date")
    parser.add_argument(
        "--leave-out",
        action="append",
        default=[],
        metavar="COLUMN",
        help="of a file: no feature",
    )


def dataset_of(options: argparse.Namespace) -> Dataset:
    """The data set that the options name.

    Every column of a file without another role is a feature, unless it is known only with the target or names
    policies; what is left out for that is said on standard error.

    Raises
    ------
    OptionError
        A file without target or sensitive column, a column that is not in it, or roles of a data set of the
        catalogue, which has its own.
    DataError
        The roles don't fit the table.
    """
    from fairdash.data.building import build_dataset
    from fairdash.data.catalogue import load_dataset
    from fairdash.data.rate import looks_like_total
    from fairdash.data.readers.reading import read_table
    from fairdash.data.roles import Roles

    if options.dataset is not None:
        given = [each for each in _OF_A_FILE if getattr(options, each) not in (None, [])]
        if given:
            raise OptionError.of(
                f"{', '.join('--' + each.replace('_', '-') for each in given)} says something of a file, and "
                f"“{options.dataset}” has its own roles",
                "Name a file with --file, or leave it out.",
            )
        return load_dataset(options.dataset)
    if options.predict is None or options.sensitive is None:
        raise OptionError.of(
            "A file needs to be told which column is predicted and which must not matter",
            "Add --predict and --sensitive.",
        )
    frame, report = read_table(options.file)
    columns = {str(name): name for name in frame.columns}
    single = {
        "weight": options.exposure,
        "prediction": options.price,
        "row_id": options.row_id,
        "group": options.group,
        "time": options.time,
    }
    others = [each for each in single.values() if each is not None]
    named = [options.predict, *options.sensitive, *others, *options.leave_out]
    for each in (*named, *(options.features or ())):
        get_entry(columns, each, option="column")
    roles = Roles(
        target=options.predict,
        sensitive=tuple(options.sensitive),
        features=_features(frame, options, [name for name in columns if name not in named]),
        **single,
    )
    rate = options.per_exposure
    if rate is None:
        rate = options.exposure is not None and looks_like_total(frame[options.predict])
    fixes = () if options.below_zero is None else (Fix(_BELOW_ZERO[options.below_zero], options.predict),)
    try:
        return build_dataset(
            frame,
            replace(roles, rate=rate),
            name=options.file.stem,
            fixes=fixes,
            units=report.units,
            lines=report.lines,
            notes=report.sentences(),
        )
    except DataError as error:
        raise DataError(*map(_with_option, error.problems)) from None


def _with_option(problem: Problem) -> Problem:
    """Name the option by which a command line answers what a page asks with buttons."""
    if not any(fix.kind in _BELOW_ZERO.values() for fix in problem.fixes):
        return problem
    return replace(problem, hint=f"{problem.hint} Say which with --below-zero.")


def _features(frame: pd.DataFrame, options: argparse.Namespace, others: list[str]) -> tuple[str, ...]:
    from fairdash.data.suggestion import NAMES_POLICIES, suggest_roles
    from fairdash.data.suspects import find_suspects

    if options.features is not None:
        return tuple(options.features)
    given = suggest_roles(frame, target=options.predict, exposure=options.exposure)
    out = {
        name: given.left_out[name]
        for name in others
        if name in given.to_be_said or given.left_out.get(name) == NAMES_POLICIES
    }
    for name, why in out.items():
        print(visible(f"“{name}” is no feature: {why}. Name --features to decide yourself."), file=sys.stderr)
    features = tuple(name for name in others if name not in out)
    for each in find_suspects(frame, options.predict, features, beside=options.sensitive):
        print(visible(f"“{each.column}” looks too good to be true: {each.sentence}."), file=sys.stderr)
    return features
