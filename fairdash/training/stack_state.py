"""Where a stack in training stands, as arrays: what it can be gone on from, to the last bit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

if TYPE_CHECKING:
    from fairdash.nets import StackedAdam
    from fairdash.training.batches import Batches
    from fairdash.training.minimax import MinimaxTrainer

#: Weights and moments of both players, who is alive, the best epochs so far, and the random numbers to come.
State: TypeAlias = "Mapping[str, NDArray[np.generic]]"


def state_of(trainer: MinimaxTrainer, batches: Batches, best: Sequence[Tensor], *, epoch: int) -> State:
    """The state after an epoch; `best` is what stopping early remembers, empty without it."""
    found: dict[str, NDArray[np.generic]] = {
        name: tensor.cpu().numpy().copy() for name, tensor in _tensors(trainer, best)
    }
    found["random"] = np.stack([each.get_state().numpy() for each in batches.all_generators])
    found["steps"] = np.array([0 if each is None else each.steps for each in _players(trainer)])
    return found | {"epoch": np.array(epoch)}


def go_on(state: State, trainer: MinimaxTrainer, batches: Batches, best: Sequence[Tensor]) -> int:
    """Put a stack that was built anew where the other one stood; the epoch after which that was."""
    for name, tensor in _tensors(trainer, best):
        tensor.copy_(torch.from_numpy(state[name]))
    for generator, numbers in zip(batches.all_generators, state["random"], strict=True):
        generator.set_state(torch.from_numpy(numbers.copy()))
    for player, steps in zip(_players(trainer), state["steps"].tolist(), strict=True):
        if player is not None:
            player.steps = steps
    return int(state["epoch"])


def _players(trainer: MinimaxTrainer) -> tuple[StackedAdam | None, ...]:
    return trainer.descent, trainer.ascent


def _tensors(trainer: MinimaxTrainer, best: Sequence[Tensor]) -> Iterator[tuple[str, Tensor]]:
    yield "alive", trainer.alive
    for name, player in zip(("descent", "ascent"), _players(trainer), strict=True):
        yield from ((f"{name}_{k}", each) for k, each in enumerate(() if player is None else player.buffers))
    yield from ((f"best_{k}", each) for k, each in enumerate(best))
