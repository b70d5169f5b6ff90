"""Eighty leak tables by a third author, who had not read any line of the leak check or its results.

Twenty tables contain a column that reveals the target for certain (two of each of ten kinds), twenty contain
a suspicious column (known only after the event, or made from the target with noise), and forty have no leak,
many of them with strong features. Twelve lines of business are simulated with frailty and noise, with names
in ten languages; the leaks are added afterwards. Every table has a separate seed, fixed before the first run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeRegressor

#: name, kind ("certain", "suspect" or "honest"), rows, roles, planted columns
Table = tuple[str, str, pd.DataFrame, dict, set[str]]
Rng = np.random.Generator


@dataclass
class Book:
    """A simulated portfolio before any leak: `mean` is the expected target, `frail` is unobserved."""

    frame: pd.DataFrame
    target: str
    sensitive: str
    exposure: str | None
    mean: np.ndarray
    frail: np.ndarray
    names: dict[str, str] = field(default_factory=dict)

    @property
    def y(self) -> np.ndarray:
        """The target."""
        return self.frame[self.target].to_numpy(float)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.frame)

    def of(self, plain: str) -> pd.Series:
        """The column whose English key is `plain`."""
        return self.frame[self.names[plain]]

    def put(self, name: str, values: object, at: int | None = None) -> set[str]:
        """Add a column, and return its name as a set."""
        self.frame.insert(len(self.frame.columns) // 2 if at is None else at, name, values)
        return {name}

    def keep(self, *plain: str) -> None:
        """Keep the roles and these features only."""
        wanted = {self.names[p] for p in plain} | {self.target, self.sensitive, self.exposure}
        self.frame = self.frame[[c for c in self.frame if c in wanted]]


def book(rng: Rng, columns: dict, words: str, mean: np.ndarray, frail: np.ndarray, holes: str = "") -> Book:
    """Name the columns in one language, and set some cells to missing. Keys y, s and w are roles."""
    names = dict(zip(columns, words.split(), strict=True))
    frame = pd.DataFrame({names[k]: v for k, v in columns.items()})
    for k in holes.split():
        frame[names[k]] = frame[names[k]].where(rng.random(len(frame)) > rng.uniform(0.01, 0.05))
    return Book(frame, names["y"], names["s"], names.get("w"), mean, frail, names)


def ages(rng: Rng, n: int, low: int = 18, high: int = 90) -> np.ndarray:
    """Draw whole years of age."""
    return np.clip(rng.normal(47, 16, n), low, high).round().astype(int)


def at_risk(rng: Rng, n: int) -> np.ndarray:
    """Draw days at risk as fractions of a year, most often the whole year."""
    return np.where(rng.random(n) < 0.6, 365, rng.integers(10, 365, n)) / 365


def frailty(rng: Rng, n: int, shape: float = 2.0) -> np.ndarray:
    """Draw an unobserved factor with mean 1."""
    return rng.gamma(shape, 1 / shape, n)


def pick(rng: Rng, n: int, text: str, shares: list[float] | None = None) -> np.ndarray:
    """Draw words of a text."""
    words = np.array(text.split(), dtype=object)
    return words[rng.choice(len(words), n, p=shares)]


def effect(words: np.ndarray, spread: float) -> np.ndarray:
    """Give every word an effect on the log scale, in alphabetical order."""
    levels, code = np.unique(words.astype(str), return_inverse=True)
    return np.linspace(-spread, spread, len(levels))[code]


def costs(rng: Rng, counts: np.ndarray, mean: np.ndarray, shape: float = 1.2) -> np.ndarray:
    """Draw the sum of the given number of claims, in cents."""
    return np.round(rng.gamma(np.maximum(shape * counts, 1e-9), mean / shape) * (counts > 0), 2) + 1.0 * (
        counts > 0
    )


def motor(rng: Rng, n: int, lang: str) -> Book:
    """Claim counts of motor policies with exposure."""
    age, w, frail = ages(rng, n), at_risk(rng, n), frailty(rng, n, 1.5)
    power = rng.integers(4, 16, n)
    bonus = np.clip(
        np.round(22 - 0.3 * (age - 18) * rng.uniform(0.5, 1.3, n) + 5 * np.log(frail + 0.1)), 0, 28
    )
    old = np.minimum(rng.geometric(0.12, n) - 1, 30)
    region = pick(rng, n, "R11 R24 R31 R52 R53 R72 R82 R93")
    fuel = pick(rng, n, "D E H", [0.45, 0.45, 0.1])
    dense = np.maximum(np.round(np.exp(rng.normal(6, 1.6, n))), 2)
    rate = np.exp(-2.6 + 0.03 * (power - 8) + 0.05 * np.log(dense) + effect(region, 0.2) - 0.01 * (age - 47))
    mean = rate * w
    y = rng.poisson(mean * frail)
    columns = {"w": w, "s": age, "power": power, "old": old, "bonus": bonus.astype(int), "region": region,
               "fuel": fuel, "dense": dense, "y": y}  # fmt: skip
    words = {
        "fr": "expo age_conducteur puissance anciennete_veh coef_crm region carburant densite nb_sinistres",
        "de": "Jahreseinheiten Alter_VN kW_Klasse Fzg_Alter SF_Klasse Region Kraftstoff EW_je_qkm Schaeden",
        "en": "earned_years driver_age veh_group veh_age ncd_level territory fuel pop_density claim_count",
        "es": "expuestos edad potencia antig_vehiculo nivel_bonus zona combustible densidad num_siniestros",
    }
    return book(rng, columns, words[lang], mean, frail, "old dense")


def repairs(rng: Rng, n: int, lang: str) -> Book:
    """Sizes of motor claims, one row per claim."""
    age, frail = ages(rng, n), np.exp(rng.normal(0, 0.35, n))
    value = np.round(np.exp(rng.normal(9.6, 0.5, n)), -1)
    cause = pick(rng, n, "collision glass hail parking theft", [0.4, 0.25, 0.05, 0.25, 0.05])
    speed = rng.choice([30, 50, 70, 100, 130], n, p=[0.3, 0.35, 0.15, 0.12, 0.08])
    old = rng.integers(0, 20, n)
    base = pd.Series(cause).map({"collision": 0.5, "glass": -0.9, "hail": 0.2, "parking": -0.3, "theft": 1.2})
    mean = np.exp(7 + base.to_numpy(float) + 0.5 * (np.log(value) - 9.6) + 0.004 * speed - 0.02 * old)
    y = np.round(noisy(rng, mean * frail, 0.6), 2)
    columns = {"s": age, "value": value, "cause": cause, "speed": speed, "old": old, "y": y}
    words = {
        "en": "age_of_driver list_price peril speed_limit car_age paid_loss",
        "de": "Alter Neupreis Ursache Tempolimit Fahrzeugalter Schadenhoehe",
        "it": "eta_conducente valore_auto causa limite_vel anni_auto importo_sinistro",
    }
    return book(rng, columns, words[lang], mean, frail, "value old")


def home(rng: Rng, n: int, lang: str) -> Book:
    """Yearly cost of home claims, mostly 0, with exposure."""
    age, w, frail = ages(rng, n, 20), at_risk(rng, n), frailty(rng, n)
    area = np.round(np.exp(rng.normal(4.6, 0.4, n)))
    built = rng.integers(1890, 2021, n)
    roof = pick(rng, n, "tile slate flat thatch", [0.6, 0.2, 0.17, 0.03])
    zone = rng.choice([1, 2, 3, 4], n, p=[0.6, 0.25, 0.1, 0.05])
    town = pick(rng, n, "Z01 Z02 Z03 Z04 Z05 Z06 Z07 Z08 Z09 Z10 Z11 Z12")
    rate = np.exp(-2.3 + 0.3 * (zone - 1) + 0.003 * (1990 - built) + effect(town, 0.25))
    size = np.exp(6.8 + 0.8 * (np.log(area) - 4.6) + 0.15 * zone)
    y = costs(rng, rng.poisson(rate * w * frail), size)
    columns = {
        "w": w,
        "area": area,
        "built": built,
        "roof": roof,
        "zone": zone,
        "town": town,
        "s": age,
        "y": y,
    }
    words = {
        "nl": "looptijd woonoppervlak bouwjaar dak overstromingszone gebied leeftijd schadelast",
        "it": "anni_rischio superficie anno_costr tetto zona_alluvione comune eta_assicurato danni_totali",
        "en": "exposure_yrs floor_area year_built roof_type flood_zone district policyholder_age incurred",
    }
    return book(rng, columns, words[lang], rate * w * size, frail, "built roof")


def houses(rng: Rng, n: int, lang: str) -> Book:
    """Premiums of home policies: a price, with little noise."""
    income = np.round(np.exp(rng.normal(10.4, 0.5, n)), -2)
    area = np.round(np.exp(rng.normal(4.6, 0.3, n) + 0.15 * (np.log(income) - 10.4)))
    zone = rng.choice([1, 2, 3, 4], n, p=[0.5, 0.3, 0.15, 0.05])
    kind = pick(rng, n, "flat terraced detached villa", [0.4, 0.3, 0.25, 0.05])
    built = rng.integers(1900, 2023, n)
    excess = rng.choice([0, 150, 300, 500], n)
    log = 4.2 + 0.75 * (np.log(area) - 3.6) + 0.12 * zone + effect(kind, 0.15) - 0.0004 * excess
    mean = np.exp(log + 0.001 * (2023 - built))
    y = np.round(mean * np.exp(rng.normal(0, 0.15, n)), 2)
    columns = {
        "s": income,
        "area": area,
        "zone": zone,
        "kind": kind,
        "built": built,
        "excess": excess,
        "y": y,
    }
    words = {
        "de": "Einkommen Wohnflaeche ZUERS_Zone Gebaeudeart Baujahr Selbstbehalt Jahresbeitrag",
        "nl": "inkomen m2 risicozone woningtype bouwjaar eigen_risico premie",
        "en": "household_income sq_metres geo_zone dwelling construction_year deductible annual_premium",
        "pl": "dochod powierzchnia strefa typ_budynku rok_budowy franszyza skladka",
    }
    return book(rng, columns, words[lang], mean, np.ones(n), "built")


def health(rng: Rng, n: int, lang: str) -> Book:
    """Yearly cost of health care, above 0 for all."""
    age, frail = ages(rng, n), np.exp(rng.normal(0, 0.5, n))
    bmi = np.round(np.clip(rng.normal(26 + 0.03 * age, 4.5, n), 16, 55), 1)
    smoker = pick(rng, n, "no yes", [0.8, 0.2])
    chronic = rng.poisson(np.exp(-2 + 0.03 * age))
    plan = pick(rng, n, "bronze silver gold", [0.3, 0.5, 0.2])
    kids = rng.poisson(0.9, n)
    mean = np.exp(
        6.2 + 0.018 * age + 0.015 * bmi + 0.4 * (smoker == "yes") + 0.25 * chronic + effect(plan, 0.1)
    )
    y = np.round(noisy(rng, mean * frail, 0.75), 2)
    columns = {"s": age, "bmi": bmi, "smoker": smoker, "chronic": chronic, "plan": plan, "kids": kids, "y": y}
    words = {
        "en": "age bmi smokes n_chronic plan_tier dependants annual_cost",
        "de": "Alter BMI Raucher Chronische Tarif Kinder Kosten_Jahr",
        "es": "edad imc fumador cronicas plan hijos gasto_anual",
    }
    return book(rng, columns, words[lang], mean, frail, "bmi kids")


def liability(rng: Rng, n: int, lang: str) -> Book:
    """Cost of liability claims of firms, mostly 0; the sensitive column is the owner's age."""
    age, frail = ages(rng, n, 25, 75), frailty(rng, n, 1.0)
    turnover = np.round(np.exp(rng.normal(13, 1.2, n)), -3)
    staff = np.maximum(1, np.round(turnover / 90_000 * np.exp(rng.normal(0, 0.4, n)))).astype(int)
    sector = pick(rng, n, "F41 F43 G47 I56 J62 M70 N81 Q86")
    since = rng.integers(0, 30, n)
    rate = np.exp(-2.0 + 0.3 * (np.log(turnover) - 13) + effect(sector, 0.5))
    size = np.exp(8 + 0.2 * (np.log(turnover) - 13))
    y = costs(rng, rng.poisson(rate * frail), size, 0.8)
    columns = {"sector": sector, "turnover": turnover, "staff": staff, "since": since, "s": age, "y": y}
    words = {
        "fr": "code_naf chiffre_affaires effectif anciennete age_dirigeant charge_sinistres",
        "pl": "pkd obrot zatrudnienie staz wiek_wlasciciela wyplaty",
        "en": "industry revenue headcount tenure owner_age gross_loss",
    }
    return book(rng, columns, words[lang], rate * size, frail, "staff")


def travel(rng: Rng, n: int, lang: str) -> Book:
    """Cost of travel claims, mostly 0."""
    age, frail = ages(rng, n, 18, 85), frailty(rng, n)
    days = rng.geometric(0.08, n)
    price = np.round(np.exp(5.5 + 0.4 * np.log(days) + rng.normal(0, 0.5, n)))
    where = pick(rng, n, "AS EU NA AF SA OC", [0.2, 0.5, 0.12, 0.08, 0.05, 0.05])
    sold = pick(rng, n, "agency bank web", [0.3, 0.2, 0.5])
    party = rng.integers(1, 6, n)
    rate = np.exp(
        -2.4 + 0.25 * np.log(days) + 0.008 * (age - 47) + 0.5 * (where == "AS") + 0.4 * (where == "AF")
    )
    size = 0.5 * price
    y = costs(rng, rng.poisson(rate * frail), size)
    columns = {"s": age, "days": days, "price": price, "where": where, "sold": sold, "party": party, "y": y}
    words = {
        "sv": "alder resdagar respris varldsdel kanal sallskap ersattning",
        "en": "traveller_age trip_days trip_cost region channel group_size claims_paid",
        "pt": "idade dias preco_viagem destino canal pessoas indemnizacao",
    }
    return book(rng, columns, words[lang], rate * size, frail, "price party")


def pets(rng: Rng, n: int, lang: str) -> Book:
    """Numbers of vet claims of cats and dogs, with exposure."""
    owner, w, frail = ages(rng, n), at_risk(rng, n), frailty(rng, n, 1.2)
    breed = pick(rng, n, "beagle bulldog labrador mixed persian poodle siamese spaniel")
    pet = rng.integers(0, 15, n)
    kilo = np.round(np.exp(rng.normal(2.3, 0.6, n)), 1)
    chip = pick(rng, n, "0 1", [0.3, 0.7])
    mean = w * np.exp(-0.9 + 0.06 * pet + effect(breed, 0.4) + 0.05 * np.log(kilo))
    y = rng.poisson(mean * frail)
    columns = {"breed": breed, "pet": pet, "kilo": kilo, "chip": chip, "s": owner, "w": w, "y": y}
    words = {
        "en": "breed pet_age weight_kg chipped owner_age policy_years vet_claims",
        "de": "Rasse Tieralter Gewicht Chip Alter_Halter Dauer Anzahl_Faelle",
        "sv": "ras djuralder vikt chip agaralder forsakringsar skador",
    }
    return book(rng, columns, words[lang], mean, frail, "kilo")


def hail(rng: Rng, n: int, lang: str) -> Book:
    """Loss rates of fields insured against hail, half of them 0."""
    age, frail = ages(rng, n, 22, 80), frailty(rng, n, 3.0)
    crop = pick(rng, n, "apple barley maize rape vine wheat")
    area = np.round(np.exp(rng.normal(1.5, 0.8, n)), 2)
    zone = rng.integers(1, 10, n)
    height = np.round(rng.gamma(3, 120, n))
    hit = rng.random(n) < 1 / (1 + np.exp(1.2 - 0.2 * zone))
    mean = np.exp(-3.2 + 0.08 * zone + effect(crop, 0.4))
    y = np.round(np.minimum(mean * frail * rng.exponential(1, n) * hit + 0.001 * hit, 1), 4)
    columns = {"crop": crop, "area": area, "zone": zone, "height": height, "s": age, "y": y}
    words = {
        "fr": "culture surface_ha zone_grele altitude age_exploitant taux_perte",
        "pt": "cultura hectares zona altitude_m idade_produtor taxa_sinistro",
        "hu": "noveny terulet jegzona magassag gazda_kora karhanyad",
    }
    return book(rng, columns, words[lang], mean / (1 + np.exp(1.2 - 0.2 * zone)), frail, "height")


def loans(rng: Rng, n: int, lang: str) -> Book:
    """Interest rates of loans: a price."""
    age = ages(rng, n, 20, 75)
    income = np.round(np.exp(rng.normal(10.3, 0.45, n)), -2)
    amount = np.round(income * rng.uniform(0.1, 1.5, n), -2)
    score = np.clip(
        np.round(rng.normal(620 + 0.8 * (age - 47) + 40 * (np.log(income) - 10.3), 60, n)), 350, 850
    )
    term = rng.choice([12, 24, 36, 48, 60, 84], n)
    use = pick(rng, n, "car debt home other")
    mean = 7 - 0.018 * (score - 620) + 0.8 * amount / income + 0.01 * term + effect(use, 0.3)
    y = np.round(np.maximum(mean + rng.normal(0, 0.7, n), 0.9), 3)
    columns = {"s": age, "income": income, "amount": amount, "score": score, "term": term, "use": use, "y": y}
    words = {
        "en": "applicant_age income loan_amount credit_score term_months purpose interest_rate",
        "de": "Lebensalter Netto_p_a Kreditbetrag Bonitaet Laufzeit Zweck Sollzins",
        "es": "edad ingresos importe puntuacion plazo destino tipo_interes",
    }
    return book(rng, columns, words[lang], mean, np.ones(n), "income")


def defaults(rng: Rng, n: int, lang: str) -> Book:
    """Share lost of defaulted loans."""
    age = ages(rng, n, 20, 75)
    ltv = np.round(np.clip(rng.normal(0.8, 0.25, n), 0.1, 1.6), 3)
    kind = pick(rng, n, "car mortgage none", [0.4, 0.3, 0.3])
    balance = np.round(np.exp(rng.normal(9.3, 0.8, n)), 2)
    months = rng.integers(1, 90, n)
    jobless = np.round(rng.normal(6, 2, n), 1)
    log = -1.2 + 1.2 * (ltv - 0.8) + 1.0 * (kind == "none") + 0.05 * (jobless - 6) - 0.006 * months
    mean = 1 / (1 + np.exp(-log))
    y = np.round(rng.beta(2 * mean, 2 * (1 - mean)), 5)
    columns = {
        "s": age,
        "ltv": ltv,
        "kind": kind,
        "balance": balance,
        "months": months,
        "jobless": jobless,
        "y": y,
    }
    words = {
        "en": "borrower_age ltv collateral balance months_on_book unemployment lgd",
        "de": "Alter_Kunde Beleihung Sicherheit Restschuld Monate Arbeitslosenquote Verlustquote",
        "it": "eta_cliente rapporto_ltv garanzia debito mesi disoccupazione perdita",
    }
    return book(rng, columns, words[lang], mean, np.ones(n), "ltv")


def fire(rng: Rng, n: int, lang: str) -> Book:
    """Sizes of fire claims of firms, one row per claim, which depend on the sum insured."""
    age, frail = ages(rng, n, 25, 75), np.exp(rng.normal(0, 0.2, n))
    insured = np.round(np.exp(rng.normal(12, 1.2, n)), -3)
    brigade = np.round(rng.gamma(2, 4, n), 1)
    sprinkler = pick(rng, n, "ja nein", [0.3, 0.7])
    use = pick(rng, n, "Buero Handel Lager Werk")
    share = 1 / (1 + np.exp(1.5 + 0.8 * (sprinkler == "ja") - 0.05 * brigade - effect(use, 0.3)))
    mean = insured * share
    y = np.round(np.minimum(mean * noisy(rng, frail, 0.4), insured))
    columns = {"s": age, "insured": insured, "brigade": brigade, "sprinkler": sprinkler, "use": use, "y": y}
    words = {"de": "Alter_Inhaber Versicherungssumme Feuerwehr_km Sprinkler Nutzung Entschaedigung"}
    return book(rng, columns, words[lang], mean, frail, "brigade")


# --- helpers of leaks and honest features ------------------------------------------------------------------


def days_after(start: str, days: np.ndarray, form: str = "%Y-%m-%d") -> np.ndarray:
    """Days after a start as dates in text."""
    return (pd.Timestamp(start) + pd.to_timedelta(days, unit="D")).strftime(form).to_numpy(object)


def groups(rng: Rng, n: int, size: int) -> np.ndarray:
    """Assign rows at random to groups of a size."""
    return rng.permutation(np.arange(n) // size)


def average(b: Book, group: np.ndarray) -> np.ndarray:
    """Average the target over groups, per unit of exposure where there is one."""
    w = b.frame[b.exposure].to_numpy(float) if b.exposure else np.ones(b.n)
    return (np.bincount(group, b.y) / np.bincount(group, w))[group]


def codes(values: pd.Series) -> np.ndarray:
    """Number the levels of a column."""
    return pd.factorize(values, sort=True)[0]


def noisy(rng: Rng, values: np.ndarray, spread: float) -> np.ndarray:
    """Multiply by noise with median 1."""
    return values * np.exp(rng.normal(0, spread, len(values)))


def bands(values: np.ndarray, count: int) -> np.ndarray:
    """Cut into bands of equal size: 0, 1, ..."""
    return np.floor(pd.Series(values).rank(method="first", pct=True).to_numpy() * count * 0.999999).astype(
        int
    )


def where(b: Book, values: np.ndarray, otherwise: object = None) -> np.ndarray:
    """Take the values where the target isn't 0."""
    return np.where(b.y > 0, np.asarray(values, dtype=object), otherwise)


def between(rng: Rng, b: Book, begin: str, end: str, form: str | None) -> set[str]:
    """Add dates from which the exposure can be computed."""
    days = np.round(b.frame[b.exposure].to_numpy() * 365).astype(int)
    first = np.floor(rng.random(b.n) * (366 - days)).astype(int)
    for name, at in ((begin, first), (end, first + days)):
        b.put(
            name,
            days_after("2022-01-01", at, form)
            if form
            else pd.Timestamp("2022-01-01") + pd.to_timedelta(at, "D"),
        )
    return {begin, end}


def holes(rng: Rng, values: np.ndarray, share: float) -> np.ndarray:
    """Set a share of cells to missing."""
    return np.where(rng.random(len(values)) < share, np.nan, values)


def overfitted(b: Book) -> np.ndarray:
    """Score the rows that were used to grow a tree."""
    x = pd.get_dummies(b.frame.drop(columns=[b.target])).fillna(-1)
    w = b.frame[b.exposure].to_numpy(float) if b.exposure else np.ones(b.n)
    tree = DecisionTreeRegressor(min_samples_leaf=4, random_state=0).fit(x, b.y / w, sample_weight=w)
    return np.round(tree.predict(x), 5)


def visits(rng: Rng, b: Book, idle: float, busy: float) -> np.ndarray:
    """Count letters, calls or visits: few without a claim, many with a claim."""
    return rng.poisson(np.where(b.y > 0, busy, idle))


def court(rng: Rng, b: Book) -> np.ndarray:
    """Draw how far a dispute went: further for expensive claims, and occasionally without a claim."""
    depth = np.where(b.y > 0, np.log1p(b.y) / 4 + rng.normal(0, 0.4, b.n), rng.normal(-0.5, 0.6, b.n))
    return np.array(["none", "letter", "lawyer", "court"], dtype=object)[np.digitize(depth, [0.9, 1.9, 2.4])]


Line = Callable[[Rng, int, str], Book]
Plant = Callable[[Rng, Book], set[str]]
Spec = tuple[str, Line, str, int, Plant]

CERTAIN: list[Spec] = [
    ("copy_motor", motor, "fr", 6000, lambda _, b: b.put("nb_total", b.y.astype(int))),
    ("copy_health", health, "de", 1500, lambda _, b: b.put("Leistung", b.y)),
    (
        "rank_liability",
        liability,
        "en",
        3000,
        lambda _, b: b.put("loss_pos", pd.Series(b.y).rank().to_numpy()),
    ),
    ("log_repairs", repairs, "it", 2500, lambda _, b: b.put("scala", np.log(b.y))),
    ("rounded_health", health, "es", 4000, lambda _, b: b.put("tramo", np.round(b.y, -2))),
    ("rounded_houses", houses, "en", 3000, lambda _, b: b.put("billing_basis", np.round(b.y))),
    ("affine_houses", houses, "nl", 2000, lambda _, b: b.put("bruto", np.round(b.y * 1.21 + 12.5, 4))),
    ("affine_travel", travel, "sv", 5000, lambda _, b: b.put("belopp_eur", b.y * 0.0877)),
    (
        "coded_motor",
        motor,
        "es",
        8000,
        lambda _, b: b.put(
            "grupo", np.array(["ninguno", "uno", "varios"], dtype=object)[np.minimum(b.y, 2).astype(int)]
        ),
    ),
    ("coded_repairs", repairs, "de", 2000, lambda _, b: b.put("Stufe", bands(b.y, 6) + 1)),
    (
        "missing_home",
        home,
        "nl",
        7000,
        lambda r, b: b.put("oorzaak", where(b, pick(r, b.n, "brand water storm inbraak"))),
    ),
    (
        "missing_pets",
        pets,
        "en",
        3000,
        lambda r, b: b.put("days_to_notice", where(b, r.geometric(0.2, b.n), np.nan).astype(float)),
    ),
    (
        "zero_liability",
        liability,
        "pl",
        4000,
        lambda r, b: b.put("czas_obslugi", where(b, r.integers(3, 200, b.n), 0).astype(int)),
    ),
    (
        "zero_travel",
        travel,
        "pt",
        6000,
        lambda r, b: b.put("paginas", where(b, 1 + r.poisson(6, b.n), 0).astype(int)),
    ),
    (
        "flag_hail",
        hail,
        "fr",
        3000,
        lambda _, b: b.put("touche", np.where(b.y > 0, "oui", "non").astype(object)),
    ),
    ("flag_motor", motor, "de", 10000, lambda _, b: b.put("KZ_4", (b.y > 0).astype(int))),
    ("dates_motor", motor, "en", 5000, lambda r, b: between(r, b, "cover_from", "cover_to", "%Y-%m-%d")),
    ("dates_home", home, "it", 4000, lambda r, b: between(r, b, "decorrenza", "scadenza", None)),
    ("holes_loans", loans, "en", 2500, lambda r, b: b.put("apr_quoted", holes(r, b.y, 0.04))),
    ("holes_pets", pets, "sv", 5000, lambda r, b: b.put("antal_reg", holes(r, b.y, 0.25))),
]

SUSPECT: list[Spec] = [
    (
        "handlers_estimate",
        repairs,
        "en",
        3000,
        lambda r, b: b.put("adjuster_est", np.round(noisy(r, b.y, 0.25), -1)),
    ),
    ("hospital_days", health, "de", 3000, lambda r, b: b.put("Kliniktage", r.poisson(b.y / 700))),
    (
        "next_premium",
        motor,
        "fr",
        8000,
        lambda r, b: b.put("prime_n1", np.round(noisy(r, 420 * (1 + 0.5 * b.y), 0.12))),
    ),
    (
        "reserve",
        liability,
        "fr",
        5000,
        lambda r, b: b.put(
            "provision",
            np.round(
                np.where((b.y > 0) & (r.random(b.n) < 0.9), noisy(r, b.y, 0.35), 0)
                + 800 * (r.random(b.n) < 0.02)
            ),
        ),
    ),
    ("calls_home", home, "en", 6000, lambda r, b: b.put("call_count", visits(r, b, 0.15, 4.0))),
    ("letters_travel", travel, "sv", 4000, lambda r, b: b.put("brev", visits(r, b, 0.08, 3.0))),
    (
        "small_groups_hail",
        hail,
        "pt",
        3000,
        lambda r, b: b.put("media_local", np.round(average(b, groups(r, b.n, 6)), 5)),
    ),
    (
        "small_groups_motor",
        motor,
        "en",
        10000,
        lambda r, b: b.put("street_freq", np.round(average(b, groups(r, b.n, 10)), 4)),
    ),
    (
        "sorted_ids",
        health,
        "en",
        2000,
        lambda r, b: b.put("member_no", 400000 + 7 * np.argsort(np.argsort(noisy(r, b.y, 0.3))), 0),
    ),
    ("tree_score", motor, "es", 6000, lambda _, b: b.put("score_modelo", overfitted(b))),
    ("workshop_days", repairs, "de", 2500, lambda r, b: b.put("Werkstatttage", 1 + r.poisson(b.y / 300))),
    (
        "collection_cost",
        defaults,
        "en",
        3000,
        lambda r, b: b.put("workout_cost", np.round(noisy(r, 40 + 900 * b.y, 0.3), 2)),
    ),
    ("vet_visits", pets, "de", 4000, lambda r, b: b.put("Tierarztbesuche", r.poisson(0.3 + 1.6 * b.y))),
    (
        "fraud_score",
        travel,
        "en",
        7000,
        lambda r, b: b.put("siu_index", np.round(np.clip(9 * np.log1p(b.y) + r.normal(12, 12, b.n), 0, 100))),
    ),
    (
        "next_class_home",
        home,
        "it",
        8000,
        lambda r, b: b.put(
            "classe_rinnovo", np.clip(5 + 3 * (b.y > 0) + (b.y > 1500) + r.integers(-2, 3, b.n), 1, 12)
        ),
    ),
    (
        "payment_batch",
        repairs,
        "it",
        4000,
        lambda r, b: b.put(
            "lotto", np.char.add("L", (10 + bands(noisy(r, b.y, 0.3), 25)).astype(str)).astype(object)
        ),
    ),
    ("dispute", liability, "en", 6000, lambda r, b: b.put("dispute_stage", court(r, b))),
    (
        "drone_share",
        hail,
        "hu",
        2000,
        lambda r, b: b.put("dron_index", np.round(np.clip(b.y + r.normal(0, 0.02, b.n), 0, 1), 3)),
    ),
    (
        "billing_group",
        health,
        "es",
        5000,
        lambda r, b: b.put(
            "grupo_fact",
            np.array([f"G{(7 * i) % 31:02d}" for i in range(31)], dtype=object)[
                bands(noisy(r, b.y, 0.4), 31)
            ],
        ),
    ),
    (
        "profit_pets",
        pets,
        "en",
        6000,
        lambda r, b: b.put("margin_pct", np.round(65 - 30 * b.y + r.normal(0, 14, b.n), 1)),
    ),
]


def honest(*steps: Callable[[Rng, Book], object]) -> Plant:
    """Apply steps that add no leak."""

    def plant(rng: Rng, b: Book) -> set[str]:
        for step in steps:
            step(rng, b)
        return set()

    return plant


def last_year(name: str) -> Callable[[Rng, Book], object]:
    """Count last year's claims, with the same frailty, from the portfolio's mean."""

    def step(rng: Rng, b: Book) -> None:
        w = b.frame[b.exposure].to_numpy() if b.exposure else 1.0
        b.put(name, rng.poisson(b.mean / w * b.frail))

    return step


def graded(name: str, levels: str, spread: float) -> Callable[[Rng, Book], object]:
    """Grade the risk as an expert sees it in advance: the mean and a part of the lasting frailty."""

    def step(rng: Rng, b: Book) -> None:
        seen = np.log(b.mean) + 0.5 * np.log(b.frail + 0.05) + rng.normal(0, spread, b.n)
        words = np.array(levels.split(), dtype=object)
        b.put(name, words[bands(seen, len(words))])

    return step


def tariff(name: str, spread: float, per_year: bool = True) -> Callable[[Rng, Book], object]:
    """Quote a technical premium from the known factors, with commercial noise."""

    def step(rng: Rng, b: Book) -> None:
        w = b.frame[b.exposure].to_numpy() if b.exposure and per_year else 1.0
        scale = 500 / np.mean(b.mean / w)
        b.put(name, np.round(noisy(rng, scale * b.mean / w, spread), 2))

    return step


def region_mean(name: str, plain: str) -> Callable[[Rng, Book], object]:
    """Average the target over the hundreds of rows of each level."""
    return lambda _, b: b.put(name, np.round(average(b, codes(b.of(plain))), 5))


def second_age(name: str, share: float) -> Callable[[Rng, Book], object]:
    """Give the age of a second person, missing if there is none."""
    return lambda r, b: b.put(name, np.where(r.random(b.n) < share, ages(r, b.n), np.nan))


def ids(name: str, first: int) -> Callable[[Rng, Book], object]:
    """Number the rows in order of time."""
    return lambda r, b: b.put(name, first + np.cumsum(r.integers(1, 9, b.n)), 0)


def dated(name: str, start: str, days: int, form: str = "%Y-%m-%d") -> Callable[[Rng, Book], object]:
    """Give a date that is unrelated to the exposure."""
    return lambda r, b: b.put(name, days_after(start, r.integers(0, days, b.n), form))


def licence(name: str) -> Callable[[Rng, Book], object]:
    """Give the years of licence: a proxy of age."""
    return lambda r, b: b.put(name, np.maximum(b.frame[b.sensitive] - 18 - r.poisson(2, b.n), 0))


def only(*plain: str) -> Callable[[Rng, Book], object]:
    """Keep few features."""
    return lambda _, b: b.keep(*plain)


def zeros(name: str, share: float, size: float) -> Callable[[Rng, Book], object]:
    """Give an amount that is mostly 0, whatever the target."""
    return lambda r, b: b.put(name, np.round(np.where(r.random(b.n) < share, r.gamma(3, size / 3, b.n), 0)))


def past_cost(name: str, new: float, power: float = 0.7) -> Callable[[Rng, Book], object]:
    """Give last year's cost, with part of the frailty; missing for new customers."""
    return lambda r, b: b.put(
        name, holes(r, np.round(noisy(r, b.mean * (b.frail + 0.02) ** power, 0.5), 2), new) if new else
        np.round(noisy(r, b.mean * (b.frail + 0.02) ** power, 0.5), 2))  # fmt: skip


def past_claims(name: str, new: float, years: int = 3) -> Callable[[Rng, Book], object]:
    """Count the claims of previous years, with the same frailty; missing for new customers."""

    def step(rng: Rng, b: Book) -> None:
        rate = 0.12 * b.mean / np.mean(b.mean)
        b.put(name, holes(rng, rng.poisson(years * rate * b.frail).astype(float), new))

    return step


HONEST: list[Spec] = [
    ("motor_bonus", motor, "de", 20000, honest()),
    ("motor_last_year", motor, "en", 8000, honest(last_year("claims_prev_12m"))),
    ("motor_two", motor, "fr", 5000, honest(only("bonus", "power"))),
    ("motor_second_driver", motor, "es", 6000, honest(second_age("edad_segundo", 0.3))),
    ("motor_ids", motor, "de", 4000, honest(ids("VS_Nr", 7100000))),
    (
        "motor_dates",
        motor,
        "fr",
        7000,
        honest(
            dated("date_permis", "1965-01-01", 20000, "%d/%m/%Y"),
            dated("mise_en_circulation", "2003-01-01", 6900, "%d/%m/%Y"),
        ),
    ),
    ("motor_region_mean", motor, "en", 10000, honest(region_mean("territory_freq", "region"))),
    ("motor_technical", motor, "es", 9000, honest(tariff("prima_tecnica", 0.1))),
    ("motor_licence", motor, "en", 3000, honest(licence("years_licensed"))),
    (
        "motor_history",
        motor,
        "de",
        12000,
        honest(past_claims("Vorschaeden", 0.15, 5), zeros("Hsn_Rabatt", 0.2, 60)),
    ),
    ("repairs_plain", repairs, "en", 2000, honest()),
    ("fire_sum_insured", fire, "de", 4000, honest()),
    (
        "repairs_grade",
        repairs,
        "it",
        3000,
        honest(graded("costo_ricambi", "basso medio alto molto_alto", 0.4)),
    ),
    ("repairs_three", repairs, "en", 1000, honest(only("value", "cause", "speed"))),
    ("home_plain", home, "en", 15000, honest()),
    (
        "home_alarm",
        home,
        "nl",
        5000,
        honest(
            lambda r, b: b.put("alarmklasse", np.where(r.random(b.n) < 0.35, pick(r, b.n, "I II III"), None))
        ),
    ),
    (
        "home_pool",
        home,
        "it",
        6000,
        honest(zeros("mq_piscina", 0.12, 40), zeros("valore_gioielli", 0.3, 4000)),
    ),
    ("home_town_mean", home, "en", 9000, honest(region_mean("district_burn", "town"))),
    ("home_grade", home, "nl", 4000, honest(graded("inspectie", "A B C D E", 0.5))),
    ("houses_area", houses, "de", 3000, honest()),
    (
        "houses_rooms",
        houses,
        "pl",
        2500,
        honest(
            lambda r, b: b.put("pokoje", np.maximum(1, np.round(b.of("area") / 24 + r.normal(0, 0.5, b.n))))
        ),
    ),
    (
        "houses_rebuild",
        houses,
        "en",
        5000,
        honest(
            lambda r, b: b.put("rebuild_value", np.round(noisy(r, 2400 * b.of("area").to_numpy(), 0.08), -3))
        ),
    ),
    ("houses_two", houses, "nl", 1200, honest(only("area", "zone"))),
    ("health_plain", health, "en", 6000, honest()),
    ("health_last_year", health, "de", 4000, honest(past_cost("Kosten_Vorjahr", 0.1, 0.7))),
    ("health_grade", health, "es", 2500, honest(graded("riesgo_medico", "bajo medio alto muy_alto", 0.3))),
    (
        "health_enrolled",
        health,
        "en",
        3000,
        honest(dated("enrolled_on", "2005-01-01", 6500), ids("card", 90000)),
    ),
    ("health_three", health, "de", 1500, honest(only("chronic", "smoker"))),
    ("liability_plain", liability, "fr", 4000, honest()),
    ("liability_grade", liability, "en", 3500, honest(graded("uw_grade", "1 2 3 4 5 6", 0.4))),
    ("liability_sector_mean", liability, "pl", 8000, honest(region_mean("srednia_branzy", "sector"))),
    ("liability_history", liability, "en", 5000, honest(past_claims("claims_3y", 0.3))),
    ("travel_plain", travel, "pt", 8000, honest()),
    (
        "travel_booked",
        travel,
        "en",
        5000,
        honest(
            dated("booked_on", "2023-01-02", 360), lambda r, b: b.put("lead_days", r.geometric(0.02, b.n))
        ),
    ),
    ("travel_two", travel, "sv", 3000, honest(only("days", "price"))),
    ("pets_class", pets, "en", 7000, honest(graded("breed_band", "A B C D", 0.2), last_year("claims_ly"))),
    (
        "pets_ids",
        pets,
        "de",
        3000,
        honest(ids("Chipnummer", 276098100), second_age("Alter_Zweithalter", 0.4)),
    ),
    ("hail_past", hail, "fr", 3000, honest(past_cost("taux_10ans", 0.05, 0.5))),
    ("loans_score", loans, "es", 6000, honest()),
    ("defaults_secured", defaults, "it", 2500, honest(zeros("fideiussione", 0.2, 9000))),
]


def tables() -> Iterator[Table]:
    """Make the eighty tables, each from its own seed."""
    seed = 83_000
    for kind, specs in (("certain", CERTAIN), ("suspect", SUSPECT), ("honest", HONEST)):
        for name, line, lang, n, plant in specs:
            rng = np.random.default_rng(seed)
            made = line(rng, n, lang)
            planted = plant(rng, made)
            names = {"target": made.target, "sensitive": made.sensitive, "exposure": made.exposure}
            yield f"{kind}_{name}", kind, made.frame, names, planted
            seed += 1
