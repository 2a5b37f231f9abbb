# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154  # sourced by rig, which sets $rig, $volatile, $cgroup and so on
# The container engines: two pairs of containerd and dockerd, and podman, which has no daemon.
#
# The first dockerd is as the host's release has it, with the nvidia runtime and images in its own store. The second
# (containerd2, dockerd2; a 2 is what its names have more) keeps images in containerd and knows the GPU from CDI alone.

docker_host() { echo "unix://$volatile/docker${1:-}.sock"; }

# docker_client ENGINE ARGUMENT...
docker_client() { timeout 60 "$rig/engine$1/usr/bin/docker" --host "$(docker_host "$1")" "${@:2}"; }

# engine_path ENGINE: where its daemons look for programs. For the second one runc is the one that lowers limits, since no
# other runtime does, and there is no hook for --gpus.
engine_path() {
  local first=$rig/libexec
  [[ -z $1 ]] || first=$rig/libexec/limited
  echo "$first:$rig/engine$1/usr/sbin:$rig/engine$1/usr/bin"
}

start_containerd() {
  is_running "containerd$1" && return
  # Plugins that would make folders or sockets outside the rig are off, as is all that is for Kubernetes.
  cat >"$rig/etc/containerd$1.toml" <<TOML
version = 2
root = "$rig/containerd$1"
state = "$volatile/containerd$1"
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri"]
[grpc]
  address = "$volatile/containerd$1.sock"
  uid = ${SUDO_UID:-0}
  gid = ${SUDO_GID:-0}
TOML
  search_path=$(engine_path "$1") start "containerd$1" "$rig/engine$1/usr/bin/containerd" --config "$rig/etc/containerd$1.toml"
}

# start_dockerd ENGINE MORE: with more lines of configuration.
start_dockerd() {
  is_running "dockerd$1" && return
  # A containerd of its own, or dockerd would use the machine's. `deprecated-key-path` keeps old versions from writing
  # /etc/docker/key.json; new ones know no such key.
  local key_path=""
  grep --quiet --text deprecated-key-path "$rig/engine$1/usr/sbin/dockerd" &&
    key_path="\"deprecated-key-path\": \"$rig/etc/key$1.json\","
  cat >"$rig/etc/docker$1.json" <<JSON
{
  "hosts": ["$(docker_host "$1")"],
  "containerd": "$volatile/containerd$1.sock",
  "data-root": "$rig/docker$1",
  "exec-root": "$volatile/docker$1",
  "pidfile": "$volatile/docker$1.pid",
  $key_path
  "group": "${SUDO_GID:-0}",
  "bridge": "none",
  "iptables": false,
  "ip6tables": false,
  "ip-forward": false,
  "ip-masq": false,
  "userland-proxy": false,
  "insecure-registries": ["127.0.0.0/8"],
  "cgroup-parent": "/$cgroup",
  "exec-opts": ["native.cgroupdriver=cgroupfs"],
  $2
}
JSON
  search_path=$(engine_path "$1") start "dockerd$1" "$rig/engine$1/usr/sbin/dockerd" --config-file "$rig/etc/docker$1.json"
}

start_dockerds() {
  local engine
  for engine in "" 2; do
    wait_for "containerd$engine" 20 answers "containerd$engine"
  done
  start_dockerd "" "\"runtimes\": {\"nvidia\": {\"path\": \"$rig/libexec/nvidia-container-runtime\"}}"
  # CDI was experimental before version 27.
  start_dockerd 2 "\"features\": {\"containerd-snapshotter\": true, \"cdi\": true}, \"cdi-spec-dirs\": [\"$rig/cdi\"],
  \"experimental\": true"
}

# The CDI specification, with what the stand-in for the nvidia runtime gives: twins of /dev/null. Without the GPU the
# names are still known but give nothing. dockerd watches the folder for files that are written or removed, and would miss
# one that was only put in place of another.
write_cdi() {
  local nodes="" path
  if [[ $1 == on ]]; then
    for path in nvidia0 nvidiactl nvidia-uvm; do
      nodes+="${nodes:+,}{\"path\": \"/dev/$path\", \"type\": \"c\", \"major\": 1, \"minor\": 3, \"fileMode\": 438}"
    done
    nodes=", \"deviceNodes\": [$nodes]"
  fi
  local edits="{\"env\": [\"NVIDIA_VISIBLE_DEVICES=void\"]$nodes}"
  cat >"$rig/etc/cdi.json" <<JSON
{"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu",
 "devices": [{"name": "all", "containerEdits": $edits}, {"name": "0", "containerEdits": $edits}]}
JSON
  mv "$rig/etc/cdi.json" "$rig/cdi/nvidia.json"
  touch "$rig/cdi/changed"
  rm "$rig/cdi/changed"
}

# Whether there is a CDI specification that is not a rig's.
has_own_gpu() {
  local file
  for file in /{etc,run}/cdi/*.{json,yaml}; do
    [[ $file != /run/cdi/sparkrun-rig-* ]] && grep --quiet nvidia.com/gpu "$file" && return
  done
  return 1
}

# podman has no daemon and, in version 4, no setting for CDI folders. What runs here holds a mount namespace in which the
# system's folders are the rig's, and in which the libraries are found that came with podman. What podman mounts is seen
# there only and goes away with the namespace. sparkrun looks for CDI from outside: for it there is a link, where the host
# has no GPU of its own.
hold_podman() {
  is_running podman && return
  mkdir -p "$rig"/podman-store/{tmp,networks,hooks} /run/{cdi,containers,netns} /var/lib/containers
  has_own_gpu || ln -sfn "$rig/cdi/nvidia.json" "/run/cdi/$name.json"
  printf '%s\n' "include /etc/ld.so.conf" "$rig"/podman/usr/lib/*-linux-gnu >"$rig/etc/podman-ld.so.conf"
  ldconfig -X -C "$rig/etc/podman-ld.so.cache" -f "$rig/etc/podman-ld.so.conf"
  # shellcheck disable=SC2016
  start podman unshare --mount --propagation slave /bin/sh -c '
    set -e
    mount --bind "$1/etc/podman-ld.so.cache" /etc/ld.so.cache
    for folder in /etc/cdi /run/cdi; do
      [ ! -d "$folder" ] || mount --bind "$1/cdi" "$folder"
    done
    for folder in /run/containers /run/netns /var/lib/containers; do
      mount -t tmpfs -o mode=0700 tmpfs "$folder"
    done
    exec sleep infinity' sh "$rig"
}

configure_podman() {
  local service
  cat >"$rig/libexec/limited/runc" <<SH
#!/bin/sh
exec $(quote "$here/limited-runc") $(quote "$rig/engine/usr/sbin/runc") --root $volatile/runc "\$@"
SH
  # podman does not start without netavark, which would change the host's network.
  cat >"$rig/libexec/podman/netavark" <<SH
#!/bin/sh
echo '{"error": "the rig has no network for containers but the host'\''s"}'
exit 1
SH
  chmod +x "$rig"/libexec/{limited/runc,podman/netavark}
  # Locks in files, or podman would share its locks with any other podman of the host's.
  cat >"$rig/etc/containers.conf" <<TOML
[containers]
apparmor_profile = "unconfined"
init_path = "$rig/engine/usr/bin/docker-init"
log_driver = "k8s-file"
netns = "none"
[engine]
cgroup_manager = "cgroupfs"
conmon_path = ["$rig/podman/usr/bin/conmon"]
events_logger = "file"
helper_binaries_dir = ["$rig/libexec/podman"]
hooks_dir = ["$rig/podman-store/hooks"]
image_copy_tmp_dir = "$rig/podman-store/tmp"
lock_type = "file"
runtime = "runc"
static_dir = "$rig/podman-store/libpod"
tmp_dir = "$volatile/podman/tmp"
volume_path = "$rig/podman-store/volumes"
[engine.runtimes]
runc = ["$rig/libexec/limited/runc"]
[network]
network_backend = "netavark"
network_config_dir = "$rig/podman-store/networks"
TOML
  cat >"$rig/etc/storage.conf" <<TOML
[storage]
driver = "overlay"
graphroot = "$rig/podman-store"
runroot = "$volatile/podman/run"
TOML
  echo "unqualified-search-registries = []" >"$rig/etc/registries.conf"
  for service in "${registries[@]}"; do
    printf '[[registry]]\nlocation = "%s:%s"\ninsecure = true\n' 127.0.0.1 "$(port "$service")" localhost "$(port "$service")"
  done >>"$rig/etc/registries.conf"
}

# The engines make these whatever their configuration says: shims put their sockets there, dockerd looks for plugins.
# podman's are empty, other folders lie over them where it runs.
foreign_folders=(/run/containerd/s /run/containerd /run/docker/plugins /run/docker
  /run/cdi /run/containers /run/netns /var/lib/containers)

remember_foreign_folders() {
  local folder list=$volatile/foreign-folders
  touch "$list"
  for folder in "${foreign_folders[@]}"; do
    [[ -e $folder ]] || grep --quiet --line-regexp --fixed-strings "$folder" "$list" || echo "$folder" >>"$list"
  done
}

remove_foreign_folders() {
  local folder
  [[ -e $volatile/foreign-folders ]] || return 0
  while read -r folder; do
    [[ ! -d $folder ]] || rmdir --ignore-fail-on-non-empty "$folder"
  done <"$volatile/foreign-folders"
}

engines_run() {
  local service
  for service in containerd{,2} dockerd{,2} podman; do
    is_running "$service" || return
  done
}

# Leaves nothing of the engines, so that each starts with an empty image store: what it holds depends on the tests that
# ran. Also clears up after some that were killed.
stop_engines() {
  local engine containers
  for engine in "" 2; do
    if is_running "dockerd$engine" && mapfile -t containers < <(docker_client "$engine" ps --all --quiet) && ((${#containers[@]})); then
      docker_client "$engine" rm --force "${containers[@]}" >/dev/null || true
    fi
  done
  stop dockerd 20
  stop dockerd2 20
  # podman's containers too.
  signal_until_gone 0 contained_processes
  signal_until_gone 5 stray_shims
  stop containerd 10
  stop containerd2 10
  signal_until_gone 0 pid_of podman
  rm -f "$volatile/podman.pid" "/run/cdi/$name.json"
  unmount_all
  remove_cgroups
  rm -rf --one-file-system "$volatile"/{docker,containerd}{,2}{,.pid,.sock} "$volatile"/{podman,runc} \
    "$rig"/{docker,containerd}{,2} "$rig/podman-store"
}
