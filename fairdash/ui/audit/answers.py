"""What an audit has found: the verdict and its picture on the first screen, then each question."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from fairdash.auditing.evidence import AuditResult
from fairdash.auditing.plan import CRITERIA
from fairdash.auditing.result import IN_SHORT, MOVED, MOVED_CURVE
from fairdash.figures.audit import audit_figure
from fairdash.runs.audits import AuditJob
from fairdash.runs.status import DONE
from fairdash.ui.audit.alternatives import show_alternatives
from fairdash.ui.audit.attributes import choose_attribute
from fairdash.ui.audit.earlier import beside_earlier
from fairdash.ui.files import download, download_file
from fairdash.ui.frame import chart, theme
from fairdash.ui.jobs import SECONDS_BETWEEN_LOOKS, show_go_on, show_progress, show_status
from fairdash.ui.keys import Keys
from fairdash.ui.state import choose_audit
from fairdash.ui.text import safe
from fairdash.utils.text import unbroken

KEY = Keys(__file__)

#: Columns of the verdicts that are shares of the mean price.
SHARES = {"largest gap": "value", "95 % from": "ci_low", "to": "ci_high"}
_ICONS = {"below": ":material/check_circle:", "above": ":material/error:", "undecided": ":material/help:"}


def show_audit(audit: AuditJob) -> None:
    """The audit in view: how far it is, or what it has found."""
    status = audit.status
    if status.state == DONE:
        result = beside_earlier(audit, choose_attribute(audit.read_result()))
        show_result(result, title=audit.spec.source.title, audit=audit)
    else:
        st.markdown(f"{_asked(audit)} · {safe(audit.spec.source.title)}")
    st.button("Another audit", key=KEY("close"), icon=":material/add:", on_click=choose_audit, args=(None,))
    if status.state == DONE:
        return
    if not status.is_over:
        st.caption("This goes on if you close the page; its address brings you back.")
        _follow(audit)
        return
    show_status(audit, status)
    show_go_on(audit)


def _asked(audit: AuditJob) -> str:
    plan = audit.spec.plan
    return (
        f"**{safe(plan.columns.price)}** against **{safe(plan.columns.sensitive)}** · a gap of at most "
        f"{plan.max_gap:.3g} of the mean price · first of all {CRITERIA[plan.criterion].title.lower()}"
    )


@st.fragment(run_every=SECONDS_BETWEEN_LOOKS)
def _follow(audit: AuditJob) -> None:
    show_progress(audit)


def show_result(result: AuditResult, *, title: str, audit: AuditJob | None = None) -> None:
    """All that was found; `title` is the name of the table, and `audit` the job, where there is one."""
    _show_first_screen(result, title)
    st.subheader("The answers, one by one", anchor=False)
    for answer, tables in result.sections():
        st.markdown(f"**{answer.question}. {safe(answer.title)}** {unbroken(safe(answer.sentence))}")
        if tables or answer.more or (answer.question == 8 and audit is not None):
            with st.expander(f"More on question {answer.question}: pictures and figures"):
                if answer.more:
                    st.markdown(unbroken(safe(" ".join(answer.more))))
                _show_tables(tables, result)
                if answer.question == 8 and audit is not None:
                    show_alternatives(audit, result.plan.columns)
    if result.since is not None:
        st.markdown(f"**What has moved since?** {unbroken(safe(result.since.sentence))}")
        with st.expander("Picture and figures of what has moved"):
            _show_tables({name: result.tables[name] for name in (MOVED_CURVE, MOVED)}, result)


def _show_first_screen(result: AuditResult, title: str) -> None:
    primary, columns = CRITERIA[result.plan.criterion], result.plan.columns
    words, picture = st.columns([2, 3], gap="large")
    with words:
        st.subheader(
            f"{_ICONS[result.verdict]} {primary.title}: {IN_SHORT[result.verdict]}",
            anchor=False,
        )
        st.markdown(unbroken(safe(result.in_words)))
        st.caption(
            f"{safe(columns.price)} against {safe(columns.sensitive)} · {safe(title)} · {result.n:,} rows. "
            f"Decided before any result: {primary.title.lower()}, and a gap of at most "
            f"{100 * result.plan.max_gap:.3g} % of the mean price."
        )
        download_file(
            result.to_zip,
            label="Evidence (zip)",
            name="audit.zip",
            mime="application/zip",
            key=KEY("zip"),
        )
        for note in result.notes:
            st.caption(safe(note))
    with picture:
        if primary.picture in result.tables:
            _show_figure(primary.picture, result.tables[primary.picture], result, part="first")
    with st.expander("All four criteria"):
        st.dataframe(
            _verdicts(result),
            hide_index=True,
            alt="Each criterion with its number, interval and verdict.",
            column_config={
                name: st.column_config.NumberColumn(name, format="percent", help="Of the mean price.")
                for name in SHARES
            },
        )
        st.caption(
            "The primary criterion is tested at 5 % a direction, the others are corrected for being several. "
            "This says what was measured, and claims no compliance with any rule."
        )


def _verdicts(result: AuditResult) -> pd.DataFrame:
    """The verdicts in words, the primary one first."""
    table = result.verdicts
    first = (table["criterion"] != result.plan.criterion).to_numpy()
    table = table.iloc[first.argsort(kind="stable")]
    return pd.DataFrame(
        {
            "criterion": [CRITERIA[each].title for each in table["criterion"]],
            "verdict": [IN_SHORT[each] for each in table["verdict"]],
            **{title: table[name].to_numpy() for title, name in SHARES.items()},
            "p-value of no link": table["p_value"].to_numpy(),
        }
    )


def _show_figure(name: str, table: pd.DataFrame, result: AuditResult, *, part: str) -> None:
    drawn = audit_figure(name, table, result.view, theme=theme())
    if drawn is not None:
        figure, alt = drawn
        chart(figure, key=KEY("figure", part), alt=alt)


def _show_tables(tables: dict[str, pd.DataFrame], result: AuditResult) -> None:
    for name, table in tables.items():
        # The picture of the first screen is not drawn twice.
        if name != CRITERIA[result.plan.criterion].picture:
            _show_figure(name, table, result, part=name)
        st.dataframe(table, hide_index=True, alt=f"The table {name.replace('_', ' ')} of this answer.")
        download(
            table,
            label=f"{name.replace('_', ' ').capitalize()} (CSV)",
            name=f"audit-{name}",
            key=KEY("csv", name),
        )
