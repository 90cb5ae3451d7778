#!/usr/bin/env bash
# Every public header compiles alone, and none pulls a database's header into the user's program.
# Usage: scripts/check_headers.sh [build directory, configured with CMAKE_VERIFY_INTERFACE_HEADER_SETS]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if grep -rnE '#[[:space:]]*include[[:space:]]*[<"]((mongoc|bson)[/.]|(libmongoc|libbson)|sqlite3|libpq)' include; then
  echo "check_headers: a public header includes a database's header" >&2
  exit 1
fi

build=${1:-build/dev}
[[ -e $build/build.ninja ]] || cmake --preset dev -B "$build"
cmake --build "$build" --target all_verify_interface_header_sets -j "${DOCLOCK_JOBS:-$(nproc 2> /dev/null || echo 2)}"
echo "check_headers: $(find include -name '*.h' | wc -l) public headers, each compiles alone"
