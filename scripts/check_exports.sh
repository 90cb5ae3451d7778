#!/usr/bin/env bash
# Fails when a shared library of doclock exports a symbol that is not doclock's own. A leaked symbol of Asio or of the
# JSON library would be merged with the one of another version in the same process.
# Usage: scripts/check_exports.sh <library.so>...
set -euo pipefail

[[ $# -gt 0 ]] || { echo "Usage: scripts/check_exports.sh <library.so>..." >&2; exit 2; }

ours='^((typeinfo|typeinfo name|vtable|VTT|guard variable) for |(non-virtual|virtual) thunk to )?doclock::'
status=0
for library in "$@"; do
  symbols=$(nm -DC --defined-only "$library" | cut -d' ' -f3-)
  total=$(grep -c . <<< "$symbols" || true)
  foreign=$(grep -Ev "$ours" <<< "$symbols" | grep . || true)
  if [[ -n $foreign ]]; then
    echo "$library: $(wc -l <<< "$foreign") of $total exported symbols are not doclock's:"
    head -20 <<< "$foreign" | sed 's/^/  /'
    status=1
  else
    echo "$library: $total exported symbols, all doclock's"
  fi
done
exit $status
