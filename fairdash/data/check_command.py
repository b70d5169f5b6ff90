"""The command ``check``: does a column of a file give the target away? Its exit status says so."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from fairdash.utils.registry import get_entry
from fairdash.utils.text import visible


def add_check_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Give the command line its verb ``check``."""
    parser = commands.add_parser(
        "check",
        help="look for columns of a file that give the target away",
        epilog="Exit status: 0 none for certain, 1 a column gives the target away, 2 bad input.",
    )
    parser.add_argument("file", type=Path, help="a table with a header, such as a CSV file")
    parser.add_argument("--target", required=True, help="column to predict")
    parser.add_argument(
        "--sensitive", action="append", default=[], help="column that must not matter; may come again"
    )
    parser.add_argument("--exposure", default=None, help="column that says how much a row counts")
    parser.add_argument("--price", default=None, help="a prediction that is there already")
    parser.add_argument("--json", action="store_true", help="print all figures for a program to read")
    parser.set_defaults(command=check)


def check(options: argparse.Namespace) -> int:
    """Check the file that the options name, and print what was found."""
    from fairdash.data.leak_check import check_data
    from fairdash.data.readers.reading import read_table

    frame, _ = read_table(options.file)
    columns = {str(name): name for name in frame.columns}
    single = [each for each in (options.exposure, options.price) if each is not None]
    for each in (options.target, *options.sensitive, *single):
        get_entry(columns, each, option="column")
    found = check_data(
        frame,
        target=options.target,
        sensitive=options.sensitive,
        exposure=options.exposure,
        price=options.price,
    )
    if options.json:
        print(json.dumps(asdict(found) | {"certain": found.certain, "suspect": found.suspect}, indent=2))
    else:
        print(visible("\n".join(found.sentences())))
    return 1 if found.certain else 0
