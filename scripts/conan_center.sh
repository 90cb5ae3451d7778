#!/usr/bin/env bash
# Writes the recipe for Conan Center, with the sources of a release.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: scripts/conan_center.sh FOLDER --homepage URL --sources URL --archive FILE
       scripts/conan_center.sh --check

  FOLDER       recipes/ of a clone of Conan Center's repository; FOLDER/doclock is written anew
  --homepage   the project's page
  --sources    where the released sources can be had
  --archive    the same file here, for its checksum
  --check      check that the recipe names this version, and has what Conan Center asks for
TEXT
}

cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
cd "$OLDPWD"
recipe=$root/recipes/doclock
version=$(sed -n 's/^ *VERSION \([0-9.]*\)$/\1/p' "$root/CMakeLists.txt" | head -1)

die() { echo "conan_center: $*" >&2; exit 1; }
has() { grep -Eq -- "$2" "$1" || die "$1: this is missing: $2"; }

# By Conan Center's rules (docs/adding_packages in its repository).
check() {
  local field
  has "$recipe/config.yml" "^  \"${version//./\\.}\":$"
  has "$recipe/all/conandata.yml" "^  \"${version//./\\.}\":$"
  for field in name description license url homepage topics package_type settings options default_options; do
    has "$recipe/all/conanfile.py" "^    $field = "
  done
  if grep -Eq '^    version = ' "$recipe/all/conanfile.py"; then die "the recipe has a version of its own; config.yml has it"; fi
  if grep -E '^    topics = ' "$recipe/all/conanfile.py" | grep -Eq '"(conan|doclock)"'; then die "topics name Conan or the project"; fi
  if grep -Eq 'python_requires|exports_sources' "$recipe/all/conanfile.py"; then die "the recipe has what Conan Center does not take"; fi
  for field in CMakeLists.txt conanfile.py test_package.cpp; do
    [[ -e $recipe/all/test_package/$field ]] || die "test_package has no $field"
  done
}

folder=
homepage=
sources=
archive=
while [[ $# -gt 0 ]]; do
  case "$1" in
    --check) check; exit 0 ;;
    --homepage) homepage=${2:?--homepage needs a URL}; shift ;;
    --sources) sources=${2:?--sources needs a URL}; shift ;;
    --archive) archive=${2:?--archive needs a file}; shift ;;
    -h | --help) usage; exit 0 ;;
    -*) echo "conan_center.sh: unknown option '$1'" >&2; usage >&2; exit 2 ;;
    *) folder=$1 ;;
  esac
  shift
done
[[ -n $folder && -n $homepage && -n $sources && -n $archive ]] || { usage >&2; exit 2; }
[[ -f $archive ]] || die "there is no file $archive"
check

rm -rf "$folder/doclock"
mkdir -p "$folder"
cp -r "$recipe" "$folder/doclock"
cat > "$folder/doclock/all/conandata.yml" <<TEXT
sources:
  "$version":
    url: "$sources"
    sha256: "$(sha256sum "$archive" | cut -d' ' -f1)"
TEXT
python3 - "$folder/doclock/all/conanfile.py" "$homepage" <<'PYTHON'
import sys
path, homepage = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    text = file.read()
with open(path, "w", encoding="utf-8") as file:
    file.write(text.replace("https://doclock.invalid", homepage))
PYTHON
echo "conan_center: wrote $folder/doclock"
