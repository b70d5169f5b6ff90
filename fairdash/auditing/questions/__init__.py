"""Answers to the questions of an audit; :data:`fairdash.auditing.plan.QUESTIONS` names the function of each.

A function takes the :class:`~fairdash.auditing.data.AuditData` and the parts of earlier questions, and
returns a :class:`~fairdash.auditing.data.Part`.
"""
