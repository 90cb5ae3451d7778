#!/usr/bin/env bash
# Installs what doclock's build needs and this machine lacks. It removes nothing and replaces nothing.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: scripts/install_deps.sh [--ci | --docs] [--check] [--help]

Installs the compiler, tools and libraries that building and testing doclock needs, where they are missing.
On Debian and Ubuntu it uses apt (as root, or with sudo). Elsewhere it names what is missing.

  --ci      also what the continuous integration uses: clang 16, its formatter and tidy, Doxygen, spin, zsh, fish, dpkg-dev,
            PostgreSQL
  --docs    only what the site of the documents needs (scripts/docs.sh): Doxygen, Chromium
  --check   only report; exit status 1 when something is missing
TEXT
}

ci=no
docs=no
check=no
for arg in "$@"; do
  case "$arg" in
    --ci) ci=yes ;;
    --docs) docs=yes ;;
    --check) check=yes ;;
    -h | --help) usage; exit 0 ;;
    *) echo "install_deps.sh: unknown option '$arg'" >&2; usage >&2; exit 2 ;;
  esac
done

say() { echo "install_deps: $*"; }
die() { echo "install_deps: $*" >&2; exit 1; }

# --- Other systems than Debian and its family: look for the files themselves. --------------------------------------

if ! command -v apt-get > /dev/null || ! command -v dpkg-query > /dev/null; then
  missing=()
  need_tool() { command -v "$1" > /dev/null || missing+=("$2"); }
  need_header() {
    local dir
    for dir in /usr/include /usr/local/include /opt/homebrew/include /opt/local/include ${CPATH//:/ }; do
      [[ -e "$dir/$1" ]] && return
    done
    missing+=("$2")
  }
  CPATH=${CPATH:-}
  if [[ $docs == yes ]]; then
    need_tool python3 "Python 3, with venv"
    need_tool doxygen "Doxygen"
    need_tool spin "spin"
    need_tool chromium "Chromium (scripts/docs.sh --no-browser does without)"
  else
    need_tool c++ "a C++20 compiler (GCC 12, clang 16, or newer)"
    need_tool cmake "CMake 3.25 or newer"
    need_tool ninja "Ninja"
    need_tool python3 "Python 3"
    need_tool pkg-config "pkg-config"
    need_header boost/asio.hpp "Boost 1.81 or newer (headers)"
    need_header nlohmann/json.hpp "nlohmann_json 3.11 or newer"
    need_header sqlite3.h "SQLite 3.37 or newer"
    need_header libmongoc-1.0/mongoc/mongoc.h "libmongoc 1.23 or newer (for doclock::mongodb)"
    need_tool pg_config "libpq 14 or newer (for doclock::postgresql)"
    need_tool postgres "a PostgreSQL server"
    need_tool localedef "localedef, with the sources of locales"
    need_header gmock/gmock.h "GoogleTest with GoogleMock"
    need_header benchmark/benchmark.h "Google Benchmark"
    need_header rapidcheck.h "RapidCheck (https://github.com/emil-e/rapidcheck), with its CMake package"
    need_header CLI/CLI.hpp "CLI11"
    need_header curses.h "ncurses (for doclock top)"
  fi
  if [[ $ci == yes ]]; then
    need_tool clang++-16 "clang 16"
    need_tool clang-format-16 "clang-format 16"
    need_tool doxygen "Doxygen"
    need_tool spin "spin"
  fi
  if [[ ${#missing[@]} -eq 0 ]]; then
    say "everything is there"
    exit 0
  fi
  say "this is not a Debian or Ubuntu system, so nothing was installed. Not found in the usual places:"
  printf '  %s\n' "${missing[@]}"
  say "Install these with your system's package manager. CMake looks for them under CMAKE_PREFIX_PATH too."
  [[ $check == yes ]] && exit 1
  # They may be elsewhere; CMake will find out.
  exit 0
fi

# --- Debian and Ubuntu ---------------------------------------------------------------------------------------------

installed() { [[ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2> /dev/null)" == installed ]]; }

# Can doclock use the Boost in /usr/include, from whatever source it is?
boost_usable() {
  local header=/usr/include/boost/version.hpp version
  [[ -e $header ]] || return 1
  version=$(sed -n 's/^#define BOOST_VERSION \([0-9][0-9]*\).*/\1/p' "$header")
  [[ ${version:-0} -ge 108100 ]]
}

available() { apt-cache show "$1" > /dev/null 2>&1; }

# The package that has the headers of the oldest usable Boost of this release.
boost_package() {
  local candidate minor
  candidate=$(apt-cache policy libboost-dev 2> /dev/null | awk '/Candidate:/ {print $2}')
  if [[ -n $candidate && $candidate != "(none)" ]] && dpkg --compare-versions "$candidate" ge 1.81; then
    echo libboost-dev
    return
  fi
  for minor in $(seq 81 99); do
    if available "libboost1.$minor-dev"; then
      echo "libboost1.$minor-dev"
      return
    fi
  done
  return 1
}

packages=(g++ cmake ninja-build ccache mold pkg-config python3 nlohmann-json3-dev libsqlite3-dev libmongoc-dev
  libgtest-dev libgmock-dev libbenchmark-dev librapidcheck-dev libcli11-dev libncurses-dev)
# For the tests on MongoDB: Python's venv to fetch a server (scripts/mongo.sh), false clocks, and certificates.
packages+=(python3-venv libfaketime openssl)
# The library for the store on PostgreSQL, and the server and a pooler for its tests.
packages+=(libpq-dev postgresql pgbouncer)
# For the tests of what a host program sets: the sources of locales.
packages+=(locales)
# The server that is fetched needs this one; newer releases have it in a package of another name.
if ! ldconfig -p | grep -q 'libcurl\.so\.4 '; then
  packages+=(libcurl4)
fi
if [[ $docs == yes ]]; then
  packages=(python3 python3-venv doxygen)
  browsers=(chromium-headless-shell chromium)
  if ! { installed "${browsers[0]}" || installed "${browsers[1]}"; }; then
    available "${browsers[0]}" && packages+=("${browsers[0]}") || packages+=("${browsers[1]}")
  fi
fi
if [[ $ci == yes ]]; then
  packages+=(git clang-16 clang-format-16 clang-tidy-16 libclang-rt-16-dev doxygen codespell spin zsh fish dpkg-dev file)
fi

missing=()
for package in "${packages[@]}"; do
  installed "$package" || missing+=("$package")
done

need_boost=no
if [[ $docs == no ]] && ! boost_usable; then
  need_boost=yes
  # Two versions of Boost's headers cannot be installed side by side, and another program may need the installed one.
  old=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' 'libboost[0-9]*-dev' 2> /dev/null |
    awk '$1 == "installed" && $2 ~ /^libboost1\.[0-9]+-dev$/ {print $2}' || true)
  if [[ -n $old ]]; then
    die "$old is installed. doclock needs Boost 1.81 or newer, whose package cannot be installed beside it.
Nothing was changed. If nothing else on this machine needs the old one, remove it and run this again:
  apt-get remove libboost-dev $(echo "$old" | tr '\n' ' ')
Or build doclock with a Boost of your own: CMAKE_PREFIX_PATH=<where it is> scripts/test.sh --no-deps"
  fi
fi

if [[ ${#missing[@]} -eq 0 && $need_boost == no ]]; then
  say "everything is there"
  exit 0
fi
if [[ $check == yes ]]; then
  [[ $need_boost == yes ]] && missing+=("Boost 1.81 or newer")
  say "missing: ${missing[*]}"
  exit 1
fi

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  command -v sudo > /dev/null || die "not root, and there is no sudo. Missing: ${missing[*]} (and Boost 1.81: $need_boost)"
  as_root=(sudo)
fi
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@"; }

say "updating the package lists"
apt update -qq
if [[ $need_boost == yes ]]; then
  boost=$(boost_package) || die "this release has no package of Boost 1.81 or newer; install one by hand (headers are enough)"
  missing+=("$boost")
fi
say "installing ${missing[*]}"
apt install -y -qq --no-install-recommends "${missing[@]}"
say "done"
