"""US census: child poverty against the share of women, by census tract or by county.

Source: American Community Survey 2015, five-year estimates, US Census Bureau; as tables on Kaggle ("US Census
Demographic Data", M. Neutrino). Kaggle gives files only to people who are logged in, so nothing is fetched
here: the user brings them.

The paper predicts "the percentage of children below the poverty line" by tract, and its sensitive attribute
is "the percentage of the women in the census tract". Its authors' notebook keeps the complete rows, leaves
out the columns below, and turns the states into 0 and 1: 82 inputs with the 52 states of the whole file. The
same is done here, for both files.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable

import pandas as pd

from fairdash.data.dataset import Dataset
from fairdash.data.local_files import find_folder, read_verified
from fairdash.data.names import NAMES
from fairdash.errors import DownloadError
from fairdash.storage import cache_folder, sha256, write_whole

URL = "https://www.kaggle.com/datasets/muonneutrino/us-census-demographic-data"
COUNTY_FILE = "acs2015_county_data.csv"
TRACT_FILE = "acs2015_census_tract_data.csv"
#: Of the tracts what is known is the name that git gives their content: SHA-1, made by `git_blob_id`.
CHECKSUMS = {
    COUNTY_FILE: "daa3d82910b99fb5925d0a78e2909c0d88195a7a75bf849bdd4aaebd515acf72",
    TRACT_FILE: "74853aec5a990b56f2bca4e77826eb58c93c31e6",
}

TARGET = "ChildPoverty"
SENSITIVE = "WomenShare"
#: Which row it is.
IDENTIFIERS = ("CensusTract", "CensusId", "County")
#: Poverty is nearly the target; of the other two the sensitive column is made.
TELLTALES = ("Poverty", "Men", "Women")

UNITS = {
    TARGET: "%",
    "Income": "$",
    "IncomeErr": "$",
    "IncomePerCap": "$",
    "IncomePerCapErr": "$",
    "MeanCommute": "minutes",
    "TotalPop": "people",
    "Citizen": "people",
    "Employed": "people",
}
MEANINGS = {
    TARGET: "children below the poverty line",
    SENSITIVE: "women as a share of all inhabitants (Women / TotalPop)",
    "State": "state, the District of Columbia or Puerto Rico",
    "TotalPop": "inhabitants",
    "Hispanic": "Hispanic or Latino inhabitants",
    "White": "white inhabitants",
    "Black": "black inhabitants",
    "Native": "Native American inhabitants",
    "Asian": "Asian inhabitants",
    "Pacific": "Hawaiian or Pacific Islander inhabitants",
    "Citizen": "citizens",
    "Income": "median household income",
    "IncomeErr": "its margin of error",
    "IncomePerCap": "income per head",
    "IncomePerCapErr": "its margin of error",
    "Professional": "employed in management, business, science and arts",
    "Service": "employed in service jobs",
    "Office": "employed in sales and office jobs",
    "Construction": "employed in natural resources, construction and maintenance",
    "Production": "employed in production, transport and moving of material",
    "Drive": "commute alone by car, van or truck",
    "Carpool": "share a car, van or truck to commute",
    "Transit": "commute by public transport",
    "Walk": "walk to work",
    "OtherTransp": "commute by other means",
    "WorkAtHome": "work at home",
    "MeanCommute": "mean time to commute",
    "Employed": "employed inhabitants from 16 years of age",
    "PrivateWork": "employed in private industry",
    "PublicWork": "employed in public jobs",
    "SelfEmployed": "self-employed",
    "FamilyWork": "in unpaid family work",
    "Unemployment": "rate of unemployment",
}
_PERCENT = {
    "Hispanic", "White", "Black", "Native", "Asian", "Pacific", "Professional", "Service", "Office",
    "Construction", "Production", "Drive", "Carpool", "Transit", "Walk", "OtherTransp", "WorkAtHome",
    "PrivateWork", "PublicWork", "SelfEmployed", "FamilyWork", "Unemployment",
}  # fmt: skip


def how_to_bring(file: str) -> str:
    """Say what a person has to do to have COUNTY_FILE or TRACT_FILE on hand."""
    return (
        f"Download the data set from {URL} (Kaggle asks you to log in), unpack it, and put {file} into the "
        f"folder {cache_folder('census')}, or into a folder named census and set FAIRDASH_DATA to the folder "
        "around it."
    )


def keep_brought(file: str, content: bytes) -> None:
    """Put a file, as Kaggle gives it, where it is found from then on.

    Raises
    ------
    DownloadError
        It is another file.
    StorageError
        The folder can't be written.
    """
    if _digest(file)(content) != CHECKSUMS[file]:
        raise DownloadError.of(
            f"this file is not the published {file}: its checksum differs",
            f"Download it again from {URL}, unpack it, and choose {file} as it is.",
        )
    write_whole(cache_folder("census") / file, content)


def is_local(file: str) -> bool:
    """Say whether a file lies on this machine."""
    return find_folder("census", [file]) is not None


def census_county() -> Dataset:
    """Load the census by county: 3,218 rows, a small stand-in for the paper's tracts.

    The file is looked for in ``$FAIRDASH_DATA/census``, then in the user's cache; its SHA-256 is checked.

    Returns
    -------
    Dataset
        Target ``ChildPoverty`` in %, sensitive column ``WomenShare`` from 0 to 1, 31 features, of which the
        state is a category with 52 levels.

    Raises
    ------
    DownloadError
        The file is not there, or not the published one; says how to bring it.
    """
    return parse(
        _brought(COUNTY_FILE),
        name="census_county",
        title="US census by county",
        description="Counties of the United States, 2015: child poverty, incomes, jobs, commutes, origins.",
        of="counties",
    )


def census() -> Dataset:
    """Load the census by tract, the paper's: 72,727 complete rows of 74,001.

    The file is looked for in ``$FAIRDASH_DATA/census``, then in the user's cache; its git blob id is checked.

    Returns
    -------
    Dataset
        As from :func:`census_county`.

    Raises
    ------
    DownloadError
        The file is not there, or not the published one; says how to bring it.
    """
    return parse(
        _brought(TRACT_FILE),
        name="census",
        title="US census by tract",
        description="Tracts of the United States, 2015: child poverty, incomes, jobs, commutes, origins.",
        of="tracts",
    )


def parse(content: bytes, *, name: str, title: str, description: str, of: str) -> Dataset:
    """Read a file of either kind in the paper's roles.

    Parameters
    ----------
    content
        The file.
    name, title, description
        See :class:`~fairdash.data.dataset.Dataset`.
    of
        What its rows are, in the plural.
    """
    whole = pd.read_csv(io.BytesIO(content))
    frame = whole.dropna().reset_index(drop=True)
    women = (frame["Women"] / frame["TotalPop"]).rename(SENSITIVE)
    left_out = [column for column in IDENTIFIERS if column in frame]
    features = frame.drop(columns=[*left_out, *TELLTALES, TARGET])
    levels = sorted(features["State"].unique())
    features["State"] = features["State"].astype(pd.CategoricalDtype(levels))
    units = UNITS | dict.fromkeys(_PERCENT, "%")
    kept = {*features.columns, TARGET, SENSITIVE}
    return Dataset(
        name=name,
        title=title,
        description=description,
        features=features,
        target=frame[TARGET].astype(float),
        sensitive=women.to_frame(),
        units={column: unit for column, unit in units.items() if column in kept},
        meanings={column: meaning for column, meaning in MEANINGS.items() if column in kept},
        names=NAMES[name],
        notes=(
            f"{len(whole) - len(frame):,} of {len(whole):,} {of} left out: a cell is missing.",
            f"{len(left_out)} columns left out: they only name or number the row ({', '.join(left_out)}).",
            "Poverty is left out: it is nearly the target. So are Men and Women, of which the sensitive "
            "column is made (Women / TotalPop).",
        ),
    )


def git_blob_id(content: bytes) -> str:
    """Give the id that git gives a file's content: SHA-1 over its length and its bytes, in hex.

    >>> git_blob_id(b"")
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _digest(file: str) -> Callable[[bytes], str]:
    return git_blob_id if file == TRACT_FILE else sha256


def _brought(file: str) -> bytes:
    folder = find_folder("census", [file])
    if folder is None:
        raise DownloadError.of(f"{file} is not on this machine", how_to_bring(file))
    hint = f"Delete it. {how_to_bring(file)}"
    return read_verified(folder, {file: CHECKSUMS[file]}, digest=_digest(file), hint=hint)[file]
