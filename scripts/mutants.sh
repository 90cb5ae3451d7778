#!/usr/bin/env bash
# Breaks the sources one change at a time, and lists the changes that no test notices. See --help.
exec python3 "$(dirname "${BASH_SOURCE[0]}")/mutants/mutants.py" "$@"
