# bash completion for doclock, which itself knows what may come next.

_doclock() {
  local cur=${COMP_WORDS[COMP_CWORD]} line
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :file) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
      ":command "*)
        # The command of run, as if it stood alone.
        if declare -F _command_offset > /dev/null; then
          _command_offset "${line#:command }"
        else
          mapfile -t COMPREPLY < <(compgen -c -- "$cur")
        fi
        ;;
      :command) mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
      *) COMPREPLY+=("$(printf %q "${line%%$'\t'*}")") ;;
    esac
  done < <(timeout 2 doclock __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null)
}
complete -F _doclock doclock
