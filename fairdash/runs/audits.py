"""Storage of audits with their plans and results.

<home>/audits/<id>/spec.json   table, columns and allowed gap, stored before the results
<home>/audits/<id>/model.onnx  the audited model, if there is one
<home>/audits/<id>/result/     the result, as :meth:`fairdash.AuditResult.save` writes it

The other files are those of a run; see :mod:`fairdash.runs.store`. The audited table may contain predictions
of a run for its test rows. A table with predictions of a run belongs to the owner of the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.auditing.evidence import AuditResult
from fairdash.auditing.models import ModelFile
from fairdash.auditing.plan import AuditPlan
from fairdash.data.dataset import Dataset
from fairdash.data.source import CatalogueSource, DatasetSource, UploadSource, save_source
from fairdash.data.uploads import keep_upload
from fairdash.errors import StorageError
from fairdash.runs.store import Job, JobSpec, Run
from fairdash.storage import LOCAL, sha256
from fairdash.tables.model_files.model_file import content_of
from fairdash.tables.roles import Roles
from fairdash.utils.records import to_plain
from fairdash.utils.safe_csv import safe_csv

Array = NDArray[np.float64]

MODEL = "model.onnx"
#: Name of the column of predictions in a table. If the data have a column of this name, a number is appended.
PRICE = "price"


@dataclass(frozen=True, kw_only=True)
class AuditSpec(JobSpec):
    """Specification of an audit.

    Parameters
    ----------
    plan
        Plan of the audit, with the roles of the columns, the primary criterion and the thresholds.
    model
        The audited model, or None if a column of prices is audited.
    source, created
        See :class:`fairdash.runs.store.JobSpec`. The audit uses only the table of the source, and not its
        column roles.
    """

    plan: AuditPlan
    model: ModelFile | None = None


class AuditJob(Job[AuditSpec]):
    """Stored audit."""

    folder_name: ClassVar[str] = "audits"
    label: ClassVar[str] = "audit"
    spec_kind: ClassVar[type] = AuditSpec

    @property
    def model(self) -> dict[str, Any]:
        """Model and its options as arguments of :func:`fairdash.audit`, or {} for a column of prices.

        A RunError is raised if the file of the model is missing or damaged.
        """
        model_file = self.spec.model
        if model_file is None:
            return {}
        path = self.folder / MODEL
        if not path.is_file() or sha256(content := path.read_bytes()) != model_file.sha256:
            raise self.damaged(MODEL)
        return {"model": content, **model_file.options}

    def write_result(self, result: AuditResult) -> None:
        """Store the result completely or not at all."""
        with self._result_folder() as folder:
            result.save(folder)

    def read_result(self) -> AuditResult:
        """Read the stored result; raise a RunError if the result is missing or can't be read."""
        folder = self._checked()
        try:
            return AuditResult.load(folder)
        except StorageError as error:
            raise self.damaged() from error


def create_audit(
    source: DatasetSource,
    plan: AuditPlan,
    *,
    owner: str = LOCAL,
    model: bytes | None = None,
    model_columns: Sequence[str] = (),
    customer: int | None = None,
    model_link: str = "auto",
    model_output: str | None = None,
    check_column: str | None = None,
) -> AuditJob:
    """Create an audit. Its plan is stored before a process can execute it.

    `model` is the content of a model's file. `model` and all later parameters have the same meaning as in
    :func:`fairdash.audit`. A StorageError is raised if the file is too large or can't be stored.
    """
    spec, files = AuditSpec(source=source, plan=plan, owner=owner), {}
    if model is not None:
        files[MODEL] = content_of(model)
        model_file = ModelFile(
            sha256=sha256(model), columns=tuple(model_columns), customer=customer, link=model_link,
            output=model_output, check_column=check_column,
        )  # fmt: skip
        spec = replace(spec, model=model_file)
    spec = replace(spec, plan=replace(plan, written=plan.written or spec.created))
    return AuditJob.create(spec, files=files)


def origin_of(source: DatasetSource) -> dict[str, Any]:
    """Describe the origin of an audit's table, for the evidence file (zip) of the audit."""
    if isinstance(source, UploadSource):
        return {"sha256": source.sha256, "reading": to_plain(source.reading)}
    assert isinstance(source, CatalogueSource)
    return {"dataset": source.dataset, "options": dict(source.options)}


def store_priced_table(
    run: Run, dataset: Dataset, price: pd.Series, *, title: str, owner: str
) -> UploadSource:
    """Store a table with prices for an audit, and the recipe with the roles of its columns.

    Parameters
    ----------
    run
        Run whose models gave the prices. The table is deleted if the run or the file of its training data is
        deleted.
    dataset
        Data set of the run.
    price
        Prices of rows of `dataset`. The index contains the positions of these rows.
    title
        Name of the table.
    owner
        Owner of the table.

    Raises
    ------
    RunError
        The run was trained on other data.
    StorageError
        The table can't be stored.
    """
    run.check_data(dataset)
    positions = price.index.to_numpy(dtype=np.intp)
    table = dataset.table().iloc[positions].reset_index(drop=True)
    name = next(column for column in (PRICE, *(f"{PRICE} {k}" for k in range(2, 99))) if column not in table)
    table[name] = price.to_numpy()
    content = safe_csv(table)
    upload = keep_upload(content, name=f"{title}.csv", owner=owner)
    source = run.spec.source
    origin = (run.id, *((source.sha256,) if isinstance(source, UploadSource) else ()))
    roles: Roles = replace(dataset.roles, prediction=name, rate=False)
    recipe = UploadSource(
        sha256=upload.sha256, name=f"{title}.csv", roles=roles, names=dataset.names, made_from=origin
    )
    save_source(recipe, owner=owner)
    return recipe


def price_of_test_rows(predictions: Mapping[int, Array], tests: Sequence[NDArray[np.int64]]) -> pd.Series:
    """Return the prediction of each test row from the first split in which it is a test row.

    The model of this prediction was not trained on the row.

    Parameters
    ----------
    predictions
        Map from splits to predictions (n,).
    tests
        The test rows of each split.
    """
    prices = pd.concat([pd.Series(predictions[j][tests[j]], index=tests[j]) for j in sorted(predictions)])
    return prices[~prices.index.duplicated()].sort_index()
