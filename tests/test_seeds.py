"""Streams of random numbers: the ones that stored results were made with, and one a purpose and place."""

import doctest

import numpy as np

from fairdash.utils import seeds
from fairdash.utils.seeds import Stream, rng_of, seed_of


def test_the_streams_are_those_of_stored_results():
    numbers = (
        "INITIAL_WEIGHTS=1 PAIR_PERMUTATIONS=1 MINI_BATCHES=2 PAIR_HALVES=2 TABLE_PERMUTATIONS=3 "
        "PAIR_ROWS=3 STOPPING_ROWS=3 FOLD_STOPPING_ROWS=4 MEASURED_ROWS=4 IMPORTANCE=5 "
        "AVERAGED_NETWORKS=5 STUDY_ROWS=6 STUDY_PERMUTATIONS=7 PENALTY_ROWS=8 SHRINKAGE_ROWS=9 "
        "FIRST_LOOK_ROWS=10 PILOT_ROWS=12 CONDITIONAL_FOLDS=20 CONDITIONAL_ROWS=21 "
        "CONDITIONAL_DRAWS=22 CONFIRMATION_ROWS=11 AUDIT_FOLDS=23 AUDIT_DRAWS=24 AUDIT_ROWS=25 "
        "AUDIT_MODELS=29 AUDIT_PROXIES=30 AUDIT_ERRORS=32 AUDIT_SEGMENTS=33 "
    ).split()
    assert {f"{name}={int(each)}" for name, each in Stream.__members__.items()} == set(numbers)
    assert seed_of(Stream.INITIAL_WEIGHTS, 7, 2) == np.random.SeedSequence([7, 2, 1]).generate_state(1)[0]
    drawn = rng_of(Stream.IMPORTANCE, 7, 2, then=(4,)).random(3)
    assert np.array_equal(drawn, np.random.default_rng([7, 2, 5, 4]).random(3))


def test_every_place_and_purpose_has_a_stream_of_its_own():
    seen = {
        rng_of(stream, seed, split).random() for stream in Stream for seed in range(3) for split in range(3)
    }
    assert len(seen) == len(Stream) * 9


def test_the_modules_example_holds():
    assert doctest.testmod(seeds).failed == 0
