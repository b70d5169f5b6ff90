#!/usr/bin/env bash
# Package: zensical 0.0.73.
# Seen: a script that mkdocs.yml names as a string under extra.polyfills, as Material for MkDocs permits, becomes a script
#   element with an empty src. The build reports no error, even with --strict, and the browser loads the page itself as a
#   script. With the polyfill iframe-worker, the search of a site opened from files then does not work.
# Expected: the script, as for a map with a path, or a warning.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check zensical==0.0.73
mkdir docs
echo '# Home' > docs/index.md
echo '"use strict";' > docs/own.js
for entry in own.js '{path: own.js, type: text/javascript}'; do
  printf 'site_name: site\ntheme: {name: material, font: false}\nextra: {polyfills: [%s]}\n' "$entry" > mkdocs.yml
  NO_COLOR=1 env/bin/python -m zensical build --strict --clean -f mkdocs.yml 2>&1 | grep -i 'issue' >> seen.txt
  grep -o '<script src="[^"]*" type="[^"]*"></script>' site/index.html >> seen.txt
done
diff - seen.txt <<'SEEN'
No issues found
<script src="" type=""></script>
No issues found
<script src="own.js" type="text/javascript"></script>
SEEN
