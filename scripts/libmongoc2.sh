#!/usr/bin/env bash
# Builds libmongoc 2.x from its source, builds doclock against it, and runs the tests on MongoDB.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=2.5.0

usage() {
  cat <<TEXT
Usage: scripts/libmongoc2.sh [--source FOLDER | --version VERSION] [--build-only] [--help] [-- ARGUMENTS OF CTEST]

Debian 12 has libmongoc 1.x only, and CI tests with that. This script tests with 2.x: it builds the driver, installs it
into build/libmongoc2-driver/prefix, builds doclock against it in build/libmongoc2, and runs every test that needs
MongoDB. It changes nothing outside build/.

  --source FOLDER    the driver's source; without it, the source of --version is downloaded from GitHub
  --version VERSION  the release to download ($version)
  --build-only       no tests

The tests start servers of their own, as always; \$DOCLOCK_TEST_MONGO_PORT is the first of their ports.
\$DOCLOCK_JOBS is how many compilers run at once. It ends with 0 if every test passed, and prints both versions.
TEXT
}

source_folder=
tests=yes
while [[ $# -gt 0 ]]; do
  case "$1" in
    --source) source_folder=${2:?--source needs a folder}; shift 2 ;;
    --version) version=${2:?--version needs a version}; shift 2 ;;
    --build-only) tests=no; shift ;;
    -h | --help) usage; exit 0 ;;
    --) shift; break ;;
    *) echo "libmongoc2.sh: unknown option '$1'" >&2; usage >&2; exit 2 ;;
  esac
done

say() { echo "--- $*"; }
die() { echo "libmongoc2.sh: $*" >&2; exit 1; }

work=$PWD/build/libmongoc2-driver
prefix=$work/prefix
jobs=${DOCLOCK_JOBS:-$(nproc 2> /dev/null || echo 2)}
mkdir -p "$work"

# Prints the folder of the driver's source, and downloads it if need be.
driver_source() {
  if [[ -n $source_folder ]]; then
    [[ -e $source_folder/src/libmongoc/CMakeLists.txt ]] || die "$source_folder is not the source of libmongoc"
    (cd "$source_folder" && pwd)
    return
  fi
  local folder=$work/mongo-c-driver-$version
  if [[ ! -e $folder/CMakeLists.txt ]]; then
    local url=https://github.com/mongodb/mongo-c-driver/archive/refs/tags/$version.tar.gz
    curl -fsSL "$url" -o "$work/source.tar.gz" || die "cannot download $url; give a folder with --source"
    tar xzf "$work/source.tar.gz" -C "$work"
    rm "$work/source.tar.gz"
  fi
  echo "$folder"
}

folder=$(driver_source)
say "the driver: $folder"
# A source without .git learns its version from the option BUILD_VERSION.
known=$version
[[ -z $source_folder || ! -e $folder/VERSION_CURRENT ]] || known=$(< "$folder/VERSION_CURRENT")
[[ $known == 2.* ]] || die "$folder has version $known; 2.x is wanted"
# The files of two versions in one prefix would be mixed.
rm -rf "$prefix"
say "builds libmongoc $known"
cmake -S "$folder" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_INSTALL_PREFIX="$prefix" \
  -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_VERSION="$known" -DENABLE_STATIC=OFF -DBUILD_TESTING=OFF -DENABLE_TESTS=OFF -DENABLE_EXAMPLES=OFF -DENABLE_SASL=OFF \
  -DENABLE_CLIENT_SIDE_ENCRYPTION=OFF -DENABLE_MONGODB_AWS_AUTH=OFF -DENABLE_UNINSTALL=OFF \
  > "$work/configure.log" 2>&1 ||
  { tail -20 "$work/configure.log" >&2; die "the driver cannot be configured: $work/configure.log"; }
cmake --build "$work/build" -j "$jobs" --target install > "$work/build.log" 2>&1 ||
  { tail -20 "$work/build.log" >&2; die "the driver cannot be built: $work/build.log"; }

# The programs that have tests on MongoDB, and the command that some of them run.
programs=(doclock_mongodb_tests doclock_mongodb_failover_tests doclock_conformance_tests doclock_named_tests doclock_allocation_tests
  doclock_cli_tests doclock_cli doclock_mongodb_module)
build=build/libmongoc2
say "builds doclock against it"
# Where 1.x is installed too, CMake prefers 2.x.
cmake --preset test -B "$build" -DDOCLOCK_WITH_MONGODB=ON -DCMAKE_PREFIX_PATH="$prefix" \
  ${DOCLOCK_TEST_MONGO_PORT:+-DDOCLOCK_TEST_MONGO_PORT="$DOCLOCK_TEST_MONGO_PORT"} > "$work/doclock.log" 2>&1 ||
  { tail -20 "$work/doclock.log" >&2; die "doclock cannot be configured: $work/doclock.log"; }
grep 'doclock::mongodb uses mongoc 2\.' "$work/doclock.log" || die "doclock was not configured for 2.x: $work/doclock.log"
cmake --build "$build" -j "$jobs" --target "${programs[@]}"

tested=$build/tests/mongodb/doclock_mongodb_tests
linked=$(ldd "$tested")
[[ $linked == *"$prefix/lib/libmongoc2.so"* && $linked != *libmongoc-1.0* ]] || die "$tested is not linked to the driver that was built"
if [[ $tests == yes ]]; then
  say "tests"
  result=0
  # libmongoc 1.x keeps counters in /dev/shm/mongoc-PID, and warns of those that a killed process left. 2.x may not.
  MONGOC_DISABLE_SHM=1 ctest --test-dir "$build" -L mongodb --output-on-failure "$@" || result=$?
  say "doclock $(sed -n 's/^  VERSION \([0-9.]*\)$/\1/p' CMakeLists.txt) with libmongoc $known: ctest ended with $result"
  exit "$result"
fi
