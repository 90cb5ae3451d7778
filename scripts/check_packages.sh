#!/usr/bin/env bash
# Installs doclock, static (the preset install) and shared (the preset deb), moves the installed tree, and builds and runs
# small programs against it: through find_package, pkg-config and add_subdirectory. Checks what the shared libraries export.
# On Debian makes the .deb packages, unpacks them into a folder, and builds and runs a program there. Then packs the static
# build with the Conan recipe, offline, over the system's Boost, nlohmann_json, SQLite, libpq and libmongoc. With
# DOCLOCK_TEST_MONGODB=<URI without a database> the programs lock on that server too.
# Usage: scripts/check_packages.sh [--no-conan | --create]
# With --create, Conan also compiles the package by itself, static and shared.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD

conan=yes
variants=()
case "${1:-}" in
  "") ;;
  --no-conan) conan=no ;;
  --create) variants=(False True) ;;
  *) echo "Usage: scripts/check_packages.sh [--no-conan | --create]" >&2; exit 2 ;;
esac

work=$root/build/packages
jobs=${DOCLOCK_JOBS:-$(nproc 2> /dev/null || echo 2)}
mkdir -p "$work"

# The presets and add_subdirectory compile the same files in the same way.
if command -v ccache > /dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=$root
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
  cmake -S "tests/packaging/$project" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE= "$@" > "$build.log" 2>&1 ||
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

# Builds a preset and installs it: <prefix> is where it has been moved, <libdir> its folder of libraries.
install_preset() { # <preset> <cmake arguments...>
  local preset=$1
  shift
  cmake --preset "$preset" -DDOCLOCK_WITH_MONGODB=ON -DDOCLOCK_WITH_POSTGRESQL=ON -DDOCLOCK_WARNINGS_AS_ERRORS=ON "$@" \
    > "$work/$preset.log" 2>&1 || { cat "$work/$preset.log"; return 1; }
  cmake --build --preset "$preset" -j "$jobs"
  prefix=$work/$preset-prefix
  rm -rf "$prefix" "$prefix-moved"
  cmake --install "build/$preset" --prefix "$prefix" > "$work/$preset-install.log"
  # An installed tree may be moved, so it is.
  mv "$prefix" "$prefix-moved"
  prefix=$prefix-moved
  libdir=$prefix/$(sed -n 's/^CMAKE_INSTALL_LIBDIR:[A-Z]*=//p' "build/$preset/CMakeCache.txt")
  if grep -rIlF -e "$root" "$libdir/cmake" "$libdir/pkgconfig"; then
    echo "check_packages: the files above name the source or the build tree" >&2
    return 1
  fi
}

check_command() { # <command>
  rm -f "$work/command.db"*
  "$1" run --store "sqlite:$work/command.db" job -- true
  stores_of "$1" "$all_stores"
  # The module is loaded: only the connection fails.
  local said
  said=$("$1" status --store postgresql://127.0.0.1:1/none 2>&1) && return 1
  [[ $said != *module* ]] || { echo "$said"; return 1; }
}

# The .deb and .tar.gz of the command with the static libraries inside.
check_command_packages() {
  local packages
  rm -rf "$work/cpack"
  (cd build/install && cpack -B "$work/cpack" > "$work/cpack.log") || { cat "$work/cpack.log"; return 1; }
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
  stores_of "$work/cpack/deb/usr/bin/doclock" "$all_stores"
  mkdir "$work/cpack/tar" && tar -xzf "$work"/cpack/*.tar.gz -C "$work/cpack/tar"
  stores_of "$work"/cpack/tar/*/bin/doclock "$all_stores"
}

# The packages of the shared libraries, their headers and the command; <prefix> and <libdir> are where they are unpacked.
check_debs() {
  local out=$work/debs host version library debs=() deb package
  host=lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
  rm -rf "$out"
  (cd build/deb && cpack -G DEB -B "$out" > "$work/debs.log" 2>&1) || { cat "$work/debs.log"; return 1; }
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
  prefix=$out/unpacked/usr
  libdir=$prefix/$host
}

all_stores='["mongodb","mongodb+srv","postgresql","postgres","sqlite"]'

step "static: build and install"
install_preset install -DCMAKE_INSTALL_LIBDIR=lib

if [[ $(uname) == Linux ]]; then
  step "static: the command"
  check_command "$prefix/bin/doclock"
  [[ -e $prefix/share/man/man1/doclock.1 && -e $prefix/share/bash-completion/completions/doclock ]]
fi
if [[ -n $(command -v dpkg-shlibdeps) ]]; then
  step "static: .deb and .tar.gz"
  check_command_packages
fi

step "static: a store outside the tree, and the suite that every store has to pass"
build_consumer ../../samples/dir_store "$work/dir_store" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12
"$work/dir_store/dir_store_url_test" --gtest_brief=1
# It mostly waits, so it runs while the rest is built.
RC_PARAMS="max_success=5 noshrink=1" "$work/dir_store/dir_store_conformance" --gtest_brief=1 > "$work/suite.log" 2>&1 &
suite=$!
trap 'kill "$suite" 2> /dev/null || true' EXIT

step "static: find_package"
build_consumer find_package "$work/static-find_package" -DCMAKE_PREFIX_PATH="$prefix"
run "$work/static-find_package/consumer"
"$work/static-find_package/unit_test"

step "static: find_package, core alone"
build_consumer find_core "$work/static-find_core" -DCMAKE_PREFIX_PATH="$prefix"
"$work/static-find_core/consumer"

step "static: find_package, mongodb alone"
build_consumer find_mongodb "$work/static-find_mongodb" -DCMAKE_PREFIX_PATH="$prefix"
"$work/static-find_mongodb/consumer"
if [[ -n $(mongodb_uri) ]]; then
  "$work/static-find_mongodb/consumer" "$(mongodb_uri)"
fi

step "static: pkg-config"
PKG_CONFIG_PATH=$libdir/pkgconfig tests/packaging/pkg_config/build.sh static "$work/static-pkg_config"
run "$work/static-pkg_config"

# Shared libraries of each kind, by the same objects: those that are linked to the servers' libraries, as BUILD_SHARED_LIBS
# makes them, and those of the preset, which load the stores on servers.
step "shared: build and install"
install_preset deb -DDOCLOCK_STORE_MODULES=COMMAND
check_command "$prefix/bin/doclock"
scripts/check_exports.sh "$libdir"/libdoclock*.so

step "shared: find_package"
build_consumer find_package "$work/shared-find_package" -DCMAKE_PREFIX_PATH="$prefix"
run "$work/shared-find_package/consumer"
"$work/shared-find_package/unit_test"

step "shared: find_package, core alone and mongodb alone"
build_consumer find_core "$work/shared-find_core" -DCMAKE_PREFIX_PATH="$prefix"
"$work/shared-find_core/consumer"
build_consumer find_mongodb "$work/shared-find_mongodb" -DCMAKE_PREFIX_PATH="$prefix"
"$work/shared-find_mongodb/consumer"

step "shared: libraries that load the stores on servers"
install_preset deb
if [[ -n $(command -v dpkg-shlibdeps) ]]; then
  step "shared: .deb of libraries, headers and command"
  check_debs
fi
check_command "$prefix/bin/doclock"
scripts/check_exports.sh "$libdir"/libdoclock*.so
build_consumer find_package "$work/module-find_package" -DCMAKE_PREFIX_PATH="$prefix"
[[ $(ldd "$work/module-find_package/consumer") != *@(mongoc|libpq)* ]]
run "$work/module-find_package/consumer"
"$work/module-find_package/unit_test"
PKG_CONFIG_PATH=$libdir/pkgconfig tests/packaging/pkg_config/build.sh shared "$work/module-pkg_config"
LD_LIBRARY_PATH=$libdir run "$work/module-pkg_config"

# With the stores that any program has: the others are compiled above.
step "add_subdirectory"
build_consumer add_subdirectory "$work/add_subdirectory" -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 \
  -DDOCLOCK_WITH_MONGODB=OFF -DDOCLOCK_WITH_POSTGRESQL=OFF
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
  conan_doclock() { # <command> <arguments...>
    "$tool" "$1" . -nr -pr:a packaging/conan/system.profile -o 'doclock/*:with_mongodb=True' -o 'doclock/*:with_postgresql=True' \
      -s build_type=Release "${@:2}" > "$work/conan.log" 2>&1 || { cat "$work/conan.log"; return 1; }
    tail -3 "$work/conan.log"
    rm -rf recipes/doclock/all/test_package/build
  }
  for package in boost nlohmann_json sqlite3 mongo-c-driver libpq; do
    step "conan: $package of the system"
    "$tool" create "packaging/conan/$package" -nr -pr:a packaging/conan/system.profile -s build_type=Release 2>&1 | tail -1
  done
  # Where the recipe's layout has the build of a Release.
  step "conan: a package of the static build"
  mkdir -p "$work/conan"
  ln -sfn "$root/build/install" "$work/conan/Release"
  conan_doclock export-pkg -c "tools.cmake.cmake_layout:build_folder=$work/conan" -c tools.cmake.cmaketoolchain:user_presets=
  for shared in "${variants[@]}"; do
    step "conan: doclock is compiled, shared=$shared"
    conan_doclock create -o "doclock/*:shared=$shared" -c 'tools.cmake.cmaketoolchain:extra_variables={"CMAKE_UNITY_BUILD": "ON"}'
  done

  # As Conan Center builds it: sources that are fetched and checked, and no other file of this folder. They are
  # configured here, and compiled with --create.
  step "conan: the recipe for Conan Center"
  version=$(sed -n 's/^ *VERSION \([0-9.]*\)$/\1/p' CMakeLists.txt | head -1)
  center=$work/conan-center archive=$work/doclock-$version.tar.gz
  rm -rf "$center"
  git ls-files -z | tar --null -T - --ignore-failed-read -czf "$archive" --transform "s,^,doclock-$version/,"
  scripts/conan_center.sh "$center" --homepage https://doclock.invalid --sources "file://$archive" --archive "$archive"
  {
    "$tool" export "$center/doclock/all" --version "$version" &&
      "$tool" graph info "$center/doclock/all" --version "$version" -nr -pr:a "$root/packaging/conan/system.profile" -s build_type=Release &&
      "$tool" source "$center/doclock/all" --version "$version" &&
      "$tool" install "$center/doclock/all" --version "$version" -nr -pr:a "$root/packaging/conan/system.profile" \
        -s build_type=Release -o 'doclock/*:with_mongodb=True' -o 'doclock/*:with_postgresql=True' &&
      (cd "$center/doclock/all/src" && cmake --preset conan-release)
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
