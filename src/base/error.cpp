// SPDX-License-Identifier: MIT
#include "base/error.hpp"

#include <algorithm>
#include <array>

namespace sparkrun {
namespace {

constexpr std::array code_meanings = std::to_array<ExitCodeMeaning>({
    {ExitCode::ok, "done, nothing wrong"},
    {ExitCode::no, "the answer is \"no\": moved, differs, not found"},
    {ExitCode::usage, "wrong usage of the command line"},
    {ExitCode::stale, "the lock is stale: the profile's image or platforms changed"},
    {ExitCode::invalid,
     "profile, lock, config, mount or variable missing, invalid, unreadable or not allowed"},
    {ExitCode::undetermined, "undetermined: network, TLS, credentials, rate limit, timeout"},
    {ExitCode::gone, "gone: the tag or the locked digest is not in the registry"},
    {ExitCode::signature, "a signature was required and is absent or bad"},
    {ExitCode::no_platform, "the image has no build for this platform"},
    {ExitCode::ledger, "the ledger cannot be written, or its chain is broken"},
    {ExitCode::engine, "container engine missing, unreachable, or it refused"},
    {ExitCode::blocked, "the preflight verdict is `blocked`"},
    {ExitCode::other_content, "the engine holds other content than the lock says"},
    {ExitCode::bug, "a bug in sparkrun"},
    {ExitCode::interrupted, "interrupted"},
});

// Where several results meet, the first of these that occurs is the answer.
constexpr std::array severity = {
    ExitCode::interrupted,  ExitCode::bug,    ExitCode::usage,
    ExitCode::invalid,      ExitCode::stale,  ExitCode::other_content,
    ExitCode::signature,    ExitCode::gone,   ExitCode::no_platform,
    ExitCode::ledger,       ExitCode::engine, ExitCode::blocked,
    ExitCode::undetermined, ExitCode::no,     ExitCode::ok,
};

// Sorted by id. Hints say what to do; `{name}` comes from the details of the error.
constexpr std::array kinds = std::to_array<ErrorKind>({
    {"archive.invalid", ExitCode::invalid, false,
     "make it again with `sparkrun archive`, which fetches only what is missing or wrong",
     "An archive of images is an OCI image layout: the file oci-layout, index.json, and every blob "
     "under blobs/ in a file that bears its digest. Something of that is missing, is not what its "
     "name says, or cannot be understood. Nothing of it was loaded."},
    {"archive.tar_failed", ExitCode::invalid, false,
     "install GNU tar, and check the free space where the archive goes",
     "With `-` an archive is a tar stream, which GNU tar packs; it is not on PATH, or it stopped "
     "with an "
     "error of its own."},
    {"bug", ExitCode::bug, false,
     "please report this, with the command that you ran and the output of `sparkrun --version`",
     "sparkrun met a state that it should never be in. Nothing that you did should cause this."},
    {"certificates.invalid", ExitCode::invalid, false,
     "put the key beside the certificate, or rename a CA to end in .crt",
     "A folder certs.d/HOST:PORT of docker or podman holds CAs in *.crt, and a client's "
     "certificate in "
     "NAME.cert with its key in NAME.key."},
    {"config.invalid", ExitCode::invalid, false,
     "correct the file or the variable; `sparkrun config show` prints each value with its origin",
     "A config file has a key that does not exist, or it or a SPARKRUN_ variable has a value of "
     "the "
     "wrong type. Config is read from /etc/sparkrun/config.toml, then from the user's config.toml, "
     "then "
     "from SPARKRUN_ variables; never from a project folder."},
    {"credentials.helper_failed", ExitCode::undetermined, false,
     "try it by hand: `echo {key} | {helper} get`; or take it out of docker's config.json",
     "A credential helper that docker's or podman's configuration names for the registry is "
     "missing, "
     "failed, or did not answer in time. `credentials not found` would have meant: no login."},
    {"credentials.invalid", ExitCode::invalid, false,
     "correct the file, or write it anew with `docker login {registry}`",
     "The file that should hold the registry's credentials (docker's config.json, podman's "
     "auth.json, "
     "or the text of DOCKER_AUTH_CONFIG) cannot be understood."},
    {"digest.malformed", ExitCode::usage, false,
     "write `sha256:` and 64 lower-case hex digits, or `sha512:` and 128",
     "A digest is an algorithm, a colon and lower-case hex of exactly the right length (OCI "
     "image-spec, descriptor.md, \"Digests\")."},
    {"engine.cdi_missing", ExitCode::engine, false,
     "write one: `sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`; write it anew after "
     "a driver update",
     "A CDI specification describes the GPU's device nodes and libraries to the engine. There is "
     "none for nvidia.com/gpu, or the one that is there names what is gone."},
    {"engine.cdi_mode", ExitCode::engine, false,
     "set `gpu.access` to `auto` or `runtime` in the profile",
     "The NVIDIA Container Toolkit is in cdi mode, where its runtime brings the GPU and refuses to "
     "work next to --gpus."},
    {"engine.cdi_unsupported", ExitCode::engine, false,
     "set `gpu.access` to `auto` or `gpus`; docker has CDI since 25 (feature `cdi`), by default "
     "since 28",
     "The engine was given a CDI device name (nvidia.com/gpu=all) and takes it for a file."},
    {"engine.device_missing", ExitCode::engine, false,
     "check the path under `container.device`; /dev/infiniband is there once the RDMA driver is "
     "loaded",
     "A device that the profile passes into the container does not exist on the host."},
    {"engine.driver_missing", ExitCode::engine, false,
     "`nvidia-smi` on the host says more; after a driver update, reboot",
     "The container toolkit could not talk to the NVIDIA driver of the host."},
    {"engine.driver_too_old", ExitCode::engine, false,
     "update the host's driver (DGX OS: `sudo apt full-upgrade`), or choose an image that is built "
     "for an older CUDA",
     "The image says in its configuration which CUDA it needs at least, and the host's driver has "
     "an older one."},
    {"engine.failed", ExitCode::engine, true,
     "read the engine's own words above; its log (`journalctl -u docker`) may say more",
     "The container engine was reached and answered with an error of its own."},
    {"engine.gpu_access", ExitCode::engine, false,
     "set `gpu.access` to `auto` or `cdi` in the profile",
     "The profile asks for a way to reach the GPU that the engine does not know: `runtime` and "
     "`gpus` are docker's."},
    {"engine.missing", ExitCode::engine, false,
     "install docker (DGX OS ships it) or podman, put its client on PATH, or correct `[engine] "
     "command` "
     "in your config",
     "The client program of the container engine is not on PATH."},
    {"engine.name_taken", ExitCode::engine, false,
     "choose another name (`--name`), or remove the old container: `docker rm NAME`",
     "A container's name is unique, and one that was not removed at its end keeps it. Without a "
     "name of your own each run gets a new one."},
    {"engine.no_space", ExitCode::engine, false,
     "make room: `sparkrun image prune`, `docker image prune`, or a larger disk for the engine's "
     "data",
     "The image does not fit where the engine keeps its images."},
    {"engine.no_terminal", ExitCode::engine, false,
     "leave `--tty` at `auto`: a terminal is given where there is one",
     "The job was to have a terminal, and standard input is none, as in CI."},
    {"engine.other_content", ExitCode::other_content, false,
     "remove the local image (`docker image rm {image}`) and run again to pull the locked one; if "
     "it "
     "comes back, the registry serves other content under that digest",
     "The image in the engine's store is not the one that the lock names: neither its image id nor "
     "one of its repository digests is the locked config, manifest or index. It was not started."},
    {"engine.permission", ExitCode::engine, false,
     "add yourself to the group of the socket (`sudo usermod -aG docker $USER`, then log in again)",
     "The engine's socket exists and you may not open it."},
    {"engine.port_taken", ExitCode::engine, false,
     "stop what uses the port (`ss -ltnp` names it), or publish another one",
     "A port that the profile publishes is in use on the host."},
    {"engine.rlimit", ExitCode::engine, false,
     "write a lower limit under [container.ulimits]; for podman and rootless engines memlock = "
     "\"max\" takes what they may have",
     "The engine may not raise a limit above its own: rootless engines, and engines in a "
     "container, cannot give memlock = -1."},
    {"engine.runtime_missing", ExitCode::engine, false,
     "register it: `sudo nvidia-ctk runtime configure --runtime=docker`, then `sudo systemctl "
     "restart docker`; or set `gpu.access = \"auto\"`",
     "The NVIDIA Container Toolkit is installed, but the engine does not know a runtime called "
     "nvidia."},
    {"engine.toolkit_missing", ExitCode::engine, false,
     "install it: `sudo apt install nvidia-container-toolkit`, then `sudo nvidia-ctk runtime "
     "configure --runtime=docker` and `sudo systemctl restart docker`",
     "What gives containers the GPU is the NVIDIA Container Toolkit (DGX OS ships it), and the "
     "engine does not find it."},
    {"engine.unreachable", ExitCode::engine, true,
     "start the engine (`sudo systemctl start docker`), or correct DOCKER_HOST or the docker "
     "context",
     "The engine's socket does not answer: the daemon is not running, or DOCKER_HOST points "
     "elsewhere."},
    {"engine.unsupported", ExitCode::engine, false,
     "take the option out, or choose the other engine (`--engine`)",
     "The profile asks for something that docker or podman alone can do."},
    {"engine.wrong_architecture", ExitCode::engine, false,
     "run a build for this machine: `--platform`, or another image; `sparkrun resolve REF` lists "
     "its platforms",
     "The image's programs are made for another processor than the host's."},
    {"env.missing", ExitCode::invalid, false,
     "export the variable, or write `\"{variable}?\"` in env_from_host if the job can do without "
     "it",
     "The profile passes a host variable into the container and requires it, and it is not set. "
     "sparkrun stops before it pulls or starts anything."},
    {"explain.unknown", ExitCode::usage, false, "`sparkrun explain` alone lists what there is",
     "`explain` knows the error ids, the checks (gotchas such as G1), and `trust`."},
    {"file.unreadable", ExitCode::invalid, false, "check the path and its permissions",
     "A file that is needed cannot be read."},
    {"file.unwritable", ExitCode::invalid, false,
     "check the folder's permissions and the free space; nothing was half-written",
     "A file cannot be written. sparkrun writes a temporary file first and renames it, so the old "
     "content is still there."},
    {"import.inexpressible", ExitCode::invalid, false, "{advice}",
     "A word of the line has no place in a profile: what only your shell knows (`$(...)`, an "
     "array, "
     "a pipe), an option that nobody knows, a value that docker refuses as well, or a secret. The "
     "message names the word. Nothing was written."},
    {"interrupted", ExitCode::interrupted, true, "",
     "A signal stopped the command. What it had started was stopped too."},
    {"ledger.broken", ExitCode::ledger, false,
     "keep the file as it is and compare it with a copy or with heads noted elsewhere (CI logs)",
     "Each record of the ledger carries the SHA-256 of the line before. A record does not fit the "
     "one before it: a line was edited, inserted, removed or moved."},
    {"ledger.unknown_run", ExitCode::no, false,
     "`sparkrun audit ls` lists the runs; a run is named by its id, a prefix of it, or ^1 (the "
     "last)",
     "No record in the ledger belongs to the run that was asked for."},
    {"ledger.unwritable", ExitCode::ledger, false,
     "make the folder writable or free space; or set `audit = \"best-effort\"` in your own config "
     "to "
     "launch without a record",
     "`audit = \"required\"` (the default) promises that no job starts without a durable record, "
     "and "
     "the record could not be written."},
    {"lock.conflict", ExitCode::invalid, false,
     "take either side of the conflict, then run `sparkrun lock {profile}`",
     "The lockfile contains git's conflict markers."},
    {"lock.invalid", ExitCode::invalid, false,
     "restore it from version control, or remove it and run `sparkrun lock {profile}`",
     "The lockfile is not what `sparkrun lock` writes: a key is unknown, missing, duplicated or of "
     "the wrong type."},
    {"lock.missing", ExitCode::invalid, false,
     "run `sparkrun lock {profile}` and commit the file that it writes",
     "Only a current lock is acceptable (`--locked`, or CI is set), and the profile has none."},
    {"lock.newer", ExitCode::invalid, false, "upgrade sparkrun; the file was not touched",
     "The file was written by a newer sparkrun in a format that this one does not know."},
    {"lock.stale", ExitCode::stale, false,
     "run `sparkrun lock {profile}` to pin what the profile says now, and review the change",
     "The lock was made for another image or lacks a platform of the profile. It is refused rather "
     "than used for something that it was not made for."},
    {"mount.missing", ExitCode::invalid, false,
     "create it or correct the path; `create = true` in a [[mount]] has its source created",
     "A mount's source, an env file or a file that holds a value does not exist. Docker would "
     "create a "
     "missing source as root; sparkrun asks instead."},
    {"platform.malformed", ExitCode::usage, false,
     "write OS/ARCHITECTURE[/VARIANT], such as linux/arm64",
     "A platform is an operating system, an architecture and perhaps a variant (OCI image-spec, "
     "image-index.md, \"platform\")."},
    {"preflight.blocked", ExitCode::blocked, false,
     "correct what is named above; `sparkrun run --no-preflight` starts anyway and is recorded",
     "A check that blocks failed: the job would not work on this host, or would work wrongly."},
    {"profile.cycle", ExitCode::invalid, false, "take one `extends` of the chain away",
     "Profiles that extend one another must end somewhere, after eight steps at most."},
    {"profile.exists", ExitCode::invalid, false,
     "choose another name, or write over it with --force",
     "A profile of that name is in the project already, and it may hold somebody's work."},
    {"profile.invalid", ExitCode::invalid, false,
     "correct the lines named above; docs/formats.md lists every key",
     "A profile has unknown keys, values of the wrong type, or is not TOML."},
    {"profile.newer", ExitCode::invalid, false, "upgrade sparkrun",
     "The profile says that it is written for a newer format version."},
    {"profile.unknown", ExitCode::invalid, false, "`sparkrun profile ls` lists the profiles",
     "Profiles are looked up in the project's profiles/, in $XDG_CONFIG_HOME/sparkrun/profiles, in "
     "/etc/sparkrun/profiles, and among the built-in ones."},
    {"reference.malformed", ExitCode::usage, false,
     "write [HOST[:PORT]/]NAME[:TAG][@DIGEST], such as nvcr.io/nvidia/pytorch:25.09-py3",
     "The text is not an image reference as docker understands it (the grammar of "
     "distribution/reference)."},
    {"registry.content_mismatch", ExitCode::undetermined, false,
     "try again; if it stays, a proxy or the registry changes content, and no digest can be "
     "trusted",
     "What the registry sent does not hash to the digest that was asked for or announced. No "
     "digest "
     "is printed that was not verified here."},
    {"registry.credentials_refused", ExitCode::undetermined, false,
     "run `docker login {registry}` again; for nvcr.io the user is literally `$oauthtoken` and the "
     "password is your NGC API key",
     "The registry refused the login that docker's or podman's configuration holds for it."},
    {"registry.denied", ExitCode::undetermined, false,
     "ask for access to the repository, or check its name",
     "The registry knows who asks and does not allow it."},
    {"registry.failed", ExitCode::undetermined, true, "try again later",
     "The registry answered with an error that is neither about the reference nor about "
     "credentials."},
    {"registry.locked_gone", ExitCode::gone, false,
     "`sparkrun outdated` says what the tag is now, `sparkrun lock --update` pins that; a copy "
     "made by "
     "`sparkrun archive` can be restored",
     "The registry has deleted the image that the lock pins, and the engine does not have it "
     "either. "
     "Some registries drop what no tag points at any more."},
    {"registry.login_needed", ExitCode::undetermined, false,
     "run `docker login {registry}`; for nvcr.io the user is literally `$oauthtoken` and the "
     "password "
     "is your NGC API key. Check the name as well: registries answer the same for a repository "
     "that "
     "does not exist",
     "The registry does not give this manifest to an anonymous client."},
    {"registry.not_a_registry", ExitCode::undetermined, false,
     "check the host name; a captive portal or a proxy's login page may answer in its place",
     "The host answered, but not with a manifest or an index."},
    {"registry.not_found", ExitCode::gone, false,
     "check the name; the registry's web page lists its tags",
     "The registry does not have this repository, tag or digest."},
    {"registry.offline", ExitCode::undetermined, false,
     "run again without --offline (`sparkrun config show` says who else asked for it)",
     "The answer needs the network and `--offline` forbids it."},
    {"registry.platform_ambiguous", ExitCode::no_platform, false,
     "write the digest of the one that is meant into the profile: `REPOSITORY@sha256:..`",
     "The image's index has several builds for one platform. Docker takes the first; a lock does "
     "not "
     "choose."},
    {"registry.platform_missing", ExitCode::no_platform, false,
     "choose one of the platforms that exist, or another image",
     "The image has no build for the platform that was asked for."},
    {"registry.rate_limited", ExitCode::undetermined, true,
     "wait, or log in: `docker login {registry}` raises the limit",
     "The registry counts requests and this client has used up its share."},
    {"registry.timeout", ExitCode::undetermined, true, "try again; check the network and the proxy",
     "The registry did not answer in time."},
    {"registry.tls", ExitCode::undetermined, false,
     "name the registry's CA with --cacert, or put it in "
     "~/.config/containers/certs.d/{registry}/ca.crt; "
     "list a registry without TLS under `plain_http` in your config",
     "No trustworthy TLS connection to the registry could be made."},
    {"registry.unreachable", ExitCode::undetermined, true,
     "check the host name, the network and the proxy variables",
     "No connection to the registry could be made."},
    {"run.answered_already", ExitCode::no, false,
     "`sparkrun ps` may show who it is; stop that, or give the job another port",
     "The URL that [ready] of the profile names is answered although the job does not run yet, so "
     "that nobody could tell when the job itself is ready."},
    {"run.ended_early", ExitCode::no, false,
     "`sparkrun logs {run}` has all that it printed, `sparkrun audit show {run}` how it was "
     "started",
     "The job ended before it showed, in the way that [ready] of its profile names, that it is "
     "ready. The lines are the last ones that it printed."},
    {"run.gpu_busy", ExitCode::no, true,
     "wait longer (`--exclusive=2h`), or see who it is: `sparkrun ps`; without --exclusive the GPU "
     "is shared",
     "Another run that was started with --exclusive has the GPU, or its container still runs."},
    {"run.none", ExitCode::no, false,
     "`sparkrun ps` lists the runs that are going on; `sparkrun audit ls` all of them",
     "No run that is going on (or, for `logs` and `wait`, that was left in the background) is the "
     "one that was asked for."},
    {"run.not_ready", ExitCode::no, true,
     "`sparkrun logs -f {run}` shows what it does, `sparkrun stop {run}` ends it; `timeout` in "
     "[ready] may be too short",
     "The job runs, and has not shown within the time of its profile's [ready] that it is ready."},
    {"trust.not_allowed", ExitCode::invalid, false,
     "if you trust this project, run again with {allow}, or list the names under `allow` in your "
     "own "
     "config; `sparkrun explain trust` says what each name means",
     "A profile from a project folder asks for something that reaches beyond the container. It is "
     "not granted silently."},
    {"usage.bad_value", ExitCode::usage, false, "see `sparkrun {command} --help`",
     "An option has a value that it cannot take."},
    {"usage.missing_argument", ExitCode::usage, false, "see `sparkrun {command} --help`",
     "The command needs an argument that was not given."},
    {"usage.no_profile", ExitCode::usage, false, "name one: `sparkrun run PROFILE`",
     "There is no single profile that `sparkrun run` alone could mean."},
    {"usage.unknown_command", ExitCode::usage, false, "`sparkrun --help` lists the commands",
     "The command does not exist."},
    {"usage.unknown_option", ExitCode::usage, false, "see `sparkrun {command} --help`",
     "The option does not exist for this command."},
    {"usage.which_run", ExitCode::usage, false,
     "name one: by its id or the start of it, ^1 for the newest, its profile or its container",
     "Several runs could be meant."},
});

static_assert(std::ranges::is_sorted(kinds, {}, &ErrorKind::id));

std::string fill(std::string_view text, const Error::Details& details) {
  std::string filled;
  while (!text.empty()) {
    const size_t open = text.find('{');
    const size_t close = text.find('}', open);
    if (open == std::string_view::npos || close == std::string_view::npos) break;
    filled += text.substr(0, open);
    const std::string name{text.substr(open + 1, close - open - 1)};
    const auto found = details.find(name);
    std::string upper = name;
    std::ranges::transform(upper, upper.begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    filled += found != details.end() ? found->second : upper;
    // An empty detail takes the blank before it along: "see `sparkrun --help`".
    if (found != details.end() && found->second.empty() && filled.ends_with(' ')) filled.pop_back();
    text.remove_prefix(close + 1);
  }
  return filled.append(text);
}

// Messages quote what was typed or sent, which may be a megabyte.
std::string bounded(const std::string& text) {
  constexpr size_t length_max = 4000;
  return text.size() <= length_max ? text : text.substr(0, length_max) + "...";
}

}  // namespace

std::span<const ExitCodeMeaning> exit_code_meanings() { return code_meanings; }

ExitCode worse(ExitCode a, ExitCode b) {
  return std::ranges::find(severity, a) < std::ranges::find(severity, b) ? a : b;
}

std::span<const ErrorKind> error_kinds() { return kinds; }

const ErrorKind* find_error_kind(std::string_view id) {
  const auto found = std::ranges::lower_bound(kinds, id, {}, &ErrorKind::id);
  return found != kinds.end() && found->id == id ? &*found : nullptr;
}

Error::Error(std::string_view id, const std::string& message, Details details,
             std::vector<std::string> problems)
    : std::runtime_error(bounded(message)),
      kind_(find_error_kind(id)),
      details_(std::move(details)),
      problems_(std::move(problems)) {
  for (auto& [name, value] : details_) value = bounded(value);
  if (kind_ == nullptr) {
    kind_ = find_error_kind("bug");
    details_["unknown_id"] = id;
  }
}

std::string Error::hint() const { return fill(kind_->hint, details_); }

}  // namespace sparkrun
