#!/usr/bin/env bash
# Checks the models (tests/model/: the lock on MongoDB, and LockAll) in every state they can reach, and that each guard is needed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
Usage: scripts/model.sh [--long | --if-changed | --story GUARD] [--help]

Checks with spin that the protocols keep their promises in every reachable state, then takes out one guard after another:
each time a promise has to break. Prints the states explored.

A run in which all promises are kept writes the sums of the models and of this script to tests/model/checked.

  --if-changed    ends at once if these sums are still right: a search of the same states finds the same
  --long          also with clocks that drift, and with a second attempt of one client: hours, and much memory
  --story GUARD   only prints how a promise breaks without this guard: "--story VERSION_IN_WRITE"
TEXT
}

work=build/model
story=
# What a run depends on, and the sums with which one has passed.
sources=(tests/model/*.pml scripts/model.sh)
checked=tests/model/checked
variants=(skewed-clocks stopped-clocks optimistic optimistic-stopped-clocks lock-all lock-all-dead-holder)

while [[ $# -gt 0 ]]; do
  case $1 in
    --long) variants+=(drifting-clocks drifting-and-skewed-clocks second-attempt); shift ;;
    --if-changed)
      if sha256sum --status -c "$checked" 2> /dev/null && [[ $(wc -l < "$checked") -eq ${#sources[@]} ]]; then
        echo "model.sh: the models are those that were checked ($checked)"
        exit 0
      fi
      shift
      ;;
    --story) story=${2:?}; shift 2 ;;
    -h | --help) usage; exit 0 ;;
    *) echo "model.sh: unknown option '$1'" >&2; usage >&2; exit 2 ;;
  esac
done

for tool in spin "${CC:=cc}"; do
  command -v "$tool" > /dev/null || { echo "model.sh: $tool is not installed (scripts/install_deps.sh --ci)" >&2; exit 1; }
done

# Each guard, the variant in which it is seen to be needed, and how deep to search.
deep=20000000
guards=(
  "FREE_IN_ACQUIRE plain $deep"
  "EXPIRY plain $deep"
  "MARGIN drifting-clocks 60"
  "DEADLINE_FROM_SEND plain $deep"
  "CONFIRMING_RENEWAL plain $deep"
  "FRESH_IDS second-attempt $deep"
  "VERSION_IN_WRITE stopped-clocks $deep"
  "LOOK_AFTER_DOUBT stopped-clocks $deep"
  "MARK_AS_PROOF stopped-clocks $deep"
  "MAJORITY_FOR_WRITES plain $deep"
  "LINEARIZABLE_LOOK plain $deep"
  "LOCK_IN_SAVE optimistic $deep"
  "VERSION_IN_SAVE optimistic $deep"
  "ORDER lock-all 10000"
  "ONE_ATTEMPT lock-all 10000"
  "WAIT_IN_TIMER lock-all 10000"
  "LOOK_AT_TIMER lock-all 10000"
  "GIVING_BACK lock-all-dead-holder 10000"
)

flags_of() {
  case $1 in
    plain | lock-all) ;;
    lock-all-dead-holder) echo -DDEAD_HOLDER ;;
    skewed-clocks) echo -DSKEW=1 ;;
    drifting-clocks) echo -DDRIFT=1 ;;
    drifting-and-skewed-clocks) echo "-DSKEW=1 -DDRIFT=1" ;;
    stopped-clocks) echo -DCLOCKS_STOP ;;
    optimistic) echo "-DOPTIMISTIC -DSKEW=1" ;;
    optimistic-stopped-clocks) echo "-DOPTIMISTIC -DCLOCKS_STOP" ;;
    second-attempt) echo -DATTEMPTS_0=2 ;;
  esac
}

# check <name> <variant> <depth> [<flag>]: searches one variant up to the first broken promise.
check() {
  local folder=$work/$1 flags model=tests/model/document_lock.pml ends=-E # all its ends are valid
  [[ $2 == lock-all* ]] && model=tests/model/lock_all.pml && ends=
  read -ra flags <<< "$(flags_of "$2") ${4:-}"
  mkdir -p "$folder"
  cp "$model" "$folder/model.pml"
  (
    cd "$folder"
    rm -f ./*.trail check.log
    spin "${flags[@]}" -a model.pml > spin.log
    "$CC" -O2 -w -DSAFETY -DCOLLAPSE -o checker pan.c
    ./checker $ends -w24 "-m$3" > check.log
  ) || { echo "model.sh: $1 cannot be checked; see $folder" >&2; return 1; }
}

states_of() { awk '/states, stored/ {printf "%.0f", $1}' "$work/$1/check.log"; }
broken_of() { sed -nE 's/^pan:1: (assertion violated )?(.*) \(at depth.*/\2/p' "$work/$1/check.log" | head -1; }
# Did the search meet a bound of its own?
is_cut_short() { grep -q 'max search depth too small\|out of memory' "$work/$1/check.log"; }

if [[ -n $story ]]; then
  for entry in "${guards[@]}"; do
    read -r guard variant depth <<< "$entry"
    [[ $guard == "$story" ]] || continue
    check "$guard" "$variant" "$depth" "-DWITHOUT_$guard"
    cd "$work/$guard"
    read -ra flags <<< "$(flags_of "$variant") -DWITHOUT_$guard"
    exec spin "${flags[@]}" -k model.pml.trail -p model.pml
  done
  echo "model.sh: no guard is called '$story'" >&2
  exit 2
fi

# The longest one has a processor of its own.
check "${variants[0]}" "${variants[0]}" "$deep" &
for variant in "${variants[@]:1}"; do
  check "$variant" "$variant" "$deep"
done
for entry in "${guards[@]}"; do
  read -r guard variant depth <<< "$entry"
  check "$guard" "$variant" "$depth" "-DWITHOUT_$guard"
done
wait $!

failed=0
total=0
for variant in "${variants[@]}"; do
  states=$(states_of "$variant")
  broken=$(broken_of "$variant")
  total=$((total + states))
  verdict="all promises kept"
  if [[ -n $broken ]]; then
    failed=1
    verdict="BROKEN: $broken"
  elif is_cut_short "$variant"; then
    failed=1
    verdict="CUT SHORT, see $work/$variant/check.log"
  fi
  printf '%-26s %10d states   %s\n' "$variant" "$states" "$verdict"
done

echo
echo "without the guard"
for entry in "${guards[@]}"; do
  read -r guard variant depth <<< "$entry"
  states=$(states_of "$guard")
  broken=$(broken_of "$guard")
  total=$((total + states))
  verdict="breaks: $broken"
  if [[ -z $broken ]]; then
    failed=1
    verdict="NOT SEEN TO BREAK"
  fi
  printf '%-26s %10d states   %s\n' "$guard" "$states" "$verdict"
done

echo
echo "$total states in all"
[[ $failed -ne 0 ]] || sha256sum "${sources[@]}" > "$checked"
exit "$failed"
