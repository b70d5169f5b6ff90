"""A run's predictions as a price to be audited: a table of its test rows, kept as its owner's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.data.roles import Roles
from fairdash.data.source import UploadSource, save_source
from fairdash.data.uploads import keep_upload
from fairdash.runs.store import Run
from fairdash.utils.safe_csv import safe_csv

Array = NDArray[np.float64]

#: What the column is called, with a number behind it where the data have one of that name.
PRICE = "price"


def keep_priced(run: Run, dataset: Dataset, price: pd.Series, *, title: str, owner: str) -> UploadSource:
    """Keep a table of prices, to be audited, and the recipe that says which column is what.

    Parameters
    ----------
    run
        Where the prices are from: the table goes with it, and with the file that it was trained on.
    dataset
        The data of the run.
    price
        Price of the rows of `dataset` that have one, by their place there.
    title
        What the table is called.
    owner
        Whose it is.

    Raises
    ------
    StorageError
        The table can't be kept.
    """
    places = price.index.to_numpy(dtype=np.intp)
    table = dataset.table().iloc[places].reset_index(drop=True)
    name = next(each for each in (PRICE, *(f"{PRICE} {k}" for k in range(2, 99))) if each not in table)
    table[name] = price.to_numpy()
    content = safe_csv(table)
    kept = keep_upload(content, name=f"{title}.csv", owner=owner)
    source = run.spec.source
    origin = (run.id, *((source.sha256,) if isinstance(source, UploadSource) else ()))
    roles: Roles = replace(dataset.roles, prediction=name, rate=False)
    made = UploadSource(
        sha256=kept.sha256, name=f"{title}.csv", roles=roles, names=dataset.names, made_from=origin
    )
    save_source(made, owner=owner)
    return made


def price_of_test_rows(predictions: Mapping[int, Array], tests: Sequence[NDArray[np.int64]]) -> pd.Series:
    """Each test row's prediction by the first split in which it is one: no model has seen its row.

    Parameters
    ----------
    predictions
        Split to predictions (n,).
    tests
        The test rows of each split.
    """
    found = pd.concat([pd.Series(predictions[j][tests[j]], index=tests[j]) for j in sorted(predictions)])
    return found[~found.index.duplicated()].sort_index()
