"""Functions that answer the questions of an audit, listed in :data:`fairdash.auditing.plan.QUESTIONS`.

Each function takes the :class:`~fairdash.auditing.data.AuditData` and the answers to previous questions, and
returns the :class:`~fairdash.auditing.data.Part` of its question.
"""
