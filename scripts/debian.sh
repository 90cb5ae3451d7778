#!/usr/bin/env bash
# Makes a system of a Debian release in a folder, and runs doclock's tests in it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
Usage: scripts/debian.sh [--root FOLDER] [--fresh] [--help] [RELEASE] [-- COMMAND...]

Makes a system of the Debian release RELEASE (trixie) with debootstrap, prints the versions of what doclock uses there, and
runs COMMAND (scripts/test.sh --all) in it, as root, by chroot. The command has processes, mounts and shared memory of its own,
the network of this machine, and this tree, which it can read only. What it builds stays in the system.

  --root FOLDER   where the system is, or is made; without it ~/.cache/doclock/debian-RELEASE
  --fresh         first deletes the system that is there

  scripts/debian.sh -- scripts/test.sh --all -- -L postgresql     # only the tests on PostgreSQL
  scripts/debian.sh -- sh -c 'apt-get -y install clang-22 && cmake --preset test -B build/clang \
    -DCMAKE_CXX_COMPILER=clang++-22 && cmake --build build/clang && ctest --test-dir build/clang'

It needs root, debootstrap and unshare. The mirror is $DOCLOCK_DEBIAN_MIRROR, or the one that this machine's apt uses, or
http://deb.debian.org/debian. The system takes over this machine's certificates, apt's proxy, and the variables DOCLOCK_*,
PIP_*, SSL_CERT_* and *_proxy. It ends with the status of the command.
TEXT
}

release=
root=
fresh=no
command=(scripts/test.sh --all)
while [[ $# -gt 0 ]]; do
  case "$1" in
    --root) root=${2:?--root needs a folder}; shift 2 ;;
    --fresh) fresh=yes; shift ;;
    -h | --help) usage; exit 0 ;;
    --) shift; [[ $# -eq 0 ]] || command=("$@"); break ;;
    -*) echo "debian.sh: unknown option '$1'" >&2; usage >&2; exit 2 ;;
    *) [[ -z $release ]] || { echo "debian.sh: one release, please" >&2; usage >&2; exit 2; }; release=$1; shift ;;
  esac
done
release=${release:-trixie}
root=${root:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/doclock/debian-$release}

say() { echo "debian: $*" >&2; }
die() { say "$*"; exit 1; }

[[ $(id -u) -eq 0 ]] || die "only root can make a system and enter it"
for tool in debootstrap unshare chroot; do
  command -v "$tool" > /dev/null || die "there is no $tool (packages debootstrap, util-linux, coreutils)"
done

mirror() {
  [[ -z ${DOCLOCK_DEBIAN_MIRROR:-} ]] || { echo "$DOCLOCK_DEBIAN_MIRROR"; return; }
  local found
  # shellcheck disable=SC2016
  found=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(COMPONENT)' 2> /dev/null |
    awk '$2 == "Debian" && $3 == "main" && $1 !~ /security/ {print $1; exit}' || true)
  echo "${found:-http://deb.debian.org/debian}"
}

# Under another name until it is whole: one that was broken off is never used.
make_system() {
  local new=$root.new
  rm -rf "$new"
  say "makes Debian $release in $root"
  debootstrap --variant=minbase --include=ca-certificates "$release" "$new" "$(mirror)" > "$root.log" 2>&1 ||
    { tail -5 "$root.log" >&2; die "debootstrap failed: $root.log"; }
  # A proxy, and what a mirror of an older day needs.
  apt-config dump 2> /dev/null | grep -E '^Acquire::(https?|Check-|Retries)' > "$new/etc/apt/apt.conf.d/90host" || true
  # Of this machine only: its certificates may be those of a proxy.
  [[ ! -e /etc/ssl/certs/ca-certificates.crt ]] || cp -L /etc/ssl/certs/ca-certificates.crt "$new/etc/ssl/certs/"
  mkdir -p "$new/doclock" "$new/var/lib/doclock-build"
  # Without systemd: packages start no servers.
  printf '#!/bin/sh\nexit 101\n' > "$new/usr/sbin/policy-rc.d"
  chmod +x "$new/usr/sbin/policy-rc.d"
  mv "$new" "$root"
  rm -f "$root.log"
}

# The first process of the new namespaces: it reaps what the command leaves, as servers, and ends when the command does.
inside() {
  local root=$1 tree=$2 status=0 name
  shift 2
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
  mount --bind "$tree" "$root/doclock"
  mount -o remount,bind,ro "$root/doclock"
  mount --bind "$root/var/lib/doclock-build" "$root/doclock/build"
  local variables=(HOME=/root LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 DEBIAN_FRONTEND=noninteractive
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
  for name in TERM $(compgen -e | grep -E '^(DOCLOCK_|PIP_|SSL_CERT_)|_proxy$|_PROXY$'); do
    variables+=("$name=${!name:-}")
  done
  env -i "${variables[@]}" chroot "$root" sh -c 'cd /doclock && exec "$@"' sh "$@" || status=$?
  exit "$status"
}

mkdir -p "$(dirname "$root")"
root=$(realpath "$root")
# One user of a system at a time: its tests start servers on the same ports.
exec 9> "$root.lock"
flock 9
[[ $fresh == no ]] || rm -rf "$root"
[[ -d $root ]] || make_system
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
# Where the system's own folder is mounted. This tree's stays as it is.
[[ -d build ]] || install -d -o "$(stat -c %u .)" -g "$(stat -c %g .)" build

# unshare passes no signal on, and is not ended by one while it waits. Killed, it takes all its processes along.
enter() {
  unshare --mount --propagation private --pid --fork --kill-child --ipc \
    bash -euo pipefail -c "$(declare -f inside); inside \"\$@\"" bash "$root" "$PWD" "$@" < /dev/stdin &
  trap 'kill -KILL $! 2> /dev/null; exit 143' HUP INT TERM
  wait $!
}

enter scripts/install_deps.sh > "$root.log" 2>&1 || { tail -5 "$root.log" >&2; die "the dependencies cannot be installed: $root.log"; }
say "Debian $(< "$root/etc/debian_version")"
# It fails if one of them is not installed, such as clang.
# shellcheck disable=SC2016
{ enter dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\n' g++ 'clang-[0-9]*' cmake 'libboost[0-9]*-dev' \
  nlohmann-json3-dev libsqlite3-dev libmongoc-dev libpq-dev 'postgresql-[0-9]*' libgtest-dev 2> /dev/null || true; } |
  sed -n 's/^installed /debian: /p' >&2
enter "${command[@]}"
