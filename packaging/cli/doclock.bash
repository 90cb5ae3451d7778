# bash completion for doclock

_doclock() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command="" word i
  local commands="run get put edit status renew release purge break"
  local options="--store --store-file --collection --json --help"
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if [[ $word == -- ]]; then
      # The command of run, as if it stood alone.
      if declare -F _command_offset > /dev/null; then
        _command_offset $((i + 1))
      else
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
      fi
      return
    fi
    [[ -z $command && " $commands " == *" $word "* ]] && command=$word
  done
  case $prev in
    --store-file) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
    --editor) mapfile -t COMPREPLY < <(compgen -c -- "$cur"); return ;;
    --key-type) mapfile -t COMPREPLY < <(compgen -W "string int uuid oid" -- "$cur"); return ;;
    --fence-env) mapfile -t COMPREPLY < <(compgen -v -- "$cur"); return ;;
    --store | --collection | -c | --wait | --ttl | --min-hold | --shared | --kill-after | --busy-exit | --owner | --group | \
      --prefix | --interval | --idle-for | --by) return ;;
  esac
  case $command in
    "") options="--version $options" ;;
    run) options+=" --wait --ttl --min-hold --shared --kill-after --owner --group --fence-env --busy-exit" ;;
    get) options+=" --key-type" ;;
    put) options+=" --key-type --wait --ttl" ;;
    edit) options+=" --key-type --wait --ttl --editor" ;;
    status) options+=" --key-type --prefix --owner --group --expired --live --watch --interval" ;;
    renew) options+=" --ttl" ;;
    purge) options+=" --forget --idle-for" ;;
    break) options+=" --key-type --by" ;;
  esac
  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
  elif [[ -z $command ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$cur")
  elif [[ $command == put ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  fi
}
complete -F _doclock doclock
