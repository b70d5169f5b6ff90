"""The command line does what the pages do."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.cli import UNEXPECTED, command_line, help_of_every_verb, main
from fairdash.cli.training import DataOptions
from fairdash.data.dataset import Dataset
from fairdash.data.leaks import BOUNDS
from fairdash.data.readers.reading import read_table
from fairdash.dependence import REGISTRY
from fairdash.errors import OptionError
from fairdash.utils.records import from_plain
from tests.data.test_rate import claims
from tests.data.test_suggestion import claims as known_with_the_target

pytestmark = pytest.mark.usefixtures("light_runs")


def test_a_command_computes_in_one_thread_unless_told():
    code = (
        "import os, sys; from fairdash.cli import main; print('numpy' in sys.modules); main(['--version']); "
        "print(os.environ['OPENBLAS_NUM_THREADS'])"
    )
    environment = {name: each for name, each in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    for told, wanted in (({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3")):
        said = subprocess.run(
            [sys.executable, "-c", code], env=environment | told, capture_output=True, text=True, check=True
        ).stdout.split()
        assert (said[0], said[-1]) == ("False", wanted), "NumPy would have read it already"


def test_sweep_prints_what_the_api_gives_as_json_and_as_a_table(policies, capsys):
    path, _ = policies
    roles = {"predict": "old_price", "sensitive": ("age",), "features": ("income", "power")}
    options = f"--file {path} --predict old_price --sensitive age --features income power "
    options += "--methods standard,pearson --lams 0,1 --splits 1 --epochs 2 --device cpu --loss squared_error"
    quick = "--no-tariff --objective demographic_parity --measures pearson --no-tune".split()
    assert main(["sweep", *options.split(), *quick, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["dataset"] == "policies"
    assert printed["sweep"]["lams"] == [0, 1]
    settings = from_plain(fd.TrainingSettings, printed["sweep"]["settings"])
    told = {"methods": ["standard", "pearson"], "lams": [0, 1], "n_splits": 1, "measures": ["pearson"]}
    told |= {"tune": False, "tariff": False, "device": "cpu"}
    dataset = DataOptions(file=path, **roles).load()
    result = fd.sweep(dataset, settings=settings, **told)
    # The standard model and a fair one at two weights, three parts.
    assert len(printed["rows"]) == len(result.frame) == (1 + 2) * 3
    for row, expected in zip(printed["rows"], result.frame.to_dict("records"), strict=True):
        # JSON has no NaN: what training rows lack, their floor, is null.
        numbers = {name: float("nan") if value is None else value for name, value in row.items()}
        assert numbers == pytest.approx(expected, nan_ok=True)
    assert main(["sweep", *options.replace("standard,pearson", "standard").split(), *quick]) == 0
    out = capsys.readouterr().out
    assert "pearson_floor" in out
    assert "standard" in out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--dataset", "moon"], "household"),
        (["--dataset", "household", "--lams", "-1"], "negative"),
        (["--dataset", "household", "--measures", "love"], "hgr_kde"),
    ],
)
def test_an_option_that_makes_no_sense_is_said_plainly(options, words, capsys):
    assert main(["sweep", *options]) == 2
    assert words in capsys.readouterr().err


@pytest.fixture
def prices(tmp_path):
    """A file with a U-shaped link of 200 rows, two incomplete rows and a column of text."""
    age = np.linspace(-1, 1, 200)
    price = age**2 + 0.01 * np.random.default_rng(0).normal(size=200)
    rows = [f"{a:.6f},{p:.6f},red" for a, p in zip(age, price, strict=True)]
    path = tmp_path / "prices.csv"
    path.write_text("\n".join(["age,price,colour", *rows, "0.5,,red", ",0.3,blue"]), encoding="utf-8")
    return path


def test_measure_prints_json_that_holds_what_the_api_gives(prices, capsys):
    assert main(["measure", "hgr_spline", str(prices), "--u", "price", "--v", "age", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed.pop("n_left_out") == 2
    assert printed.pop("interval_of") == REGISTRY["hgr_spline"].title
    assert printed.pop("evaluation") == "corrected by evidence"
    frame, _ = read_table(prices)
    frame = frame.dropna()
    verdict = printed.pop("verdict")
    test = fd.independence_test(frame["price"], frame["age"], n_permutations=199, random_state=0)
    assert verdict["link"] is True
    assert (verdict["p_value"], verdict["p_values"]) == (test.p_value, dict(test.p_values))
    expected = fd.assess_dependence("hgr_spline", frame["price"], frame["age"], random_state=0)
    assert printed == pytest.approx(asdict(expected))
    assert printed["n"] == 200
    assert printed["value"] > 0.95


def test_measure_prints_value_floor_p_value_and_interval(prices, capsys):
    options = ["--u", "price", "--v", "age", "--permutations", "19"]
    assert main(["measure", "hgr_spline", str(prices), *options]) == 0
    out = capsys.readouterr().out
    for words in (
        "200 rows", "missing: 2", "corrected for the contribution of noise", "noise floor", "interval",
        "the smallest p is 0.005 if every measure finds the link, 0.03 if only one does",
        "p-value      0.05 of independence (19 permutations)", "verdict      link found at 5 %: one test of 6 measures, p = 0.0",
    ):  # fmt: skip
        assert words in out
    assert main(["measure", "hgr_kde", str(prices), *options]) == 0
    words = "of the maximal correlation of the kernel-smoothed data, which is below HGR"
    assert words in capsys.readouterr().out
    assert main(["measure", "pearson", str(prices), *options, "--bootstrap", "0"]) == 0
    out = capsys.readouterr().out
    assert "interval" not in out
    assert "upper bound" not in out
    assert main(["measure", "pearson", str(prices), *options]) == 0
    assert "upper bound" in capsys.readouterr().out


@pytest.fixture
def rated(tmp_path):
    """Prices that follow a bonus and nothing else; age follows the bonus as well. One row lacks its bonus."""
    rng = np.random.default_rng(0)
    bonus = rng.integers(50, 100, 400)
    price, age = 10 * bonus + 90 * rng.normal(size=400), bonus + 9 * rng.normal(size=400)
    frame = pd.DataFrame({"price": price, "age": age, "bonus": bonus})
    frame["region"] = rng.choice(["north", "south"], 400)
    frame.loc[3, "bonus"] = np.nan
    frame.to_csv(tmp_path / "rated.csv", index=False)
    return tmp_path / "rated.csv"


def test_measure_asks_among_equals_as_well(rated, capsys):
    options = ["pearson", str(rated), "--u", "price", "--v", "age", "--bootstrap", "0"]
    given = ["--given", "bonus", "--given", "region"]
    assert main(["measure", *options, *given, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    frame = pd.read_csv(rated).dropna()
    expected = fd.assess_conditional_dependence(
        frame["price"], frame["age"], given=frame[["bonus", "region"]], random_state=0
    )
    assert printed["n_left_out"] == 1
    assert printed["p_value"] < 0.01
    assert printed["among_equals"]["p_value"] == pytest.approx(expected.p_value)
    assert printed["among_equals"]["given"] == ["bonus", "region"]
    assert expected.p_value > 0.05
    assert main(["measure", *options, *given]) == 0
    out = capsys.readouterr().out
    assert "Conditional on bonus, region:" in out
    assert f"p-value      {expected.p_value:.3g}" in out
    assert main(["measure", *options, "--given", "bonnus"]) == 2
    assert "bonus" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("measure", "u", "v", "words"),
    [
        ("love", "price", "age", "hgr_spline"),
        ("pearson", "prize", "age", "price"),
        ("pearson", "colour", "price", "colour"),
        ("hgr_witsenhausen", "price", "age", "hgr_spline"),
    ],
)
def test_measure_says_plainly_what_is_wrong(measure, u, v, words, prices, capsys):
    assert main(["measure", measure, str(prices), "--u", u, "--v", v]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "red" not in said


def test_measure_of_no_file_and_of_columns_that_share_no_complete_row(tmp_path, capsys):
    path = tmp_path / "gaps.csv"
    assert main(["measure", "pearson", str(path), "--u", "a", "--v", "b"]) == 2
    assert "can't be opened" in capsys.readouterr().err
    path.write_text("a,b\n1,\n,2\n3,\n", encoding="utf-8")
    assert main(["measure", "pearson", str(path), "--u", "a", "--v", "b"]) == 2
    assert "No row has a number in both columns" in capsys.readouterr().err


@pytest.mark.parametrize(("constant", "as_json"), [("u", []), ("v", ["--json"])])
def test_measure_of_a_constant_column_is_refused_and_the_column_named(constant, as_json, tmp_path, capsys):
    path = tmp_path / "same.csv"
    other = "v" if constant == "u" else "u"
    pd.DataFrame({constant: [7] * 50, other: range(50)}).to_csv(path, index=False)
    assert main(["measure", "hgr_spline", str(path), "--u", "u", "--v", "v", *as_json]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"Column “{constant}”" in said.err
    assert f"“{other}”" not in said.err
    assert "undefined" in said.err


@pytest.mark.parametrize(("rows", "status"), [(19, 2), (20, 0)])
def test_measure_says_how_many_rows_it_needs(rows, status, tmp_path, capsys):
    path = tmp_path / "few.csv"
    pd.DataFrame({"u": range(rows), "v": range(rows)}).to_csv(path, index=False)
    options = ["--u", "u", "--v", "v", "--permutations", "19", "--bootstrap", "0"]
    assert main(["measure", "pearson", str(path), *options]) == status
    if status:
        assert f"needs 20 complete rows with weight, and there are {rows}" in capsys.readouterr().err


def test_a_file_of_claims_is_swept_as_a_rate(tmp_path, capsys):
    file = tmp_path / "claims.csv"
    frame = claims(400)
    frame.to_csv(file, index=False)
    told = ["--file", str(file), "--predict", "ClaimNb", "--sensitive", "DrivAge", "--exposure", "Exposure"]
    quick = "--methods standard --splits 1 --epochs 2 --measures pearson --no-tune --device cpu".split()
    assert main(["sweep", *told, *quick, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["target"] == "ClaimNb (per unit of exposure)"
    assert found["sweep"]["settings"]["loss"] == "poisson"
    assert "deviance" in found["rows"][0]
    assert main(["sweep", *told, *quick, "--no-per-exposure", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["target"] == "ClaimNb"
    assert main(["sweep", "--file", str(file), *quick]) == 2
    assert "--predict and --sensitive" in capsys.readouterr().err


@pytest.fixture
def policies(tmp_path):
    """Policies of three years: claims, years of exposure, a price that is there already."""
    rng = np.random.default_rng(0)
    policy = np.repeat(np.arange(80), 3)
    frame = pd.DataFrame(
        {
            "claims": rng.poisson(1.0, 240).astype(float),
            "age": np.round(rng.uniform(20, 70, 80)[policy], 1),
            "income": rng.normal(size=240).round(4),
            "power": rng.normal(size=240).round(4),
            "old_price": rng.gamma(2.0, size=240).round(4),
            "years": rng.uniform(0.1, 1, 240).round(4),
            "policy": [f"P{each}" for each in policy],
            "year": np.tile([2020, 2021, 2022], 80),
        }
    )
    path = tmp_path / "policies.csv"
    frame.to_csv(path, index=False)
    return path, frame


def test_every_role_loss_and_split_has_an_option(policies, capsys):
    path, _ = policies
    told = ["--file", str(path), "--predict", "claims", "--sensitive", "age", "--sensitive", "income"]
    told += ["--exposure", "years", "--price", "old_price", "--group", "policy", "--time", "year"]
    quick = ["--methods", "standard", "--splits", "1", "--epochs", "2", "--measures", "pearson", "--no-tune"]
    quick += ["--device", "cpu"]
    assert main(["sweep", *told, *quick, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["sweep"]
    assert (found["split"], found["settings"]["loss"]) == ("group", "poisson")
    assert main(["sweep", *told, *quick, "--split", "time", "--loss", "tweedie"]) == 0
    out = capsys.readouterr().out
    assert "1 before-and-after split" in out
    assert "pearson[income]" in out
    assert main(["sweep", *told, *quick, "--loss", "love"]) == 2
    assert "poisson" in capsys.readouterr().err
    assert main(["sweep", *told[:-2], *quick, "--split", "time"]) == 2
    assert "time" in capsys.readouterr().err
    search = ["--method", "hgr_spline", "--lams", "1", "--folds", "2", "--epochs", "2", "--device", "cpu"]
    assert main(["find-lam", *told, *search, "--target", "hgr_kde<=1", "--loss", "gamma"]) == 2
    assert "above 0" in capsys.readouterr().err
    assert main(["find-lam", *told, *search, "--target", "hgr_kde<=1", "--loss", "tweedie", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["reached"]


def test_measure_counts_by_exposure_and_by_group(policies, capsys):
    path, frame = policies
    options = ["--u", "old_price", "--v", "age", "--permutations", "39", "--bootstrap", "10", "--json"]
    told = ["--exposure", "years", "--group", "policy"]
    assert main(["measure", "hgr_kde", str(path), *options, *told]) == 0
    printed = json.loads(capsys.readouterr().out)
    of = {"sample_weight": frame["years"], "groups": frame["policy"]}
    numbers = {"n_permutations": 39, "n_bootstrap": 10, "random_state": 0}
    expected = fd.assess_dependence("hgr_kde", frame["old_price"], frame["age"], **of, **numbers)
    assert {name: printed[name] for name in asdict(expected)} == pytest.approx(asdict(expected))
    for wrong in (["--exposure", "policy"], ["--group", "police"]):
        assert main(["measure", "hgr_kde", str(path), *options, *wrong]) == 2
        assert "policy" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("called", "name"), [("fairdash.exe", "fairdash"), ("/x/fairdash/__main__.py", "python -m fairdash")]
)
def test_help_names_the_command_as_it_was_called(called, name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [called])
    assert main(["--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: {name} COMMAND")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Give a command. Choose one of: app, sweep,"),
        (["runs", "lst"], "“lst” is not a known command. Choose one of: list, show,"),
        (["sweep", "--lamz", "1"], "Unknown option: --lamz. Did you mean --lams? See "),
        (["sweep", "--splits", "two"], 'Invalid value for --splits: unable to convert "two" into int. See '),
        (["sweep", "--lams", "1,x"], "Invalid value for --lams: “x” is not a number. See "),
        (["sweep", "--below-zero", "up"], 'Choose from: "as-they-are", "floor", "drop"'),
        (["sweep"], "Name it with --dataset, or with --file."),
        (["check", "a.csv", "b.csv", "--target", "x"], "Unexpected argument: “b.csv”."),
    ],
)
def test_what_is_not_understood_names_itself_and_the_way_out(words, said, capsys):
    assert main(words) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert said in printed.err
    assert "Traceback" not in printed.err


def test_an_option_twice_counts_as_last_said_and_lists_go_on(capsys):
    verb, bound, _ = command_line().parse_args(
        "sweep --splits 2 --splits 3 --lams 1,2 --lams 4 --features a b --sensitive c --sensitive d --no-tune"
    )
    assert verb.__name__ == "sweep"
    told = bound.arguments
    assert (told["splits"], told["lams"], told["tune"]) == (3, [1, 2, 4], False)
    assert (told["data"].features, told["data"].sensitive) == (("a", "b"), ("c", "d"))


def test_help_in_a_pipe_has_neither_frames_nor_colours(capsys):
    for words in (["--help"], ["sweep", "-h"], ["runs", "list", "--help"]):
        assert main(words) == 0
        said = capsys.readouterr().out
        assert not {"╭", "│", "\x1b"} & set(said)
        assert max(map(len, said.split("\n"))) <= 80


def test_a_shell_can_complete_verbs_and_options(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/usr/bin/fairdash"])
    script = tmp_path / "fairdash"
    assert main(["--install-completion", "--shell", "bash", "--output", str(script)]) == 0
    written = script.read_text(encoding="utf-8")
    for word in ("find-lam", "leave-out", "as-they-are", "confirm"):
        assert word in written


MEASURED = "measure pearson {prices} --u price --v age --permutations 19 --json"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGPIPE")
@pytest.mark.parametrize(
    ("command", "unbuffered"),
    [("--help", ""), (MEASURED, "1"), pytest.param("runs list --json", "", marks=pytest.mark.variant)],
)
def test_a_reader_that_closes_the_pipe_ends_every_command_quietly(command, unbuffered, prices):
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    read, write = os.pipe()
    os.close(read)
    arguments = [word.format(prices=prices) for word in command.split()]
    with open(write, "wb") as closed:
        ended = subprocess.run(
            [sys.executable, "-m", "fairdash", *arguments],
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
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
def test_an_unexpected_error_has_a_status_of_its_own(verb, command, fault, monkeypatch, capsys, caplog):
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


def test_an_unexpected_error_is_logged_on_stderr(prices):
    code = (
        "import sys, fairdash.cli.measuring as verbs; verbs.read_file = None\n"
        "from fairdash.cli import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", code, "measure", "pearson", str(prices), "--u", "age", "--v", "price"]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (70, "")
    assert "fairdash/cli/measuring.py" in ended.stderr
    assert ended.stderr.endswith("The command has no result.\n")


ENCODINGS = ("cp1252", "ascii", "latin-1", "utf-8")


def printed_in(encoding: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """What a command prints to a file that is not necessarily UTF-8."""
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
def test_help_of_every_verb_is_written_in_any_encoding(encoding, monkeypatch):
    for verbs, text in help_of_every_verb(command_line("python -m fairdash")):
        said = printed_in(encoding, [*verbs, "--help"], monkeypatch)
        assert "?" not in said.replace("\n", ""), verbs
        assert ("lambda" in said) == ("λ" in text and encoding != "utf-8"), verbs


@pytest.mark.every_case
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_an_audit_is_written_in_any_encoding(encoding, tmp_path, monkeypatch):
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
    known_with_the_target().assign(PolicyNo=[7, 8] * 200, share=[f"{k % 90} %" for k in range(400)]).to_csv(
        file, index=False
    )
    told = DataOptions(file=file, predict="ClaimAmount", sensitive=("DrivAge",), features=features)
    return told.load()


def test_what_gives_the_target_away_is_no_feature_unless_it_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = data_of(folder=tmp_path)
    assert dataset.roles.features == ("PriorClaims", "VehPower", "share")
    assert dataset.label("share") == "share (%)"
    said = capsys.readouterr()
    assert said.out == ""
    assert "“ClaimInd” is not used as a feature: it is 0 exactly where the target is." in said.err
    assert "“PolicyNo” is not used as a feature: names policies or people." in said.err
    dataset = data_of("VehPower", "ClaimInd", folder=tmp_path)
    assert dataset.roles.features == ("VehPower", "ClaimInd")
    assert capsys.readouterr().err == ""


def test_what_looks_too_good_is_said_before_anything_is_trained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    count = rng.poisson(0.2, 3000)
    table = pd.DataFrame({"DrivAge": rng.integers(18, 80, 3000), "VehPower": rng.integers(4, 12, 3000)})
    begin = rng.integers(12_000, 12_300, 3000)
    years = rng.choice([0.25, 0.5, 1.0], 3000)
    table = table.assign(ClaimNb=count, calls=rng.poisson(0.02 + 4 * count), from_day=begin)
    table.assign(to_day=begin + 365 * years, years=years).to_csv(tmp_path / "t.csv", index=False)
    told = DataOptions(file=tmp_path / "t.csv", predict="ClaimNb", sensitive=("DrivAge",), exposure="years")
    dataset = told.load()
    assert dataset.roles.features == ("VehPower", "calls")
    said = capsys.readouterr().err
    assert "“calls” looks too good to be true: it alone explains" in said
    assert f"“from_day” is not used as a feature: {BOUNDS}." in said
    assert f"“to_day” gives the target away and is not a feature: {BOUNDS}." in dataset.notes


def test_a_feature_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="Powre"):
        data_of("Powre", folder=tmp_path)
