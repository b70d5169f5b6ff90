"""Random draws from one seed, with a separate stream for each purpose.

Draws for one purpose never affect draws for another purpose, because a stream is defined by the user's seed,
its position (such as a split), and the number of the purpose. The numbers of the purposes must not change,
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
    """Purposes of random streams."""

    #: Initial weights of the models of a split, and permutations for the floor of one pair of columns.
    INITIAL_WEIGHTS = 1
    PAIR_PERMUTATIONS = 1
    #: Order of a split's mini-batches, and half-samples for the interval of a pair.
    MINI_BATCHES = 2
    PAIR_HALVES = 2
    #: Permutations of a whole table, which all splits share; sampled rows of a long pair; and early-stopping
    #: rows of a single model.
    TABLE_PERMUTATIONS = 3
    PAIR_ROWS = 3
    STOPPING_ROWS = 3
    #: Early-stopping rows of a fold's models, and sampled rows of a large training, validation or test set.
    FOLD_STOPPING_ROWS = 4
    MEASURED_ROWS = 4
    #: Test rows and permutations for the permutation importance, and networks that a study averages.
    IMPORTANCE = 5
    AVERAGED_NETWORKS = 5
    #: Test rows on which a study measures fairness in a large table.
    STUDY_ROWS = 6
    #: Stream of the permutations behind the noise floors of a study.
    STUDY_PERMUTATIONS = 7
    #: Rows that the penalty of a tariff uses.
    PENALTY_ROWS = 8
    #: Rows on which a tariff's α is selected, and rows of a large table to which a tariff is fitted.
    SHRINKAGE_ROWS = 9
    #: Rows of a large table that a preview uses.
    FIRST_LOOK_ROWS = 10
    #: Rows on which pilot models, from which the weights λ are selected, are trained and measured.
    PILOT_ROWS = 12
    #: Folds of the regressions on given columns, rows to which trees are fitted, and draws for the p-value.
    CONDITIONAL_FOLDS = 20
    CONDITIONAL_ROWS = 21
    CONDITIONAL_DRAWS = 22
    #: Holdout rows, which do not depend on the user's seed; see :mod:`fairdash.training.split_kinds`.
    CONFIRMATION_ROWS = 11
    #: Folds of an audit, and draws for an audit's simultaneous limits.
    AUDIT_FOLDS = 23
    AUDIT_DRAWS = 24
    #: Rows to which an audit's trees are fitted.
    AUDIT_ROWS = 25
    #: Streams of an audit's models of price and cost, and of the permutations for its proxies.
    AUDIT_MODELS = 29
    AUDIT_PROXIES = 30
    #: Errors that an audit adds to the sensitive attribute, and draws for the limits of an audit's segments.
    AUDIT_ERRORS = 32
    AUDIT_SEGMENTS = 33


def rng_of(
    stream: Stream, random_state: int | None, *place: int, then: tuple[int, ...] = ()
) -> np.random.Generator:
    """Return the generator of a stream, or an unseeded generator if the seed is None.

    Parameters
    ----------
    place
        First number that distinguishes the stream, such as the number of a split.
    then
        Second number that distinguishes the stream, such as the position of a feature.
    """
    return np.random.default_rng(None if random_state is None else [random_state, *place, stream, *then])


def seed_of(stream: Stream, random_state: int, *place: int) -> int:
    """Return a stream as a number, for functions that take a seed."""
    return int(np.random.SeedSequence([random_state, *place, stream]).generate_state(1)[0])
