"""Reading a table within the memory that it may take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fairdash.errors import FairdashError, ReadingError
from fairdash.utils.memory import beyond, is_out_of_memory, limited_memory


@contextmanager
def bounded() -> Iterator[None]:
    """Limit what the reading inside may take.

    Raises
    ------
    ReadingError
        It would take more than :func:`fairdash.utils.memory.most_memory`.
    """
    try:
        with limited_memory():
            yield
    except FairdashError:
        raise
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        raise ReadingError.of(
            f"reading the table takes more {beyond()}",
            "Take a sample of the rows, leave columns out, or set FAIRDASH_MEMORY to more (in GB).",
        ) from None
