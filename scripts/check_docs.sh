#!/usr/bin/env bash
# Runs Doxygen over the public headers; whatever is undocumented or wrongly documented is an error.
# The reference is left in build/docs/html.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

command -v doxygen > /dev/null || { echo "check_docs: doxygen is not installed" >&2; exit 1; }
version=$(sed -n 's/^ *VERSION \([0-9.]*\)$/\1/p' CMakeLists.txt | head -1)
mkdir -p build/docs
DOCLOCK_VERSION=$version doxygen docs/Doxyfile
echo "check_docs: every public entity is documented; see build/docs/html/index.html"
