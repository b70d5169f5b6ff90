"""What an audit has found: its verdict, then one question after another with pictures and tables."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from fairdash.auditing.plan import CRITERIA
from fairdash.auditing.result import AuditResult
from fairdash.figures.audit import gap_curve
from fairdash.runs.audits import AuditJob
from fairdash.runs.status import DONE
from fairdash.text import amount
from fairdash.ui.files import download, download_file
from fairdash.ui.frame import chart, theme
from fairdash.ui.jobs import SECONDS_BETWEEN_LOOKS, show_go_on, show_progress, show_status
from fairdash.ui.keys import Keys
from fairdash.ui.state import choose_audit
from fairdash.ui.text import safe

KEY = Keys(__file__)

#: Tables of an answer that are curves along the sensitive attribute, and what is drawn of each.
CURVES = {
    "curve": "Average {price} by {sensitive}",
    "candidate_curve": "Average {candidate} by {sensitive}",
    "controlled_curve": "Average {price} by {sensitive}, among equals",
    "residual_curve": "Average {outcome} less {price} by {sensitive}",
}
#: Columns of the verdicts that are shares of the mean price.
SHARES = {"largest gap": "value", "95 % from": "ci_low", "to": "ci_high"}
_VERDICTS = {
    "below": ":material/check_circle: shown below the threshold",
    "above": ":material/error: shown above the threshold",
    "undecided": ":material/help: not decided by these rows",
    "none": ":material/remove: not asked, a column is missing",
}


def show_audit(audit: AuditJob) -> None:
    """The audit in view: how far it is, or what it has found."""
    spec, status = audit.spec, audit.status
    columns = spec.plan.columns
    st.markdown(
        f"**{safe(columns.price)}** against **{safe(columns.sensitive)}** · {safe(spec.source.title)} · "
        f"a gap of at most {spec.plan.max_gap:.3g} of the mean price · first of all "
        f"{CRITERIA[spec.plan.criterion].title.lower()}"
    )
    st.button("Another audit", key=KEY("close"), icon=":material/add:", on_click=choose_audit, args=(None,))
    if not status.is_over:
        st.caption("This goes on if you close the page; its address brings you back.")
        _follow(audit)
        return
    if status.state != DONE:
        show_status(audit, status)
        show_go_on(audit)
        return
    _show_result(audit.read_result())


@st.fragment(run_every=SECONDS_BETWEEN_LOOKS)
def _follow(audit: AuditJob) -> None:
    show_progress(audit)


def _show_result(result: AuditResult) -> None:
    primary = CRITERIA[result.plan.criterion]
    st.subheader(f"{primary.title}: {_VERDICTS[result.verdict]}", anchor=False)
    st.dataframe(
        _verdicts(result),
        hide_index=True,
        alt="Each criterion with its number, interval and verdict.",
        column_config={
            name: st.column_config.NumberColumn(name, format="percent", help="Of the mean price.")
            for name in SHARES
        },
    )
    download_file(
        result.to_zip,
        label="Everything (zip)",
        name="audit.zip",
        mime="application/zip",
        key=KEY("zip"),
    )
    for note in result.notes:
        st.caption(safe(note))
    shown: set[str] = set()
    for answer in result.answers:
        st.divider()
        st.subheader(f"{answer.question}. {answer.title}", anchor=False)
        st.markdown(safe(answer.sentence))
        # A table that answers two questions stands at the first of them.
        _show_tables([name for name in answer.tables if name not in shown], result)
        shown |= set(answer.tables)


def _verdicts(result: AuditResult) -> pd.DataFrame:
    """The verdicts in words, the primary one first."""
    table = result.verdicts
    first = (table["criterion"] != result.plan.criterion).to_numpy()
    table = table.iloc[first.argsort(kind="stable")]
    return pd.DataFrame(
        {
            "criterion": [CRITERIA[each].title for each in table["criterion"]],
            "verdict": [_VERDICTS[each].rpartition(": ")[2] for each in table["verdict"]],
            **{title: table[name].to_numpy() for title, name in SHARES.items()},
            "p-value of no link": table["p_value"].to_numpy(),
        }
    )


def _show_tables(names: list[str], result: AuditResult) -> None:
    columns = result.plan.columns
    for name in names:
        table = result.tables[name]
        if name in CURVES:
            title = CURVES[name].format(**vars(columns))
            level = 0.0 if name == "residual_curve" else result.mean_price
            figure = gap_curve(
                table,
                title=title,
                subtitle=f"{result.n:,} rows, mean price {amount(result.mean_price)}; the band holds the "
                "whole curve in 95 % of samples; diamonds: all rows beyond",
                x=columns.sensitive,
                y=f"{columns.outcome} less {columns.price}" if name == "residual_curve" else columns.price,
                level=level,
                max_gap=result.plan.max_gap * result.mean_price,
                theme=theme(),
            )
            chart(figure, key=KEY("curve", name), alt=f"{title}: a line with its band.")
        with st.expander(f"The figures: {name.replace('_', ' ')}"):
            st.dataframe(table, hide_index=True, alt=f"The table {name} of this answer.")
            download(table, label="CSV", name=f"audit-{name}", key=KEY("csv", name))
