"""Record of each use of a run's holdout rows, with the result.

<run>/confirmations.json   uses ("openings") of the holdout rows, and a hash (:mod:`fairdash.storage.bundle`)

Each use (“opening”) of the holdout rows is also recorded in the log of the run. If the file has fewer
openings than the log, it is rejected, because it has been deleted or replaced by an earlier version.
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
#: Event in the run's log for a use of the holdout rows.
OPENED = "opened the rows set aside"


def read_confirmations(run: Run) -> tuple[Confirmation, ...]:
    """Read all uses of the holdout rows in the order of time.

    Raises
    ------
    RunError
        The file has been changed, or records fewer uses (“openings”) than the log.
    """
    try:
        content = read_sealed(run.folder / CONFIRMATIONS)
        confirmations = tuple(from_plain(Confirmation, record) for record in content["openings"])
    except FileNotFoundError:
        confirmations = ()
    except (OSError, ValueError, KeyError, TypeError, RecursionError, FairdashError) as error:
        raise _inconsistent_record() from error
    if sum(event.what == OPENED for event in read(run.folder).events) > len(confirmations):
        raise _inconsistent_record()
    return confirmations


def confirm_run(
    run: Run, *, method: str, lam: float, objective: str | None = None, owner: str
) -> Confirmation:
    """Confirm a selected point (a method at a weight λ) on a run's holdout rows, and store the result.

    If this point has already been confirmed, the stored result is returned. The parameters are those of
    :func:`fairdash.evaluation.confirmation.confirm_point`. By default, the objective of the training is used.

    Raises
    ------
    RunError
        The run is not finished, has no holdout rows, or the record of their uses has been changed.
    OptionError
        The run has no models for this point, or one of them diverged.
    StorageError
        The disk is full.
    """
    if run.available_result != RESULT:
        raise RunError.of(
            "This run is not finished", "Wait until it has finished. A preview can't confirm a choice."
        )
    plan, holdout = run.spec.plan, run.read_result().set_aside
    if holdout is None:
        raise RunError.of(
            "This run has set no rows aside to confirm a choice",
            "Train again and set a share of the rows aside.",
        )
    # The lock ensures that two simultaneous requests are recorded as two uses of the holdout rows.
    with FileLock(run.folder / _LOCK, is_singleton=False):
        earlier_confirmations = read_confirmations(run)
        confirmation = confirm_point(
            holdout,
            method=method,
            lam=lam,
            objective=plan.objective if objective is None else objective,
            before=earlier_confirmations,
            loss=plan.settings.loss_function,
            random_state=plan.random_state,
        )
        if confirmation not in earlier_confirmations:
            record = {"openings": [to_plain(opening) for opening in (*earlier_confirmations, confirmation)]}
            write_sealed(run.folder / CONFIRMATIONS, record)
            note(
                run.folder,
                OPENED,
                who=owner,
                method=confirmation.point.method,
                weight=f"λ = {confirmation.point.lam:g}",
                objective=confirmation.objective,
                times=confirmation.number,
            )
    return confirmation


def _inconsistent_record() -> RunError:
    return RunError.of(
        "The stored results of the rows set aside have been changed",
        "These rows can no longer confirm a choice. The other figures of the run are valid.",
    )
