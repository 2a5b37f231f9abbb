# SPDX-License-Identifier: MIT
# fish completion for sparkrun: the program itself knows its commands, profiles and runs.
function __sparkrun_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l candidates ($words[1] __complete -- $words[2..-1] "$current" 2>/dev/null)
    if set -q candidates[1]
        printf '%s\n' $candidates
    else
        __fish_complete_path "$current"
    end
end
complete -c sparkrun -f -a '(__sparkrun_complete)'
