#!/usr/bin/env bash
# Builds the benchmarks in release mode, runs them (about ten minutes) and prints one table: ours, the floor
# measured in the same run, their ratio, and the target. It starts a replica set for the benchmarks of MongoDB, unless
# DOCLOCK_BENCH_MONGODB is a URI (without a database). Arguments go to every program:
#   scripts/bench.sh --benchmark_filter=Memory --benchmark_repetitions=5
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1:-}" in
  -h | --help) sed -n '2,5s/^# //p' "$0"; exit 0 ;;
esac

scripts/install_deps.sh >&2
jobs=${DOCLOCK_JOBS:-$(nproc 2> /dev/null || echo 2)}
cmake --preset release > /dev/null
cmake --build --preset release -j "$jobs" --target benchmarks >&2

# Without a server the benchmarks on MongoDB are left out.
if [[ -z ${DOCLOCK_BENCH_MONGODB:-} ]] && compgen -G "build/release/benchmarks/bench_mongodb_*" > /dev/null; then
  export DOCLOCK_MONGO_HOME=$PWD/build/release/mongo DOCLOCK_MONGO_PORT=${DOCLOCK_MONGO_PORT:-27217}
  if DOCLOCK_BENCH_MONGODB=$(scripts/mongo.sh start --fresh); then
    export DOCLOCK_BENCH_MONGODB
    trap 'scripts/mongo.sh stop >&2' EXIT
  else
    unset DOCLOCK_BENCH_MONGODB
  fi
fi

results=build/release/benchmarks/results
mkdir -p "$results"
for program in build/release/benchmarks/bench_*; do
  [[ -f $program && -x $program ]] || continue
  [[ $program != *_mongodb_* || -n ${DOCLOCK_BENCH_MONGODB:-} ]] || continue
  echo "running $(basename "$program") ..." >&2
  "$program" --benchmark_out="$results/$(basename "$program").json" --benchmark_out_format=json "$@" \
    > "$results/$(basename "$program").txt" 2>&1 || { cat "$results/$(basename "$program").txt" >&2; exit 1; }
done
scripts/bench_table.py "$results"/*.json
