# SPDX-License-Identifier: MIT
"""What a hostile checkout may not get without being asked about: profiles and links as an attacker writes them."""

import json
import os
import re
import shutil
import subprocess
import unittest

from support import BINARY, ProjectTest, RigTest

IMAGE = "reg.test/tools/job@sha256:" + "3" * 64
ASKS = re.compile(r"a real run needs to be allowed: ([a-z-]+): (\S+) asks for `(.*)`", re.DOTALL)


def mount(source):
    """A missing source is no error of its own with `create`; a dry run creates nothing."""
    return f'[[mount]]\nsource = "{source}"\ntarget = "/inside"\ncreate = true'


# Trust name -> profiles that ask for it: a list is `extra_args`, a text what follows the head of the profile.
ASKED = {
    "privileged": [
        "[container]\nprivileged = true", ["--privileged"], ["--privileged=true"], ["--privileged=1"],
        ["--privileged=T"],
        ["--privileged=false", "--privileged"], ["--label", "x", "--privileged"], ["--init", "--privileged", "--rm"]],
    "host-pid": ['[container]\npid = "host"', ["--pid=host"], ["--pid", "host"]],
    "host-userns": ['[container]\nuserns = "host"', ["--userns=host"], ["--userns", "host"]],
    "other-container": [
        '[container]\nvolumes_from = ["other"]', '[container]\npid = "container:other"',
        '[container]\nipc = "container:other"',
        ["--volumes-from", "other"], ["--volumes-from=other:ro"], ["--pid=container:other"],
        ["--ipc", "container:other"],
        ["--ipc=container:0123456789ab"]],
    "sys-admin": [
        '[container]\ncap_add = ["SYS_ADMIN"]', '[container]\ncap_add = ["NET_RAW", "all"]', ["--cap-add=ALL"],
        ["--cap-add", "sys_admin"], ["--cap-add=CAP_SYS_ADMIN"], ["--cap-add=cap_sys_module"], ["--cap-add=Sys_RawIO"],
        ["--cap-add=DAC_READ_SEARCH"], ["--cap-add=bpf"]],
    "unconfined": [
        '[container]\nsecurity_opt = ["seccomp=unconfined"]', ["--security-opt", "seccomp=unconfined"],
        ["--security-opt=seccomp:unconfined"], ["--security-opt=seccomp=./profile.json"],
        ["--security-opt=label=disable"],
        ["--security-opt=label:disable"], ["--security-opt=label=type:spc_t"], ["--security-opt=apparmor=unconfined"],
        ["--security-opt=apparmor:unconfined"], ["--security-opt=systempaths=unconfined"],
        ["--security-opt=no-new-privileges=false"], ["--security-opt=unmask=ALL"]],
    "raw-device": [
        '[container]\ndevice = ["/dev/sda"]', ["--device=/dev/mem"], ["--device", "/dev/sda:/dev/nvidia9:rwm"],
        ["--device=/dev/nvidia0/../sda"], ["--device=//dev/sda"], ["--device=/dev/./sda"], ["--device=dev/sda:/dev/x"],
        ["--device-cgroup-rule=b *:* rwm"], '[container]\ndevice_cgroup_rule = ["a *:* rwm"]'],
    "host-env": [
        'env_from_host = ["NAME"]', 'env_from_host = ["NAME?"]', ["-e", "NAME"], ["-eNAME"], ["-e=NAME"],
        ["--env=NAME"],
        ["--env", "NAME"], ["-ite", "NAME"], ["-iteNAME"], ["--env-file", "/etc/shadow"], ["--env-file=./x"],
        '[container]\nenv_file = ["./env"]', '[env_from_file]\nNAME = "./env"'],
    "host-root": [
        mount("/"), mount("/etc"),
        mount("../../../../../../../.."), mount("/proc/self/root"),
        mount("./to-root"), mount("./to-root/usr"),
        ["-v", "/:/h"], ["-v/:/h"], ["-v=/:/h"], ["-itv", "/:/h"], ["-itv/:/h"], ["-itv=/:/h"], ["--volume", "/:/h"],
        ["--volume=/:/h:ro"], ["-v", "//:/h"], ["-v", "/./:/h"], ["-v", "/tmp/../:/h"], ["-v", "/tmp/../../:/h"],
        ["-v", "./to-root:/h"], ["-v", "./to-root/./usr:/h"], ["-v", "/sys:/h"], ["-v", "/boot:/h"],
        ["--mount", "type=bind,src=/,dst=/h"], ["--mount=type=bind,source=/,target=/h"],
        ["--mount", "src=/,dst=/h,type=bind"],
        ["--mount", 'type=bind,"src=/",dst=/h'], ["--mount", '"type=bind","source=/etc","dst=/h"'],
        ["--mount", "type=bind,src=./to-root,dst=/h"]],
    "home": [
        mount("~"), mount("~/"),
        mount("${HOME}"), mount("${HOME}/."),
        mount("${HOME}/.."), mount("./to-home"),
        ["-v", "/home:/h"], ["-v", "/home/somebody:/h"], ["-v", "./to-home:/h"], ["-v", "./to-home/x/..:/h"]],
    "credentials": [
        mount("~/.ssh"), mount("~/.ssh/id_ed25519"),
        mount("~/.config"), mount("./to-home/.ssh"),
        mount("./to-ssh"), mount("~/x/../.ssh"),
        ["-v", "./to-ssh:/h"], ["--mount", "type=bind,src=./to-ssh,dst=/h"]],
    "startup-files": [
        mount("~/.bashrc"), mount("~/.local/bin"), ["-v", "./to-home/.profile:/h"]],
    "docker-socket": [
        mount("/var/run/docker.sock"), mount("/run"),
        ["-v", "/run/docker.sock:/s"], ["-v", "/var/run/docker.sock:/s"], ["-v", "/var/run:/s"],
        ["-v", "/run/containerd/containerd.sock:/s"], ["-v", "./to-engine/docker.sock:/s"], ["--use-api-socket"],
        "[container]\nuse_api_socket = true"],
    "unknown-option": [
        ["--mount", "type=volume,dst=/h,volume-opt=type=none,volume-opt=o=bind,volume-opt=device=/"],
        ["--mount", 'dst=/h,volume-driver=local,volume-opt=o=bind,"volume-opt=device=/etc"'],
        ["--no-such-option"], ["--no-such-option=x"], ["--hooks-dir=./hooks"], ["--conmon=./x"], ["-Z"], ["-itZ"]],
}

# What ordinary projects do, and nobody should be asked about.
HARMLESS = [
    "", '[[mount]]\nsource = "./data"\ntarget = "/data"\ncreate = true',
    '[[mount]]\nsource = "volume-name"\ntarget = "/data"',
    '[[mount]]\nsource = "~/.cache/huggingface"\ntarget = "/hf"\ncreate = true',
    '[[mount]]\nsource = "~/datasets"\ntarget = "/d"\ncreate = true', '[env]\nA = "b"',
    '[container]\nipc = "host"\nnetwork = "host"\ncap_add = ["IPC_LOCK", "SYS_NICE"]\nuser = "0"',
    '[container]\ndevice = ["/dev/infiniband", "/dev/dri", "nvidia.com/gpu=all"]', ["-e", "A=b"],
    ["-v", "./data:/data"],
    ["--security-opt=no-new-privileges"], ["--privileged=false"], ["--pid=private"],
    ["--device=/dev/infiniband/uverbs0"],
    ["--mount", "type=bind,src=./data,dst=/data,readonly"], ["--mount", "type=tmpfs,dst=/t"], ["--cap-drop=ALL"],
    ["--label", "--privileged"], ["--tmpfs", "/tmp:rw"], ["--label=-v", "--label", "/:/h"],
]


class Gate(ProjectTest):
    """Dry runs: no engine, no network, an image by digest."""

    def setUp(self):
        super().setUp()
        self.home = self.folder / "home"
        (self.home / ".ssh").mkdir()
        (self.project / "data").mkdir()
        (self.project / "env").write_text("A=b\n")
        for name, target in {"to-root": "/", "to-home": self.home, "to-ssh": "to-home/.ssh",
        "to-engine": "/run"}.items():
            (self.project / name).symlink_to(target)
        self.environment["NAME"] = "value"

    def write(self, asks, name="job", head="", folder=None):
        """profiles/NAME.toml: a list is `extra_args`, a text stands below the head."""
        text = f"[container]\nextra_args = {json.dumps(asks)}" if isinstance(asks, list) else asks
        folder = folder or self.project / "profiles"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.toml").write_text(f'version = 1\nimage = "{IMAGE}"\n{head}\n{text}\n')

    def needs(self, *words, name="job", **options):
        """(trust, where, value) of all that a dry run says would have to be allowed."""
        plan = self.sparkrun("run", "--dry-run", "--offline", "--json", *words, name, **options).json
        return [ASKS.fullmatch(warning).groups() for warning in plan["warnings"] if warning.startswith("a real run")]

    def names(self, *words, **options):
        return sorted({need[0] for need in self.needs(*words, **options)})

    def check_stopped(self, *cases, **options):
        """Under whichever name; a profile that is refused as a whole is stopped as well."""
        for asks in cases:
            with self.subTest(asks):
                self.write(asks)
                result = self.sparkrun("run", "--dry-run", "--offline", "--json", "job", code=None, **options)
                if result.code != 0:
                    self.assertIn(result.error["id"], ("profile.invalid", "trust.not_allowed"), result.err)
                else:
                    self.assertTrue(any(warning.startswith("a real run") for warning in result.json["warnings"]),
                                    f"nobody is asked about {result.json['argv']}")

    # The list of names.

    def test_every_name_is_asked_for_here(self):
        text = self.sparkrun("explain", "trust").out

        self.assertEqual(re.findall(r"^  ([a-z]+(?:-[a-z]+)*) ", text, flags=re.M), sorted(ASKED))

    def test_each_way_to_ask_is_stopped_by_its_name(self):
        for name, ways in ASKED.items():
            for asks in ways:
                with self.subTest(trust=name, asks=asks):
                    self.write(asks)
                    self.assertEqual(self.names(), [name])

    def test_what_ordinary_projects_do_is_not_asked_about(self):
        for asks in HARMLESS:
            with self.subTest(asks):
                self.write(asks)
                self.assertEqual(self.needs(), [])

    def test_all_that_is_asked_for_is_named_at_once(self):
        self.write(["--privileged", "-v", "/etc:/a", "-v", "/usr:/b", "--device=/dev/sda", "-e", "NAME"])

        self.assertEqual(self.needs(), [
            ("privileged", "container.extra_args", "true"), ("host-root", "container.extra_args", "/etc"),
            ("host-root", "container.extra_args", "/usr"), ("raw-device", "container.extra_args", "/dev/sda"),
            ("host-env", "container.extra_args", "NAME")])

    # Whose words they are.

    def test_the_callers_own_words_need_nothing(self):
        self.write("")

        self.assertEqual(self.needs(
            "--privileged", "--pid", "host", "--userns=host", "--cap-add", "ALL", "--device", "/dev/null", "-v", "/:/h",
            "-v", f"{self.home}:/home", "-e", "NAME", "--security-opt", "seccomp=unconfined", "--volumes-from",
            "other"), [])

    def test_the_callers_words_do_not_cover_the_projects(self):
        self.write('[container]\npid = "host"\ncap_add = ["ALL"]')

        self.assertEqual(self.names("--pid", "host", "--cap-add", "ALL", "--privileged"), ["host-pid", "sys-admin"])

    def test_a_users_own_profile_needs_nothing(self):
        own = self.folder / "config/sparkrun/profiles"
        for ways in ASKED.values():
            # Not even a user's own profile is to follow a link of the checkout.
            for asks in (one for one in ways if "./to-" not in str(one)):
                with self.subTest(asks):
                    self.write(asks, name="own", folder=own)
                    self.assertEqual(self.needs(name="own"), [])

    def test_a_project_that_extends_a_users_profile_gets_none_of_its_trust(self):
        own = self.folder / "config/sparkrun/profiles"
        self.write('env_from_host = ["NAME"]\n[container]\nprivileged = true\nextra_args = ["-v", "/:/h"]',
                   "own", folder=own)
        for name in ("job", "own"):
            with self.subTest(name):
                (self.project / f"profiles/{name}.toml").write_text('version = 1\nextends = "own"\n')
                self.assertEqual(self.names(name=name), ["host-env", "host-root", "privileged"])

    def test_what_a_project_overrides_is_what_counts(self):
        own = self.folder / "config/sparkrun/profiles"
        self.write("[container]\nprivileged = true\nextra_args = ['--pid=host']", "own", folder=own)
        (self.project / "profiles/job.toml").write_text(
            'version = 1\nextends = "own"\n[container]\nprivileged = false\nextra_args = ["-v", "/etc:/h"]\n')

        self.assertEqual(self.names(), ["host-root"])

    def test_a_project_that_takes_the_name_of_a_built_in_profile_is_asked_about(self):
        (self.project / "profiles/pytorch.toml").write_text(
            f'version = 1\nextends = "pytorch"\nimage = "{IMAGE}"\n[container]\nprivileged = true\n')

        self.assertEqual(self.names(name="pytorch"), ["privileged"])

    def test_a_profile_through_a_link_to_the_users_folder_is_the_projects(self):
        own = self.folder / "config/sparkrun/profiles"
        self.write(["--privileged"], "own", folder=own)
        (self.project / "profiles/job.toml").symlink_to(own / "own.toml")
        self.assertEqual(self.names(), ["privileged"])
        shutil.rmtree(self.project / "profiles")
        (self.project / "profiles").symlink_to(own)

        self.assertEqual(self.names(name="own"), ["privileged"])

    def test_a_link_in_the_checkout_does_not_lead_a_trusted_profile_out_of_it(self):
        """The built-in profile mounts ./finetuning, and its `./` is whatever folder somebody stands in."""
        self.write(mount("./data"), "own", folder=self.folder / "config/sparkrun/profiles")
        shutil.rmtree(self.project / "data")
        for link, name in (("finetuning", "pytorch"), ("data", "own")):
            with self.subTest(name):
                (self.project / link).symlink_to("/")
                result = self.sparkrun("run", name, "--dry-run", "--offline", "--json", code=None)
                self.assertTrue(result.code != 0 or result.json["warnings"], result.out)

    def test_neither_do_other_relative_paths_of_a_trusted_profile(self):
        (self.project / "out").symlink_to(self.home / ".ssh")
        (self.project / "inside").symlink_to("data")
        (self.home / ".ssh").mkdir(exist_ok=True)
        (self.home / ".ssh/file").write_text("A=1\n")
        (self.project / "data/file").write_text("A=1\n")
        ways = ['[container]\nenv_file = ["{}/file"]', '[container]\nlabel_file = ["./{}/file"]',
                '[env_from_file]\nNAME = "{}/file"', ["-v", "./{}:/h"], ["--mount", "type=bind,src=./{},dst=/h"],
                ["--env-file", "{}/file"], ["--label-file=./{}/file"]]
        for way in ways:
            for folder, wanted in (("out", ["credentials"]), ("inside", [])):
                with self.subTest(way=way, folder=folder):
                    asks = [word.replace("{}", folder) for word in way] if isinstance(way, list) else \
                        way.replace("{}", folder)
                    self.write(asks, name="own", folder=self.folder / "config/sparkrun/profiles")
                    self.assertEqual(self.names(name="own"), wanted)

    # Leave.

    def test_leave_is_given_by_name_or_for_one_value(self):
        self.write(["-v", "/etc:/a", "-v", "/usr:/b", "--pid=host"])
        cases = [
            ([], ["/etc", "/usr", "host"]),
            (["--allow", "host-root"], ["host"]),
            (["--allow", "host-root:/etc"], ["/usr", "host"]),
            (["--allow", "host-root:/et"], ["/etc", "/usr", "host"]),
            (["--allow", "host-root:/etc/"], ["/etc", "/usr", "host"]),
            (["--allow", "host-root:"], ["/etc", "/usr", "host"]),
            (["--allow", "privileged"], ["/etc", "/usr", "host"]),
            (["--allow", "host-pid:/etc"], ["/etc", "/usr", "host"]),
            (["--allow", "host-root", "--allow", "host-pid:host"], []),
        ]
        for words, wanted in cases:
            with self.subTest(words):
                self.assertEqual([need[2] for need in self.needs(*words)], wanted)

    def test_leave_is_given_by_the_users_own_config_and_environment(self):
        self.write(["-v", "/etc:/a", "--pid=host"])
        config = self.folder / "config/sparkrun/config.toml"
        config.parent.mkdir(parents=True)
        config.write_text('allow = ["host-root:/etc"]\n')
        self.assertEqual(self.names(), ["host-pid"])

        config.unlink()
        self.assertEqual(self.names(environment={"SPARKRUN_ALLOW": "host-pid,host-root"}), [])

    def test_leave_is_not_given_by_the_project(self):
        self.write(["--pid=host"])
        for path in ("config.toml", "sparkrun.toml", ".sparkrun.toml", ".config/sparkrun/config.toml",
                     "profiles/config.toml",
                     ".sparkrun/config.toml", ".env"):
            with self.subTest(path):
                file = self.project / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text('allow = ["host-pid"]\nSPARKRUN_ALLOW = "host-pid"\n')
                self.assertEqual(self.names(), ["host-pid"])
        self.write("", head='allow = ["host-pid"]')
        self.sparkrun("run", "--dry-run", "--offline", "job", code=4)

    def test_a_name_that_is_none_is_refused(self):
        self.write(["--pid=host"])
        for name in ("host", "all", "ALL", "*", "", "host-pid,host-root", "Host-Pid", "host-pid "):
            with self.subTest(name):
                self.sparkrun("run", "--dry-run", "--offline", "--allow", name, "job", code=2)

    def test_a_name_in_the_config_that_is_none_is_refused(self):
        self.write("")
        config = self.folder / "config/sparkrun/config.toml"
        config.parent.mkdir(parents=True)
        config.write_text('allow = ["privilegd"]\n')

        self.assertEqual(self.sparkrun("run", "--dry-run", "--offline", "--json", "job", code=4).error["id"],
                         "config.invalid")

    # Ways around.

    def test_mount_is_read_as_docker_reads_it(self):
        """docker/cli, opts/mount.go: the first record of a CSV text, and keys in any case."""
        (self.project / "a,b").symlink_to("/")
        (self.project / 'a"b').symlink_to("/")
        (self.project / " a").symlink_to("/")
        self.check_stopped(
            ["--mount", "type=bind,SRC=/,dst=/h"], ["--mount", "type=bind,Source=/etc,dst=/h"],
            ["--mount", "\nsrc=/,type=bind,dst=/h"], ["--mount", "\r\nsrc=/,type=bind,dst=/h"],
            ["--mount", "type=bind,dst=/h,src=/\n"], ["--mount", "type=bind,dst=/h,src=/etc\r\n"],
            ["--mount", "type=bind,dst=/h,src=/etc\nsrc=./data"], ["--mount", 'type=bind,"src=./a,b",dst=/h'],
            ["--mount", 'type=bind,"src=./a""b",dst=/h'], ["--mount", "type=bind,src=./data,src=/,dst=/h"],
            ["--mount", "dst=/h,VOLUME-OPT=type=none,Volume-Opt=o=bind,volume-OPT=device=/"])

    def test_options_of_a_volume_reach_the_host_in_other_ways_than_an_absolute_device(self):
        """The engine's own folder is `/`, where `etc` and `.` are seen from; an overlay has no device."""
        volume = "type=volume,dst=/h,volume-opt=type=none,volume-opt=o=bind,volume-opt=device="
        self.check_stopped(
            ["--mount", volume + "etc"], ["--mount", volume + "."], ["--mount", volume + "./etc"],
            ["--mount", volume + "data/.."],
            ["--mount", 'dst=/h,volume-opt=type=overlay,volume-opt=device=overlay,"volume-opt=o=lowerdir=/etc:/root"'],
            ["--mount", 'dst=/h,volume-opt=type=overlay,volume-opt=device=x,"volume-opt=o=lowerdir=/root,upperdir=/x"'],
            ["--mount", "src=n,dst=/h,volume-driver=local-persist,volume-opt=mountpoint=/"],
            ["--mount", "dst=/h,volume-opt=type=ext4,volume-opt=device=dev/sda1"])

    def test_the_network_of_another_container_is_its_users_and_files_too(self):
        self.check_stopped(
            '[container]\nnetwork = "container:other"', ["--network=container:other"], ["--net", "container:other"],
            ["--net=container:other"], ["--link", "other:o"],
            '[container]\nlink = ["other"]')  # --link hands over its environment

    def test_a_device_by_another_path(self):
        """`a/b=c` is a CDI name only where nothing but a name follows the `=`; /dev/shm is written to by anybody."""
        self.check_stopped(
            ["--device=home/user/checkout/a=b/../../../../dev/sda:/dev/x"], ["--device=builds/me/it/x=y:/dev/x"],
            ["--device=./a=b:/dev/x"], ["--device=/dev/shm/sda:/dev/x"], ["--device=/dev/shm"],
            ["--device=/dev/null,/dev/sda"])

    def test_leave_for_a_file_is_leave_for_its_variable(self):
        """Else the next commit may call the same file by a name that is obeyed by something."""
        self.write('[env_from_file]\nNAME = "./env"')

        self.assertIn("NAME", self.needs()[0][2])

    def test_a_link_that_only_the_engine_can_follow(self):
        """The engine is root: it goes where whoever starts the job may not even look."""
        for target in ("/proc/1/root/etc", "/root/.ssh/id_rsa", "/var/lib/docker/volumes/x"):
            with self.subTest(target):
                link = self.project / "link"
                link.unlink(missing_ok=True)
                link.symlink_to(target)
                self.write(["-v", "./link:/h"])
                command = [BINARY, "run", "--dry-run", "--offline", "--json", "job"]
                if os.geteuid() == 0:
                    subprocess.run(["chown", "-hR", "65534:65534", self.folder], check=True)
                    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command]
                done = subprocess.run(command, cwd=self.project, env=self.environment, capture_output=True, text=True,
                                      timeout=30, check=True)
                self.assertTrue(json.loads(done.stdout)["warnings"], target)

    def test_what_starts_with_the_next_login(self):
        """To write there is to run outside of the container, as the user."""
        for path in (".bashrc", ".profile", ".zshrc", ".bash_profile", ".local/bin", ".config/autostart",
                     ".config/systemd/user",
                     ".config/fish", ".local/share/applications", ".gitconfig", ".vimrc"):
            self.check_stopped(mount(f'~/{path}'))

    def test_other_peoples_credentials(self):
        """Of no concern to a user's own rights: the container is root."""
        self.check_stopped(*(mount(path)
                             for path in ("/home/somebody/.ssh", "/home/somebody/.aws/credentials",
                                          "/home/somebody/.docker")))

    def test_agents_and_credentials_that_a_variable_leads_to(self):
        for name, path in (("SSH_AUTH_SOCK", "/tmp/ssh-XXXX/agent.1"), ("KUBECONFIG", "/opt/kube/config"),
                           ("AWS_SHARED_CREDENTIALS_FILE", "/opt/aws"), ("NETRC", "/opt/netrc"),
                           ("GNUPGHOME", "/opt/gpg"), ("XAUTHORITY", "/opt/xauth"), ("DOCKER_CONFIG", "/opt/docker")):
            self.check_stopped(mount(f'${{{name}}}'),
                               environment={name: path})

    def test_a_variable_in_a_source_is_a_variable_of_the_host(self):
        """The path, value and all, stands in the container's mount table."""
        for name in ("DATABASE_URL", "GH_PAT", "PGPASS", "SLACK_WEBHOOK", "SENTRY_DSN", "MYSQL_PWD"):
            self.check_stopped(mount(f'./data/${{{name}}}'),
                               environment={name: "value-of-it"})

    def test_the_engines_socket_wherever_it_is(self):
        for path in ("/srv/engine/e.sock", "/srv/engine", "/srv"):
            self.check_stopped(mount(path),
                               environment={"DOCKER_HOST": "unix:///srv/engine/e.sock"})
        self.check_stopped(mount("~/.colima/default"),
                           mount("~/.local/share/containers/podman/machine"))

    def test_files_that_the_client_reads_on_the_host(self):
        self.check_stopped(["--label-file=/etc/shadow"], ["--label-file", "./to-ssh/id_rsa"],
                           '[container]\nlabel_file = ["./to-ssh/id_rsa"]')

    def test_what_only_podman_takes(self):
        """podman-run(1): namespaces by path, lists with commas, programs and files of the host by name."""
        self.check_stopped(
            ["--pid=ns:/proc/1/ns/pid"], ["--userns=ns:/proc/1/ns/user"], ["--ipc=ns:/proc/1/ns/ipc"],
            ["--network=ns:/proc/1/ns/net"], ["--cap-add=NET_RAW,SYS_ADMIN"], ["--runtime=./evil"],
            ["--runtime=/tmp/evil"],
            '[gpu]\naccess = "none"\n[container]\nruntime = "./evil"', ["--secret=db,type=env"],
            ["--log-driver=k8s-file", "--log-opt=path=/home/user/.bashrc"], ["--mount", "type=glob,src=/et*,dst=/h"],
            ["--replace"], ["--env-host"], ["--pod=other"])

    def test_a_file_does_not_set_what_the_engines_client_obeys(self):
        """A value that is handed over by name is in the client's environment first."""
        (self.project / "value").write_text("./evil.so\n")
        for name in ("LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "PATH", "HOME", "DOCKER_HOST", "DOCKER_CONFIG",
                     "DOCKER_CONTEXT", "DOCKER_CERT_PATH", "HTTPS_PROXY", "SSL_CERT_FILE", "GODEBUG",
                     "CONTAINERS_CONF"):
            with self.subTest(name):
                self.write(f'[env_from_file]\n{name} = "./value"')
                self.sparkrun("run", "--dry-run", "--offline", "--allow", "host-env", "job", code=4)

    def test_the_labels_by_which_a_run_is_known_cannot_be_forged(self):
        self.check_stopped(["--label", "dev.sparkrun.run=01X"], ["-l", "dev.sparkrun.profile=other"],
                           ["--label=dev.sparkrun.run=01X"])

    def test_what_is_asked_for_is_shown_without_tricks(self):
        self.write(["-v", "/etc\x1b[2K\r/../etc:/h"])

        result = self.sparkrun("run", "--dry-run", "--offline", "job")

        self.assertNotIn("\x1b", result.err)
        self.assertNotIn("\r", result.err)


class RealRuns(RigTest):
    def setUp(self):
        super().setUp()
        self.image = f"{self.registry}/small@{self.digest('small', '1')}"

    def write(self, text, folder=None):
        folder = folder or self.project
        (folder / "profiles").mkdir(parents=True, exist_ok=True)
        (folder / "profiles/job.toml").write_text(
            f'version = 1\nimage = "{self.image}"\nplatforms = ["linux/amd64", "linux/arm64"]\n'
            f'[gpu]\naccess = "none"\n[container]\nremove = true\n{text}\n')

    def test_nothing_is_created_or_started_without_leave(self):
        self.write('privileged = true\n[[mount]]\nsource = "./out"\ntarget = "/out"\ncreate = true')
        for words in (["run", "--json", "job", "true"], ["preflight", "--json", "job"]):
            with self.subTest(words):
                error = self.sparkrun(*words, code=104 if words[0] == "run" else 4).error
                self.assertEqual(error["id"], "trust.not_allowed")
                self.assertIn("--allow privileged", error["hint"])
                self.assertEqual(error["details"]["names"], "privileged")

        self.assertFalse((self.project / "out").exists())
        self.assertEqual(self.docker("ps", "-aq"), "")
        self.assertNotIn("run.start", self.events())

    def test_what_is_allowed_runs(self):
        self.write('[[mount]]\nsource = "/etc"\ntarget = "/host"\nread_only = true')

        result = self.sparkrun("run", "--no-preflight", "--allow", "host-root:/etc", "job", "ls", "/host/passwd")

        self.assertTrue(result.out.endswith("/host/passwd\n"), result.out)
        self.sparkrun("run", "--no-preflight", "--allow", "host-root:/usr", "job", "true", code=104)

    def test_a_project_does_not_run_programs_on_the_host(self):
        """A bare repository among the files of a checkout is a repository, with a configuration, for git."""
        folder = self.project / "jobs"
        self.write("", folder)
        proof = self.folder / "proof"
        git = ["git", "-c", "user.name=x", "-c", "user.email=x"]
        subprocess.run(["git", "init", "-q", self.project], check=True)
        subprocess.run(["git", "init", "-q", "--bare", folder], check=True)
        subprocess.run([*git, f"--git-dir={folder}", f"--work-tree={folder}", "commit", "-q", "--allow-empty", "-m",
                        "x"], check=True, cwd=folder)
        (folder / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n"
                                       f'\tfsmonitor = "touch {proof}; false"\n')

        self.sparkrun("run", "--no-preflight", "job", "true", cwd=folder)

        self.assertFalse(proof.exists(), "a program of the checkout ran on the host")


if __name__ == "__main__":
    unittest.main()
