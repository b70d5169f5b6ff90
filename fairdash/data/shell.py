"""The data of a command: a data set of the catalogue, or a file with the roles of its columns."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fairdash.errors import OptionError
from fairdash.registry import get_entry

if TYPE_CHECKING:
    from fairdash.data.dataset import Dataset


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Give a command the options that name its data."""
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--dataset", help="id in the catalogue: household, crime, motor, …")
    which.add_argument("--file", type=Path, help="a table with a header, such as a CSV file")
    parser.add_argument("--predict", default=None, help="of a file: column to predict")
    parser.add_argument("--sensitive", default=None, help="of a file: column that must not matter")
    parser.add_argument("--exposure", default=None, help="of a file: column that says how much a row counts")
    parser.add_argument(
        "--per-exposure",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="predict target ÷ exposure; by default for counts and sums",
    )


def dataset_of(options: argparse.Namespace) -> Dataset:
    """The data set that the options name; every column of a file without another role is a feature.

    Raises
    ------
    OptionError
        A file without target or sensitive column, or a column that is not in it.
    DataError
        The roles don't fit the table.
    """
    from fairdash.data.building import build_dataset
    from fairdash.data.catalogue import load_dataset
    from fairdash.data.rate import looks_like_total
    from fairdash.data.readers.reading import read_table
    from fairdash.data.roles import Roles

    if options.dataset is not None:
        return load_dataset(options.dataset)
    if options.predict is None or options.sensitive is None:
        raise OptionError.of(
            "A file needs to be told which column is predicted and which must not matter",
            "Add --predict and --sensitive.",
        )
    frame, report = read_table(options.file)
    columns = {str(name): name for name in frame.columns}
    named = [each for each in (options.predict, options.sensitive, options.exposure) if each is not None]
    for each in named:
        get_entry(columns, each, option="column")
    roles = Roles(
        target=options.predict,
        sensitive=(options.sensitive,),
        features=tuple(name for name in columns if name not in named),
        weight=options.exposure,
    )
    rate = options.per_exposure
    if rate is None:
        rate = options.exposure is not None and looks_like_total(frame[options.predict])
    return build_dataset(
        frame, replace(roles, rate=rate), name=options.file.stem, lines=report.lines, notes=report.sentences()
    )
