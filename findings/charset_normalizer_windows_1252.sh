#!/usr/bin/env bash
# Package: charset-normalizer 3.5.2.
# Seen: short tables in Windows-1252, as Excel saves them in western Europe, are identified as other code pages. A Spanish
#   table is identified as cp1250, so that its column año is named ańo; a table with euro signs is identified as cp864,
#   which shows a degree sign for each €. The result does not say that several code pages fit.
# Expected: Windows-1252, or no answer if the bytes fit several code pages.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check charset-normalizer==3.5.2
env/bin/python > seen.txt <<'PY'
from charset_normalizer import from_bytes

spanish = "edad;año;ocupación\n" + "".join(
    f"{20 + i};{2000 + i};{word}\n" for i, word in enumerate(["médico", "peón", "señal"] * 8)
)
euro = "age;premium €\n" + "".join(f"{20 + i};{300 + i} €\n" for i in range(20))
for text in (spanish, euro):
    best = from_bytes(text.encode("cp1252")).best()
    print(best.encoding, str(best) == text, ascii(str(best).split("\n")[0]))
PY
diff - seen.txt <<'SEEN'
cp1250 False 'edad;a\u0144o;ocupaci\xf3n'
cp864 False 'age;premium \xb0'
SEEN
