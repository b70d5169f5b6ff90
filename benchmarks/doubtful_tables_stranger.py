"""Tables by someone who had not read the rules, 15 doubtful and 15 regular (benchmarks.doubtful_tables)."""

import csv
import datetime as dt
import io

import numpy as np


# ---------------------------------------------------------------- helpers
def _n(rng, lo=60, hi=400):
    return int(rng.integers(lo, hi + 1))


def _csv(header, rows, sep=",", eol="\n", enc="utf-8"):
    buf = io.StringIO()
    w = csv.writer(buf, delimiter=sep, lineterminator=eol)
    if header is not None:
        w.writerow(header)
    w.writerows(rows)
    return buf.getvalue().encode(enc)


def _pick(rng, options, n, p=None):
    return [options[int(i)] for i in rng.choice(len(options), size=n, p=p)]


def _dates(rng, n, first, last):
    a, b = dt.date.fromisoformat(first), dt.date.fromisoformat(last)
    return [a + dt.timedelta(days=int(d)) for d in rng.integers(0, (b - a).days + 1, size=n)]


def _some(rng, n, lo=0.03, hi=0.10):
    """Set of row numbers, lo..hi of the rows (at least 3)."""
    k = max(3, round(n * rng.uniform(lo + 0.005, hi - 0.005)))
    return {int(i) for i in rng.choice(n, size=k, replace=False)}


def _fr(x, d=2):
    return f"{x:.{d}f}".replace(".", ",")


# ---------------------------------------------------------------- doubtful
def d_motor_999(rng):
    """T2: 999 in driver_age, 1900-01-01 in licence_date."""
    n = _n(rng, 120, 400)
    age = np.clip(rng.normal(46, 15, n), 18, 91).astype(int)
    lic = [d.isoformat() for d in _dates(rng, n, "1971-03-01", "2021-11-30")]
    age = [int(a) for a in age]
    for i in _some(rng, n):
        age[i] = 999
    for i in _some(rng, n):
        lic[i] = "1900-01-01"
    veh = _pick(rng, ["hatchback", "saloon", "estate", "SUV", "van"], n)
    prem = np.round(rng.gamma(6, 85, n), 2)
    rows = [
        (f"POL{10000 + i}", age[i], lic[i], veh[i], f"{prem[i]:.2f}", int(rng.poisson(0.12)))
        for i in range(n)
    ]
    return "motor_portfolio.csv", _csv(
        ["policy_ref", "driver_age", "licence_date", "body_type", "annual_premium", "claim_count"], rows
    )


def d_hogares_minus9(rng):
    """T2: -9 in ingreso_mensual, 99 is avoided; 9999 in anio_llegada."""
    n = _n(rng, 120, 400)
    inc = [int(v) for v in np.round(rng.lognormal(7.4, 0.5, n))]
    yr = [int(v) for v in rng.integers(1962, 2021, n)]
    for i in _some(rng, n):
        inc[i] = -9
    for i in _some(rng, n):
        yr[i] = 9999
    prov = _pick(rng, ["Sevilla", "Lugo", "Teruel", "Murcia", "Burgos"], n)
    rows = [(i + 1, prov[i], int(rng.integers(1, 7)), inc[i], yr[i]) for i in range(n)]
    return "encuesta_hogares.csv", _csv(
        ["id_hogar", "provincia", "personas", "ingreso_mensual", "anio_llegada"], rows, sep=";"
    )


def d_ledger_brackets(rng):
    """T3: negative amounts in brackets; zeros as a dash."""
    n = _n(rng, 80, 300)
    rows = []
    for i, d in enumerate(sorted(_dates(rng, n, "2022-01-03", "2022-12-30"))):
        gross = round(float(rng.lognormal(7.2, 0.8)), 2)
        g = f"({gross:,.2f})" if i % 7 == 3 else f"{gross:,.2f}"
        r = "-" if rng.random() < 0.3 or i % 11 == 0 else f"{gross * 0.25:,.2f}"
        rows.append(
            (f"CL-{7000 + i}", d.isoformat(), _pick(rng, ["Fire", "Theft", "Water", "Storm"], 1)[0], g, r)
        )
    return "claims_ledger_2022.csv", _csv(
        ["claim_no", "booking_date", "peril", "gross_amount", "ri_recovery"], rows
    )


def d_konto_topcode(rng):
    """T3: trailing minus in Buchungsbetrag, top code 250.000+ in Jahreseinkommen."""
    n = _n(rng, 100, 300)

    def de(x):
        return f"{x:,.2f}".replace(",", " ").replace(".", ",").replace(" ", ".")

    inc = rng.lognormal(10.7, 0.55, n)
    top = _some(rng, n)
    rows = []
    for i in range(n):
        amt = float(rng.lognormal(5.5, 0.7))
        e = "250.000+" if i in top else f"{int(min(inc[i], 240000)):,}".replace(",", ".")
        rows.append(
            (
                f"V{300100 + i}",
                _pick(rng, ["Leben", "Kranken", "Unfall"], 1)[0],
                e,
                de(amt) + ("-" if i % 9 == 4 else ""),
            )
        )
    return "vertragskonten.csv", _csv(
        ["Vertragsnr", "Sparte", "Jahreseinkommen", "Buchungsbetrag"], rows, sep=";", eol="\r\n", enc="utf-8"
    )


def d_sinistres_yyyymmdd(rng):
    """T4: date_survenance and date_declaration as YYYYMMDD."""
    n = _n(rng)
    rows = []
    for i, d in enumerate(_dates(rng, n, "2016-01-01", "2023-10-31")):
        e = d + dt.timedelta(days=int(rng.integers(0, 60)))
        rows.append(
            (
                f"S{i + 1:05d}",
                d.strftime("%Y%m%d"),
                e.strftime("%Y%m%d"),
                _pick(rng, ["bris de glace", "vol", "incendie", "dégât des eaux"], 1)[0],
                _fr(float(rng.lognormal(6.8, 0.9))),
            )
        )
    return "sinistres.csv", _csv(
        ["num_sinistre", "date_survenance", "date_declaration", "cause", "montant_regle"], rows, sep=";"
    )


def d_deaths_yyyymmdd(rng):
    """T4: birth_date as YYYYMMDD; the other date is ISO."""
    n = _n(rng)
    b = _dates(rng, n, "1922-01-01", "1960-12-31")
    x = _dates(rng, n, "2019-01-01", "2021-12-31")
    sex = _pick(rng, ["F", "M"], n)
    pens = np.round(rng.gamma(9, 95, n), 2)
    rows = [(b[i].strftime("%Y%m%d"), x[i].isoformat(), sex[i], f"{pens[i]:.2f}") for i in range(n)]
    return "pensioner_deaths.txt", _csv(
        ["birth_date", "death_date", "sex", "monthly_pension"], rows, sep="\t"
    )


def d_two_spellings_caps(rng):
    """T5: region and fuel in two capitalisations."""
    n = _n(rng, 100, 400)
    reg = _pick(rng, ["North", "South", "East", "West"], n)
    fuel = _pick(rng, ["petrol", "diesel", "electric"], n, [0.5, 0.35, 0.15])
    for i in _some(rng, n, 0.06, 0.14):
        reg[i] = reg[i].upper()
    di = [i for i in range(n) if fuel[i] == "diesel"]
    for i in di[::5]:
        fuel[i] = "Diesel"
    rows = [
        (
            2015 + int(rng.integers(0, 8)),
            reg[i],
            fuel[i],
            f"{float(rng.uniform(0.1, 1)):.3f}",
            int(rng.poisson(0.1)),
        )
        for i in range(n)
    ]
    return "freq_by_region.csv", _csv(["uw_year", "region", "fuel", "exposure", "claims"], rows)


def d_two_spellings_space(rng):
    """T5: 'casado' and 'casado ' (trailing space)."""
    n = _n(rng, 100, 400)
    ec = _pick(rng, ["casado", "soltero", "viudo", "divorciado"], n, [0.5, 0.3, 0.1, 0.1])
    hit = [i for i in range(n) if ec[i] == "casado"]
    for i in hit[::6]:
        ec[i] = "casado "
    hit = [i for i in range(n) if ec[i] == "soltero"]
    for i in hit[::8]:
        ec[i] = "soltero "
    rows = [
        (
            i + 1,
            _pick(rng, ["hombre", "mujer"], 1)[0],
            int(rng.integers(18, 90)),
            ec[i],
            _pick(rng, ["urbano", "rural"], 1)[0],
        )
        for i in range(n)
    ]
    return "censo_personas.csv", _csv(["persona", "sexo", "edad", "estado_civil", "ambito"], rows)


def d_bands(rng):
    """T6: age_band 18-24 ... 75+ and mileage bands, as text."""
    bands = ["18-24", "25-34", "35-44", "45-54", "55-64", "65-74", "75+"]
    km = ["0-4999", "5000-9999", "10000-19999", "20000+"]
    rows = []
    for y in range(2018, 2023):
        for s in ("F", "M"):
            for b in bands:
                for k in km:
                    e = float(rng.gamma(4, 60))
                    rows.append((y, s, b, k, f"{e:.1f}", int(rng.poisson(e * 0.08))))
    keep = sorted(rng.choice(len(rows), size=_n(rng, 120, 270), replace=False))
    return "experience_by_band.csv", _csv(
        ["year", "sex", "age_band", "mileage_band", "exposure_years", "claims"], [rows[i] for i in keep]
    )


def d_aligned(rng):
    """T8: life table aligned by spaces, no other delimiter."""
    lines = [f"{'Year':>6}{'Age':>8}{'mx':>12}{'qx':>11}{'lx':>9}{'dx':>8}{'ex':>8}"]
    for y in (2001, 2002, 2003):
        lives = 100000.0
        for a in range(0, 100):
            m = 0.00003 * np.exp(0.096 * a) * rng.uniform(0.9, 1.1) + (0.004 if a == 0 else 0.0002)
            q = m / (1 + 0.5 * m)
            d = lives * q
            ex = max(1.8, 81.0 - a * 0.93 + 0.0014 * a * a)
            lines.append(f"{y:>6}{a:>8}{m:>12.5f}{q:>11.5f}{lives:>9.0f}{d:>8.0f}{ex:>8.2f}")
            lives -= d
    return "lifetable_1x1.txt", ("\n".join(lines) + "\n").encode()


def d_r_write_table(rng):
    """T8: write.table of R with its defaults: quoted text, row names, header one cell short."""
    n = _n(rng)
    out = ['"IDpol" "Area" "VehAge" "BonusMalus" "Gender" "ClaimAmount"']
    for i in range(n):
        out.append(
            f'"{i + 1}" {500 + 3 * i} "{"ABCDEF"[int(rng.integers(6))]}" {int(rng.integers(0, 18))} '
            f'{int(rng.integers(50, 130))} "{("Male", "Female")[int(rng.integers(2))]}" '
            f"{round(float(rng.gamma(2, 700)), 2):g}"
        )
    return "freMTPL_sample.txt", ("\n".join(out) + "\n").encode()


def d_eurostat(rng):
    """T8: Eurostat TSV: comma keys in the first column, ':' for missing, flags behind the values."""
    years = list(range(2022, 2010, -1))
    geo = ["AT", "BE", "BG", "CZ", "DE", "ES", "FR", "IT", "NL", "PL", "PT", "SE"]
    out = ["freq,unit,sex,age,geo\\TIME_PERIOD\t" + "\t".join(f"{y} " for y in years)]
    for s in ("F", "M", "T"):
        for a in ("TOTAL", "Y_LT5", "Y5-9", "Y10-14", "Y_GE85"):
            for g in geo:
                base = float(rng.lognormal(12.5, 0.9))
                cells = []
                for _ in years:
                    u = rng.random()
                    v = int(base * rng.uniform(0.97, 1.03))
                    cells.append(
                        ": "
                        if u < 0.06
                        else ": c"
                        if u < 0.08
                        else f"{v} {('b', 'p', 'e', 'bp')[int(rng.integers(4))]}"
                        if u < 0.2
                        else f"{v} "
                    )
                out.append(f"A,NR,{s},{a},{g}\t" + "\t".join(cells))
    return "demo_pjan.tsv", ("\n".join(out) + "\n").encode()


def d_second_header(rng):
    """T8: a row of units under the names."""
    n = _n(rng)
    rows = [("", "Jahre", "m2", "EUR", "EUR")]
    for i in range(n):
        a = int(rng.integers(45, 260))
        rows.append(
            (
                f"WG{4000 + i}",
                int(rng.integers(1, 110)),
                a,
                a * int(rng.integers(14, 26)) * 100,
                f"{a * rng.uniform(1.5, 3.2):.2f}",
            )
        )
    return "wohngebaeude.csv", _csv(
        ["Objekt", "Gebaeudealter", "Wohnflaeche", "Versicherungssumme", "Jahresbeitrag"], rows, sep=";"
    )


def d_title_total(rng):
    """T8: title above the header; a total row and a note below."""
    n = _n(rng, 60, 200)
    out = [
        ["Tableau 3 - Population municipale par commune, recensement 2019", "", "", ""],
        ["", "", "", ""],
        ["code_commune", "commune", "population", "logements"],
    ]
    tp = tl = 0
    syl = ["Saint", "Mont", "Ville", "Bois", "Roche", "Val", "Pont", "Cour"]
    end = ["-sur-Loire", "-le-Vieux", "mont", "court", "-la-Forêt", "ac", "igny"]
    for i in range(n):
        p = int(rng.lognormal(6.8, 1.0)) + 20
        lives = int(p * rng.uniform(0.4, 0.6))
        tp, tl = tp + p, tl + lives
        out.append([str(45001 + i), syl[int(rng.integers(8))] + end[int(rng.integers(7))], p, lives])
    out += [
        ["Total", "", tp, tl],
        ["", "", "", ""],
        ["Source : Insee, recensement de la population 2019. Géographie au 01/01/2021.", "", "", ""],
    ]
    return "population_communes.csv", _csv(None, out, sep=";")


def d_formula_errors(rng):
    """T8: #REF!, #VALUE!, #DIV/0! left by a spreadsheet."""
    n = _n(rng, 80, 300)
    bad, bad2 = _some(rng, n), _some(rng, n)
    rows = []
    for i in range(n):
        ep = float(rng.gamma(5, 24000))
        inc = ep * float(rng.beta(6, 4))
        rows.append(
            (
                1000 + i,
                _pick(rng, ["Motor", "Home", "Liability", "Marine"], 1)[0],
                f"{ep:.2f}",
                "#REF!" if i in bad else f"{inc:.2f}",
                ("#VALUE!" if i % 2 else "#DIV/0!") if (i in bad2 or i in bad) else f"{inc / ep:.4f}",
            )
        )
    return "loss_ratio_workbook.csv", _csv(
        ["broker_id", "line", "earned_premium", "incurred", "loss_ratio"], rows, eol="\r\n"
    )


DOUBTFUL = {
    "motor_999": d_motor_999,
    "hogares_minus9": d_hogares_minus9,
    "ledger_brackets": d_ledger_brackets,
    "konto_topcode": d_konto_topcode,
    "sinistres_yyyymmdd": d_sinistres_yyyymmdd,
    "deaths_yyyymmdd": d_deaths_yyyymmdd,
    "two_spellings_caps": d_two_spellings_caps,
    "two_spellings_space": d_two_spellings_space,
    "bands": d_bands,
    "aligned": d_aligned,
    "r_write_table": d_r_write_table,
    "eurostat": d_eurostat,
    "second_header": d_second_header,
    "title_total": d_title_total,
    "formula_errors": d_formula_errors,
}

EXPECTED = {
    "motor_999": ["driver_age", "licence_date"],
    "hogares_minus9": ["ingreso_mensual", "anio_llegada"],
    "ledger_brackets": ["gross_amount", "ri_recovery"],
    "konto_topcode": ["Jahreseinkommen", "Buchungsbetrag"],
    "sinistres_yyyymmdd": ["date_survenance", "date_declaration"],
    "deaths_yyyymmdd": ["birth_date"],
    "two_spellings_caps": ["region", "fuel"],
    "two_spellings_space": ["estado_civil"],
    "bands": ["age_band", "mileage_band"],
    "aligned": ["file"],
    "r_write_table": ["file"],
    "eurostat": ["file"],
    "second_header": ["file"],
    "title_total": ["file"],
    "formula_errors": ["incurred", "loss_ratio"],
}


# ---------------------------------------------------------------- honest
def h_ages_to_99(rng):
    """True ages 0..99 with a smooth tail; prices that often end in 99."""
    n = _n(rng, 200, 400)
    pool = rng.normal(70, 15, 4 * n)
    age = [int(a) for a in pool[(pool >= 20) & (pool < 100)][:n]]  # cut, not clipped: no heap at 99
    age[5], age[6], age[7] = 99, 98, 97
    price = [f"{int(rng.integers(9, 90))}.99" for _ in range(n)]
    rows = [
        (f"M{i:04d}", age[i], _pick(rng, ["basic", "comfort", "premium"], 1)[0], price[i]) for i in range(n)
    ]
    return "dental_members.csv", _csv(["member", "age", "plan", "monthly_price"], rows)


def h_ids_like_dates(rng):
    """Running ids 20240001..., which are no dates."""
    n = _n(rng)
    rows = [
        (
            20240001 + i,
            _pick(rng, ["Kasko", "Haftpflicht", "Hausrat"], 1)[0],
            f"{float(rng.lognormal(7, 0.8)):.2f}",
        )
        for i in range(n)
    ]
    return "schadenfaelle_2024.csv", _csv(["Schadennummer", "Sparte", "Aufwand"], rows)


def h_real_negatives(rng):
    """Movements of reserves: about half are truly negative."""
    n = _n(rng)
    rows = [
        (
            _pick(rng, ["GL", "PI", "WC", "MTPL"], 1)[0],
            2010 + int(rng.integers(0, 12)),
            f"{float(rng.normal(200, 5200)):.2f}",
            f"{float(rng.gamma(3, 9000)):.2f}",
        )
        for _ in range(n)
    ]
    return "reserve_movements.csv", _csv(
        ["class", "accident_year", "reserve_change", "closing_reserve"], rows
    )


def h_digits(rng):
    """nb_enfants 0..5 and a claims-free-years column 0..9."""
    n = _n(rng, 150, 400)
    rows = [
        (
            i + 1,
            int(rng.integers(0, 10)),
            int(min(5, rng.poisson(1.3))),
            _pick(rng, ["propriétaire", "locataire"], 1)[0],
        )
        for i in range(n)
    ]
    return "menages.csv", _csv(["menage", "annees_sans_sinistre", "nb_enfants", "statut"], rows, sep=";")


def h_years(rng):
    """Years 1950..2024 as numbers, two countries, births and deaths."""
    rows = []
    for c, b in (("Norway", 62000), ("Finland", 70000)):
        for k, y in enumerate(range(1950, 2025)):
            rows.append(
                (
                    c,
                    y,
                    int(b * (1 - 0.002 * k) * rng.uniform(0.96, 1.04)),
                    int(b * 0.7 * rng.uniform(0.95, 1.05)),
                )
            )
    return "vital_events.csv", _csv(["country", "year", "births", "deaths"], rows)


def h_postcodes(rng):
    """Postcodes with leading zeros, quoted as text."""
    n = _n(rng)
    out = ['"PLZ","Ort","Haushalte","Zone"']
    ort = ["Dresden", "Leipzig", "Halle", "Jena", "Gera", "Zwickau"]
    pre = ["010", "041", "061", "077", "075", "080"]
    for _ in range(n):
        k = int(rng.integers(6))
        out.append(
            f'"{pre[k]}{int(rng.integers(1, 99)):02d}","{ort[k]}",{int(rng.integers(180, 9000))},'
            f"{int(rng.integers(1, 5))}"
        )
    return "plz_zonen.csv", ("\n".join(out) + "\n").encode()


def h_distinct_classes(rng):
    """Categories that look alike and are distinct: A1, A2, B1, a-2 style sub codes, Mr/Mrs/Ms."""
    n = _n(rng, 120, 400)
    rows = [
        (
            _pick(rng, ["Mr", "Mrs", "Ms", "Dr"], 1, [0.45, 0.25, 0.25, 0.05])[0],
            _pick(rng, ["A1", "A2", "B1", "B2", "A1-2", "C"], 1)[0],
            _pick(rng, ["third party", "third party fire and theft", "comprehensive"], 1)[0],
            f"{float(rng.gamma(7, 60)):.2f}",
        )
        for _ in range(n)
    ]
    return "quotes.csv", _csv(["title", "occupation_class", "cover", "quoted_premium"], rows)


def h_round_sums(rng):
    """Sums insured, all round: 1000, 10000, 99000 ..."""
    n = _n(rng)
    s = [1000, 2500, 5000, 10000, 15000, 20000, 25000, 50000, 75000, 99000, 100000]
    rows = []
    for i in range(n):
        v = s[int(rng.integers(len(s)))]
        rows.append(
            (
                f"P-{88000 + i}",
                v,
                _pick(rng, ["contents", "jewellery", "bicycle", "art"], 1)[0],
                f"{v * float(rng.uniform(0.002, 0.006)):.2f}",
            )
        )
    return "sums_insured.csv", _csv(["policy", "sum_insured", "item_type", "premium"], rows)


def h_temperatures(rng):
    """Daily mean temperature in whole degrees; -1 is a real value among its neighbours."""
    n = _n(rng, 150, 365)
    d0 = dt.date(2021, 1, 1)
    rows = []
    for i in range(n):
        t = 4 - 9 * np.cos(2 * np.pi * i / 365) + rng.normal(0, 3.5)
        rows.append(((d0 + dt.timedelta(days=i)).isoformat(), round(t), int(rng.poisson(3))))
    return "daily_weather_claims.csv", _csv(["day", "mean_temp_c", "burst_pipe_claims"], rows)


def h_mostly_zero(rng):
    """Claim counts, mostly 0."""
    n = _n(rng, 200, 400)
    rows = []
    for i in range(n):
        k = int(rng.poisson(0.05))
        rows.append(
            (
                i + 1,
                f"{float(rng.uniform(0.05, 1)):.2f}",
                int(rng.integers(0, 21)),
                k,
                f"{float(rng.gamma(2, 900)) * k:.2f}",
            )
        )
    return "polizas_auto.csv", _csv(
        ["id_poliza", "exposicion", "antiguedad_vehiculo", "num_siniestros", "coste"], rows
    )


def h_decimal_comma(rng):
    """Plain French CSV: semicolons and decimal comma."""
    n = _n(rng)
    rows = [
        (
            f"C{i + 1:04d}",
            _pick(rng, ["Auto", "Habitation", "Santé"], 1)[0],
            _fr(float(rng.gamma(5, 90))),
            _fr(float(rng.uniform(0.05, 0.35)), 3),
        )
        for i in range(n)
    ]
    return "primes.csv", _csv(["contrat", "branche", "prime_ttc", "taux_commission"], rows, sep=";")


def h_plain_tsv(rng):
    """Plain TSV: population by district, sex and age in single years."""
    rows = []
    for d in ("Nord", "Süd"):
        for s in ("m", "w"):
            for a in range(0, 100):
                rows.append(
                    (d, s, a, int(900 * np.exp(-((max(a - 45, 0) / 28) ** 2)) * rng.uniform(0.85, 1.15)) + 2)
                )
    return "bevoelkerung.tsv", _csv(["Bezirk", "Geschlecht", "Alter", "Personen"], rows, sep="\t")


def h_cent_prices(rng):
    """Prices in steps of 0.01 and ISO dates."""
    n = _n(rng)
    d = sorted(_dates(rng, n, "2020-01-01", "2023-12-31"))
    p = np.maximum(80 + np.cumsum(rng.normal(0, 0.6, n)), 20)
    rows = [(d[i].isoformat(), f"{p[i]:.2f}", f"{float(rng.uniform(0.01, 0.30)):.2f}") for i in range(n)]
    return "unit_prices.csv", _csv(["valuation_date", "unit_price", "bid_offer_spread"], rows)


def h_free_text(rng):
    """Free text with commas, hyphens and figures, properly quoted."""
    n = _n(rng, 60, 250)
    who = ["Insured", "Neighbour", "Tenant", "Third party", "Driver"]
    what = [
        "reports a leak under the sink",
        "hit a post while parking, no injuries",
        "found the lock broken",
        'says "nobody was at home"',
        "lost 3 roof tiles in the storm",
        "dropped a phone (screen cracked)",
    ]
    where = [
        "in the kitchen",
        "at the supermarket",
        "on the A38 near junction 12",
        "at the rear of the house",
    ]
    d = _dates(rng, n, "2021-02-01", "2023-09-30")
    rows = [
        (
            f"N{5000 + i}",
            d[i].isoformat(),
            f"{_pick(rng, who, 1)[0]} {_pick(rng, what, 1)[0]}, {_pick(rng, where, 1)[0]}; "
            f"call back before {int(rng.integers(9, 18))}:{int(rng.integers(0, 60)):02d}.",
            f"{float(rng.lognormal(6, 0.8)):.2f}",
        )
        for i in range(n)
    ]
    return "claim_notes.csv", _csv(["note_id", "notified_on", "description", "estimate"], rows)


def h_bonus_malus(rng):
    """Bonus-malus 50..350, vehicle power 4..15, density."""
    n = _n(rng, 200, 400)
    bm = [50 if rng.random() < 0.55 else int(min(350, 51 + rng.gamma(1.3, 28))) for _ in range(n)]
    bm[3], bm[4] = 350, 228
    rows = [
        (
            bm[i],
            int(rng.integers(4, 16)),
            int(rng.lognormal(5.9, 1.3)) + 1,
            _pick(rng, ["R11", "R24", "R53", "R82", "R93"], 1)[0],
        )
        for i in range(n)
    ]
    return "bonus_malus.csv", _csv(["bonus_malus", "puissance", "densite", "region"], rows)


HONEST = {
    "ages_to_99": h_ages_to_99,
    "ids_like_dates": h_ids_like_dates,
    "real_negatives": h_real_negatives,
    "digits": h_digits,
    "years": h_years,
    "postcodes": h_postcodes,
    "distinct_classes": h_distinct_classes,
    "round_sums": h_round_sums,
    "temperatures": h_temperatures,
    "mostly_zero": h_mostly_zero,
    "decimal_comma": h_decimal_comma,
    "plain_tsv": h_plain_tsv,
    "cent_prices": h_cent_prices,
    "free_text": h_free_text,
    "bonus_malus": h_bonus_malus,
}
