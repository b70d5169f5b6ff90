"""Random draws from one seed, with a separate stream for each purpose.

Draws for one purpose never affect draws for another purpose, because the user's seed, a position (such as the
number of a split) and the number of the purpose define a stream. The numbers of the purposes must not change,
because stored results depend on them. Two purposes may share a number if their positions or their kinds of
draws differ. Splits and folds are drawn from the seed and the number of the split or fold alone
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

    #: Stream of the initial weights of a split's models, and of permutations for the floor of one pair.
    INITIAL_WEIGHTS = 1
    PAIR_PERMUTATIONS = 1
    #: Stream of the order of a split's mini-batches, and of half-samples for the interval of a pair.
    MINI_BATCHES = 2
    PAIR_HALVES = 2
    #: Stream of permutations of a whole table, which all splits share, of rows sampled from a long pair, and
    #: of early-stopping rows of a single model.
    TABLE_PERMUTATIONS = 3
    PAIR_ROWS = 3
    STOPPING_ROWS = 3
    #: Stream of early-stopping rows of a fold's models, and of rows sampled from a large training, validation
    #: or test set.
    FOLD_STOPPING_ROWS = 4
    MEASURED_ROWS = 4
    #: Stream of test rows and permutations for permutation importance, and of networks that a study averages.
    IMPORTANCE = 5
    AVERAGED_NETWORKS = 5
    #: Stream that selects the test rows on which a study of a large table measures fairness.
    STUDY_ROWS = 6
    #: Stream of the permutations from which a study computes noise floors.
    STUDY_PERMUTATIONS = 7
    #: Stream that selects the rows from which the fairness penalty of a tariff is computed.
    PENALTY_ROWS = 8
    #: Number of the random stream that draws the rows for choosing a tariff's α and for fitting large tables.
    SHRINKAGE_ROWS = 9
    #: Stream that selects the rows of a large table for a preview.
    FIRST_LOOK_ROWS = 10
    #: Stream that selects the rows on which pilot models are trained and measured, to choose the weights λ.
    PILOT_ROWS = 12
    #: Streams of the conditional test: folds of its regressions, rows for fitting trees, and p-value draws.
    CONDITIONAL_FOLDS = 20
    CONDITIONAL_ROWS = 21
    CONDITIONAL_DRAWS = 22
    #: Stream of holdout rows, which do not depend on the user's seed; see
    #: :mod:`fairdash.training.split_kinds`.
    CONFIRMATION_ROWS = 11
    #: Streams of an audit's folds, and of the draws for an audit's simultaneous limits.
    AUDIT_FOLDS = 23
    AUDIT_DRAWS = 24
    #: Stream that selects the rows to which an audit's trees are fitted.
    AUDIT_ROWS = 25
    #: Streams of an audit's models of price and cost, and of the permutations for testing proxies.
    AUDIT_MODELS = 29
    AUDIT_PROXIES = 30
    #: Streams of the errors that an audit adds to the sensitive attribute, and of draws for segment limits.
    AUDIT_ERRORS = 32
    AUDIT_SEGMENTS = 33


def rng_of(
    stream: Stream, random_state: int | None, *indices: int, then: tuple[int, ...] = ()
) -> np.random.Generator:
    """Return the generator of a stream, or an unseeded generator if the seed is None.

    Parameters
    ----------
    place
        First number that distinguishes the stream, such as the number of a split.
    then
        Second number that distinguishes the stream, such as the position of a feature.
    """
    return np.random.default_rng(None if random_state is None else [random_state, *indices, stream, *then])


def seed_of(stream: Stream, random_state: int, *indices: int) -> int:
    """Return the seed of a stream as a number, for functions that accept only a number as the seed."""
    return int(np.random.SeedSequence([random_state, *indices, stream]).generate_state(1)[0])
