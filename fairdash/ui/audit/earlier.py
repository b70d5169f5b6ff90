"""Audits of before: to open again, and to hold the one in view beside."""

from __future__ import annotations

import streamlit as st

from fairdash.auditing.evidence import AuditResult
from fairdash.runs.audits import AuditJob
from fairdash.runs.listing import finished_audits
from fairdash.ui.keys import Keys
from fairdash.ui.owner import current_owner
from fairdash.ui.state import choose_audit
from fairdash.ui.text import safe

KEY = Keys(__file__)

#: Audits that are offered.
_MOST = 20


def show_earlier() -> None:
    """The audits of before, each to be opened; nothing if there are none."""
    audits = finished_audits(owner=current_owner())[:_MOST]
    if not audits:
        return
    st.subheader("Your audits", anchor=False)
    for audit in audits:
        st.button(
            safe(_named(audit)),
            key=KEY("open", audit.id),
            icon=":material/history:",
            type="tertiary",
            on_click=choose_audit,
            args=(audit,),
        )


def beside_earlier(audit: AuditJob, result: AuditResult) -> AuditResult:
    """The result with what has moved since an audit along the same attribute that the user chooses."""
    name = result.plan.columns.sensitive
    earlier = {
        each.id: each
        for each in finished_audits(owner=current_owner())
        if each.id != audit.id and name in (each.spec.plan.columns.sensitive, *each.spec.plan.columns.also)
    }
    if not earlier:
        return result
    chosen = st.selectbox(
        "What has moved since",
        [None, *list(earlier)[:_MOST]],
        format_func=lambda id: "no other audit" if id is None else safe(_named(earlier[id])),
        key=KEY("since", audit.id),
        help="Both as shares of their own mean price, so that a rise of all prices is no drift.",
    )
    if chosen is None:
        return result
    (other,) = (each for each in earlier[chosen].read_result().along if each.plan.columns.sensitive == name)
    return result.compare(other)


def _named(audit: AuditJob) -> str:
    columns = audit.spec.plan.columns
    when = audit.spec.created[:16].replace("T", " ")
    return f"{columns.price} against {columns.sensitive} · {audit.spec.source.title} · {when} UTC"
