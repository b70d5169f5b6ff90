"""Content of a table on the Data page, with figures, notes, proxies of the attribute, and columns."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from fairdash.data.dataset import Dataset
from fairdash.data.proxies import ProxyRanking
from fairdash.data.source import DatasetSource, UploadSource
from fairdash.dependence import REGISTRY
from fairdash.dependence.classical import RankLink
from fairdash.dependence.grouping import as_groups
from fairdash.evaluation import DEFAULT_MEASURE, group_averages
from fairdash.evaluation.verdict import ALPHA
from fairdash.lab.studies import PROXIES, VALUES, Study, ranking_of_tables
from fairdash.tables.column_profile import ColumnProfile
from fairdash.tables.suggestion import claims_in_total
from fairdash.ui.blocks import show_table
from fairdash.ui.cached import ROWS_MEASURED, link_of, rank_link_of, summary_of, upload_of
from fairdash.ui.data.roles import add_fix
from fairdash.ui.frame import PICTURES, chart, show_fixes, theme
from fairdash.ui.jobs import Tables, finished, follow
from fairdash.ui.keys import Keys
from fairdash.ui.text import number, safe
from fairdash.utils.text import amount, counted, p_equals
from fairdash.views.blocks import Table
from fairdash.views.figures.data import distribution_figure, link_figure, proxies_figure

KEY = Keys(__file__)

ROWS_SHOWN = 8


def show_dataset(dataset: Dataset, source: DatasetSource) -> None:
    reading_notes: tuple[str, ...] = ()
    excluded_columns: set[str] = set()
    if isinstance(source, UploadSource):
        excluded_columns = {*source.roles.features} - {*dataset.roles.features}
        reading_notes = upload_of(source.sha256, source.name, source.reading)[1].sentences()
    st.caption("  \n".join(safe(note) for note in dataset.notes if note not in reading_notes))
    with st.skeleton(height=PICTURES):
        notes, support, profile, ways = summary_of(source)
    for note in notes:
        st.warning(safe(note), icon=":material/warning:")
    for title, own_columns, is_open in (
        ("to check", [fix for fix in ways if fix.column not in excluded_columns], True),
        ("more could be used", [fix for fix in ways if fix.column in excluded_columns], False),
    ):
        if own_columns:
            with st.expander(f"{counted(len(own_columns), 'column')} {title}", expanded=is_open):
                show_fixes(own_columns, key=KEY("suggested", title, source.id), fix=add_fix, blocked=False)
    target, sensitive = dataset.roles.target, ask_for_sensitive(dataset, key=KEY("in-view", source.id))
    show_link(dataset, sensitive)
    weight = None if dataset.weight is None else dataset.weight.to_numpy()
    left, right = st.columns(2)
    for container, column, values, role in (
        (left, target, dataset.target, "target"),
        (right, sensitive, dataset.sensitive[sensitive], "sensitive attribute"),
    ):
        with container:
            chart(
                distribution_figure(
                    values.to_numpy(), role=role, label=dataset.label(column), theme=theme(), weight=weight
                ),
                key=KEY("distribution", role.split()[0]),
                alt=f"Histogram of the {role}.",
            )
            if role != "target":
                st.caption(safe(support[sensitive]))
    show_proxies(source, sensitive, name=dataset.called(sensitive))
    st.subheader("The table")
    st.dataframe(dataset.table().head(ROWS_SHOWN), alt=f"The first {ROWS_SHOWN} rows.")
    columns = column_table(dataset, profile)
    with st.expander(f"Every column ({len(columns)})"):
        if dataset.weight is not None:
            exposure = safe(str(dataset.weight.name))
            exception = (
                ", except those of claims used as a feature" if claims_in_total(dataset.features) else ""
            )
            st.caption(f"Means are weighted by exposure, {exposure}{exception}.")
        st.dataframe(
            columns,
            hide_index=True,
            column_config={"distribution": st.column_config.BarChartColumn(y_min=0)},
            alt="Type, missing cells and range by column.",
        )


def ask_for_sensitive(dataset: Dataset, *, key: str) -> str:
    """Ask for the sensitive column of the figures and the ranking, if the data set has several."""
    first, *others = dataset.roles.sensitive
    if not others:
        return first
    chosen: str = st.segmented_control(
        "Sensitive attribute shown",
        [first, *others],
        default=first,
        required=True,
        format_func=lambda column: safe(dataset.called(column)),
        key=key,
    )
    return chosen


def show_link(dataset: Dataset, sensitive: str) -> None:
    """Show the dependence of the target on a sensitive column as a sentence and a figure."""
    target, (value, p_value, n) = dataset.roles.target, link_of(dataset, sensitive)
    verb = "depends on" if p_value <= ALPHA else "shows no detectable link with"
    sample = f" on a random sample of {n:,} rows" if dataset.n_rows > ROWS_MEASURED else ""
    weighted = "" if dataset.weight is None else "; rows are weighted by exposure"
    names = f"**{safe(dataset.called(target))} {verb} {safe(dataset.called(sensitive))}**"
    headers = [f"{name}: column {column}" for column, name in dataset.names.items()]
    st.markdown(
        f"{names}: {safe(REGISTRY[DEFAULT_MEASURE].symbol)} {number(value)} (joint test of several "
        f"measures{sample}: {p_equals(p_value)}{weighted}).",
        help=safe("; ".join(headers)) or None,
    )
    if dataset.n_rows > ROWS_MEASURED:
        st.caption(on_all_rows(rank_link_of(dataset, sensitive)))
    y, s = dataset.target.to_numpy(), dataset.sensitive[sensitive].to_numpy()
    weight = None if dataset.weight is None else dataset.weight.to_numpy()
    units = as_groups(dataset.groups, len(y))
    averages = group_averages(y, s, weight=weight, units=units)
    chart(
        link_figure(
            s,
            y,
            averages,
            sensitive=dataset.label(sensitive),
            target=dataset.label(target),
            theme=theme(),
            by_exposure=weight is not None,
        ),
        key=KEY("link"),
        alt=f"Average {dataset.called(target)} by {dataset.called(sensitive)}, "
        f"{counted(len(averages), 'group')} with 95 % intervals: from {amount(averages['mean'].min())} to "
        f"{amount(averages['mean'].max())}.",
    )


def on_all_rows(link: RankLink) -> str:
    """State the rank correlation on all rows, its limit under independence, and its detection limit."""
    order = "more than" if abs(link.value) > link.stays_within else "not more than"
    return (
        f"A weak link may remain undetected on {ROWS_MEASURED:,} rows. On all {link.n:,} rows the rank "
        f"correlation is {number(link.value)}, {order} the limit {number(link.stays_within)} under "
        "independence. On this number of rows, the weakest rank correlation that a test detects is about "
        f"{number(link.smallest)}. Rank correlation detects only monotone links."
    )


def column_table(dataset: Dataset, profile: Sequence[ColumnProfile]) -> pd.DataFrame:
    parts = {column: role for role, columns in dataset.roles.parts.items() for column in columns}
    return pd.DataFrame(
        [
            {
                "column": row.name,
                "role": parts[row.name].removesuffix(" column"),
                "type": row.kind,
                "unit": dataset.units.get(row.name, ""),
                "missing": row.n_missing,
                "distinct": row.n_distinct,
                "distribution": list(row.histogram),
                "lowest": row.minimum,
                "mean": row.mean,
                "highest": row.maximum,
                "meaning": dataset.meanings.get(row.name, ""),
            }
            for row in profile
        ]
    )


def show_proxies(source: DatasetSource, sensitive: str, *, name: str) -> None:
    """Measure in a background job which features predict a sensitive attribute, and show the result."""
    st.subheader(f"Which features predict {safe(name)}?", anchor=False)

    def draw(tables: Tables) -> None:
        if VALUES in tables:
            draw_proxies(tables[VALUES], name, joint=None)

    study = Study(PROXIES, source=source.to_json(), sensitive=sensitive)
    tables = finished(study)
    if tables is None:
        follow(study, draw, slot="proxies")
        return
    ranking = ranking_of_tables(tables)
    st.markdown(proxies_sentence(ranking, attribute_name=name))
    draw_proxies(ranking.features, name, joint=ranking.joint)
    with st.expander("All figures"):
        st.caption(
            "The values are spline HGR on held-out rows. The noise floor is the value of this measure "
            "after the sensitive column is permuted. The p-values are corrected for "
            f"{counted(len(ranking.features), 'feature')} (Westfall and Young's step-down method). "
            "“Predicts” means p ≤ 0.05."
        )
        show_table(Table("Dependence of each feature", ranking.features, file="proxies.csv"), KEY)


def draw_proxies(features: pd.DataFrame, sensitive: str, *, joint: float | None) -> None:
    chart(
        proxies_figure(features, sensitive=sensitive, theme=theme(), joint=joint),
        key=KEY("proxies"),
        alt=f"Bars: dependence between each feature and {sensitive}, strongest first.",
    )


def proxies_sentence(ranking: ProxyRanking, *, attribute_name: str | None = None) -> str:
    """State how many features predict the attribute, and how well the best one and all together do so."""
    features = ranking.features
    predictors = features[features["p_corrected"] <= 0.05]
    name, n = safe(attribute_name or ranking.sensitive), len(features)
    sample = f" Measured on a random sample of {ranking.n_used:,} rows." if ranking.n_used < ranking.n else ""
    if predictors.empty:
        first = f"**None of {counted(n, 'feature')} shows a detectable link with {name}.**"
    else:
        top, ending = predictors.iloc[0], "" if len(predictors) != 1 else "s"
        first = (
            f"**{len(predictors)} of {counted(n, 'feature')} predict{ending} {name}**, most of all "
            f"{safe(top['feature'])} (HGR {number(top['hgr'])})."
        )
    if ranking.joint > ranking.joint_floor_q95:
        joint_sentence = (
            f" Together, these features predict {name} with HGR {number(ranking.joint)} and explain "
            f"{max(ranking.joint_r2, 0) * 100:.0f} % of the variance of its ranks."
        )
    else:
        joint_sentence = f" Together, these features predict {name} no better than chance."
    copies = features.loc[features["is_copy"], "feature"]
    on_copies = f" **{name} can be recovered from {', '.join(map(safe, copies))}.**" if len(copies) else ""
    return first + joint_sentence + on_copies + sample
