"""Commands ``runs``, which mirrors the Runs page, and ``report``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from fairdash.cli import AsJson, print_result
from fairdash.errors import FairdashError, OptionError, RunError, StorageError
from fairdash.runs import launch
from fairdash.runs.archive import LARGEST, export_run, import_run
from fairdash.runs.comparison import parse_comparison
from fairdash.runs.confirmations import confirm_run, read_confirmations
from fairdash.runs.deletion import delete_run, deletion_in_words, derived_from_runs
from fairdash.runs.listing import list_runs
from fairdash.runs.models import ModelJob
from fairdash.runs.store import FIRST, RESULT, Run
from fairdash.storage import LOCAL, check_owner, sha256, write_whole
from fairdash.storage.log import note_export, read
from fairdash.training.sweep import STANDARD
from fairdash.utils.records import to_plain
from fairdash.utils.text import megabytes, visible
from fairdash.views.blocks import Block, lines_of
from fairdash.views.reports.sentences import of_opening

runs = App(name="runs")

RunId = Annotated[str, Parameter(help="Id of the run, twelve hex digits.")]
Owner = Annotated[str, Parameter(help="Owner of the runs, as in the app's sidebar and the log.")]


@runs.command(name="list")
def list_all(*, owner: Owner = LOCAL, as_json: AsJson = False) -> None:
    """List all runs, the newest first."""
    run_list = list_runs(owner=check_owner(owner))
    run_records = [_about(run) for run in run_list.runs]
    lines = [
        f"{record['id']}  {record['created'][:16]}  {record['state']:9}  {record['name'] or record['data']}, "
        f"{record['objective']}"
        for record in run_records
    ]
    lines = lines or ["No run yet. Train a run in the app: fairdash app."]
    print_result({"runs": run_records, "damaged": run_list.damaged}, lines, as_json=as_json)
    if run_list.damaged and not as_json:
        print(f"Can't be read: {', '.join(run_list.damaged)}. Other runs are not affected.", file=sys.stderr)


@runs.command
def show(run: RunId, /, *, owner: Owner = LOCAL, as_json: AsJson = False) -> None:
    """Show a run's plan and its progress."""
    opened = Run(run, owner=check_owner(owner))
    run_record = _about(opened) | {
        "doing": opened.status.doing,
        "message": opened.status.message,
        "can_go_on": opened.status.is_over and opened.can_go_on,
        "models": [folder.name for folder in derived_from_runs(opened).jobs[ModelJob]],
        "folder": str(opened.folder),
        "other_defaults": opened.other_defaults,
    }
    if opened.available_result == RESULT:
        run_record["lams"] = list(opened.read_result().sweep.lams)
    print_result(run_record | {"plan": to_plain(opened.spec.plan)}, _facts(run_record), as_json=as_json)


def _facts(record: dict[str, Any]) -> Iterator[str]:
    for name, value in record.items():
        value_text = ", ".join(map(str, value)) if isinstance(value, list) else value
        if value_text != "":
            yield f"{name.replace('_', ' '):12} {value_text}"


def _about(run: Run) -> dict[str, Any]:
    """Return the description of a run as plain values."""
    spec, status = run.spec, run.status
    return {
        "id": run.id,
        "name": run.name,
        "data": spec.source.title,
        "objective": spec.plan.objective,
        "methods": list(spec.plan.methods),
        # If a run has searched for its weights λ, they are in its result and not in its plan.
        "lams": [] if spec.plan.find_lams else list(spec.plan.lams),
        "splits": spec.plan.n_splits,
        "split": spec.plan.split,
        "state": status.state,
        "fraction": status.fraction,
        "before": status.before,
        "available_result": run.available_result or "",
        "created": spec.created,
    }


@runs.command
def resume(run: RunId, /, *, owner: Owner = LOCAL, as_json: AsJson = False) -> None:
    """Resume a run that was stopped or failed."""
    opened = Run(run, owner=check_owner(owner))
    if not opened.status.is_over or not opened.can_go_on:
        raise RunError.of(
            "there is nothing to resume: the run is done, running, or was stopped before its first step "
            "was done",
            "“fairdash runs show” shows its progress. To start it again, use the Runs page.",
        )
    launch.resume(opened)
    sentence = f"{run} resumes after its last finished step; see its progress with fairdash runs show {run}."
    print_result({"id": run, "goes_on": True}, [sentence], as_json=as_json)


@runs.command
def delete(
    run: RunId,
    /,
    *,
    owner: Owner = LOCAL,
    yes: Annotated[bool, Parameter(negative=(), help="Delete without asking.")] = False,
    as_json: AsJson = False,
) -> int:
    """Delete a run and the models made from it."""
    opened = Run(run, owner=check_owner(owner))
    to_delete = derived_from_runs(opened)
    if not as_json:
        print(deletion_in_words(to_delete))
    if not yes:
        if as_json or not sys.stdin.isatty():
            raise OptionError.of("there is no terminal to ask", "Add --yes to delete the run.", column="yes")
        if input("Delete it? [y/N] ").strip().lower() not in ("y", "yes"):
            print("Nothing was deleted.")
            return 1
    delete_run(opened)
    deleted = {"id": run, "deleted": True, "models": [folder.name for folder in to_delete.jobs[ModelJob]]}
    print_result(deleted, [f"{run} is deleted."], as_json=as_json)
    return 0


@runs.command
def confirm(
    run: RunId,
    /,
    *,
    lam: float,
    method: str | None = None,
    objective: str | None = None,
    owner: Owner = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Use the holdout rows once to confirm the selected model.

    Parameters
    ----------
    lam
        Weight λ of the point, which may be between trained weights.
    method
        Method of the point; by default the first fair method.
    objective
        Objective; by default the objective for which the models were trained.
    """
    opened = Run(run, owner=check_owner(owner))
    fair = [method for method in opened.spec.plan.methods if method != STANDARD]
    confirmation = confirm_run(
        opened, method=method or next(iter(fair), STANDARD), lam=lam, objective=objective, owner=owner
    )
    times = len(read_confirmations(opened))
    verdict = {
        "p_value": confirmation.p_value,
        "finds_link": confirmation.finds_link,
        "is_first": confirmation.is_first,
    }
    sentences = of_opening(confirmation, times=times)
    record = (
        to_plain(confirmation)
        | {"method": confirmation.point.method, "lam": confirmation.point.lam}
        | verdict
    )
    del record["point"]
    print_result(record | {"opened": times}, sentences, as_json=as_json)


@runs.command
def export(
    run: RunId,
    /,
    *,
    out: Annotated[Path | None, Parameter(help="File to write; by default fairdash-run-<ID>.zip.")] = None,
    owner: Owner = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Write a finished run as one file."""
    opened = Run(run, owner=check_owner(owner))
    content, out_path = export_run(opened), out or Path(f"fairdash-run-{run}.zip")
    write_whole(out_path, content, hint="Choose another file with --out.")
    _note_written(opened, content, out_path, owner, as_json=as_json)


def _note_written(
    run: Run, content: bytes, out_path: Path, owner: str, *, lines: Iterable[str] = (), as_json: bool
) -> None:
    """Record in the run's log that a file was written. Print the given lines and the file's path."""
    note_export(run.folder, content, file=out_path.name, who=owner)
    record = {"file": str(out_path), "bytes": len(content), "sha256": sha256(content)}
    print_result(record, [*lines, f"{out_path}: {megabytes(len(content))}"], as_json=as_json)


@runs.command(name="import")
def import_file(
    file: Annotated[Path, Parameter(help="File to import; every hash in it is checked.")],
    /,
    *,
    owner: Owner = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Import a run that export has written."""
    try:
        with file.open("rb") as opened:
            content = opened.read(LARGEST + 1)
    except OSError as error:
        raise StorageError.of(f"{file} can't be read ({error.strerror})", "Name another file.") from error
    imported = import_run(content, owner=check_owner(owner))
    print_result(
        {"id": imported.run.id, "what": str(imported)}, [f"{imported.run.id}: {imported}"], as_json=as_json
    )


def report(
    run: RunId,
    /,
    *,
    method: str | None = None,
    lam: float | None = None,
    against: str = "standard",
    objective: str | None = None,
    measure: str | None = None,
    sensitive: str | None = None,
    out: Path | None = None,
    owner: Owner = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Write the report of a finished run as one HTML file.

    Parameters
    ----------
    method
        Method in the report; by default the first fair method.
    lam
        Weight λ, trained or between trained weights; by default a middle weight.
    against
        Point for the comparison: standard, or for example hgr_nn:0.5.
    objective
        Objective; by default the objective for which the models were trained.
    measure
        Measure in the report; by default hgr_spline.
    sensitive
        Sensitive column in the report; by default the first one.
    out
        Name of the file; by default fairdash-<run>.html.
    """
    # This import is local, because it loads plotly, which no other command of this module needs.
    from fairdash.views.reports import content, tables
    from fairdash.views.reports.report import render_report

    opened = Run(run, owner=check_owner(owner))
    comparison = parse_comparison(
        opened,
        method=method,
        lam=lam,
        against=against,
        objective=objective,
        measure=measure,
        sensitive=sensitive,
    )
    dataset = None
    try:
        loaded = opened.spec.load()
        opened.check_data(loaded)
        dataset = loaded
    except FairdashError as error:
        print(f"The report will not list the features. {visible(str(error))}", file=sys.stderr)
    page = render_report(
        comparison,
        run_id=run,
        created=opened.spec.created,
        dataset=dataset,
        is_preview=opened.available_result == FIRST,
        openings=read_confirmations(opened),
        log=read(opened.folder),
    )
    out_path = out or Path(f"fairdash-{run}.html")
    out_path.write_bytes(page)
    blocks: list[Block] = [*content.summary(comparison), tables.measures(comparison), ""]
    _note_written(opened, page, out_path, owner, lines=lines_of(blocks), as_json=as_json)
