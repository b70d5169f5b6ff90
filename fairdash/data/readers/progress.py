"""How far the reading of a file is, for whoever wants to hear.

>>> with heard_by(print):
...     tell("100 rows")
100 rows
>>> tell("nobody hears this")
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Not an argument: between the page and a reader stands a memory of tables, whose key is the file and the
# options alone.
_LISTENER: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


@contextmanager
def heard_by(listener: Callable[[str], None]) -> Iterator[None]:
    """Have the readers that run inside tell a listener what they are at, in words that end a sentence."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def tell(what: str) -> None:
    """Say what is being read, if anybody listens."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(what)
