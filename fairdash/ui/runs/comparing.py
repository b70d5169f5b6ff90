"""Two or more runs on one front."""

from __future__ import annotations

import string

import streamlit as st

from fairdash.dependence import REGISTRY
from fairdash.figures.runs_front import RunPath, runs_front_figure
from fairdash.reports.runs_compared import ComparedRun, differences, remarks, shared_measures, table_of
from fairdash.runs.store import Run
from fairdash.training.objectives import OBJECTIVES
from fairdash.ui.cached import fronts_of, result_of
from fairdash.ui.files import download
from fairdash.ui.frame import chart, theme
from fairdash.ui.keys import Keys
from fairdash.ui.runs.words import title_of
from fairdash.ui.text import safe
from fairdash.utils.text import counted

KEY = Keys(__file__)

#: As many as can be told apart.
MOST = 6


def show_comparison(chosen: list[Run]) -> None:
    """The fronts of the chosen runs, if there are two or more that can stand on one; else why they can't."""
    if len(chosen) < 2:
        return
    there = [run for run in chosen if run.look]
    if len(there) < len(chosen):
        missing = counted(len(chosen) - len(there), "chosen run")
        st.info(f"{missing} with nothing to show yet: compared are those that have found something.")
    if len(there) > MOST:
        st.info(f"More than {MOST} can't be told apart on one chart: compared are the first {MOST} chosen.")
    if len(there) < 2:
        return
    runs = [
        ComparedRun(letter=letter, title=title_of(run), spec=run.spec, result=result_of(run))
        for letter, run in zip(string.ascii_uppercase, there[:MOST], strict=False)
    ]
    if why := differences(runs):
        st.warning(safe(why))
        return
    _show(runs, there[:MOST])


def _show(runs: list[ComparedRun], jobs: list[Run]) -> None:
    result = runs[0].result
    called = {column: result.names.get(column, column) for column in result.sensitive.columns}
    measures, columns = st.columns(2)
    sensitive = next(iter(called))
    if len(called) > 1:
        sensitive = columns.selectbox(
            "Sensitive attribute", list(called), format_func=called.__getitem__, key=KEY("sensitive")
        )
    fronts = [fronts_of(job, sensitive=sensitive)[result.objective] for job in jobs]
    shared = shared_measures(fronts)
    measure = measures.selectbox(
        "Dependence by", shared, format_func=lambda id: REGISTRY[id].title, key=KEY("measure", *shared)
    )
    objective, symbol = OBJECTIVES[result.objective], REGISTRY[measure].symbol
    chart(
        runs_front_figure(
            [
                RunPath(letter=run.letter, title=run.title, test=front.test)
                for run, front in zip(runs, fronts, strict=True)
            ],
            error=fronts[0].error,
            error_title=fronts[0].error_title,
            measure=measure,
            measure_title=f"{symbol} between {objective.audited} and {called[sensitive]}",
            subtitle=f"test rows, means over the splits; {objective.title.lower()}",
            theme=theme(),
        ),
        key=KEY("front"),
        alt=f"Test error against {symbol} for {len(runs)} runs, a line a run and method.",
    )
    named = " · ".join(f"**{run.letter}** {safe(run.title)}" for run in runs)
    st.caption("  \n".join([named, "Lower left is better.", *remarks(runs)]))
    table = table_of(runs, fronts, measure=measure)
    st.dataframe(table.drop(columns="Name"), hide_index=True)
    download(table, label="These figures (CSV)", name="runs-compared", key=KEY("csv"))
