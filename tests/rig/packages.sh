# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154  # sourced by rig, which sets $rig and $log
# What the rig needs from apt. Installed is only what is harmless on any machine. The engine and the registry are
# unpacked into the rig's folder instead: as packages they would start services on the host's network, and Debian's engine
# would push out one that is already there.

# The first of some names that apt knows: libraries were renamed for 64-bit time.
known_package() {
  local name
  for name; do
    if apt-cache show --no-all-versions "$name" >/dev/null 2>&1; then
      echo "$name"
      return
    fi
  done
  die "apt knows none of: $*"
}

is_installed() {
  [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

apt() {
  DEBIAN_FRONTEND=noninteractive apt-get -q -y -o APT::Sandbox::User=root -o Dpkg::Use-Pty=0 "$@" >>"$log/apt.log" 2>&1 ||
    { show_log apt; return 1; }
}

install_packages() {
  local name missing=() wanted=(ca-certificates iptables openssl libseccomp2)
  wanted+=("$(known_package libdevmapper1.02.1t64 libdevmapper1.02.1)")
  [[ -x /usr/bin/cc ]] || wanted+=(gcc)
  for name in "${wanted[@]}"; do
    is_installed "$name" || missing+=("$name")
  done
  ((${#missing[@]} == 0)) || apt install --no-install-recommends --no-remove "${missing[@]}" || die "could not install ${missing[*]}"
}

# Downloads packages and unpacks them: `unpack engine all NAME...` into one tree, `unpack content each NAME...` into a
# folder for each.
unpack() {
  local into=$rig/$1 how=$2 package name
  shift 2
  rm -rf "$into" "$rig/debs"
  mkdir -p "$into" "$rig/debs"
  (cd "$rig/debs" && apt download "$@") || die "could not download $*"
  for package in "$rig"/debs/*.deb; do
    name=$(dpkg-deb --field "$package" Package)
    [[ $how == all ]] && name=.
    mkdir -p "$into/$name"
    dpkg-deb --extract "$package" "$into/$name"
  done
  rm -rf "$rig/debs"
}

# Once per change of this file: a rig that was up before needs no apt.
prepare_packages() {
  local stamp python client=()
  stamp=$(sha256sum <"${BASH_SOURCE[0]}")
  [[ -f $rig/packages.stamp && $(<"$rig/packages.stamp") == "$stamp" ]] && return
  say "fetching packages"
  : >"$log/apt.log"
  apt-cache show --no-all-versions docker.io >/dev/null 2>&1 || apt update || die "could not update apt's lists"
  install_packages
  # The client moved out of docker.io into a package of its own in Debian 13.
  apt-cache show --no-all-versions docker-cli >/dev/null 2>&1 && client=(docker-cli)
  stop_engine
  stop_registries
  unpack engine all docker.io "${client[@]}" containerd runc tini docker-registry
  python=$(apt-cache depends --important python3-minimal | sed -n 's/.*Depends: \(python3\.[0-9]*\)-minimal$/\1/p' | head -n 1)
  unpack content each busybox-static bash "$(known_package libtinfo6)" libc6 libc-bin \
    "$python-minimal" "lib$python-minimal" "lib$python-stdlib" \
    zlib1g libexpat1 "$(known_package libssl3t64 libssl3)" "$(known_package libffi8 libffi7)" libbz2-1.0 liblzma5
  echo "$stamp" >"$rig/packages.stamp"
}
