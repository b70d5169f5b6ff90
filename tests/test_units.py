"""Units of work: what they have found goes into files and comes back to the last bit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from fairdash.jobs.steps import at_once, from_files, to_files, within

DTYPES = ["bool", "uint8", "int32", "int64", "float32", "float64"]
arrays = st.sampled_from(DTYPES).flatmap(
    lambda dtype: arrays_of.arrays(dtype, arrays_of.array_shapes(min_dims=0, min_side=0, max_dims=3))
)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec="utf-8")),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text("abc"), each, max_size=3),
    max_leaves=8,
)


@st.composite
def frames(draw):
    n = draw(st.integers(0, 5))
    columns = {
        "whole": st.integers(-(2**63), 2**63 - 1),
        "number": st.floats(allow_nan=True),
        "mark": st.booleans(),
        "text": st.text("λ a", max_size=3),
    }
    dtypes = {"whole": "int64", "number": "float64", "mark": "bool", "text": "str"}
    frame = pd.DataFrame(
        {
            name: pd.Series(draw(st.lists(cells, min_size=n, max_size=n)), dtype=dtypes[name])
            for name, cells in columns.items()
        }
    )
    if n and draw(st.booleans()):
        frame["kind"] = pd.Categorical(frame["text"], ordered=draw(st.booleans()))
    if n and draw(st.booleans()):
        frame.index = pd.Index(draw(st.lists(st.integers(0, 99), min_size=n, max_size=n)), dtype="int64")
    return frame


@settings(max_examples=40, deadline=None)
@given(frame=frames(), array=arrays, value=plain)
def test_what_was_found_comes_back_to_the_last_bit(frame, array, value):
    again = from_files(to_files({"frame": frame, "array [a/b]": array, "value": value}))
    pd.testing.assert_frame_equal(again["frame"], frame, check_exact=True)
    numbers = frame["number"].to_numpy()
    back = again["frame"]["number"].to_numpy()
    assert np.array_equal(np.signbit(numbers[~np.isnan(numbers)]), np.signbit(back[~np.isnan(back)]))
    own = again["array [a/b]"]
    assert (own.dtype, own.shape, own.tobytes()) == (array.dtype, array.shape, array.tobytes())
    assert repr(again["value"]) == repr(value)


@pytest.mark.parametrize(
    "value",
    [
        np.array(["text"], dtype=object),
        np.array([1, 2], dtype=">i8"),
        pd.DataFrame({"pair": [(1, 2)]}),
        pd.DataFrame({"gap": pd.Series(["a", None, np.nan], dtype=object)}),
        pd.DataFrame([[1, 2]], columns=["twice", "twice"]),
        pd.Series([1]),
        {1, 2},
        object(),
    ],
    ids=["objects", "byte order", "tuples", "two kinds of none", "columns", "series", "set", "anything"],
)
def test_what_would_not_come_back_is_refused(value):
    with pytest.raises(ValueError, match="as it is"):
        to_files({"value": value})


def test_parts_of_a_job_have_names_of_their_own():
    asked = []

    def unit(name, compute):
        asked.append(name)
        return compute()

    found = within(within(unit, "train"), "hgr_nn")("20", lambda: {"epoch": 20})
    assert found == {"epoch": 20} == at_once("20", lambda: {"epoch": 20})
    assert asked == ["train/hgr_nn/20"]
