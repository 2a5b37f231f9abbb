# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154  # sourced by rig, which sets $volatile, $rig and $log
# Starting, watching and stopping daemons. $volatile/NAME.pid holds a process id and its start time, which together
# name one process until the next boot, and that folder does not outlive a boot.

# The start time of a process in clock ticks; fails for one that is gone or a zombie.
started_at() {
  local line
  { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
  # The second field is the name in brackets, which may hold anything; the third is the state, the 22nd the start.
  read -r -a line <<<"${line##*) }"
  [[ ${line[0]} != Z ]] && echo "${line[19]}"
}

# The process id of a service; fails when it is not running.
pid_of() {
  local pid start
  [[ -r $volatile/$1.pid ]] && read -r pid start <"$volatile/$1.pid" && [[ $(started_at "$pid") == "$start" ]] && echo "$pid"
}

is_running() { pid_of "$1" >/dev/null; }

show_log() {
  echo "--- end of $log/$1.log" >&2
  tail -n 25 "$log/$1.log" >&2 || true
}

# start NAME COMMAND...: as a daemon that has nothing of ours: no descriptor (the lock, a pipe that a test runner waits
# on), no variable, no terminal. $search_path is where it finds programs before those of the host.
start() {
  local name=$1
  shift
  (
    cd /
    umask 022
    for descriptor in /proc/self/fd/*; do
      descriptor=${descriptor##*/}
      ((descriptor <= 2)) || eval "exec $descriptor>&-"
    done
    exec setsid env -i PATH="${search_path:+$search_path:}/usr/sbin:/usr/bin:/sbin:/bin" \
      SPARKRUN_RIG_GPU_OFF="$volatile/gpu-off" "$@" </dev/null >"$log/$name.log" 2>&1
  ) &
  echo "$! $(started_at $!)" >"$volatile/$name.pid"
}

# wait_for NAME SECONDS COMMAND...: until the command succeeds.
wait_for() {
  local name=$1 until=$((SECONDS + $2)) limit=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    if ! is_running "$name"; then
      show_log "$name"
      die "$name did not start"
    fi
    if ((SECONDS >= until)); then
      show_log "$name"
      die "$name did not answer within $limit s"
    fi
    sleep 0.1
  done
}

# signal_until_gone SECONDS COMMAND...: the command prints process ids; they get TERM, and KILL after the time.
signal_until_gone() {
  local until=$((SECONDS + $1)) signal=TERM pids
  shift
  while mapfile -t pids < <("$@") && ((${#pids[@]})); do
    if [[ $signal == TERM ]] || ((SECONDS >= until)); then
      kill "-$signal" "${pids[@]}" 2>/dev/null || true
      # One TERM: a second makes the engine quit at once.
      signal=KILL
    fi
    ((SECONDS < until + 10)) || die "these processes do not end: ${pids[*]}"
    sleep 0.1
  done
}

stop() {
  signal_until_gone "$2" pid_of "$1"
  rm -f "$volatile/$1.pid"
}

# Processes in the rig's own control groups: containers whose engine went away before they did.
contained_processes() {
  local file
  for file in /sys/fs/cgroup{,/*}/"$cgroup"{,/**}/cgroup.procs; do
    [[ -f $file ]] && cat "$file"
  done | sort -u
}

# Shims that outlived containerd, known by the file they run.
stray_shims() {
  local link
  for link in /proc/[0-9]*/exe; do
    if [[ $(readlink "$link") == "$rig"/engine*/usr/bin/containerd-shim* ]]; then
      link=${link%/exe}
      echo "${link##*/}"
    fi
  done 2>/dev/null
}

remove_cgroups() {
  local folder
  for folder in /sys/fs/cgroup{,/*}/"$cgroup"; do
    [[ -d $folder ]] && find "$folder" -depth -type d -exec rmdir {} + 2>/dev/null
  done
  return 0
}

# Whatever is mounted below the rig's folders, the last one first. Blanks in mountinfo are octal escapes.
unmount_all() {
  local point
  tac /proc/self/mountinfo | while read -r _ _ _ _ point _; do
    printf -v point '%b' "$point"
    case $point in
      "$rig"/* | "$volatile"/*) umount "$point" || umount --lazy "$point" ;;
    esac
  done
}
