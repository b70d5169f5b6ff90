"""With every option given in words, an audit, two runs and every command say what they said after Part 15."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.golden import frozen
from tests.golden.tolerance import differences, too_large


@pytest.fixture(scope="module")
def carried_out(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, pd.DataFrame]]:
    """A home with both runs, and their frames."""
    folder = tmp_path_factory.mktemp("frozen")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRDASH_HOME", str(folder))
        return folder, dict(frozen.frames())


@pytest.fixture
def home(
    carried_out: tuple[Path, dict[str, pd.DataFrame]], monkeypatch: pytest.MonkeyPatch
) -> dict[str, pd.DataFrame]:
    folder, frames = carried_out
    monkeypatch.setenv("FAIRDASH_HOME", str(folder))
    return frames


def test_frames_of_runs(home: dict[str, pd.DataFrame], tmp_path: Path) -> None:
    assert {f"{name}.csv" for name in home} == {path.name for path in frozen.FROZEN.glob("*.csv")}
    for name, frame in home.items():
        frame.to_csv(tmp_path / "now.csv", index=False, float_format="%.10g")
        now = frozen.records(tmp_path / "now.csv")
        assert not too_large(differences(frozen.records(frozen.FROZEN / f"{name}.csv"), now, name))


@pytest.mark.every_case
@pytest.mark.parametrize("command", frozen.COMMANDS)
@pytest.mark.usefixtures("home")
def test_commands(command: str) -> None:
    ((_, now),) = frozen.commands(only=command)
    assert not too_large(differences(frozen.kept(f"command-{command}"), now, command))


def test_an_audit() -> None:
    now = frozen.settled(json.loads(frozen.audit()))
    assert not too_large(differences(frozen.kept("audit"), now, "audit"))


ROW = {
    "lam": 0.5,
    "p_value": 0.475,
    "value": 0.5,
    "ci_low": 0.3,
    "ci_high": 0.7,
    "mean": 2.0,
    "said": "12.3 % of 5",
}


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("changed", "allowed"),
    [
        ({"lam": 0.5 + 1e-8}, False),
        ({"p_value": 0.5}, True),
        ({"p_value": 0.525}, False),
        ({"value": 0.504}, True),
        ({"value": 0.506}, False),
        ({"mean": 2.0 + 1e-9}, True),
        ({"mean": 2.0 + 1e-8}, False),
        ({"said": "12.4 % of 5"}, True),
        ({"said": "12.5 % of 5"}, False),
        ({"said": "12.3 % by 5"}, False),
        ({"more": 1}, False),
        ({"mean": None}, False),
    ],
)
def test_a_value_may_move_as_far_as_its_kind(changed: dict[str, object], allowed: bool) -> None:
    found = list(differences({"rows": [ROW, 1]}, {"rows": [ROW | changed, 1]}, ""))
    assert len(found) == 1
    assert (not too_large(iter(found))) == allowed
    assert not list(differences({"rows": [ROW]}, json.loads(json.dumps({"rows": [ROW]})), ""))
