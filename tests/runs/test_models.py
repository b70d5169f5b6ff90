"""Downloadable models, refitted on all rows, with their model cards; and predictions as a table to audit."""

import io
import json
import math
import os
import re
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.auditing.filing.document import FIELDS
from fairdash.data import Roles, UploadSource, keep_upload
from fairdash.data.source import CatalogueSource, load_source, save_source
from fairdash.data.uploads import owners_of
from fairdash.errors import RunError, StorageError
from fairdash.runs import worker
from fairdash.runs.audits import AuditJob, create_audit, price_of_test_rows, store_priced_table
from fairdash.runs.deletion import delete_file_and_derived, delete_run, deletion_in_words, derived_from_runs
from fairdash.runs.launch import start_model
from fairdash.runs.listing import list_runs
from fairdash.runs.model_card import HEADINGS, model_card
from fairdash.runs.models import ModelJob, create_model, find_model
from fairdash.runs.state import DONE, FAILED
from fairdash.runs.store import Run, create_run
from fairdash.storage import LOCAL
from fairdash.utils.records import to_plain
from tests.auditing.test_evidence import HOSTILE as MARKUP
from tests.runs.changed_archives import unpacked as opened
from tests.runs.finished import finished
from tests.runs.test_runs import PLAN as RUNS_PLAN
from tests.runs.test_runs import QUICK, SOURCE, wait

PLAN = replace(RUNS_PLAN, methods=("standard", "hgr_spline"), lams=(0.5, 2.0), random_state=3)
ASKED = {"run": "0123456789ab", "method": "hgr_spline", "lam": 1.0}
HOSTILE = "=HYPERLINK('http://x')<img src=x>"


def policies(n=200) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.uniform(20, 80, n).round(1)
    frame = pd.DataFrame({"age": age, HOSTILE: (0.1 * age + rng.normal(size=n)).round(3)})
    texts = {"town": ["Brest", "Lyon", "Zoé", None], "code": ["01", "02", "10"], "garden": ["true", "false"]}
    frame = frame.assign(**{name: rng.choice(levels, n) for name, levels in texts.items()})
    frame["years"] = rng.uniform(0.1, 1, n).round(2)
    frame["cost"] = (50 + 10 * frame[HOSTILE] + 20 * (frame["town"] == "Lyon")).round(2)
    return frame


FEATURES = (HOSTILE, "town", "code", "garden")


def upload() -> UploadSource:
    kept = keep_upload(policies().to_csv(index=False).encode(), name="policies.csv")
    roles = Roles(target="cost", sensitive=("age",), features=FEATURES, weight="years")
    return UploadSource(sha256=kept.sha256, name=kept.name, roles=roles)


def made(source=SOURCE, plan=PLAN, **options) -> ModelJob:
    job = create_model(source, plan, **(ASKED | options))
    assert worker.main(job.id) == 0, job.status
    return job


def by_hand(source, plan, *, method, lam, **options) -> np.ndarray:
    """Predictions of the regressor fitted on all rows."""
    data = source.load()
    model = fd.FairRegressor(
        method=method, lam=lam, objective=plan.objective, random_state=plan.random_state, device="cpu",
        **options, **{name: getattr(plan.settings, name) for name in to_plain(plan.settings)},
    )  # fmt: skip
    model.fit(data.features, data.target, sensitive_features=data.sensitive, sample_weight=data.weight)
    return model.predict(data.features)


def loaded(content: bytes, folder: Path) -> fd.FairRegressor:
    (folder / "m.safetensors").write_bytes(opened(content)["model.safetensors"])
    return fd.FairRegressor.load(folder / "m.safetensors")


def test_a_model_is_fitted_in_a_separate_process_and_is_not_listed_as_a_run():
    job = start_model(SOURCE, PLAN, **ASKED, figures={"mse": 0.25})
    assert wait(job).state == DONE
    names = ["README.txt", "load_model.py", "model.json", "model.safetensors", "model_card.md"]
    assert (list(opened(ModelJob(job.id).bundle())), list_runs().runs) == (names, ())
    with pytest.raises(RunError, match="gone"):
        Run(job.id)


@pytest.mark.parametrize(
    ("method", "lam", "objective"),
    [("hgr_nn", 2.0, "equalized_residuals"), ("standard", 0.0, "demographic_parity")],
)
def test_a_model_equals_the_regressor_fitted_on_all_rows(method, lam, objective, tmp_path):
    source, plan = upload(), replace(PLAN, objective=objective)
    model = loaded(made(source, plan, method=method, lam=lam).bundle(), tmp_path)
    expected = by_hand(source, plan, method=method, lam=lam)
    assert np.array_equal(model.predict(source.load().features), expected)
    assert (model.sensitive_names_, tuple(model.feature_names_in_)) == ((), FEATURES)


def test_the_script_in_the_bundle_predicts_for_a_table(tmp_path):
    job = made(upload())
    zipfile.ZipFile(io.BytesIO(job.bundle())).extractall(tmp_path / "bundle")
    # Other rows in another format: semicolons, another order of columns, and no sensitive column.
    table = policies().sample(frac=1, random_state=1).drop(columns=["age", "cost"])[::-1]
    table.iloc[:, ::-1].to_csv(tmp_path / "new.csv", index=False, sep=";")
    command = [sys.executable, "bundle/load_model.py", "new.csv"]
    path = os.environ | {"PYTHONPATH": str(Path(fd.__file__).parent.parent)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=path)
    assert done.returncode == 0, done.stderr
    assert "200 predictions written to predictions.csv." in done.stdout
    assert "Warning" not in done.stderr
    written = pd.read_csv(tmp_path / "predictions.csv")
    expected = pd.Series(loaded(job.bundle(), tmp_path).predict(upload().load().features))
    assert np.array_equal(written["prediction"], expected[table.index])


def test_fitting_a_model_twice_gives_identical_files():
    first = made().bundle()
    assert first == made().bundle()
    assert made(lam=1.5).bundle() != first


def test_the_model_card_states_data_settings_versions_and_results():
    source = upload()
    content = opened(made(source, figures={"mse": 0.25, "hgr_kde": math.inf}).bundle())
    card = json.loads(content["model.json"])
    data, model = card["data"], card["model"]
    about = {"title": "policies.csv", "rows": 200, "fingerprint": source.load().fingerprint}
    assert {name: data[name] for name in about} == about
    assert (data["roles"]["sensitive"], data["roles"]["features"]) == (["age"], list(FEATURES))
    about = {"method": "hgr_spline", "lam": 1.0, "settings": to_plain(QUICK), "random_state": 3}
    assert {name: model[name] for name in about} == about
    assert {"fairdash", "torch", "numpy"} <= set(card["made_with"])
    assert card["figures"]["values"] == {"mse": 0.25, "hgr_kde": None}
    assert "do not describe this fit" in card["figures"]["about"]
    readme = " ".join(content["README.txt"].decode().split())
    for sentence in (
        f"fairdash {fd.__version__}",
        "from the folder of its source code",
        'python -m pip install "path/to/fairdash[readers,train]" -c path/to/fairdash/constraints.txt',
        "all 200 rows of the data set, with the weight lambda = 1 on fairness",
        *card["limits"],
    ):
        assert sentence in readme
    for name in ("README.txt", "load_model.py"):
        # Column names appear only in JSON, where they can't be executed.
        assert not re.search("HYPERLINK|policies.csv", content[name].decode())


def test_a_failed_model_job_states_the_reason():
    for options, settings, said in (
        ({"method": "magic"}, QUICK, "magic"),
        ({"lam": -1.0}, QUICK, "the weight λ is not valid"),
        ({}, replace(QUICK, lr=1e200), "diverged"),
    ):
        job = create_model(SOURCE, replace(PLAN, settings=settings), **(ASKED | options))
        assert (worker.main(job.id), job.status.state) == (1, FAILED)
        assert said in job.status.message


@pytest.mark.parametrize("name", ["bundle.zip", "sha256.json"])
def test_a_damaged_model_bundle_is_refused_for_download(name):
    job = made()
    path = job.folder / "result" / name
    content = path.read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    for spoilt in (b"", content[:-1], flipped, None):
        path.unlink() if spoilt is None else path.write_bytes(spoilt)
        with pytest.raises(RunError, match="damaged"):
            job.bundle()


def test_the_newest_model_of_a_run_method_and_weight_is_found(monkeypatch):
    assert find_model(**ASKED) is None
    old = create_model(SOURCE, PLAN, **ASKED)
    create_model(SOURCE, PLAN, **(ASKED | {"lam": ASKED["lam"] + 1}))
    damaged = create_model(SOURCE, PLAN, **ASKED)
    (damaged.folder / "spec.json").write_text("{")
    assert find_model(**ASKED).id == old.id
    spec = replace(old.spec, created="9999-01-01T00:00:00+00:00")
    new = ModelJob.create(spec)
    assert find_model(**ASKED).id == new.id
    # Reading the list a second time parses no spec.json again.
    (damaged.folder / "spec.json").unlink()
    monkeypatch.setattr("fairdash.runs.store.parse_spec", None)
    assert find_model(**ASKED).id == new.id


def test_early_stopping_of_a_refitted_model_uses_the_validation_share_of_the_plan(tmp_path):
    plan = replace(PLAN, validation_share=0.25, settings=replace(QUICK, n_epochs=40, patience=2))
    content = made(plan=plan).bundle()
    expected = by_hand(SOURCE, plan, method="hgr_spline", lam=1.0, validation_fraction=0.25)
    assert np.array_equal(loaded(content, tmp_path).predict(SOURCE.load().features), expected)
    assert json.loads(opened(content)["model.json"])["data"]["rows_set_aside_to_stop_early"] == 50
    assert b"but 50 used for early stopping" in opened(content)["README.txt"]


def test_every_model_card_heading_has_the_text_of_the_user_or_is_marked_as_missing(monkeypatch) -> None:
    answers = {"purpose": "Motor *quotes*"}
    monkeypatch.setattr("fairdash.runs.models.stored_answers", lambda owner: answers)
    files = opened(made().bundle())
    card, text = json.loads(files["model.json"]), files["model_card.md"].decode()
    assert (card["governance"], text) == (answers, model_card(card))
    assert "- Motor \\*quotes\\*\n" in text
    places = [text.index(f"## {heading}\n") for heading in HEADINGS]
    assert places == sorted(places)
    for heading, begin, end in zip(HEADINGS, places, [*places[1:], len(text)], strict=True):
        below = text[begin:end]
        assert "\n- " in below, heading
        for field in HEADINGS[heading]:
            assert (f"**Yours to write:** {FIELDS[field]}" in below) == (field not in answers)


def test_names_and_user_texts_in_a_model_card_are_escaped() -> None:
    card = json.loads(opened(made().bundle())["model.json"])
    card["data"]["title"] = card["model"]["predicts"] = MARKUP + "\n## Intended use"
    text = model_card({**card, "governance": {"purpose": MARKUP}})
    assert "<img" not in text.replace("\\<img", "")
    assert text.count("\n## Intended use") == 1


def priced(run: Run) -> tuple[UploadSource, AuditJob]:
    from fairdash.auditing.plan import AuditPlan, Columns

    result = run.read_result()
    predictions = {j: np.asarray(result.target) + j for j in range(len(result.splits))}
    price = price_of_test_rows(predictions, [split.test for split in result.splits])
    made = store_priced_table(run, run.spec.source.load(), price, title="a model", owner=LOCAL)
    return made, create_audit(made, AuditPlan(columns=Columns(price="price", sensitive="Age")))


def test_each_row_gets_its_price_from_the_first_split_whose_test_set_contains_the_row() -> None:
    found = price_of_test_rows(
        {0: np.array([1.0, 2, 3, 4]), 1: np.array([10.0, 20, 30, 40])}, [np.array([2, 0]), np.array([3, 2])]
    )
    assert found.to_dict() == {0: 1.0, 2: 3.0, 3: 40.0}


def test_a_table_of_prices_made_from_a_run_has_the_columns_and_roles_of_the_run(done: Run) -> None:
    made, _ = priced(done)
    result = done.read_result()
    assert made.roles == replace(SOURCE.load().roles, prediction="price")
    assert load_source(made.id) == CatalogueSource.from_json(made.to_json()) == made
    tests = np.unique(np.concatenate([split.test for split in result.splits]))
    np.testing.assert_allclose(made.load().target, result.target[tests])


def test_an_audited_price_is_deleted_with_the_file() -> None:
    source = upload()
    save_source(source)
    made, audit = priced(finished(source=source))
    delete_file_and_derived(source.sha256)
    assert not owners_of(made.sha256)
    assert not audit.folder.exists()
    with pytest.raises(StorageError):
        load_source(made.id)


def test_deleting_a_run_deletes_only_the_audited_prices_made_from_it(done: Run) -> None:
    other = create_run(SOURCE, PLAN)
    made, audit = priced(done)
    kept = keep_upload(b"age,price\n1,2\n", name="own.csv")
    assert [derived_from_runs(one).jobs[AuditJob] for one in (done, other)] == [(audit.folder,), ()]
    assert "audits of their prices" in deletion_in_words(derived_from_runs(done))
    delete_run(done)
    assert not owners_of(made.sha256)
    assert not audit.folder.exists()
    assert owners_of(kept.sha256)
    assert Run(other.id).spec == other.spec
