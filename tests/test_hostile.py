"""Hostile input, rows 52 to 57: formulas, markup, paths, pickles, foreign origins, foreign addresses."""

import io
import pickle
import re
import tomllib
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from fairdash.__main__ import main
from fairdash.data import keep_upload, list_uploads, read_table
from fairdash.errors import ReadingError
from fairdash.ui.text import safe
from fairdash.utils.safe_csv import safe_csv
from fairdash.utils.text import visible
from fairdash.views.blocks import templates
from fairdash.views.figures.data import proxies_figure
from fairdash.views.figures.theme import LIGHT, escaped
from tests.serving import ROOT

CODE = [*(ROOT / "fairdash").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in CODE}


ACTIVE = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\0=1", "\r=1", "\n=1", '=HYPERLINK("http://x")']


@pytest.mark.bad_input(52)
@pytest.mark.parametrize("text", ACTIVE)
def test_formula_cells_and_headers_are_escaped_in_csv_and_numbers_are_not(text: str) -> None:
    frame = pd.DataFrame({text: [text, "plain"], "category": pd.Categorical([text, "x"]), "n": [-1.5, 2.0]})
    back = pd.read_csv(io.BytesIO(safe_csv(frame)), dtype=str, keep_default_na=False)
    cells = [*back.columns, *back[back.columns[0]], *back["category"]]
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "\0")) for cell in cells)
    assert back["n"].tolist() == ["-1.5", "2.0"]


@pytest.mark.bad_input(52)
@pytest.mark.parametrize("end", ["\r", "\n", "\r\n", "\0\r"])
def test_a_cell_with_line_breaks_stays_in_its_csv_row(end: str) -> None:
    frame = pd.DataFrame({"a": [f"x{end}=1+1,2", "y"], "b": [1, 2]})
    text = safe_csv(frame).decode("utf-8-sig")
    back = pd.read_csv(io.StringIO(text, newline=""))
    assert back["b"].tolist() == [1, 2]
    assert "\r" not in text.replace("\r\n", "")


@pytest.mark.bad_input(52)
def test_all_csv_files_and_downloads_are_made_by_functions_that_escape_their_content() -> None:
    """One function writes all CSV files and one offers all downloads; both escape their content."""
    ways = {
        # The escapes of a tariff's cells that look like formulas are removed when the tariff is read again.
        ".to_csv(": {"fairdash/utils/safe_csv.py", "fairdash/tariff/files.py"},
        "download_button(": {"fairdash/ui/widgets.py"},
        "to_excel": set(),
    }
    for way, files in ways.items():
        assert {name for name, text in TEXTS.items() if way in text} == files


NAMES = ["<b>x</b>", "<img src=x onerror=alert(1)>", "![x](http://evil.example/a.png)", "[x](http://evil.example)",
         "$\\frac{1}{2}$", "**x**", "# x", ":material/x:", "a@evil.example", "http://evil.example"]  # fmt: skip


@pytest.mark.bad_input(53)
@pytest.mark.parametrize("name", NAMES)
def test_user_supplied_names_appear_as_plain_text_in_markdown_and_plots(name: str) -> None:
    assert not re.search(r"(?<!\\)[<>\[\]()*_$#:!@]", safe(name))
    features = pd.DataFrame({"feature": [name], "hgr": [0.5]})
    spec = proxies_figure(features, sensitive=name, theme=LIGHT).to_plotly_json()
    text = str(spec["layout"]["yaxis"]["ticktext"]) + str(spec["layout"]["title"]) + str(spec["data"][0])
    assert not re.search("<img|<b>x|<a ", text)


@pytest.mark.bad_input(53)
@pytest.mark.parametrize("char", ["\u202e", "\u200b", "\u00ad", "\u2028", "\ufeff", "\x1b", "\x9b"])
def test_invisible_characters_are_escaped_in_exports_and_pages(char: str) -> None:
    name, written = f"age{char}egap", f"age\\u{ord(char):04x}egap"
    assert visible(name) == written
    table = safe_csv(pd.DataFrame({name: [name], "kind": pd.Categorical([name])})).decode("utf-8-sig")
    assert table.splitlines() == [f"{written},kind", f"{written},{written}"]
    assert visible("Δ prime d’été\N{NO-BREAK SPACE}% 年齢") == "Δ prime d’été\N{NO-BREAK SPACE}% 年齢"
    assert (escaped(name), templates().from_string("{{ name }}").render(name=name)) == (written, written)
    if not char.isspace():  # it is displayed as one space
        assert safe(name) == f"age\\\\u{ord(char):04x}egap"


@pytest.mark.bad_input(53)
def test_invisible_characters_are_escaped_on_the_command_line(tmp_path: Path, capsys) -> None:
    path = tmp_path / "turned.csv"
    pd.DataFrame({"u\u202e": range(50), "v": range(50)}).to_csv(path, index=False)
    options = ["--v", "v", "--permutations", "19", "--bootstrap", "0"]
    assert main(["measure", "pearson", str(path), "--u", "wrong", *options]) == 2
    said = capsys.readouterr().err
    assert "u\\u202e" in said
    assert "\u202e" not in said


@pytest.mark.bad_input(54)
@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "a\0b", "x" * 300, "CON", "..", "", "\n"])
def test_a_files_name_never_becomes_a_path(name: str, tmp_path: Path) -> None:
    kept = keep_upload(b"a,b\n1,2\n", name=name)
    assert [upload.name for upload in list_uploads()] == [name]
    files = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {f"{kept.sha256}.upload", f"{kept.sha256}.json"}


class _Evil:
    def __reduce__(self):
        return (exec, ("raise SystemExit('it was run')",))


@pytest.mark.bad_input(55)
@pytest.mark.parametrize("protocol", range(2, 6))
def test_a_pickle_is_refused_and_never_run(protocol: int) -> None:
    of_torch = io.BytesIO()
    with zipfile.ZipFile(of_torch, "w") as archive:
        archive.writestr("model/data.pkl", pickle.dumps(_Evil()))
        archive.writestr("model/version", "3")
    for content in (pickle.dumps(_Evil(), protocol), of_torch.getvalue()):
        with pytest.raises(ReadingError):
            read_table(content)


@pytest.mark.bad_input(55)
def test_the_source_code_contains_no_pickle_loading_call() -> None:
    ways = r"pickle\.loads?|torch\.load\(|joblib|allow_pickle\s*=\s*True|read_pickle|cloudpickle|dill"
    assert [name for name, text in TEXTS.items() if re.search(ways, text)] == []


@pytest.mark.bad_input(57)
def test_the_server_binds_to_loopback_by_default_and_the_docs_cover_deployment() -> None:
    server = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["server"]
    assert server["address"] == "127.0.0.1"
    assert "enableXsrfProtection" not in server, "on unless it is turned off"
    assert "enableCORS" not in server
    page = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    assert "login" in page
    assert "docs/deployment.md" in (ROOT / "README.md").read_text(encoding="utf-8")
