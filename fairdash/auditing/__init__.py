"""The audit of a price that already exists: does it follow a sensitive attribute, where, and is that earned?

A frame with named columns becomes an :class:`~fairdash.auditing.table.AuditTable`; curves along s
(:mod:`~fairdash.auditing.curve`) and what is said of the largest gap of each
(:mod:`~fairdash.auditing.gaps`) answer independence, independence among equals and equalized residuals;
:mod:`~fairdash.auditing.surface` answers sufficiency. All means are weighted by exposure. The verb is
``fairdash.audit``.
"""
