#!/usr/bin/env bash
# Runs the tests of this tree on another release of Debian, in a system of its own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
Usage: scripts/debian.sh [--suite NAME] [--root DIR] [--help] [-- ARGUMENTS...]

Makes a system of that release of Debian in a folder, once (debootstrap), copies what git knows of this tree into it, and
runs scripts/test.sh there: the compiler, the libraries and the PostgreSQL are that release's. Needs root, debootstrap and
4 GB. The system has the network and the processors of this machine, but processes and mounts of its own.

  --suite NAME   the release (trixie, which is Debian 13)
  --root DIR     where the system is (build/debian-NAME)
  --             the rest goes to scripts/test.sh: --preset generic -- -R Filter

Environment: DOCLOCK_DEBIAN_MIRROR (http://deb.debian.org/debian).
TEXT
}

suite=trixie
root=
while [[ $# -gt 0 ]]; do
  case "$1" in
    --suite) suite=${2:?--suite needs a name}; shift 2 ;;
    --root) root=${2:?--root needs a folder}; shift 2 ;;
    -h | --help) usage; exit 0 ;;
    --) shift; break ;;
    *) echo "debian.sh: unknown option '$1'" >&2; usage >&2; exit 2 ;;
  esac
done
root=$(realpath -m "${root:-build/debian-$suite}")

if [[ $(id -u) -ne 0 ]] || ! command -v debootstrap > /dev/null; then
  echo "debian.sh: needs root, and debootstrap (its package)" >&2
  exit 1
fi

if [[ ! -e $root/etc/os-release ]]; then
  debootstrap --variant=minbase "$suite" "$root" "${DOCLOCK_DEBIAN_MIRROR:-http://deb.debian.org/debian}"
fi
# What this machine trusts is what its mirrors of packages are signed by.
mkdir -p "$root/etc/ssl/certs"
cp /etc/resolv.conf "$root/etc/resolv.conf"
if [[ -e /etc/ssl/certs/ca-certificates.crt ]]; then
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
fi

mkdir -p "$root/doclock"
git ls-files -z | tar --create --null --files-from - | tar --extract --directory "$root/doclock"

# Processes and mounts of its own: what a test leaves behind ends with it.
# shellcheck disable=SC2016
exec unshare --mount --pid --fork --kill-child bash -euc '
  root=$1
  shift
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  mount -t tmpfs tmpfs "$root/tmp"
  exec chroot "$root" /doclock/scripts/test.sh "$@"
' bash "$root" "$@"
