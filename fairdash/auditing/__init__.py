"""Audit an existing price: does it follow a sensitive attribute, where, and does cost justify it?

A frame with named columns becomes an :class:`~fairdash.auditing.table.AuditTable`. Table and plan become an
:class:`~fairdash.auditing.data.AuditData`, computed once and never changed. A function in
:mod:`fairdash.auditing.questions` answers each of :data:`fairdash.auditing.plan.QUESTIONS` from these data.
The answers form one :class:`~fairdash.auditing.evidence.AuditResult`. All means are weighted by exposure. The
public function is ``fairdash.audit``.
"""
