#!/usr/bin/env bash
# No public header pulls a database's header into the user's program, and clang takes them all, in one file. Without --quick
# each also compiles alone, and clang takes the samples and the code of the documents: six minutes of processor time.
# Usage: scripts/check_headers.sh [--quick]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if grep -rnE '#[[:space:]]*include[[:space:]]*[<"]((mongoc|bson)[/.]|(libmongoc|libbson)|sqlite3|libpq)' include; then
  echo "check_headers: a public header includes a database's header" >&2
  exit 1
fi

clang=$(command -v clang++-16 || command -v clang++) || { echo "check_headers: there is no clang++" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=(-std=c++20 -Iinclude -Isamples/tracing -Isamples/tracing/standin)
{
  (cd include && find doclock -name '*.h' -printf '#include <%p>\n' | sort)
  echo "#include \"$PWD/docs/snippets/default.h\""
} > "$work/all.h"
"$clang" "${flags[@]}" -x c++-header -Wno-pragma-once-outside-header "$work/all.h" -o "$work/all.pch"
echo "check_headers: clang takes the $(find include -name '*.h' | wc -l) public headers"
[[ ${1:-} != --quick ]] || exit 0

build=build/dev
[[ -e $build/build.ninja ]] || cmake --preset dev
cmake --build "$build" --target all_verify_interface_header_sets -j "${DOCLOCK_JOBS:-$(nproc 2> /dev/null || echo 2)}"
echo "check_headers: each compiles alone"

mapfile -t documents < <(find "$PWD/docs" -name '*.md')
scripts/extract_snippets.py --root "$PWD" --out "$work/snippets" README.md CONTRIBUTING.md "${documents[@]}"
# The suite for stores, which conformance.cpp includes, is there only where doclock is installed.
find "$work/snippets" samples -name '*.cpp' ! -path '*/tests/*' ! -name conformance.cpp -print0 |
  xargs -0 -P "${DOCLOCK_JOBS:-2}" -n 4 "$clang" "${flags[@]}" -include-pch "$work/all.pch" -fsyntax-only
echo "check_headers: clang takes the samples and the code of the documents"
