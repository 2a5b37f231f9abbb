# SPDX-License-Identifier: MIT
# Sourced by the other tools: where the project is, and how to install and build what it needs.
# shellcheck shell=bash

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

say() { printf '\n== %s\n' "$*" >&2; }

# The words of packaging/NAME.txt.
packages_of() {
  grep -hv '^#' "${@/#/$project/packaging/}" | tr '\n' ' '
}

# Installs what is missing and removes nothing: an engine or a compiler that is there stays.
install_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} = 0 ] && return
  say "installing ${missing[*]}"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends --no-remove \
    "${missing[@]}" >&2
}

# build PRESET [TARGET...]: quiet when all goes well.
build() {
  local preset=$1 log
  shift
  log=$(mktemp)
  local cache=()
  command -v ccache >/dev/null && cache=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  if ! (cd "$project" && cmake --preset "$preset" "${cache[@]}" && cmake --build "build/$preset" \
      ${1+--target "$@"}) >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

# Commands to run when the script ends, however it ends; the last one first.
at_exit=()
trap 'status=$?; for ((i = ${#at_exit[@]} - 1; i >= 0; i--)); do eval "${at_exit[i]}"; done; exit $status' EXIT

# Starts the rig unless it is up; then it is stopped again when the script ends, however it ends.
use_rig() {
  if ! "$project/tests/rig/rig" status >/dev/null 2>&1; then
    at_exit+=('"$project/tests/rig/rig" down >&2')
    "$project/tests/rig/rig" up >&2
  fi
  local environment
  environment=$("$project/tests/rig/rig" env)
  eval "$environment"
}
