"""Predict for the rows of a table with the model in the folder of this script.

    python load_model.py table.csv

The script needs fairdash. README.txt states the version and where to get it. It writes predictions.csv with
one number per row, in the order of the table. In your own program, call
fairdash.FairRegressor.load(file).predict(table).
"""

import sys
from pathlib import Path

import numpy as np

import fairdash as fd


def main(table_file: str) -> None:
    """Read the table, predict, and write the predictions to the current folder."""
    model = fd.FairRegressor.load(Path(__file__).with_name("model.safetensors"))
    table, report = fd.read_table(table_file)
    y_pred = model.predict(table)
    np.savetxt("predictions.csv", y_pred, fmt="%.17g", header="prediction", comments="")
    for sentence in report.sentences():
        print(sentence)
    print(f"{len(y_pred):,} predictions written to predictions.csv.")


if __name__ == "__main__":
    main(sys.argv[1])
