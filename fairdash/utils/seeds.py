"""Derive all random draws from one seed, with a separate stream for each purpose.

Draws for one purpose never affect another: a stream consists of the user's seed, its position (such as a
split), and the number of the purpose. These numbers can't change, because stored results depend on them. Two
purposes may share a number if their positions or their kinds of draws differ. Splits and folds are drawn from
the seed and their number alone (:mod:`fairdash.training.splits`).

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

    #: Initial weights of the models of a split; and permutations behind a floor of one pair of columns.
    INITIAL_WEIGHTS = 1
    PAIR_PERMUTATIONS = 1
    #: Order of a split's mini-batches; and half-samples for the interval of a pair.
    MINI_BATCHES = 2
    PAIR_HALVES = 2
    #: Permutations of a whole table, the same for all splits; rows that are measured of a long pair; and rows
    #: that tell one model of one table when to stop.
    TABLE_PERMUTATIONS = 3
    PAIR_ROWS = 3
    STOPPING_ROWS = 3
    #: Rows that tell a fold's models when to stop; and rows that are measured of a large part.
    FOLD_STOPPING_ROWS = 4
    MEASURED_ROWS = 4
    #: Test rows, and their permutations, behind importance; and the networks that a study averages.
    IMPORTANCE = 5
    AVERAGED_NETWORKS = 5
    #: Test rows that the fairness columns of a study's large table are measured on.
    STUDY_ROWS = 6
    #: Permutations behind the floors of a study.
    STUDY_PERMUTATIONS = 7
    #: Rows that the penalty of a tariff sees.
    PENALTY_ROWS = 8
    #: Rows on which a tariff's shrinkage is compared, and rows that a tariff of a large table sees.
    SHRINKAGE_ROWS = 9
    #: Rows of a large table that its preview sees.
    FIRST_LOOK_ROWS = 10
    #: Rows that a pilot of the weights λ trains on, and is measured on.
    PILOT_ROWS = 12
    #: Folds of the regressions on given columns, rows that trees see, and draws behind their p-value.
    CONDITIONAL_FOLDS = 20
    CONDITIONAL_ROWS = 21
    CONDITIONAL_DRAWS = 22
    #: Rows set aside for a confirmation: of no seed of the user's, see :mod:`fairdash.training.split_kinds`.
    CONFIRMATION_ROWS = 11
    #: Which fold of an audit a row is in; and draws behind an audit's simultaneous limits.
    AUDIT_FOLDS = 23
    AUDIT_DRAWS = 24
    #: Rows on which an audit's trees are grown.
    AUDIT_ROWS = 25
    #: Streams of an audit's models of price and cost, and of the permutations for its proxies.
    AUDIT_MODELS = 29
    AUDIT_PROXIES = 30
    #: Errors added to an audit's sensitive attribute; and draws behind the limits of its segments.
    AUDIT_ERRORS = 32
    AUDIT_SEGMENTS = 33


def rng_of(
    stream: Stream, random_state: int | None, *place: int, then: tuple[int, ...] = ()
) -> np.random.Generator:
    """Return a stream's generator, or a fresh one without a seed.

    Parameters
    ----------
    place
        Position, such as the number of a split.
    then
        Position within it, such as the position of a feature.
    """
    return np.random.default_rng(None if random_state is None else [random_state, *place, stream, *then])


def seed_of(stream: Stream, random_state: int, *place: int) -> int:
    """Return a stream as a number, for functions with a seed of their own."""
    return int(np.random.SeedSequence([random_state, *place, stream]).generate_state(1)[0])
