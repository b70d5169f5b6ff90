"""Public names, help texts, studies, and results of an audit, two runs and every command stay the same."""

import json
from pathlib import Path

import pandas as pd
import pytest

from fairdash.lab.paper import read_result, study_ids
from tests.golden import frozen
from tests.golden.texts import HERE, help_of_every_command, public_names
from tests.golden.tolerance import differences, too_large
from tests.tiers import few


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home for the runs of this module."""
    return tmp_path_factory.mktemp("frozen")


@pytest.fixture
def home(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRDASH_HOME", str(whole))


_FRAMES: dict[str, dict[str, pd.DataFrame]] = {}


def carried_out(*names: str) -> dict[str, pd.DataFrame]:
    """The frames of the given runs, each computed once."""
    for name in names:
        if name not in _FRAMES:
            _FRAMES[name] = dict(frozen.frames(name))
    return {key: frame for name in names for key, frame in _FRAMES[name].items()}


# tests/runs/test_runs.py compares the run for demographic parity with the stored values.
@pytest.mark.parametrize("plan", few(frozen.PLANS, "residuals"))
@pytest.mark.usefixtures("home")
def test_result_tables_of_runs_match_the_stored_ones(plan: str, tmp_path: Path) -> None:
    frames = carried_out(plan)
    assert {f"{name}.csv" for name in frames} == {path.name for path in frozen.FROZEN.glob(f"{plan}-*.csv")}
    for name, frame in frames.items():
        frame.to_csv(tmp_path / "now.csv", index=False, float_format="%.10g")
        now = frozen.records(tmp_path / "now.csv")
        assert not too_large(differences(frozen.records(frozen.FROZEN / f"{name}.csv"), now, name))


# A sweep in a shell equals a sweep in Python, which is compared above; the list of runs contains both.
@pytest.mark.parametrize("command", few(frozen.COMMANDS, *(set(frozen.COMMANDS) - {"sweep", "runs_list"})))
@pytest.mark.usefixtures("home")
def test_command_outputs_match_the_stored_ones(command: str) -> None:
    carried_out(*(frozen.PLANS if command == "runs_list" else ["residuals"]))
    ((_, now),) = frozen.commands(only=command)
    assert not too_large(differences(frozen.kept(f"command-{command}"), now, command))


def test_an_audit_matches_the_stored_one() -> None:
    now = frozen.settled(json.loads(frozen.audit()))
    assert not too_large(differences(frozen.kept("audit"), now, "audit"))


ROW = {
    "lam": 0.5, "p_value": 0.475, "value": 0.5, "ci_low": 0.3, "ci_high": 0.7, "mean": 2.0,
    "said": "12.3 % of 5",
}  # fmt: skip


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("changed", "allowed"),
    [
        ({"lam": 0.5 + 1e-8}, False), ({"p_value": 0.5}, True), ({"p_value": 0.525}, False),
        ({"value": 0.504}, True), ({"value": 0.506}, False), ({"mean": 2.0 + 1e-9}, True),
        ({"mean": 2.0 + 1e-8}, False), ({"said": "12.4 % of 5"}, True), ({"said": "12.5 % of 5"}, False),
        ({"said": "12.3 % by 5"}, False), ({"more": 1}, False), ({"mean": None}, False),
    ],
)  # fmt: skip
def test_values_may_differ_from_stored_ones_within_the_tolerance_of_their_kind(changed, allowed) -> None:
    found = list(differences({"rows": [ROW, 1]}, {"rows": [ROW | changed, 1]}, ""))
    assert (len(found), not too_large(iter(found))) == (1, allowed)
    assert not list(differences({"rows": [ROW]}, json.loads(json.dumps({"rows": [ROW]})), ""))


@pytest.mark.parametrize("text", ["names", "help"])
def test_public_names_and_command_help_match_the_stored_texts(text: str) -> None:
    now = {"names": public_names, "help": help_of_every_command}[text]()
    assert now == (HERE / f"{text}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("study", study_ids())
def test_every_stored_study_can_be_read_and_has_tables(study: str) -> None:
    result = read_result(study)
    assert result.study == study
    assert result.tables
    assert all(len(table) for table in result.tables.values())
