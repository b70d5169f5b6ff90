"""Devices for training, and the memory that a stack needs on them.

The memory of a stack is predicted, and a stack too large for the device is split before training. The
prediction counts the numbers held at the same time, in single precision. Its factors were measured with the
CPU's allocator (tests/training/test_device.py).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from fairdash.errors import DeviceError, OptionError
from fairdash.training.methods import METHODS
from fairdash.training.settings import TrainingSettings
from fairdash.utils.registry import get_entry

#: Names of torch's devices in sentences that end in “training on …”.
TITLES = {"cuda": "the GPU (CUDA)", "mps": "the GPU (Apple)", "cpu": "the CPU"}

#: Message if ``"auto"`` does not use a GPU.
TOO_SMALL = (
    "Trained on the CPU, which is faster than {gpu} for so small a training: it takes one core an estimated "
    "{seconds:.1f} s, and a GPU is worth its start from {least:g} s."
)


@dataclass(frozen=True)
class Device:
    """Device for training.

    Parameters
    ----------
    name
        torch's name: ``"cpu"``, ``"cuda"`` or ``"mps"``.
    note
        A sentence for the user if it is not what was asked for, else empty.
    """

    name: str
    note: str = ""


#: Estimated seconds on one slow core from which ``"auto"`` trains on a GPU (benchmarks/gpu.py): less is done
#: sooner on a CPU, because a GPU takes a second to start.
MIN_SECONDS_FOR_GPU = 5.0


def resolve_device(name: str, *, seconds: float = math.inf) -> Device:
    """Return the device called `name`; ``"auto"`` prefers CUDA, then MPS, then the CPU.

    A GPU that was asked for and is not there gives the CPU, with a note that says so; so does ``"auto"`` for
    a training that is too small for a GPU to be faster.

    Parameters
    ----------
    seconds
        What the training takes one slow core, by :func:`fairdash.training.stack_trainer.seconds_of`.

    Raises
    ------
    OptionError
        The name is none of auto, cpu, cuda and mps.
    """
    import torch

    there: Mapping[str, Callable[[], bool]] = {
        "cuda": torch.cuda.is_available,
        "mps": torch.backends.mps.is_available,
        "cpu": lambda: True,
    }
    if name == "auto":
        best = next(device for device, available in there.items() if available())
        if best == "cpu" or seconds >= MIN_SECONDS_FOR_GPU:
            return Device(best)
        return Device("cpu", TOO_SMALL.format(gpu=TITLES[best], seconds=seconds, least=MIN_SECONDS_FOR_GPU))
    if name not in there:
        raise OptionError.of(
            "This device is not known", f"Choose one of: auto, {', '.join(there)}.", column="device"
        )
    if not there[name]():
        return Device("cpu", f"The device {name} is not there; trained on the CPU instead.")
    return Device(name)


#: Memory that the networks and batches of one stack may take on a CPU: about what its cache holds. More
#: models at once are no slower to launch, but each pass over them then waits for the memory.
BYTES_PER_STACK_ON_CPU = 24 * 2**20
#: Share of a GPU's free memory that one stack may take.
SHARE_OF_GPU = 0.5
MAX_MODELS_PER_STACK = 2000
_BYTES = 4
#: A weight needs memory for a gradient and two moments.
_A_WEIGHT = 4
#: A hidden unit of a row needs memory for its slope, and briefly for its gradient.
_A_UNIT = 2.5
#: Rows per prediction, which bound the memory of K hidden layers.
ROWS_AT_ONCE = 4096


@dataclass(frozen=True, kw_only=True)
class StackMemory:
    """Memory, in bytes, of a stack's models, which all have the same size.

    Parameters
    ----------
    training
        Of each model while it is trained.
    predicting
        Of each model when it predicts all rows, which comes after.
    rows
        Of the encoded rows and the mini-batch of each split, all the while.
    """

    training: float
    predicting: float
    rows: float

    @classmethod
    def of(
        cls, method: str, settings: TrainingSettings, *, n_inputs: int, n_rows: int, n_sensitive: int
    ) -> StackMemory:
        """Estimate the memory for models on a table of this many rows, inputs and sensitive columns."""
        weights = sum(a * b for a, b in itertools.pairwise([n_inputs, *settings.hidden, 1]))
        trained_by = get_entry(METHODS, method, option="method")
        batch = min(max(settings.batch_size, trained_by.rows_a_step), n_rows)
        a_row = _A_UNIT * sum(settings.hidden)
        penalty = trained_by.penalty_class()
        if penalty is not None:
            a_row += penalty.floats_a_row(settings)
        training = _A_WEIGHT * weights + batch * a_row
        at_once = max(a + b for a, b in itertools.pairwise([*settings.hidden, 1]))
        # Single precision beside double, of all rows.
        predicting = _A_WEIGHT * weights + min(ROWS_AT_ONCE, n_rows) * at_once + 3 * n_rows
        return cls(
            training=_BYTES * training,
            predicting=_BYTES * predicting,
            rows=_BYTES * (n_rows * (n_inputs + n_sensitive + 2) + batch * n_inputs),
        )

    def models_that_fit(self, device: str, *, n_splits: int) -> int:
        """Number of such models that a stack can hold: limited by a CPU's cache or a share of a GPU's
        memory."""
        import torch

        if device == "cuda":
            room = SHARE_OF_GPU * torch.cuda.mem_get_info()[0] - n_splits * self.rows
            most = room / max(self.training, self.predicting)
        else:
            most = BYTES_PER_STACK_ON_CPU / self.training
        return int(np.clip(most, 1, MAX_MODELS_PER_STACK))

    def bytes_of(self, n_models: int, *, n_splits: int) -> float:
        """Return the peak memory of such a stack."""
        return n_splits * self.rows + n_models * max(self.training, self.predicting)


class OutOfMemoryError(Exception):
    """Stack too large for the device; a separate type so that a smaller stack can be tried."""


def too_little_memory() -> DeviceError:
    """Return the memory error for the user, when no smaller training is left to try."""
    return DeviceError.of(
        "Not enough memory to train these models, even in smaller groups",
        "Choose smaller batches or networks, or another device.",
    )


@contextmanager
def naming_lack_of_memory() -> Iterator[None]:
    """Convert torch's memory errors, which differ between devices, into OutOfMemoryError."""
    import torch

    try:
        yield
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise OutOfMemoryError from error
    except RuntimeError as error:
        # The CPU's allocator has no type of its own.
        if "can't allocate memory" not in str(error):
            raise
        raise OutOfMemoryError from error
