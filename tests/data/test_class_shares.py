"""Probabilities of classes as they come: rounded, in per cent, and rows without any."""

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.errors import DataError

RNG = np.random.default_rng(2)
N = 600
P = RNG.dirichlet([2, 2, 2], N)
NAMES = ["p_a", "p_b", "p_c"]


def audited(p: np.ndarray) -> fd.AuditResult:
    frame = pd.DataFrame(p, columns=NAMES).assign(price=300 + 40 * P[:, 0] + RNG.normal(0, 5, N))
    return fd.audit(frame, price="price", probabilities=NAMES, questions=[9])


@pytest.mark.every_case
@pytest.mark.parametrize("scale", [1, 100])
@pytest.mark.parametrize("digits", [2, 4, 12])
def test_rounded_shares_and_per_cent_are_taken(digits: int, scale: int) -> None:
    result = audited(np.round(P, digits) * scale)
    assert any("per cent" in note for note in result.notes) is (scale == 100)


def test_rows_without_a_class_are_left_out_and_counted() -> None:
    p = P.copy()
    p[::10] = 0
    assert any(note.startswith("In 60 rows all of “p_a”") for note in audited(p).notes)


@pytest.mark.parametrize("wrong", [0.9, 1.1, 2.0])
def test_rows_that_are_no_shares_are_refused(wrong: float) -> None:
    p = P.copy()
    p[:5] *= wrong
    with pytest.raises(DataError, match="5 places"):
        audited(p)
