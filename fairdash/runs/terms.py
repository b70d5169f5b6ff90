"""Terms hold whether or not anybody looks: processes that stay call this once in a while."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from filelock import FileLock, Timeout

from fairdash.data.uploads import forget_tables
from fairdash.errors import StorageError
from fairdash.runs.deletion import delete_expired, last_deletion
from fairdash.storage import data_folder, make_parents

SECONDS_BETWEEN = 60.0

log = logging.getLogger("fairdash.terms")


class _Seen:
    """The last deletion that this process knows of."""

    deletion: bytes | None = None


def enforce() -> int:
    """Delete the files whose term is over, with what was made from them; how many they were.

    Takes out of this process's memory what any process has deleted. Several processes may call it at
    once: one of them does it. What can't be deleted is said in the log, and tried again at the next call.
    """
    n_over = 0
    try:
        lock = data_folder("terms.lock")
        make_parents(lock)
        with FileLock(lock, timeout=0, is_singleton=False):
            n_over = delete_expired()
    except Timeout:
        pass
    except (StorageError, OSError) as error:
        log.error("terms could not be enforced, and will be tried again: %s", error)
    if _Seen.deletion not in (None, last_deletion()):
        forget_tables()
    _Seen.deletion = last_deletion()
    return n_over


def keep_enforcing(
    *, seconds: float = SECONDS_BETWEEN, then: Callable[[], object] = lambda: None
) -> Callable[[], None]:
    """Enforce the terms now and every so often, in a thread of this process.

    Parameters
    ----------
    seconds
        Between two times.
    then
        What to do after each.

    Returns
    -------
    callable
        Ends it.
    """
    ended = threading.Event()

    def work() -> None:
        while True:
            try:
                enforce()
                then()
            except Exception:
                # The boundary of the thread: terms must hold tomorrow too.
                log.exception("terms could not be enforced")
            if ended.wait(seconds):
                return

    threading.Thread(target=work, daemon=True, name="fairdash terms").start()
    return ended.set
