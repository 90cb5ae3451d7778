#!/usr/bin/env bash
# Records histories of locking processes while things go wrong, and checks them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
Usage: scripts/histories.sh [--runs N] [--seconds N] [--store NAME] [--nemesis NAME] [--seed N] [--transfers N]
                            [--short] [--namespaces] [--broken NAME] [--build FOLDER] [--help]

Lets processes lock, write and read, against SQLite files, and a replica set and a PostgreSQL server of its own, while a nemesis disturbs them; then checks
that what they were told can be true (tests/histories/checker.py says what that is). It needs no root.

  --runs N        so many histories (one of each kind); they take the kinds in turn
  --seconds N     how long each is recorded (10)
  --store NAME    only this store: sqlite, mongodb, postgresql
  --nemesis NAME  only this one: none, kill, pause (worker processes), kill-waiters (in the queue of one document); with
                  MongoDB also stepdown, kill-primary, pause-primary, pause-secondaries, fail-command, slow-clock (one
                  client's, by libfaketime), clocks-apart, clocks-jump (members', by libfaketime), lose-requests,
                  lose-replies, late-requests, late-replies (by a proxy); with PostgreSQL these four too, and kill-server,
                  end-backends, pause-backends (sessions)
  --seed N        of the first history; the next one takes the next (1)
  --transfers N   so many threads of each worker move amounts between accounts by transactions (1); the four others do all
                  the rest
  --short         short histories, as .ci/run does
  --namespaces    partitions between the members of the replica set, each in a network namespace of its own; the nemeses are
                  partition-members and one-way-members. It needs user namespaces (unshare -Urn), ip and nsenter,
                  and ends with 77 where it cannot have them
  --broken NAME   the workers use a store that breaks a promise (tests/histories/worker/broken_store.h): to see the
                  checker fail
  --build FOLDER  a build tree that has the worker program (build/test, which is built if need be)

The records of a history that violates a rule stay in build/histories/failures. Check one again:
tests/histories/checker.py build/histories/failures/NAME/*.jsonl
The servers take four ports from $DOCLOCK_HISTORIES_PORT (24200) on.
TEXT
}

build=
arguments=()
enter=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    --runs | --seconds | --store | --nemesis | --seed | --transfers | --broken) arguments+=("$1" "${2:?$1 needs a value}"); shift 2 ;;
    --short) arguments+=(--short --seconds 7); shift ;;
    --namespaces) arguments+=(--namespaces); enter=(unshare --user --map-root-user --net); shift ;;
    --build) build=${2:?--build needs a folder}; shift 2 ;;
    -h | --help) usage; exit 0 ;;
    *) echo "histories.sh: unknown option '$1'" >&2; usage >&2; exit 2 ;;
  esac
done

if [[ ${#enter[@]} -gt 0 ]]; then
  for program in unshare nsenter ip; do
    command -v "$program" > /dev/null || { echo "histories.sh: --namespaces needs $program" >&2; exit 77; }
  done
  "${enter[@]}" sh -c 'ip link add type veth && ip rule add iif lo blackhole && echo 1 > /proc/sys/net/ipv4/ip_forward &&
    unshare --net true' 2> /dev/null ||
    { echo "histories.sh: --namespaces needs user and network namespaces, and this machine permits none" >&2; exit 77; }
  # A server that is not there yet is fetched while there is a network.
  scripts/mongo.sh program > /dev/null
fi

if [[ -z $build ]]; then
  build=build/test
  [[ -e $build/build.ninja ]] || cmake --preset test
  cmake --build "$build" --target doclock_history_worker
fi
# libmongoc keeps counters in /dev/shm/mongoc-PID, and a killed process leaves the file.
export MONGOC_DISABLE_SHM=1
exec "${enter[@]}" python3 -B tests/histories/run.py --worker "$PWD/${build#"$PWD/"}/tests/histories/doclock_history_worker" \
  --port "${DOCLOCK_HISTORIES_PORT:-24200}" "${arguments[@]}"
