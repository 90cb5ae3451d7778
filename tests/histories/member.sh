#!/usr/bin/env bash
# A member of the set in a network namespace, or with a false clock: servers.py lets scripts/mongo.sh start it in place of
# mongod. Only the server itself is to have them, not the scripts around it.
set -euo pipefail
enter=()
if [[ -n ${DOCLOCK_MEMBER_NETWORKS:-} ]]; then
  port=$(sed 's/.*--port \([0-9]*\) .*/\1/' <<< "$*")
  enter=(nsenter "--net=$DOCLOCK_MEMBER_NETWORKS/$port")
fi
exec "${enter[@]}" env ${DOCLOCK_MEMBER_PRELOAD:+"LD_PRELOAD=$DOCLOCK_MEMBER_PRELOAD"} "${DOCLOCK_MEMBER_PROGRAM:?}" "$@"
