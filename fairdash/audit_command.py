"""The command ``audit``: does a file's price follow a sensitive attribute? Its exit status is the verdict."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairdash.auditing.result import AuditResult

#: Exit status by verdict; 2 is an input that can't be used.
STATUS = {"below": 0, "above": 1, "undecided": 3}


def add_audit_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Give the command line its verb ``audit``."""
    parser = commands.add_parser(
        "audit",
        help="audit a price that exists against a sensitive column of its table",
        epilog="Exit status: 0 shown below the gap allowed, 1 shown above, 3 not decided, 2 bad input.",
    )
    parser.add_argument("file", type=Path, help="a table with a header, such as a CSV or XLSX file")
    parser.add_argument("--price", required=True, help="column of the price, per unit of exposure")
    parser.add_argument("--sensitive", required=True, help="column that the price must not follow")
    parser.add_argument("--exposure", default=None, help="column that says how much a row counts")
    parser.add_argument("--outcome", default=None, help="column of claims or cost, per unit of exposure")
    parser.add_argument(
        "--control",
        action="append",
        default=[],
        metavar="COLUMN",
        help="a factor that is legitimate; may come again",
    )
    parser.add_argument("--expected-cost", default=None, help="column of your own expected cost")
    parser.add_argument("--candidate", default=None, help="column of a second price")
    parser.add_argument("--group", default=None, help="column of what rows share, such as a policy")
    parser.add_argument(
        "--total",
        action="append",
        default=[],
        metavar="COLUMN",
        help="one of these that is a sum over the exposure, and is divided by it; may come again",
    )
    parser.add_argument(
        "--feature",
        action="append",
        default=None,
        metavar="COLUMN",
        help="what the price may be made of, by default every column without another role; may come again",
    )
    parser.add_argument(
        "--criterion",
        default="independence",
        help="the primary one: independence, conditional_independence, sufficiency or equalized_residuals",
    )
    parser.add_argument(
        "--max-gap", type=_share, default=0.05, help="largest gap allowed, of the mean price: 5%% or 0.05"
    )
    parser.add_argument(
        "--question", type=int, action="append", default=None, help="answer these alone; may come again"
    )
    parser.add_argument("--random-state", type=int, default=0)
    parser.add_argument("--out", type=Path, default=None, help="folder, or .zip, for the answers and tables")
    parser.add_argument("--json", action="store_true", help="print all figures for a program to read")
    parser.set_defaults(command=_audit)


def _share(text: str) -> float:
    text = text.strip()
    return float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)


def _audit(options: argparse.Namespace) -> int:
    from fairdash.auditing.audit import audit
    from fairdash.data.readers.reading import read_table

    frame, _ = read_table(options.file)
    result = audit(
        frame,
        price=options.price,
        sensitive=options.sensitive,
        exposure=options.exposure,
        outcome=options.outcome,
        controls=options.control,
        criterion=options.criterion,
        expected_cost=options.expected_cost,
        candidate=options.candidate,
        groups=options.group,
        max_gap=options.max_gap,
        questions="all" if options.question is None else options.question,
        totals=options.total,
        features=options.feature,
        random_state=options.random_state,
    )
    if options.out is not None:
        result.save(options.out)
    print(json.dumps(result.to_dict(), indent=2, allow_nan=False) if options.json else _as_text(result))
    return STATUS[result.verdict]


def _as_text(result: AuditResult) -> str:
    lines = [f"{each.question}. {each.title} {each.sentence}" for each in result.answers]
    table = result.verdicts.to_string(index=False, float_format="{:.3g}".format)
    return "\n".join([*lines, "", "As shares of the mean price:", table, *result.notes])
