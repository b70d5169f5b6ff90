"""Form for a filing document. The user selects a rule, and enters the texts that only the user can write."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from fairdash.auditing.evidence import AuditResult, command_of
from fairdash.auditing.filing.document import FIELDS, FILE, governance_yaml
from fairdash.auditing.filing.rules import TEMPLATES
from fairdash.errors import FairdashError
from fairdash.runs.audits import AuditJob
from fairdash.runs.listing import stored_answers
from fairdash.storage import write_whole
from fairdash.ui.access import current_owner
from fairdash.ui.frame import show_problems
from fairdash.ui.keys import Keys
from fairdash.ui.widgets import download_file
from fairdash.views.reports.pdf import as_pdf

KEY = Keys(__file__)


def show_filing(result: AuditResult, audit: AuditJob | None) -> None:
    """Ask for a template and for the user's texts, which are stored with the audit. Offer the documents."""
    row = result.origin.get("model", {}).get("customer")
    with st.expander("Document for filing, with the headings of a rule"):
        rule = TEMPLATES[
            st.selectbox(
                "Template",
                list(TEMPLATES),
                format_func=lambda template: TEMPLATES[template].title,
                key=KEY("template"),
            )
        ]
        st.caption(
            f"Sources were last checked on {rule.looked_up}. The document does not certify compliance with "
            "any rule."
        )
        blanks = list(dict.fromkeys(field for heading in rule.headings for field in heading.blanks))
        prefix = f"{KEY('answers')}-{'example' if audit is None else audit.id}"
        if prefix not in st.session_state:
            st.session_state[prefix] = _earlier_answers(audit)
        answers: dict[str, str] = st.session_state[prefix]
        with st.popover(f"Yours to write: {len(blanks)} texts", icon=":material/edit_note:"):
            typed_answers = {
                field: st.text_area(FIELDS[field], answers.get(field, ""), key=KEY("field", prefix, field))
                for field in blanks
            }
        answers = {name: text for name, text in (answers | typed_answers).items() if text.strip()}
        if answers != st.session_state[prefix]:
            st.session_state[prefix] = answers
            if audit is not None:
                write_whole(audit.folder / FILE, governance_yaml(answers))
        left, right = st.columns(2)
        with left:
            _offer(
                result, partial(_rendered_filing, result, rule.id, answers), "Document", f"audit-{rule.id}"
            )
        with right:
            if row is not None:
                page = partial(_page, result, answers, row)
                _offer(result, page, f"Answer to the customer in row {row}", f"customer-{row}")
            download_file(
                lambda: governance_yaml(answers),
                label="Your texts (YAML)",
                name=FILE,
                mime="application/yaml",
                key=KEY("yaml"),
            )


def _offer(result: AuditResult, make: Callable[[], bytes], label: str, name: str) -> None:
    """Offer a document for download as HTML and as PDF."""
    download_file(make, label=f"{label} (HTML)", name=f"{name}.html", mime="text/html", key=KEY("html", name))
    download_file(
        lambda: as_pdf(make(), result.origin),
        label=f"{label} (PDF)",
        name=f"{name}.pdf",
        mime="application/pdf",
        key=KEY("pdf", name),
    )


def _page(result: AuditResult, answers: dict[str, str], row: int | str) -> bytes:
    from fairdash.auditing.filing.customer import render_customer

    return render_customer(result, answers, row=row)


def _rendered_filing(result: AuditResult, template: str, answers: dict[str, str]) -> bytes:
    from fairdash.auditing.filing.document import render_filing

    return render_filing(result, template, answers, command=command_of(result))


def _earlier_answers(audit: AuditJob | None) -> dict[str, str]:
    """Return the texts that the user wrote for this audit or, if there are none, for the latest audit."""
    if audit is None:
        return {}
    try:
        return stored_answers(owner=current_owner(), first=audit)
    except FairdashError as error:
        show_problems(error)
        return {}
