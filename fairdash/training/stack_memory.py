"""Memory that a stack takes, foretold: what a device can't hold is cut before it is tried.

Counted are the numbers that live at once, in single precision. The factors are what the CPU's allocator was
seen to hand out; tests/training/test_stack_memory.py compares.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from fairdash.training.methods import METHODS
from fairdash.training.settings import TrainingSettings
from fairdash.utils.registry import get_entry

_BYTES = 4
#: A weight has a gradient and two moments beside it.
_A_WEIGHT = 4
#: A hidden unit of a row has its slope, and for a moment what comes back to it.
_A_UNIT = 2.5
#: Rows that are predicted at once: bounds the memory of K hidden layers.
ROWS_AT_ONCE = 4096


@dataclass(frozen=True, kw_only=True)
class StackMemory:
    """Bytes that the models of a stack take, all alike.

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
        """Of such models, on a table of so many rows, encoded inputs and sensitive columns."""
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

    def bytes_of(self, n_models: int, *, n_splits: int) -> float:
        """The most that such a stack takes at any time."""
        return n_splits * self.rows + n_models * max(self.training, self.predicting)
