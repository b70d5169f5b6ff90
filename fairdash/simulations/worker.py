"""Carrying out one study, in whatever process has taken it (:mod:`fairdash.cli.worker`)."""

from __future__ import annotations

import logging

from fairdash.simulations.store import fail, work
from fairdash.utils.error_log import trace_of

log = logging.getLogger("fairdash.simulations")


def main(key: str) -> int:
    """Carry out the study of that key; the exit status is 0 if it is done."""
    try:
        return 0 if work(key) else 1
    except Exception as error:
        # The boundary of the process: the trace goes to the log, the page says that it failed.
        log.error("study %s: %s", key, trace_of(error))
        fail(key)
        return 1
