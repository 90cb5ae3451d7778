#!/usr/bin/env bash
# Builds doclock and runs the order_saga sample over the orders in samples/order_saga/sagas.jsonl.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
Usage: scripts/demo.sh [sqlite|mongodb] [--no-deps] [--build FOLDER] [--help] [OPTIONS OF THE SAMPLE...]

Installs missing dependencies, builds the release preset, and lets several worker processes take orders through their
steps, each order locked while a worker has it. Some workers are killed on the way. In the end it counts whether every
step of every order was done exactly once. The orders come from samples/order_saga/sagas.jsonl.

  sqlite      keep them in a new SQLite file, build/demo/orders.db (the default)
  mongodb     keep them in a replica set of three servers that is started for it (scripts/mongo.sh); half-way the primary
              is killed with -9 too, and started again
  --no-deps   install nothing
  --build FOLDER  a build tree that has the sample (otherwise a release is built in build/demo/build)

Anything else goes to the sample: scripts/demo.sh --workers 8 --kill 3. What it takes: scripts/demo.sh -- --help
TEXT
}

deps=yes
store=sqlite
build=
arguments=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    sqlite | mongodb) store=$1 ;;
    --no-deps) deps=no ;;
    --build) build=${2:?--build needs a folder}; shift ;;
    -h | --help) usage; exit 0 ;;
    --) shift; arguments+=("$@"); break ;;
    *) arguments+=("$1") ;;
  esac
  shift
done

if [[ $deps == yes ]]; then
  scripts/install_deps.sh
fi
if [[ -z $build ]]; then
  build=build/demo/build
  configure=()
  if [[ $store == mongodb ]]; then
    configure=(-DDOCLOCK_WITH_MONGODB=ON)
  fi
  # A folder of its own, and many files at a time: the quickest build from nothing.
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 \
    -DDOCLOCK_BUILD_TESTS=OFF "${configure[@]}"
fi
cmake --build "$build" -j "${DOCLOCK_JOBS:-$(nproc 2> /dev/null || echo 2)}" --target sample_order_saga
mkdir -p build/demo

# libmongoc keeps counters in /dev/shm/mongoc-PID. One that was killed leaves the file, and warns the next of that process id.
export MONGOC_DISABLE_SHM=1
run() {
  "$build/samples/order_saga/sample_order_saga" --input samples/order_saga/sagas.jsonl "$@" "${arguments[@]}"
}

if [[ $store == sqlite ]]; then
  rm -f build/demo/orders.db*
  run --store sqlite:build/demo/orders.db
else
  # Servers of its own, beside any that run already.
  export DOCLOCK_MONGO_HOME=$PWD/build/demo/mongo
  export DOCLOCK_MONGO_PORT=${DOCLOCK_MONGO_PORT:-27217}
  trap 'scripts/mongo.sh stop' EXIT
  uri=$(scripts/mongo.sh start --fresh)
  run --store "${uri/\/\?//demo?}" --half-way "scripts/mongo.sh bounce"
fi
