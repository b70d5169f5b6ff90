"""A planted personal value shows up nowhere but in the data: not in messages, logs or files about runs."""

from __future__ import annotations

import logging
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairdash.data import Roles, UploadSource, delete_upload, keep_upload, read_table
from fairdash.errors import FairdashError
from fairdash.runs import worker
from fairdash.runs.launch import start_model, start_run
from fairdash.runs.status import DONE, FAILED
from fairdash.runs.store import Run, create_run
from fairdash.runs.studies import create_study
from fairdash.simulations.studies import PROXIES, Study
from fairdash.training.settings import TrainingSettings
from fairdash.training.sweep import Sweep
from fairdash.utils.safe_csv import safe_csv
from tests.runs.test_runs import wait

pytestmark = pytest.mark.usefixtures("light_runs")

TEXT, NUMBER = "CANARY-Zoé-7391", 739173.0625
SMALL = {"hidden": (4,), "adversary_hidden": (4,), "batch_size": 64, "n_epochs": 4, "warm_up_epochs": 1}
PLAN = Sweep(lams=(1.0,), n_splits=1, settings=TrainingSettings(**SMALL), device="cpu")
ROLES = Roles(target="cost", sensitive=("age",), features=("power", "town"))


def table(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n).round(2),
            "power": rng.normal(5, 1, n).round(3),
            "town": rng.choice(["Lyon", "Brest"], n),
        }
    )
    frame["cost"] = (frame["power"] * 10 + frame["age"]).round(2)
    frame.loc[[7, 40], "town"] = TEXT
    frame.loc[7, ["age", "power", "cost"]] = NUMBER
    return frame


def upload(frame: pd.DataFrame) -> UploadSource:
    kept = keep_upload(frame.to_csv(index=False).encode(), name="policies.csv")
    return UploadSource(sha256=kept.sha256, name=kept.name, roles=ROLES)


def holds_canary(content: bytes) -> bool:
    words = (TEXT, "7391-", "739173.06", "739,173.06", repr(NUMBER))
    planted = [word.encode(code) for word in words for code in ("utf-8", "utf-16-le", "cp1252")]
    planted += [np.array(NUMBER, kind).tobytes() for kind in ("<f8", ">f8")]
    return any(one in content for one in planted)


def files_with_canary(home: Path) -> set[str]:
    found = set()
    for path in home.rglob("*"):
        if not path.is_file():
            continue
        content = path.read_bytes()
        if path.suffix == ".parquet":
            # Packed: what is inside counts.
            content += pd.read_parquet(path).to_csv().encode()
        if holds_canary(content):
            found.add(str(path.relative_to(home)))
    return found


def test_the_search_finds_what_is_there(home_folder: Path) -> None:
    upload(table())
    assert len(files_with_canary(home_folder)) == 1
    table().to_parquet(home_folder / "x.parquet", compression="zstd")
    (home_folder / "y.bin").write_bytes(table()["cost"].to_numpy().tobytes())
    assert len(files_with_canary(home_folder)) == 3


@pytest.fixture
def home_folder(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_from_upload_to_export_no_file_but_the_data_holds_it(home_folder: Path) -> None:
    source = upload(table())
    study = Study(PROXIES, source=source.to_json(), sensitive="age")
    assert worker.main(create_study(study).id) == 0
    run = start_run(source, PLAN)
    assert wait(run).state == DONE
    result = run.read_result()
    for exported in (result.frame, result.members):
        assert not holds_canary(safe_csv(exported))
    assert files_with_canary(home_folder) == {
        f"uploads/{source.sha256}.upload",
        # The rows that the pages draw are data too.
        f"runs/{run.id}/result/rows.safetensors",
    }


def test_a_model_to_take_away_tells_no_cell_but_the_levels_of_texts(home_folder: Path) -> None:
    source = upload(table())
    job = start_model(source, PLAN, run="0" * 12, method="hgr_nn", lam=1.0)
    assert wait(job).state == DONE
    assert files_with_canary(home_folder) == {f"uploads/{source.sha256}.upload"}
    with zipfile.ZipFile(job.folder / "result" / "bundle.zip") as bundle:
        files = {name: bundle.read(name) for name in bundle.namelist()}
    # Escaped as JSON has it; the README says so, and no other file may.
    assert b"CANARY" in files.pop("model.safetensors")
    assert "every value that occurs in the columns of text" in " ".join(files["README.txt"].decode().split())
    for content in (*files.values(), *(path.read_bytes() for path in (home_folder / "lanes").glob("*.log"))):
        assert not holds_canary(content)
        assert b"CANARY" not in content


def test_what_fails_tells_where_and_never_on_what(
    home_folder: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    source = upload(table())
    messages = []

    def broken(*args: object, **options: object) -> None:
        raise ValueError(f"could not convert string to float: '{TEXT}'")

    with monkeypatch.context() as patch:
        patch.setattr(UploadSource, "load", broken)
        run = create_run(source, PLAN)
        assert worker.main(run.id) == 1
        assert run.status.state == FAILED
        messages.append(run.status.message)
        study = Study(PROXIES, source=source.to_json(), sensitive="age")
        assert worker.main(create_study(study).id) == 1
    assert "ValueError" in caplog.text
    assert "test_canary.py" in caplog.text, "the place is told"
    bad = table()
    bad["cost"] = bad["cost"].astype(object)
    bad.loc[3, "cost"] = TEXT
    run = create_run(upload(bad), PLAN)
    assert worker.main(run.id) == 1
    messages.append(Run(run.id).status.message)
    assert "“cost”" in messages[-1]
    delete_upload(source.sha256)
    run = create_run(source, PLAN)
    assert worker.main(run.id) == 1
    messages.append(Run(run.id).status.message)
    assert "not stored here any more" in messages[-1]
    printed = capsys.readouterr()
    for text in (*messages, caplog.text, printed.out, printed.err):
        assert not holds_canary(text.encode())
    assert all(name.startswith("uploads/") for name in files_with_canary(home_folder))


@pytest.mark.parametrize("spoil", ["quote", "width", "infinite", "nul", "twice"])
def test_a_file_that_can_not_be_read_is_not_quoted(spoil: str) -> None:
    text = table(60).to_csv(index=False)
    text = {
        "quote": text + f'1,2,"{TEXT}\n',
        "width": text + f"{TEXT},1\n",
        "infinite": text + f"1,1e400,{TEXT},{NUMBER}\n",
        "nul": text + f"{TEXT}\0,1,2,3\n",
        "twice": text.replace("power", "age", 1),
    }[spoil]
    with pytest.raises(FairdashError) as caught:
        read_table(text.encode())
    assert not holds_canary(str(caught.value).encode())


def test_what_is_said_of_a_table_that_is_read_does_not_quote_it() -> None:
    dataset = upload(table()).load()
    frame, report = read_table(table().to_csv(index=False).encode())
    assert len(frame) == 200
    said = "\n".join([*report.sentences(), *dataset.notes, repr(dataset)])
    assert not holds_canary(said.encode())


def test_a_fault_on_a_page_is_logged_without_what_it_happened_to(caplog: pytest.LogCaptureFixture) -> None:
    from fairdash.ui.frame import plain_errors

    caplog.set_level(logging.DEBUG)
    with plain_errors():
        try:
            float(TEXT)
        except ValueError as error:
            raise KeyError(TEXT) from error
    assert "KeyError" in caplog.text
    assert "ValueError" in caplog.text
    assert not holds_canary(caplog.text.encode())
