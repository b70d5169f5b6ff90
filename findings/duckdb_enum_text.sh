#!/usr/bin/env bash
# Package: duckdb 2.0.1, with pandas 3.1.1, pyarrow 26.0.1 and numpy 2.4.6.
# Seen: an ordered category of pandas becomes an ENUM, which ORDER BY and max take in its order: low, medium, high. A
#   comparison with a text, such as class > 'low', BETWEEN or a parameter of the query, compares letters: only medium is
#   above low, and high is below medium. A cast of the text to the ENUM gives the order again. Nothing warns.
# Expected: the order of the type in comparisons too, as in pandas and PostgreSQL.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check duckdb==2.0.1 pandas==3.1.1 numpy==2.4.6 pyarrow==26.0.1
env/bin/python > seen.txt <<'PY'
import duckdb
import pandas as pd

levels = ["low", "medium", "high"]
risk = pd.DataFrame({"class": pd.Categorical(["high", "low", "medium"], categories=levels, ordered=True)})
duckdb.sql("CREATE TABLE policies AS SELECT class FROM risk")


def classes(query):
    return ", ".join(each for (each,) in duckdb.sql(query).fetchall()) or "none"


print(classes("SELECT column_type FROM (DESCRIBE policies)"))
print("ORDER BY class:", classes("SELECT class FROM policies ORDER BY class"))
print("max(class):", classes("SELECT max(class) FROM policies"))
for where in ("class > 'low'", "class <= 'medium'", "class BETWEEN 'low' AND 'high'",
              "class > 'low'::ENUM('low', 'medium', 'high')"):  # fmt: skip
    print(f"{where}:", classes(f"SELECT class FROM policies WHERE {where} ORDER BY class"))
asked = duckdb.execute("SELECT class FROM policies WHERE class > ? ORDER BY class", ["low"]).fetchall()
print("class > ?:", ", ".join(each for (each,) in asked))
print("pandas, class > 'low':", ", ".join(sorted(risk["class"][risk["class"] > "low"], key=levels.index)))
PY
diff - seen.txt <<'SEEN'
ENUM('low', 'medium', 'high')
ORDER BY class: low, medium, high
max(class): high
class > 'low': medium
class <= 'medium': low, medium, high
class BETWEEN 'low' AND 'high': none
class > 'low'::ENUM('low', 'medium', 'high'): medium, high
class > ?: medium
pandas, class > 'low': medium, high
SEEN
