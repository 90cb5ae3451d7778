#!/usr/bin/env bash
# Installs doclock, static and shared, moves the installed tree, and builds and runs small programs against it: through
# find_package, add_subdirectory and pkg-config. Checks what the shared libraries export. Then builds the Conan package,
# offline, over the system's Boost, nlohmann_json, SQLite and libmongoc. With DOCLOCK_TEST_MONGODB=<URI without a
# database> the programs lock on that server too.
# Usage: scripts/check_packages.sh [--no-conan | --both]
# The Conan package is built static; with --both, shared too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD

conan=yes
variants=(False)
case "${1:-}" in
  "") ;;
  --no-conan) conan=no ;;
  --both) variants=(False True) ;;
  *) echo "Usage: scripts/check_packages.sh [--no-conan | --both]" >&2; exit 2 ;;
esac

work=$root/build/packages
jobs=${DOCLOCK_JOBS:-$(nproc 2> /dev/null || echo 2)}
mkdir -p "$work"

# The same files are compiled several times, as different users would.
if command -v ccache > /dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi

step() { echo "--- $*"; }

# The URI of a database of the test server; nothing if there is no server.
mongodb_uri() {
  local uri=${DOCLOCK_TEST_MONGODB:-}
  [[ -z $uri ]] || echo "${uri/\/\?//doclock_packages?}"
}

# Runs a consumer over the stores that it may have, in a folder of its own.
run() {
  local program=$1 dir
  dir=$(mktemp -d "$work/run.XXXXXX")
  (cd "$dir" && "$program" memory: && "$program" "sqlite:$dir/consumer.db")
  rm -rf "$dir"
  if [[ -n $(mongodb_uri) ]]; then
    "$program" "$(mongodb_uri)"
  fi
}

build_consumer() { # <project> <build directory> [cmake arguments...]
  local project=$1 build=$2
  shift 2
  rm -rf "$build"
  cmake -S "tests/packaging/$project" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release "$@" > "$build.log" 2>&1 ||
    { cat "$build.log"; return 1; }
  cmake --build "$build" -j "$jobs"
}

for kind in static shared; do
  # Many files at a time, and one of the two without optimisation: quicker, and this is about packages.
  shared=OFF config=Release
  [[ $kind == shared ]] && shared=ON config=Debug
  build=$work/$kind
  prefix=$work/$kind-prefix

  step "$kind: build and install"
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=$config -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 \
    -DBUILD_SHARED_LIBS=$shared -DDOCLOCK_WARNINGS_AS_ERRORS=ON \
    -DDOCLOCK_WITH_MONGODB=ON -DDOCLOCK_BUILD_TESTS=OFF -DDOCLOCK_BUILD_SAMPLES=OFF -DCMAKE_INSTALL_LIBDIR=lib > "$build.log" 2>&1 ||
    { cat "$build.log"; exit 1; }
  cmake --build "$build" -j "$jobs"
  rm -rf "$prefix" "$prefix-moved"
  cmake --install "$build" --prefix "$prefix" > "$build-install.log"
  # An installed tree may be moved, so it is.
  mv "$prefix" "$prefix-moved"
  prefix=$prefix-moved
  if grep -rIlF -e "$root" "$prefix/lib/cmake" "$prefix/lib/pkgconfig"; then
    echo "check_packages: the files above name the source or the build tree" >&2
    exit 1
  fi

  if [[ $(uname) == Linux ]]; then
    step "$kind: the command"
    rm -f "$work/$kind.db"*
    "$prefix/bin/doclock" run --store "sqlite:$work/$kind.db" job -- true
    [[ -e $prefix/share/man/man1/doclock.1 && -e $prefix/share/bash-completion/completions/doclock ]]
  fi
  if [[ $kind == static && -n $(command -v dpkg-shlibdeps) ]]; then
    step "$kind: .deb and .tar.gz"
    rm -rf "$work/cpack"
    (cd "$build" && cpack -B "$work/cpack" > "$build-cpack.log")
    dpkg-deb -x "$work"/cpack/*.deb "$work/cpack/deb"
    mkdir "$work/cpack/tar" && tar -xzf "$work"/cpack/*.tar.gz -C "$work/cpack/tar"
    "$work/cpack/deb/usr/bin/doclock" --version
    "$work"/cpack/tar/*/bin/doclock --version
  fi

  step "$kind: find_package"
  build_consumer find_package "$work/$kind-find_package" -DCMAKE_PREFIX_PATH="$prefix"
  run "$work/$kind-find_package/consumer"
  "$work/$kind-find_package/unit_test"

  step "$kind: find_package, core alone"
  build_consumer find_core "$work/$kind-find_core" -DCMAKE_PREFIX_PATH="$prefix"
  "$work/$kind-find_core/consumer"

  if [[ $kind == static ]]; then
    step "$kind: a store outside the tree, and the suite that every store has to pass"
    build_consumer ../../samples/dir_store "$work/dir_store" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Debug \
      -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12
    "$work/dir_store/dir_store_url_test" --gtest_brief=1
    RC_PARAMS=max_success=5 "$work/dir_store/dir_store_conformance" --gtest_brief=1
  fi

  step "$kind: find_package, mongodb alone"
  build_consumer find_mongodb "$work/$kind-find_mongodb" -DCMAKE_PREFIX_PATH="$prefix"
  "$work/$kind-find_mongodb/consumer"
  if [[ -n $(mongodb_uri) ]]; then
    "$work/$kind-find_mongodb/consumer" "$(mongodb_uri)"
  fi

  step "$kind: pkg-config"
  PKG_CONFIG_PATH="$prefix/lib/pkgconfig" tests/packaging/pkg_config/build.sh $kind "$work/$kind-pkg_config"
  LD_LIBRARY_PATH="$prefix/lib" run "$work/$kind-pkg_config"

  if [[ $kind == shared ]]; then
    step "shared: exports"
    scripts/check_exports.sh "$prefix"/lib/libdoclock*.so
  fi
done

step "add_subdirectory"
build_consumer add_subdirectory "$work/add_subdirectory" -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12
run "$work/add_subdirectory/consumer"

if [[ $conan == yes ]]; then
  version=2.34.0
  tool=$(command -v conan || true)
  if [[ -z $tool ]]; then
    step "conan: installing $version in a virtual environment"
    tool=$work/conan-venv/bin/conan
    if [[ ! -x $tool ]]; then
      python3 -m venv "$work/conan-venv"
      "$work/conan-venv/bin/pip" install --quiet --disable-pip-version-check "conan==$version"
    fi
  fi
  # A cache of its own, so that the user's settings and packages have no effect.
  export CONAN_HOME=$work/conan-home
  rm -rf "$CONAN_HOME"
  "$tool" profile detect > /dev/null 2>&1
  for package in boost nlohmann_json sqlite3 mongo-c-driver; do
    step "conan: $package of the system"
    "$tool" create "packaging/conan/$package" -nr -pr:a "$root/packaging/conan/system.profile" -s build_type=Debug 2>&1 | tail -1
  done
  for shared in "${variants[@]}"; do
    step "conan: doclock, shared=$shared"
    # Debug, and many files at a time: this is about the package, and it is quicker.
    "$tool" create . -nr -pr:a "$root/packaging/conan/system.profile" -o "doclock/*:shared=$shared" \
      -o 'doclock/*:with_mongodb=True' -s build_type=Debug \
      -c 'tools.cmake.cmaketoolchain:extra_variables={"CMAKE_UNITY_BUILD": "ON"}' \
      > "$work/conan.log" 2>&1 || { cat "$work/conan.log"; exit 1; }
    tail -3 "$work/conan.log"
  done
  rm -rf test_package/build
fi

echo "check_packages: all consumers were built and ran"
