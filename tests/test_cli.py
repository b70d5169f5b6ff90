"""The command line does what the pages do."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.cli import UNEXPECTED, command_line, main
from fairdash.cli.training import DataOptions
from fairdash.data.dataset import Dataset
from fairdash.dependence import REGISTRY
from fairdash.errors import OptionError
from fairdash.tables.leaks import BOUNDS
from fairdash.tables.readers.reading import read_table
from fairdash.utils.records import from_plain
from fairdash.utils.text import p_value
from tests.data.test_suggestion import claims as known_with_the_target

pytestmark = pytest.mark.usefixtures("light_runs")


@pytest.fixture
def command(capsys):
    """The output of a command: stdout, or stderr if the command was refused."""

    def printed(*words, status=0):
        assert main([str(word) for word in words]) == status
        said = capsys.readouterr()
        return said.err if status else said.out

    return printed


def test_a_command_uses_one_thread_unless_configured_otherwise():
    code = (
        "import os, sys; from fairdash.cli import main; print('numpy' in sys.modules); main(['--version']); "
    )
    code += "print(os.environ['OPENBLAS_NUM_THREADS'])"
    environment = {name: each for name, each in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    for told, wanted in (({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3")):
        said = subprocess.run(
            [sys.executable, "-c", code], env=environment | told, capture_output=True, text=True, check=True
        ).stdout.split()
        assert (said[0], said[-1]) == ("False", wanted), "NumPy would have read it already"


def test_sweep_prints_the_results_of_the_api_as_json_and_as_a_table(policies, command):
    path, _ = policies
    roles = {"predict": "old_price", "sensitive": ("age",), "features": ("income", "power")}
    options = f"--file {path} --predict old_price --sensitive age --features income power "
    options += "--methods standard,pearson --lams 0,1 --splits 1 --epochs 2 --device cpu --loss squared_error"
    quick = "--no-tariff --objective demographic_parity --measures pearson --no-tune".split()
    printed = json.loads(command("sweep", *options.split(), *quick, "--json"))
    assert (printed["dataset"], printed["sweep"]["lams"]) == ("policies", [0, 1])
    settings = from_plain(fd.TrainingSettings, printed["sweep"]["settings"])
    told = {"methods": ["standard", "pearson"], "lams": [0, 1], "n_splits": 1, "measures": ["pearson"]}
    told |= {"tune": False, "tariff": False, "device": "cpu"}
    result = fd.sweep(DataOptions(file=path, **roles).load(), settings=settings, **told)
    # One standard model and one fair model at two weights, each on three sets of rows.
    assert len(printed["rows"]) == len(result.frame) == (1 + 2) * 3
    for row, expected in zip(printed["rows"], result.frame.to_dict("records"), strict=True):
        # JSON has no NaN: the floor, which training rows lack, is null.
        numbers = {name: float("nan") if value is None else value for name, value in row.items()}
        assert numbers == pytest.approx(expected, nan_ok=True)
    out = command("sweep", *options.replace("standard,pearson", "standard").split(), *quick)
    assert re.search("pearson_floor.*standard", out, flags=re.DOTALL)


@pytest.fixture
def prices(tmp_path, monkeypatch):
    """A file with 200 rows of a U-shaped link, two incomplete rows, a column of text and other columns."""
    age = np.linspace(-1, 1, 200)
    price = age**2 + 0.01 * np.random.default_rng(0).normal(size=200)
    rows = [f"{a:.6f},{p:.6f},magenta" for a, p in zip(age, price, strict=True)]
    files = {"prices": ["age,price,colour", *rows, "0.5,,magenta", ",0.3,blue"], "gaps": ["a,b", "1,", ",2"]}
    files |= {f"few{n}": ["u,v,seven", *(f"{k},{k},7" for k in range(n))] for n in (19, 20)}
    for name, lines in files.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "prices.csv"


#: A command, and a pattern of its error message.
_, *REFUSED = csv.reader(Path(__file__).with_name("refused_commands.csv").read_text("utf-8").splitlines())


@pytest.mark.every_case
@pytest.mark.parametrize(("asked", "said"), REFUSED)
def test_a_refused_command_names_the_fault_and_the_remedy(asked, said, prices, capsys):
    assert main(asked.split()) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert re.search(said, printed.err, flags=re.DOTALL)
    assert not re.search("Traceback|magenta", printed.err)


def test_measure_accepts_twenty_complete_rows(prices, command):
    command(*"measure pearson few20.csv --u u --v v --permutations 19 --bootstrap 0".split())


def test_measure_prints_the_results_of_the_api_as_json(prices, command):
    printed = json.loads(command("measure", "hgr_spline", prices, "--u", "price", "--v", "age", "--json"))
    about = {"n_left_out": 2, "interval_of": REGISTRY["hgr_spline"].title}
    about["evaluation"] = "corrected by evidence"
    assert {name: printed.pop(name) for name in about} == about
    frame = read_table(prices)[0].dropna()
    verdict = printed.pop("verdict")
    test = fd.independence_test(frame["price"], frame["age"], n_permutations=199, random_state=0)
    found = (verdict["link"], verdict["p_value"], verdict["p_values"])
    assert found == (True, test.p_value, dict(test.p_values))
    expected = fd.assess_dependence("hgr_spline", frame["price"], frame["age"], random_state=0)
    assert (printed, printed["n"]) == (pytest.approx(asdict(expected)), 200)
    assert printed["value"] > 0.95


def test_measure_prints_value_floor_p_value_and_interval(prices, command):
    options = [prices, "--u", "price", "--v", "age", "--permutations", "19"]
    out = command("measure", "hgr_spline", *options)
    for words in (
        "200 rows", "missing: 2", "corrected for the contribution of noise", "noise floor", "interval",
        "the smallest p is 0.005 if every measure finds the link, 0.03 if only one does",
        "p-value      0.05 of independence (19 permutations)", "verdict      link found at 5 %: one test of 6 measures, p = 0.0",
    ):  # fmt: skip
        assert words in out
    words = "of the maximal correlation of the kernel-smoothed data, which is below HGR"
    assert words in command("measure", "hgr_kde", *options)
    assert not re.search("interval|upper bound", command("measure", "pearson", *options, "--bootstrap", "0"))
    assert "upper bound" in command("measure", "pearson", *options)


@pytest.fixture
def rated(tmp_path):
    """Prices that depend only on a bonus; age depends on the bonus as well. One row has no bonus."""
    rng = np.random.default_rng(0)
    bonus = rng.integers(50, 100, 400)
    price, age = 10 * bonus + 90 * rng.normal(size=400), bonus + 9 * rng.normal(size=400)
    frame = pd.DataFrame({"price": price, "age": age, "bonus": bonus})
    frame["region"] = rng.choice(["north", "south"], 400)
    frame.loc[3, "bonus"] = np.nan
    frame.to_csv(tmp_path / "rated.csv", index=False)
    return tmp_path / "rated.csv"


def test_measure_reports_conditional_dependence_given_other_columns(rated, command):
    options = ["measure", "pearson", rated, "--u", "price", "--v", "age", "--bootstrap", "0"]
    given = ["--given", "bonus", "--given", "region"]
    printed = json.loads(command(*options, *given, "--json"))
    frame = pd.read_csv(rated).dropna()
    alike = {"given": frame[["bonus", "region"]], "random_state": 0}
    expected = fd.assess_conditional_dependence(frame["price"], frame["age"], **alike).p_value
    among = printed["among_equals"]
    found = (printed["n_left_out"], among["p_value"], among["given"])
    assert found == (1, pytest.approx(expected), ["bonus", "region"])
    assert printed["p_value"] < 0.01 < 0.05 < expected
    out = command(*options, *given)
    assert "Conditional on bonus, region:" in out
    assert f"p-value      {p_value(expected)} of" in out
    assert "bonus" in command(*options, "--given", "bonnus", status=2)


#: Options for one method, trained once and quickly.
QUICK = "--methods standard --splits 1 --epochs 2 --measures pearson --no-tune --device cpu".split()


@pytest.fixture
def policies(tmp_path):
    """Policies of three years: claims, years of exposure and an existing price."""
    rng = np.random.default_rng(0)
    policy = np.repeat(np.arange(80), 3)
    frame = pd.DataFrame({"claims": rng.poisson(1.0, 240).astype(float)})
    frame = frame.assign(age=rng.uniform(20, 70, 80)[policy].round(1), income=rng.normal(size=240).round(4))
    frame = frame.assign(power=rng.normal(size=240).round(4), old_price=rng.gamma(2.0, size=240).round(4))
    frame = frame.assign(years=rng.uniform(0.1, 1, 240).round(4), policy=[f"P{each}" for each in policy])
    frame["year"] = np.tile([2020, 2021, 2022], 80)
    path = tmp_path / "policies.csv"
    frame.to_csv(path, index=False)
    return path, frame


def test_every_role_loss_and_kind_of_split_has_a_command_line_option(policies, command):
    told = ["--file", policies[0], *"--predict claims --sensitive age --sensitive income".split()]
    told += "--exposure years --price old_price --group policy --time year".split()
    found = json.loads(command("sweep", *told, *QUICK, "--json"))
    # Counts are modelled as a rate per exposure.
    assert (found["target"], "deviance" in found["rows"][0]) == ("claims (per unit of exposure)", True)
    assert (found["sweep"]["split"], found["sweep"]["settings"]["loss"]) == ("group", "poisson")
    assert json.loads(command("sweep", *told, *QUICK, "--no-per-exposure", "--json"))["target"] == "claims"
    out = command("sweep", *told, *QUICK, "--split", "time", "--loss", "tweedie")
    assert "1 before-and-after split" in out
    assert "pearson[income]" in out
    assert "poisson" in command("sweep", *told, *QUICK, "--loss", "love", status=2)
    assert "time" in command("sweep", *told[:-2], *QUICK, "--split", "time", status=2)
    search = ["find-lam", *told, *"--method hgr_spline --lams 1 --folds 2 --epochs 2 --device cpu".split()]
    search += ["--target", "hgr_kde<=1", "--loss"]
    assert "above 0" in command(*search, "gamma", status=2)
    assert json.loads(command(*search, "tweedie", "--json"))["reached"]


@pytest.mark.parametrize(
    ("called", "name"), [("fairdash.exe", "fairdash"), ("/x/fairdash/__main__.py", "python -m fairdash")]
)
def test_help_shows_the_command_name_with_which_it_was_called(called, name, monkeypatch, command):
    monkeypatch.setattr(sys, "argv", [called])
    assert command("--help").startswith(f"Usage: {name} COMMAND")


def test_a_repeated_option_takes_the_last_value_and_repeated_column_lists_accumulate():
    verb, bound, _ = command_line().parse_args(
        "sweep --splits 2 --splits 3 --lams 1,2 --lams 4 --features a b --sensitive c --sensitive d --no-tune"
    )
    told = bound.arguments
    assert (verb.__name__, told["splits"], told["lams"], told["tune"]) == ("sweep", 3, [1, 2, 4], False)
    assert (told["data"].features, told["data"].sensitive) == (("a", "b"), ("c", "d"))


def test_help_in_a_pipe_has_neither_frames_nor_colours(command):
    for words in (["--help"], ["sweep", "-h"], ["runs", "list", "--help"]):
        said = command(*words)
        assert not {"╭", "│", "\x1b"} & set(said)
        assert max(map(len, said.split("\n"))) <= 80


def test_a_shell_can_complete_subcommands_and_options(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/usr/bin/fairdash"])
    script = tmp_path / "fairdash"
    assert main(["--install-completion", "--shell", "bash", "--output", str(script)]) == 0
    written = script.read_text(encoding="utf-8")
    assert [word for word in ("find-lam", "leave-out", "as-they-are", "confirm") if word not in written] == []


MEASURED = "measure pearson prices.csv --u price --v age --permutations 19 --json"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGPIPE")
@pytest.mark.parametrize(
    ("command", "unbuffered"),
    [("--help", ""), (MEASURED, "1"), pytest.param("runs list --json", "", marks=pytest.mark.variant)],
)
def test_every_command_ends_without_an_error_when_the_reader_closes_the_pipe(command, unbuffered, prices):
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    read, write = os.pipe()
    os.close(read)
    asked = [sys.executable, "-m", "fairdash", *command.split()]
    with open(write, "wb") as closed:
        ended = subprocess.run(asked, stdout=closed, stderr=subprocess.PIPE, text=True, env=environment)
    assert (ended.returncode, ended.stderr) == (141, "")


@pytest.mark.parametrize("fault", [BrokenPipeError, ZeroDivisionError, MemoryError, OSError, KeyError])
@pytest.mark.parametrize(
    ("verb", "command"),
    [
        ("auditing.bytes_of", "audit prices.csv --price a --sensitive b"),
        ("measuring.read_file", "check prices.csv --target a"),
        ("measuring.read_file", "measure pearson prices.csv --u a --v b"),
        ("running.list_runs", "runs list"),
        ("training.load_dataset", "sweep --dataset household"),
    ],
)
def test_an_unexpected_error_has_status_70_without_cells(verb, command, fault, monkeypatch, capsys, caplog):
    def broken(*_: object, **__: object) -> int:
        raise fault("Zoe")

    monkeypatch.setattr(f"fairdash.cli.{verb}", broken)
    assert main(command.split()) == UNEXPECTED == 70, "1 is a verdict"
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert "Unexpected error" in printed.err
    (logged,) = caplog.messages
    assert fault.__name__ in logged
    assert "in broken" in logged
    assert logged.split()[1].rstrip(":") in printed.err
    assert "Zoe" not in logged + printed.err, "a message may quote a cell"


ENCODINGS = ("cp1252", "ascii", "latin-1", "utf-8")


def printed_in(encoding: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """The output of a command, written to a file with another encoding than UTF-8."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2)]
    with monkeypatch.context() as patched:
        for name, stream in zip(("stdout", "stderr"), streams, strict=True):
            patched.setattr(sys, name, stream)
        assert main(arguments) in (0, 1, 3)
        for stream in streams:
            stream.flush()
    return "".join(stream.buffer.getvalue().decode(encoding) for stream in streams)


@pytest.mark.every_case
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_audit_command_prints_its_answers_in_any_terminal_encoding(encoding, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, 300)
    table = pd.DataFrame({"price": 100.0 + age, "λé日": age, "claims": rng.poisson(1, 300) * 90.0})
    table.to_csv(tmp_path / "t.csv", index=False)
    told = ["audit", str(tmp_path / "t.csv"), *"--price price --outcome claims --question 3".split()]
    said = printed_in(encoding, [*told, "--sensitive", "λé日", "--currency", "€"], monkeypatch)
    names = {"utf-8": "“λé日”", "cp1252": "“lambdaé?”", "latin-1": '"lambdaé?"', "ascii": '"lambdae?"'}
    assert names[encoding] in said
    assert ("EUR" in said) == (encoding in ("ascii", "latin-1"))


def data_of(*features: str, folder: Path) -> Dataset:
    file = folder / "claims.csv"
    more = {"PolicyNo": [7, 8] * 200, "share": [f"{k % 90} %" for k in range(400)]}
    known_with_the_target().assign(**more).to_csv(file, index=False)
    told = DataOptions(file=file, predict="ClaimAmount", sensitive=("DrivAge",), features=features)
    return told.load()


def test_columns_that_leak_the_target_are_not_features_unless_named_explicitly(tmp_path, capsys):
    dataset = data_of(folder=tmp_path)
    assert dataset.roles.features == ("PriorClaims", "VehPower", "share")
    assert dataset.label("share") == "share (%)"
    said = capsys.readouterr()
    assert said.out == ""
    assert "“ClaimInd” is not used as a feature: it is 0 exactly where the target is 0." in said.err
    assert "“PolicyNo” is not used as a feature: names policies or people." in said.err
    assert data_of("VehPower", "ClaimInd", folder=tmp_path).roles.features == ("VehPower", "ClaimInd")
    assert capsys.readouterr().err == ""
    with pytest.raises(OptionError, match="Powre"):
        data_of("Powre", folder=tmp_path)


def test_suspiciously_predictive_columns_are_reported_when_a_table_is_loaded(tmp_path, capsys):
    rng = np.random.default_rng(0)
    count = rng.poisson(0.2, 3000)
    table = pd.DataFrame({"DrivAge": rng.integers(18, 80, 3000), "VehPower": rng.integers(4, 12, 3000)})
    begin, years = rng.integers(12_000, 12_300, 3000), rng.choice([0.25, 0.5, 1.0], 3000)
    table = table.assign(ClaimNb=count, calls=rng.poisson(0.02 + 4 * count), from_day=begin)
    table.assign(to_day=begin + 365 * years, years=years).to_csv(tmp_path / "t.csv", index=False)
    told = DataOptions(file=tmp_path / "t.csv", predict="ClaimNb", sensitive=("DrivAge",), exposure="years")
    dataset = told.load()
    assert dataset.roles.features == ("VehPower", "calls")
    said = capsys.readouterr().err
    assert "“calls” looks too good to be true: it alone explains" in said
    assert f"“from_day” is not used as a feature: {BOUNDS}." in said
    assert f"“to_day” gives the target away and is not a feature: {BOUNDS}." in dataset.notes
