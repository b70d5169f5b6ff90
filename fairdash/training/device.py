"""Where to train: a GPU where there is one, the CPU otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fairdash.errors import OptionError

#: torch's names of the devices, in words that end "training on …".
TITLES = {"cuda": "the GPU (CUDA)", "mps": "the GPU (Apple)", "cpu": "the CPU"}


@dataclass(frozen=True)
class Device:
    """A device to train on.

    Parameters
    ----------
    name
        torch's name: ``"cpu"``, ``"cuda"`` or ``"mps"``.
    note
        A sentence for the user if it is not what was asked for, else empty.
    """

    name: str
    note: str = ""


def resolve_device(name: str) -> Device:
    """The device called `name`; ``"auto"`` takes CUDA, then MPS, then the CPU.

    A GPU that was asked for and is not there gives the CPU, with a note that says so.

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
        return Device(next(device for device, available in there.items() if available()))
    if name not in there:
        raise OptionError.of(
            "This device is not known", f"Choose one of: auto, {', '.join(there)}.", column="device"
        )
    if not there[name]():
        return Device("cpu", f"The device {name} is not there; trained on the CPU instead.")
    return Device(name)
