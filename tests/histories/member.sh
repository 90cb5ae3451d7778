#!/usr/bin/env bash
# A member of the set with a false clock: servers.py lets scripts/mongo.sh start it in place of mongod. Only the server itself
# is to have the clock, not the scripts around it.
exec env LD_PRELOAD="${DOCLOCK_MEMBER_PRELOAD:?}" "${DOCLOCK_MEMBER_PROGRAM:?}" "$@"
