#!/usr/bin/env bash
# Measures doclock beside what a user might take instead: in the same run, in turns, on real servers. Prints tables, and
# leaves the raw rounds and pictures in build/release/benchmarks/peers/data.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
Usage: scripts/bench_peers.sh [--no-deps] [OPTIONS OF benchmarks/peers/run.py...]

  --no-deps      install nothing (what only peers need is never installed)

What is not installed is left out and named. On Debian the peers need the packages redis-server, libhiredis-dev,
etcd-server, postgresql and libpq-dev; the worker for etcd needs Go 1.23, and its modules. The pictures need matplotlib
(PYTHON names a Python that has it). A whole run takes about a quarter of an hour. In three parts:

  scripts/bench_peers.sh --scenarios own-1,own-8,own-100,turns
  scripts/bench_peers.sh --append --scenarios hot-1x8,hot-8x1,hot-8x8
  scripts/bench_peers.sh --append --scenarios leases,take-over

To keep the rounds for the documents:

  cp build/release/benchmarks/peers/data/peers.jsonl docs/figures/rounds/ && benchmarks/peers/report.py --docs

TEXT
}

deps=yes
arguments=()
for argument in "$@"; do
  case "$argument" in
    --no-deps) deps=no ;;
    -h | --help) usage; python3 benchmarks/peers/run.py --programs . --data . --help; exit 0 ;;
    *) arguments+=("$argument") ;;
  esac
done

if [[ $deps == yes ]]; then
  scripts/install_deps.sh >&2
fi
programs=build/release/benchmarks/peers
jobs=${DOCLOCK_JOBS:-$(nproc 2> /dev/null || echo 2)}
cmake --preset release > /dev/null
cmake --build --preset release -j "$jobs" --target peers >&2
if command -v go > /dev/null; then
  (cd benchmarks/peers/etcd && go build -o "../../../$programs/peer_etcd" .) ||
    echo "bench_peers: the worker for etcd cannot be built" >&2
else
  echo "bench_peers: there is no Go for the worker for etcd" >&2
fi

status=0
python3 benchmarks/peers/run.py --programs "$programs" --data "$programs/data" "${arguments[@]}" || status=$?
if [[ -e $programs/data/peers.jsonl ]]; then
  "${PYTHON:-python3}" benchmarks/peers/report.py "$programs/data/peers.jsonl" "$programs/data"
fi
exit "$status"
