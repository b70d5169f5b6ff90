"""How fairdash reads models as real libraries export them: on which scale, or why not.

    python -m benchmarks.model_files FOLDER

FOLDER is what benchmarks/model_exports.py has written. Each file is priced as an audit prices it, which is
told its columns and no more, and compared with what the library's own ``predict`` gives. Writes
results/model_files.csv, a row a pair of model and file; docs/audit.md shows it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from fairdash.auditing.columns import DIFFERS
from fairdash.auditing.models import model_answers
from fairdash.auditing.models.foreign import read_model
from fairdash.auditing.models.model_answers import priced
from fairdash.errors import FairdashError
from fairdash.tables.model_files.model_file import NAME_LINK

RESULTS = Path(__file__).parent / "results" / "model_files.csv"
PRICE, EXP, ASKED, REFUSED, NONE = "the price", "exp of it, said", "asked", "refused", "no export"


def read(folder: Path, row: pd.Series, portfolio: pd.DataFrame) -> dict[str, object]:
    """What fairdash makes of a file: how it is read, the largest relative difference, and the words."""
    column = f"{row['library']} {row['model']}"
    if not row["name"]:
        return {"read": NONE, "difference": None, "words": row["why"]}
    try:
        inputs = row["inputs"].split(" ")
        content, rows = (folder / row["name"]).read_bytes(), portfolio[[*inputs, column]]
        frame, _, notes = priced(rows, content, columns=inputs, name="price", check_column=column)
    except FairdashError as error:
        how = ASKED if NAME_LINK in str(error) else REFUSED
        return {"read": how, "difference": None, "words": str(error)}
    off = ((frame["price"] - portfolio[column]).abs() / portfolio[column].abs().mean()).max()
    differs = notes[0].startswith(DIFFERS)
    # What an audit says without a column to compare with.
    alone = [note for note in notes[1:] if "order" not in note]
    is_exp = any("exp of the model's output" in note for note in alone)
    how = (ASKED if alone else "differs, silent") if differs else EXP if is_exp else PRICE
    return {"read": how, "difference": float(off), "words": " ".join([*notes[:differs], *alone])}


def page_lines(table: pd.DataFrame) -> list[str]:
    """Return the table of docs/audit.md: how many pairs of each library and file are read how."""
    lines = ["| library | file | pairs | read as | largest difference |", "|---|---|---|---|---|"]
    for (library, version, file), part in table.groupby(["library", "version", "file"], sort=False):
        counts = part["read"].value_counts()
        said = ", ".join(f"{how}: {counts[how]}" for how in counts.index)
        own = part[part["read"].isin([PRICE, EXP])]["difference"].max()
        off = "–" if pd.isna(own) else f"{own:.0e}"
        lines.append(f"| {library} {version} | .{file} | {len(part)} | {said} | {off} |")
    return lines


def main() -> None:
    # In this process: another for each of the files takes minutes, and reads them by the same functions.
    model_answers.ForeignModel = read_model
    folder = Path(sys.argv[1])
    rows = pd.read_csv(folder / "exports.csv", keep_default_na=False)
    portfolio = pd.read_csv(folder / "portfolio.csv")
    found = pd.DataFrame([read(folder, row, portfolio) for _, row in rows.iterrows()])
    table = pd.concat([rows.drop(columns=["name", "inputs", "why"]), found], axis=1)
    table.to_csv(RESULTS, index=False, float_format="%.2g")
    print("\n".join(page_lines(table)))


if __name__ == "__main__":
    main()
