#!/usr/bin/env bash
# Cross-compiles doclock for another processor in a Debian of its own, and runs tests of it by qemu-user.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
Usage: scripts/cross.sh [--help] arm64 | s390x

Makes a Debian in ~/.cache/doclock/cross-ARCH by scripts/debian.sh, installs Debian's cross compiler and the libraries of the
other processor there, builds the core and the stores in memory and on SQLite, and runs the tests of rules, documents and of
every store by qemu-user. qemu-user has no robust mutexes, so the operating system layer is DOCLOCK_PLATFORM=generic.
It needs what scripts/debian.sh needs. By hand; .ci/run does not run it.
TEXT
}

# Within the Debian: cross.sh --inside ARCH
inside=no
[[ ${1:-} != --inside ]] || { inside=yes; shift; }
case "${1:-}" in
  arm64) processor=aarch64 triplet=aarch64-linux-gnu ;;
  s390x) processor=s390x triplet=s390x-linux-gnu ;;
  -h | --help) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
esac
arch=$1

if [[ $inside == no ]]; then
  exec scripts/debian.sh --root "${XDG_CACHE_HOME:-$HOME/.cache}/doclock/cross-$arch" bookworm -- scripts/cross.sh --inside "$arch"
fi

dpkg --add-architecture "$arch"
apt-get -qq update
apt-get -qq -y install --no-install-recommends "g++-$triplet" qemu-user "libboost1.81-dev:$arch" "libsqlite3-dev:$arch" \
  "libgtest-dev:$arch" "libgmock-dev:$arch" "librapidcheck-dev:$arch"

build=build/cross-$arch
emulator=(/usr/bin/qemu-$processor -L "/usr/$triplet")
cmake -S . -B "$build" -G Ninja -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$processor" \
  -DCMAKE_C_COMPILER="$triplet-gcc" -DCMAKE_CXX_COMPILER="$triplet-g++" \
  -DCMAKE_CROSSCOMPILING_EMULATOR="$(IFS=';'; echo "${emulator[*]}")" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG= \
  -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 -DDOCLOCK_PLATFORM=generic -DDOCLOCK_WITH_SQLITE=ON \
  -DDOCLOCK_WITH_MONGODB=OFF -DDOCLOCK_WITH_POSTGRESQL=OFF -DDOCLOCK_BUILD_CLI=OFF -DDOCLOCK_BUILD_SAMPLES=OFF
programs=(doclock_rules_tests doclock_document_tests doclock_conformance_tests)
cmake --build "$build" -j "${DOCLOCK_JOBS:-$(nproc)}" --target "${programs[@]}"
for program in "${programs[@]}"; do
  RC_PARAMS="max_success=20 noshrink=1" "${emulator[@]}" "$(find "$build/tests" -name "$program" -type f)" --gtest_brief=1
done
