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

# What other lists than the host's need; see unpack_second_engine.
apt_options=()

apt() {
  DEBIAN_FRONTEND=noninteractive apt-get "${apt_options[@]}" -q -y -o APT::Sandbox::User=root -o Dpkg::Use-Pty=0 "$@" >>"$log/apt.log" 2>&1 ||
    { show_log apt; return 1; }
}

install_packages() {
  local name missing=() wanted=(ca-certificates golang-github-containers-image iptables openssl libseccomp2)
  wanted+=("$(known_package libdevmapper1.02.1t64 libdevmapper1.02.1)")
  wanted+=("$(known_package libgpgme11t64 libgpgme11)" "$(known_package libglib2.0-0t64 libglib2.0-0)" libsqlite3-0)
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

# The address that the host has Debian from, else the one that everybody has.
debian_mirror() {
  local release found
  release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  found=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Component: main' 'Origin: Debian' "Codename: $release")
  found=${found%%$'\n'*}
  echo "${found:-http://deb.debian.org/debian}"
}

# The containerd image store and CDI want dockerd 26. Where the host's release is older, Debian 13's is fetched with apt
# lists of its own, which leave the host's alone. Its programs run with an older C library too, but for runc and tini:
# the former is the host's release's.
unpack_second_engine() {
  local version
  rm -rf "$rig/engine2"
  version=$("$rig/engine/usr/sbin/dockerd" --version | sed -n 's/^Docker version \([0-9]*\)\..*/\1/p')
  if ((version >= 26)); then
    ln -s engine "$rig/engine2"
    return
  fi
  is_installed debian-archive-keyring || apt install --no-remove debian-archive-keyring || die "could not install Debian's keys"
  local lists=$rig/lists
  rm -rf "$lists"
  mkdir -p "$lists/partial"
  cat >"$lists.sources" <<SOURCES
Types: deb
URIs: $(debian_mirror)
Suites: trixie
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
SOURCES
  local apt_options=(-o "Dir::State::Lists=$lists" -o "Dir::Etc::sourcelist=$lists.sources" -o Dir::Etc::sourceparts=-
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o Acquire::Languages=none)
  apt update || die "could not fetch the lists of Debian 13"
  unpack engine2 all docker.io docker-cli containerd tini
  rm -rf "$lists" "$lists.sources"
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
  stop_engines
  stop_registries
  unpack engine all docker.io "${client[@]}" containerd runc tini docker-registry
  unpack_second_engine
  # Not crun, which podman would rather have: Docker's is runc.
  unpack podman all podman conmon libsubid4
  python=$(apt-cache depends --important python3-minimal | sed -n 's/.*Depends: \(python3\.[0-9]*\)-minimal$/\1/p' | head -n 1)
  unpack content each busybox-static bash "$(known_package libtinfo6)" libc6 libc-bin \
    "$python-minimal" "lib$python-minimal" "lib$python-stdlib" \
    zlib1g libexpat1 "$(known_package libssl3t64 libssl3)" "$(known_package libffi8 libffi7)" libbz2-1.0 liblzma5
  echo "$stamp" >"$rig/packages.stamp"
}
