"""The command line: the same verbs as the pages.

python -m fairdash app
python -m fairdash sweep --dataset crime --objective demographic_parity --lams 0,0.5,1,2 --splits 2 --json
python -m fairdash measure hgr_spline prices.csv --u price --v age --exposure years
python -m fairdash check policies.csv --target cost --sensitive age --exposure years
python -m fairdash audit policies.csv --price premium --sensitive age --exposure years --outcome claims
python -m fairdash search --dataset crime --method hgr_nn --grid small
python -m fairdash find-lam --dataset crime --method hgr_nn --target "hgr_spline<=floor+0.05"
python -m fairdash reproduce table1 --dataset crime
python -m fairdash worker --database postgresql://fairdash@db/fairdash
python -m fairdash report 0123456789ab --lam 1 --against hgr_nn:0.5 --out report.html
python -m fairdash runs list

An installed package has them as ``fairdash app`` and so on.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import select
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from fairdash._version import __version__
from fairdash.errors import FairdashError, OptionError, Problem
from fairdash.storage import LOCAL
from fairdash.utils.text import visible

if TYPE_CHECKING:
    from fairdash.data.dataset import Dataset
    from fairdash.evaluation.result import SweepResult
    from fairdash.training.search import SearchResult
    from fairdash.training.settings import TrainingSettings
    from fairdash.training.sweep import SweepProgress


#: What a shell says of a program that SIGPIPE ended: 128 + 13.
_READER_GONE = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command and return its exit status.

    It is 2 if an input or an option can't be used, and 141 if who reads the output has closed the pipe, as
    ``head`` does. The signal itself stays ignored: it would also end the app when a browser hangs up.
    """
    try:
        try:
            return _carry_out(arguments)
        finally:
            # Here, as Python's own flush at exit would end in a warning and 120; help leaves by SystemExit.
            print(end="", flush=True)
    except BrokenPipeError:
        if sys.platform == "win32":
            raise  # no such signal there, and no such status
        closed = [stream for stream in (sys.stdout, sys.stderr) if _is_closed(stream)]
        if not closed:
            raise  # of a socket or a child process, which is a fault
        with open(os.devnull, "wb") as nowhere:
            for stream in closed:
                os.dup2(nowhere.fileno(), stream.fileno())
        return _READER_GONE


def _is_closed(stream: TextIO) -> bool:
    """Whether the stream is a pipe that nobody reads any more."""
    try:
        place = stream.fileno()
    except io.UnsupportedOperation:  # a text in memory
        return False
    asked = select.poll()
    asked.register(place, 0)  # a closed pipe is reported without being asked for
    return any(event & select.POLLERR for _, event in asked.poll(0))


def _carry_out(arguments: Sequence[str] | None) -> int:
    options = _parser().parse_args(arguments)
    try:
        status: int = options.command(options)
    except FairdashError as error:
        print(visible(str(error)), file=sys.stderr)
        return 2
    return status


def _parser() -> argparse.ArgumentParser:
    from fairdash.audit_command import add_audit_command
    from fairdash.data.check_command import add_check_command
    from fairdash.data.shell import add_data_options
    from fairdash.runs_command import add_runs_commands

    # As it was called; the installed command is fairdash, fairdash.exe on Windows.
    name = "fairdash" if Path(sys.argv[0]).stem == "fairdash" else "python -m fairdash"
    parser = argparse.ArgumentParser(prog=name, description=_HELP)
    parser.add_argument("--version", action="version", version=f"fairdash {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")

    app = commands.add_parser("app", help="open the app in a browser")
    app.add_argument("--port", type=int, default=8501)
    app.set_defaults(command=_app)

    sweep = commands.add_parser("sweep", help="train over a grid of λ and print the trade-off")
    add_data_options(sweep)
    sweep.add_argument("--objective", default="demographic_parity")
    sweep.add_argument("--methods", type=_words, default=None, help="by default those that a run trains")
    sweep.add_argument("--lams", type=_numbers, default=None, help="weights λ, comma-separated")
    sweep.add_argument("--splits", type=int, default=None, help="splits into training and test rows")
    sweep.add_argument(
        "--validation", type=float, default=None, help="share of the rows that are not test rows, for choices"
    )
    sweep.add_argument(
        "--split", default=None, help="random, group or time; by default group where there are groups"
    )
    sweep.add_argument("--confirmation", type=float, default=None, help="share of rows to confirm by")
    sweep.add_argument("--measures", type=_words, default=None)
    sweep.add_argument("--epochs", type=int, default=None)
    _add_loss(sweep)
    sweep.add_argument(
        "--tune",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="find learning rate and weight decay on validation rows first",
    )
    sweep.add_argument(
        "--tariff",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether tariffs are fitted beside the networks; by default with a log link",
    )
    sweep.add_argument("--random-state", type=int, default=0)
    sweep.add_argument("--device", default="auto", help="auto, cpu, cuda or mps")
    sweep.add_argument("--json", action="store_true", help="print all figures for a program to read")
    sweep.set_defaults(command=_sweep)

    measure = commands.add_parser("measure", help="measure the dependence between two columns of a file")
    measure.add_argument("measure", help="id of the measure: hgr_spline, hgr_kde, pearson, …")
    measure.add_argument("file", type=Path, help="a table with a header, such as a CSV file")
    measure.add_argument("--u", required=True, help="column of predictions, residuals or outcomes")
    measure.add_argument("--v", required=True, help="column of the sensitive attribute")
    measure.add_argument("--exposure", default=None, help="column that says how much a row counts")
    measure.add_argument("--group", default=None, help="column of what rows share, such as a policy")
    measure.add_argument(
        "--given",
        action="append",
        default=[],
        metavar="COLUMN",
        help="test among rows alike in this column as well; may come again",
    )
    measure.add_argument("--permutations", type=int, default=199, help="behind floor and p-value")
    measure.add_argument("--bootstrap", type=int, default=100, help="half-samples behind the interval")
    measure.add_argument("--random-state", type=int, default=0)
    measure.add_argument("--json", action="store_true", help="print all figures for a program to read")
    measure.set_defaults(command=_measure)
    add_audit_command(commands)
    add_check_command(commands)
    search = commands.add_parser("search", help="compare settings of the networks by cross-validation")
    search.add_argument("--lam", type=float, default=1.0, help="weight λ at which they are compared")
    search.add_argument("--grid", default="default", help="default or small")
    search.set_defaults(command=_search)
    find_lam = commands.add_parser("find-lam", help="find the weight λ that meets a target")
    find_lam.add_argument(
        "--target", required=True, help="such as hgr_spline<=0.05, hgr_spline<=floor+0.02 or error<=+10%%"
    )
    find_lam.add_argument("--lams", type=_numbers, default=None, help="weights λ to try, comma-separated")
    find_lam.add_argument("--refine", type=int, default=0, help="weights to try in a second, finer round")
    find_lam.set_defaults(command=_find_lam)
    for command, folds in ((search, 5), (find_lam, 10)):
        add_data_options(command)
        command.add_argument("--method", default=None)
        command.add_argument("--objective", default="demographic_parity")
        command.add_argument("--folds", type=int, default=folds)
        command.add_argument("--epochs", type=int, default=None)
        _add_loss(command)
        command.add_argument("--random-state", type=int, default=0)
        command.add_argument("--device", default="auto", help="auto, cpu, cuda or mps")
        command.add_argument("--json", action="store_true", help="print all figures for a program to read")
    reproduce = commands.add_parser("reproduce", help="make a table or figure of the paper again")
    reproduce.add_argument("study", help="table1, household, fig1, fig2 or fig3")
    reproduce.add_argument("--dataset", default="crime", help="of table1: crime, motor, census, …")
    reproduce.add_argument("--all-rows", action="store_true", help="of table1 on motor: all 100,021 policies")
    reproduce.add_argument("--methods", type=_words, default=None, help="of table1: these rows only")
    reproduce.add_argument("--objectives", type=_words, default=None, help="of table1: these only")
    reproduce.add_argument("--features-seen", default="all", help="of household: all or surface")
    reproduce.add_argument("--spread", default="sd", help="of household, N(40, 5): sd or variance")
    reproduce.add_argument("--rooms", type=int, default=4, help="of household: 4 or 5 at most")
    reproduce.add_argument("--processes", type=int, default=2, help="how much at a time: 1 or 2")
    reproduce.add_argument("--out", type=Path, default=None, help="folder for the result; fairdash's own")
    reproduce.add_argument("--json", action="store_true", help="print what was written for a program to read")
    reproduce.set_defaults(command=_reproduce)
    worker = commands.add_parser("worker", help="work at the jobs that the apps of several machines ask for")
    worker.add_argument(
        "--database", default=None, help="postgresql://… that the apps name in FAIRDASH_DATABASE; theirs here"
    )
    worker.add_argument("--lanes", type=_words, default=None, help="long, quick, studies; all by default")
    worker.set_defaults(command=_worker)
    report = commands.add_parser("report", help="write what a finished run has found as one HTML file")
    report.add_argument("run", help="id of the run: twelve hex digits, in the trade-off page's address")
    report.add_argument("--method", default=None, help="whose path; the first fair one")
    report.add_argument("--lam", type=float, default=None, help="a trained weight λ or a blend; a middle one")
    report.add_argument("--against", default="standard", help="compare with: standard, or such as hgr_nn:0.5")
    report.add_argument("--objective", default=None, help="the one that was trained for")
    report.add_argument("--measure", default=None, help="in view; hgr_spline")
    report.add_argument("--sensitive", default=None, help="column in view; the first one")
    report.add_argument("--out", type=Path, default=None, help="file to write; fairdash-<run>.html")
    report.add_argument("--owner", default=LOCAL, help="whose run it is, as its log says; local")
    report.add_argument("--json", action="store_true", help="print what was written for a program to read")
    report.set_defaults(command=_report)
    add_runs_commands(commands.add_parser("runs", help="list, show, resume, delete and carry runs"))
    return parser


def _add_loss(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--loss",
        default=None,
        help="squared_error, poisson, tweedie or gamma; what suits the target by default",
    )
    parser.add_argument(
        "--balance",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether predictions add up to the target; by default with a log link",
    )


_HELP = "Explore the trade-off between accuracy and fairness when the sensitive attribute is continuous."


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _numbers(text: str) -> list[float]:
    return [float(word) for word in _words(text)]


def _app(options: argparse.Namespace) -> int:
    import runpy
    from importlib.util import find_spec

    from fairdash.ui.serving import arguments_to_serve, enter_app_folder

    if find_spec("streamlit") is None:
        raise FairdashError(
            Problem(what="The app needs Streamlit", hint="Install it: python -m pip install 'fairdash[app]'")
        )
    enter_app_folder()
    # In this process, so that whoever stops it stops the server.
    sys.argv = ["streamlit", *arguments_to_serve(options.port)]
    runpy.run_module("streamlit", run_name="__main__")
    return 0


def _sweep(options: argparse.Namespace) -> int:
    from fairdash.api import sweep
    from fairdash.data.shell import dataset_of

    dataset = dataset_of(options)
    result = sweep(
        dataset,
        objective=options.objective,
        random_state=options.random_state,
        split=options.split,
        confirmation=options.confirmation,
        settings=_settings(options, dataset),
        tune=options.tune,
        tariff=options.tariff,
        device=options.device,
        progress=_show_progress if sys.stderr.isatty() else None,
        **_given(
            methods=options.methods,
            lams=options.lams,
            n_splits=options.splits,
            validation_share=options.validation,
            measures=options.measures,
        ),
    )
    print(_as_json(result, dataset) if options.json else visible(_as_table(result)))
    return 0


def _given(**options: Any) -> dict[str, Any]:
    """Those options that were named; the rest is the library's to choose."""
    return {name: value for name, value in options.items() if value is not None}


def _measure(options: argparse.Namespace) -> int:
    from fairdash.measure_command import measure_columns

    print(visible(measure_columns(options)))
    return 0


def _settings(options: argparse.Namespace, dataset: Dataset) -> TrainingSettings:
    from dataclasses import replace

    from fairdash.training.defaults import default_settings

    settings = default_settings(dataset, loss=options.loss)
    if options.balance is not None:
        settings = replace(settings, balance=options.balance)
    if options.epochs is None:
        return settings
    warm_up = min(settings.warm_up_epochs, options.epochs // 4)
    return replace(settings, n_epochs=options.epochs, warm_up_epochs=warm_up)


def _search(options: argparse.Namespace) -> int:
    from fairdash.api import search
    from fairdash.utils.records import to_plain

    result = search(grid=options.grid, lam=options.lam, **_cross_validation(options))
    _print_result(result, {"best": to_plain(result.best)}, as_json=options.json)
    return 0


def _find_lam(options: argparse.Namespace) -> int:
    from fairdash.api import find_lam

    asked = _cross_validation(options) | _given(lams=options.lams)
    choice = find_lam(target=options.target, refine=options.refine, **asked)
    _print_result(choice, {"lam": choice.lam, "reached": choice.reached}, as_json=options.json)
    return 0


def _cross_validation(options: argparse.Namespace) -> dict[str, Any]:
    """What both searches are asked with."""
    from fairdash.data.shell import dataset_of

    dataset = dataset_of(options)
    return {
        "dataset": dataset,
        **_given(method=options.method),
        "objective": options.objective,
        "n_folds": options.folds,
        "settings": _settings(options, dataset),
        "random_state": options.random_state,
        "device": options.device,
        "progress": _show_share if sys.stderr.isatty() else None,
    }


def _print_result(result: SearchResult, choice: dict[str, Any], *, as_json: bool) -> None:
    if not as_json:
        table = result.frame.to_string(index=False, float_format="{:.4g}".format)
        print(visible("\n".join([f"Held-out rows ({result.device}):", table, result.rule, *result.notes])))
        return
    rows = json.loads(result.frame.to_json(orient="records", double_precision=15))
    about = {"rule": result.rule, "device": result.device, "seconds": result.seconds, "notes": result.notes}
    print(json.dumps(choice | about | {"rows": rows}, indent=2))


def _reproduce(options: argparse.Namespace) -> int:
    from fairdash.utils.records import to_plain

    checkout = Path(__file__).parents[1]
    if not (checkout / "benchmarks" / "paper").is_dir():
        raise OptionError.of(
            "An installed package has the paper's results, and not the studies that make them",
            "Run the same command in a checkout of fairdash, whose folder benchmarks/paper has them.",
        )
    # An installed command does not look for modules in the folder that it is started in.
    sys.path.insert(0, str(checkout))
    from benchmarks.paper.household import Reading
    from benchmarks.paper.run import reproduce

    result, place = reproduce(
        options.study,
        out=options.out,
        dataset=options.dataset,
        all_rows=options.all_rows,
        methods=options.methods,
        objectives=options.objectives,
        processes=options.processes,
        reading=Reading(features_seen=options.features_seen, spread=options.spread, rooms=options.rooms),
    )
    if options.json:
        written = {"folder": str(place), "tables": list(result.tables), "about": to_plain(result.about)}
        print(json.dumps(written, indent=2))
    else:
        print(f"{place}: {', '.join(result.tables)}, in {result.about.seconds:.0f} s")
    return 0


def _worker(options: argparse.Namespace) -> int:
    from fairdash.cli.worker import serve
    from fairdash.jobs.engine import LANES
    from fairdash.utils.registry import get_entry

    if options.database is not None:
        os.environ["FAIRDASH_DATABASE"] = options.database
    return serve(
        [get_entry({lane: lane for lane in LANES}, lane, option="lane") for lane in options.lanes or LANES]
    )


def _report(options: argparse.Namespace) -> int:
    from fairdash.reports.html import render_report
    from fairdash.reports.parse_comparison import parse_comparison
    from fairdash.runs.confirmations import read_confirmations
    from fairdash.runs.log import read
    from fairdash.runs.store import FIRST, Run
    from fairdash.runs_command import taken_away
    from fairdash.storage import check_owner

    run = Run(options.run, owner=check_owner(options.owner))
    found = parse_comparison(
        run,
        method=options.method,
        lam=options.lam,
        against=options.against,
        objective=options.objective,
        measure=options.measure,
        sensitive=options.sensitive,
    )
    dataset = None
    try:
        dataset = run.spec.load()
    except FairdashError as error:
        print(f"The report will not list the features. {visible(str(error))}", file=sys.stderr)
    page = render_report(
        found,
        run_id=run.id,
        created=run.spec.created,
        dataset=dataset,
        is_preview=run.look == FIRST,
        openings=read_confirmations(run),
        log=read(run.folder),
    )
    place = Path(f"fairdash-{run.id}.html") if options.out is None else options.out
    place.write_bytes(page)
    return taken_away(run, page, place, options)


def _show_share(share: float) -> None:
    end = "\n" if share >= 1 else ""
    print(f"\rcross-validating: {share:4.0%}", end=end, file=sys.stderr, flush=True)


def _show_progress(progress: SweepProgress) -> None:
    end = "\n" if progress.fraction >= 1 else ""
    print(f"\r{progress.phase}: {progress.fraction:4.0%}", end=end, file=sys.stderr, flush=True)


def _as_json(result: SweepResult, dataset: Dataset) -> str:
    from fairdash.utils.records import to_plain

    return json.dumps(
        {
            "dataset": dataset.name,
            "target": dataset.label(dataset.roles.target),
            "sweep": to_plain(result.sweep),
            "device": result.device,
            "seconds": result.seconds,
            "notes": result.notes,
            "rows": json.loads(result.frame.to_json(orient="records", double_precision=15)),
        },
        indent=2,
    )


def _as_table(result: SweepResult) -> str:
    from fairdash.evaluation import summarise_splits
    from fairdash.training.split_kinds import SPLITS

    summary = summarise_splits(result.frame)
    shown = [c for c in summary.columns if c != "part" and not c.endswith(("_se", "_q95"))]
    test = summary.loc[summary["part"] == "test", shown]
    splits = SPLITS[result.sweep.split].mean_of(result.sweep.n_splits)
    lines = [f"Test rows, {splits} ({result.device}):"]
    return "\n".join([*lines, test.to_string(index=False, float_format="{:.4g}".format), *result.notes])


if __name__ == "__main__":
    sys.exit(main())
