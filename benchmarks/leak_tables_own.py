"""Tables with and without simulated leaks for testing the leak check, made by its author.

Ten certain leaks of the ten kinds, ten suspect ones, and twenty tables without leaks, some with strong
columns. The other half is in ``leak_tables_stranger.py``, by an author who had not read the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

#: Name, kind ("certain", "suspect" or "honest"), the table, its roles and the leaking columns.
Case = tuple[str, str, pd.DataFrame, dict[str, str], set[str]]

_MOTOR = {"target": "cost", "sensitive": "age", "exposure": "years"}
_MOTOR_COUNT = _MOTOR | {"target": "claims"}
_HOME = {"target": "price", "sensitive": "age"}


def _motor(rng: np.random.Generator, n: int, *, frequency: float = 0.12) -> pd.DataFrame:
    """Policies with weak factors, most of them without a claim."""
    age = rng.integers(18, 85, n)
    years = rng.choice([1.0, 1.0, 1.0, 0.25, 0.5, 0.75], n)
    power = rng.integers(3, 15, n)
    bonus = np.clip(50 + rng.poisson(12, n) * 3 - (age > 40) * 10, 50, 150)
    mileage = np.where(rng.random(n) < 0.1, 0.0, rng.gamma(3, 4000, n).round(1))
    region = rng.choice(list("ABCDEFG"), n)
    rate = frequency * np.exp(0.4 * (age < 25) + 0.03 * (power - 8) + 0.006 * (bonus - 80))
    claims = rng.poisson(rate * years * (mileage > 0))
    cost = np.zeros(n)
    cost[claims > 0] = np.round(rng.gamma(1.2 * claims[claims > 0], 900.0) + 20, 2)
    return pd.DataFrame(
        {
            "age": age,
            "years": years,
            "power": power,
            "bonus": bonus,
            "mileage": mileage,
            "region": region,
            "value": rng.gamma(4, 5000, n).round(0),
            "claims": claims,
            "cost": cost,
        }
    )


def _home(rng: np.random.Generator, n: int, *, noise: float = 1.0) -> pd.DataFrame:
    """Flats and their prices, none of them 0."""
    age = rng.normal(45, 14, n).round()
    rooms = rng.integers(1, 7, n)
    surface = (18 * rooms + 0.3 * age + rng.normal(0, 12, n)).clip(15).round(1)
    year = rng.integers(1900, 2020, n)
    district = rng.choice(["north", "south", "east", "west", "centre"], n)
    centre = (district == "centre") * 60
    price = 120 + 4.0 * surface + centre + 0.3 * (year - 1950) + rng.normal(0, 40 * noise, n)
    return pd.DataFrame(
        {
            "age": age,
            "rooms": rooms,
            "surface": surface,
            "year": year,
            "district": district,
            "price": price.round(2),
        }
    )


# The ten kinds of certain leaks: an exact, ranked, rounded, affine or coded copy, missing cells, zeros, a
# count next to the cost, a cause known only for claims, dates of the exposure.


def _exact(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, str], set[str]]:
    frame = _home(rng, 1500)
    return frame.assign(amount2=frame["price"]), _HOME, {"amount2"}


def _ranked(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, str], set[str]]:
    frame = _home(rng, 900)
    return frame.assign(place=frame["price"].rank(method="first", ascending=False)), _HOME, {"place"}


def _rounded(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, str], set[str]]:
    frame = _home(rng, 2500)
    return frame.assign(about=(frame["price"] / 25).round() * 25), _HOME, {"about"}


def _affine(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, str], set[str]]:
    frame = _motor(rng, 6000)
    return frame.drop(columns="claims").assign(net=frame["cost"] / 1.19 - 35), _MOTOR, {"net"}


def _coded(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, str], set[str]]:
    frame = _home(rng, 2000)
    codes = pd.qcut(frame["price"], 6, labels=list("qxbmad")).astype(str)
    return frame.assign(klass=codes), _HOME, {"klass"}


def _average_known(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, str], set[str]]:
    frame = _motor(rng, 8000, frequency=0.05)
    average = (frame["cost"] / frame["claims"].where(frame["claims"] > 0)).round(2)
    return frame.drop(columns="cost").assign(mean_cost=average), _MOTOR_COUNT, {"mean_cost"}


def _zeros(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, str], set[str]]:
    frame = _motor(rng, 5000)
    paid = np.where(frame["cost"] > 0, rng.gamma(2, 60, len(frame)).round(2) + 1, 0)
    return frame.drop(columns="claims").assign(expert_fee=paid), _MOTOR, {"expert_fee"}


def _count(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, str], set[str]]:
    frame = _motor(rng, 12000, frequency=0.06).rename(columns={"claims": "k"})
    return frame, _MOTOR, {"k"}


def _cause(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, str], set[str]]:
    frame = _motor(rng, 9000)
    cause = pd.Series(rng.choice(["hail", "theft", "crash", "glass"], len(frame)), index=frame.index)
    # For one claim in eight the cause was never recorded.
    known = (frame["cost"] > 0) & (rng.random(len(frame)) < 0.875)
    return frame.drop(columns="claims").assign(z7=cause.where(known)), _MOTOR, {"z7"}


def _dates(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, str], set[str]]:
    frame = _motor(rng, 4000).drop(columns="claims")
    days = (frame["years"] * 365).round().astype(int) - rng.integers(0, 40, len(frame))
    begin = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 365, len(frame)), unit="D")
    end = begin + pd.to_timedelta(days.to_numpy(), unit="D")
    frame = frame.assign(
        years=(days / 365).round(3), a1=begin.strftime("%Y-%m-%d"), a2=end.strftime("%Y-%m-%d")
    )
    return frame, _MOTOR, {"a1", "a2"}


# Ten columns that are only suspiciously predictive.


def _noisy_copy(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, str], set[str]]:
    frame = _home(rng, 2000)
    return frame.assign(offer=frame["price"] + rng.normal(0, 30, len(frame))), _HOME, {"offer"}


def _noisier_copy(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, str], set[str]]:
    frame = _home(rng, 6000, noise=2.0)
    return frame.assign(tax=0.03 * frame["price"] * rng.lognormal(0, 0.08, len(frame))), _HOME, {"tax"}


def _mostly_missing(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, str], set[str]]:
    frame = _motor(rng, 10000).drop(columns="claims")
    known = np.where(frame["cost"] > 0, rng.random(len(frame)) < 0.8, rng.random(len(frame)) < 0.03)
    return (
        frame.assign(garage_bill=np.where(known, rng.gamma(2, 300, len(frame)), np.nan)),
        _MOTOR,
        {"garage_bill"},
    )


def _paid_nothing(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, str], set[str]]:
    frame = _motor(rng, 12000).rename(columns={"claims": "reported"})
    nothing = (frame["cost"] > 0) & (rng.random(len(frame)) < 0.15)
    return frame.assign(cost=frame["cost"].where(~nothing, 0.0)), _MOTOR, {"reported"}


def _calls(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, str], set[str]]:
    frame = _motor(rng, 15000).drop(columns="claims")
    calls = rng.poisson(np.where(frame["cost"] > 0, 4.0, 0.05))
    return frame.assign(calls=calls), _MOTOR, {"calls"}


def _ids_sorted(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, str], set[str]]:
    frame = _home(rng, 1200)
    rough = frame["price"] + rng.normal(0, 60, len(frame))
    return frame.assign(nr=10000 + rough.rank(method="first").astype(int)), _HOME, {"nr"}


def _ids_appended(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, str], set[str]]:
    frame = _motor(rng, 7000).drop(columns="claims")
    # The file of claims was appended to that of policies without claims, and each was shuffled.
    order = np.lexsort([rng.random(len(frame)), frame["cost"] > 0])
    number = np.empty(len(frame), dtype=int)
    number[order] = np.arange(len(frame))
    number[rng.random(len(frame)) < 0.02] += 7000
    return frame.assign(key=pd.Series(number).rank(method="first").astype(int)), _MOTOR, {"key"}


def _encoded(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, str], set[str]]:
    frame = _home(rng, 3000)
    agent = rng.integers(0, 400, len(frame))
    return frame.assign(agent_level=frame["price"].groupby(agent).transform("mean")), _HOME, {"agent_level"}


def _encoded_claims(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, str], set[str]]:
    frame = _motor(rng, 12000, frequency=0.2).drop(columns="cost")
    street = rng.integers(0, 1200, len(frame))
    return (
        frame.assign(street_risk=frame["claims"].groupby(street).transform("mean")),
        _MOTOR_COUNT,
        {"street_risk"},
    )


def _encoded_drawn(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, str], set[str]]:
    frame = _home(rng, 4000)
    village = rng.integers(0, 500, len(frame))
    of = frame["price"].groupby(village)
    drawn = (of.transform("sum") + 4 * frame["price"].mean()) / (of.transform("size") + 4)
    return frame.assign(village_level=drawn), _HOME, {"village_level"}


# Twenty tables without leaks.


def _one_strong(rng: np.random.Generator) -> pd.DataFrame:
    frame = _home(rng, 2000)
    price = 4 * frame["surface"] + 25 * (frame["district"] == "centre") + rng.normal(0, 30, len(frame))
    return frame.drop(columns="rooms").assign(price=price.round(2))


def _grades(rng: np.random.Generator) -> pd.DataFrame:
    frame = _home(rng, 1500)
    grade = rng.integers(1, 9, len(frame))
    price = 300.0 * grade + rng.uniform(0, 120, len(frame)) + 0.8 * frame["surface"].clip(0, 150)
    return frame.assign(grade=grade, price=price.round(2))


def _exactly_made(rng: np.random.Generator) -> pd.DataFrame:
    frame = _home(rng, 2000)
    return frame.assign(price=4 * frame["surface"] + 50 * frame["rooms"] + 0.5 * (frame["year"] - 1900))


def _weather(rng: np.random.Generator) -> pd.DataFrame:
    frame = _home(rng, 2500)
    degrees = rng.normal(12, 8, len(frame)).round(1)
    heating = np.maximum(18 - degrees, 0) * rng.lognormal(0, 0.4, len(frame)) * frame["surface"] / 50
    return frame.assign(degrees=degrees, price=heating)


def _cover(rng: np.random.Generator) -> pd.DataFrame:
    frame = _motor(rng, 8000).drop(columns="claims")
    cover = rng.random(len(frame)) < 0.3
    return frame.assign(glass_cover=cover.astype(int), cost=frame["cost"].where(cover, 0.0))


def _half_known(rng: np.random.Generator) -> pd.DataFrame:
    frame = _motor(rng, 8000).drop(columns="cost")
    known = rng.random(len(frame)) < np.where(frame["claims"] > 0, 0.65, 0.45)
    return frame.assign(
        telematics=np.where(known, rng.normal(0, 1, len(frame)) + 0.3 * frame["claims"], np.nan)
    )


def _mediator(rng: np.random.Generator) -> pd.DataFrame:
    frame = _home(rng, 3000)
    index = 2 * frame["surface"] + 0.4 * frame["year"] + rng.normal(0, 15, len(frame))
    return frame.assign(energy=index, price=(3 * index + rng.normal(0, 25, len(frame))).round(2))


def _time_trend(rng: np.random.Generator) -> pd.DataFrame:
    frame = _home(rng, 2500)
    number = np.arange(len(frame)) + 1
    return frame.assign(nr=number, price=(frame["price"] + 0.03 * number).round(2))


def _small_areas(rng: np.random.Generator) -> pd.DataFrame:
    frame = _home(rng, 4000)
    area = rng.integers(0, 500, len(frame))
    wealth = rng.normal(0, 60, 500).round(3)[area]
    return frame.assign(area_wealth=wealth, price=(frame["price"] + 2 * wealth).round(2))


def _out_of_fold(rng: np.random.Generator) -> pd.DataFrame:
    frame = _home(rng, 4000)
    broker = rng.integers(0, 300, len(frame))
    level = rng.normal(0, 30, 300)
    former = level + rng.normal(0, 12, 300)
    return frame.assign(broker_last_year=former[broker], price=(frame["price"] + level[broker]).round(2))


def _two_strong(rng: np.random.Generator) -> pd.DataFrame:
    frame = _home(rng, 1500)
    salary = rng.gamma(6, 500, len(frame)).round()
    return frame.assign(
        salary=salary, price=(2 * frame["surface"] + 0.12 * salary + rng.normal(0, 25, len(frame)))
    )


def _small_claims(rng: np.random.Generator) -> pd.DataFrame:
    return _motor(rng, 400, frequency=0.05).drop(columns="claims")


def _binary(rng: np.random.Generator) -> pd.DataFrame:
    frame = _home(rng, 3000)
    score = rng.normal(0, 1, len(frame))
    odds = 3 * score + 0.02 * (frame["surface"] - 80) + 0.5 * (frame["district"] == "centre")
    return frame.assign(score=score, price=(rng.random(len(frame)) < 1 / (1 + np.exp(-odds))).astype(int))


def _honest() -> dict[str, tuple[Callable[[np.random.Generator], pd.DataFrame], dict[str, str]]]:
    return {
        "weak claim costs": (lambda rng: _motor(rng, 8000, frequency=0.05).drop(columns="claims"), _MOTOR),
        "weak claim counts": (lambda rng: _motor(rng, 20000).drop(columns="cost"), _MOTOR_COUNT),
        "few claims": (_small_claims, _MOTOR),
        "many claims": (lambda rng: _motor(rng, 3000, frequency=1.2).drop(columns="cost"), _MOTOR_COUNT),
        "flats": (lambda rng: _home(rng, 2000), _HOME),
        "flats, little noise": (lambda rng: _home(rng, 2000, noise=0.2), _HOME),
        "flats, few": (lambda rng: _home(rng, 150), _HOME),
        "one strong": (_one_strong, _HOME),
        "two strong": (_two_strong, _HOME),
        "grades of pay": (_grades, _HOME),
        "made of its columns": (_exactly_made, _HOME),
        "heating below 18 degrees": (_weather, _HOME),
        "cover bought or not": (_cover, _MOTOR),
        "half known, with what it costs": (_half_known, _MOTOR_COUNT),
        "through one column": (_mediator, _HOME),
        "numbers with a trend": (_time_trend, _HOME),
        "small areas": (_small_areas, _HOME),
        "averages of another year": (_out_of_fold, _HOME),
        "yes or no": (_binary, _HOME),
        "mileage of 0": (lambda rng: _motor(rng, 30000, frequency=0.08).drop(columns="cost"), _MOTOR_COUNT),
    }


_CERTAIN = [_exact, _ranked, _rounded, _affine, _coded, _average_known, _zeros, _count, _cause, _dates]
_SUSPECT = [
    _noisy_copy,
    _noisier_copy,
    _mostly_missing,
    _paid_nothing,
    _calls,
    _ids_sorted,
    _ids_appended,
    _encoded,
    _encoded_claims,
    _encoded_drawn,
]


def tables() -> Iterator[Case]:
    """Forty tables."""
    for kind, made in (("certain", _CERTAIN), ("suspect", _SUSPECT)):
        for k, make in enumerate(made):
            frame, roles, planted = make(np.random.default_rng([k, len(kind)]))
            yield make.__name__.strip("_").replace("_", " "), kind, frame, roles, planted
    for k, (name, (honest, roles)) in enumerate(_honest().items()):
        yield name, "honest", honest(np.random.default_rng([k, 11])), roles, set()
