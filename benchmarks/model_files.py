"""How fairdash reads models that libraries export: the scale of the predictions, or the reason for a refusal.

    python -m benchmarks.model_files FOLDER

benchmarks/model_exports.py writes FOLDER. Each file is priced as in an audit that knows only its columns, and
the prices are compared with the predictions of the library. Writes results/model_files.csv, one row per pair
of model and file, which docs/audit.md shows.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from fairdash.auditing.columns import DIFFERS
from fairdash.auditing.models import model_answers
from fairdash.auditing.models.foreign import read_model
from fairdash.auditing.models.model_answers import with_model_price
from fairdash.errors import FairdashError
from fairdash.tables.model_files.model_file import NAME_LINK

RESULTS = Path(__file__).parent / "results" / "model_files.csv"
PRICE, EXP, ASKED, REFUSED, NONE = "the price", "exp of it, said", "asked", "refused", "no export"


def read(folder: Path, row: pd.Series, portfolio: pd.DataFrame) -> dict[str, object]:
    """How fairdash reads a file: the kind of reading, the largest relative difference, and the notes."""
    column = f"{row['library']} {row['model']}"
    if not row["name"]:
        return {"read": NONE, "difference": None, "words": row["why"]}
    try:
        inputs = row["inputs"].split(" ")
        content, rows = (folder / row["name"]).read_bytes(), portfolio[[*inputs, column]]
        frame, _, notes = with_model_price(rows, content, columns=inputs, name="price", check_column=column)
    except FairdashError as error:
        how = ASKED if NAME_LINK in str(error) else REFUSED
        return {"read": how, "difference": None, "words": str(error)}
    off = ((frame["price"] - portfolio[column]).abs() / portfolio[column].abs().mean()).max()
    differs = notes[0].startswith(DIFFERS)
    # Notes of an audit without a column of predictions to compare.
    alone = [note for note in notes[1:] if "order" not in note]
    is_exp = any("exp of the model's output" in note for note in alone)
    how = (ASKED if alone else "differs, silent") if differs else EXP if is_exp else PRICE
    return {"read": how, "difference": float(off), "words": " ".join([*notes[:differs], *alone])}


def page_lines(table: pd.DataFrame) -> list[str]:
    """Return the table of docs/audit.md: the number of models by library, file and kind of reading."""
    lines = ["| library | file | pairs | read as | largest difference |", "|---|---|---|---|---|"]
    for (library, version, file), part in table.groupby(["library", "version", "file"], sort=False):
        counts = part["read"].value_counts()
        said = ", ".join(f"{how}: {counts[how]}" for how in counts.index)
        own = part[part["read"].isin([PRICE, EXP])]["difference"].max()
        off = "–" if pd.isna(own) else f"{own:.0e}"
        lines.append(f"| {library} {version} | .{file} | {len(part)} | {said} | {off} |")
    return lines


def main() -> None:
    # Read in this process: separate processes take minutes and call the same functions.
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
