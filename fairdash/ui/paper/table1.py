"""Table 1: the paper's values, ours scored as the paper did, and ours done right."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from fairdash.data.catalogue import CATALOGUE
from fairdash.dependence import REGISTRY
from fairdash.figures.theme import REFERENCE, STANDARD, faded
from fairdash.reproduction import StudyResult, committed, read_result
from fairdash.reproduction.again import AgainSpec
from fairdash.reproduction.cells import RIGHT, Cell, Count, cells, constant_error, count, summary
from fairdash.reproduction.paper import FAIRNESS, METHODS, OBJECTIVES, STANDS_FOR, row_of, table1
from fairdash.training.methods import METHODS as ALL_METHODS
from fairdash.training.objectives import OBJECTIVES as ALL_OBJECTIVES
from fairdash.ui.frame import download
from fairdash.ui.paper import again
from fairdash.ui.text import duration

PAPER, OURS, DONE_RIGHT, FLOOR = "the paper", "ours, their way", "ours, done right", "its floor"


def names() -> list[str]:
    """Data sets whose Table 1 has been made, the paper's order first."""
    made = [study.removeprefix("table1_") for study in committed("table1_")]
    order = ["crime", "motor", "motor_all", "census", "census_county"]
    return sorted(made, key=order.index)


def dataset_of(name: str) -> str:
    """Id of the data set behind a result's name."""
    return name.removesuffix("_all")


def title_of(name: str) -> str:
    title = CATALOGUE[dataset_of(name)].title
    return f"{title}, all policies" if name.endswith("_all") else title


def method_title(method: str) -> str:
    own = "" if method in METHODS else " (ours)"
    return ALL_METHODS[method].title + {"chi2_kde": " (Mary2019)"}.get(method, own)


def column_title(measure: str) -> str:
    return "MSE" if measure == "mse" else REGISTRY[measure].symbol


def in_short() -> str:
    """How many cells are at or below the paper's Fair HGR NN, of all data sets."""
    found = {name: count(read_result(f"table1_{name}"), dataset_of(name)) for name in names()}
    reached = sum(each.reached for each in found.values())
    total = sum(each.total for each in found.values())
    verdict = "Yes" if reached == total else "In part" if reached else "No"
    parts = [f"{title_of(name)} {each.reached} of {each.total}" for name, each in found.items()]
    return (
        f"**{verdict}.** Fairness values of ours that are at or below those of the paper's Fair HGR NN, at "
        f"its error or lower and scored as the paper did: {'; '.join(parts)}."
    )


def answer(name: str) -> str:
    """How many cells are at or below the paper's Fair HGR NN, as a sentence."""
    result = read_result(f"table1_{name}")
    found = count(result, dataset_of(name))
    as_share = count(result, dataset_of(name), as_share=True)
    constant, second = constant_error(result), ""
    if as_share.reached != found.reached:
        second = (
            f" The test rows of these splits are {'harder' if constant > 1 else 'easier'} than the training "
            f"rows: a constant prediction, whose error is 1 there, has {constant:.3f} here. With our errors "
            f"as shares of that, {as_share.reached} of {as_share.total} values count; this second count was "
            "added after the first had been seen."
        )
    chosen = " and ".join(
        f"{method_title(method)} for {ALL_OBJECTIVES[objective].title.lower()}"
        for objective, method in found.chosen.items()
    )
    stand_in = f" (in the place of the paper's {STANDS_FOR[name]} data)" if name in STANDS_FOR else ""
    return (
        f"**{title_of(name)}{stand_in}: {found.reached} of {found.total} fairness values are at or below "
        "those of the paper's Fair HGR NN**, scored as the paper did, at an error that is at or below the "
        f"paper's too. Method and λ were chosen by cross-validation within the training rows: {chosen}."
        + second
    )


def show(name: str) -> None:
    """The answer for one data set, its table by objective, what is missed and why, how to run it again."""
    result = read_result(f"table1_{name}")
    st.markdown(answer(name))
    objective = st.segmented_control(
        "Objective",
        list(OBJECTIVES),
        format_func=lambda each: ALL_OBJECTIVES[each].title,
        default=OBJECTIVES[0],
        required=True,
        key="paper-objective",
        bind="query-params",
    )
    show_rows(result, name, str(objective))
    show_missed(result, count(result, dataset_of(name)), str(objective))
    show_tries(name)
    show_again(result, name)


def show_rows(result: StudyResult, name: str, objective: str) -> None:
    texts, colours = rows(result, dataset_of(name), objective)
    styled = texts.style.apply(lambda _: colours, axis=None)
    st.dataframe(
        styled,
        column_config={
            "Method": st.column_config.TextColumn(pinned=True, width=130),
            "Values": st.column_config.TextColumn(width=115),
            **{column_title(id): st.column_config.TextColumn(width=104) for id in ("mse", *FAIRNESS)},
        },
        hide_index=True,
        alt="Table 1: the paper's values and ours, both ways.",
        height="content",
    )
    st.caption(
        "Their way: scored as the paper did. Green: at or below the paper; orange: higher; grey: higher by "
        "less than two standard errors of ours; ≈: on either side by less than these (the paper gives none). "
        "Behind ± the Nadeau–Bengio standard error over five overlapping splits. Floor: what the value done "
        "right is on average with the sensitive attribute permuted; “within”: 5 % of the permutations read "
        "as much, so that no dependence is shown. "
        "FairQuant is in standard deviations of the target."
    )


def rows(result: StudyResult, dataset: str, objective: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Texts and colours of the table: four lines a method, three for one that the paper does not have."""
    table = summary(result)
    table = table[table["objective"] == objective].set_index("method")
    lines: list[dict[str, str]] = []
    shades: list[dict[str, str]] = []

    def put(method: str, what: str, values: dict[str, str], colours: dict[str, str] | None = None) -> None:
        lines.append({"Method": method_title(method).replace(" network", ""), "Values": what, **values})
        shades.append(colours or {})

    for name, own in table.iterrows():
        method = str(name)
        if method in METHODS:
            paper = row_of(dataset, method, objective)
            put(method, PAPER, {column_title(id): f"{paper[id]:.3f}" for id in ("mse", *FAIRNESS)})
        compared = cells(result, dataset, method, objective)
        put(
            method,
            OURS,
            {column_title(cell.measure): text_of(cell) for cell in compared},
            {column_title(cell.measure): _shade(cell) for cell in compared},
        )
        error = {"MSE": f"{own['mse']:.3f} ± {own['mse_se']:.3f}"}
        put(method, DONE_RIGHT, error | {column_title(id): _right(own, id) for id in FAIRNESS})
        weight = {"MSE": "λ = 0" if own["lam"] == 0 else f"λ ≈ {own['lam']:.3g}"}
        put(method, FLOOR, weight | {column_title(id): _floor(own, id) for id in FAIRNESS})
    texts = pd.DataFrame(lines)
    colours = pd.DataFrame([{name: shade.get(str(name), "") for name in texts.columns} for shade in shades])
    return texts, colours


def text_of(cell: Cell) -> str:
    """Ours, on which side of the paper's it lies, and ≈ if by less than its noise."""
    return f"{cell.printed:.3f} {cell.words}" + (" ≈" if cell.is_near and cell.words != "same" else "")


def _shade(cell: Cell) -> str:
    if cell.at_or_below:
        return f"background-color: {faded(REFERENCE, 0.25)}"
    if cell.is_near:
        return f"background-color: {faded('#808890', 0.25)}"
    return f"background-color: {faded(STANDARD, 0.25)}"


def _right(own: pd.Series, id: str) -> str:
    name = f"{id}_{RIGHT}"
    return f"{own[name]:.3f} ± {own[f'{name}_se']:.3f}"


def _floor(own: pd.Series, id: str) -> str:
    """The floor of the value done right, and whether that stands above it."""
    name = f"{id}_{RIGHT}"
    side = "within" if own[name] <= own[f"{name}_floor_q95"] else "above"
    return f"{own[f'{name}_floor']:.3f} {side}"


def show_missed(result: StudyResult, found: Count, objective: str) -> None:
    """The chosen method's error, and the cells that don't count, with reason and floor."""
    missed = found.missed(objective)
    method, error = found.chosen[objective], found.cells[objective][0]
    choices = result.tables["choices"]
    own = choices[(choices["method"] == method) & (choices["objective"] == objective)]
    st.markdown(
        f"{method_title(method)}: error {own['validation_mse'].mean():.3f} on the held-out rows of the "
        f"cross-validations, by which λ was chosen, and {error.ours:.3f} ± {error.error:.3f} on the test "
        f"rows; the paper's Fair HGR NN {error.paper:.3f}."
    )
    if not missed:
        st.markdown("Every fairness value of this objective is at or below the paper's Fair HGR NN.")
        return
    st.markdown(f"**Not at or below the paper's Fair HGR NN** ({method_title(found.chosen[objective])}):")
    st.markdown(
        "\n".join(
            f"- {column_title(cell.measure)}: ours {cell.printed:.3f} ± {cell.error:.3f}, the paper "
            f"{cell.paper:.3f}, floor {cell.floor:.3f} (95 % below {cell.floor_q95:.3f}): {reason}."
            for cell, reason in missed
        )
    )


def show_tries(name: str) -> None:
    """What was tried within the training rows before this way to choose was taken, the failures too."""
    study = f"rehearsal_{name}"
    if study not in committed("rehearsal_"):
        return
    result = read_result(study)
    tries = result.tables["tries"]
    with st.expander("What was tried before the choice was made this way"):
        st.markdown(
            "A fifth of each split's training rows played the test rows; test rows took no part. “Error "
            "expected” is that of the cross-validation by which λ was chosen, “error found” that on the "
            "fifth; the other figures are as the paper scores, means over the splits. A margin of ½ keeps "
            "the error expected half of its standard error below the paper's. Cells: how many values are at "
            "or below the paper's Fair HGR NN, at an error that is so too."
        )
        shown = pd.DataFrame(
            {
                "Objective": [ALL_OBJECTIVES[each].title for each in tries["objective"]],
                "Method": [method_title(each) for each in tries["method"]],
                "Networks": tries["networks"],
                "Margin": tries["margin"],
                "Error expected": tries["cv_mse"].map("{:.3f}".format),
                "Error found": tries["mse"].map("{:.3f}".format),
                "The paper's": tries["paper_mse"].map("{:.3f}".format),
                **{column_title(id): tries[id].map("{:.3f}".format) for id in FAIRNESS},
                "Cells": tries["cells"],
            }
        )
        st.dataframe(shown, hide_index=True, alt="Ways to choose, rehearsed within the training rows.")
        st.caption(f"Seed {result.about.seed}; make it again: `{result.about.command}`")


def show_again(result: StudyResult, name: str) -> None:
    about = result.about
    with st.expander("How these came about, and how to run a row again"):
        st.markdown(
            f"{about.options['rows']:,} rows, {about.options['features']} features, "
            f"{about.options['splits']} random 80/20 splits, seed {about.seed}; {duration(about.seconds)} of "
            f"processor time on {about.machine}; torch {about.versions['torch']}, numpy "
            f"{about.versions['numpy']}."
        )
        st.markdown("\n".join(f"- {note}" for note in about.notes))
        made = result.tables["splits"]
        left, right = st.columns(2)
        method = left.selectbox(
            "Row", list(dict.fromkeys(made["method"])), format_func=method_title, key="paper-row"
        )
        objective = right.selectbox(
            "Objective", list(dict.fromkeys(made["objective"])),
            format_func=lambda each: ALL_OBJECTIVES[each].title, key="paper-row-objective",
        )  # fmt: skip
        spec = AgainSpec(
            study="table1",
            dataset=dataset_of(name),
            all_rows=name.endswith("_all"),
            method=str(method),
            objective=str(objective),
        )
        again.show_again(spec, result, seconds=about.seconds / len(made.groupby(["method", "objective"])))
        st.caption("The same from a shell, into a folder of your choice:")
        st.code(f"{about.command} --methods {method} --objectives {objective} --out again", language="bash")
    left, right, _ = st.columns([1, 1, 2])
    with left:
        download(summary(result), label="Our values (CSV)", name=f"table1-{name}", key="csv-table1")
    with right:
        download(table1(), label="The paper's table (CSV)", name="table1-paper", key="csv-table1-paper")
