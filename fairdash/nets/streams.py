"""Two computations side by side on a GPU, which small operations leave almost idle."""

from __future__ import annotations

import threading
from collections.abc import Callable

import torch
from torch import Tensor

#: Each thread's stream beside its current one, by device.
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
    if not hasattr(_OWN, str(device)):
        setattr(_OWN, str(device), torch.cuda.Stream(device))
    here, beside = torch.cuda.current_stream(device), getattr(_OWN, str(device))
    beside.wait_stream(here)
    with torch.cuda.stream(beside):
        of_second = second()
    of_first = first()
    here.wait_stream(beside)
    return of_first, of_second
