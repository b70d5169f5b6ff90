"""What a table holds: its pictures, what to know about it, and its columns."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from fairdash.assessment import group_averages
from fairdash.data.dataset import Dataset
from fairdash.data.profile import ColumnProfile
from fairdash.data.source import DatasetSource, UploadSource
from fairdash.data.wording import counted
from fairdash.figures.data import distribution_figure, link_figure
from fairdash.ui.cached import ROWS_MEASURED, facts_of, link_of, upload_of
from fairdash.ui.data.mends import agree
from fairdash.ui.data.proxies import show_proxies
from fairdash.ui.frame import chart, show_mends, theme
from fairdash.ui.text import number, safe

ROWS_SHOWN = 8


def show_dataset(dataset: Dataset, source: DatasetSource) -> None:
    said: tuple[str, ...] = ()
    if isinstance(source, UploadSource):
        said = upload_of(source.sha256, source.name, source.reading)[1].sentences()
    st.caption("  \n".join(safe(note) for note in dataset.notes if note not in said))
    facts = facts_of(source)
    for remark in facts.remarks:
        st.warning(safe(remark), icon=":material/warning:")
    if facts.offers:
        with st.expander(f"{counted(len(facts.offers), 'column')} more could be used"):
            show_mends(facts.offers, key=f"{source.id} offers", mend=agree, blocked=False)
    target, sensitive = dataset.roles.target, ask_for_sensitive(dataset, key=f"{source.id} in view")
    show_link(dataset, sensitive)
    left, right = st.columns(2)
    for place, column, values, role in (
        (left, target, dataset.target, "target"),
        (right, sensitive, dataset.sensitive[sensitive], "sensitive attribute"),
    ):
        with place:
            chart(
                distribution_figure(values.to_numpy(), role=role, label=dataset.label(column), theme=theme()),
                key=f"distribution-{role.split()[0]}",
                alt=f"Histogram of the {role}.",
            )
            if role != "target":
                st.caption(safe(facts.support[sensitive].sentence()))
    show_proxies(source, sensitive)
    st.subheader("The table")
    st.dataframe(dataset.table().head(ROWS_SHOWN), alt=f"The first {ROWS_SHOWN} rows.")
    columns = column_table(dataset, facts.profile)
    with st.expander(f"Every column ({len(columns)})"):
        st.dataframe(
            columns,
            hide_index=True,
            column_config={"distribution": st.column_config.BarChartColumn(y_min=0)},
            alt="Type, missing cells and range by column.",
        )


def ask_for_sensitive(dataset: Dataset, *, key: str) -> str:
    """Which sensitive column the pictures and the ranking are about; not asked where there is one alone."""
    first, *others = dataset.roles.sensitive
    if not others:
        return first
    chosen: str = st.segmented_control(
        "Sensitive attribute in view",
        [first, *others],
        default=first,
        required=True,
        format_func=safe,
        key=key,
    )
    return chosen


def show_link(dataset: Dataset, sensitive: str) -> None:
    """The dependence of the target on a sensitive column, in a sentence and a picture."""
    target, link = dataset.roles.target, link_of(dataset, sensitive)
    told = "depends on" if link.value > link.floor_q95 else "can't be told from independent of"
    sample = f", on {link.n:,} rows at random" if dataset.n_rows > ROWS_MEASURED else ""
    st.markdown(
        f"**{safe(target)} {told} {safe(sensitive)}**: HGR\\_KDE {number(link.value)} where independence "
        f"stays below {number(link.floor_q95)} ({link.floor:.2f} on average{sample})."
    )
    y, s = dataset.target.to_numpy(), dataset.sensitive[sensitive].to_numpy()
    chart(
        link_figure(
            s,
            y,
            group_averages(y, s),
            sensitive=dataset.label(sensitive),
            target=dataset.label(target),
            theme=theme(),
        ),
        key="link",
        alt=f"{target} against {sensitive}: rows as dots, averages of quantile groups as a line.",
    )


def column_table(dataset: Dataset, profile: Sequence[ColumnProfile]) -> pd.DataFrame:
    roles = dataset.roles
    parts = {roles.target: "target"} | dict.fromkeys(roles.sensitive, "sensitive")
    for name, part in (
        (roles.weight, "exposure"),
        (roles.prediction, "existing prediction"),
        (roles.row_id, "row id"),
    ):
        if name is not None:
            parts[name] = part
    return pd.DataFrame(
        [
            {
                "column": each.name,
                "role": parts.get(each.name, "feature"),
                "type": each.kind,
                "unit": dataset.units.get(each.name, ""),
                "missing": each.n_missing,
                "distinct": each.n_distinct,
                "distribution": list(each.histogram),
                "lowest": each.minimum,
                "mean": each.mean,
                "highest": each.maximum,
                "meaning": dataset.meanings.get(each.name, ""),
            }
            for each in profile
        ]
    )
