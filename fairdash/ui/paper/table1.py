"""Table 1 of the paper, with its values, our values computed with its measures, and our corrected values."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from fairdash.lab.figures.paper import dots_figure
from fairdash.lab.paper import (
    FAIRNESS,
    METHODS,
    OBJECTIVES,
    StudyResult,
    column_title,
    judgements_of,
    method_title,
    read_result,
    study_ids,
    table1,
    table1_names,
    title_of,
)
from fairdash.training.settings import OBJECTIVES as ALL_OBJECTIVES
from fairdash.ui.frame import chart, theme
from fairdash.ui.keys import Address, Keys
from fairdash.ui.state import choose
from fairdash.ui.text import duration
from fairdash.ui.widgets import download
from fairdash.views.figures.theme import REFERENCE, STANDARD, faded

KEY = Keys(__file__)

PAPER, OURS, CORRECTED, FLOOR = "the paper", "ours, their way", "ours, cross-fitted", "its floor"
#: Header for our error as a share of the error of a constant prediction.
SHARE = "MSE ÷ constant’s"


def show_in_short() -> None:
    """State how many of our values reach the paper's values, in Table 1 and per comparable data set."""
    texts = judgements_of("table1")
    st.markdown(texts["sentence"])
    for score, equal in texts["scores"]:
        st.markdown(score)
        st.caption(equal)


def show_table1() -> None:
    """Show Table 1 for a data set, with the answer, the values of one objective, and their origin."""
    table_titles = {name: title_of(name) for name in table1_names()}
    name = choose("Data", table_titles, name=Address.DATA, key=KEY("data"))
    result, texts = read_result(f"table1_{name}"), judgements_of(f"table1_{name}")
    st.markdown(texts["answer"])
    titles = {objective: ALL_OBJECTIVES[objective].title for objective in OBJECTIVES}
    objective = choose("Objective", titles, name=Address.OBJECTIVE, key=KEY("objective"))
    cells = result.tables["cells"]
    cells = cells[cells["objective"] == objective]
    show_dots(cells)
    with st.expander("Table: every value with noise floor and standard error"):
        show_rows(cells, texts)
    if texts["missed"]:
        st.markdown(texts["missed"][objective])
    show_tries(name)
    show_origin(result, name)


#: Measures of the two charts. The scale of the first chart is from 0 to 1, and that of the second chart is
#: logarithmic.
_DRAWN = (("mse", "hgr_nn", "hgr_kde", "hgr_rdc"), ("chi2_kde", "chi2_nn", "fairquant"))


def show_dots(values: pd.DataFrame) -> None:
    """Show two charts of the paper's values beside ours, both computed with the paper's measures."""
    methods = {method: method_title(method).replace(" network", "") for method in values["method"].unique()}
    for container, measures, log in zip(st.columns(2), _DRAWN, (False, True), strict=True):
        with container:
            chart(
                dots_figure(
                    values,
                    titles={id: column_title(id) for id in measures},
                    names=methods,
                    title="χ² and FairQuant" if log else "Error and maximal correlation",
                    subtitle="hollow: the paper · full: ours ± 2 SE · grey: noise floor",
                    x="Value (logarithmic)" if log else "Value",
                    log=log,
                    theme=theme(),
                ),
                key=KEY("dots", *measures),
                alt=method_in_words(values, measures),
            )
    st.caption(
        "Orange: standard model. Blue: fair models, one marker per method. Values further left are better. "
        "In the right chart, each grid line is ten times the previous line. Values in the grey band show "
        "no detectable link. The paper's values and ours are scored as in the paper, which gives no "
        "standard errors and has no Fair HGR with splines."
    )


def method_in_words(values: pd.DataFrame, measures: Sequence[str]) -> str:
    """Describe the dots of Fair HGR in words, with our value and the paper's value of each measure."""
    rows = values[(values["method"] == "hgr_nn") & values["measure"].isin(measures)]
    parts = [
        f"{column_title(str(row.measure))} {row.ours:.3f}, paper {row.paper:.3f}" for row in rows.itertuples()
    ]
    return f"Dot plot of Table 1. Fair HGR network, ours and the paper's: {'; '.join(parts)}."


def show_rows(cells: pd.DataFrame, texts: dict[str, Any]) -> None:
    """Show the whole table. A comparable cell states whether our value is above or below the paper's."""
    is_comparable = bool(texts["missed"])
    lines, colours = rows(cells, constant=texts["constant"], is_comparable=is_comparable)
    styled = lines.style.apply(lambda _: colours, axis=None)
    st.dataframe(
        styled,
        column_config={
            "Method": st.column_config.TextColumn(pinned=True, width=130),
            "Values": st.column_config.TextColumn(width=115),
            **{
                title: st.column_config.TextColumn(width=104)
                for title in (column_title("mse"), SHARE, *map(column_title, FAIRNESS))
            },
        },
        hide_index=True,
        alt="Table 1: the paper's values beside ours, scored as in the paper and with corrected measures.",
        height="content",
    )
    key = (
        "Green values are at or below the paper's. Orange values are higher, and grey values are higher by "
        "less than two of our standard errors. ≈ marks values that differ from the paper's by less than two "
        "of our standard errors (the paper gives none). "
        if is_comparable
        else "These values are not comparable with the paper's, so no value is marked as better. "
    )
    st.caption(
        f"“Their way” means scored as in the paper. {key}“{SHARE}”: our error divided by the error of a "
        "constant prediction on the same test rows. Cross-fitted: networks are evaluated on rows they have "
        "not seen, densities cover the whole range, equal values share a rank, and FairQuant follows the "
        "definition in the paper's text. ±: Nadeau–Bengio standard error over five overlapping splits. "
        "Floor: noise floor, the mean cross-fitted value after the attribute is permuted. “Within”: "
        "at least 5 % of the permutations give a value as high as the one in the table, so there is no "
        "detectable dependence. FairQuant is in standard deviations of the target."
    )


def rows(
    cells: pd.DataFrame, *, constant: float, is_comparable: bool = True
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the table's texts and colours, with four lines per method, or three if the paper lacks it.

    Parameters
    ----------
    constant
        Error of a constant prediction on the test rows.
    is_comparable
        True if our values can be compared with the paper's. Each text then states whether our value is lower.
    """
    lines: list[dict[str, str]] = []
    shades: list[dict[str, str]] = []
    for method, rows_of_method in cells.groupby("method", sort=False):
        error = rows_of_method.iloc[0]
        texts = {PAPER: {SHARE: "–"}, OURS: {SHARE: f"{error['ours'] / constant:.3f}"}}
        texts |= {CORRECTED: {SHARE: ""}, FLOOR: {SHARE: ""}}
        colours = {}
        for cell in rows_of_method.to_dict("records"):
            title = column_title(cell["measure"])
            texts[PAPER][title] = f"{cell['paper']:.3f}"
            texts[OURS][title] = text_of(cell) if is_comparable else f"{cell['ours']:.3f}"
            texts[CORRECTED][title] = f"{cell['corrected']:.3f} ± {cell['corrected_error']:.3f}"
            side = "within" if cell["corrected"] <= cell["corrected_q95"] else "above"
            texts[FLOOR][title] = f"{cell['corrected_floor']:.3f} {side}"
            colours[title] = _shade(cell)
        lam = error["lam"]
        texts[FLOOR]["MSE"] = "λ = 0" if lam == 0 else f"λ ≈ {lam:.3g}"
        name = method_title(str(method)).replace(" network", "")
        for row_name, values in texts.items():
            if row_name != PAPER or method in METHODS:
                lines.append({"Method": name, "Values": row_name, **values})
                shades.append(colours if row_name == OURS and is_comparable else {})
    order = ["Method", "Values", "MSE", SHARE, *map(column_title, FAIRNESS)]
    table = pd.DataFrame(lines)[order]
    return table, pd.DataFrame([{name: shade.get(name, "") for name in order} for shade in shades])


def text_of(cell: dict[Hashable, Any]) -> str:
    """Return our value, its comparison with the paper's value, and ≈ if the difference is within noise."""
    return f"{cell['ours']:.3f} {cell['words']}" + (
        " ≈" if cell["is_near"] and cell["words"] != "same" else ""
    )


def _shade(cell: dict[Hashable, Any]) -> str:
    if cell["words"] != "higher":
        return f"background-color: {faded(REFERENCE, 0.25)}"
    return f"background-color: {faded('#808890' if cell['is_near'] else STANDARD, 0.25)}"


def show_tries(name: str) -> None:
    """Show the rules for selecting λ that were compared on training rows, including rules that failed."""
    study = f"rehearsal_{name}"
    if study not in study_ids("rehearsal_"):
        return
    result = read_result(study)
    tries = result.tables["tries"]
    with st.expander("Selection rules tried first"):
        st.markdown(
            "To compare selection rules, a fifth of each split's training rows served as test rows. The "
            "actual test rows were not used. “Error expected” comes from the cross-validation that chose "
            "λ, and “error found” from the fifth of the training rows that served as test rows. The other "
            "figures are scored as in the paper, as means over the splits. With a margin of ½, a rule "
            "requires an expected error below the paper's error by half of its own standard error. “Cells” "
            "counts the values at or below those of the paper's Fair HGR NN. A value counts only if the "
            "error is also at or below the paper's error."
        )
        tries_table = pd.DataFrame(
            {
                "Objective": [ALL_OBJECTIVES[objective].title for objective in tries["objective"]],
                "Method": [method_title(method) for method in tries["method"]],
                "Networks": tries["networks"],
                "Margin": tries["margin"],
                "Error expected": tries["cv_mse"].map("{:.3f}".format),
                "Error found": tries["mse"].map("{:.3f}".format),
                "The paper's": tries["paper_mse"].map("{:.3f}".format),
                **{column_title(id): tries[id].map("{:.3f}".format) for id in FAIRNESS},
                "Cells": tries["cells"],
            }
        )
        st.dataframe(tries_table, hide_index=True, alt="Selection rules, compared within the training rows.")
        st.caption(f"Seed {result.seed}. To reproduce this table: `{result.command}`")


def show_origin(result: StudyResult, name: str) -> None:
    """Show how the values were computed, commands that reproduce them, and both tables for download."""
    with st.expander("How these values were computed, and how to reproduce them"):
        st.markdown(
            f"{result.options['rows']:,} rows, {result.options['features']} features, "
            f"{result.options['splits']} random 80/20 splits, seed {result.seed}; "
            f"{duration(result.seconds)} of processor time on {result.machine}; torch "
            f"{result.versions['torch']}, numpy {result.versions['numpy']}."
        )
        st.markdown("\n".join(f"- {note}" for note in result.notes))
        st.caption(
            "Run one of these commands in a checkout of fairdash. The second command computes only one row "
            "of the table and writes it to a folder:"
        )
        row = f"--methods hgr_nn --objectives {OBJECTIVES[0]} --out again"
        st.code(f"{result.command}\n{result.command} {row}", language="bash")
    left, right, _ = st.columns([1, 1, 2])
    with left:
        download(result.tables["cells"], label="Our values (CSV)", name=f"table1-{name}", key=KEY("csv-ours"))
    with right:
        download(table1(), label="The paper's table (CSV)", name="table1-paper", key=KEY("csv-paper"))
