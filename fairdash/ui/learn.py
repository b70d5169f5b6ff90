"""Parts of the pages for learning, which are the lesson and “Which method?”."""

from __future__ import annotations

import streamlit as st

from fairdash.evaluation.bench import JOINT
from fairdash.lab import lesson
from fairdash.lab.lesson import SCENES
from fairdash.ui.frame import chart, presented, theme
from fairdash.ui.keys import Address, Keys
from fairdash.ui.lesson_scenes import LECTURE_TEXT_SIZE, STAGES, guess_in_words
from fairdash.ui.state import choose
from fairdash.ui.text import explain, safe
from fairdash.ui.widgets import download
from fairdash.views.figures.front import methods_figure
from fairdash.views.reports.methods import TITLES, errors_of, mean_ranks, missing, read_methods, summary


def show_answer() -> None:
    """Show the benchmark's findings on the default method, and the mean ranks of methods."""
    table = read_methods()
    st.markdown("\n".join(f"- {safe(sentence)}" for sentence in summary(table)))
    for is_several, words in ((False, "one sensitive attribute"), (True, "several sensitive attributes")):
        ranks = mean_ranks(table, several=is_several)
        if len(ranks):
            ranks.columns = [f"{100 * level:.0f} %" for level in ranks.columns]
            st.markdown(
                f"**Mean ranks by error on sets with {words}** (1 is best; methods that need s to compute a "
                "price are left out)"
            )
            st.dataframe(ranks.round(1), alt=f"Mean ranks on sets with {words}")


def show_data_set() -> None:
    """Show the Pareto front and the errors on a data set, and offer a table of all data sets for download."""
    table = read_methods()
    names = {str(name): str(name).replace("_", " ") for name in table["data"].unique()}
    data = choose("Data set", names, name=Address.DATA, key=KEY("data"))
    rows = table[table["data"] == data]
    linked = [str(reading) for reading in rows.loc[rows["linked"], "reading"].unique()]
    # For a combination of attributes, the joint dependence comes first.
    linked.sort(key=lambda reading: not reading.endswith(JOINT))
    if linked:
        reading = choose(
            "Dependence by",
            {reading: TITLES[reading] for reading in linked},
            name=Address.READING,
            key=KEY("reading"),
        )
        figure = methods_figure(
            rows[rows["reading"] == reading], title=names[data], reading=TITLES[reading], theme=theme()
        )
        chart(
            figure,
            key=KEY("front", data),
            alt="Error of each method against the dependence of its predictions.",
        )
    else:
        st.info(
            "The dependence of the standard network's predictions on the attribute is no higher than by "
            "chance, so there is no dependence to reduce."
        )
    st.dataframe(errors_of(table, data), hide_index=True, alt="Errors of all methods at equal dependence")
    st.caption(
        "Each cell gives the error and half the width of its 95 % interval over the splits. ↑ and ↓ mark an "
        "error above or below that of the default method. “no link”: the dependence of the standard "
        "network's predictions on the sensitive attribute is no higher than by chance."
    )
    download(table, label="All results (CSV)", name="methods", key=KEY("csv"))
    lacking = [f"{name}: {text}." for name, text in missing(table).items()]
    if lacking:
        with st.expander("Methods without results on some data sets"):
            st.markdown("\n".join(f"- {safe(sentence)}" for sentence in lacking))


KEY = Keys(__file__)

#: Name of the step after the last scene of the lesson.
RECAP = "recap"
#: Glossary terms of each scene, which is one screen of the lesson.
_TERMS = {"1": ("hgr",), "2": ("hgr", "f_and_g"), "3": ("hgr",), "4": ("hgr", "f_and_g"), "5": ("hgr", "lam")}
#: Style for a lecture hall, with larger text than in presentation mode on other pages, and titles twice as
#: large as the text.
_LECTURE_STYLE = f"""<style>html:root {{ font-size: {LECTURE_TEXT_SIZE}px }}
[data-testid=stMain] h1 {{ font-size: 2rem !important }}</style>"""
#: Print style, which hides the app's sidebar, header and checkboxes.
_PRINT = """<style>@media print {
[data-testid=stSidebar], [data-testid=stHeader], [data-testid=stCheckbox] { display: none }
}</style>"""


def show_lesson() -> None:
    """Show the part of the lesson that the address names (a scene, the recap or a text in a window)."""
    if (window := st.query_params.get(Address.WINDOW)) in lesson.TEXTS:
        st.html(_PRINT)
        st.markdown(lesson.text(window))
        return
    heading, stage = st.container(), st.container()
    name = _ask_for_scene()
    with heading:
        st.title(SCENES[name].question if name in SCENES else "What have we learned?")
    with stage:
        if name in SCENES:
            STAGES[name]()
        else:
            _show_recap()
    if presented():
        st.html(_LECTURE_STYLE)
        # In presentation mode, terms are not listed, because the lecturer explains them and the scene fills
        # the screen.
        return
    with st.container(horizontal=True):
        for window, title in lesson.TEXTS.items():
            st.link_button(title, f"lesson?{Address.WINDOW}={window}", icon=":material/open_in_new:")
    explain(*_TERMS.get(name, ()))


def _ask_for_scene() -> str:
    """Show the back button, a control with all scenes, and the next button. Return the chosen scene."""
    titles = {name: scene.title for name, scene in SCENES.items()} | {RECAP: "Recap"}
    key, names = KEY("scene"), list(titles)
    with st.container(horizontal=True, vertical_alignment="center"):
        back_button, row, right = (st.container(width="content") for _ in range(3))
    with row:
        name = choose("Scene", titles, name=Address.SCENE, key=key, hidden_label=True)

    def go(to: str) -> None:
        st.session_state[key] = st.query_params[Address.SCENE] = to

    scene_index = names.index(name)
    if scene_index > 0:
        back_button.button("Back", key=KEY("back"), on_click=go, args=(names[scene_index - 1],))
    if scene_index + 1 < len(names):
        right.button(
            "Next scene", key=KEY("next"), type="primary", on_click=go, args=(names[scene_index + 1],)
        )
    return name


def _show_recap() -> None:
    """Show a summary of each scene, with the reader's guess."""
    st.markdown("Ada is 30 and Ben is 40. The prices of Ada and Ben followed age without any correlation.")
    for name, scene in SCENES.items():
        st.markdown(f"**{scene.title}**  \n{scene.learned} {guess_in_words(name)}")
