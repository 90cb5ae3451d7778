#!/usr/bin/env bash
# Builds the benchmarks, runs them and prints one table.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
Usage: scripts/bench.sh [--programs REGEX] [--keep] [--no-build] [--help] [ARGUMENT...]

Builds the benchmarks in release mode, runs them (all of them: twenty-five minutes) and prints one table: doclock, the
floor measured in the same run, their ratio, and the target. Starts a replica set for the benchmarks of MongoDB, unless
DOCLOCK_BENCH_MONGODB is a URI (without a database); and a server for those of PostgreSQL, unless
DOCLOCK_BENCH_POSTGRESQL is a URL. The latter are built if build/release was configured with
DOCLOCK_WITH_POSTGRESQL=ON.

  --programs REGEX   only programs whose name matches as a whole: 'sqlite|memory', or 'mongodb_.*'
  --keep             keep the rounds in docs/figures, and make the tables and pictures of docs/reference/performance.md
  --no-build         install and build nothing
  ARGUMENT           goes to every program: --benchmark_filter=Renewals --benchmark_repetitions=5

Environment: DOCLOCK_BENCH_ROUNDS limits the rounds, DOCLOCK_BENCH_EXPIRED (200000) is the number of locks to purge,
DOCLOCK_BENCH_HELD_SECONDS (12) the time for which 10,000 locks are held.
TEXT
}

programs='.*'
keep=no
build=yes
arguments=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    --programs) programs=${2:?--programs needs a REGEX}; shift ;;
    --keep) keep=yes ;;
    --no-build) build=no ;;
    -h | --help) usage; exit 0 ;;
    *) arguments+=("$1") ;;
  esac
  shift
done

if [[ $build == yes ]]; then
  scripts/install_deps.sh >&2
  jobs=${DOCLOCK_JOBS:-$(nproc 2> /dev/null || echo 2)}
  cmake --preset release > /dev/null
  cmake --build --preset release -j "$jobs" --target benchmarks >&2
fi

chosen=()
mongodb=no
postgresql=no
for program in build/release/benchmarks/bench_*; do
  name=$(basename "$program")
  [[ -f $program && -x $program && ${name#bench_} =~ ^($programs)$ ]] || continue
  chosen+=("$program")
  [[ $name == *_mongodb_* || $name == bench_named || $name == bench_scaling ]] && mongodb=yes
  [[ $name == *_postgresql_* || $name == bench_scaling ]] && postgresql=yes
done
if [[ ${#chosen[@]} -eq 0 ]]; then
  echo "bench.sh: build/release/benchmarks has no program that matches '$programs'" >&2
  exit 1
fi

started=()
trap 'for server in "${started[@]}"; do "$server" stop >&2; done' EXIT
# Without a server the benchmarks on MongoDB are left out.
if [[ $mongodb == yes && -z ${DOCLOCK_BENCH_MONGODB:-} ]] && compgen -G "build/release/benchmarks/bench_mongodb_*" > /dev/null; then
  export DOCLOCK_MONGO_HOME=$PWD/build/release/mongo DOCLOCK_MONGO_PORT=${DOCLOCK_MONGO_PORT:-27217}
  if DOCLOCK_BENCH_MONGODB=$(scripts/mongo.sh start --fresh); then
    export DOCLOCK_BENCH_MONGODB
    started+=(scripts/mongo.sh)
  else
    unset DOCLOCK_BENCH_MONGODB
  fi
fi
if [[ $postgresql == yes && -z ${DOCLOCK_BENCH_POSTGRESQL:-} ]]; then
  export DOCLOCK_POSTGRESQL_HOME=$PWD/build/release/postgresql DOCLOCK_POSTGRESQL_PORT=${DOCLOCK_POSTGRESQL_PORT:-25433}
  DOCLOCK_BENCH_POSTGRESQL=$(scripts/postgresql.sh start --fresh)
  export DOCLOCK_BENCH_POSTGRESQL
  started+=(scripts/postgresql.sh)
fi

# The share of the processors that others use: a benchmark beside them measures them too.
processor_times() { awk '/^cpu / { print $2 + $3 + $4 + $7 + $8 + $9, $2 + $3 + $4 + $5 + $6 + $7 + $8 + $9 }' /proc/stat; }
busy_share() {
  local before after
  before=$(processor_times)
  sleep 1
  after=$(processor_times)
  awk -v before="$before" -v after="$after" \
    'BEGIN { split(before, b); split(after, a); printf "%.2f", (a[1] - b[1]) / (a[2] - b[2]) }'
}

results=build/release/benchmarks/results
mkdir -p "$results"
written=()
for program in "${chosen[@]}"; do
  name=$(basename "$program")
  [[ $name != *_mongodb_* || -n ${DOCLOCK_BENCH_MONGODB:-} ]] || continue
  echo "running $name ..." >&2
  "$program" --benchmark_context=busy="$(busy_share)" --benchmark_out="$results/$name.json" --benchmark_out_format=json "${arguments[@]}" \
    > "$results/$name.txt" 2>&1 || { cat "$results/$name.txt" >&2; exit 1; }
  written+=("$results/$name.json")
done
scripts/figures/figures.py table "${written[@]}"
if [[ $keep == yes ]]; then
  scripts/figures/figures.py keep "${written[@]}"
  scripts/figures/figures.py make
fi
