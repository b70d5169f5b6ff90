"""Status of a job: its progress and how it ended."""

from __future__ import annotations

from dataclasses import dataclass

_STATES = QUEUED, RUNNING, DONE, CANCELLED, FAILED = "queued", "running", "done", "cancelled", "failed"


@dataclass(frozen=True, kw_only=True)
class RunStatus:
    """Progress of a run.

    Parameters
    ----------
    state
        ``"queued"``, ``"running"``, ``"done"``, ``"cancelled"`` or ``"failed"``.
    doing
        Current step, or what it waits for, in plain words.
    fraction
        Share of the work done, 0 to 1.
    seconds
        Since the worker began.
    seconds_left
        Range of the estimate; None while there is nothing to estimate from.
    message
        Why it failed, for the user.
    before
        Number of jobs ahead of it, while it is queued.
    """

    state: str
    doing: str = ""
    fraction: float = 0.0
    seconds: float = 0.0
    seconds_left: tuple[float, float] | None = None
    message: str = ""
    before: int = 0

    def __post_init__(self) -> None:
        if self.state not in _STATES:
            raise ValueError("not a status")

    @property
    def is_over(self) -> bool:
        return self.state in (DONE, CANCELLED, FAILED)
