#!/usr/bin/env bash
# Runs clang-tidy over the library, or over the files that are named. It needs the preset clang to be configured, and
# does that itself. Usage: scripts/tidy.sh [FILE...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tidy=${CLANG_TIDY:-clang-tidy-16}
command -v "$tidy" > /dev/null || { echo "tidy.sh: $tidy is not installed" >&2; exit 1; }
cmake --preset clang > /dev/null

if [[ $# -gt 0 ]]; then
  files=("$@")
else
  # What this platform does not compile, clang-tidy cannot read.
  mapfile -t files < <(sed -n 's/^ *"file": "\(.*\)",*$/\1/p' build/clang/compile_commands.json | grep "^$PWD/src/")
fi
printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "${DOCLOCK_JOBS:-$(nproc 2> /dev/null || echo 2)}" "$tidy" --quiet -p build/clang
