"""Title and one-line description of a run, for the Runs page and Home."""

from __future__ import annotations

from types import MappingProxyType

from fairdash.data.source import DatasetSource, UploadSource
from fairdash.data.uploads import check_kept
from fairdash.errors import StorageError
from fairdash.runs.state import CANCELLED, DONE, FAILED, QUEUED, RUNNING, RunStatus
from fairdash.runs.store import Run
from fairdash.training.methods import PATHS
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.sweep import STANDARD
from fairdash.ui.owner import current_owner
from fairdash.ui.text import safe
from fairdash.utils.text import counted

#: Names of states.
STATES = MappingProxyType(
    {QUEUED: "waiting", RUNNING: "at work", DONE: "done", CANCELLED: "stopped", FAILED: "failed"}
)


def title_of(run: Run) -> str:
    """Return the user's name for the run, else its data; plain text, for :func:`fairdash.ui.text.safe`."""
    return run.name or run.spec.source.title


def page_of(run: Run) -> str:
    """Return the page that shows the run."""
    return "tradeoff" if run.available_result else "train"


def methods_of(run: Run) -> str:
    """Return the run's fair methods."""
    return (
        ", ".join(PATHS[each].title for each in run.spec.plan.methods if each != STANDARD) or "standard only"
    )


def line_of(run: Run, status: RunStatus) -> str:
    """Return data, objective, methods, size, state and time, in Markdown."""
    spec = run.spec
    data = [safe(spec.source.title)] if run.name else []
    size = f"{counted(len(spec.plan.lams), 'weight')} λ × {counted(spec.plan.n_splits, 'split')}"
    when = f"{spec.created[:16].replace('T', ' ')} UTC"
    state = STATES[status.state]
    if status.state == QUEUED and status.doing:
        state = f"{state} {safe(status.doing).removeprefix('waiting ')}"
    parts = [*data, OBJECTIVES[spec.plan.objective].title, methods_of(run), size, state, when]
    return " · ".join(parts)


def missing_data(source: DatasetSource) -> str:
    """Return a sentence about actions that need the missing upload; empty if it is available."""
    if isinstance(source, UploadSource):
        try:
            check_kept(source.sha256, owner=current_owner())
        except StorageError:
            return (
                "The training file of this run is not on this machine. You can view the results, but not "
                "train again or refit a model. Upload the same file on the Data page first."
            )
    return ""
