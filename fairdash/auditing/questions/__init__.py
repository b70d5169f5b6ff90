"""Functions that answer the questions of an audit, listed in :data:`fairdash.auditing.plan.QUESTIONS`.

A function takes the :class:`~fairdash.auditing.data.AuditData` and the parts of previous questions, and
returns a :class:`~fairdash.auditing.data.Part`.
"""
