"""Devices for training, and estimates of the memory that networks need if they are trained together.

Networks are trained in batches (“stacks”). Before training, fairdash estimates the memory of a stack, and
divides a stack that is too large for the device. The estimate counts the values, in single precision, that
are in memory at the same time. The factors of this estimate were measured with the allocator of the CPU
(tests/training/test_device.py).
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

#: Names of torch's devices in sentences such as “training on the CPU”.
TITLES = {"cuda": "the GPU (CUDA)", "mps": "the GPU (Apple)", "cpu": "the CPU"}

#: Message if ``"auto"`` does not use a GPU.
TOO_SMALL = (
    "Trained on the CPU, which is faster than {gpu} for this small training. The training takes about "
    "{seconds:.1f} s on one core; a GPU is only faster for trainings of at least {least:g} s."
)


@dataclass(frozen=True)
class Device:
    """Device for training, with a message for the user.

    Parameters
    ----------
    name
        Name of the device in torch: ``"cpu"``, ``"cuda"`` or ``"mps"``.
    note
        Message for the user if the device is not the requested one, otherwise empty.
    """

    name: str
    note: str = ""


#: ``"auto"`` trains on a GPU if the estimated time on one slow core is at least this number of seconds
#: (benchmarks/gpu.py). A GPU takes a second to start, so short trainings are faster on a CPU.
MIN_SECONDS_FOR_GPU = 5.0


def resolve_device(name: str, *, seconds: float = math.inf) -> Device:
    """Return the device with the given name; ``"auto"`` selects CUDA if available, else MPS, else the CPU.

    If the requested GPU is not available, the result is the CPU with a note. ``"auto"`` also returns the CPU
    with a note if the training is so short that it would not be faster on a GPU.

    Parameters
    ----------
    seconds
        Estimated time of the training on one slow core, from
        :func:`fairdash.training.stack_trainer.seconds_of`.

    Raises
    ------
    OptionError
        Raised if the name is not ``"auto"``, ``"cpu"``, ``"cuda"`` or ``"mps"``.
    """
    import torch

    availability: Mapping[str, Callable[[], bool]] = {
        "cuda": torch.cuda.is_available,
        "mps": torch.backends.mps.is_available,
        "cpu": lambda: True,
    }
    if name == "auto":
        best = next(device for device, available in availability.items() if available())
        if best == "cpu" or seconds >= MIN_SECONDS_FOR_GPU:
            return Device(best)
        return Device("cpu", TOO_SMALL.format(gpu=TITLES[best], seconds=seconds, least=MIN_SECONDS_FOR_GPU))
    if name not in availability:
        raise OptionError.of(
            "This device is not known", f"Choose one of: auto, {', '.join(availability)}.", column="device"
        )
    if not availability[name]():
        return Device("cpu", f"The device {name} is not available, so the models were trained on the CPU.")
    return Device(name)


#: Maximum memory, in bytes, of networks that a CPU trains together, about the size of the CPU's cache. With
#: more networks, training would wait for main memory.
BYTES_PER_STACK_ON_CPU = 24 * 2**20
#: Share of a GPU's free memory that networks trained together may use.
SHARE_OF_GPU = 0.5
MAX_MODELS_PER_STACK = 2000
_BYTES = 4
#: Number of values in memory per weight of a network: the weight, its gradient and the two moments of Adam.
_VALUES_PER_WEIGHT = 4
#: Number of values in memory per hidden unit and row. The values are the output of the unit, its derivative
#: and, for a part of the time, its gradient.
_VALUES_PER_UNIT = 2.5
#: Number of rows that are predicted at once, which limits the memory of the hidden layers.
ROWS_AT_ONCE = 4096


@dataclass(frozen=True, kw_only=True)
class StackMemory:
    """Memory, in bytes, of models of the same size that are trained together.

    Parameters
    ----------
    training
        Memory per model during training.
    predicting
        Memory per model while all rows are predicted after training.
    rows
        Memory per split for the encoded rows and a mini-batch, during training and prediction.
    """

    training: float
    predicting: float
    rows: float

    @classmethod
    def of(
        cls, method: str, settings: TrainingSettings, *, n_inputs: int, n_rows: int, n_sensitive: int
    ) -> StackMemory:
        """Estimate the memory from the method, the settings and the size of the table."""
        weights = sum(a * b for a, b in itertools.pairwise([n_inputs, *settings.hidden, 1]))
        trained_by = get_entry(METHODS, method, option="method")
        batch = min(max(settings.batch_size, trained_by.rows_a_step), n_rows)
        values_per_unit_row = _VALUES_PER_UNIT * sum(settings.hidden)
        penalty = trained_by.penalty_class()
        if penalty is not None:
            values_per_unit_row += penalty.values_per_row(settings)
        training = _VALUES_PER_WEIGHT * weights + batch * values_per_unit_row
        at_once = max(a + b for a, b in itertools.pairwise([*settings.hidden, 1]))
        # Predictions of all rows are in memory in single and double precision at the same time.
        predicting = _VALUES_PER_WEIGHT * weights + min(ROWS_AT_ONCE, n_rows) * at_once + 3 * n_rows
        return cls(
            training=_BYTES * training,
            predicting=_BYTES * predicting,
            rows=_BYTES * (n_rows * (n_inputs + n_sensitive + 2) + batch * n_inputs),
        )

    def models_that_fit(self, device: str, *, n_splits: int) -> int:
        """Return how many models fit together in the CPU's cache, or in a share of the GPU's memory."""
        import torch

        if device == "cuda":
            memory = SHARE_OF_GPU * torch.cuda.mem_get_info()[0] - n_splits * self.rows
            count = memory / max(self.training, self.predicting)
        else:
            count = BYTES_PER_STACK_ON_CPU / self.training
        return int(np.clip(count, 1, MAX_MODELS_PER_STACK))

    def bytes_of(self, n_models: int, *, n_splits: int) -> float:
        """Return the peak memory, in bytes, if `n_models` models are trained together."""
        return n_splits * self.rows + n_models * max(self.training, self.predicting)


class OutOfMemoryError(Exception):
    """Error raised if models trained together need too much memory; the caller then trains fewer at once."""


def memory_error() -> DeviceError:
    """Return an error that tells the user that not even one model fits in memory."""
    return DeviceError.of(
        "Not enough memory to train these models, even in smaller groups",
        "Choose smaller batches or networks, or another device.",
    )


@contextmanager
def convert_memory_errors() -> Iterator[None]:
    """Convert torch's memory errors, which differ between devices, into an OutOfMemoryError."""
    import torch

    try:
        yield
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise OutOfMemoryError from error
    except RuntimeError as error:
        # On a CPU, torch has no separate error type for a lack of memory.
        if "can't allocate memory" not in str(error):
            raise
        raise OutOfMemoryError from error
