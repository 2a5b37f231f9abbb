# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Prints what can be seen from inside a container, as `key=value` lines between two marker lines, and
# judges nothing. Fed to `sh -s NONCE [ROOT]` on standard input, so that the image needs no file of ours:
#   NONCE  a random word in the markers, so that no banner of an entrypoint is taken for a fact
#   ROOT   where /dev, /proc and the marker files are looked for; tests give a folder of their own
# A fact that cannot be told is left out. Needs no program but sh; uses timeout and python if there are.

value_bytes_max=400

# emit KEY VALUE: one line, without control characters, of bounded length.
emit() {
  rest=$2
  value=
  while :; do
    case $rest in
      *[[:cntrl:]]*) ;;
      *) break ;;
    esac
    head=${rest%%[[:cntrl:]]*}
    rest=${rest#"$head"}
    rest=${rest#?}
    value="$value$head "
    # A text of many lines would be scanned again for each of them.
    [ "${#value}" -lt "$value_bytes_max" ] || rest=
  done
  printf "%s=%.${value_bytes_max}s\n" "$1" "$value$rest"
}

emit_yes_or_no() {
  key=$1
  shift
  if "$@"; then emit "$key" yes; else emit "$key" no; fi
}

# within SECONDS COMMAND...: its status, or 124 or 137 when it had to be stopped. Standard input is this
# script, so no command may read it.
within() {
  limit=$1
  shift
  if [ "$has_timeout" = yes ]; then
    timeout -k 1 "$limit" "$@" </dev/null
    return
  fi
  "$@" </dev/null &
  child=$!
  # Not on our output: whoever reads it would wait for the sleep.
  (sleep "$limit" && kill -9 "$child") >/dev/null 2>&1 </dev/null &
  watcher=$!
  wait "$child" 2>/dev/null
  status=$?
  kill "$watcher" 2>/dev/null
  return "$status"
}

was_stopped() {
  [ "$1" -eq 124 ] || [ "$1" -eq 137 ]
}

first_line() {
  printf '%s\n' "${1%%
*}"
}

probe_container() {
  emit_yes_or_no container.dockerenv test -f "$root/.dockerenv"
  emit_yes_or_no container.containerenv test -f "$root/run/.containerenv"
  [ -r "$root/proc/1/cgroup" ] || return 0
  found=no
  while IFS= read -r line; do
    case $line in
      *docker* | *containerd* | *kubepods*) found=yes ;;
    esac
  done <"$root/proc/1/cgroup"
  emit container.cgroup "$found"
}

# probe_variable NAME IS_SET VALUE: an empty variable and one that is not set mean different things.
probe_variable() {
  if [ -z "$2" ]; then
    emit "env.$1" unset
  elif [ -z "$3" ]; then
    emit "env.$1" empty
  else
    emit "env.$1" set
    emit "env.$1.value" "$3"
  fi
}

probe_environment() {
  probe_variable CUDA_VISIBLE_DEVICES "${CUDA_VISIBLE_DEVICES+x}" "${CUDA_VISIBLE_DEVICES-}"
  probe_variable NVIDIA_VISIBLE_DEVICES "${NVIDIA_VISIBLE_DEVICES+x}" "${NVIDIA_VISIBLE_DEVICES-}"
  probe_variable CUDA_VERSION "${CUDA_VERSION+x}" "${CUDA_VERSION-}"
  machine=$(uname -m 2>/dev/null) && emit arch "$machine"
}

# Root may read everything by its mode, and a device cgroup still refuses: only opening it tells.
probe_device() {
  node=$root/dev/$2
  # shellcheck disable=SC2016 # the inner shell expands it
  open_node=': <"$1"'
  if [ ! -e "$node" ]; then
    emit "device.$1" missing
  elif [ -r "$node" ] && [ -w "$node" ] && within 5 sh -c "$open_node" sh "$node" 2>/dev/null; then
    emit "device.$1" ok
  else
    emit "device.$1" unreadable
  fi
}

probe_devices() {
  probe_device nvidia0 nvidia0
  probe_device nvidiactl nvidiactl
  probe_device nvidia_uvm nvidia-uvm
}

# The whole list first, then the search: a `grep -q` would close the pipe under ldconfig.
probe_ldconfig() {
  ldconfig=$(command -v ldconfig || command -v /sbin/ldconfig) || return 0
  list=$(within 10 "$ldconfig" -p 2>/dev/null) || return 0
  libraries=
  while read -r library _; do
    case $library in
      libcudart.so.*) libraries="$libraries${libraries:+ }$library" ;;
    esac
  done <<END
$list
END
  emit ldconfig.cudart "$libraries"
}

probe_nvidia_smi() {
  if ! command -v nvidia-smi >/dev/null 2>&1; then
    emit nvidia_smi absent
    return
  fi
  emit nvidia_smi present
  # The banner changes from driver to driver; the fields of a query do not.
  answer=$(within 5 nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader 2>&1)
  status=$?
  if was_stopped "$status"; then
    emit nvidia_smi.exit timeout
    return
  fi
  emit nvidia_smi.exit "$status"
  line=$(first_line "$answer")
  if [ "$status" -ne 0 ] || [ -z "$line" ]; then
    emit nvidia_smi.error "$answer"
    return
  fi
  emit nvidia_smi.compute_cap "${line##*, }"
  line=${line%, *}
  emit nvidia_smi.driver "${line##*, }"
  emit nvidia_smi.name "${line%, *}"
  count=0
  while IFS= read -r _; do count=$((count + 1)); done <<END
$answer
END
  emit nvidia_smi.count "$count"
}

# Each line that is a fact starts with a word that no library prints.
packages_code='
import re, sys
def say(key, value):
    print("sparkrun-fact:%s=%s" % (key, value))
say("python.version", "%d.%d.%d" % sys.version_info[:3])
import ctypes
try:
    ctypes.CDLL("libcudart.so.13")
    say("cudart13", "yes")
except OSError as problem:
    say("cudart13", "no")
    say("cudart13.error", problem)
try:
    import importlib.metadata as metadata
    seen = set()
    for package in metadata.distributions():
        name = re.sub("[-_.]+", "-", str(package.metadata["Name"])).lower()
        if name not in seen and len(seen) < 3000:
            seen.add(name)
            say("package." + name, package.version)
    say("packages", "complete" if len(seen) < 3000 else "cut")
except Exception as problem:
    say("packages", "failed: %s" % problem)
'
torch_code='
import importlib.util, warnings
def say(key, value):
    print("sparkrun-fact:%s=%s" % (key, value), flush=True)
def probe():
    if importlib.util.find_spec("torch") is None:
        say("torch", "absent")
        return
    try:
        import torch
        say("torch.version", torch.__version__)
        say("torch.cuda", torch.version.cuda or "none")
    except Exception as problem:
        say("torch", "failed")
        say("torch.error", " ".join(("%s: %s" % (type(problem).__name__, problem)).split()))
        return
    say("torch", "ok")
    import ctypes
    try:
        ctypes.CDLL("libcudart.so.13")
        say("torch.cudart13", "yes")
    except OSError:
        say("torch.cudart13", "no")
    try:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            available = bool(torch.cuda.is_available())
        say("torch.available", "yes" if available else "no")
        if heard:
            say("torch.warning", " ".join(str(heard[-1].message).split()))
        say("torch.device_count", torch.cuda.device_count())
        if available:
            say("torch.capability", "%d.%d" % tuple(torch.cuda.get_device_capability(0)))
    except Exception as problem:
        say("torch.warning", " ".join(str(problem).split()))
probe()
'

# run_python SECONDS CODE: prints its facts; the status is python's.
run_python() {
  output=$(within "$1" "$python" -c "$2" 2>/dev/null)
  python_status=$?
  while IFS= read -r line; do
    case $line in
      sparkrun-fact:*=*)
        line=${line#sparkrun-fact:}
        emit "${line%%=*}" "${line#*=}"
        ;;
    esac
  done <<END
$output
END
  return "$python_status"
}

probe_python() {
  python=$(command -v python3 || command -v python)
  if [ -z "$python" ]; then
    emit python absent
    return
  fi
  emit python "$python"
  run_python 30 "$packages_code"
  status=$?
  was_stopped "$status" && emit packages timeout
  run_python 90 "$torch_code"
  status=$?
  if was_stopped "$status"; then
    emit torch timeout
  elif [ "$status" -ne 0 ]; then
    emit torch failed
    emit torch.error "python ended with status $status"
  fi
}

# A function, so that the whole script is read before the first command runs.
main() {
  nonce=${1:?a nonce is needed}
  root=${2:-}
  has_timeout=no
  timeout -k 1 5 true >/dev/null 2>&1 </dev/null && has_timeout=yes
  printf '\n-----BEGIN SPARKRUN PROBE %s-----\n' "$nonce"
  # What cannot hang comes first: if something below does, these facts have been said.
  probe_container
  probe_environment
  probe_ldconfig
  probe_devices
  probe_nvidia_smi
  probe_python
  printf -- '-----END SPARKRUN PROBE %s-----\n' "$nonce"
}

main "$@"
