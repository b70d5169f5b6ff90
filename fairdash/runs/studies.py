"""Storage of simulation studies.

<cache>/studies/<key>/spec.json       definition of the study
<cache>/studies/<key>/<table>.parquet results so far

The other files are those of a run; see :mod:`fairdash.runs.store`. All results can be computed again.
"""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import ClassVar

import pandas as pd

from fairdash.errors import RunError
from fairdash.jobs import queue
from fairdash.lab.studies import Study
from fairdash.runs.state import CANCELLED, RunStatus
from fairdash.runs.store import Job
from fairdash.storage import cache_folder, write_whole

#: Maximum number of studies that are stored.
MAX_STUDIES = 300


class StudyJob(Job[Study]):
    """Simulation study, whose results are stored in the cache."""

    folder_name: ClassVar[str] = "studies"
    label: ClassVar[str] = "background computation"
    spec_kind: ClassVar[type] = Study

    @classmethod
    def home(cls) -> Path:
        return cache_folder(cls.folder_name)

    @property
    def queue_name(self) -> str:  # type: ignore[override]
        """Queue of the study, which is the quick queue if the study takes seconds and a user waits for it."""
        return queue.QUICK if self.spec.kind == "scene" else queue.STUDIES

    def stored_status(self) -> RunStatus:
        """Return the stored status, or "cancelled" if it can't be read, so that the study starts again."""
        try:
            return super().stored_status()
        except RunError:
            return RunStatus(state=CANCELLED)

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of the results that are already available, by name."""
        paths = self.folder.glob("*.parquet")
        return {path.stem: pd.read_parquet(io.BytesIO(path.read_bytes())) for path in paths}

    def save(self, name: str, table: pd.DataFrame) -> None:
        """Write a table of results, which may not be complete yet."""
        write_whole(self.folder / f"{name}.parquet", table.to_parquet(index=False))


def create_study(study: Study) -> StudyJob:
    """Return the job of a study, which is created if it does not exist."""
    return StudyJob.create(study, id=study.key)


def find_study(study: Study) -> StudyJob | None:
    """Return the job of a study if a user has already requested the study, otherwise None."""
    try:
        return StudyJob(study.key)
    except RunError:
        return None


def delete_oldest_studies() -> None:
    """Delete the oldest studies if there are more than MAX_STUDIES."""
    folders = sorted(StudyJob.home().iterdir(), key=lambda folder: folder.stat().st_mtime)
    for folder in folders[:-MAX_STUDIES]:
        shutil.rmtree(folder, ignore_errors=True)
