"""The paper's tables and figures, made again: one file a study, results kept as data beside the code.

``python -m fairdash reproduce table1 --dataset crime`` remakes what lies in ``results/table1_crime``: tables
as CSV, and ``about.json`` with seed, versions, machine, command and seconds. The page reads these files only.
"""

from fairdash.reproduction.results import About, StudyResult, committed, read_result, write_result

__all__ = ["About", "StudyResult", "committed", "read_result", "write_result"]
