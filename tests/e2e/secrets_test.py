# SPDX-License-Identifier: MIT
"""The value of a host variable reaches the job and nothing else: no command line, output, record or file."""

import base64
import contextlib
import hashlib
import os
import pathlib
import secrets
import stat
import threading
import unittest

from support import RigTest, rig

# What a shell, a CSV, JSON or a terminal would change, and more than one script.
AWKWARD = "$HOME `id` $(id) '\" \\ !! ; & | < > ( ) { } * ? [ ] ~ # % = , : ^ @ \t é 日本語 \U0001f600 "

NATIVE = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]

# The job's proof that it has a value: a digest, once per name. Then it waits for the end of its input.
PROVE = 'for name in "$@"; do eval "printf %s \\"\\$$name\\"" | sha256sum; done; cat >/dev/null'


class Secret:
    """A random value and the forms in which it would still be one."""

    def __init__(self, shape="{} {}"):
        self.cores = [secrets.token_hex(16), secrets.token_hex(16)]
        self.value = shape.format(self.cores[0] + AWKWARD, self.cores[1])
        self.forms = set()
        for core in self.cores:
            # In JSON, in a URL or quoted for a shell the core is as it was.
            self.forms |= {core, core[::-1], core.upper(), core.encode().hex(), core[:16], core[16:]}
            for offset in range(3):  # in the middle of something that is base64 as a whole
                text = base64.b64encode(b"x" * offset + core.encode()).decode()
                self.forms.add(text[4:-4])
        self.forms |= {form.encode() for form in self.forms}

    @property
    def proof(self):
        return hashlib.sha256(self.value.encode()).hexdigest()

    def find_in(self, text):
        kind = str if isinstance(text, str) else bytes
        return next((form for form in self.forms if isinstance(form, kind) and form in text), None)


class CommandLines(threading.Thread):
    """Reads the command lines of all processes, again and again, for as long as it is asked to."""

    def __init__(self, wanted):
        super().__init__(daemon=True)
        self.wanted, self.found, self.seen, self.rounds, self.is_over = wanted, [], set(), 0, False

    def run(self):
        while not self.is_over:
            for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
                with contextlib.suppress(OSError):
                    line = path.read_bytes()
                    self.seen.add(line.split(b"\0")[0].rpartition(b"/")[2])
                    self.found += [line for secret in self.wanted if secret.find_in(line)]
            self.rounds += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *unused):
        self.is_over = True
        self.join()


class Values(RigTest):
    def setUp(self):
        super().setUp()
        self.image = f"{self.registry}/small@{self.digest('small', '1')}"
        self.host, self.typed, self.filed = Secret(), Secret("{}\n{}"), Secret("{}\n\n{}")
        self.all = [self.host, self.typed, self.filed]
        (self.folder / "tmp").mkdir()
        self.environment |= {"HOST_VALUE": self.host.value, "TYPED": self.typed.value,
                             "TMPDIR": str(self.folder / "tmp")}
        # Beside what is searched: the one file that may hold a value.
        self.file = self.folder.with_name(self.folder.name + "-file")
        self.file.write_text(self.filed.value + "\n")
        self.file.chmod(0o600)
        self.addCleanup(self.file.unlink, missing_ok=True)
        self.own = self.folder / "config/sparkrun/profiles"
        self.own.mkdir(parents=True)
        self.write("job")

    def write(self, name, text="", image=None, folder=None):
        """A profile of the user's own, which may name what it likes."""
        lines = ["version = 1", f'image = "{image or self.image}"', f'platforms = ["linux/{NATIVE}"]',
                 'env_from_host = ["HOST_VALUE"]', "[env_from_file]", f'FILE_VALUE = "{self.file}"',
                 "[gpu]", 'access = "none"', "[container]", "remove = true", text]
        ((folder or self.own) / f"{name}.toml").write_text("\n".join(lines) + "\n")

    # The search.

    def check_text(self, where, text):
        for secret in self.all:
            self.assertIsNone(secret.find_in(text), f"a value is in {where}")

    def check_result(self, result, where):
        self.check_text(f"the output of {where}", result.out)
        self.check_text(f"the errors of {where}", result.err)

    def check_files(self):
        searched = 0
        for path in self.folder.rglob("*"):
            self.check_text(f"the name of {path}", str(path))
            if path.is_file():
                self.check_text(path, path.read_bytes())
                searched += 1
        self.assertGreater(searched, 0)

    def run_and_check(self, *words, **options):
        result = self.sparkrun(*words, **options)
        self.check_result(result, words)
        self.check_files()
        return result

    # A run that goes well.

    def test_the_job_has_the_values_and_nothing_else_has(self):
        names = ["HOST_VALUE", "TYPED", "FILE_VALUE"]
        with CommandLines(self.all) as lines:
            with self.running("run", "--verbose", "--status-file", "end.json", "-e", "TYPED", "job", "sh", "-c", PROVE,
                              "sh", *names, stdin=-1) as process:
                proofs = [process.stdout.readline().split()[:1] for _ in names]
                rounds = lines.rounds
                self.wait_for(lambda: lines.rounds > rounds + 2)
                out, err = process.communicate(timeout=30)

        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(proofs, [[secret.proof] for secret in self.all], err)
        self.assertEqual(lines.found, [])
        self.assertIn(b"docker", lines.seen)
        self.check_text("the output of the run", out)
        self.check_text("the errors of the run", err)
        self.check_files()

        self.assertLessEqual({"HOST_VALUE", "TYPED", "FILE_VALUE"},
                             {entry["name"] for entry in self.records()[0]["env"]})
        self.assertTrue((self.project / "end.json").is_file())
        for words in (["audit", "show", "^1"], ["audit", "show", "^1", "--json"], ["audit", "ls", "--json"],
                      ["audit", "verify", "--json"], ["--verbose", "audit", "show", "^1"]):
            self.run_and_check(*words)

    def test_a_value_from_a_file_is_the_file_without_its_last_newline(self):
        for content, wanted in (("a", "a"), ("a\n", "a"), (" a ", " a "), ("a\nb\n", "a\nb"), ("é\n", "é")):
            with self.subTest(content):
                self.file.write_text(content)
                result = self.sparkrun("run", "--no-preflight", "--quiet", "job", "sh", "-c", PROVE, "sh", "FILE_VALUE")
                self.assertEqual(result.out.split()[0], hashlib.sha256(wanted.encode()).hexdigest())

    def test_with_the_checks_that_start_a_container_of_their_own(self):
        with CommandLines(self.all) as lines:
            self.run_and_check("preflight", "job", "--report", "report.json", code=None)
            self.run_and_check("preflight", "job", "--json", "--verbose", code=None)

        self.assertEqual(lines.found, [])

    # What is only shown.

    def test_plans_and_profiles(self):
        for words in (["run", "job", "--dry-run", "-e", "TYPED"], ["run", "job", "--dry-run", "--json", "-e", "TYPED"],
                      ["run", "job", "--dry-run", "--verbose"], ["profile", "show", "job"],
                      ["profile", "show", "job", "--json"], ["profile", "show", "job", "--argv"],
                      ["profile", "show", "job", "--argv", "--json"], ["profile", "ls", "--json"],
                      ["profile", "check", "--json"], ["config", "show", "--json"], ["paths", "--json"]):
            with self.subTest(words):
                self.run_and_check(*words)
        plan = self.sparkrun("run", "job", "--dry-run", "--json", "-e", "TYPED").json
        for name in ("HOST_VALUE", "TYPED", "FILE_VALUE"):
            self.assertIn(["-e", name], [plan["argv"][at:at + 2] for at in range(len(plan["argv"]))])

    def test_nothing_of_it_is_readable_by_others(self):
        self.sparkrun("run", "--no-preflight", "job", "true")

        for path in (self.folder / "state").rglob("*"):
            self.assertEqual(stat.S_IMODE(path.stat().st_mode) & 0o077, 0, path)

    # What goes wrong.

    def test_refusals(self):
        self.write("mounts", '[[mount]]\nsource = "./none"\ntarget = "/x"')
        self.write("greedy", "privileged = true", folder=self.project / "profiles")
        self.write("wrong", "nonsense = true")
        cases = [
            (["run", "job", "-e", "NO_SUCH_VARIABLE"], 104, {}),
            (["run", "mounts"], 104, {}),
            (["run", "greedy", "true"], 104, {}),
            (["run", "wrong"], 104, {}),
            (["run", "nosuch", "-e", "TYPED"], 104, {}),
            (["run", "job", "--lockd"], 102, {}),
            (["run", "job", "--latest", "--allow", "nothing"], 102, {}),
            (["run", "--engine", "podman", "job"], None, {"PATH": "/nowhere"}),
            (["run", "job"], 110, {"DOCKER_HOST": f"unix://{self.folder}/none"}),
            (["run", "job"], 110, {"DOCKER_HOST": "tcp://127.0.0.1:1"}),
            (["run", f"{self.registry}/small:none", "-e", "TYPED"], 106, {}),
        ]
        for words, code, environment in cases:
            for form in (["--json"], ["--verbose"]):
                with self.subTest(words=words, form=form):
                    self.run_and_check(*form, *words, code=code, environment=environment)

    def test_what_the_engine_says_when_it_fails(self):
        for words in (["--ulimit", "nofile=1:1", "job", "true"], ["job", "no-such-program"],
                      ["--network", "none-such", "job", "true"], ["--workdir", "relative", "job", "true"],
                      ["-v", "/nowhere/at/all:/x", "job"]):
            with self.subTest(words):
                with CommandLines(self.all) as lines:
                    self.run_and_check("run", "--no-preflight", "--verbose", "--status-file", "end.json", "-e", "TYPED",
                                       *words, code=None)
                self.assertEqual(lines.found, [])
                self.docker("container", "prune", "-f")

    def push_leaky(self, script, text=""):
        """An image whose shell does nothing but `script`; the profile `leaky` runs it."""
        name = f"{self.registry}/leaky"
        self.docker("run", "--name", "leaky", self.image, "busybox", "sh", "-c",
                    'rm /bin/sh; echo "$0" > /bin/sh; busybox chmod 755 /bin/sh', "#!/bin/busybox sh\n" + script)
        self.docker("commit", "-c", "ENTRYPOINT []", "leaky", f"{name}:1")
        self.docker("rm", "leaky")
        self.docker("push", "-q", f"{name}:1")
        self.addCleanup(self.docker, "rmi", "-f", f"{name}:1")
        digest = self.digest("leaky", "1")
        self.addCleanup(rig, "delete", "leaky", digest)
        self.write("leaky", text, image=f"{name}@{digest}")

    def check_leaky(self):
        self.run_and_check("preflight", "leaky", "--report", "report.json", code=None)
        self.run_and_check("run", "--json", "leaky", "true", code=None)
        self.run_and_check("audit", "show", "^1", "--json", code=None)

    def test_an_image_that_prints_its_environment_when_it_is_looked_at(self):
        self.push_leaky("env; env >&2; exit 3")

        self.assertIn("gave no facts", self.run_and_check("preflight", "leaky", "--json", code=None).out)
        self.check_leaky()

    def test_an_image_that_prints_its_environment_in_the_engines_name(self):
        """With the engine's own exit codes and the beginnings of its lines: what is quoted, without the values."""
        own = "ENV_FILE=" + self.typed.value.replace("\n", " ") + "\nHOST_VALUE\n"
        file = self.file.with_name(self.file.name + ".env")
        file.write_text(own)
        self.addCleanup(file.unlink)
        for status, prefix in ((125, ""), (126, "docker: "), (127, "Error: "), (125, "Error: port is already allocated ")):
            with self.subTest(status=status, prefix=prefix):
                self.push_leaky(f"env | sed 's/^/{prefix}/' >&2; exit {status}", f'env_file = ["{file}"]')

                result = self.run_and_check("preflight", "leaky", "--json", code=None)

                self.assertIn("HOST_VALUE=[redacted]", result.out + result.err)
                self.check_leaky()

    def test_files_that_hold_no_value(self):
        self.file.unlink()
        self.run_and_check("run", "--json", "job", "true", code=104)
        self.file.mkdir()
        self.addCleanup(os.rmdir, self.file)
        self.run_and_check("run", "--json", "job", "true", code=104)

    def test_contents_that_no_variable_can_hold(self):
        text = self.filed.value.encode()
        for content in (text + b"\0" + text, b"\0", text + b"\xff\xfe", text * 40_000):
            with self.subTest(content[-8:]):
                self.file.write_bytes(content)
                self.run_and_check("run", "--no-preflight", "--json", "job", "true", code=None)

    def test_a_secret_is_no_part_of_a_path(self):
        """A path is on the command line, in the record and in the container's mount table."""
        secret = Secret("{}{}")
        secret.value = secret.cores[0]
        self.all.append(secret)
        for create in ("true", "false"):
            self.write("paths", f'[[mount]]\nsource = "./out/${{API_TOKEN}}"\ntarget = "/x"\ncreate = {create}')
            with self.subTest(create=create):
                for words in (["run", "--dry-run", "--json", "paths"], ["run", "--no-preflight", "paths", "true"]):
                    self.run_and_check(*words, code=None, environment={"API_TOKEN": secret.value})


if __name__ == "__main__":
    unittest.main()
