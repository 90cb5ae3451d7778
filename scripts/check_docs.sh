#!/usr/bin/env bash
# Runs Doxygen over the public headers; what is undocumented or wrongly documented is an error. So are a picture, a table
# of figures or a part of docs/reference/ that is not made from its source, a misspelt word anywhere (codespell), an
# include between two folders of src/ that scripts/rooms.txt does not allow, and more comments that are not plain than
# scripts/words.txt allows.
# The reference is left in build/docs/html.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/check_rooms.py
scripts/check_words.py
scripts/pictures.sh --check
scripts/figures/figures.py --check
command -v codespell > /dev/null || { echo "check_docs: codespell is not installed" >&2; exit 1; }
codespell
command -v doxygen > /dev/null || { echo "check_docs: doxygen is not installed" >&2; exit 1; }
version=$(sed -n 's/^ *VERSION \([0-9.]*\)$/\1/p' CMakeLists.txt | head -1)
mkdir -p build/docs
DOCLOCK_VERSION=$version doxygen docs/Doxyfile
scripts/reference.py --check
echo "check_docs: every public entity is documented; see build/docs/html/index.html"
