"""Forty tables with and without simulated leaks, written by an author who had not read the leak rule.

Ten tables contain a column that reveals the target (or the exposure) for certain, ten contain a suspicious
column, and twenty have no leak but typical features: strong rating factors, missing cells, many zeros,
proxies of the sensitive attribute, tariffs. Every table has a separate seed, so that one table can be changed
without changing the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

Table = tuple[str, str, pd.DataFrame, dict, set[str]]
Made = tuple[pd.DataFrame, dict, set[str]]
Maker = Callable[[np.random.Generator], Made]

MOTOR = ["age", "bm", "value", "km", "region", "power", "car_age", "exposure", "claims", "amount"]
HOME = ["income", "area", "built", "rooms", "district", "distance", "state", "price"]
CREDIT = ["age", "income", "loan", "term", "job", "debts", "purpose", "loss"]
HEALTH = ["age", "bmi", "smoker", "children", "region", "visits", "cost"]

# The names of the columns, in the order of the lists above.
NAMES = {
    "motor_de": "Alter|SF-Klasse %|Fahrzeugwert (€)|km/Jahr|Zulassungsbezirk|kW|Fz.alter|Jahresanteil"
    "|Anz. Schäden|Schadenhöhe",
    "motor_fr": "âge du conducteur|bonus/malus|valeur à neuf|kilométrage|région|puissance"
    "|ancienneté véhicule|durée d'exposition|nb_sinistres|charge sinistre",
    "motor_ja": "年齢|等級|車両価格|走行距離|地域|馬力|車齢|期間|事故件数|保険金",
    "motor_pl": "wiek_kierowcy|zniżka|wartość pojazdu|przebieg|województwo|moc|wiek_pojazdu|ekspozycja"
    "|liczba szkód|wypłata",
    "motor_en": "DrvAge#1|BM.lvl|veh val (k)|mileage_pa|Terr|bhp|VehYrs|earned yrs|clm ct|Incurred $",
    "home_es": "renta_hogar|m² útiles|año constr.|habitaciones|barrio|dist. centro|conservación|precio",
    "home_it": "reddito|superficie|anno|vani|quartiere|distanza (km)|stato immobile|prezzo €",
    "home_nl": "inkomen|woonopp.|bouwjaar|kamers|wijk|afstand|onderhoud|koopsom",
    "credit_pt": "idade|rendimento|montante|prazo (meses)|profissão|dívidas|finalidade|perda",
    "credit_tr": "yaş|gelir|kredi tutarı|vade|meslek|borçlar|amaç|zarar",
    "credit_en": "AGE_YRS|inc.k|LoanAmt|term_m|job class|open debts|PURP|loss given all",
    "health_sv": "ålder|BMI|rökare|antal barn|län|besök i fjol|kostnad",
    "health_fr": "âge|imc|fumeur|enfants|département|consultations|dépenses de santé",
    "health_en": "Age (last bday)|b.m.i.|smk?|kids|HMO area|prior visits|allowed_amt",
}
PREFIX = {"motor": MOTOR, "home": HOME, "credit": CREDIT, "health": HEALTH}


def _finish(
    frame: pd.DataFrame,
    style: str,
    target: str,
    sensitive: str,
    exposure: str | None = None,
    planted: tuple[str, ...] = (),
    drop: tuple[str, ...] = (),
) -> Made:
    """Rename the columns to a language, name the roles, and insert the leaking columns among the others."""
    names = dict(zip(PREFIX[style.split("_")[0]], NAMES[style].split("|"), strict=True))
    frame = frame.drop(columns=list(drop)).rename(columns=names)
    # A leaking column may be anywhere in a table; sorting by name gives it no special place.
    frame = frame[sorted(frame.columns)].reset_index(drop=True)
    roles = {
        "target": names.get(target, target),
        "sensitive": names.get(sensitive, sensitive),
        "exposure": None if exposure is None else names.get(exposure, exposure),
    }
    return frame, roles, set(planted)


def _motor(rng: np.random.Generator, n: int, level: float = 0.12) -> pd.DataFrame:
    """Return a motor portfolio: weak claim frequencies, and gamma amounts where there is a claim."""
    age = np.clip(rng.normal(46, 15, n), 18, 92).astype(int)
    bm = np.clip(np.round(100 - 0.8 * (age - 18) + rng.normal(0, 15, n)), 50, 150)
    value = np.round(np.exp(rng.normal(9.7, 0.5, n)), -1)
    km = np.round(np.exp(rng.normal(9.3, 0.5, n)), -2)
    region = rng.choice(["Nord", "Sud", "Est", "Ouest", "Centre"], n, p=[0.3, 0.25, 0.2, 0.15, 0.1])
    power = np.round(40 + 0.002 * value + rng.gamma(3, 12, n))
    car_age = rng.poisson(6, n)
    exposure = np.round(rng.uniform(0.08, 1, n), 3)
    exposure[rng.random(n) < 0.4] = 1.0
    rate = level * np.exp(
        0.008 * (bm - 75)
        + 0.3 * (np.log(km) - 9.3)
        + 0.25 * (region == "Nord")
        + 0.4 * (age < 25)
        + 0.002 * (power - 100)
    )
    claims = rng.poisson(rate * exposure)
    amount = np.where(claims > 0, rng.gamma(1.2 * np.maximum(claims, 1), 1400, n), 0.0).round(2)
    columns = [age, bm, value, km, region, power, car_age, exposure, claims, amount]
    return pd.DataFrame(dict(zip(MOTOR, columns, strict=True)))


def _home(rng: np.random.Generator, n: int, noise: float = 0.15) -> pd.DataFrame:
    """Return houses with a price which their features explain well."""
    income = np.exp(rng.normal(10.4, 0.4, n)).round()
    area = np.clip(np.exp(rng.normal(4.5, 0.3, n)), 25, 400).round()
    built = rng.integers(1900, 2023, n)
    rooms = np.maximum(1, np.round(area / 26 + rng.normal(0, 0.9, n))).astype(int)
    district = rng.choice([f"D{i:02d}" for i in range(12)], n)
    level = pd.Series(district).str[1:].astype(int).to_numpy() / 12
    distance = rng.gamma(2, 3, n).round(1)
    state = rng.choice(["A+", "B", "C-", "?"], n, p=[0.2, 0.4, 0.3, 0.1])
    log_price = (
        7.6
        + 0.75 * np.log(area)
        + 0.12 * (np.log(income) - 10.4)
        + 0.003 * (built - 1960)
        + 0.5 * level
        - 0.025 * distance
        + 0.15 * (state == "A+")
        + rng.normal(0, noise, n)
    )
    columns = [income, area, built, rooms, district, distance, state, np.exp(log_price).round(1)]
    return pd.DataFrame(dict(zip(HOME, columns, strict=True)))


def _credit(rng: np.random.Generator, n: int, noise: float = 1.0, bad: float = 0.2) -> pd.DataFrame:
    """Return loans with a loss, which is 0 for most of them."""
    age = rng.integers(19, 80, n)
    income = np.exp(rng.normal(3.4, 0.5, n)).round(1)
    loan = np.round(np.exp(rng.normal(9, 0.7, n)), -2) + 100
    term = rng.choice([12, 24, 36, 48, 60, 84], n)
    job = rng.choice(["worker", "clerk", "öğretmen", "self-empl.", "none"], n)
    debts = rng.poisson(1.3, n)
    purpose = rng.choice(["car", "kitchen", "travel", "other"], n)
    score = 0.5 * debts - 0.8 * (np.log(income) - 3.4) + 0.6 * (job == "none") + noise * rng.logistic(0, 1, n)
    default = score > np.quantile(score, 1 - bad)
    loss = np.where(default, loan * rng.beta(3, 3, n) + 1, 0).round(2)
    columns = [age, income, loan, term, job, debts, purpose, loss]
    return pd.DataFrame(dict(zip(CREDIT, columns, strict=True)))


def _health(rng: np.random.Generator, n: int, noise: float = 0.5, scale: float = 1.0) -> pd.DataFrame:
    """Return the insured of a health plan with a yearly cost above 0."""
    age = rng.integers(18, 90, n)
    bmi = np.clip(rng.normal(27, 5, n), 16, 55).round(1)
    smoker = rng.choice(["oui", "non", "ex"], n, p=[0.2, 0.6, 0.2])
    children = rng.poisson(1.1, n)
    region = rng.choice(list("ABCDEFGH"), n)
    visits = rng.poisson(1 + 0.04 * age)
    log_cost = scale * (
        0.015 * (age - 50)
        + 0.03 * (bmi - 27)
        + 0.7 * (smoker == "oui")
        + 0.1 * np.minimum(visits, 12)
        + 0.06 * pd.Series(region).map(ord).to_numpy()
    ) + rng.normal(0, noise, n)
    columns = [age, bmi, smoker, children, region, visits, (300 * np.exp(log_cost)).round(2)]
    return pd.DataFrame(dict(zip(HEALTH, columns, strict=True)))


def _group_mean(rng: np.random.Generator, y: pd.Series, smallest: int, largest: int) -> np.ndarray:
    """Return the mean of y over random groups of `smallest` to `largest` rows, including the row itself."""
    sizes = rng.integers(smallest, largest + 1, len(y))
    group = np.repeat(np.arange(len(y)), sizes)[: len(y)]
    group = rng.permutation(group)
    return y.groupby(group).transform("mean").round(4).to_numpy()


# ---------------------------------------------------------------------------------------- certain


def _copy(rng: np.random.Generator) -> Made:
    frame = _home(rng, 2400)
    frame["valor_escritura"] = frame["price"]
    return _finish(frame, "home_es", "price", "income", planted=("valor_escritura",))


def _ranks(rng: np.random.Generator) -> Made:
    frame = _health(rng, 5000)
    frame["ordning nr"] = frame["cost"].rank(method="average")
    return _finish(frame, "health_sv", "cost", "age", planted=("ordning nr",))


def _rounded(rng: np.random.Generator) -> Made:
    frame = _health(rng, 3200)
    frame["budget k€"] = frame["cost"].round(-2)
    return _finish(frame, "health_fr", "cost", "bmi", planted=("budget k€",))


def _affine(rng: np.random.Generator) -> Made:
    frame = _home(rng, 900, noise=0.3)
    frame["totale con IVA"] = 1.22 * frame["price"] + 16.5
    return _finish(frame, "home_it", "price", "income", planted=("totale con IVA",))


def _recoded(rng: np.random.Generator) -> Made:
    frame = _motor(rng, 12000, level=0.3)
    # Codes that are finer than the target: each number of claims has three codes.
    first = pd.Series(list("QAZWSXEDCR"))[frame["claims"].clip(upper=9)].to_numpy()
    frame["kod 7b"] = first + rng.choice(["1", "2", "x"], len(frame)).astype(object)
    return _finish(frame, "motor_pl", "claims", "age", "exposure", ("kod 7b",), ("amount",))


def _missing_at_zero(rng: np.random.Generator) -> Made:
    frame = _motor(rng, 8000, level=0.25)
    delay = rng.gamma(2, 9, len(frame)).round()
    frame["Tage bis Meldung"] = np.where(frame["amount"] == 0, np.nan, delay)
    return _finish(frame, "motor_de", "amount", "age", "exposure", ("Tage bis Meldung",), ("claims",))


def _zero_at_zero(rng: np.random.Generator) -> Made:
    frame = _credit(rng, 4000)
    frame["cartas adv."] = np.where(frame["loss"] == 0, 0, 1 + rng.poisson(2, len(frame)))
    return _finish(frame, "credit_pt", "loss", "age", planted=("cartas adv.",))


def _missing_off_zero(rng: np.random.Generator) -> Made:
    frame = _motor(rng, 15000, level=0.15)
    voucher = rng.choice([10.0, 20.0, 25.0, 50.0], len(frame))
    frame["無事故割引"] = np.where(frame["claims"] > 0, np.nan, voucher)
    return _finish(frame, "motor_ja", "claims", "age", "exposure", ("無事故割引",), ("amount",))


def _dates(rng: np.random.Generator) -> Made:
    frame = _motor(rng, 6000)
    days = np.maximum(1, (frame["exposure"] * 365).round()).astype(int)
    start = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 365, len(frame)), unit="D")
    end = start + pd.to_timedelta(days.to_numpy(), unit="D")
    frame["exposure"] = days / 365
    # The date as in a CSV file.
    frame["date d'effet"] = start.strftime("%Y-%m-%d")
    frame["fin"] = end.strftime("%Y-%m-%d")
    return _finish(frame, "motor_fr", "claims", "age", "exposure", ("date d'effet", "fin"), ("amount",))


def _text(rng: np.random.Generator) -> Made:
    frame = _motor(rng, 10000, level=0.2)
    what = rng.choice(["rear-end", "hail", "theft of parts", "parking dent", "deer"], len(frame))
    where = rng.integers(1, 400, len(frame)).astype(str)
    text = pd.Series(what).astype(object) + ", road " + where.astype(object)
    # Some claims have no text yet; without a claim, there is never a text.
    written = (frame["amount"] > 0) & (rng.random(len(frame)) < 0.97)
    frame["adj. notes"] = text.where(written, None)
    return _finish(frame, "motor_en", "amount", "age", "exposure", ("adj. notes",), ("claims",))


# ---------------------------------------------------------------------------------------- suspect


def _noisy_copy_after(rng: np.random.Generator) -> Made:
    frame = _health(rng, 3000, noise=0.9, scale=0.5)
    frame["fakturerat"] = (frame["cost"] * np.exp(rng.normal(0, 0.12, len(frame)))).round(1)
    return _finish(frame, "health_sv", "cost", "age", planted=("fakturerat",))


def _noisy_tax(rng: np.random.Generator) -> Made:
    frame = _home(rng, 1500, noise=0.5)
    tax = 0.02 * frame["price"] * (1 + rng.normal(0, 0.08, len(frame)))
    frame["overdr.belasting"] = tax.round(2)
    return _finish(frame, "home_nl", "price", "income", planted=("overdr.belasting",))


def _handler_all_claims(rng: np.random.Generator) -> Made:
    frame = _motor(rng, 9000, level=0.6)
    frame = frame[frame["amount"] > 0].reset_index(drop=True)
    estimate = frame["amount"] * np.exp(rng.normal(0, 0.3, len(frame)))
    frame["Gutachter (grob)"] = estimate.round(-1)
    planted = ("Gutachter (grob)",)
    return _finish(frame, "motor_de", "amount", "age", None, planted, ("claims", "exposure"))


def _handler_many_zeros(rng: np.random.Generator) -> Made:
    frame = _motor(rng, 10000, level=0.3)
    n = len(frame)
    estimate = frame["amount"] * np.exp(rng.normal(0, 0.25, n))
    # Some claims were reported and closed without payment; some were paid before any visit.
    nothing = (frame["amount"] == 0) & (rng.random(n) < 0.02)
    estimate = estimate.where(~nothing, rng.gamma(1.2, 700, n))
    estimate = estimate.where(rng.random(n) > 0.04, 0)
    frame["éval. gestionnaire"] = estimate.round()
    planted = ("éval. gestionnaire",)
    return _finish(frame, "motor_fr", "amount", "age", "exposure", planted, ("claims",))


def _status_claims(rng: np.random.Generator) -> Made:
    frame = _motor(rng, 7000, level=0.3)
    n = len(frame)
    status = np.where(frame["claims"] > 0, rng.choice(["zamk.", "otw."], n), "brak")
    wrong = rng.random(n) < 0.04
    frame["status_akt"] = np.where(wrong, rng.choice(["zamk.", "otw.", "brak"], n), status)
    return _finish(frame, "motor_pl", "claims", "age", "exposure", ("status_akt",), ("amount",))


def _status_loans(rng: np.random.Generator) -> Made:
    frame = _credit(rng, 5000, noise=3)
    n = len(frame)
    status = np.where(frame["loss"] > 0, rng.choice(["icra", "90+"], n), "düzenli")
    wrong = rng.random(n) < 0.05
    frame["son durum"] = np.where(wrong, rng.choice(["icra", "90+", "düzenli"], n), status)
    return _finish(frame, "credit_tr", "loss", "age", planted=("son durum",))


def _ids_sorted_counts(rng: np.random.Generator) -> Made:
    frame = _motor(rng, 20000).sort_values("claims", kind="stable").reset_index(drop=True)
    frame["PolRef"] = 100001 + np.arange(len(frame))
    frame = frame.sample(frac=1, random_state=int(rng.integers(1 << 30)))
    return _finish(frame, "motor_en", "claims", "age", "exposure", ("PolRef",), ("amount",))


def _ids_sorted_roughly(rng: np.random.Generator) -> Made:
    frame = _health(rng, 2500, noise=0.8, scale=0.4)
    # The file is sorted by classes of the cost, in steps of about a tenth, and random within a class.
    step = np.floor(np.log(frame["cost"]) / 0.1)
    frame = frame.iloc[np.lexsort((rng.random(len(frame)), step))].reset_index(drop=True)
    frame["n° dossier"] = 7 * np.arange(len(frame)) + 40007
    return _finish(frame, "health_fr", "cost", "age", planted=("n° dossier",))


def _small_groups_claims(rng: np.random.Generator) -> Made:
    frame = _motor(rng, 16000, level=0.15)
    frame["町丁平均"] = _group_mean(rng, frame["claims"], 8, 16)
    return _finish(frame, "motor_ja", "claims", "age", "exposure", ("町丁平均",), ("amount",))


def _small_groups_costs(rng: np.random.Generator) -> Made:
    frame = _health(rng, 4000, noise=0.9, scale=0.15)
    frame["practice avg"] = _group_mean(rng, frame["cost"], 3, 8)
    return _finish(frame, "health_en", "cost", "age", planted=("practice avg",))


# ----------------------------------------------------------------------------------------- honest


def _weak_frequency(rng: np.random.Generator) -> Made:
    return _finish(_motor(rng, 20000, level=0.08), "motor_de", "claims", "age", "exposure", drop=("amount",))


def _strong_houses(rng: np.random.Generator) -> Made:
    return _finish(_home(rng, 3000, noise=0.14), "home_es", "price", "income")


def _strong_health(rng: np.random.Generator) -> Made:
    return _finish(_health(rng, 2000, noise=0.35), "health_sv", "cost", "age")


def _missing_at_random(rng: np.random.Generator) -> Made:
    frame = _motor(rng, 9000, level=0.2)
    for name, share in (("value", 0.15), ("km", 0.35), ("bm", 0.02), ("region", 0.1)):
        frame[name] = frame[name].where(rng.random(len(frame)) > share)
    return _finish(frame, "motor_fr", "amount", "age", "exposure", drop=("claims",))


def _missing_by_age(rng: np.random.Generator) -> Made:
    frame = _health(rng, 6000)
    hidden = rng.random(len(frame)) < 1 / (1 + np.exp(-(frame["age"] - 65) / 6))
    frame["app steps/day"] = (rng.gamma(4, 1800, len(frame)) - 30 * frame["age"]).clip(0).round()
    frame["app steps/day"] = frame["app steps/day"].where(~hidden)
    # Nobody over 70 is asked, and everybody else is.
    frame["email bounce"] = np.where(frame["age"] > 70, np.nan, rng.poisson(2, len(frame)))
    return _finish(frame, "health_en", "cost", "age")


def _many_zeros(rng: np.random.Generator) -> Made:
    frame = _motor(rng, 14000, level=0.1)
    n = len(frame)
    frame["Zubehör €"] = np.where(rng.random(n) < 0.85, 0, rng.gamma(2, 300, n)).round()
    frame["Anhänger"] = rng.binomial(1, 0.06, n)
    frame["Glas-SB"] = rng.choice([0, 0, 0, 150, 300], n)
    return _finish(frame, "motor_de", "amount", "age", "exposure", drop=("claims",))


def _ids_not_sorted(rng: np.random.Generator) -> Made:
    frame = _home(rng, 1200, noise=0.2)
    frame["rif. catastale"] = rng.permutation(len(frame)) + 5000
    frame["uuid"] = [f"{i:012x}" for i in rng.integers(1 << 47, size=len(frame))]
    return _finish(frame, "home_it", "price", "income")


def _proxies(rng: np.random.Generator) -> Made:
    frame = _credit(rng, 7000)
    frame["anos de carta"] = (frame["age"] - 18 - rng.poisson(2, len(frame))).clip(lower=0)
    frame["idade declarada"] = frame["age"] + rng.integers(-1, 2, len(frame))
    frame["geração"] = pd.cut(frame["age"], [0, 28, 44, 60, 99], labels=["Z", "Y", "X", "B"]).astype(str)
    return _finish(frame, "credit_pt", "loss", "age")


def _copies_of_sensitive(rng: np.random.Generator) -> Made:
    frame = _motor(rng, 5000, level=0.2)
    frame["生年"] = 2023 - frame["age"]
    frame["年齢_写し"] = frame["age"]
    frame["会社"] = "東"
    frame["定数"] = 1.0
    return _finish(frame, "motor_ja", "claims", "age", "exposure", drop=("amount",))


def _ties(rng: np.random.Generator) -> Made:
    n = 1000
    frame = _health(rng, n, noise=0.6)
    # The target is a number of days, and ages are in whole years: many ties on both sides.
    frame["cost"] = rng.poisson(frame["cost"] / frame["cost"].mean() * 3)
    return _finish(frame, "health_fr", "cost", "age")


def _heavy_tails(rng: np.random.Generator) -> Made:
    frame = _motor(rng, 11000, level=0.2)
    n = len(frame)
    frame["amount"] = np.where(frame["claims"] > 0, 900 * (rng.pareto(1.6, n) + 0.1), 0).round(2)
    frame["obrót firmy"] = (1000 * rng.pareto(1.1, n)).round()
    frame["odchylenie"] = rng.standard_t(1.5, n).round(3)
    return _finish(frame, "motor_pl", "amount", "age", "exposure", drop=("claims",))


def _unrelated_dates(rng: np.random.Generator) -> Made:
    frame = _motor(rng, 8000)
    n = len(frame)
    first = pd.Timestamp("2005-01-01") + pd.to_timedelta(rng.integers(0, 5000, n), unit="D")
    frame["1st reg."] = first
    frame["quote dt"] = pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 365, n), unit="D")
    frame["paid until"] = frame["quote dt"] + pd.to_timedelta(rng.choice([30, 90, 365], n), unit="D")
    return _finish(frame, "motor_en", "claims", "age", "exposure", drop=("amount",))


def _previous_claims(rng: np.random.Generator) -> Made:
    frame = _motor(rng, 18000)
    n = len(frame)
    # The same unobserved driver has both years.
    driver = rng.gamma(1.5, 1 / 1.5, n)
    rate = 0.14 * driver * np.exp(0.008 * (frame["bm"] - 75))
    frame["claims"] = rng.poisson(rate * frame["exposure"])
    frame["sinistres N-1"] = rng.poisson(rate)
    frame["charge N-1"] = np.where(frame["sinistres N-1"] > 0, rng.gamma(1.2, 1400, n), 0).round(2)
    frame["délai N-1"] = np.where(frame["sinistres N-1"] > 0, rng.gamma(2, 9, n).round(), np.nan)
    return _finish(frame, "motor_fr", "claims", "age", "exposure", drop=("amount",))


def _bonus_malus(rng: np.random.Generator) -> Made:
    frame = _motor(rng, 10000)
    rate = 0.2 * np.exp(0.035 * (frame["bm"] - 75))
    frame["claims"] = rng.poisson(rate * frame["exposure"])
    return _finish(frame, "motor_pl", "claims", "age", "exposure", drop=("amount",))


def _vehicle_value(rng: np.random.Generator) -> Made:
    frame = _motor(rng, 2200)
    n = len(frame)
    # Total losses: the payment depends on the value as new, the car's age and the kilometres.
    worth = frame["value"] * np.exp(-0.11 * frame["car_age"]) * (frame["km"] / 11000) ** -0.15
    frame["amount"] = (worth * np.exp(rng.normal(0, 0.25, n))).round()
    return _finish(frame, "motor_de", "amount", "age", drop=("claims", "exposure"))


def _regional_average(rng: np.random.Generator) -> Made:
    frame = _motor(rng, 16000, level=0.15)
    n = len(frame)
    zone = rng.integers(0, 40, n)
    effect = np.exp(rng.normal(0, 0.3, 40))
    frame["claims"] = rng.poisson(0.15 * effect[zone] * frame["exposure"])
    frame["zone freq (all)"] = frame["claims"].groupby(zone).transform("mean").round(4)
    frame["zone #"] = zone
    return _finish(frame, "motor_en", "claims", "age", "exposure", drop=("amount",))


def _tariff_product(rng: np.random.Generator) -> Made:
    frame = _motor(rng, 4000)
    region = frame["region"].map({"Nord": 1.3, "Sud": 0.8, "Est": 1.0, "Ouest": 1.1, "Centre": 1.6})
    young = np.select([frame["age"] < 25, frame["age"] < 35, frame["age"] > 74], [1.7, 1.2, 1.25], 1.0)
    price = 310 * region * young * (frame["bm"] / 100) * (frame["value"] / 16000) ** 0.3
    frame["Prämie"] = (price * (frame["km"] / 11000) ** 0.2).round(2)
    return _finish(frame, "motor_de", "Prämie", "age", drop=("amount", "claims", "exposure"))


def _tariff_sum(rng: np.random.Generator) -> Made:
    frame = _home(rng, 2800)
    building = 0.9 * frame["area"] + 18 * frame["rooms"]
    old = np.select([frame["built"] < 1930, frame["built"] < 1970, frame["built"] < 2000], [90, 55, 20], 0)
    place = frame["district"].str[1:].astype(int) % 4 * 25
    keep = frame["state"].map({"A+": -15, "B": 0, "C-": 30, "?": 40})
    frame["premie p.j."] = building + old + place + keep + 4 * frame["distance"] + 35
    return _finish(frame, "home_nl", "premie p.j.", "income", drop=("price",))


def _credit_rate(rng: np.random.Generator) -> Made:
    frame = _credit(rng, 6500)
    n = len(frame)
    branch = rng.integers(0, 60, n)
    rate = 6 + 0.8 * frame["debts"] - 1.5 * (np.log(frame["income"]) - 3.4) + 0.02 * frame["term"]
    rate += frame["job"].map({"none": 2.0, "self-empl.": 1.0}).fillna(0) + 0.4 * (
        frame["purpose"] == "travel"
    )
    rate += rng.normal(0, 0.5, 60)[branch] + rng.normal(0, 0.9, n)
    frame["faiz %"] = rate.round(2)
    frame["şube"] = "Ş-" + pd.Series(branch).astype(str)
    return _finish(frame, "credit_tr", "faiz %", "age", drop=("loss",))


def _houses_last_year(rng: np.random.Generator) -> Made:
    frame = _home(rng, 800, noise=0.12)
    n = len(frame)
    square = frame["price"] / frame["area"]
    last = square.groupby(frame["district"]).mean() * np.exp(rng.normal(-0.04, 0.03, 12))
    frame["€/m² anno prec."] = frame["district"].map(last).round()
    sold = pd.Timestamp("2022-01-03") + pd.to_timedelta(rng.integers(0, 360, n), unit="D")
    frame["rogito"] = sold.strftime("%d/%m/%Y")
    frame["pannelli?"] = rng.choice(["sì", "no"], n)
    return _finish(frame, "home_it", "price", "income")


CERTAIN: tuple[Maker, ...] = (
    _copy,
    _ranks,
    _rounded,
    _affine,
    _recoded,
    _missing_at_zero,
    _zero_at_zero,
    _missing_off_zero,
    _dates,
    _text,
)
SUSPECT: tuple[Maker, ...] = (
    _noisy_copy_after,
    _noisy_tax,
    _handler_all_claims,
    _handler_many_zeros,
    _status_claims,
    _status_loans,
    _ids_sorted_counts,
    _ids_sorted_roughly,
    _small_groups_claims,
    _small_groups_costs,
)
HONEST: tuple[Maker, ...] = (
    _weak_frequency,
    _strong_houses,
    _strong_health,
    _missing_at_random,
    _missing_by_age,
    _many_zeros,
    _ids_not_sorted,
    _proxies,
    _copies_of_sensitive,
    _ties,
    _heavy_tails,
    _unrelated_dates,
    _previous_claims,
    _bonus_malus,
    _vehicle_value,
    _regional_average,
    _tariff_product,
    _tariff_sum,
    _credit_rate,
    _houses_last_year,
)


def tables() -> Iterator[Table]:
    """Yield the forty tables.

    Yields
    ------
    tuple
        The name, the kind ("certain", "suspect" or "honest"), the table, the roles (the columns of
        "target", "sensitive" and "exposure", the last one None where there is none), and the names of
        the planted columns.
    """
    seed = 7301
    for kind, makers in (("certain", CERTAIN), ("suspect", SUSPECT), ("honest", HONEST)):
        for maker in makers:
            seed += 1
            frame, roles, planted = maker(np.random.default_rng(seed))
            yield maker.__name__.strip("_"), kind, frame, roles, planted
