"""Record of how often a run's holdout rows were used, and with what result.

<run>/confirmations.json   every opening in order; holds its own hash (:mod:`fairdash.storage.bundle`)

Each opening is also a line of the run's log. A file with fewer openings than the log was deleted or restored
to an earlier state, and is rejected.
"""

from __future__ import annotations

from filelock import FileLock

from fairdash.errors import FairdashError, RunError
from fairdash.evaluation.confirmation import Confirmation, confirm_point
from fairdash.runs.store import RESULT, Run
from fairdash.storage.bundle import read_sealed, write_sealed
from fairdash.storage.log import note, read
from fairdash.utils.records import from_plain, to_plain

CONFIRMATIONS = "confirmations.json"
_LOCK = "confirmations.lock"
#: Name of an opening in the log.
OPENED = "opened the rows set aside"


def read_confirmations(run: Run) -> tuple[Confirmation, ...]:
    """Read all uses of the holdout, first one first.

    Raises
    ------
    RunError
        The file was changed, or records fewer openings than the log.
    """
    try:
        content = read_sealed(run.folder / CONFIRMATIONS)
        found = tuple(from_plain(Confirmation, each) for each in content["openings"])
    except FileNotFoundError:
        found = ()
    except (OSError, ValueError, KeyError, TypeError, RecursionError, FairdashError) as error:
        raise _not_believed() from error
    if sum(event.what == OPENED for event in read(run.folder).events) > len(found):
        raise _not_believed()
    return found


def confirm_run(
    run: Run, *, method: str, lam: float, objective: str | None = None, owner: str
) -> Confirmation:
    """Confirm a selected point on a run's holdout rows, and store the result.

    A repeated request for the same point returns the stored result. Parameters as in
    :func:`fairdash.evaluation.confirmation.confirm_point`; the objective that was trained for by default.

    Raises
    ------
    RunError
        The run is not finished, has set no rows aside, or its openings were changed.
    OptionError
        There is no such point, or a model beside it diverged.
    StorageError
        The disk is full.
    """
    if run.available_result != RESULT:
        raise RunError.of(
            "This run is not done", "Wait until it has finished. A preview can't confirm a choice."
        )
    plan, aside = run.spec.plan, run.read_result().set_aside
    if aside is None:
        raise RunError.of(
            "This run has set no rows aside to confirm a choice",
            "Train again and set a share of the rows aside.",
        )
    # Two that open at once are two openings.
    with FileLock(run.folder / _LOCK, is_singleton=False):
        before = read_confirmations(run)
        found = confirm_point(
            aside,
            method=method,
            lam=lam,
            objective=plan.objective if objective is None else objective,
            before=before,
            loss=plan.settings.loss_function,
            random_state=plan.random_state,
        )
        if found not in before:
            kept = {"openings": [to_plain(each) for each in (*before, found)]}
            write_sealed(run.folder / CONFIRMATIONS, kept)
            note(
                run.folder,
                OPENED,
                who=owner,
                method=found.point.method,
                weight=f"λ = {found.point.lam:g}",
                objective=found.objective,
                times=found.number,
            )
    return found


def _not_believed() -> RunError:
    return RunError.of(
        "The stored results of the rows set aside were changed",
        "Treat these rows as opened: they can no longer confirm anything. The run's other figures are valid.",
    )
