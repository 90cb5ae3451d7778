#!/usr/bin/env bash
# Builds the site of the documents and the API into build/site/html.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
Usage: scripts/docs.sh [--no-deps] [--no-browser] [--serve] [--help]

Builds the site: README.md and docs/, the reference of the API (Doxygen), the manual of the command and the samples. A
broken link, a missing picture, an unknown reference or a page outside the navigation is an error. Then opens every page
in headless Chromium, and checks that it renders, also on a narrow screen and in the dark scheme, and that the search
finds what it should.

  --no-deps      install nothing
  --no-browser   do not open the pages in Chromium
  --serve        afterwards serve the site on http://localhost:8000 until Ctrl-C
TEXT
}

deps=yes
browser=yes
serve=no
for argument in "$@"; do
  case "$argument" in
    --no-deps) deps=no ;;
    --no-browser) browser=no ;;
    --serve) serve=yes ;;
    -h | --help) usage; exit 0 ;;
    *) echo "docs.sh: unknown option '$argument'" >&2; usage >&2; exit 2 ;;
  esac
done

out=$PWD/build/site
venv=$out/venv
mkdir -p "$out"
if [[ $deps == yes ]]; then
  scripts/install_deps.sh --docs
  if [[ ! -x $venv/bin/mkdocs ]]; then
    echo "docs: installing MkDocs into $venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check mkdocs-material playwright
  fi
fi
for tool in doxygen "$venv/bin/mkdocs"; do
  command -v "$tool" > /dev/null || { echo "docs: $tool is missing; run scripts/docs.sh without --no-deps" >&2; exit 1; }
done

scripts/pictures.sh --check
scripts/figures/figures.py --check
benchmarks/peers/report.py --check

version=$(sed -n 's/^ *VERSION \([0-9.]*\)$/\1/p' CMakeLists.txt | head -1)
rm -rf "$out/xml"
{
  cat docs/Doxyfile
  printf '%s\n' "OUTPUT_DIRECTORY = $out" "GENERATE_HTML = NO" "GENERATE_XML = YES" "XML_PROGRAMLISTING = NO"
} > "$out/Doxyfile"
DOCLOCK_VERSION=$version doxygen "$out/Doxyfile"

"$venv/bin/python" scripts/site/pages.py "$PWD" "$out/xml" "$out"
NO_MKDOCS_2_WARNING=1 "$venv/bin/mkdocs" build --quiet --strict --clean --config-file "$out/mkdocs.yml"
echo "docs: $(find "$out/html" -name '*.html' | wc -l) pages in build/site/html"

if [[ $browser == yes ]]; then
  "$venv/bin/python" scripts/site/browse.py "$out/html"
fi
if [[ $serve == yes ]]; then
  python3 -m http.server --bind localhost --directory "$out/html" 8000
fi
