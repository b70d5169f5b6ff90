"""A study made again by the user: a job in the user's own folder, beside the committed results.

<home>/paper/<id>/spec.json            what to make again
<home>/paper/<id>/result/<study>/      the new result, as :mod:`fairdash.reproduction.results` writes it

The other files are a run's; see :mod:`fairdash.runs.store`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from fairdash.errors import RunError
from fairdash.jobs import engine
from fairdash.reproduction.household import Reading
from fairdash.reproduction.results import StudyResult, Tell, committed, read_result
from fairdash.reproduction.run import reproduce
from fairdash.runs.store import Job
from fairdash.storage import LOCAL, data_folder


@dataclass(frozen=True, kw_only=True)
class ReproductionSpec:
    """What to make again.

    Parameters
    ----------
    study
        As :func:`fairdash.reproduction.run.reproduce` has it.
    dataset, all_rows, method, objective
        The row of ``"table1"``.
    features_seen
        Of ``"household"``.
    """

    study: str
    dataset: str = ""
    all_rows: bool = False
    method: str = ""
    objective: str = ""
    features_seen: str = "all"

    def carry_out(self, folder: Path, tell: Tell) -> None:
        """Make it here and now, into `folder`."""
        row = self.study == "table1"
        reproduce(
            self.study,
            out=folder,
            dataset=self.dataset or "crime",
            all_rows=self.all_rows,
            methods=(self.method,) if row else None,
            objectives=(self.objective,) if row else None,
            reading=Reading(features_seen=self.features_seen),
            tell=tell,
        )


class ReproductionJob(Job[ReproductionSpec]):
    """One such job in the store."""

    folder_name: ClassVar[str] = "paper"
    label: ClassVar[str] = "study"
    spec_kind: ClassVar[type] = ReproductionSpec

    def carry_out(self, tell: Tell) -> None:
        """Make it, all of it or nothing."""
        with self._result_folder() as folder:
            self.spec.carry_out(folder, tell)

    def read_result(self) -> StudyResult:
        """The new result; RunError if it can't be read."""
        folder = self._checked()
        try:
            (name,) = committed(folder=folder)
            return read_result(name, folder)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise self._damaged() from error


def start_reproduction(spec: ReproductionSpec) -> ReproductionJob:
    """Create a job and have it carried out."""
    job = ReproductionJob.create(spec)
    engine.submit(f"{job.folder_name}/{job.id}", lane=engine.LONG, owner=LOCAL)
    return job


def newest_job(spec: ReproductionSpec) -> ReproductionJob | None:
    """The job that was last asked to make this again; None if there is none."""
    folder = data_folder(ReproductionJob.folder_name)
    found = []
    for place in folder.iterdir() if folder.is_dir() else ():
        try:
            job = ReproductionJob(place.name)
            if job.spec == spec:
                found.append(((place / "spec.json").stat().st_mtime, job.id))
        except RunError:
            # Damaged or not a job: the others are not affected.
            continue
    return ReproductionJob(max(found)[1]) if found else None
