#!/usr/bin/env bash
# Package: pyreadstat 1.3.7, with pandas 3.1.1 and numpy 2.4.6.
# Seen: a SAS transport file (.xpt) may contain several tables, as written by PROC COPY for a library. read_xport reads
#   the first table and interprets everything after it, including headers, as more rows of this table: three policies
#   become 57, with ages of 3.7e-40 and 1.2e9. The metadata count these rows, and no warning is given. read_sas of pandas
#   returns the same number of rows.
# Expected: the rows of the first table, or a choice of the table.
# Input: two files of pyreadstat in one. The header of the library, of 240 bytes, stands once, then that of each table.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check pyreadstat==1.3.7 pandas==3.1.1 numpy==2.4.6
env/bin/python > seen.txt <<'PY'
import warnings
from pathlib import Path

import pandas as pd
import pyreadstat

warnings.simplefilter("error")
content = b""
for name, table in (
    ("POLICIES", {"AGE": [20.0, 30.0, 40.0], "PRICE": [100.0, 90.0, 80.0]}),
    ("CLAIMS", {"ID": [7.0, 8.0], "COST": [500.0, 20.0]}),
):
    pyreadstat.write_xport(pd.DataFrame(table), "one.xpt", table_name=name, file_format_version=5)
    content += Path("one.xpt").read_bytes()[240 if content else 0 :]
Path("two.xpt").write_bytes(content)
rows, about = pyreadstat.read_xport("two.xpt")
print("tables in the file:", content.count(b"*******MEMBER  HEADER RECORD"))
print(f"rows of {about.table_name}:", len(rows), "and by the metadata", about.number_rows)
print("first ages:", ["%.2g" % each for each in rows["AGE"][:6]])
print("rows by pandas:", len(pd.read_sas("two.xpt", format="xport")))
PY
diff - seen.txt <<'SEEN'
tables in the file: 2
rows of POLICIES: 57 and by the metadata 57
first ages: ['20', '30', '40', '3.7e-40', '3.7e-40', '1.2e+09']
rows by pandas: 57
SEEN
