"""The paper's tables and figures as they were made again: committed results, read and judged.

What lies in ``results/table1_crime``, tables as CSV and ``about.json`` with seed, versions, machine, command
and seconds, is made by ``python -m fairdash reproduce table1 --dataset crime`` in a checkout, whose folder
``benchmarks/paper`` has the studies.
"""

from fairdash.reports.paper.results import About, StudyResult, committed, read_result

__all__ = ["About", "StudyResult", "committed", "read_result"]
