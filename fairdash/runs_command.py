"""The commands ``runs``: list, show, resume, delete, export and import runs, as the Runs page does."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairdash.errors import OptionError, RunError, StorageError
from fairdash.storage import LOCAL
from fairdash.utils.text import visible

if TYPE_CHECKING:
    from fairdash.runs.store import Run


def add_runs_commands(parser: argparse.ArgumentParser) -> None:
    """Give the command its own commands."""
    commands = parser.add_subparsers(required=True, metavar="what")

    def command(name: str, what: str, carry_out: Any, *, of_run: bool = True) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=what)
        if of_run:
            added.add_argument("run", metavar="ID", help="twelve hex digits, in the list and in addresses")
        added.add_argument("--owner", default=LOCAL, help="whose runs, as the app's sidebar says; local")
        added.set_defaults(command=carry_out)
        return added

    listing = command("list", "all runs, the newest first", _list, of_run=False)
    show = command("show", "what a run has to do, and how far it is", _show)
    resume = command("resume", "let a run that was stopped, or failed, go on", _resume)
    delete = command("delete", "delete a run and the models made from it", _delete)
    delete.add_argument("--yes", action="store_true", help="don't ask")
    confirm = command("confirm", "open the rows set aside, once, for the point that was chosen", _confirm)
    confirm.add_argument("--method", default=None, help="of the point; the first fair one")
    confirm.add_argument(
        "--lam", type=float, required=True, help="weight λ of the point: trained, or a blend"
    )
    confirm.add_argument("--objective", default=None, help="the one that was trained for")
    export = command("export", "write a finished run as one file", _export)
    export.add_argument("--out", type=Path, default=None, help="file to write; fairdash-run-<ID>.zip")
    bring_in = command("import", "bring in what export has written", _import, of_run=False)
    bring_in.add_argument("file", type=Path, help="the file; every hash in it is checked")
    for each in (listing, show, resume, delete, confirm, export, bring_in):
        each.add_argument("--json", action="store_true", help="print it for a program to read")


def _run(options: argparse.Namespace) -> Run:
    """The run that the command names; RunError if there is none."""
    from fairdash.runs.store import Run
    from fairdash.storage import check_owner

    return Run(options.run, owner=check_owner(options.owner))


def _list(options: argparse.Namespace) -> int:
    from fairdash.runs.listing import list_runs
    from fairdash.storage import check_owner

    found = list_runs(owner=check_owner(options.owner))
    about = [_about(run) for run in found.runs]
    if options.json:
        print(json.dumps({"runs": about, "damaged": found.damaged}, indent=2))
        return 0
    for each in about:
        called = each["name"] or each["data"]
        print(
            _shown(f"{each['id']}  {each['created'][:16]}  {each['state']:9}  {called}, {each['objective']}")
        )
    if not about:
        print("No run yet. Train one in the app: fairdash app.")
    if found.damaged:
        print(f"Can't be read: {', '.join(found.damaged)}. Others are not affected.", file=sys.stderr)
    return 0


def _show(options: argparse.Namespace) -> int:
    from fairdash.runs.deletion import made_in

    run = _run(options)
    about = _about(run) | {
        "doing": run.status.doing,
        "message": run.status.message,
        "can_go_on": run.status.is_over and run.can_go_on,
        "models": [folder.name for folder in made_in(run).models],
        "folder": str(run.folder),
    }
    if options.json:
        from fairdash.utils.records import to_plain

        print(json.dumps(about | {"plan": to_plain(run.spec.plan)}, indent=2))
        return 0
    for name, value in about.items():
        shown = ", ".join(map(str, value)) if isinstance(value, list) else value
        if shown != "":
            print(_shown(f"{name.replace('_', ' '):12} {shown}"))
    return 0


def _shown(line: str) -> str:
    """A line without what would steer the terminal: a file that was brought in can name its data anything."""
    return visible(line, keep="")


def _about(run: Run) -> dict[str, Any]:
    """What there is to say of a run."""
    spec, status = run.spec, run.status
    return {
        "id": run.id,
        "name": run.name,
        "data": spec.source.title,
        "objective": spec.plan.objective,
        "methods": list(spec.plan.methods),
        "lams": list(spec.plan.lams),
        "splits": spec.plan.n_splits,
        "split": spec.plan.split,
        "state": status.state,
        "fraction": status.fraction,
        "before": status.before,
        "look": run.look or "",
        "created": spec.created,
    }


def _resume(options: argparse.Namespace) -> int:
    from fairdash.runs.launch import go_on

    run = _run(options)
    if not run.status.is_over or not run.can_go_on:
        raise RunError.of(
            "there is nothing to go on with: the run is done, at work, or was stopped before a unit was done",
            "See how far it is with fairdash runs show, or start it again on the Runs page.",
        )
    go_on(run)
    if options.json:
        print(json.dumps({"id": run.id, "goes_on": True}, indent=2))
        return 0
    print(f"{run.id} goes on after its last finished unit; fairdash runs show {run.id} says how far it is.")
    return 0


def _delete(options: argparse.Namespace) -> int:
    from fairdash.runs.deletion import delete_run, made_in, what_goes

    run = _run(options)
    going = made_in(run)
    if not options.json:
        print(what_goes(going))
    if not options.yes:
        if options.json or not sys.stdin.isatty():
            raise OptionError.of("nobody can be asked here", "Say --yes to delete it.", column="yes")
        if input("Delete it? [y/N] ").strip().lower() not in ("y", "yes"):
            print("Nothing was deleted.")
            return 1
    delete_run(run)
    if options.json:
        gone = {"id": run.id, "deleted": True, "models": [folder.name for folder in going.models]}
        print(json.dumps(gone, indent=2))
        return 0
    print(f"{run.id} is deleted.")
    return 0


def _confirm(options: argparse.Namespace) -> int:
    from fairdash.reports.confirming import sentences
    from fairdash.runs.confirmations import confirm_run, read_confirmations
    from fairdash.training.sweep import STANDARD
    from fairdash.utils.records import to_plain

    run = _run(options)
    fair = [method for method in run.spec.plan.methods if method != STANDARD]
    found = confirm_run(
        run,
        method=options.method or next(iter(fair), STANDARD),
        lam=options.lam,
        objective=options.objective,
        owner=options.owner,
    )
    times = len(read_confirmations(run))
    if options.json:
        verdict = {"p_value": found.p_value, "finds_link": found.finds_link, "is_first": found.is_first}
        print(json.dumps(to_plain(found) | verdict | {"opened": times}, indent=2))
        return 0
    for line in sentences(found, times=times):
        print(_shown(line))
    return 0


def _export(options: argparse.Namespace) -> int:
    from fairdash.runs.archive import export_run
    from fairdash.storage import write_whole

    run = _run(options)
    content = export_run(run)
    place = Path(f"fairdash-run-{run.id}.zip") if options.out is None else options.out
    write_whole(place, content, hint="Choose another file with --out.")
    return taken_away(run, content, place, options)


def taken_away(run: Run, content: bytes, place: Path, options: argparse.Namespace) -> int:
    """Note and say that a file of a run was written."""
    from fairdash.runs.log import note_export
    from fairdash.storage import sha256

    note_export(run.folder, content, file=place.name, who=options.owner)
    if options.json:
        print(json.dumps({"file": str(place), "bytes": len(content), "sha256": sha256(content)}, indent=2))
    else:
        print(f"{place}: {len(content) / 1e6:.1f} MB")
    return 0


def _import(options: argparse.Namespace) -> int:
    from fairdash.runs.archive import LARGEST, import_run
    from fairdash.storage import check_owner

    try:
        with options.file.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise StorageError.of(
            f"{options.file} can't be read ({error.strerror})", "Name another file."
        ) from error
    found = import_run(content, owner=check_owner(options.owner))
    print(
        json.dumps({"id": found.run.id, "what": str(found)}, indent=2)
        if options.json
        else f"{found.run.id}: {found}"
    )
    return 0
