"""Motor third-party liability: 100,021 French policies of 2009 and 2010, from a pricing game of 2015.

Source: ``pg15training`` in the R package CASdatasets (C. Dutang, A. Charpentier), from the 2015 pricing game
of the French Institute of Actuaries. The paper names 36,311 rows and 15 attributes, which is that package's
``pg15pricing``: the game's other table, with the same attributes and no claims. The costs that the paper
predicts are in ``pg15training``, so its figures are not expected to come out the same. What the columns mean
is said in the package's manual (``pricingame``).
"""

from __future__ import annotations

import io
from typing import Literal

import numpy as np
import pandas as pd

from fairdash.data.dataset import Dataset
from fairdash.data.fetch import DownloadProgress, fetch_file
from fairdash.data.local_files import find_folder, read_verified
from fairdash.data.names import NAMES
from fairdash.storage import cache_folder

URL = "https://raw.githubusercontent.com/dutangc/CASdatasets/master/data/pg15training.rda"
FILE = "pg15training.rda"
CHECKSUMS = {FILE: "a762362adb188e593de8ce2b811460659cc67de43751b22ac84d749db53f2550"}

N_POLICIES = 100_021
DAYS_IN_A_YEAR = 365
SENSITIVE = "Age"
EXPOSURE = "Years"
SUBREGION = "SubGroup2"
#: What the year brought: known only after it, so never a feature.
CLAIMS = ("Numtppd", "Numtpbi", "Indtppd", "Indtpbi")
#: Each of these ids to the published column that it predicts, as it is or by year insured.
TARGETS = {
    "cost": ("Indtppd", "Indtppd"),
    "frequency": ("ClaimsPerYear", "Numtppd"),
    "cost_per_year": ("CostPerYear", "Indtppd"),
}

UNITS = {
    "Indtppd": "€",
    "ClaimsPerYear": "claims per year",
    "CostPerYear": "€ per year",
    EXPOSURE: "years",
    "Age": "years",
    "Bonus": "%",
    "Poldur": "years",
    "Value": "€",
    "Density": "inhabitants per km²",
}
MEANINGS = {
    "Indtppd": "total cost of the policy's third-party material claims",
    "ClaimsPerYear": "third-party material claims, divided by the years insured",
    "CostPerYear": "total cost of the third-party material claims, divided by the years insured",
    EXPOSURE: f"how long the policy was insured: days of exposure, divided by {DAYS_IN_A_YEAR}",
    "Gender": "gender of the driver",
    "Type": "type of the car",
    "Category": "category of the car",
    "Occupation": "occupation of the driver",
    "Age": "age of the driver",
    "Group1": "group of the car",
    "Bonus": "bonus-malus: -30 is a bonus of 30 %, 20 a malus of 20 %",
    "Poldur": "age of the policy",
    "Value": "value of the car",
    "Adind": "whether the car's own material damage is covered: 1 is yes, 0 is no",
    SUBREGION: "subregion that the driver lives in",
    "Group2": "region that the driver lives in",
    "Density": "density of inhabitants where the driver lives",
}

_ADVICE = (
    f"Connect to the internet and try again, or put {FILE} into a folder named motor and set FAIRDASH_DATA "
    "to the folder around it."
)


def motor_is_local() -> bool:
    """Say whether the file lies on this machine already, so that nothing has to be fetched."""
    return find_folder("motor", CHECKSUMS) is not None


def motor(
    *,
    target: Literal["cost", "frequency", "cost_per_year"] = "cost",
    subregion: Literal["drop", "keep"] = "drop",
    n: int = N_POLICIES,
    random_state: int = 0,
    progress: DownloadProgress | None = None,
) -> Dataset:
    r"""Load the motor policies; sensitive column is the driver's age in years.

    The file is looked for in ``$FAIRDASH_DATA/motor``, then in the user's cache, and is fetched from the
    publisher otherwise. Wherever it comes from its SHA-256 is checked.

    Parameters
    ----------
    target
        "cost", the paper's: the total cost of a policy's third-party material claims in €, each policy
        counting alike, however long it ran.

        "frequency": third-party material claims by year insured, :math:`y_i = N_i / w_i`, with the years
        insured :math:`w_i` as weight. Weighted so, the Poisson deviance of the rates is that of the
        counts, :math:`\sum_i w_i\, d(y_i, \mu_i) = \sum_i d(N_i, w_i \mu_i)`, as in a model of the counts
        with offset :math:`\ln w_i`.

        "cost_per_year": the cost of those claims by year insured with the same weight: the pure premium,
        for a Tweedie deviance.
    subregion
        "drop" leaves out the 471 subregions. Each has a density of its own, which is among the features:
        the column names what that number orders, and would be 471 inputs. "keep" leaves them in.
    n
        Number of policies: all of them, or that many drawn at random without replacement, kept in the
        file's order. The paper's count is 36,311.
    random_state
        Seed of that draw.
    progress
        Called with bytes done and bytes expected while downloading.

    Returns
    -------
    Dataset
        11 features, or 12 with the subregions. Policy number, underwriting year, exposure and every column
        of claims are not among them.

    Raises
    ------
    DownloadError
        The file can't be had, or is not the published one.
    """
    folder = find_folder("motor", CHECKSUMS)
    if folder is None:
        folder = cache_folder("motor")
        fetch_file(URL, FILE, CHECKSUMS[FILE], folder, offline_advice=_ADVICE, progress=progress)
    policies = _policies(read_verified(folder, CHECKSUMS)[FILE])
    notes = [
        "The paper names the table pg15pricing, which has no claims: this is pg15training of the same game.",
        "2 columns left out: the policy's number, and its year, as a price is for a year to come.",
        f"{len(CLAIMS)} columns of claims are no features: they are known only when the year is over.",
    ]
    left_out = ["PolNum", "CalYear", "Exppdays", *CLAIMS, SENSITIVE]
    if subregion == "drop":
        left_out.append(SUBREGION)
        notes.append("The subregion is left out: each has a density of its own, which is kept.")
    twice = int(policies["PolNum"].duplicated().sum())
    notes.append(
        f"{twice} policies are in the file twice, with the cost of their claims and without; both are kept."
    )
    if n != len(policies):
        rows = np.sort(np.random.default_rng(random_state).choice(len(policies), n, replace=False))
        policies = policies.iloc[rows].reset_index(drop=True)
        notes.append(f"{n:,} of {N_POLICIES:,} policies, drawn at random (seed {random_state}).")

    name, source = TARGETS[target]
    years = (policies["Exppdays"] / DAYS_IN_A_YEAR).rename(EXPOSURE)
    amount = policies[source].astype(float)
    by_year = target != "cost"
    nothing = "claim" if source == "Numtppd" else "cost"
    notes.append(f"{(amount == 0).mean():.0%} of the policies have no {nothing}.")
    if by_year:
        notes.append("A policy counts by the years it was insured.")
    features = policies.drop(columns=left_out)
    kept = {*features.columns, SENSITIVE, name, *([EXPOSURE] if by_year else [])}
    return Dataset(
        name="motor",
        title="Motor insurance",
        description="French motor third-party liability, 2009 and 2010, from a pricing game of 2015.",
        features=features,
        target=(amount / years if by_year else amount).rename(name),
        sensitive=policies[[SENSITIVE]].astype(float),
        weight=years if by_year else None,
        units={column: unit for column, unit in UNITS.items() if column in kept},
        meanings={column: meaning for column, meaning in MEANINGS.items() if column in kept},
        notes=tuple(notes),
        names=NAMES["motor"],
    )


def _policies(content: bytes) -> pd.DataFrame:
    """Read R's table: whole numbers as int64, factors as categories with all of their levels."""
    import rdata

    frame = rdata.read_rda(io.BytesIO(content))["pg15training"].reset_index(drop=True)
    whole = [name for name in frame.columns if pd.api.types.is_integer_dtype(frame[name])]
    return frame.astype(dict.fromkeys(whole, np.int64))
