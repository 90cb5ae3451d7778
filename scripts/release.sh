#!/usr/bin/env bash
# Walks the checklist of a release, and builds its files.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
Usage: scripts/release.sh --check [--tag TAG] | --packages FOLDER | --help

  --check      check everything about a release that a script can check, and list what is left to do by hand
  --tag TAG    also check that the tag fits the version
  --packages   build the release's files into FOLDER: libraries, headers and the command as .deb, the command as .tar.gz, the sources, the notes
TEXT
}

mode=
tag=
folder=
while [[ $# -gt 0 ]]; do
  case "$1" in
    --check) mode=check ;;
    --tag) tag=${2:?--tag needs a tag}; shift ;;
    --packages) mode=packages; folder=${2:?--packages needs a folder}; shift ;;
    -h | --help) usage; exit 0 ;;
    *) echo "release.sh: unknown option '$1'" >&2; usage >&2; exit 2 ;;
  esac
  shift
done
[[ -n $mode ]] || { usage >&2; exit 2; }

version=$(sed -n 's/^ *VERSION \([0-9.]*\)$/\1/p' CMakeLists.txt | head -1)

# The part of the changelog below the heading of this version.
notes() { awk -v heading="## [$version]" 'index($0, heading) == 1 {on = 1; next} /^## \[/ {on = 0} on' CHANGELOG.md; }

bad=0
check() { # <what> <command...>
  local what=$1 output
  shift
  if output=$("$@" 2>&1); then
    echo "[x] $what"
  else
    echo "[ ] $what"
    [[ -z $output ]] || sed 's/^/      /' <<< "$output"
    bad=$((bad + 1))
  fi
}

tree_is_clean() { local changes; changes=$(git status --porcelain); [[ -z $changes ]] || { echo "$changes"; return 1; }; }
changelog_has_date() { grep -Eq "^## \[${version//./\\.}\] - [0-9]{4}-[0-9]{2}-[0-9]{2}$" CHANGELOG.md; }
changelog_has_notes() { [[ -n $(notes | tr -d '[:space:]') ]]; }
nothing_unreleased() { ! awk '/^## \[Unreleased\]/ {on = 1; next} /^## \[/ {on = 0} on && NF' CHANGELOG.md | grep -q .; }
documents_name_version() {
  local minor=${version%.*} missing=0
  grep -q "doclock/$version" docs/how-to/adding-doclock.md || { echo "docs/how-to/adding-doclock.md does not name doclock/$version"; missing=1; }
  grep -q "find_package(doclock $minor " docs/how-to/adding-doclock.md || { echo "docs/how-to/adding-doclock.md does not name find_package(doclock $minor ...)"; missing=1; }
  grep -qx "$version" docs/tutorial.md || { echo "docs/tutorial.md does not show $version"; missing=1; }
  grep -q "\"version\": \"$version\"" packaging/vcpkg/ports/doclock/vcpkg.json || { echo "the vcpkg port has another version"; missing=1; }
  return "$missing"
}
tag_fits() { [[ $tag == "v$version" ]] || { echo "the tag is $tag, the version $version"; return 1; }; }
tag_is_new() { ! git rev-parse -q --verify "refs/tags/v$version" > /dev/null; }

if [[ $mode == check ]]; then
  echo "doclock $version"
  check "nothing is uncommitted" tree_is_clean
  check "the changelog has this version with a date" changelog_has_date
  check "the changelog says what is new in it" changelog_has_notes
  check "nothing is left under [Unreleased]" nothing_unreleased
  check "the documents name this version" documents_name_version
  if [[ -n $tag ]]; then check "the tag fits the version" tag_fits; else check "there is no tag v$version yet" tag_is_new; fi
  check "the pictures are made from their sources" scripts/pictures.sh --check
  check "the recipe for Conan Center has this version" scripts/conan_center.sh --check
  check "the workflows are well-formed" scripts/check_workflows.sh
  cat <<TEXT

By hand, in this order:
    .ci/run                            everything passes, from a clean clone
    scripts/bench.sh                   on a machine with nothing else to do; docs/reference/performance.md has the figures
    scripts/docs.sh --serve            read what changed, as a reader would
    git tag -s v$version -m v$version  and push it: the workflow "release" does the rest
    scripts/conan_center.sh            the recipe for Conan Center, once the sources can be had (recipes/README.md)
TEXT
  [[ $bad -eq 0 ]] || { echo; echo "release: $bad not done"; exit 1; }
  exit 0
fi

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
for preset in install deb; do
  cmake --preset $preset
  cmake --build --preset $preset -j "${DOCLOCK_JOBS:-$(nproc 2> /dev/null || echo 2)}"
  rm -rf build/$preset/packages
done
# The archive has the libraries inside; the packages depend on each other.
(cd build/install && cpack -G TGZ -B "$PWD/packages")
(cd build/deb && cpack -G DEB -B "$PWD/packages")
cp build/deb/packages/*.deb build/install/packages/*.tar.gz "$folder"
git archive --prefix "doclock-$version/" -o "$folder/doclock-$version.tar.gz" HEAD
notes > "$folder/NOTES.md"
(cd "$folder" && sha256sum -- *.deb *.tar.gz > SHA256SUMS)
ls -l "$folder"
