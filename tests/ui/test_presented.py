"""In presentation mode text is large: of tables too, and titles of several lines have room."""

from __future__ import annotations

import pandas as pd
from streamlit.testing.v1 import AppTest

from fairdash.ui.frame import enlarged
from fairdash.views.figures.theme import LIGHT, new_figure


def test_a_title_of_several_lines_moves_down_and_has_more_room():
    one, many = (
        enlarged(new_figure(title="Price", subtitle=said, x="", y="", theme=LIGHT))
        for said in ("by age", "average prices of groups with their 95 % intervals, dots: rows at random")
    )
    assert many.layout.margin.t > one.layout.margin.t
    assert many.layout.height > one.layout.height
    assert many.layout.title.y < one.layout.title.y


def page(*, presented: bool) -> AppTest:
    def script():
        import pandas as pd

        from fairdash.ui.blocks import show_table
        from fairdash.ui.keys import Keys
        from fairdash.views.blocks import Table

        show_table(Table("Ages", pd.DataFrame({"age": ["*18*"], "gap": [0.5]})), Keys("pages/work/audit.py"))

    at = AppTest.from_function(script)
    if presented:
        at.query_params["present"] = "true"
    return at.run()


def test_a_short_table_is_as_large_as_the_text_and_shows_its_cells_as_they_are():
    shown = page(presented=True)
    assert not shown.exception
    (large,) = shown.table
    assert (len(shown.dataframe), large.value.shape) == (0, (1, 2))
    assert "\\*18" in large.value.iloc[0, 0]
    small = page(presented=False)
    assert (len(small.table), len(small.dataframe)) == (0, 1)
    assert isinstance(small.dataframe[0].value, pd.DataFrame)
