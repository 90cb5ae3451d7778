#!/usr/bin/env bash
# Builds the fuzz targets with libFuzzer, and runs them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
Usage: scripts/fuzz.sh [--seconds N] [--jobs N] [--no-build] [--list] [--help] [TARGET...]

Builds the fuzz targets of tests/fuzz with clang 16, libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer, and runs
them (all, unless some are named), each for N seconds.

  --seconds N   how long each target runs (60); 3600 is an hour
  --jobs N      how many targets run at once (one for each processor)
  --no-build    runs what was built before
  --list        names the targets

Inputs that reach new code are kept in build/fuzz/corpus/TARGET, beside tests/fuzz/seeds/TARGET, and the next run goes on
from there. An input that breaks a target is kept in build/fuzz/findings/TARGET, and its log shows why; then the exit code is
1. Run one again: build/fuzz/tests/fuzz/doclock_fuzz_TARGET FILE
TEXT
}

seconds=60
jobs=${DOCLOCK_JOBS:-$(nproc 2> /dev/null || echo 2)}
build=yes
list=no
targets=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    --seconds) seconds=${2:?--seconds needs a number}; shift 2 ;;
    --jobs) jobs=${2:?--jobs needs a number}; shift 2 ;;
    --no-build) build=no; shift ;;
    --list) list=yes; shift ;;
    -h | --help) usage; exit 0 ;;
    -*) echo "fuzz.sh: unknown option '$1'" >&2; usage >&2; exit 2 ;;
    *) targets+=("$1"); shift ;;
  esac
done
[[ $seconds =~ ^[1-9][0-9]*$ && $jobs =~ ^[1-9][0-9]*$ ]] || { echo "fuzz.sh: a number is at least 1" >&2; exit 2; }

programs=$PWD/build/fuzz/tests/fuzz
logs=$PWD/build/fuzz/logs
if [[ $build == yes && $list == no ]]; then
  cmake --preset fuzz
  cmake --build --preset fuzz -j "$jobs"
fi

all=()
for seeds in tests/fuzz/seeds/*/; do
  all+=("$(basename "$seeds")")
done
if [[ $list == yes ]]; then
  printf '%s\n' "${all[@]}"
  exit 0
fi
for target in "${targets[@]}"; do
  [[ -d tests/fuzz/seeds/$target ]] || { echo "fuzz.sh: there is no target '$target'; there are ${all[*]}" >&2; exit 2; }
done
[[ ${#targets[@]} -gt 0 ]] || targets=("${all[@]}")

# Inputs, and the code that they reach, by the last line that the log has of each.
progress() { # <target>
  grep -E '^#[0-9]+' "$logs/$1.log" 2> /dev/null | tail -1 | sed -E 's/^#([0-9]+).*cov: ([0-9]+).*/\1 runs, \2 edges/'
}

# Without it a stack has numbers in place of names.
symbolizer=$(command -v llvm-symbolizer-16 || command -v llvm-symbolizer || true)
[[ -z $symbolizer ]] || export ASAN_SYMBOLIZER_PATH=$symbolizer

fuzz() { # <target>
  local target=$1 corpus=$PWD/build/fuzz/corpus/$1 findings=$PWD/build/fuzz/findings/$1 dictionary=()
  mkdir -p "$corpus" "$findings" "$logs"
  [[ ! -e tests/fuzz/dictionaries/$target ]] || dictionary=(-dict="tests/fuzz/dictionaries/$target")
  # Files of the targets themselves go to memory.
  TMPDIR=$([[ -w /dev/shm ]] && echo /dev/shm || echo "${TMPDIR:-/tmp}") \
    nice -n 10 "$programs/doclock_fuzz_$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=4096 \
    -print_final_stats=1 -artifact_prefix="$findings/" "${dictionary[@]}" "$corpus" "tests/fuzz/seeds/$target" \
    > "$logs/$target.log" 2>&1
}

started=$SECONDS
running=()
failed=()
finish() { # <target> <process>
  if wait "$2"; then
    echo "fuzz: $1: nothing found, $(progress "$1")"
  else
    failed+=("$1")
    echo "fuzz: $1: FOUND something, $(progress "$1")"
    grep -vE '^#[0-9]+' "$logs/$1.log" | tail -60
  fi
}
stop() { for one in "${running[@]}"; do kill "${one#* }" 2> /dev/null || true; done; }
trap stop EXIT

# Waits until fewer than this many run.
settle() { # <most>
  local still one tick=0
  while :; do
    still=()
    for one in "${running[@]}"; do
      if kill -0 "${one#* }" 2> /dev/null; then still+=("$one"); else finish "${one% *}" "${one#* }"; fi
    done
    running=("${still[@]}")
    [[ ${#running[@]} -ge $1 ]] || return 0
    if ((tick++ % 30 == 29)); then
      for one in "${running[@]}"; do
        echo "fuzz: $((SECONDS - started)) s: ${one% *}: $(progress "${one% *}")"
      done
    fi
    sleep 1
  done
}

for target in "${targets[@]}"; do
  settle "$jobs"
  fuzz "$target" &
  running+=("$target $!")
done
settle 1

if [[ ${#failed[@]} -gt 0 ]]; then
  echo "fuzz: found something in ${failed[*]}: build/fuzz/findings, build/fuzz/logs" >&2
  exit 1
fi
echo "fuzz: ${#targets[@]} targets, ${seconds} s each: nothing found"
