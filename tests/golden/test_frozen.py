"""With every option given in words, an audit, two runs and every command say what they said after Part 15."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pandas as pd
import pytest

from tests.golden import frozen

#: On one processor the frozen numbers hold to 1e-6; what is trained or smoothed moves by up to 4e-6 on another.
WITHIN = 1e-5


def differences(then: object, now: object, where: str = "") -> list[str]:
    """Places at which two JSON values differ, numbers by more than rounding on another processor."""
    if isinstance(then, dict) and isinstance(now, dict):
        if set(then) != set(now):
            return [f"{where}: {sorted(set(then) ^ set(now))} on one side only"]
        return [each for key in then for each in differences(then[key], now[key], f"{where}.{key}")]
    if isinstance(then, list) and isinstance(now, list):
        if len(then) != len(now):
            return [f"{where}: {len(then)} entries, now {len(now)}"]
        pairs = enumerate(zip(then, now, strict=True))
        return [each for k, (a, b) in pairs for each in differences(a, b, f"{where}[{k}]")]
    if isinstance(then, float) and isinstance(now, float | int):
        same = math.isclose(then, now, rel_tol=WITHIN, abs_tol=1e-9) or (then != then and now != now)
        return [] if same else [f"{where}: {then} was, {now} is"]
    return [] if then == now else [f"{where}: {then!r} was, {now!r} is"]


def kept(name: str) -> object:
    return json.loads((frozen.FROZEN / f"{name}.json").read_text(encoding="utf-8"))


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
        then, now = pd.read_csv(frozen.FROZEN / f"{name}.csv"), pd.read_csv(tmp_path / "now.csv")
        flat = then.eval("method == 'fair_tariff' and lam > 1") if "method" in then else then.index < 0
        pd.testing.assert_frame_equal(now[~flat], then[~flat], rtol=WITHIN, atol=1e-9, obj=name)
        # Of a tariff that is all but flat a processor's rounding decides which factors are the last to differ.
        assert now.loc[flat, "mse":"mse"].sub(then.loc[flat, "mse":"mse"]).abs().le(WITHIN).all(axis=None)


@pytest.mark.every_case
@pytest.mark.parametrize("command", frozen.COMMANDS)
@pytest.mark.usefixtures("home")
def test_commands(command: str) -> None:
    ((_, now),) = frozen.commands(only=command)
    assert not differences(kept(f"command-{command}"), now)


def test_an_audit() -> None:
    assert not differences(kept("audit"), frozen.settled(json.loads(frozen.audit())))


def test_a_difference_is_seen() -> None:
    then = {"a": [1.0, "x", None], "b": {"c": 2}}
    assert not differences(then, json.loads(json.dumps(then)))
    assert differences(then, {"a": [1.0 + 2e-5, "x", None], "b": {"c": 2}})
    assert differences(then, {"a": [1.0, "y", None], "b": {"c": 2}})
    assert differences(then, {"a": [1.0, "x"], "b": {"c": 2}})
    assert differences(then, {"a": [1.0, "x", None], "b": {}})
