"""Dates written as text: recognised in any order, and asked about where day and month could be swapped."""

import numpy as np
import pandas as pd
import pytest

from fairdash.data import Roles, build_dataset, read_table
from fairdash.errors import DataError, Fix
from fairdash.tables.features import fixes_of_columns
from fairdash.tables.grammar import DAY_FIRST, MONTH_FIRST, date_orders, to_dates
from tests.data.tables import policies

ROLES = Roles(target="cost", sensitive=("age",), features=("rooms", "born"))
SURE = "%d.%m.%Y %m/%d/%Y %d-%m-%Y %Y/%m/%d %d-%b-%Y %d._%B_%Y %B_%d,_%Y %d.%m.%Y_%H:%M:%S".split()


def born(n: int = 60) -> pd.Series:
    days = np.random.default_rng(1).integers(0, 51 * 365, n)
    return pd.Series(pd.Timestamp("1950-01-01") + pd.to_timedelta(days, unit="D"), name="born")


@pytest.mark.bad_input(28)
@pytest.mark.parametrize("how", SURE)
def test_dates_of_one_reading_are_read_and_offered_as_dates(how: str) -> None:
    days = born()
    texts = days.dt.strftime(how.replace("_", " "))
    texts[5] = ""
    frame, report = read_table(policies().assign(born=texts).to_csv(index=False, sep=";").encode())
    assert frame["born"].isna().tolist() == [k == 5 for k in range(60)]
    assert (frame["born"] == days)[frame["born"].notna()].all()
    assert any("“born” is read as dates, with" in sentence for sentence in report.sentences())
    (offer,) = fixes_of_columns(frame[list(ROLES.features)])
    assert offer.fixes == (Fix("year", "born"), Fix("age", "born"))


@pytest.mark.bad_input(28)
def test_as_a_sensitive_column_either_reading_is_asked_for() -> None:
    frame = policies().assign(born=[f"0{1 + k % 9}.{10 + k % 3}.{1950 + k % 40}" for k in range(60)])
    roles = Roles(target="cost", sensitive=("born",), features=("rooms",))
    with pytest.raises(DataError) as caught:
        build_dataset(frame, roles, name="test")
    (problem,) = caught.value.problems
    assert (problem.column, len(problem.fixes)) == ("born", 4)
    assert "day and month are ambiguous" in problem.what
    assert "1950" not in str(problem)
    dataset = build_dataset(frame, roles, name="test", fixes=(Fix("age_day_first", "born"),))
    assert "“born” is read as dates, with the day first, and used as an age in years" in "".join(
        dataset.notes
    )


@pytest.mark.parametrize(
    ("texts", "orders"),
    [
        (["1.1.2019", "01.01.2020", "7.7.2020"], (DAY_FIRST,)),  # the same either way
        (["1.2.2019", "13.2.2019"], (DAY_FIRST,)),
        (["1.2.2019", "2.13.2019"], (MONTH_FIRST,)),
        (["13.2.2019", "2.13.2019"], ()),
        (["30.2.2019"], ()),
        (["29.2.2020"], (DAY_FIRST,)),
        (["31.12.19"], ()),  # of which century?
        (["31 Dezember 2019"], ()),
        (["31.12.2019", "2019-12-31"], ()),
        ([" 31.12.2019"], (DAY_FIRST,)),
        ([], ()),
    ],
)
def test_orders(texts: list[str], orders: tuple[str, ...]) -> None:
    assert date_orders(texts) == orders


def test_missing_cells_and_times_are_kept() -> None:
    values = pd.Series(["2/1/2019 13:45", None, "3/1/2019 00:00:01.5"], index=[4, 5, 9])
    days = [pd.Timestamp("2019-02-01 13:45"), pd.NaT, pd.Timestamp("2019-03-01 00:00:01.5")]
    pd.testing.assert_series_equal(
        to_dates(values, MONTH_FIRST), pd.Series(days, index=values.index), check_dtype=False
    )
