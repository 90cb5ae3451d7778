#!/bin/sh
# test.sh <sample_travelling_lock>: one process takes a lock, another releases it. Each line is a process of its own.
set -eu
sample=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
store=sqlite:$folder/tickets.db

expect() { # <exit code> <command...>
  wanted=$1
  shift
  code=0
  "$@" || code=$?
  [ "$code" -eq "$wanted" ] || { echo "exit code $code instead of $wanted: $*" >&2; exit 1; }
}
shows() { # <text>
  text=$("$sample" show "$store" 7)
  echo "$text"
  [ "$text" = "$1" ] || { echo "expected: $1" >&2; exit 1; }
}

"$sample" take "$store" 7 > "$folder/message"
# The process is gone; its lock is not.
shows 'with the expert, locked, ""'
expect 3 "$sample" take "$store" 7

"$sample" answer "$store" 'Restart it' < "$folder/message"
shows 'answered, free, "Restart it"'

# The message has done its work: what comes late is refused, and writes nothing.
expect 4 "$sample" answer "$store" 'Buy a new one' < "$folder/message"
shows 'answered, free, "Restart it"'

# Another process has taken the lock meanwhile: the old message does not release it.
"$sample" take "$store" 7 > "$folder/second"
expect 4 "$sample" answer "$store" 'Buy a new one' < "$folder/message"
shows 'with the expert, locked, "Restart it"'
"$sample" answer "$store" 'Replace the fuse' < "$folder/second"
shows 'answered, free, "Replace the fuse"'
