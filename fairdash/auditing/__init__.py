"""Audit an existing price: is it linked to a sensitive attribute, and does cost justify this link?

A frame with named columns becomes an :class:`~fairdash.auditing.table.AuditTable`. The table and the plan
form an immutable :class:`~fairdash.auditing.data.AuditData`. For each question in
:data:`fairdash.auditing.plan.QUESTIONS`, a function in :mod:`fairdash.auditing.questions` computes an answer
from the ``AuditData``. The answers form one :class:`~fairdash.auditing.evidence.AuditResult`. All means of an
audit are weighted by exposure. The public function is ``fairdash.audit``.
"""
