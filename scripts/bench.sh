#!/usr/bin/env bash
# Builds the benchmarks in release mode, runs them (about five minutes) and prints one table: ours, the floor
# measured in the same run, their ratio, and what is to be reached. Arguments go to every program:
#   scripts/bench.sh --benchmark_filter=Memory --benchmark_repetitions=5
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1:-}" in
  -h | --help) sed -n '2,4s/^# //p' "$0"; exit 0 ;;
esac

scripts/install_deps.sh >&2
jobs=${DOCLOCK_JOBS:-$(nproc 2> /dev/null || echo 2)}
cmake --preset release > /dev/null
cmake --build --preset release -j "$jobs" --target benchmarks >&2

results=build/release/benchmarks/results
mkdir -p "$results"
for program in build/release/benchmarks/bench_*; do
  [[ -f $program && -x $program ]] || continue
  echo "running $(basename "$program") ..." >&2
  "$program" --benchmark_out="$results/$(basename "$program").json" --benchmark_out_format=json "$@" \
    > "$results/$(basename "$program").txt" 2>&1 || { cat "$results/$(basename "$program").txt" >&2; exit 1; }
done
scripts/bench_table.py "$results"/*.json
