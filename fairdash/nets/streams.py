"""Two computations side by side on a GPU, which small operations leave almost idle."""

from __future__ import annotations

import threading
from collections.abc import Callable

import torch
from torch import Tensor

_OWN = threading.local()


def side_by_side(
    first: Callable[[], Tensor], second: Callable[[], Tensor], *, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Return both results; on a GPU the second is computed on another stream, and so is its gradient.

    They must not share what either allocates: memory that one stream frees is used again by the same stream,
    whatever the other one still reads.
    """
    if device.type != "cuda":
        return first(), second()
    if not hasattr(_OWN, "stream"):
        _OWN.stream = torch.cuda.Stream()
    here = torch.cuda.current_stream()
    _OWN.stream.wait_stream(here)
    with torch.cuda.stream(_OWN.stream):
        of_second = second()
    of_first = first()
    here.wait_stream(_OWN.stream)
    return of_first, of_second
