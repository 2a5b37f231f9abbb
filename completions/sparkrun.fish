# SPDX-License-Identifier: MIT
# fish completion for sparkrun: the program itself knows its commands, profiles and runs.
function __sparkrun_complete
    set -l words (commandline -opc)
    $words[1] __complete -- $words[2..-1] (commandline -ct) 2>/dev/null
end
complete -c sparkrun -a '(__sparkrun_complete)'
