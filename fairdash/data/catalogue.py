"""The data sets that fairdash can make or fetch by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from fairdash.data import census
from fairdash.data.crime import crime, crime_is_local
from fairdash.data.dataset import Dataset
from fairdash.data.fetch import DownloadProgress
from fairdash.data.household import DEFAULT_N, household
from fairdash.data.motor import N_POLICIES, motor, motor_is_local
from fairdash.data.motor_tariff import DEFAULT_N as PORTFOLIO_N
from fairdash.data.motor_tariff import motor_with_premiums, simulated_portfolio
from fairdash.errors import OptionError, Problem
from fairdash.utils.registry import get_entry

OptionValue = int | str


@dataclass(frozen=True, kw_only=True)
class CatalogueOption:
    """One choice that a data set of the catalogue offers.

    Parameters
    ----------
    name
        Keyword of the loader.
    label
        What the choice is about, in plain words.
    default
        The value if nobody chooses.
    choices
        Value to its label, for a choice among a few; None for a whole number.
    minimum, maximum
        Ends of the range of a whole number, both allowed.
    """

    name: str
    label: str
    default: OptionValue
    choices: Mapping[OptionValue, str] | None = None
    minimum: int = 0
    maximum: int = 2**32 - 1

    def problem(self, value: object) -> Problem | None:
        """Say why a value can't be used, or None if it can."""
        if self.choices is not None:
            if any(value == choice and type(value) is type(choice) for choice in self.choices):
                return None
            wanted = " or ".join(repr(choice) for choice in self.choices)
        else:
            if type(value) is int and self.minimum <= value <= self.maximum:
                return None
            wanted = f"a whole number from {self.minimum:,} to {self.maximum:,}"
        return Problem(what=f"the option {self.name} can't take this value", hint=f"Choose {wanted}.")


@dataclass(frozen=True, kw_only=True)
class CatalogueEntry:
    """A data set of the catalogue, described for someone who has to choose one.

    Parameters
    ----------
    id
        What :func:`load_dataset` takes.
    title, description
        Its name and one sentence.
    source, url, licence
        Who publishes it, where, on what terms; the address is empty for generated data.
    size
        What has to be downloaded, in words.
    n_rows
        Number of rows with the default options.
    needs_download
        Whether fairdash fetches the files unless they are on hand.
    options
        The choices it offers.
    load
        Makes the data set; takes the options as keywords, and ``progress`` where `needs_download`.
    is_local
        Whether it can be loaded at this moment without a connection.
    how_to_bring
        Says what a person has to do who wants a data set that nobody may fetch for him; None for the others.
    keep_brought
        Keeps the file that such a person hands over, if it is the published one; None for the others.
    """

    id: str
    title: str
    description: str
    source: str
    url: str
    licence: str
    size: str
    n_rows: int
    needs_download: bool
    options: tuple[CatalogueOption, ...]
    load: Callable[..., Dataset]
    is_local: Callable[[], bool]
    how_to_bring: Callable[[], str] | None = None
    keep_brought: Callable[[bytes], None] | None = None

    def complete(self, options: Mapping[str, object]) -> dict[str, OptionValue]:
        """Check some options and add the defaults of the others.

        Raises
        ------
        OptionError
            With a problem for each option that is unknown or has a value it can't take.
        """
        known = {option.name: option for option in self.options}
        problems = [
            Problem(
                what=f"the data set {self.id} has no option {name}",
                hint=f"It has {', '.join(known) or 'none'}.",
            )
            for name in options
            if name not in known
        ]
        values = {name: options.get(name, option.default) for name, option in known.items()}
        problems += [
            problem for name, option in known.items() if (problem := option.problem(values[name])) is not None
        ]
        if problems:
            raise OptionError(*problems)
        return values  # type: ignore[return-value]  # each value was checked against its option


_ENTRIES = (
    CatalogueEntry(
        id="household",
        title="Household insurance (synthetic)",
        description="The paper's made-up policies: prices that follow age without any linear correlation.",
        source="Generated on this machine, after the paper's supplement",
        url="",
        licence="free of rights",
        size="nothing to download",
        n_rows=DEFAULT_N,
        needs_download=False,
        options=(
            CatalogueOption(
                name="n", label="Number of policies", default=DEFAULT_N, minimum=100, maximum=1_000_000
            ),
            CatalogueOption(name="random_state", label="Random seed", default=0),
            CatalogueOption(
                name="spread",
                label="Second parameter of N(40, 5), which the paper leaves open",
                default="sd",
                choices={"sd": "standard deviation", "variance": "variance"},
            ),
            CatalogueOption(
                name="rooms", label="Rooms", default=4, choices={4: "1 to 4 rooms", 5: "1 to 5 rooms"}
            ),
            CatalogueOption(
                name="features_seen",
                label="What the predictor sees",
                default="all",
                choices={"all": "rooms, surface and building age", "surface": "the surface alone"},
            ),
        ),
        load=household,
        is_local=lambda: True,
    ),
    CatalogueEntry(
        id="crime",
        title="Communities and Crime",
        description="Violent crime in communities of the United States, against their share of Black people.",
        source="M. Redmond, UCI Machine Learning Repository, data set 183",
        url="https://archive.ics.uci.edu/dataset/183/communities+and+crime",
        licence="CC BY 4.0",
        size="0.3 MB to download",
        n_rows=1_994,
        needs_download=True,
        options=(
            CatalogueOption(
                name="sparse",
                label="Columns with more than half of their cells missing",
                default="drop",
                choices={"drop": "leave out", "keep": "keep"},
            ),
        ),
        load=crime,
        is_local=crime_is_local,
    ),
    CatalogueEntry(
        id="motor",
        title="Motor insurance",
        description="French motor policies and what their third-party claims cost, against the driver's age.",
        source="CASdatasets (C. Dutang, A. Charpentier): pg15training, French Institute of Actuaries",
        url="https://dutangc.github.io/CASdatasets/reference/pricingame.html",
        licence="GPL 2 or newer",
        size="1.9 MB to download",
        n_rows=N_POLICIES,
        needs_download=True,
        options=(
            CatalogueOption(
                name="target",
                label="What is predicted",
                default="cost",
                choices={
                    "cost": "cost of claims by policy, as in the paper",
                    "frequency": "claims by year insured",
                    "cost_per_year": "cost of claims by year insured",
                },
            ),
            CatalogueOption(
                name="subregion",
                label="The 471 subregions, each with a density of its own",
                default="drop",
                choices={"drop": "leave out", "keep": "keep"},
            ),
            CatalogueOption(
                name="n",
                label="Number of policies (the paper's: 36,311)",
                default=N_POLICIES,
                minimum=100,
                maximum=N_POLICIES,
            ),
            CatalogueOption(name="random_state", label="Random seed, where they are drawn", default=0),
        ),
        load=motor,
        is_local=motor_is_local,
    ),
    CatalogueEntry(
        id="motor_tariff",
        title="Motor insurance with a GLM's premiums",
        description="The motor policies with a price to audit: a tariff that does not see the driver's age.",
        source="CASdatasets (C. Dutang, A. Charpentier): pg15training; premiums of a GLM fitted here",
        url="https://dutangc.github.io/CASdatasets/reference/pricingame.html",
        licence="GPL 2 or newer",
        size="1.9 MB to download",
        n_rows=N_POLICIES,
        needs_download=True,
        options=(),
        load=motor_with_premiums,
        is_local=motor_is_local,
    ),
    CatalogueEntry(
        id="portfolio",
        title="Motor portfolio with a GLM's premiums (simulated)",
        description="Simulated motor policies with a price to audit: a tariff without the driver's age.",
        source="Generated on this machine",
        url="",
        licence="free of rights",
        size="nothing to download",
        n_rows=PORTFOLIO_N,
        needs_download=False,
        options=(
            CatalogueOption(
                name="n", label="Number of policies", default=PORTFOLIO_N, minimum=1_000, maximum=1_000_000
            ),
            CatalogueOption(name="random_state", label="Random seed", default=0),
        ),
        load=simulated_portfolio,
        is_local=lambda: True,
    ),
    CatalogueEntry(
        id="census",
        title="US census by tract",
        description="Child poverty in census tracts of the United States, against their share of women.",
        source="US Census Bureau, American Community Survey 2015, by way of Kaggle",
        url=census.URL,
        licence="public domain",
        size="14 MB, which you bring",
        n_rows=72_727,
        needs_download=False,
        options=(),
        load=census.census,
        is_local=partial(census.is_local, census.TRACT_FILE),
        how_to_bring=partial(census.how_to_bring, census.TRACT_FILE),
        keep_brought=partial(census.keep_brought, census.TRACT_FILE),
    ),
    CatalogueEntry(
        id="census_county",
        title="US census by county",
        description="Child poverty in counties of the United States, against their share of women.",
        source="US Census Bureau, American Community Survey 2015, by way of Kaggle",
        url=census.URL,
        licence="public domain",
        size="0.6 MB, which you bring",
        n_rows=3_218,
        needs_download=False,
        options=(),
        load=census.census_county,
        is_local=partial(census.is_local, census.COUNTY_FILE),
        how_to_bring=partial(census.how_to_bring, census.COUNTY_FILE),
        keep_brought=partial(census.keep_brought, census.COUNTY_FILE),
    ),
)

#: Every data set by its id, in the order in which to show them.
CATALOGUE: Mapping[str, CatalogueEntry] = MappingProxyType({entry.id: entry for entry in _ENTRIES})


def load_dataset(
    dataset_id: str, *, progress: DownloadProgress | None = None, **options: OptionValue
) -> Dataset:
    """Make or fetch a data set of the catalogue.

    Parameters
    ----------
    dataset_id
        A key of :data:`CATALOGUE`.
    progress
        Called with bytes done and bytes expected while something is downloaded.
    **options
        What the entry offers; see :attr:`CatalogueEntry.options`.

    Raises
    ------
    OptionError
        Unknown id, unknown option, or a value that an option can't take.
    DownloadError
        The files can't be had, have to be brought, or are not the published ones.
    """
    entry = get_entry(CATALOGUE, dataset_id, option="data set")
    complete = entry.complete(options)
    if entry.needs_download:
        return entry.load(progress=progress, **complete)
    return entry.load(**complete)
