#!/usr/bin/env bash
# Starts and stops a PostgreSQL server for tests and benchmarks, on this machine only.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
Usage: scripts/postgresql.sh start|stop|status|url|kill|revive|standby|promote [--fresh] [--help]

  start   starts a server, waits until it answers, and prints the URL; with --fresh it first stops the one that runs there,
          and deletes its data
  stop    stops it and removes its data
  status  says whether it runs
  url     prints the URL
  kill    kills the server and all of its processes with -9; its data stays
  revive  starts it again, over its data
  standby starts one that is a standby of $DOCLOCK_POSTGRESQL_PRIMARY (a URL), and lacks what that one writes from then on
  promote makes a standby take writes

The server is in $DOCLOCK_POSTGRESQL_BIN, or the newest of /usr/lib/postgresql, or of the PATH. It refuses to run as root:
then the user postgres runs it.
Port: $DOCLOCK_POSTGRESQL_PORT (25432). Data: $DOCLOCK_POSTGRESQL_HOME (build/postgresql).
TEXT
}

say() { echo "postgresql: $*" >&2; }
die() { say "$*"; exit 1; }

command=${1:-}
fresh=no
for arg in "${@:2}"; do
  case "$arg" in
    --fresh) fresh=yes ;;
    -h | --help) usage; exit 0 ;;
    *) echo "postgresql.sh: unknown option '$arg'" >&2; usage >&2; exit 2 ;;
  esac
done

home=${DOCLOCK_POSTGRESQL_HOME:-$PWD/build/postgresql}
port=${DOCLOCK_POSTGRESQL_PORT:-25432}

bin() {
  local found=${DOCLOCK_POSTGRESQL_BIN:-}
  [[ -n $found ]] || found=$(find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin 2> /dev/null | sort -V | tail -1)
  [[ -n $found ]] || found=$(dirname "$(command -v initdb || true)")
  [[ -x $found/initdb ]] || die "there is no PostgreSQL server. Install one, or name its folder: DOCLOCK_POSTGRESQL_BIN=/path/bin"
  echo "$found"
}

# As a user that the server accepts.
as_user() {
  if [[ $(id -u) == 0 ]]; then
    (cd / && setpriv --reuid=postgres --regid=postgres --init-groups "$@")
  else
    "$@"
  fi
}

pid() { head -1 "$home/data/postmaster.pid" 2> /dev/null || true; }
runs() {
  local pid
  pid=$(pid)
  # The process id of a killed server may belong to another process by now.
  [[ -n $pid ]] && tr '\0' ' ' 2> /dev/null < "/proc/$pid/cmdline" | grep -q -F -- "$home/data"
}

launch() {
  as_user "$(bin)/pg_ctl" -D "$home/data" -l "$home/server.log" -w -t 60 start > "$home/start.log" 2>&1 ||
    { tail -n 5 "$home/start.log" "$home/server.log" >&2 || true
      die "the server on port $port does not start (is the port taken? DOCLOCK_POSTGRESQL_PORT names another)"; }
}

# Starts a server whose data a command makes.
start() {
  if [[ $fresh == yes ]]; then
    stop
  fi
  if ! runs; then
    rm -rf "${home:?}"
    mkdir -p "$home"
    [[ $(id -u) != 0 ]] || chown postgres: "$home"
    as_user "$(bin)/$1" -D "$home/data" "${@:2}" > "$home/$1.log" 2>&1 || { tail -5 "$home/$1.log" >&2; die "$1 failed"; }
    [[ $1 != pg_basebackup ]] || as_user touch "$home/data/standby.signal"
    cat >> "$home/data/postgresql.conf" <<TEXT
listen_addresses = '127.0.0.1'
port = $port
unix_socket_directories = ''
shared_buffers = 64MB
max_connections = 200
TEXT
    launch
  fi
  url
}

# The server's own processes; they end by themselves after the first, but not at once, and one that is left keeps the server
# from starting again. The first is stopped, so that it begins no others.
processes() { kill -STOP "$(pid)"; echo "$(pid)"; pgrep -P "$(pid)" || true; }

end() {
  local processes
  runs || return 0
  mapfile -t processes < <(processes)
  kill -KILL "${processes[@]}" 2> /dev/null || true
  for _ in $(seq 200); do
    kill -0 "${processes[@]}" 2> /dev/null || return 0
    sleep 0.05
  done
  die "the server does not end"
}

# Its data is deleted with it: no reason to end it gently.
stop() { end; rm -rf "${home:?}"; }

revive() {
  [[ -d $home/data ]] || die "there was no server"
  runs || launch
}

url() { echo "postgresql://postgres@127.0.0.1:$port/postgres"; }

case "$command" in
  start) start initdb -U postgres --auth=trust -E UTF8 --locale=C.UTF-8 ;;
  standby) start pg_basebackup -d "$DOCLOCK_POSTGRESQL_PRIMARY" -c fast ;;
  promote) as_user "$(bin)/pg_ctl" -D "$home/data" -w -t 60 promote > "$home/promote.log" ;;
  stop) stop ;;
  status) if runs; then echo "port $port: process $(pid)"; else echo "port $port: not running"; fi ;;
  url) url ;;
  kill) end ;;
  revive) revive ;;
  -h | --help) usage ;;
  *) usage >&2; exit 2 ;;
esac
