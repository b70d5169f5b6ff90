"""The command line: the same verbs as the pages.

python -m fairdash app
python -m fairdash sweep --dataset crime --objective demographic_parity --lams 0,0.5,1,2 --splits 2 --json
python -m fairdash measure hgr_spline prices.csv --u price --v age
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairdash.errors import FairdashError

if TYPE_CHECKING:
    import pandas as pd

    from fairdash.api import SweepResult
    from fairdash.dependence import DependenceEstimate
    from fairdash.training.sweep import SweepProgress


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command; the exit status is 2 if an input or an option can't be used."""
    options = _parser().parse_args(arguments)
    try:
        status: int = options.command(options)
    except FairdashError as error:
        print(error, file=sys.stderr)
        return 2
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m fairdash", description=_HELP)
    commands = parser.add_subparsers(required=True, metavar="command")

    app = commands.add_parser("app", help="open the app in a browser")
    app.add_argument("--port", type=int, default=8501)
    app.set_defaults(command=_app)

    sweep = commands.add_parser("sweep", help="train over a grid of λ and print the trade-off")
    sweep.add_argument("--dataset", required=True, help="id in the catalogue: household, crime, motor, …")
    sweep.add_argument("--objective", default="demographic_parity")
    sweep.add_argument("--methods", type=_words, default=["standard", "hgr_nn"])
    sweep.add_argument("--lams", type=_numbers, default=None, help="weights λ, comma-separated")
    sweep.add_argument("--splits", type=int, default=5, help="random 80/20 splits")
    sweep.add_argument("--measures", type=_words, default=None)
    sweep.add_argument("--epochs", type=int, default=None)
    sweep.add_argument("--random-state", type=int, default=0)
    sweep.add_argument("--device", default="auto", help="auto, cpu, cuda or mps")
    sweep.add_argument("--json", action="store_true", help="print all figures for a program to read")
    sweep.set_defaults(command=_sweep)

    measure = commands.add_parser("measure", help="measure the dependence between two columns of a file")
    measure.add_argument("measure", help="id of the measure: hgr_spline, hgr_kde, pearson, …")
    measure.add_argument("file", type=Path, help="a table with a header, such as a CSV file")
    measure.add_argument("--u", required=True, help="column of predictions, residuals or outcomes")
    measure.add_argument("--v", required=True, help="column of the sensitive attribute")
    measure.add_argument("--permutations", type=int, default=199, help="behind floor and p-value")
    measure.add_argument("--bootstrap", type=int, default=100, help="half-samples behind the interval")
    measure.add_argument("--random-state", type=int, default=0)
    measure.add_argument("--json", action="store_true", help="print all figures for a program to read")
    measure.set_defaults(command=_measure)
    return parser


_HELP = "Explore the trade-off between accuracy and fairness when the sensitive attribute is continuous."


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _numbers(text: str) -> list[float]:
    return [float(word) for word in _words(text)]


def _app(options: argparse.Namespace) -> int:
    import runpy

    script = Path(__file__).parent.parent / "app.py"
    # In this process, so that whoever stops it stops the server.
    sys.argv = ["streamlit", "run", str(script), "--server.port", str(options.port)]
    runpy.run_module("streamlit", run_name="__main__")
    return 0


def _sweep(options: argparse.Namespace) -> int:
    from dataclasses import replace

    from fairdash.api import DEFAULT_LAMS, sweep
    from fairdash.assessment import DEFAULT_MEASURES
    from fairdash.data.catalogue import load_dataset
    from fairdash.training.settings import TrainingSettings

    settings = TrainingSettings()
    if options.epochs is not None:
        warm_up = min(settings.warm_up_epochs, options.epochs // 4)
        settings = replace(settings, n_epochs=options.epochs, warm_up_epochs=warm_up)
    result = sweep(
        load_dataset(options.dataset),
        methods=options.methods,
        lams=DEFAULT_LAMS if options.lams is None else options.lams,
        objective=options.objective,
        n_splits=options.splits,
        random_state=options.random_state,
        settings=settings,
        device=options.device,
        measures=DEFAULT_MEASURES if options.measures is None else options.measures,
        progress=_show_progress if sys.stderr.isatty() else None,
    )
    print(_as_json(result, options.dataset) if options.json else _as_table(result))
    return 0


def _measure(options: argparse.Namespace) -> int:
    from fairdash.data.reading import read_table
    from fairdash.dependence import assess_dependence
    from fairdash.lookup import look_up

    frame, _ = read_table(options.file)
    columns = {str(name): frame[name] for name in frame.columns}
    pair = [look_up(columns, name, option="column") for name in (options.u, options.v)]
    u, v, left_out = _complete_numbers(*pair)
    found = assess_dependence(
        options.measure,
        u,
        v,
        n_permutations=options.permutations,
        n_bootstrap=options.bootstrap,
        random_state=options.random_state,
    )
    print(_estimate_as_json(found, left_out) if options.json else _estimate_as_text(found, left_out))
    return 0


def _complete_numbers(u: pd.Series, v: pd.Series) -> tuple[pd.Series, pd.Series, int]:
    """The rows on which both columns hold a number, and how many others there are."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    from fairdash.errors import DataError, Problem

    problems = [
        Problem(
            column=str(column.name),
            what="This column does not hold numbers only",
            mend="Choose a column of numbers, or turn it into numbers first.",
        )
        for column in (u, v)
        if not (is_numeric_dtype(column) or is_bool_dtype(column))
    ]
    if problems:
        raise DataError(*problems)
    complete = u.notna() & v.notna()
    left_out = int((~complete).sum())
    if left_out == len(u):
        raise DataError(
            Problem(what="No row has a number in both columns", mend="Choose other columns.", count=left_out)
        )
    return u[complete].astype(float), v[complete].astype(float), left_out


def _estimate_as_json(found: DependenceEstimate, left_out: int) -> str:
    from dataclasses import asdict

    # No interval is null: NaN is no JSON.
    content = {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in asdict(found).items()
    }
    return json.dumps({**content, "n_left_out": left_out}, indent=2, allow_nan=False)


def _estimate_as_text(found: DependenceEstimate, left_out: int) -> str:
    from fairdash.dependence import REGISTRY

    lines = [
        f"{REGISTRY[found.id].title}, {found.n:,} rows",
        f"value        {found.value:.4g}",
        f"noise floor  {found.floor:.4g} on average, 95 % below {found.floor_q95:.4g}",
        f"p-value      {found.p_value:.3g} ({found.n_permutations:,} permutations)",
    ]
    if math.isfinite(found.ci_high) and found.bound_only:
        lines.append(f"upper bound  {found.ci_high:.4g} (95 %; independence is not rejected at 5 %)")
    elif math.isfinite(found.ci_high):
        lines.append(f"interval     {found.ci_low:.4g} to {found.ci_high:.4g} (95 %)")
    if found.subsampled:
        lines.append(f"All of this is from {found.n_used:,} rows drawn at random.")
    if left_out:
        lines.append(f"Rows left out because a cell is missing: {left_out:,}.")
    return "\n".join(lines)


def _show_progress(progress: SweepProgress) -> None:
    end = "\n" if progress.fraction >= 1 else ""
    print(f"\r{progress.phase}: {progress.fraction:4.0%}", end=end, file=sys.stderr, flush=True)


def _as_json(result: SweepResult, dataset: str) -> str:
    return json.dumps(
        {
            "dataset": dataset,
            "sweep": result.sweep.to_json(),
            "device": result.device,
            "seconds": result.seconds,
            "notes": result.notes,
            "rows": json.loads(result.frame.to_json(orient="records", double_precision=15)),
        },
        indent=2,
    )


def _as_table(result: SweepResult) -> str:
    from fairdash.assessment import summarise_splits

    summary = summarise_splits(result.frame)
    shown = [c for c in summary.columns if c != "part" and not c.endswith(("_se", "_q95"))]
    test = summary.loc[summary["part"] == "test", shown]
    lines = [f"Test rows, means over {result.sweep.n_splits} splits ({result.device}):"]
    return "\n".join([*lines, test.to_string(index=False, float_format="{:.4g}".format), *result.notes])


if __name__ == "__main__":
    sys.exit(main())
