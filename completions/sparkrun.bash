# SPDX-License-Identifier: MIT
# bash completion for sparkrun: the program itself knows its commands, profiles and runs.
_sparkrun() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("$line")
  done < <("${COMP_WORDS[0]}" __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o bashdefault -o default -F _sparkrun sparkrun
