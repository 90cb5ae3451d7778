#!/usr/bin/env bash
# Builds doclock and runs the order_saga sample over the orders in samples/order_saga/sagas.jsonl.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
Usage: scripts/demo.sh [sqlite|memory] [--no-deps] [--help] [OPTIONS OF THE SAMPLE...]

Installs missing dependencies, builds the release preset, and lets several workers take orders through their steps, each
of them locked while a worker has it. The orders come from samples/order_saga/sagas.jsonl, one JSON document a line.

  sqlite      keep them in a new SQLite file, build/demo/orders.db (the default)
  memory      keep them in memory
  --no-deps   install nothing

Anything else goes to the sample: scripts/demo.sh -- --help shows what it takes.
TEXT
}

store=sqlite
deps=yes
arguments=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    sqlite | memory) store=$1 ;;
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

case $store in
  memory) url=memory: ;;
  sqlite)
    mkdir -p build/demo
    rm -f build/demo/orders.db*
    url=sqlite:build/demo/orders.db
    ;;
esac
exec build/release/samples/sample_order_saga --store "$url" --input samples/order_saga/sagas.jsonl "${arguments[@]}"
