"""Recording of a training step, which a GPU can replay without waiting for the host.

A training step consists of 60 to 2,000 small operations, and the host takes longer to launch an operation
than a GPU takes to compute it.

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
#: Number of steps that run before a step is recorded; libraries initialise themselves in these steps.
_RUNS_BEFORE_RECORDING = 1
#: Maximum number of replayed steps in the queue of the GPU. With a longer queue, a cancellation would take
#: effect late.
_MAX_QUEUED = 32
#: Message for the user if a step could not be recorded.
NOT_RECORDED = (
    "The GPU could not record the training steps, so it ran their operations one at a time, which is slower."
)

log = logging.getLogger(__name__)


def cuda_graph(step: Step) -> Step:
    """Record a step on the current stream as a CUDA graph, and return the function that replays it.

    Raises
    ------
    RuntimeError
        Raised if an operation cannot be recorded, such as one that returns a number to the host.
    """
    graph, events = torch.cuda.CUDAGraph(), deque[torch.cuda.Event]()
    # Other threads of the app may use the GPU during recording.
    with torch.cuda.graph(graph, stream=torch.cuda.current_stream(), capture_error_mode="thread_local"):
        step()

    def replay() -> None:
        graph.replay()
        events.append(torch.cuda.Event())
        events[-1].record()
        if len(events) > _MAX_QUEUED:
            events.popleft().synchronize()

    return replay


#: Functions that record a step, by device. On other devices, the operations of a step are launched one by
#: one.
RECORDERS: Mapping[str, Callable[[Step], Step]] = {"cuda": cuda_graph}


class Repeated:
    """Step that runs many times on the same tensors; it is recorded if the device supports recording.

    Parameters
    ----------
    step
        Function that reads and writes tensors at fixed addresses. It must not use numbers from the host that
        change from call to call.
    device
        Device of the tensors.
    """

    def __init__(self, step: Step, *, device: str) -> None:
        self._step = self._run = step
        self._record = RECORDERS.get(device)
        self._runs = 0
        #: True if recording failed, so that the operations of the step are launched one by one.
        self.recording_failed = False

    def __call__(self) -> None:
        """Run the step once."""
        if self._record is not None and self._runs == _RUNS_BEFORE_RECORDING:
            try:
                self._run = self._record(self._step)
            except torch.OutOfMemoryError:
                raise
            except RuntimeError as error:
                # Recording does not compute anything. If the step itself has an error, the call below raises
                # it.
                log.info("The step could not be recorded: %s", error)
                self.recording_failed = True
        self._runs += 1
        self._run()


@contextmanager
def separate_stream(device: str) -> Iterator[None]:
    """Run a block on a separate CUDA stream, as recording requires, and wait for the stream at the end."""
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
