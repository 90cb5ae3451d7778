#!/usr/bin/env bash
# Builds doclock and runs the order_saga sample over the orders in samples/order_saga/sagas.jsonl.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
Usage: scripts/demo.sh [sqlite] [--no-deps] [--help] [OPTIONS OF THE SAMPLE...]

Installs missing dependencies, builds the release preset, and lets several worker processes take orders through their
steps, each order locked while a worker has it. Some workers are killed on the way. In the end it counts whether every
step of every order was done exactly once. The orders come from samples/order_saga/sagas.jsonl.

  sqlite      keep them in a new SQLite file, build/demo/orders.db (the default, and the only store so far that
              several processes can share)
  --no-deps   install nothing

Anything else goes to the sample: scripts/demo.sh --workers 8 --kill 3. What it takes: scripts/demo.sh -- --help
TEXT
}

deps=yes
arguments=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    sqlite) ;;
    --no-deps) deps=no ;;
    -h | --help) usage; exit 0 ;;
    --) shift; arguments+=("$@"); break ;;
    *) arguments+=("$1") ;;
  esac
  shift
done

if [[ $deps == yes ]]; then
  scripts/install_deps.sh
fi
jobs=${DOCLOCK_JOBS:-$(nproc 2> /dev/null || echo 2)}
cmake --preset release
cmake --build --preset release -j "$jobs" --target sample_order_saga

mkdir -p build/demo
rm -f build/demo/orders.db*
exec build/release/samples/order_saga/sample_order_saga --input samples/order_saga/sagas.jsonl \
  --store sqlite:build/demo/orders.db "${arguments[@]}"
