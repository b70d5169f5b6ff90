"""A run's predictions as a table to audit: its rows, its roles, and that it goes with what it is from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fairdash.data.readers.report import ReadingOptions
from fairdash.data.source import CatalogueSource, UploadSource, load_source, save_source
from fairdash.data.uploads import holders_of, keep_upload
from fairdash.errors import StorageError
from fairdash.runs.audits import AuditJob, create_audit, keep_priced, price_of_test_rows
from fairdash.runs.deletion import delete_made_from, delete_run, made_in, what_goes
from fairdash.runs.store import Run, create_run
from fairdash.storage import LOCAL
from tests.runs.finished import PLAN, SOURCE, finished


def priced(run: Run) -> tuple[UploadSource, AuditJob]:
    from fairdash.auditing.plan import AuditPlan, Columns

    result = run.read_result()
    predictions = {j: np.asarray(result.target) + j for j in range(len(result.splits))}
    price = price_of_test_rows(predictions, [split.test for split in result.splits])
    made = keep_priced(run, run.spec.source.load(), price, title="a model", owner=LOCAL)
    return made, create_audit(made, AuditPlan(columns=Columns(price="price", sensitive="Age")))


@pytest.fixture
def uploaded() -> UploadSource:
    dataset = SOURCE.load()
    upload = keep_upload(dataset.table().to_csv(index=False).encode(), name="policies.csv")
    source = UploadSource(
        sha256=upload.sha256, name="policies.csv", roles=dataset.roles, reading=ReadingOptions()
    )
    save_source(source)
    return source


def test_each_test_row_has_the_price_of_the_first_split_that_tests_it() -> None:
    found = price_of_test_rows(
        {0: np.array([1.0, 2, 3, 4]), 1: np.array([10.0, 20, 30, 40])}, [np.array([2, 0]), np.array([3, 2])]
    )
    assert found.to_dict() == {0: 1.0, 2: 3.0, 3: 40.0}


def test_its_table_has_the_run_s_columns_and_roles(done: Run) -> None:
    run = done
    made, _ = priced(run)
    table = made.load()
    assert made.roles == replace(SOURCE.load().roles, prediction="price")
    assert load_source(made.id) == made
    tests = np.unique(np.concatenate([split.test for split in run.read_result().splits]))
    np.testing.assert_allclose(table.target, run.read_result().target[tests])
    assert CatalogueSource.from_json(made.to_json()) == made


def test_it_goes_with_the_file(uploaded: UploadSource) -> None:
    made, audit = priced(finished(source=uploaded))
    delete_made_from(uploaded.sha256)
    assert not holders_of(made.sha256)
    assert not audit.folder.exists()
    with pytest.raises(StorageError):
        load_source(made.id)


def test_it_goes_with_the_run_and_another_s_stays(done: Run) -> None:
    run, other = done, create_run(SOURCE, PLAN)
    made, audit = priced(run)
    kept = keep_upload(b"age,price\n1,2\n", name="own.csv")
    assert made_in(run).jobs[AuditJob] == (audit.folder,)
    assert made_in(other).jobs[AuditJob] == ()
    assert "audits of their prices" in what_goes(made_in(run))
    delete_run(run)
    assert not holders_of(made.sha256)
    assert not audit.folder.exists()
    assert holders_of(kept.sha256)
    assert Run(other.id).spec == other.spec
