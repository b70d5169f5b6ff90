"""Random draws from one seed, with a separate stream for each purpose.

Draws for one purpose never affect draws for another purpose, because the user's seed, a position (such as the
number of a split) and the number of the purpose define a stream. The numbers of the purposes must not change,
because stored results depend on them. Two purposes may share a number if their positions differ, or if they
draw in different ways. Splits and folds depend only on the seed and on the number of the split or fold
(:mod:`fairdash.training.splits`).

>>> seed_of(Stream.INITIAL_WEIGHTS, 0, 0) == seed_of(Stream.INITIAL_WEIGHTS, 0, 0)
True
>>> seed_of(Stream.INITIAL_WEIGHTS, 0, 0) == seed_of(Stream.MINI_BATCHES, 0, 0)
False
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Stream(IntEnum):
    """Purposes of random streams, and the number of each purpose."""

    #: Initial weights of a split's models.
    INITIAL_WEIGHTS = 1
    #: Permutations for the independence floor of a pair of variables.
    PAIR_PERMUTATIONS = 1
    #: Order of a split's mini-batches.
    MINI_BATCHES = 2
    #: Half-samples for the interval of the dependence of a pair of variables.
    PAIR_HALVES = 2
    #: Permutations of a whole table, which are the same for all splits.
    TABLE_PERMUTATIONS = 3
    #: Rows that are sampled from a long pair of variables.
    PAIR_ROWS = 3
    #: Rows for early stopping of a single model.
    STOPPING_ROWS = 3
    #: Rows for early stopping of a fold's models.
    FOLD_STOPPING_ROWS = 4
    #: Rows that are sampled from a large training, validation or test set.
    MEASURED_ROWS = 4
    #: Test rows and permutations for permutation importance.
    IMPORTANCE = 5
    #: Networks that a study averages.
    AVERAGED_NETWORKS = 5
    #: Test rows on which a study of a large table measures fairness.
    STUDY_ROWS = 6
    #: Permutations from which a study computes noise floors.
    STUDY_PERMUTATIONS = 7
    #: Rows from which the fairness penalty of a tariff is computed.
    PENALTY_ROWS = 8
    #: Rows for the choice of a tariff's α and for fits to large tables.
    SHRINKAGE_ROWS = 9
    #: Rows of a large table for a preview.
    FIRST_LOOK_ROWS = 10
    #: Rows for the training and evaluation of pilot models, from which the weights λ are chosen.
    PILOT_ROWS = 12
    #: Folds of the regressions of the conditional test.
    CONDITIONAL_FOLDS = 20
    #: Rows to which the trees of the conditional test are fitted.
    CONDITIONAL_ROWS = 21
    #: Draws for the p-value of the conditional test.
    CONDITIONAL_DRAWS = 22
    #: Holdout rows, which do not depend on the user's seed (see :mod:`fairdash.training.split_kinds`).
    CONFIRMATION_ROWS = 11
    #: Folds of an audit.
    AUDIT_FOLDS = 23
    #: Draws for an audit's simultaneous confidence limits.
    AUDIT_DRAWS = 24
    #: Rows to which an audit's trees are fitted.
    AUDIT_ROWS = 25
    #: An audit's models of price and cost.
    AUDIT_MODELS = 29
    #: Permutations with which an audit tests proxies.
    AUDIT_PROXIES = 30
    #: Errors that an audit adds to the sensitive attribute.
    AUDIT_ERRORS = 32
    #: Draws for the confidence limits of an audit's segments.
    AUDIT_SEGMENTS = 33


def rng_of(
    stream: Stream, random_state: int | None, *indices: int, then: tuple[int, ...] = ()
) -> np.random.Generator:
    """Return the generator of a stream, or an unseeded generator if the seed is None.

    Parameters
    ----------
    place
        First number that identifies the stream, such as the number of a split.
    then
        Second number that identifies the stream, such as the position of a feature.
    """
    return np.random.default_rng(None if random_state is None else [random_state, *indices, stream, *then])


def seed_of(stream: Stream, random_state: int, *indices: int) -> int:
    """Return the seed of a stream as a number, for functions whose seed must be a number."""
    return int(np.random.SeedSequence([random_state, *indices, stream]).generate_state(1)[0])
