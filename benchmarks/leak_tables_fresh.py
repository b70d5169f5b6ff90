"""A second set of forty leak tables by an author who had not read any line of the leak check.

The author knew only which kinds of columns were required, wrote the set after the check and its first tables
existed, and fixed it before running the check on it. Ten tables contain a column that reveals the target for
certain (one of each of ten kinds), ten contain a suspicious column, and twenty have no leak.

Every table is simulated from a separate seed, with column names as in real files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

#: name, kind ("certain", "suspect" or "honest"), rows, roles, planted columns
Table = tuple[str, str, pd.DataFrame, dict, set[str]]
#: Values returned by the maker of one table: rows, roles, leaking columns.
Made = tuple[pd.DataFrame, dict, set[str]]


def roles(target: str, sensitive: str, exposure: str | None = None) -> dict:
    """Name the columns with a role."""
    return {"target": target, "sensitive": sensitive, "exposure": exposure}


def ages(rng: np.random.Generator, n: int, low: int = 18, high: int = 88) -> np.ndarray:
    """Draw whole years of age, most of them about 45."""
    return np.clip(np.round(rng.gamma(9, 3.2, n) + low), low, high).astype(int)


def years_at_risk(rng: np.random.Generator, n: int, whole: float = 0.55) -> np.ndarray:
    """Draw fractions of a year in days, of which a share `whole` is a full year."""
    days = np.where(rng.random(n) < whole, 365, rng.integers(5, 365, n))
    return days / 365


def claims(rng: np.random.Generator, mean: np.ndarray, spread: float = 0.0) -> np.ndarray:
    """Draw claim counts; a `spread` above 0 makes them vary more than Poisson counts do."""
    if spread:
        mean = mean * rng.gamma(1 / spread, spread, mean.size)
    return rng.poisson(mean)


def costs(rng: np.random.Generator, counts: np.ndarray, median: float, sd: float = 1.0) -> np.ndarray:
    """Add up a log-normal amount for each claim, to the cent."""
    most = int(counts.max(initial=0))
    amounts = rng.lognormal(np.log(median), sd, (counts.size, most))
    return np.round((amounts * (np.arange(most) < counts[:, None])).sum(axis=1), 2)


def holes(rng: np.random.Generator, values: np.ndarray, share: float | np.ndarray) -> np.ndarray:
    """Set a share of the numbers to missing."""
    return np.where(rng.random(values.size) < share, np.nan, values.astype(float))


def hashed(values: np.ndarray) -> list[str]:
    """Code each distinct value by the first letters of its hash."""
    return [hashlib.sha256(f"k7{value}".encode()).hexdigest()[:6] for value in values]


# ---------------------------------------------------------------- certain: a column reveals the target
# exactly


def exact_copy(rng: np.random.Generator) -> Made:
    n = 6000
    age, power, zone = ages(rng, n), rng.integers(40, 240, n), rng.choice(list("ABCDE"), n)
    mean = 0.16 * np.exp(-0.012 * (age - 45) + 0.003 * (power - 110))
    frame = pd.DataFrame(
        {
            "Alter VN": age,
            "Leistung_kW": power,
            "Tarifzone": zone,
            "SF-Klasse": np.clip(age - 20 - rng.integers(0, 25, n), 0, 35),
            "Schadenaufwand (EUR)": costs(rng, claims(rng, mean), 1500),
        }
    )
    frame["Aufw_brutto_01"] = frame["Schadenaufwand (EUR)"]
    return frame, roles("Schadenaufwand (EUR)", "Alter VN"), {"Aufw_brutto_01"}


def ranked_copy(rng: np.random.Generator) -> Made:
    n = 2500
    surface, age = np.round(rng.gamma(8, 11, n) + 12), ages(rng, n)
    frame = pd.DataFrame(
        {
            "âge_assuré": age,
            "surface m²": surface,
            "nb_pièces": np.clip(np.round(surface / 22 + rng.normal(0, 0.8, n)), 1, 12),
            "type_chauffage": rng.choice(["gaz", "fioul", "élec", "bois"], n, p=[0.5, 0.1, 0.3, 0.1]),
            "coût_annuel": np.round(60 + 2.1 * surface + rng.gamma(2, 90, n) + 0.8 * age, 2),
        }
    )
    frame["ordre"] = frame["coût_annuel"].rank(ascending=False)
    return frame, roles("coût_annuel", "âge_assuré"), {"ordre"}


def rounded_copy(rng: np.random.Generator) -> Made:
    n = 3200
    age, bmi, chronic = ages(rng, n), rng.normal(26.5, 4.4, n), rng.random(n) < 0.22
    cost = np.exp(5.4 + 0.021 * age + 0.7 * chronic + 0.02 * (bmi - 26) + rng.normal(0, 0.7, n))
    frame = pd.DataFrame(
        {
            "età": age,
            "IMC": np.round(bmi, 1),
            "patologia_cronica": np.where(chronic, "sì", "no"),
            "provincia": rng.choice(["MI", "TO", "RM", "NA", "BA", "PA"], n),
            "spesa_sanitaria": np.round(cost, 2),
        }
    )
    frame["fascia_spesa"] = (frame["spesa_sanitaria"] / 50).round() * 50
    return frame, roles("spesa_sanitaria", "età"), {"fascia_spesa"}


def affine_copy(rng: np.random.Generator) -> Made:
    n = 1338
    age, smoker, bmi = rng.integers(18, 65, n), rng.random(n) < 0.2, rng.normal(30.6, 6, n)
    charges = 250 * age + 300 * np.clip(bmi - 20, 0, None) + 18000 * smoker + rng.gamma(1.2, 2600, n)
    frame = pd.DataFrame(
        {
            "age": age,
            "bmi": np.round(bmi, 2),
            "children": rng.poisson(1.1, n),
            "smoker": np.where(smoker, "yes", "no"),
            "region": rng.choice(["northeast", "southeast", "southwest", "northwest"], n),
            "charges": np.round(charges, 2),
        }
    )
    frame["billed_incl_fee"] = 1.0725 * frame["charges"] + 35
    return frame, roles("charges", "age"), {"billed_incl_fee"}


def coded_copy(rng: np.random.Generator) -> Made:
    n = 12000
    age, exposure = ages(rng, n), years_at_risk(rng, n)
    bonus = np.clip(np.round(100 - 0.9 * (age - 18) + rng.normal(0, 14, n)), 50, 200)
    mean = exposure * 0.22 * np.exp(0.009 * (bonus - 70))
    counts = claims(rng, mean, 0.6)
    frame = pd.DataFrame(
        {
            "edad_conductor": age,
            "bonif": bonus,
            "comb": rng.choice(["diésel", "gasolina", "híbrido"], n, p=[0.5, 0.42, 0.08]),
            "expos": exposure,
            "n_siniestros": counts,
        }
    )
    frame["cód_exp"] = hashed(counts)
    return frame, roles("n_siniestros", "edad_conductor", "expos"), {"cód_exp"}


def missing_where_zero(rng: np.random.Generator) -> Made:
    n = 20000
    age, exposure = ages(rng, n), years_at_risk(rng, n)
    weight, postal = np.round(rng.normal(1250, 260, n)), rng.integers(1000, 9999, n)
    counts = claims(rng, exposure * 0.11 * np.exp(-0.01 * (age - 45)))
    total = costs(rng, counts, 900, 1.2)
    # Not the amount of the claim but the garage's estimate from a list, known for every claim and for nothing
    # else.
    estimate = np.where(total > 0, np.round(rng.gamma(3, 320, n), -1), np.nan)
    frame = pd.DataFrame(
        {
            "lft_bestuurder": age,
            "gewicht_kg": weight,
            "pc4": postal,
            "looptijd": exposure,
            "gem_hersteltarief": estimate,
            "schadelast": total,
        }
    )
    return frame, roles("schadelast", "lft_bestuurder", "looptijd"), {"gem_hersteltarief"}


def zero_where_zero(rng: np.random.Generator) -> Made:
    n = 9000
    age, capital = ages(rng, n), np.round(rng.lognormal(11.6, 0.5, n), -3)
    counts = claims(rng, 0.3 * np.exp(0.01 * (age - 45)))
    total = costs(rng, counts, 400)
    frame = pd.DataFrame(
        {
            "idade_tomador": age,
            "capital_seguro": capital,
            "concelho": rng.choice(["Lisboa", "Porto", "Braga", "Faro", "Évora"], n),
            "dias_regulariz.": np.where(total > 0, rng.integers(1, 200, n), 0),
            "indemnizações": total,
        }
    )
    return frame, roles("indemnizações", "idade_tomador"), {"dias_regulariz."}


def missing_where_not_zero(rng: np.random.Generator) -> Made:
    n = 8000
    age, exposure = ages(rng, n), years_at_risk(rng, n, 0.8)
    counts = claims(rng, exposure * 0.2 * np.exp(-0.008 * (age - 45)))
    frame = pd.DataFrame(
        {
            "AgeOfMainDriver": age,
            "Veh. Group": rng.integers(1, 50, n),
            "Overnight": rng.choice(["garage", "drive", "street"], n, p=[0.3, 0.4, 0.3]),
            "EarnedYears": exposure,
            "RenewalCredit": np.where(counts == 0, np.round(rng.uniform(10, 60, n), 2), np.nan),
            "Claims (AD+TP)": counts,
        }
    )
    return frame, roles("Claims (AD+TP)", "AgeOfMainDriver", "EarnedYears"), {"RenewalCredit"}


def bounding_dates(rng: np.random.Generator) -> Made:
    n = 10000
    age, days = ages(rng, n), rng.integers(3, 366, n)
    start = pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D")
    counts = claims(rng, days / 365 * 0.25 * np.exp(-0.015 * (age - 45)))
    frame = pd.DataFrame(
        {
            "förarålder": age,
            "märke": rng.choice(["Volvo", "Saab", "VW", "Kia", "Toyota"], n),
            "giltig från": start,
            "giltig till": start + pd.to_timedelta(days, unit="D"),
            "årsrisk": days / 365,
            "antal skador": counts,
        }
    )
    return frame, roles("antal skador", "förarålder", "årsrisk"), {"giltig från", "giltig till"}


def text_after_claim(rng: np.random.Generator) -> Made:
    n = 7000
    age, value = ages(rng, n), np.round(rng.lognormal(10.6, 0.6, n), -2)
    counts = claims(rng, 0.18 * np.exp(-0.01 * (age - 45)))
    causes = rng.choice(["kolizja", "kradzież", "grad", "szyba", "wandalizm", "zwierzę"], n)
    frame = pd.DataFrame(
        {
            "wiek": age,
            "wartość_pojazdu": value,
            "woj.": rng.choice(["MAZ", "MAŁ", "ŚLĄ", "WLK", "POM"], n),
            "opis_zdarz": [cause if count else None for cause, count in zip(causes, counts, strict=True)],
            "szkody_kwota": costs(rng, counts, 3500, 0.9),
        }
    )
    return frame, roles("szkody_kwota", "wiek"), {"opis_zdarz"}


# ---------------------------------------------------------------- suspect: one column reveals too much


def noisy_after(rng: np.random.Generator) -> Made:
    n = 5000
    age, income, debt = ages(rng, n), rng.lognormal(10.2, 0.5, n), rng.beta(2, 5, n)
    loss = np.exp(6 + 1.5 * debt - 0.25 * (np.log(income) - 10.2) + rng.normal(0, 0.9, n))
    frame = pd.DataFrame(
        {
            "applicant_age": age,
            "net_income_m": np.round(income / 12),
            "dti": np.round(debt, 3),
            "purpose": rng.choice(["car", "kitchen", "refi", "other"], n),
            "writeoff_ledger": np.round(loss * np.exp(rng.normal(0, 0.2, n))),
            "loss_eur": np.round(loss, 2),
        }
    )
    return frame, roles("loss_eur", "applicant_age"), {"writeoff_ledger"}


def handlers_estimate(rng: np.random.Generator) -> Made:
    n = 4000
    age, sum_insured = ages(rng, n), np.round(rng.lognormal(12, 0.4, n), -3)
    cost = rng.lognormal(7.5 + 0.004 * (age - 45), 1.0, n) * (sum_insured / 160000) ** 0.3
    estimate = np.round(cost * np.exp(rng.normal(0.1, 0.45, n)), -2)
    frame = pd.DataFrame(
        {
            "Alter": age,
            "Vers.-Summe": sum_insured,
            "Bauart": rng.choice(["massiv", "Holz", "Fachwerk"], n, p=[0.8, 0.15, 0.05]),
            "Gefahr": rng.choice(["Leitungswasser", "Sturm", "Feuer"], n),
            "RST_SB": holes(rng, estimate, 0.03),
            "Zahlung": np.round(cost, 2),
        }
    )
    return frame, roles("Zahlung", "Alter"), {"RST_SB"}


def status_with_errors(rng: np.random.Generator) -> Made:
    n = 15000
    age, exposure = ages(rng, n), years_at_risk(rng, n)
    counts = claims(rng, exposure * 0.14 * np.exp(-0.012 * (age - 45)))
    wrong = rng.random(n) < 0.03
    state = np.where((counts > 0) ^ wrong, "À RÉVISER", rng.choice(["ACTIF", "ACTIF+"], n))
    frame = pd.DataFrame(
        {
            "AgeCond": age,
            "PuissFisc": rng.integers(4, 15, n),
            "Dept": rng.choice(["75", "13", "69", "59", "33", "2A"], n),
            "Expo": exposure,
            "ETAT_CT": state,
            "NbSin": counts,
        }
    )
    return frame, roles("NbSin", "AgeCond", "Expo"), {"ETAT_CT"}


def sorted_ids(rng: np.random.Generator) -> Made:
    n = 3000
    age, rooms = ages(rng, n), rng.integers(1, 8, n)
    counts = claims(rng, 1.2 * np.exp(0.012 * (age - 45) + 0.05 * rooms), 0.5)
    frame = pd.DataFrame(
        {"ikä": age, "huoneita": rooms, "alue": rng.choice(["HKI", "TRE", "TKU"], n), "käynnit": counts}
    )
    frame = frame.sort_values("käynnit", kind="stable", ignore_index=True)
    frame.insert(0, "asiakasnro", 100001 + np.arange(n))
    # The rows were shuffled after the numbers had been assigned.
    frame = frame.sample(frac=1, random_state=5, ignore_index=True)
    return frame, roles("käynnit", "ikä"), {"asiakasnro"}


def nearly_sorted_ids(rng: np.random.Generator) -> Made:
    n = 6000
    age, score = ages(rng, n), rng.normal(600, 80, n)
    cost = rng.lognormal(6.5 - 0.003 * (score - 600), 0.8, n)
    order = np.argsort(np.argsort(np.log(cost) + rng.normal(0, 0.1, n)))
    frame = pd.DataFrame(
        {
            "record": 7_000_000 + 3 * order + rng.integers(0, 3, n),
            "yrs": age,
            "bureau_score": np.round(score),
            "channel": rng.choice(["web", "broker", "tied"], n),
            "arrears": np.round(cost, 2),
        }
    )
    return frame, roles("arrears", "yrs"), {"record"}


def group_average(rng: np.random.Generator) -> Made:
    n, size = 4000, 5
    age, area = ages(rng, n), np.round(rng.gamma(7, 14, n))
    cost = np.round(40 + 0.8 * area + rng.gamma(1.3, 120, n), 2)
    group = rng.permutation(n) // size
    frame = pd.DataFrame(
        {
            "věk": age,
            "plocha": area,
            "kraj": rng.choice(["PHA", "JMK", "MSK", "PLK"], n),
            "prům_ulice": pd.Series(cost).groupby(group).transform("mean"),
            "náklady": cost,
        }
    )
    return frame, roles("náklady", "věk"), {"prům_ulice"}


def small_group_average(rng: np.random.Generator) -> Made:
    n = 9000
    age, chronic = ages(rng, n), rng.random(n) < 0.15
    cost = np.round(rng.lognormal(6 + 0.008 * (age - 45) + 0.4 * chronic, 0.9, n), 2)
    # Groups of 2 to 20 rows, drawn at random.
    group = np.repeat(np.arange(n), rng.integers(2, 21, n))[:n]
    group = rng.permutation(group)
    frame = pd.DataFrame(
        {
            "Age_Band_mid": age,
            "chron": chronic.astype(int),
            "plan": rng.choice(["bronze", "silver", "gold"], n),
            "peer_avg_pmpy": np.round(pd.Series(cost).groupby(group).transform("mean"), 2),
            "paid_pmpy": cost,
        }
    )
    return frame, roles("paid_pmpy", "Age_Band_mid"), {"peer_avg_pmpy"}


def renewal_premium(rng: np.random.Generator) -> Made:
    n = 8000
    age, power = ages(rng, n), rng.integers(40, 220, n)
    counts = claims(rng, 0.25 * np.exp(-0.01 * (age - 45) + 0.002 * (power - 110)))
    premium = (300 + 0.9 * power - 1.1 * age) * 1.35**counts * np.exp(rng.normal(0, 0.05, n))
    frame = pd.DataFrame(
        {
            "alder": age,
            "hk": power,
            "by/land": rng.choice(["by", "land"], n),
            "ny_præmie_27": np.round(premium),
            "skader_26": counts,
        }
    )
    return frame, roles("skader_26", "alder"), {"ny_præmie_27"}


def days_in_hospital(rng: np.random.Generator) -> Made:
    n = 5000
    age, bmi = ages(rng, n), rng.normal(27, 5, n)
    days = claims(rng, 2.0 * np.exp(0.015 * (age - 45) + 0.02 * (bmi - 27)), 1.5)
    cost = 700 * days * np.exp(rng.normal(0, 0.15, n)) + rng.gamma(2, 150, n)
    frame = pd.DataFrame(
        {
            "年齢": age,
            "BMI": np.round(bmi, 1),
            "喫煙": rng.choice(["はい", "いいえ"], n, p=[0.2, 0.8]),
            "当年入院日数": days,
            "医療費": np.round(cost),
        }
    )
    return frame, roles("医療費", "年齢"), {"当年入院日数"}


def value_after_sale(rng: np.random.Generator) -> Made:
    n = 2200
    area, built = np.round(rng.gamma(9, 12, n)), rng.integers(1900, 2022, n)
    share = np.round(100 * rng.beta(2, 6, n), 1)
    price = area * 2400 * np.exp(0.002 * (built - 1970) - 0.006 * share + rng.normal(0, 0.45, n))
    frame = pd.DataFrame(
        {
            "pct_over_65": share,
            "m2": area,
            "built": built,
            "tax_basis_next_yr": np.round(0.8 * price * np.exp(rng.normal(0, 0.06, n)), -3),
            "sold_for": np.round(price, -2),
        }
    )
    return frame, roles("sold_for", "pct_over_65"), {"tax_basis_next_yr"}


# ---------------------------------------------------------------- honest: everything was known in advance


def medical_charges(rng: np.random.Generator) -> Made:
    n = 1338
    age, smoker, bmi = rng.integers(18, 65, n), rng.random(n) < 0.2, rng.normal(30.6, 6, n)
    charges = 260 * age + smoker * (6000 + 1300 * np.clip(bmi - 22, 0, None)) + rng.gamma(0.8, 3800, n)
    frame = pd.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["male", "female"], n),
            "bmi": np.round(bmi, 2),
            "children": rng.poisson(1.1, n),
            "smoker": np.where(smoker, "yes", "no"),
            "charges": np.round(charges, 2),
        }
    )
    return frame, roles("charges", "age"), set()


def house_prices(rng: np.random.Generator) -> Made:
    n = 3000
    area, quality = np.round(rng.gamma(9, 12, n)), rng.integers(1, 11, n)
    share, distance = np.round(100 * rng.beta(2, 6, n), 1), rng.gamma(2, 4, n)
    log_price = 0.75 * np.log(area) + 0.09 * quality - 0.05 * distance - 0.004 * share
    frame = pd.DataFrame(
        {
            "share_minority": share,
            "living_area": area,
            "qual": quality,
            "km_centre": np.round(distance, 1),
            "bath": np.clip(np.round(area / 55 + rng.normal(0, 0.5, n)), 1, 6),
            "price": np.round(9000 * np.exp(log_price + rng.normal(0, 0.2, n)), -2),
        }
    )
    return frame, roles("price", "share_minority"), set()


def credit_limit(rng: np.random.Generator) -> Made:
    n = 12000
    age, income = ages(rng, n), rng.lognormal(7.8, 0.5, n)
    score = rng.normal(0, 1, n)
    limit = np.round(income * np.exp(0.35 * score + 0.004 * (age - 45) + rng.normal(0, 0.4, n)), -2)
    frame = pd.DataFrame(
        {
            "Kundennr.": rng.permutation(n) + 50001,
            "Lebensalter": age,
            "Nettoeink.": holes(rng, np.round(income), 0.08),
            "Score_intern": np.round(score, 3),
            "Beruf": rng.choice(["Arbeiter", "Beamte", "selbst.", "Rente", "k. A."], n),
            "Rahmen": limit,
        }
    )
    return frame, roles("Rahmen", "Lebensalter"), set()


def motor_frequency(rng: np.random.Generator) -> Made:
    n = 20000
    age, exposure = ages(rng, n), years_at_risk(rng, n, 0.3)
    density = np.round(np.exp(rng.normal(6, 1.8, n)))
    young = np.exp(0.05 * np.clip(28 - age, 0, None))
    counts = claims(rng, exposure * 0.08 * young * (density / 400) ** 0.07)
    frame = pd.DataFrame(
        {
            "IDpol": np.sort(rng.choice(10**6, n, replace=False)),
            "Exposure": exposure,
            "DrivAge": age,
            "VehAge": rng.integers(0, 22, n),
            "VehBrand": rng.choice([f"B{i}" for i in range(1, 15)], n),
            "Density": density,
            "ClaimNb": counts,
        }
    )
    return frame, roles("ClaimNb", "DrivAge", "Exposure"), set()


def zeros_and_holes(rng: np.random.Generator) -> Made:
    n = 10000
    age = ages(rng, n)
    alarm, distance = rng.random(n) < 0.25, rng.gamma(2, 3, n)
    counts = claims(rng, 0.1 * np.exp(-0.4 * alarm + 0.006 * (age - 45)))
    frame = pd.DataFrame(
        {
            "leeftijd": age,
            # About as many zeros, and as many missing cells, as the target has zeros.
            "waarde_kunst": np.where(rng.random(n) < 0.9, 0, np.round(rng.lognormal(8, 1, n))),
            "jaar_verbouwd": holes(rng, rng.integers(1970, 2024, n), 0.9),
            "alarm": np.where(alarm, "ja", "nee"),
            "km_brandweer": holes(rng, np.round(distance, 1), 0.2),
            "schade": costs(rng, counts, 1100),
        }
    )
    return frame, roles("schade", "leeftijd"), set()


def missing_by_age(rng: np.random.Generator) -> Made:
    n = 6000
    age, income = ages(rng, n), rng.lognormal(10, 0.6, n)
    unknown = 1 / (1 + np.exp(-(age - 55) / 6))
    counts = claims(rng, 0.3 * np.exp(0.02 * (age - 45)))
    frame = pd.DataFrame(
        {
            "edad": age,
            "ingresos": holes(rng, np.round(income, -2), unknown),
            "permiso_menor_25": np.where(age < 25, np.round(rng.uniform(0, 6, n), 1), np.nan),
            "pensión": np.where(age >= 65, np.round(rng.lognormal(7, 0.3, n)), 0),
            "coste": costs(rng, counts, 250),
        }
    )
    return frame, roles("coste", "edad"), set()


def near_copies_of_s(rng: np.random.Generator) -> Made:
    n = 5000
    age, power = ages(rng, n), rng.integers(40, 200, n)
    cost = np.round(rng.gamma(1.2, 160, n) * np.exp(-0.02 * (age - 45) + 0.003 * (power - 100)), 2)
    frame = pd.DataFrame(
        {
            "età_contraente": age,
            "anno_nascita": 2026 - age - (rng.random(n) < 0.5),
            "classe_età": pd.cut(age, [0, 25, 35, 50, 65, 120], labels=list("ABCDE")).astype(str),
            "anni_patente": np.clip(age - 18 - rng.integers(0, 6, n), 0, None),
            "cavalli": power,
            "costo": cost,
        }
    )
    return frame, roles("costo", "età_contraente"), set()


def constants_and_ties(rng: np.random.Generator) -> Made:
    n = 800
    age = rng.integers(20, 30, n)
    frame = pd.DataFrame(
        {
            "age (yrs)": age,
            "country": "FI",
            "currency_rate": 1.0,
            "old_code": np.nan,
            "km_class": rng.integers(1, 6, n),
            "tenure": rng.integers(0, 8, n),
            "claims_5y": claims(rng, 0.7 * np.exp(-0.08 * (age - 25))),
        }
    )
    return frame, roles("claims_5y", "age (yrs)"), set()


def heavy_tails(rng: np.random.Generator) -> Made:
    n = 4000
    age, turnover = ages(rng, n), rng.lognormal(13, 1.5, n)
    loss = np.round(500 * (1 + rng.pareto(1.6, n)) * (turnover / 440000) ** 0.2, 2)
    frame = pd.DataFrame(
        {
            "alder_leder": age,
            "omsetning": np.round(turnover, -3),
            "bransje": rng.choice(["bygg", "handel", "fiske", "IT"], n, p=[0.3, 0.4, 0.1, 0.2]),
            "ansatte": np.round(turnover / 9e5 * np.exp(rng.normal(0, 0.4, n))),
            "tap_nok": loss,
        }
    )
    return frame, roles("tap_nok", "alder_leder"), set()


def unrelated_dates(rng: np.random.Generator) -> Made:
    n = 8000
    age, exposure = ages(rng, n), years_at_risk(rng, n)
    licence = pd.to_datetime("2026-01-01") - pd.to_timedelta(
        (365.25 * np.clip(age - 18 - rng.gamma(1, 3, n), 0.1, None)).astype(int), unit="D"
    )
    bought = pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3900, n), unit="D")
    inspected = bought + pd.to_timedelta(rng.integers(30, 1500, n), unit="D")
    frame = pd.DataFrame(
        {
            "ηλικία": age,
            "δίπλωμα_από": licence,
            "αγορά": bought.astype(str),
            "ΚΤΕΟ": inspected.astype(str),
            "κυβικά": rng.choice([1000, 1200, 1400, 1600, 2000], n),
            "έκθεση": exposure,
            "ζημιές": claims(rng, exposure * 0.15 * np.exp(-0.01 * (age - 45))),
        }
    )
    return frame, roles("ζημιές", "ηλικία", "έκθεση"), set()


def past_count_beside_cost(rng: np.random.Generator) -> Made:
    n = 10000
    age, exposure = ages(rng, n), years_at_risk(rng, n)
    risk = rng.gamma(1.5, 1 / 1.5, n)
    rate = 0.2 * risk * np.exp(-0.01 * (age - 45))
    frame = pd.DataFrame(
        {
            "Fahreralter": age,
            "Anz. Vorschäden (3 J.)": claims(rng, 3 * rate),
            "Fahrleistung tkm": np.round(rng.gamma(4, 3.5, n)),
            "JE": exposure,
            "Aufwand": costs(rng, claims(rng, exposure * rate), 1800),
        }
    )
    return frame, roles("Aufwand", "Fahreralter", "JE"), set()


def cost_of_last_year(rng: np.random.Generator) -> Made:
    n = 7000
    age, frailty = ages(rng, n), rng.normal(0, 1, n)
    level = 5.5 + 0.018 * (age - 45) + 0.65 * frailty
    frame = pd.DataFrame(
        {
            "age_at_entry": age,
            "cost_prev_year": np.round(np.exp(level + rng.normal(0, 0.7, n)), 2),
            "n_rx_prev_year": claims(rng, np.exp(0.9 + 0.6 * frailty)),
            "dx_group": pd.cut(frailty + rng.normal(0, 0.8, n), 5, labels=list("stuvw")).astype(str),
            "gp_district": rng.integers(1, 40, n),
            "cost_this_year": np.round(np.exp(level + rng.normal(0, 0.7, n)), 2),
        }
    )
    return frame, roles("cost_this_year", "age_at_entry"), set()


def bonus_malus(rng: np.random.Generator) -> Made:
    n = 16000
    age, exposure = ages(rng, n), years_at_risk(rng, n, 0.7)
    risk = rng.gamma(1.2, 1 / 1.2, n)
    years = np.clip(age - 18, 0, 15)
    level = np.clip(np.round(11 - years + 4 * rng.poisson(0.1 * risk * years)), 0, 22)
    frame = pd.DataFrame(
        {
            "ageph": age,
            "bm": level,
            "use": rng.choice(["private", "work"], n, p=[0.95, 0.05]),
            "fleet": (rng.random(n) < 0.03).astype(int),
            "expo": exposure,
            "nclaims": claims(rng, exposure * 0.12 * risk),
        }
    )
    return frame, roles("nclaims", "ageph", "expo"), set()


def vehicle_value(rng: np.random.Generator) -> Made:
    n = 5000
    age, value = ages(rng, n), np.round(rng.lognormal(9.6, 0.7, n), -2)
    own_damage = 0.09 * value * rng.gamma(4, 1 / 4, n)
    frame = pd.DataFrame(
        {
            "възраст": age,
            "стойност": value,
            "година": 2026 - rng.integers(0, 20, n),
            "град": rng.choice(["София", "Варна", "Пловдив", "Русе"], n),
            "щета": np.round(own_damage * np.exp(-0.004 * (age - 45)), 2),
        }
    )
    return frame, roles("щета", "възраст"), set()


def regional_average(rng: np.random.Generator) -> Made:
    n = 15000
    age, region = ages(rng, n), rng.integers(0, 30, n)
    effect = rng.normal(0, 0.25, 30)[region]
    cost = costs(rng, claims(rng, 0.4 * np.exp(effect - 0.006 * (age - 45))), 600)
    frame = pd.DataFrame(
        {
            "âge": age,
            "code_dépt": region + 1,
            "coût_moy_dépt": pd.Series(cost).groupby(region).transform("mean"),
            "nb_véh_foyer": rng.integers(1, 4, n),
            "coût": cost,
        }
    )
    return frame, roles("coût", "âge"), set()


def many_categories(rng: np.random.Generator) -> Made:
    n = 9000
    age, trade = ages(rng, n, 18, 66), rng.integers(0, 120, n)
    danger = rng.normal(0, 0.6, 120)[trade]
    days = claims(rng, 3 * np.exp(danger + 0.015 * (age - 42)), 0.8)
    frame = pd.DataFrame(
        {
            "Leeftijd wn": age,
            "SBI-code": [f"{47 + 3 * code}.{code % 9}" for code in trade],
            "werkgever": [f"WG{number:04d}" for number in rng.zipf(1.4, n) % 3000],
            "uren": rng.choice([16, 24, 32, 36, 40], n),
            "verzuimdagen": days,
        }
    )
    return frame, roles("verzuimdagen", "Leeftijd wn"), set()


def unsorted_ids(rng: np.random.Generator) -> Made:
    n = 4000
    age = ages(rng, n)
    entry = np.sort(rng.integers(0, 4000, n))
    premium = rng.gamma(20, 22, n)
    frame = pd.DataFrame(
        {
            "Policy-No.": [f"DK-{rng.integers(10**6):06d}-{check}" for check in rng.choice(list("XYZ"), n)],
            "line": np.arange(1, n + 1),
            "insured since": (pd.Timestamp("2013-01-01") + pd.to_timedelta(entry, unit="D")).astype(str),
            "insured_age": age,
            "annual premium": np.round(premium * np.exp(0.004 * (age - 45)), 2),
            "sum_paid": costs(rng, claims(rng, premium / 900), 1200),
        }
    )
    return frame, roles("sum_paid", "insured_age"), set()


def crop_yield(rng: np.random.Generator) -> Made:
    n = 2500
    age, rain, soil = ages(rng, n, 22, 85), rng.gamma(12, 38, n), rng.normal(55, 12, n)
    dose = rng.uniform(60, 220, n)
    harvest = 20 + 0.28 * soil + 0.13 * dose - 0.00028 * (rain - 480) ** 2 + rng.normal(0, 3, n)
    frame = pd.DataFrame(
        {
            "farmer_age": age,
            "rain_mm": np.round(rain),
            "Bodenpunkte": np.round(soil),
            "N kg/ha": np.round(dose),
            "Sorte": rng.choice(["Asory", "Chevignon", "RGT Reform"], n),
            "dt_ha": np.round(harvest, 1),
        }
    )
    return frame, roles("dt_ha", "farmer_age"), set()


def travel(rng: np.random.Generator) -> Made:
    n = 14000
    age, days = ages(rng, n, 1, 92), rng.integers(2, 60, n)
    booked = pd.Timestamp("2025-02-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    leaving = booked + pd.to_timedelta(rng.integers(1, 200, n), unit="D")
    counts = claims(rng, days / 365 * 0.9 * np.exp(0.012 * (age - 45)))
    frame = pd.DataFrame(
        {
            "ålder": age,
            "bokad": booked,
            "avresa": leaving,
            "läkarintyg": np.where(age > 75, rng.choice(["ok", "risk"], n), None),
            "resmål": rng.choice(["EU", "USA", "Asien", "Övrigt"], n, p=[0.6, 0.1, 0.2, 0.1]),
            "golfbag": (rng.random(n) < 0.05).astype(int),
            "resår": days / 365,
            "ersättning": costs(rng, counts, 300, 1.3),
        }
    )
    return frame, roles("ersättning", "ålder", "resår"), set()


def life_sums(rng: np.random.Generator) -> Made:
    n = 6000
    age, income = ages(rng, n, 20, 70), rng.lognormal(10.4, 0.45, n)
    children = rng.poisson(1.2, n)
    factor = rng.choice([1, 2, 3, 4, 5], n, p=[0.1, 0.25, 0.35, 0.2, 0.1])
    wanted = income * factor * np.exp(0.06 * children - 0.01 * (age - 45) + rng.normal(0, 0.25, n))
    frame = pd.DataFrame(
        {
            "나이": age,
            "연소득": np.round(income, -2),
            "배수": factor,
            "자녀수": children,
            "흡연": rng.choice(["예", "아니오"], n, p=[0.25, 0.75]),
            "보험금액": np.round(wanted, -3),
        }
    )
    return frame, roles("보험금액", "나이"), set()


CERTAIN: tuple[Callable[[np.random.Generator], Made], ...] = (
    exact_copy,
    ranked_copy,
    rounded_copy,
    affine_copy,
    coded_copy,
    missing_where_zero,
    zero_where_zero,
    missing_where_not_zero,
    bounding_dates,
    text_after_claim,
)
SUSPECT: tuple[Callable[[np.random.Generator], Made], ...] = (
    noisy_after,
    handlers_estimate,
    status_with_errors,
    sorted_ids,
    nearly_sorted_ids,
    group_average,
    small_group_average,
    renewal_premium,
    days_in_hospital,
    value_after_sale,
)
HONEST: tuple[Callable[[np.random.Generator], Made], ...] = (
    medical_charges,
    house_prices,
    credit_limit,
    motor_frequency,
    zeros_and_holes,
    missing_by_age,
    near_copies_of_s,
    constants_and_ties,
    heavy_tails,
    unrelated_dates,
    past_count_beside_cost,
    cost_of_last_year,
    bonus_malus,
    vehicle_value,
    regional_average,
    many_categories,
    unsorted_ids,
    crop_yield,
    travel,
    life_sums,
)


def tables() -> Iterator[Table]:
    """Make the forty tables, each from its own seed."""
    seed = 29_000
    for kind, makers in (("certain", CERTAIN), ("suspect", SUSPECT), ("honest", HONEST)):
        for make in makers:
            frame, names, planted = make(np.random.default_rng(seed))
            yield make.__name__, kind, frame, names, planted
            seed += 1
