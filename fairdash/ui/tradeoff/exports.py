"""Files of a run to take away: made for their owner, and noted in the run's log."""

from __future__ import annotations

from collections.abc import Callable

from fairdash.runs.log import note
from fairdash.runs.store import Run
from fairdash.storage import sha256
from fairdash.ui.files import download_file
from fairdash.ui.owner import current_owner


def download_of(run: Run, make: Callable[[], bytes], **button: str) -> None:
    """A button that makes a file of the run for its owner, and has the log say so."""
    owner = current_owner()

    def made() -> bytes:
        # Asked again: the run may have been deleted since the button was drawn.
        Run(run.id, owner=owner)
        content = make()
        note(run.folder, "exported", who=owner, file=button["name"], sha256=sha256(content))
        return content

    download_file(made, **button)
