#!/usr/bin/env bash
# Makes the pictures of the documents: docs/pictures/<name>.svg from <name>.dot (Graphviz) or <name>.msc (mscgen).
# Each picture ends with the checksum of its source, by which --check finds those that are out of date, without the tools.
# Usage: scripts/pictures.sh [--check]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../docs/pictures"

check=no
case "${1:-}" in
  "") ;;
  --check) check=yes ;;
  *) echo "Usage: scripts/pictures.sh [--check]" >&2; exit 2 ;;
esac

draw() { # <source> <picture>
  case "$1" in
    *.dot) dot -Tsvg "$1" -o "$2" ;;
    *.msc) mscgen -T svg -i "$1" -o "$2" ;;
  esac
}

if [[ $check == no ]]; then
  for tool in dot mscgen; do
    command -v "$tool" > /dev/null || { echo "pictures: $tool is not installed (packages graphviz, mscgen)" >&2; exit 1; }
  done
fi

bad=0
for source in *.dot *.msc; do
  picture=${source%.*}.svg
  mark="<!-- made from $source, $(cksum < "$source" | cut -d ' ' -f 1) -->"
  if [[ $check == yes ]]; then
    if [[ $(tail -n 1 "$picture" 2> /dev/null) != "$mark" ]]; then
      echo "pictures: docs/pictures/$picture is not made from its source; run scripts/pictures.sh" >&2
      bad=1
    fi
  elif [[ $(tail -n 1 "$picture" 2> /dev/null) != "$mark" ]]; then
    draw "$source" "$picture"
    echo "$mark" >> "$picture"
    echo "pictures: docs/pictures/$picture"
  fi
done
exit $bad
