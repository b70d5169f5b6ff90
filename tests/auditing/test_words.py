"""What an audit says, from numbers that are known."""

from __future__ import annotations

import pytest

from fairdash.auditing.gaps import Estimate
from fairdash.auditing.questions.decomposition import in_words


def within_one(value: float) -> Estimate:
    return Estimate(value=value, ci_low=value - 1, ci_high=value + 1)


@pytest.mark.parametrize(
    ("gap", "cost", "words"),
    [
        (10, 7, "10.0 % (9.0 % to 11.0 %) of the mean price. Expected cost would justify a change of 7.0 % (6.0 % to 8.0 %); "
         "3.0 % (2.0 % to 4.0 %) is unexplained."),
        (10, 9.5, "Expected cost would justify a change of 9.5 % (8.5 % to 10.5 %); 0.5 % (-0.5 % to 1.5 %) is unexplained, which can be noise."),
        (10, 15, "Expected cost changes by 15.0 % (14.0 % to 16.0 %), which is 5.0 % (4.0 % to 6.0 %) more."),
        # Fixed points may lie on a slope that falls.
        (-10, -7, "would justify a change of -7.0 % (-8.0 % to -6.0 %); -3.0 % (-4.0 % to -2.0 %) is unexplained."),
        (-10, -15, "changes by -15.0 % (-16.0 % to -14.0 %), which is 5.0 % (4.0 % to 6.0 %) more."),
        (10, -5, "would justify a change of -5.0 % (-6.0 % to -4.0 %); 15.0 % (14.0 % to 16.0 %) is unexplained."),
    ],
)  # fmt: skip
def test_cost_that_changes_by_more_than_the_price_is_not_called_less_than_nothing(gap, cost, words):
    parts = {"gap": within_one(gap), "earned": within_one(cost), "left": within_one(gap - cost)}
    said = in_words(parts, [(20.0, 60.0)], 100.0, "age")
    assert said.startswith("From “age” 20 to 60 (its 10th and 90th percentile) the price changes by ")
    assert said.endswith(words)
