"""The command ``audit``: does a file's price follow a sensitive attribute? Its exit status is the verdict."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairdash.errors import OptionError
from fairdash.utils.text import visible

if TYPE_CHECKING:
    import pandas as pd

    from fairdash.auditing.evidence import AuditResult
    from fairdash.auditing.plan import AuditPlan

#: Exit status by verdict; 2 is an input that can't be used.
STATUS = {"below": 0, "above": 1, "undecided": 3}


def add_audit_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Give the command line its verb ``audit``."""
    parser = commands.add_parser(
        "audit",
        help="audit a price that exists against a sensitive column of its table",
        epilog="Exit status: 0 shown below the gap allowed, 1 shown above, 3 not decided, 2 bad input.",
    )
    parser.add_argument(
        "file",
        type=Path,
        nargs="?",
        default=None,
        help="a table with a header, such as a CSV or XLSX file; none for the plan of a built-in data set",
    )
    parser.add_argument(
        "--plan",
        type=Path,
        default=None,
        help="plan.json of an audit's evidence, or its zip: asks the same again, and takes no other question",
    )
    parser.add_argument("--price", default=None, help="column of the price, per unit of exposure")
    parser.add_argument(
        "--sensitive",
        action="append",
        default=None,
        metavar="COLUMN",
        help="column that the price must not follow; may come again",
    )
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
    parser.add_argument(
        "--reliability",
        type=float,
        action="append",
        default=None,
        metavar="SHARE",
        help="share of the sensitive column's variance that is no error, such as 0.7: adds the curve without "
        "that error; may come again",
    )
    parser.add_argument("--random-state", type=int, default=0)
    parser.add_argument(
        "--against", type=Path, default=None, help="the evidence of an audit before: adds what moved since"
    )
    parser.add_argument(
        "--out", type=Path, default=None, help=".zip for the evidence, or folder for answers and tables"
    )
    parser.add_argument("--json", action="store_true", help="print all figures for a program to read")
    parser.set_defaults(command=_audit)


def _share(text: str) -> float:
    text = text.strip()
    return float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)


def _audit(options: argparse.Namespace) -> int:
    from fairdash.auditing.audit import carry_out
    from fairdash.auditing.evidence import KeptPlan, read_plan

    kept = KeptPlan(plan=_plan(options)) if options.plan is None else read_plan(options.plan)
    if options.plan is not None and (options.price or options.sensitive):
        raise OptionError.of("The plan has its columns already", "Name --plan, or columns.", column="plan")
    frame, origin = _table(options.file, kept.origin)
    result = carry_out(frame, kept.plan, origin=origin)
    if options.against is not None:
        result = result.compare(options.against)
    if options.out is not None:
        result.save(options.out)
    print(
        json.dumps(result.to_dict(), indent=2, allow_nan=False) if options.json else visible(_as_text(result))
    )
    return STATUS[result.verdict]


def _plan(options: argparse.Namespace) -> AuditPlan:
    from fairdash.auditing.plan import AuditPlan, columns_of

    for name in ("price", "sensitive"):
        if getattr(options, name) is None:
            hint = f"Give --{name}, or the --plan of an audit before."
            raise OptionError.of("No column is named", hint, column=name)
    columns = columns_of(
        options.price,
        options.sensitive,
        exposure=options.exposure,
        outcome=options.outcome,
        controls=options.control,
        expected_cost=options.expected_cost,
        candidate=options.candidate,
        groups=options.group,
        totals=options.total,
        features=options.feature,
    )
    return AuditPlan.of(
        columns,
        criterion=options.criterion,
        max_gap=options.max_gap,
        questions="all" if options.question is None else options.question,
        reliability=options.reliability,
        random_state=options.random_state,
    )


def _table(file: Path | None, before: Mapping[str, Any]) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The table to audit and where it came from; `before` is what the plan says of that."""
    from fairdash.data.catalogue import load_dataset
    from fairdash.data.readers.reading import bytes_of, read_content
    from fairdash.data.readers.report import ReadingOptions
    from fairdash.storage import sha256
    from fairdash.utils.records import from_plain, to_plain

    if file is None:
        if "dataset" not in before:
            raise OptionError.of("No table is named", "Give a file.", column="file")
        dataset, options = str(before["dataset"]), dict(before.get("options", {}))
        return load_dataset(dataset, **options).table(), {"dataset": dataset, "options": options}
    content = bytes_of(file)
    reading = from_plain(ReadingOptions, before.get("reading", {}))
    origin = {"sha256": sha256(content), "reading": to_plain(reading)}
    return read_content(content, reading)[0], origin


def _as_text(result: AuditResult) -> str:
    lines = [f"{each.question}. {each.title} {each.text}" for each in result.answers]
    for each in result.others:
        lines.append(f"\nAlong “{each.plan.columns.sensitive}”:")
        lines += [f"{own.question}. {own.title} {own.text}" for own in each.answers]
    verdicts = result.tables["by_sensitive"] if result.others else result.verdicts
    table = verdicts.to_string(index=False, float_format="{:.3g}".format)
    if result.since is not None:
        lines.append(f"Since the audit before: {result.since.sentence}")
    return "\n".join([*lines, "", "As shares of the mean price:", table, *result.notes])
