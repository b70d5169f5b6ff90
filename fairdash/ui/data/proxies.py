"""Who carries the sensitive attribute, as the data page shows it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from fairdash.data.proxies import ProxyRanking
from fairdash.data.source import DatasetSource
from fairdash.figures.data import proxies_figure
from fairdash.simulations.proxies import VALUES, ranking_of_tables
from fairdash.simulations.store import PROXIES, Study
from fairdash.ui.files import download
from fairdash.ui.frame import chart, theme
from fairdash.ui.keys import Keys
from fairdash.ui.studies import Tables, finished, follow
from fairdash.ui.text import number, safe
from fairdash.utils.text import counted

KEY = Keys(__file__)


def show_proxies(source: DatasetSource, sensitive: str, *, name: str) -> None:
    """Which features carry a sensitive attribute; computed beside the page, with a bar."""
    st.subheader(f"Who carries {safe(name)}?", anchor=False)

    def draw(tables: Tables) -> None:
        if VALUES in tables:
            draw_proxies(tables[VALUES], name, joint=None)

    study = Study(PROXIES, source=source.to_json(), sensitive=sensitive)
    tables = finished(study)
    if tables is None:
        follow(study, draw, slot="proxies")
        return
    ranking = ranking_of_tables(tables)
    st.markdown(proxies_sentence(ranking, called=name))
    draw_proxies(ranking.features, name, joint=ranking.joint)
    with st.expander("All figures"):
        st.caption(
            "Spline HGR on rows that it was not fitted to; the noise floor is the same with the sensitive "
            f"column permuted. p-values are corrected for {counted(len(ranking.features), 'feature')} by "
            "Westfall and Young's step-down; a feature carries the sensitive attribute at p ≤ 0.05."
        )
        st.dataframe(ranking.features, hide_index=True, alt="Dependence, floor and p-values by feature.")
        download(ranking.features, label="The ranking (CSV)", name="proxies", key=KEY("csv-proxies"))


def draw_proxies(features: pd.DataFrame, sensitive: str, *, joint: float | None) -> None:
    chart(
        proxies_figure(features, sensitive=sensitive, theme=theme(), joint=joint),
        key=KEY("proxies"),
        alt=f"Dependence of each feature on {sensitive}, the strongest first, as bars.",
    )


def proxies_sentence(ranking: ProxyRanking, *, called: str | None = None) -> str:
    """The answer in words: how many features, which most of all, and all together."""
    features = ranking.features
    carriers = features[features["p_corrected"] <= 0.05]
    name, n = safe(called or ranking.sensitive), len(features)
    sample = f" Measured on {ranking.n_used:,} rows at random." if ranking.n_used < ranking.n else ""
    if carriers.empty:
        first = f"**None of {counted(n, 'feature')} can be told from independent of {name}.**"
    else:
        top, ending = carriers.iloc[0], "y" if len(carriers) != 1 else "ies"
        first = (
            f"**{len(carriers)} of {counted(n, 'feature')} carr{ending} {name}**, "
            f"most of all {safe(top['feature'])} (HGR {number(top['hgr'])})."
        )
    if ranking.joint > ranking.joint_floor_q95:
        together = (
            f" All together foretell it with HGR {number(ranking.joint)}, and explain "
            f"{max(ranking.joint_r2, 0) * 100:.0f} % of the variation of its ranks."
        )
    else:
        together = " All together foretell it no better than chance does."
    copies = features.loc[features["is_copy"], "feature"]
    told = f" **{name} can be read off {', '.join(map(safe, copies))}.**" if len(copies) else ""
    return first + together + told + sample
