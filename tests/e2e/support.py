# SPDX-License-Identifier: MIT
"""What the end-to-end tests share: the real binary, the rig's real registry and engine, a home of their own.

A rig that is down is a failure, never a skip. Run one file by hand with the rig up:
`SPARKRUN_BINARY=build/dev/sparkrun /usr/bin/python3 tests/e2e/run_test.py -v`
"""

import contextlib
import hashlib
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import time
import unittest
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
RIG = ROOT / "tests/rig/rig"
BINARY = pathlib.Path(os.environ.get("SPARKRUN_BINARY", ROOT / "build/dev/sparkrun")).resolve()

# What a developer's or a CI machine's own settings must not change.
FOREIGN = ("CI", "NO_COLOR", "DOCKER_", "REGISTRY_AUTH_FILE", "XDG_", "SPARKRUN_", "SSL_CERT_FILE", "HF_TOKEN",
           "_SPARKRUN")

MANIFEST_TYPES = ", ".join([
    "application/vnd.oci.image.index.v1+json", "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.docker.distribution.manifest.v2+json"])


def own_environment(folder):
    """The environment of a test that keeps everything in `folder`, a new home included."""
    (folder / "home").mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    return environment | {
        "HOME": str(folder / "home"),
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }


def rig(*words):
    """Runs tests/rig/rig; its output."""
    return subprocess.run([RIG, *words], check=True, capture_output=True, text=True).stdout


def rig_environment():
    """NAME -> value, as `rig env` exports them. Raises when the rig is down."""
    lines = rig("env").splitlines()
    return dict(shlex.split(line.removeprefix("export "))[0].split("=", 1) for line in lines)


class Result:
    """The end of one command."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def errors(self):
        """All that --json tells: of the command on stderr, of single profiles or references in the result."""
        found = [json.loads(line)["error"] for line in self.err.splitlines() if line.startswith("{")]
        for entry in self.json if self.out.startswith("[") else []:
            found += entry.get("errors", []) + ([entry["error"]] if "error" in entry else [])
        return found

    @property
    def error(self):
        """The last of them."""
        return self.errors[-1]


class ProjectTest(unittest.TestCase):
    """A project folder, a home and an environment of its own for each test; neither engine nor network."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sparkrun-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.project = self.folder / "project"
        (self.project / "profiles").mkdir(parents=True)
        self.environment = own_environment(self.folder) | {"DOCKER_HOST": f"unix://{self.folder}/no-engine"}

    def sparkrun(self, *words, code=0, cwd=None, stdin=subprocess.DEVNULL, environment=None, input=None):
        """Runs sparkrun to its end and checks the exit code (None: any)."""
        done = subprocess.run(
            [BINARY, *words], cwd=cwd or self.project, capture_output=True, text=True, timeout=120,
            env=self.environment | (environment or {}),
            **({"input": input} if input is not None else {"stdin": stdin}))
        result = Result(done.returncode, done.stdout, done.stderr)
        if code is not None:
            self.assertEqual(result.code, code, f"sparkrun {shlex.join(words)}\n{done.stdout}\n{done.stderr}")
        return result


class RigTest(ProjectTest):
    """With the rig's registry and engine; whatever containers a test leaves behind fail it."""

    @classmethod
    def setUpClass(cls):
        cls.rig = rig_environment()
        cls.registry = cls.rig["SPARKRUN_RIG_REGISTRY"]
        cls.tls_registry = cls.rig["SPARKRUN_RIG_TLS_REGISTRY"]

    def setUp(self):
        super().setUp()
        self.environment |= {name: self.rig[name] for name in ("PATH", "DOCKER_HOST")}

    def tearDown(self):
        left = self.docker("ps", "-a", "--format", "{{.Names}}").split()
        for name in left:
            self.docker("rm", "-f", name)
        self.assertEqual(left, [], "containers were left behind")

    # Commands.

    @contextlib.contextmanager
    def running(self, *words, **options):
        """sparkrun in the background; killed at the end if it is still there."""
        process = subprocess.Popen([BINARY, *words], cwd=self.project, env=self.environment, text=True,
                                   **({"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                                       "stderr": subprocess.PIPE} | options))
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            # Not communicate(): an engine's client that outlived it would hold the pipes open.
            for stream in filter(None, (process.stdout, process.stderr)):
                stream.close()

    def docker(self, *words):
        done = subprocess.run(["docker", *words], env=self.environment | self.rig, capture_output=True, text=True,
                              check=True)
        return done.stdout

    def forget_images(self):
        """Empties the engine's store, whatever other tests have left there."""
        for image in set(self.docker("image", "ls", "--all", "--quiet").split()):
            self.docker("image", "rm", "--force", image)

    def wait_for(self, condition, seconds=30):
        """Polls until `condition()` is true; its value."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            value = condition()
            if value:
                return value
            time.sleep(0.05)
        self.fail("waited in vain")

    # The registry, asked without sparkrun.

    def manifest(self, name, reference):
        """Bytes and digest of what the plain registry serves."""
        request = urllib.request.Request(f"http://{self.registry}/v2/{name}/manifests/{reference}",
                                         headers={"Accept": MANIFEST_TYPES})
        with urllib.request.urlopen(request, timeout=10) as response:
            body = response.read()
        return body, "sha256:" + hashlib.sha256(body).hexdigest()

    def digest(self, name, reference):
        return self.manifest(name, reference)[1]

    # Files.

    def write_profile(self, name, image=None, text="", platforms=("linux/arm64", "linux/amd64")):
        """profiles/NAME.toml with an image of the plain registry."""
        image = image or f"{self.registry}/unsloth/unsloth:dgxspark-latest"
        lines = ["version = 1", f'image = "{image}"', f"platforms = {json.dumps(list(platforms))}", text]
        (self.project / f"profiles/{name}.toml").write_text("\n".join(lines) + "\n")

    def write_job(self, name="job", image=None, text="", head="", **options):
        """A profile with the flags of the shipped ones, which the rig's runtime needs."""
        self.write_profile(name, image, f"{head}\n[container]\nipc = \"host\"\nremove = true\n"
                           "[container.ulimits]\nmemlock = -1\nstack = 67108864\n" + text, **options)

    def records(self):
        """All records of the ledger, in order."""
        files = sorted(self.folder.glob("state/sparkrun/audit/*/*/*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def events(self):
        return [record["event"] for record in self.records()]
