"""What an audit has found: its verdict, then one question after another with pictures and tables."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from fairdash.auditing.plan import CRITERIA
from fairdash.auditing.result import AuditResult
from fairdash.figures.audit import audit_figure
from fairdash.runs.audits import AuditJob
from fairdash.runs.status import DONE
from fairdash.ui.files import download, download_file
from fairdash.ui.frame import chart, theme
from fairdash.ui.jobs import SECONDS_BETWEEN_LOOKS, show_go_on, show_progress, show_status
from fairdash.ui.keys import Keys
from fairdash.ui.state import choose_audit
from fairdash.ui.text import safe

KEY = Keys(__file__)

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
    for answer, tables in result.sections():
        st.divider()
        st.subheader(f"{answer.question}. {answer.title}", anchor=False)
        st.markdown(safe(answer.sentence))
        _show_tables(tables, result)


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


def _show_tables(tables: dict[str, pd.DataFrame], result: AuditResult) -> None:
    for name, table in tables.items():
        drawn = audit_figure(name, table, result.view, theme=theme())
        if drawn is not None:
            figure, alt = drawn
            chart(figure, key=KEY("figure", name), alt=alt)
        with st.expander(f"The figures: {name.replace('_', ' ')}"):
            st.dataframe(table, hide_index=True, alt=f"The table {name} of this answer.")
            download(table, label="CSV", name=f"audit-{name}", key=KEY("csv", name))
