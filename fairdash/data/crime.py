"""UCI Communities and Crime: violent crime in 1,994 communities of the United States.

Source: M. Redmond, UCI Machine Learning Repository, data set 183, CC BY 4.0. As in the paper the sensitive
column is the share of Black inhabitants, and the five identifying columns are dropped.
"""

from __future__ import annotations

import io
import re
from typing import Literal

import pandas as pd

from fairdash.data.dataset import Dataset
from fairdash.data.fetch import DownloadProgress, fetch_members
from fairdash.data.local_files import find_folder, read_verified
from fairdash.data.names import NAMES
from fairdash.storage import cache_folder

URL = "https://archive.ics.uci.edu/static/public/183/communities+and+crime.zip"
CHECKSUMS = {
    "communities.data": "d90d85bd66bad9a00fa0ed6c15ac017b5966d528e55ba2940ad028d071353f95",
    "communities.names": "80914f24ab37261fb0fbda7e417cad8001335dadda4a8d702c265601ef8434fc",
}
TARGET = "ViolentCrimesPerPop"
SENSITIVE = "racepctblack"
#: Names and numbers of the communities, and the publisher's own folds: not properties of a community.
IDENTIFIERS = ("state", "county", "community", "communityname", "fold")

_ADVICE = (
    "Connect to the internet and try again, or put communities.data and communities.names into a folder "
    "named crime and set FAIRDASH_DATA to the folder around it."
)


def crime_is_local() -> bool:
    """Say whether the files lie on this machine already, so that nothing has to be fetched."""
    return find_folder("crime", CHECKSUMS) is not None


def crime(*, sparse: Literal["drop", "keep"] = "drop", progress: DownloadProgress | None = None) -> Dataset:
    """Load Communities and Crime.

    The files are looked for in ``$FAIRDASH_DATA/crime``, then in the user's cache, and are fetched from
    the publisher otherwise. Wherever they come from their SHA-256 is checked.

    Parameters
    ----------
    sparse
        "drop" leaves out the columns with more than half of their cells missing (22, most of them about
        the police), "keep" leaves them in, missing cells and all.
    progress
        Called with bytes done and bytes expected while downloading.

    Returns
    -------
    Dataset
        1,994 rows; 99 features, or 121 with the sparse columns. Every column was scaled by the publisher
        to lie between 0 and 1.

    Raises
    ------
    DownloadError
        The files can't be had, or are not the published ones.
    """
    folder = find_folder("crime", CHECKSUMS)
    if folder is None:
        folder = cache_folder("crime")
        fetch_members(URL, CHECKSUMS, folder, offline_advice=_ADVICE, progress=progress)
    contents = read_verified(folder, CHECKSUMS)
    names = contents["communities.names"].decode("ascii")
    columns = re.findall(r"^@attribute (\S+)", names, flags=re.MULTILINE)
    meanings = {
        column: meaning.strip(" :")
        for column, meaning in re.findall(r"^-- (\w+): (.*?)(?: \(numeric.*)?$", names, flags=re.MULTILINE)
    }

    frame = pd.read_csv(
        io.BytesIO(contents["communities.data"]), header=None, names=columns, na_values=["?"]
    ).drop(columns=list(IDENTIFIERS))
    features = frame.drop(columns=[TARGET, SENSITIVE])
    notes = [
        f"{len(IDENTIFIERS)} columns left out: they only name or number communities "
        f"({', '.join(IDENTIFIERS)})."
    ]
    if sparse == "drop":
        mostly_missing = features.columns[features.isna().mean() > 0.5]
        features = features.drop(columns=mostly_missing)
        notes.append(f"{len(mostly_missing)} columns left out: over half of the cells are missing.")
    missing = features.isna().sum()
    notes.append(
        f"Missing cells in the columns kept: {missing.sum():,}, in {(missing > 0).sum()} of {len(missing)}."
    )
    kept = [*features.columns, SENSITIVE, TARGET]
    return Dataset(
        name="crime",
        title="Communities and Crime",
        description="Communities of the United States: census of 1990, police survey, crime figures of 1995.",
        features=features.astype(float),
        target=frame[TARGET].astype(float),
        sensitive=frame[[SENSITIVE]].astype(float),
        units=dict.fromkeys(kept, "scaled to 0–1"),
        meanings={column: meanings[column] for column in kept if column in meanings},
        notes=tuple(notes),
        names=NAMES["crime"],
    )
