# bash completion for doclock

# The options of the line that say where the store is, to ask it for names.
_doclock_store() {
  local i
  store=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${COMP_WORDS[i]} in
      --) return ;;
      --store | --store-file) store=("${COMP_WORDS[i]}" "${COMP_WORDS[i + 1]}") ;;
      -c | --collection) collection=${COMP_WORDS[i + 1]} ;;
    esac
  done
}

# Adds the lines that doclock prints, if it answers soon.
_doclock_ask() {
  local cur=$1 line
  shift
  while IFS= read -r line; do
    [[ $line == "$cur"* ]] && COMPREPLY+=("$(printf %q "$line")")
  done < <(timeout 2 doclock "${store[@]}" "$@" 2> /dev/null)
}

_doclock() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command="" word i at=0
  local collection=doclock_locks store=() first=""
  local commands="run get put edit delete collections list export import outbox work status events top renew release purge break doctor"
  local options="--store --store-file --collection --json --help"
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if [[ $word == -- && ($command == run || -z $command) ]]; then
      # The command of run, as if it stood alone.
      if declare -F _command_offset > /dev/null; then
        _command_offset $((i + 1))
      else
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
      fi
      return
    fi
    case ${COMP_WORDS[i - 1]} in
      --store | --store-file | --lock-file | -c | --collection | --key | --key-type | --wait | --ttl | --where | --order-by | --after | --limit | --if-version | \
        --editor | --owner | --group | --prefix | --sort | --interval | --by | --min-hold | --shared | --kill-after | --fence-env | \
        --busy-exit | --idle-for) continue ;;
    esac
    if [[ -z $command ]]; then
      [[ " $commands " == *" $word "* ]] && command=$word
    elif [[ $word != -* ]]; then
      # The arguments before the cursor.
      ((at++)) || first=$word
    fi
  done
  case $prev in
    --store-file | --lock-file) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
    --editor) mapfile -t COMPREPLY < <(compgen -c -- "$cur"); return ;;
    --sort) mapfile -t COMPREPLY < <(compgen -W "age name holder left rate wait" -- "$cur"); return ;;
    --key-type) mapfile -t COMPREPLY < <(compgen -W "string int uuid oid" -- "$cur"); return ;;
    --fence-env) mapfile -t COMPREPLY < <(compgen -v -- "$cur"); return ;;
    --collection | -c)
      _doclock_store
      _doclock_ask "$cur" collections
      return
      ;;
    --store | --wait | --ttl | --min-hold | --shared | --kill-after | --busy-exit | --owner | --group | \
      --prefix | --interval | --idle-for | --by | --key | --where | --order-by | --after | --limit | --if-version) return ;;
  esac
  local search="--where --order-by --descending --after --key-type --limit --free --locked"
  case $command in
    "") options="--version $options" ;;
    run) options+=" --wait --ttl --min-hold --shared --kill-after --owner --group --fence-env --busy-exit" ;;
    get) options+=" --key-type --full" ;;
    put) options+=" --key-type --wait --ttl --create --if-version" ;;
    edit) options+=" --key-type --wait --ttl --editor" ;;
    delete) options+=" --key-type --wait --ttl --if-version" ;;
    list) options+=" $search --keys" ;;
    export) options+=" $search --lock --wait --ttl --resume" ;;
    import) options+=" --wait --ttl --resume --create --key --key-type" ;;
    outbox) options+=" --key-type --retry --drop" ;;
    work) options+=" --key-type --attempts --retry --drop" ;;
    status) options+=" --key-type --prefix --owner --group --expired --live --closed --watch --interval" ;;
    events) options+=" --follow --prefix --interval" ;;
    top) options+=" --prefix --sort --interval" ;;
    renew) options+=" --ttl --lock-file --key-type" ;;
    release) options+=" --lock-file --key-type" ;;
    purge) options+=" --forget --idle-for" ;;
    break) options+=" --key-type --by" ;;
  esac
  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
    return
  fi
  [[ -z $command ]] && mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$cur")
  _doclock_store
  case $command/$at in
    get/0 | put/0 | edit/0 | delete/0 | list/0 | export/0 | import/0 | outbox/0 | work/0) _doclock_ask "$cur" collections ;;
    get/1 | put/1 | edit/1 | delete/1 | outbox/1 | work/1) _doclock_ask "$cur" list --keys --limit 1000 -- "$first" ;;
    run/0 | status/0 | break/0) _doclock_ask "$cur" list --keys --limit 1000 -- "$collection" ;;
    put/2 | export/1 | import/1) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
  esac
}
complete -F _doclock doclock
