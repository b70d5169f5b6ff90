"""The process that carries out one study: ``python -m fairdash.studies.worker KEY``."""

from __future__ import annotations

import logging
import sys

from fairdash.detached import lower_priority
from fairdash.studies.store import fail, work
from fairdash.traces import trace_of

log = logging.getLogger("fairdash.studies")


def main(key: str) -> int:
    """Carry out the study of that key; the exit status is 0 if it is done."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    try:
        return 0 if work(key) else 1
    except Exception as error:
        # The boundary of the process: the trace goes to the log, the page says that it failed.
        log.error("study %s: %s", key, trace_of(error))
        fail(key)
        return 1


if __name__ == "__main__":
    lower_priority()
    sys.exit(main(sys.argv[1]))
