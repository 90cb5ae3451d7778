#!/usr/bin/env bash
# Formats the C++ of the project in place, or with --check only says what is not formatted.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1:-}" in
  "") mode=(-i) ;;
  --check) mode=(--dry-run --Werror) ;;
  *) echo "Usage: scripts/format.sh [--check]" >&2; exit 2 ;;
esac

# Requires this version, because other versions of the formatter format differently.
formatter=${CLANG_FORMAT:-clang-format-16}
command -v "$formatter" > /dev/null || { echo "format.sh: $formatter is not installed" >&2; exit 1; }

git ls-files -z --cached --others --exclude-standard -- '*.h' '*.cpp' |
  xargs -0 --no-run-if-empty -n 20 -P "$(nproc 2> /dev/null || echo 2)" "$formatter" "${mode[@]}"
