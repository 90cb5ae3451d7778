#!/usr/bin/env bash
# Makes the pictures of the documents: docs/pictures/<name>.svg from <name>.dot (Graphviz), <name>.msc (mscgen) or
# <name>.timeline (scripts/timeline.py).
# Each picture ends with the checksum of its source, by which --check finds those that are out of date, without the tools.
# It also finds text that leaves its picture, and pictures without a dark scheme, in docs/figures/ too
# (scripts/check_pictures.py).
# Usage: scripts/pictures.sh [--check]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../docs/pictures"

check=no
case "${1:-}" in
  "") ;;
  --check) check=yes ;;
  *) echo "Usage: scripts/pictures.sh [--check]" >&2; exit 2 ;;
esac

need() { command -v "$1" > /dev/null || { echo "pictures: $1 is not installed (packages graphviz, mscgen)" >&2; exit 1; }; }

# Gives a picture that is drawn on white a dark scheme: the same colours, from dark to light.
darken() {
  awk '{ print } /^<svg/ { root = 1 } root && />$/ { print style; root = 0 }' style="\
<style>@media (prefers-color-scheme: dark) { svg { filter: invert(0.88) hue-rotate(180deg) } }</style>
<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
}

draw() { # <source> <picture>
  case "$1" in
    *.dot) need dot; dot -Tsvg "$1" | darken > "$2" ;;
    *.msc) need mscgen; mscgen -T svg -i "$1" -o - | darken > "$2" ;;
    *.timeline) ../../scripts/timeline.py "$1" "$2" ;;
  esac
}

bad=0
for source in *.dot *.msc *.timeline; do
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
if [[ $check == yes ]]; then
  ../../scripts/check_pictures.py *.svg ../figures/*.svg || bad=1
fi
exit $bad
