#!/bin/sh
# no_worker_left.sh <sample_order_saga> <input>: kills the only worker of a run, whose goal is then
# out of reach. Succeeds if the audit complains and the run exits with 1.
set -u
TMPDIR=$(mktemp -d) || exit 2
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

child_of() {
  sed -n "s/^\\([0-9]*\\) (.*) [A-Z] $1 .*/\\1/p" /proc/[0-9]*/stat 2> /dev/null
}

"$1" --input "$2" --workers 1 --kill 0 > "$TMPDIR/output" 2>&1 &
run=$!
worker=$(child_of $run)
while [ -z "$worker" ] && kill -0 $run 2> /dev/null; do
  sleep 0.05
  worker=$(child_of $run)
done
kill -9 $worker
wait $run
status=$?
cat "$TMPDIR/output"
echo "exit status $status"
[ $status -eq 1 ] && grep -q "^audit: [0-9]* problems" "$TMPDIR/output"
