"""The core and each extra, installed alone in fresh environments and tested there."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.serving import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.fresh]

#: Limit for the core with its dependencies, in megabytes.
MAX_OF_CORE = 450
HEAVY = ("torch", "shap", "pyarrow", "dbos", "plotly", "streamlit", "requests")
AUDIT = ("audit", "prices.csv", "--price", "price", "--sensitive", "age")

#: Extra, mapped to a command that needs it, besides the commands of the core.
TRIED = {
    "": """
import importlib.util, sys
assert not [each for each in sys.argv[1:] if importlib.util.find_spec(each)]
""",
    "readers": """
pd.DataFrame({"a": [1, 2]}).to_parquet("t.parquet")
frame, report = fd.read_table("t.parquet")
assert frame["a"].tolist() == [1, 2] and report.format == "Parquet"
""",
    "explain": """
result = fd.audit(pd.read_csv("prices.csv"), price="price", sensitive="age", questions=[6])
assert "networks, was left out" in result.answers[-1].text
assert set(result.tables["drivers"]["feature"]) == {"place", "power"}
""",
    "onnx": """
import onnxruntime, fairdash.auditing.models.model_answers
""",
    "models": """
import lightgbm
from fairdash.auditing.models.foreign import ForeignModel
rng = np.random.default_rng(0)
rows, y = pd.DataFrame({"age": rng.integers(18, 90, 300)}), rng.poisson(2.0, 300)
fitted = lightgbm.LGBMRegressor(objective="poisson", n_estimators=2, verbose=-1).fit(rows, y)
model = ForeignModel(fitted.booster_.model_to_string().encode(), table=["age"])
assert np.allclose(model.predict(rows), fitted.predict(rows))
""",
    "train": """
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
model = fd.FairRegressor(lam=1.0, n_epochs=3, warm_up_epochs=1).fit(X, X[:, 0], sensitive_features=X[:, 1])
assert np.isfinite(model.predict(X)).all()
""",
    "plot": """
result = fd.audit(pd.read_csv("prices.csv"), price="price", sensitive="age", questions=[1])
result.save("evidence.zip")
""",
    "report": """
from fairdash.__main__ import main
audit = "audit prices.csv --price price --sensitive age --question 1".split()
main([*audit, "--template", "general", "--out", "filing.html"])
assert b"data:image/svg+xml" in open("filing.html", "rb").read()
""",
    "jobs": """
import dbos, fairdash.jobs.queue
""",
    "all": """
import streamlit, fairdash.ui.cached
result = fd.audit(pd.read_csv("prices.csv"), price="price", sensitive="age", questions=[1, 6])
assert not any("pip install" in answer.text for answer in result.answers)
""",
}
CORE = """
import numpy as np, pandas as pd, fairdash as fd
table = pd.read_csv("prices.csv")
tariff = fd.FairTariff(lam=0.5).fit(table[["place", "power"]], table["price"], sensitive_features=table["age"])
tariff.export("tariff.csv")
assert np.allclose(fd.rate(fd.read_tariff("tariff.csv"), table), tariff.predict(table[["place", "power"]]))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (found,) = folder.glob("*.whl")
    return found


def ask(*command: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def first_audit(programs: Path, folder: Path) -> None:
    """The first audit of the README, as printed."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8").partition("in five minutes\n")[2]
    (block,) = re.findall(
        r"^```bash\n(.*?)^```$", readme.partition("\n## ")[0], flags=re.DOTALL | re.MULTILINE
    )
    for line in block.splitlines():
        program, *words = shlex.split(line)
        done = ask(programs / Path(program).name, *words, folder=folder)
        assert done.returncode in (0, 1), done.stderr
    assert "1. Does the price follow the attribute?" in done.stdout
    assert (folder / "evidence.zip").is_file()


@pytest.mark.parametrize("extra", TRIED)
def test_the_core_and_each_extra_install_alone_and_work(extra: str, wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python, command = (environment / "bin" / name for name in ("python", "fairdash"))
    asked = f"{wheel}[{extra}]" if extra else str(wheel)
    pip = ("-m", "pip", "install", "-q", "--no-compile", "-c", ROOT / "constraints.txt", asked)
    installed = ask(python, *pip, folder=tmp_path)
    assert installed.returncode == 0, installed.stderr
    if not extra:
        size = sum(path.stat().st_size for path in environment.rglob("*") if path.is_file()) / 1e6
        assert size <= MAX_OF_CORE
    if extra in ("", "all"):
        first_audit(environment / "bin", tmp_path)
    rng, n = np.random.default_rng(0), 600
    age = rng.integers(18, 90, n)
    table = {"age": age, "place": rng.choice(list("abc"), n), "power": rng.integers(3, 12, n)}
    table |= {"price": (200 + 2 * age + rng.normal(0, 20, n)).round(2)}
    pd.DataFrame(table).to_csv(tmp_path / "prices.csv", index=False)
    audited = ask(command, *AUDIT, "--question", "1", folder=tmp_path)
    assert audited.returncode == 1, audited.stderr
    tried = ask(python, "-c", CORE + TRIED[extra], *HEAVY, folder=tmp_path)
    assert tried.returncode == 0, tried.stderr
