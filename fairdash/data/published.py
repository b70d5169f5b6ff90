"""Public tables with the column roles of the paper: Communities and Crime, motor policies, and the US census.

**Crime**: violent crime in 1,994 communities of the United States. M. Redmond, UCI Machine Learning
Repository, data set 183, CC BY 4.0. As in the paper, the sensitive column is the share of Black inhabitants,
and the five identifying columns are left out.

**Motor**: 100,021 French third-party policies of 2009 and 2010, from a pricing game of 2015 of the French
Institute of Actuaries: ``pg15training`` in the R package CASdatasets (C. Dutang, A. Charpentier). The paper
states 36,311 rows and 15 attributes. Another table of the game, ``pg15pricing`` in the same package, has
these numbers of rows and attributes. It has the same attributes and no claims. The costs that the paper
predicts exist only in ``pg15training``. The results of fairdash may therefore differ from those in the paper.
The package's manual describes the columns (``pricingame``).

**Census**: American Community Survey 2015, five-year estimates, US Census Bureau; tables on Kaggle ("US
Census Demographic Data", M. Neutrino). Kaggle requires a login, so users must download the files themselves.
The paper predicts "the percentage of children below the poverty line" by tract, and its sensitive attribute
is "the percentage of the women in the census tract". The authors' notebook leaves out incomplete rows and the
columns below, and encodes the states as 0 and 1. With the 52 states of the whole file, there are 82 inputs.
fairdash prepares both files in the same way.

``catalogue.toml`` lists the sources of the files and the names of their columns.
"""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import Literal

import numpy as np
import pandas as pd

from fairdash.data.catalogue import CATALOGUE
from fairdash.data.dataset import Dataset
from fairdash.data.fetch import DownloadProgress
from fairdash.data.simulated import PREMIUM, glm_premiums

CRIME_TARGET, CRIME_SENSITIVE = "ViolentCrimesPerPop", "racepctblack"
#: Columns that do not describe a community: its name and number, and the publisher's cross-validation folds.
COMMUNITIES = ("state", "county", "community", "communityname", "fold")

N_POLICIES = 100_021
DAYS_IN_A_YEAR = 365
MOTOR_SENSITIVE, EXPOSURE, SUBREGION = "Age", "Years", "SubGroup2"
#: Outcomes of the insured year. They become known only after this year, so they can't be features.
CLAIMS = ("Numtppd", "Numtpbi", "Indtppd", "Indtpbi")
#: Name of the target and name of the published column for each option of `target`. The option "cost" uses
#: this column unchanged, and the other options divide it by the insured years.
MOTOR_TARGETS = {
    "cost": ("Indtppd", "Indtppd"),
    "frequency": ("ClaimsPerYear", "Numtppd"),
    "cost_per_year": ("CostPerYear", "Indtppd"),
}

CENSUS_TARGET, CENSUS_SENSITIVE = "ChildPoverty", "WomenShare"
#: Columns that only identify a row.
PLACES = ("CensusTract", "CensusId", "County")
#: Columns that can't be features, because Poverty is almost the target, and Men and Women determine the
#: sensitive column.
TELLTALES = ("Poverty", "Men", "Women")


def crime(*, sparse: Literal["drop", "keep"] = "drop", progress: DownloadProgress | None = None) -> Dataset:
    """Load Communities and Crime.

    fairdash looks for the files in ``$FAIRDASH_DATA/crime`` and then in the user's cache, downloads missing
    files from the publisher, and checks the SHA-256 of all files.

    Parameters
    ----------
    sparse
        "drop" leaves out the 22 columns in which more than half of the cells are missing. Most of these
        columns are about the police. "keep" uses these columns as features, with their missing cells.
    progress
        Function that receives the number of bytes downloaded and expected.

    Returns
    -------
    Dataset
        Data set with 1,994 rows and 99 features, or 121 features with the sparse columns. The publisher
        scaled every column to [0, 1].

    Raises
    ------
    DownloadError
        The files can't be downloaded, or differ from the published files.
    """
    entry = CATALOGUE["crime"]
    contents = entry.contents(progress=progress)
    names = contents["communities.names"].decode("ascii")
    columns = re.findall(r"^@attribute (\S+)", names, flags=re.MULTILINE)
    meanings = {
        column: meaning.strip(" :")
        for column, meaning in re.findall(r"^-- (\w+): (.*?)(?: \(numeric.*)?$", names, flags=re.MULTILINE)
    }

    frame = pd.read_csv(
        io.BytesIO(contents["communities.data"]), header=None, names=columns, na_values=["?"]
    ).drop(columns=list(COMMUNITIES))
    features = frame.drop(columns=[CRIME_TARGET, CRIME_SENSITIVE])
    notes = [
        f"{len(COMMUNITIES)} columns left out, because they only name or number communities "
        f"({', '.join(COMMUNITIES)})."
    ]
    if sparse == "drop":
        mostly_missing = features.columns[features.isna().mean() > 0.5]
        features = features.drop(columns=mostly_missing)
        notes.append(
            f"{len(mostly_missing)} columns left out, because more than half of their cells are missing."
        )
    missing = features.isna().sum()
    notes.append(
        f"Missing cells in features: {missing.sum():,}, in {(missing > 0).sum()} of {len(missing)} columns."
    )
    needed_columns = [*features.columns, CRIME_SENSITIVE, CRIME_TARGET]
    return entry.dataset(
        features=features.astype(float),
        target=frame[CRIME_TARGET].astype(float),
        sensitive=frame[[CRIME_SENSITIVE]].astype(float),
        units=dict.fromkeys(needed_columns, "scaled to 0–1"),
        meanings={column: meanings[column] for column in needed_columns if column in meanings},
        notes=tuple(notes),
    )


def motor(
    *,
    target: Literal["cost", "frequency", "cost_per_year"] = "cost",
    subregion: Literal["drop", "keep"] = "drop",
    n: int = N_POLICIES,
    random_state: int = 0,
    progress: DownloadProgress | None = None,
) -> Dataset:
    r"""Load the French motor policies. The sensitive column is the driver's age in years.

    fairdash looks for the file in ``$FAIRDASH_DATA/motor`` and then in the user's cache, downloads a missing
    file from the publisher, and checks the SHA-256 of the file.

    Parameters
    ----------
    target
        "cost", as in the paper: the total cost of a policy's third-party material claims in €. All policies
        have the same weight, even if they cover only part of a year.

        "frequency": third-party material claims per insured year, :math:`y_i = N_i / w_i`, with the insured
        years :math:`w_i` as weights. The weighted Poisson deviance of the rates then equals the deviance of
        the counts, :math:`\sum_i w_i\, d(y_i, \mu_i) = \sum_i d(N_i, w_i \mu_i)`, as in a model of the counts
        with offset :math:`\ln w_i`.

        "cost_per_year": the cost of third-party material claims per insured year, with the insured years as
        weights. This target is the pure premium, for which the Tweedie deviance is suitable.
    subregion
        "drop": the subregion is left out, because its 471 levels would be 471 inputs. Each subregion has a
        different density, so the feature density contains the same information. "keep": the subregion is a
        feature.
    n
        Number of policies; by default all policies. A smaller number is drawn at random without replacement,
        and the policies keep the order of the file. The paper has 36,311 policies.
    random_state
        Seed of the sample.
    progress
        Function that receives the number of bytes downloaded and expected.

    Returns
    -------
    Dataset
        Data set with 11 features, or with 12 features if the subregion is kept. The features exclude the
        policy number, the underwriting year, the exposure and all columns on claims.

    Raises
    ------
    DownloadError
        The file can't be downloaded, or differs from the published file.
    """
    entry = CATALOGUE["motor"]
    (content,) = entry.contents(progress=progress).values()
    policies = _policies(content)
    notes = [
        "The paper names the table pg15pricing, which has no claims. This table is pg15training from the "
        "same game.",
        "2 columns left out: the policy number, and the year, because a price is for a future year.",
        f"{len(CLAIMS)} columns on claims are no features, as they are known only at the end of the year.",
    ]
    excluded_columns = ["PolNum", "CalYear", "Exppdays", *CLAIMS, MOTOR_SENSITIVE]
    if subregion == "drop":
        excluded_columns.append(SUBREGION)
        notes.append("The subregion is left out. The density of its inhabitants is a feature.")
    n_duplicates = int(policies["PolNum"].duplicated().sum())
    notes.append(
        f"{n_duplicates} policies have two rows in the file, one with the cost of their claims and one "
        "without. Both rows are kept."
    )
    if n != len(policies):
        rows = np.sort(np.random.default_rng(random_state).choice(len(policies), n, replace=False))
        policies = policies.iloc[rows].reset_index(drop=True)
        notes.append(f"{n:,} of {N_POLICIES:,} policies, drawn at random (seed {random_state}).")

    name, source = MOTOR_TARGETS[target]
    years = (policies["Exppdays"] / DAYS_IN_A_YEAR).rename(EXPOSURE)
    amount = policies[source].astype(float)
    by_year = target != "cost"
    unit = "claim" if source == "Numtppd" else "cost"
    notes.append(f"{(amount == 0).mean():.0%} of the policies have no {unit}.")
    if by_year:
        notes.append("Policies are weighted by their insured years.")
    return entry.dataset(
        features=policies.drop(columns=excluded_columns),
        target=(amount / years if by_year else amount).rename(name),
        sensitive=policies[[MOTOR_SENSITIVE]].astype(float),
        weight=years if by_year else None,
        notes=tuple(notes),
    )


def _policies(content: bytes) -> pd.DataFrame:
    """Read the R table. Whole numbers become int64, and factors become categories with all levels."""
    import rdata

    frame = rdata.read_rda(io.BytesIO(content))["pg15training"].reset_index(drop=True)
    integer_columns = [name for name in frame.columns if pd.api.types.is_integer_dtype(frame[name])]
    return frame.astype(dict.fromkeys(integer_columns, np.int64))


def motor_with_premiums(*, n: int = N_POLICIES, progress: DownloadProgress | None = None) -> Dataset:
    """Load the policies of :func:`motor` with the premiums of a GLM per insured year.

    Parameters
    ----------
    n
        Number of policies, as in :func:`motor`.
    progress
        Function that receives the number of bytes downloaded and expected.

    Returns
    -------
    Dataset
        Data set with the target ``CostPerYear`` in €, the weight ``Years`` and the prediction ``Premium``.

    Raises
    ------
    DownloadError
        The file can't be downloaded, or differs from the published file.
    """
    data = motor(target="cost_per_year", n=n, progress=progress)
    claims = motor(target="frequency", n=n).target
    assert data.weight is not None
    years = data.weight.to_numpy(dtype=float)
    cost = data.target.to_numpy(dtype=float) * years
    entry = CATALOGUE["motor_tariff"]
    return replace(
        data,
        name=entry.id,
        title=entry.title,
        description=entry.about,
        prediction=glm_premiums(data.features, claims.to_numpy(dtype=float) * years, cost, years),
        units={**data.units, PREMIUM: entry.units[PREMIUM]},
        meanings={**data.meanings, PREMIUM: entry.meanings[PREMIUM]},
        names={**data.names, PREMIUM: entry.names[PREMIUM]},
    )


def census_county() -> Dataset:
    """Load the census by county (3,218 rows), a smaller table than the census by tract of the paper.

    fairdash looks for the file in ``$FAIRDASH_DATA/census`` and then in the user's cache, and checks its
    SHA-256.

    Returns
    -------
    Dataset
        Data set with the target ``ChildPoverty`` in %, the sensitive column ``WomenShare`` in [0, 1], and 31
        features, including the state as a category with 52 levels.

    Raises
    ------
    DownloadError
        The file is missing or differs from the published file; the error explains how to provide the file.
    """
    return parse_census(
        *CATALOGUE["census_county"].contents().values(), dataset_id="census_county", areas="counties"
    )


def census() -> Dataset:
    """Load the census by tract, as in the paper. Of 74,001 rows, 72,727 have no missing cell.

    fairdash looks for the file in ``$FAIRDASH_DATA/census`` and then in the user's cache, and checks its git
    blob id.

    Returns
    -------
    Dataset
        Data set with the columns of :func:`census_county`.

    Raises
    ------
    DownloadError
        The file is missing or differs from the published file; the error explains how to provide the file.
    """
    return parse_census(*CATALOGUE["census"].contents().values(), dataset_id="census", areas="tracts")


def parse_census(content: bytes, *, dataset_id: str, areas: str) -> Dataset:
    """Read a census file by county or by tract, and give its columns the roles of the paper.

    Parameters
    ----------
    content
        Content of the file.
    dataset_id
        Id in the catalogue.
    areas
        Word for the rows, in the plural, such as "counties".
    """
    table = pd.read_csv(io.BytesIO(content))
    frame = table.dropna().reset_index(drop=True)
    places = [column for column in PLACES if column in frame]
    features = frame.drop(columns=[*places, *TELLTALES, CENSUS_TARGET])
    features["State"] = features["State"].astype(pd.CategoricalDtype(sorted(features["State"].unique())))
    return CATALOGUE[dataset_id].dataset(
        features=features,
        target=frame[CENSUS_TARGET].astype(float),
        sensitive=(frame["Women"] / frame["TotalPop"]).rename(CENSUS_SENSITIVE).to_frame(),
        notes=(
            f"{len(table) - len(frame):,} of {len(table):,} {areas} left out, because a cell is missing.",
            f"{len(places)} columns left out, as they only name or number a row ({', '.join(places)}).",
            "Poverty is left out, because it is nearly the target. Men and Women are left out, because they "
            "define the sensitive column (Women / TotalPop).",
        ),
    )
