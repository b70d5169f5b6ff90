"""Audit of an existing price: does it follow a sensitive attribute, where, and is that justified by cost?

A frame with named columns becomes an :class:`~fairdash.auditing.table.AuditTable`, and that with a plan an
:class:`~fairdash.auditing.data.AuditData`, computed once and never changed. A function in
:mod:`fairdash.auditing.questions` answers each of :data:`fairdash.auditing.plan.QUESTIONS` from it.
All answers together are one :class:`~fairdash.auditing.evidence.AuditResult`. All means are weighted by
exposure. The verb is ``fairdash.audit``.
"""
