"""Record a step once and replay it, so that a GPU runs its operations without waiting for the host.

A step of a stack consists of 60 to 2,000 small operations. Launching each of them takes the host longer than
computing it takes a GPU.

>>> total = torch.zeros(1)
>>> steps = Repeated(lambda: total.add_(1), device="cpu")
>>> steps(), steps(), total.item()
(None, None, 2.0)
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

import torch

Step: TypeAlias = Callable[[], object]
#: Steps that run before one is recorded: libraries set themselves up in them.
_RUNS_BEFORE = 1
#: Replays that may wait on the GPU. A host that went further ahead would notice a cancellation late.
_MAX_AHEAD = 32
#: Message for a step that could not be recorded.
NOT_RECORDED = (
    "The GPU could not record the training steps, so it ran their operations one at a time, which is slower."
)

log = logging.getLogger(__name__)


def cuda_graph(step: Step) -> Step:
    """Record a step on the current stream as a CUDA graph, and return the function that replays it.

    Raises
    ------
    RuntimeError
        An operation can't be recorded, such as one that returns a number to the host.
    """
    graph, ahead = torch.cuda.CUDAGraph(), deque[torch.cuda.Event]()
    # Other threads of the app may use the GPU meanwhile.
    with torch.cuda.graph(graph, stream=torch.cuda.current_stream(), capture_error_mode="thread_local"):
        step()

    def replay() -> None:
        graph.replay()
        ahead.append(torch.cuda.Event())
        ahead[-1].record()
        if len(ahead) > _MAX_AHEAD:
            ahead.popleft().synchronize()

    return replay


#: The recorder of each device; on others each operation is launched by itself.
RECORDERS: Mapping[str, Callable[[Step], Step]] = {"cuda": cuda_graph}


class Repeated:
    """A step that runs many times on the same tensors, recorded if the device can replay it.

    Parameters
    ----------
    step
        Function that reads and writes tensors that stay in place, and reads no changing number from the host.
    device
        Device of these tensors.
    """

    def __init__(self, step: Step, *, device: str) -> None:
        self._step = self._run = step
        self._record = RECORDERS.get(device)
        self._runs = 0
        #: True if the device refused to record the step, which is then launched operation by operation.
        self.is_refused = False

    def __call__(self) -> None:
        """Run the step once more."""
        if self._record is not None and self._runs == _RUNS_BEFORE:
            try:
                self._run = self._record(self._step)
            except torch.OutOfMemoryError:
                raise
            except RuntimeError as error:
                # Recording runs nothing: if the step itself is wrong, it raises an error below.
                log.info("The step could not be recorded: %s", error)
                self.is_refused = True
        self._runs += 1
        self._run()


@contextmanager
def stream_of_its_own(device: str) -> Iterator[None]:
    """Run the block on a separate stream, which recording requires, and wait for it at the end."""
    if device != "cuda":
        yield
        return
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    try:
        with torch.cuda.stream(stream):
            yield
    finally:
        stream.synchronize()
