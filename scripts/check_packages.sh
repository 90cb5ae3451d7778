#!/usr/bin/env bash
# Installs doclock, static and shared, moves the installed tree, and builds and runs small programs against it: through
# find_package, add_subdirectory and pkg-config. Checks what the shared libraries export. On Debian makes the .deb packages,
# unpacks them into a folder, and builds and runs a program there. Then builds the Conan package, offline, over the system's Boost, nlohmann_json, SQLite, libpq and libmongoc. With DOCLOCK_TEST_MONGODB=<URI without a
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

# Fails unless an installed command says that it has these stores.
stores_of() { # <command> <stores as JSON>
  local version
  version=$("$1" --version --json)
  echo "$version"
  [[ $version == *"\"stores\":$2"* ]]
}

build_consumer() { # <project> <build directory> [cmake arguments...]
  local project=$1 build=$2
  shift 2
  rm -rf "$build"
  cmake -S "tests/packaging/$project" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release "$@" > "$build.log" 2>&1 ||
    { cat "$build.log"; return 1; }
  cmake --build "$build" -j "$jobs"
}

# The packages' dependencies, one a line, without those on each other.
depends_of() { # <packages...>
  local package
  for package in "$@"; do
    dpkg-deb -f "$package" Depends | sed 's/, */\n/g'
  done | grep -v -e '^libdoclock' -e '^doclock' | sort -u
}

check_debs() { # <build folder of shared libraries>
  local build=$1 out=$work/debs host version library debs=() deb package
  # Where Debian has libraries; the build's other checks are over by now.
  host=lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
  cmake -S . -B "$build" -DCMAKE_INSTALL_LIBDIR="$host" -DDOCLOCK_STORE_MODULES=ALL > "$build.log" 2>&1 || { cat "$build.log"; return 1; }
  cmake --build "$build" -j "$jobs"
  rm -rf "$out"
  (cd "$build" && cpack -G DEB -B "$out" > "$build-cpack.log" 2>&1) || { cat "$build-cpack.log"; return 1; }
  version=$(sed -n 's/^ *VERSION \([0-9.]*\)$/\1/p' CMakeLists.txt | head -1)
  library=libdoclock${version%.*}
  debs=("$out/${library}_$version"_*.deb "$out/libdoclock-dev_$version"_*.deb "$out/doclock_$version"_*.deb
    "$out/doclock-mongodb_$version"_*.deb "$out/doclock-postgresql_$version"_*.deb)
  for deb in "${debs[@]}"; do
    dpkg-deb -I "$deb" > /dev/null || { echo "check_packages: there is no $deb" >&2; return 1; }
    dpkg-deb -x "$deb" "$out/unpacked"
    [[ -e $out/unpacked/usr/share/doc/$(dpkg-deb -f "$deb" Package)/copyright ]]
  done
  # Only the stores on servers need the servers' libraries.
  for deb in "${debs[@]:0:3}"; do
    [[ "$(dpkg-deb -f "$deb" Depends)" != *@(mongoc|libpq)* ]] || { echo "check_packages: $deb depends on a server's library" >&2; return 1; }
  done
  # No file is in two packages.
  for deb in "${debs[@]}"; do dpkg-deb --fsys-tarfile "$deb" | tar -t | grep -v '/$'; done | sort | uniq -d > "$out/twice"
  [[ ! -s $out/twice ]] || { cat "$out/twice"; echo "check_packages: the files above are in two packages" >&2; return 1; }
  # The packages name what doclock was built with, and each other at this very version.
  depends_of "${debs[@]}" > "$out/depends"
  for package in libsqlite3-0 libmongoc-1.0-0 libpq5 nlohmann-json3-dev libc6; do
    grep -q "^$package " "$out/depends" || { cat "$out/depends"; echo "check_packages: $package is not among these dependencies" >&2; return 1; }
  done
  printf 'Source: doclock\n' > "$out/control"
  dpkg-checkbuilddeps -d "$(paste -sd, "$out/depends")" "$out/control"
  for deb in "${debs[@]:1}"; do
    [[ "$(dpkg-deb -f "$deb" Depends)" == *"$library (= $version)"* ]]
  done
  # What dpkg-shlibdeps says of other programs, and the loader's cache.
  [[ "$(dpkg-deb -I "${debs[0]}" shlibs)" == *"libdoclock ${version%.*} $library (= $version)"* ]]
  [[ "$(dpkg-deb -I "${debs[0]}" postinst)" == *ldconfig* ]]

  stores_of "$out/unpacked/usr/bin/doclock" '["mongodb","mongodb+srv","postgresql","postgres","sqlite"]'
  build_consumer find_package "$work/debs-find_package" -DCMAKE_PREFIX_PATH="$out/unpacked/usr" -DCMAKE_BUILD_TYPE=Debug
  run "$work/debs-find_package/consumer"
  "$work/debs-find_package/unit_test"
  PKG_CONFIG_PATH=$out/unpacked/usr/$host/pkgconfig tests/packaging/pkg_config/build.sh shared "$work/debs-pkg_config"
  LD_LIBRARY_PATH=$out/unpacked/usr/$host run "$work/debs-pkg_config"
}

for kind in static shared; do
  # Many files at a time, and one of the two without optimisation: quicker, and this is about packages.
  shared=OFF config=Release
  [[ $kind == shared ]] && shared=ON config=Debug
  build=$work/$kind
  prefix=$work/$kind-prefix

  step "$kind: build and install"
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=$config -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 \
    -DCMAKE_CXX_FLAGS_DEBUG= -DBUILD_SHARED_LIBS=$shared -DDOCLOCK_WARNINGS_AS_ERRORS=ON \
    -DDOCLOCK_WITH_MONGODB=ON -DDOCLOCK_WITH_POSTGRESQL=ON -DDOCLOCK_BUILD_TESTS=OFF -DDOCLOCK_BUILD_SAMPLES=OFF -DCMAKE_INSTALL_LIBDIR=lib > "$build.log" 2>&1 ||
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
    stores_of "$prefix/bin/doclock" '["mongodb","mongodb+srv","postgresql","postgres","sqlite"]'
    # The module is loaded: only the connection fails.
    said=$("$prefix/bin/doclock" status --store postgresql://127.0.0.1:1/none 2>&1) && exit 1
    [[ $said != *module* ]] || { echo "$said"; exit 1; }
    [[ -e $prefix/share/man/man1/doclock.1 && -e $prefix/share/bash-completion/completions/doclock ]]
  fi
  if [[ $kind == static && -n $(command -v dpkg-shlibdeps) ]]; then
    step "$kind: .deb and .tar.gz"
    rm -rf "$work/cpack"
    (cd "$build" && cpack -B "$work/cpack" > "$build-cpack.log")
    packages=("$work"/cpack/*.deb)
    [[ ${#packages[@]} -eq 3 ]]
    # The stores on servers are packages of their own, and only these need the servers' libraries.
    dpkg-deb -x "$work"/cpack/doclock_*.deb "$work/cpack/deb"
    [[ $(dpkg-deb -f "$work"/cpack/doclock_*.deb Depends) != *@(mongoc|libpq)* ]]
    [[ $(dpkg-deb -f "$work"/cpack/doclock-postgresql_*.deb Depends) == *"doclock (= "*libpq5* ]]
    [[ $(dpkg-deb -f "$work"/cpack/doclock-mongodb_*.deb Depends) == *libmongoc* ]]
    [[ $(dpkg-deb -f "$work"/cpack/doclock-mongodb_*.deb Depends) == *"doclock (= "* ]]
    stores_of "$work/cpack/deb/usr/bin/doclock" '["sqlite"]'
    dpkg-deb -x "$work"/cpack/doclock-mongodb_*.deb "$work/cpack/deb"
    dpkg-deb -x "$work"/cpack/doclock-postgresql_*.deb "$work/cpack/deb"
    stores_of "$work/cpack/deb/usr/bin/doclock" '["mongodb","mongodb+srv","postgresql","postgres","sqlite"]'
    mkdir "$work/cpack/tar" && tar -xzf "$work"/cpack/*.tar.gz -C "$work/cpack/tar"
    stores_of "$work"/cpack/tar/*/bin/doclock '["mongodb","mongodb+srv","postgresql","postgres","sqlite"]'
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
    # It mostly waits, so it runs while the rest is built.
    RC_PARAMS="max_success=5 noshrink=1" "$work/dir_store/dir_store_conformance" --gtest_brief=1 > "$work/suite.log" 2>&1 &
    suite=$!
    trap 'kill "$suite" 2> /dev/null || true' EXIT
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
    step "shared: libraries that load the stores on servers"
    cmake -S . -B "$build" -DDOCLOCK_STORE_MODULES=ALL > "$build.log" 2>&1 || { cat "$build.log"; exit 1; }
    cmake --build "$build" -j "$jobs"
    rm -rf "$work/module-prefix"
    cmake --install "$build" --prefix "$work/module-prefix" > "$build-install.log"
    stores_of "$work/module-prefix/bin/doclock" '["mongodb","mongodb+srv","postgresql","postgres","sqlite"]'
    build_consumer find_package "$work/module-find_package" -DCMAKE_PREFIX_PATH="$work/module-prefix"
    [[ $(ldd "$work/module-find_package/consumer") != *@(mongoc|libpq)* ]]
    run "$work/module-find_package/consumer"

    if [[ -n $(command -v dpkg-shlibdeps) ]]; then
      step "shared: .deb of libraries, headers and command"
      check_debs "$build"
    fi
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
  for package in boost nlohmann_json sqlite3 mongo-c-driver libpq; do
    step "conan: $package of the system"
    "$tool" create "packaging/conan/$package" -nr -pr:a "$root/packaging/conan/system.profile" -s build_type=Debug 2>&1 | tail -1
  done
  for shared in "${variants[@]}"; do
    step "conan: doclock, shared=$shared"
    # Debug, and many files at a time: this is about the package, and it is quicker.
    "$tool" create . -nr -pr:a "$root/packaging/conan/system.profile" -o "doclock/*:shared=$shared" \
      -o 'doclock/*:with_mongodb=True' -o 'doclock/*:with_postgresql=True' -s build_type=Debug \
      -c 'tools.cmake.cmaketoolchain:extra_variables={"CMAKE_UNITY_BUILD": "ON"}' \
      > "$work/conan.log" 2>&1 || { cat "$work/conan.log"; exit 1; }
    tail -3 "$work/conan.log"
  done
  rm -rf recipes/doclock/all/test_package/build

  # As Conan Center builds it: sources that are fetched and checked, and no other file of this folder. They are compiled
  # above; here they are configured.
  step "conan: the recipe for Conan Center"
  version=$(sed -n 's/^ *VERSION \([0-9.]*\)$/\1/p' CMakeLists.txt | head -1)
  center=$work/conan-center archive=$work/doclock-$version.tar.gz
  rm -rf "$center"
  git ls-files -z | tar --null -T - --ignore-failed-read -czf "$archive" --transform "s,^,doclock-$version/,"
  scripts/conan_center.sh "$center" --homepage https://doclock.invalid --sources "file://$archive" --archive "$archive"
  {
    "$tool" export "$center/doclock/all" --version "$version" &&
      "$tool" graph info "$center/doclock/all" --version "$version" -nr -pr:a "$root/packaging/conan/system.profile" -s build_type=Debug &&
      "$tool" source "$center/doclock/all" --version "$version" &&
      "$tool" install "$center/doclock/all" --version "$version" -nr -pr:a "$root/packaging/conan/system.profile" \
        -s build_type=Debug -o 'doclock/*:with_mongodb=True' -o 'doclock/*:with_postgresql=True' &&
      (cd "$center/doclock/all/src" && cmake --preset conan-debug)
  } > "$work/conan.log" 2>&1 || { cat "$work/conan.log"; exit 1; }
  for option in BUILD_TESTS:BOOL=OFF BUILD_CLI:BOOL=OFF WITH_MONGODB:STRING=ON WITH_POSTGRESQL:STRING=ON; do
    grep -qx "DOCLOCK_$option" "$(find "$center" -name CMakeCache.txt)" || { echo "check_packages: not DOCLOCK_$option" >&2; exit 1; }
  done
fi

step "static: what the suite for stores said"
wait "$suite" || { cat "$work/suite.log"; exit 1; }
trap - EXIT
tail -1 "$work/suite.log"

echo "check_packages: all consumers were built and ran"
