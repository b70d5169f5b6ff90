"""Table 1 of the paper: its values, ours scored as the paper did, and ours corrected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import pandas as pd
import streamlit as st

from fairdash.data.catalogue import CATALOGUE
from fairdash.dependence import REGISTRY
from fairdash.figures.paper import dots_figure
from fairdash.figures.theme import REFERENCE, STANDARD, faded
from fairdash.reports.paper import (
    FAIRNESS,
    METHODS,
    OBJECTIVES,
    STANDS_FOR,
    StudyResult,
    committed,
    read_result,
    row_of,
    table1,
)
from fairdash.reports.paper.judging import (
    CORRECTED_WAY,
    Cell,
    Count,
    cells,
    constant_error,
    count,
    of_equivalence,
    summary,
    why_not_comparable,
)
from fairdash.training.methods import METHODS as ALL_METHODS
from fairdash.training.objectives import OBJECTIVES as ALL_OBJECTIVES
from fairdash.ui.files import download
from fairdash.ui.frame import chart, theme
from fairdash.ui.keys import Address, Keys
from fairdash.ui.state import choose
from fairdash.ui.text import duration

KEY = Keys(__file__)

PAPER, OURS, CORRECTED, FLOOR = "the paper", "ours, their way", "ours, cross-fitted", "its floor"
#: Our error as a share of a constant prediction's.
SHARE = "MSE ÷ constant’s"


def show_in_short() -> None:
    """Show one sentence, and the score of each comparable data set."""
    found, left_out = {}, {}
    for name in names():
        result = read_result(f"table1_{name}")
        reason = why_not_comparable(result, dataset_of(name))
        if reason is None:
            found[name] = _counts(result, name)
        else:
            left_out[name] = reason
    both = [each for strict, share, _ in found.values() for each in (strict, share)]
    reached, total = [each.reached for each in both], [each.total for each in both]
    verdict = "Yes" if reached == total else "In part" if any(reached) else "No"
    said = [
        f"On {title_of(name)} we reach {_in_words(strict)} of the paper's fairness values at its error, and "
        f"{_in_words(share)} if errors are shares of a constant prediction's, which we added afterwards."
        for name, (strict, share, _) in found.items()
    ]
    if left_out:
        said.append(f"Not comparable, because the data differ: {', '.join(map(title_of, left_out))}.")
    st.markdown(" ".join([f"**{verdict}.**", *said]))
    for name, (strict, share, equal) in found.items():
        rows = {
            "in standardised units": strict,
            "as a share of a constant prediction's error (second count, added after the first)": share,
        }
        head = f"| {title_of(name)}: fairness values and error at or below the paper's | |\n|---|---|\n"
        st.markdown(head + "\n".join(f"| {way} | **{n.reached} of {n.total}** |" for way, n in rows.items()))
        st.caption(equal)


def _in_words(found: Count) -> str:
    if found.reached in (0, found.total):
        return "all" if found.reached else "none"
    return "most" if 2 * found.reached > found.total else "some"


def answer(name: str) -> str:
    """State the count for one data set in a sentence, or why there is none."""
    result = read_result(f"table1_{name}")
    stand_in = f" (instead of the paper's {STANDS_FOR[name]} data)" if name in STANDS_FOR else ""
    reason = why_not_comparable(result, dataset_of(name))
    if reason is not None:
        return f"**{title_of(name)}{stand_in}: not comparable, and not counted**, because {reason}."
    strict, share, equal = _counts(result, name)
    chosen = " and ".join(
        f"{method_title(method)} for {ALL_OBJECTIVES[objective].title.lower()}"
        for objective, method in strict.chosen.items()
    )
    constant = constant_error(result)
    harder = "harder" if constant > 1 else "easier"
    return (
        f"**{title_of(name)}{stand_in}: we reach {_in_words(strict)} of the fairness values of the paper's "
        f"Fair HGR NN at its error** ({strict.reached} of {strict.total}, scored as in the paper). "
        f"Cross-validation within the training rows chose method and λ: {chosen}. The test rows of these "
        f"{result.options['splits']} splits are {harder} to predict than the training rows. A constant "
        f"prediction has an error of 1 on the training rows and of {constant:.3f} on the test rows. **If we "
        f"divide our errors by the latter, {share.reached} of {share.total} values count.** We added this "
        f"second count after we had seen the first. {equal}"
    )


def _counts(result: StudyResult, name: str) -> tuple[Count, Count, str]:
    """Compare a result's fairness values with those of the paper's Fair HGR NN.

    At or below at an error that is so too in units of the standardised target, as the paper has it; the same
    with our error as a share of a constant prediction's on the same test rows; equivalence as a sentence.
    """
    dataset = dataset_of(name)
    strict = count(result, dataset)
    return strict, count(result, dataset, as_share=True), of_equivalence(result, dataset, strict)


def show_table1() -> None:
    """Show Table 1 for one of the data sets."""
    offered = {name: title_of(name) for name in names()}
    show(choose("Data", offered, name=Address.DATA, key=KEY("data")))


def show(name: str) -> None:
    """Show the answer for one data set, its table by objective, missed cells with reasons, and provenance."""
    result = read_result(f"table1_{name}")
    st.markdown(answer(name))
    titles = {each: ALL_OBJECTIVES[each].title for each in OBJECTIVES}
    objective = choose("Objective", titles, name=Address.OBJECTIVE, key=KEY("objective"))
    is_comparable = why_not_comparable(result, dataset_of(name)) is None
    show_dots(result, name, objective)
    with st.expander("Table: every value with noise floor and standard error"):
        show_rows(result, name, objective, is_comparable=is_comparable)
    if is_comparable:
        show_missed(result, count(result, dataset_of(name)), objective)
    show_tries(name)
    show_origin(result, name)


#: Measures in each chart: on a scale from 0 to 1, and on one of powers. On a phone one is below the other.
_DRAWN = (("mse", "hgr_nn", "hgr_kde", "hgr_rdc"), ("chi2_kde", "chi2_nn", "fairquant"))


def show_dots(result: StudyResult, name: str, objective: str) -> None:
    """Show the paper's values and ours, scored the same way, in two pictures side by side."""
    values = dots(result, dataset_of(name), objective)
    methods = {each: method_title(each).replace(" network", "") for each in values["method"].unique()}
    for place, measures, log in zip(st.columns(2), _DRAWN, (False, True), strict=True):
        with place:
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
                alt=spoken(values, measures),
            )
    st.caption(
        "Orange: standard model. Blue: fair models, one marker per method. Further left is better. On the "
        "right, each grid line is ten times the previous one. Values in the grey band show no detectable "
        "link. Both are scored as in the paper, which gives no standard errors and has no Fair HGR with "
        "splines."
    )


def dots(result: StudyResult, dataset: str, objective: str) -> pd.DataFrame:
    """Return the data of the dot plot, as for :func:`fairdash.figures.paper.dots_figure`."""
    table = summary(result)
    lines = []
    for method in map(str, table.loc[table["objective"] == objective, "method"]):
        for cell in cells(result, dataset, method, objective):
            paper = cell.paper if method in METHODS else float("nan")
            lines.append(asdict(cell) | {"method": method, "paper": paper})
    return pd.DataFrame(lines)


def spoken(values: pd.DataFrame, measures: Sequence[str]) -> str:
    """Describe the dots in words: our Fair HGR beside the paper's, and the floor."""
    rows = values[(values["method"] == "hgr_nn") & values["measure"].isin(measures)]
    parts = [
        f"{column_title(str(row.measure))} {row.ours:.3f}, paper {row.paper:.3f}" for row in rows.itertuples()
    ]
    return f"Dot plot of Table 1. Fair HGR network, ours and the paper's: {'; '.join(parts)}."


def show_rows(result: StudyResult, name: str, objective: str, *, is_comparable: bool) -> None:
    texts, colours = rows(result, dataset_of(name), objective, is_comparable=is_comparable)
    styled = texts.style.apply(lambda _: colours, axis=None)
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
        alt="Table 1: the paper's values beside ours, scored both ways.",
        height="content",
    )
    key = (
        "Green values are at or below the paper's. Orange values are higher, grey ones by less than two of "
        "our standard errors. ≈ marks values within two of our standard errors (the paper gives none). "
        if is_comparable
        else "These values are not comparable with the paper's, so none is marked as better. "
    )
    st.caption(
        f"“Their way” means scored as in the paper. {key}“{SHARE}”: our error as a share of a constant "
        "prediction's "
        "on the same test rows. Cross-fitted: networks are evaluated on rows they have not seen, densities "
        "cover the whole range, ties share a rank, and FairQuant follows the definition in the paper's text. "
        "±: Nadeau–Bengio standard error over five overlapping splits. Floor: mean cross-fitted value with "
        "the sensitive attribute permuted. “Within”: at least 5 % of the permutations reach the value, so no "
        "dependence is shown. FairQuant is in standard deviations of the target."
    )


def rows(
    result: StudyResult, dataset: str, objective: str, *, is_comparable: bool = True
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return texts and colours of the table: four lines per method, three for methods not in the paper.

    Parameters
    ----------
    is_comparable
        Whether to say on which side of the paper's values ours lie.
    """
    table, constant = summary(result), constant_error(result)
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
            theirs = {column_title(id): f"{paper[id]:.3f}" for id in ("mse", *FAIRNESS)}
            put(method, PAPER, theirs | {SHARE: "–"})
        compared = cells(result, dataset, method, objective)
        put(
            method,
            OURS,
            {
                column_title(cell.measure): text_of(cell) if is_comparable else f"{cell.printed:.3f}"
                for cell in compared
            }
            | {SHARE: f"{own['mse'] / constant:.3f}"},
            {column_title(cell.measure): _shade(cell) for cell in compared} if is_comparable else None,
        )
        error = {"MSE": f"{own['mse']:.3f} ± {own['mse_se']:.3f}", SHARE: ""}
        put(method, CORRECTED, error | {column_title(id): _right(own, id) for id in FAIRNESS})
        weight = {"MSE": "λ = 0" if own["lam"] == 0 else f"λ ≈ {own['lam']:.3g}", SHARE: ""}
        put(method, FLOOR, weight | {column_title(id): _floor(own, id) for id in FAIRNESS})
    order = ["Method", "Values", column_title("mse"), SHARE, *map(column_title, FAIRNESS)]
    texts = pd.DataFrame(lines)[order]
    colours = pd.DataFrame([{name: shade.get(str(name), "") for name in texts.columns} for shade in shades])
    return texts, colours


def text_of(cell: Cell) -> str:
    """Return our value, its side of the paper's value, and ≈ if the difference is within noise."""
    return f"{cell.printed:.3f} {cell.words}" + (" ≈" if cell.is_near and cell.words != "same" else "")


def _shade(cell: Cell) -> str:
    if cell.at_or_below:
        return f"background-color: {faded(REFERENCE, 0.25)}"
    if cell.is_near:
        return f"background-color: {faded('#808890', 0.25)}"
    return f"background-color: {faded(STANDARD, 0.25)}"


def _right(own: pd.Series, id: str) -> str:
    name = f"{id}_{CORRECTED_WAY}"
    return f"{own[name]:.3f} ± {own[f'{name}_se']:.3f}"


def _floor(own: pd.Series, id: str) -> str:
    """Return the floor of the corrected value, and whether that stands above it."""
    name = f"{id}_{CORRECTED_WAY}"
    side = "within" if own[name] <= own[f"{name}_floor_q95"] else "above"
    return f"{own[f'{name}_floor']:.3f} {side}"


def show_missed(result: StudyResult, found: Count, objective: str) -> None:
    """Show the selected method's error, and the cells that don't count, with reason and floor."""
    missed = found.missed(objective)
    method, error = found.chosen[objective], found.cells[objective][0]
    choices = result.tables["choices"]
    own = choices[(choices["method"] == method) & (choices["objective"] == objective)]
    st.markdown(
        f"{method_title(method)}: error {own['validation_mse'].mean():.3f} on the held-out rows of the "
        f"cross-validation that chose λ, and {error.ours:.3f} ± {error.error:.3f} on the test rows. The "
        f"paper's Fair HGR NN has {error.paper:.3f}."
    )
    if not missed:
        st.markdown("Every fairness value of this objective is at or below that of the paper's Fair HGR NN.")
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
    """Show selection rules compared within the training rows, including those that failed."""
    study = f"rehearsal_{name}"
    if study not in committed("rehearsal_"):
        return
    result = read_result(study)
    tries = result.tables["tries"]
    with st.expander("Selection rules tried first"):
        st.markdown(
            "A fifth of each split's training rows served as test rows. The actual test rows were not used. "
            "“Error expected” comes from the cross-validation that chose λ, “error found” from that fifth. "
            "The other figures are scored as in the paper, as means over the splits. A margin of ½ keeps "
            "the expected error half its standard error below the paper's. Cells count the values at or "
            "below those of the paper's Fair HGR NN, if the error is at or below its error too."
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
        st.dataframe(shown, hide_index=True, alt="Selection rules, compared within the training rows.")
        st.caption(f"Seed {result.seed}. Reproduce it: `{result.command}`")


def show_origin(result: StudyResult, name: str) -> None:
    """Show the provenance of the values, the command that reproduces them, and both tables as files."""
    with st.expander("How these values were computed, and how to reproduce them"):
        st.markdown(
            f"{result.options['rows']:,} rows, {result.options['features']} features, "
            f"{result.options['splits']} random 80/20 splits, seed {result.seed}; "
            f"{duration(result.seconds)} of processor time on {result.machine}; torch "
            f"{result.versions['torch']}, numpy {result.versions['numpy']}."
        )
        st.markdown("\n".join(f"- {note}" for note in result.notes))
        st.caption(
            "Run one of these commands in a checkout of fairdash. The second computes one row and "
            "writes it to a folder:"
        )
        row = f"--methods hgr_nn --objectives {OBJECTIVES[0]} --out again"
        st.code(f"{result.command}\n{result.command} {row}", language="bash")
    left, right, _ = st.columns([1, 1, 2])
    with left:
        download(summary(result), label="Our values (CSV)", name=f"table1-{name}", key=KEY("csv-ours"))
    with right:
        download(table1(), label="The paper's table (CSV)", name="table1-paper", key=KEY("csv-paper"))


def names() -> list[str]:
    """Return the data sets with a computed Table 1, in the paper's order first."""
    made = [study.removeprefix("table1_") for study in committed("table1_")]
    order = ["crime", "motor", "motor_all", "census", "census_county"]
    return sorted(made, key=order.index)


def dataset_of(name: str) -> str:
    """Return the id of the data set behind a result's name."""
    return name.removesuffix("_all")


def title_of(name: str) -> str:
    title = CATALOGUE[dataset_of(name)].title
    return f"{title}, all policies" if name.endswith("_all") else title


def method_title(method: str) -> str:
    own = "" if method in METHODS else " (ours)"
    return ALL_METHODS[method].title + {"chi2_kde": " (Mary2019)"}.get(method, own)


def column_title(measure: str) -> str:
    return "MSE" if measure == "mse" else REGISTRY[measure].symbol
