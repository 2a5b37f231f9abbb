# SPDX-License-Identifier: MIT
"""The same jobs on other engines (podman; docker with the containerd image store and CDI), and what a launch does for its
user: the caller's own files, values from files, images that stay, warnings that are said once."""

import json
import os
import resource
import shlex
import subprocess
import unittest

from support import BINARY, RigTest

IMAGE = "unsloth/unsloth"
SEES_GPU = "import os, torch; print('gpu', torch.cuda.is_available(), os.path.exists('/dev/nvidia0'))"


class OtherEngine(RigTest):
    """The job of the shipped profiles, pinned, on an engine that is not the rig's first one."""

    engine_environment = {}
    words = ()

    def setUp(self):
        super().setUp()
        self.environment |= self.engine_environment
        self.write_job(head=f'engine = "{self.words[0]}"')
        self.sparkrun("lock", "job")
        self.pinned = self.digest(IMAGE, "dgxspark-latest")

    def engine(self, *words):
        return subprocess.run([*self.words, *words], env=self.environment, capture_output=True, text=True, check=True).stdout

    def tearDown(self):
        left = self.engine("ps", "-a", "--format", "{{.Names}}").split()
        for name in left:
            self.engine("rm", "-f", name)
        self.assertEqual(left, [], "containers were left behind")
        super().tearDown()

    def check_the_main_job(self):
        result = self.sparkrun("run", "job", "python3", "-c", SEES_GPU)

        self.assertIn("gpu True True", result.out)
        start, bound, end = self.records()
        self.assertEqual(start["engine"]["name"], self.words[0])
        self.assertEqual(start["image"]["index"], self.pinned)
        self.assertEqual(end["exit"], 0)
        self.assertIn(bound["observed"]["matches"], ("config", "manifest", "index"))
        return start, bound

    def check_signals_and_status(self):
        self.sparkrun("run", "--no-preflight", "job", "sh", "-c", "exit 7", code=7)
        script = "trap 'echo caught; exit 5' TERM; echo ready; while :; do sleep 0.1; done"
        with self.running("run", "--no-preflight", "--tty", "never", "job", "sh", "-c", script) as process:
            while "ready" not in (line := process.stdout.readline()):
                self.assertTrue(line, "the job ended before it was ready")
            process.terminate()
            self.assertIn("caught", process.stdout.read())
            self.assertEqual(process.wait(timeout=30), 5)

    def check_images_are_kept_and_pruned(self):
        self.sparkrun("run", "--no-preflight", "job", "true")
        tag = "sparkrun/job:pinned-" + self.pinned.removeprefix("sha256:")[:12]
        listed = self.sparkrun("image", "ls", "--json").json
        self.assertIn(tag, [name.removeprefix("localhost/") for image in listed for name in image["tags"]])
        self.assertEqual(self.sparkrun("image", "prune", "--json").json, [], "a lock names it")

        (self.project / "lockfiles/job.lock").unlink()
        self.assertEqual(self.sparkrun("image", "prune", "--json").json, [], "a run used it today")
        dry = self.sparkrun("image", "prune", "--days", "0", "--dry-run", "--json").json
        self.assertEqual([image["action"] for image in dry], ["would remove"])
        done = self.sparkrun("image", "prune", "--days", "0", "--json").json
        self.assertEqual([image["action"] for image in done], ["removed"])
        self.assertEqual(self.sparkrun("image", "ls", "--json").json, [])


class Podman(OtherEngine):
    words = ("podman",)

    def tearDown(self):
        self.engine("image", "rm", "--all", "--force")
        super().tearDown()

    def test_the_main_job(self):
        start, bound = self.check_the_main_job()

        self.assertIn("--device nvidia.com/gpu=all", shlex.join(start["argv"]))
        self.assertEqual(bound["observed"]["matches"], "config")

    def test_the_plan_is_pasted_back_as_it_is(self):
        line = self.sparkrun("run", "job", "--dry-run", "python3", "-c", SEES_GPU).out

        self.assertTrue(line.startswith("podman run --device nvidia.com/gpu=all"), line)
        done = subprocess.run(["/bin/sh", "-c", line], env=self.environment, capture_output=True, text=True, check=True)
        self.assertIn("gpu True True", done.stdout)

    def test_signals_and_status(self):
        self.check_signals_and_status()

    def test_images_are_kept_and_pruned(self):
        self.check_images_are_kept_and_pruned()

    def test_memlock_is_as_much_as_may_be_had(self):
        """podman's containers are children of ours; with docker the daemon gives what it has."""
        limit = 4 << 20
        path = self.project / "profiles/job.toml"
        path.write_text(path.read_text().replace("memlock = -1", 'memlock = "max"'))

        def memlock_of(*words):
            command = ["prlimit", f"--memlock={limit}:{limit}", BINARY, "run", "--dry-run", "--json", *words, "job"]
            done = subprocess.run(command, cwd=self.project, env=self.environment, capture_output=True, text=True,
                                  check=True)
            plan = json.loads(done.stdout)
            self.assertFalse(any("memlock" in warning for warning in plan["warnings"]), plan)
            return next(word for word in plan["argv"] if word.startswith("memlock="))

        self.assertEqual(memlock_of(), f"memlock={limit}")
        self.assertEqual(memlock_of("--engine", "docker"), "memlock=-1")
        result = self.sparkrun("run", "--no-preflight", "--quiet", "job", "sh", "-c", "ulimit -l")
        hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
        self.assertEqual(result.out.splitlines()[-1], "unlimited" if hard < 0 else f"{hard // 1024}")

    def test_the_command_line_chooses_it_for_an_image(self):
        result = self.sparkrun("run", "--engine", "podman", "--no-preflight", f"{self.registry}/{IMAGE}:dgxspark-latest",
                               "python3", "-c", SEES_GPU)

        self.assertIn("gpu True True", result.out)

    def test_what_docker_alone_can_do_is_refused_before_anything_starts(self):
        self.write_job(head='engine = "podman"', text="[container.storage_opts]\na = \"b\"\n")
        self.assertEqual(self.sparkrun("run", "--json", "--gpu-access", "runtime", "job", code=110).error["id"],
                         "engine.gpu_access")
        result = self.sparkrun("run", "--json", "--domainname", "x", "job", code=110)
        self.assertEqual(result.error["id"], "engine.unsupported")
        self.assertIn("--domainname", json.dumps(result.error))

    def test_what_is_not_there_is_named_as_with_docker(self):
        self.sparkrun("run", "--engine", "podman", f"{self.registry}/{IMAGE}:none", code=106)
        absent = {"PATH": str(self.folder)}
        self.assertEqual(self.sparkrun("run", "--json", "job", code=110, environment=absent).error["id"], "engine.missing")


class DockerWithCdi(OtherEngine):
    """Docker 26 with the containerd image store, a CDI specification and no runtime called nvidia."""

    words = ("docker",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.engine_environment = {"DOCKER_HOST": cls.rig["SPARKRUN_RIG_DOCKER2_HOST"],
                                  "PATH": cls.rig["SPARKRUN_RIG_DOCKER2_BIN"] + ":" + cls.rig["PATH"]}

    def test_the_main_job(self):
        start, bound = self.check_the_main_job()

        self.assertIn("--device nvidia.com/gpu=all", shlex.join(start["argv"]))
        self.assertEqual(start["engine"]["store"], "containerd")
        self.assertEqual(bound["observed"]["matches"], "index")

    def test_signals_and_status(self):
        self.check_signals_and_status()

    def test_images_are_kept_and_pruned(self):
        self.check_images_are_kept_and_pruned()

    def test_a_way_that_it_lacks_is_named(self):
        error = self.sparkrun("run", "--json", "--gpu-access", "runtime", "job", code=110).error
        self.assertIn(error["id"], ("engine.runtime_missing", "engine.toolkit_missing"))
        # --gpus is taken by the client; the engine's own refusal is recognised before the job starts.
        error = self.sparkrun("run", "--json", "--gpu-access", "gpus", "job", code=110).error
        self.assertEqual(error["id"], "engine.toolkit_missing")


class Launch(RigTest):
    def test_the_callers_job_writes_the_callers_files(self):
        """Of a user that the image has never heard of, who is in the group of the engine's socket."""
        self.write_job(text='[[mount]]\nsource = "./out"\ntarget = "/out"\ncreate = true\n')
        self.sparkrun("lock", "job")
        uid = 61234
        subprocess.run(["chown", "-R", f"{uid}:{uid}", self.folder], check=True)
        group = os.stat(self.rig["DOCKER_HOST"].removeprefix("unix://")).st_gid
        script = ("import getpass, os, pathlib, tempfile\n"
                  "print('user', getpass.getuser(), os.getuid())\n"
                  "for place in (pathlib.Path.home(), os.environ['HF_HOME'], os.environ['TRITON_CACHE_DIR'],\n"
                  "              os.environ['TORCHINDUCTOR_CACHE_DIR'], os.environ['XDG_CACHE_HOME']):\n"
                  "    os.makedirs(place, exist_ok=True)\n"
                  "    tempfile.TemporaryFile(dir=place).close()\n"
                  "pathlib.Path('/out/checkpoint').write_text('weights')\n")

        done = subprocess.run(["setpriv", f"--reuid={uid}", f"--regid={uid}", f"--groups={group}", BINARY, "run",
                               "--user", "caller", "job", "python3", "-c", script],
                              cwd=self.project, env=self.environment, capture_output=True, text=True, timeout=120)

        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"user {uid} {uid}", done.stdout)
        made = (self.project / "out/checkpoint").stat()
        self.assertEqual((made.st_uid, made.st_gid), (uid, uid))

    def test_the_working_directory_comes_along(self):
        self.write_job()
        self.sparkrun("lock", "job")
        (self.project / "train.py").write_text("import os; print('trained in', os.getcwd())\n")

        result = self.sparkrun("run", "--no-preflight", "--here", "job", "python3", "train.py")

        self.assertIn(f"trained in {self.project}", result.out)

    def test_a_script_that_is_left_behind_is_warned_of_once(self):
        self.write_job()
        self.sparkrun("lock", "job")
        (self.project / "train.py").write_text("")
        warning = "train.py exists here, but no mount carries it"

        first = self.sparkrun("run", "--no-preflight", "job", "python3", "train.py", code=2)
        second = self.sparkrun("run", "--no-preflight", "job", "python3", "train.py", code=2)

        self.assertIn(warning, first.err)
        self.assertNotIn(warning, second.err)

    def test_the_hugging_face_cache_is_the_callers(self):
        self.write_job()
        self.sparkrun("lock", "job")

        self.sparkrun("run", "--no-preflight", "--hf-cache", "job", "sh", "-c", "echo model >$HF_HOME/model")

        self.assertEqual((self.folder / "home/.cache/huggingface/model").read_text(), "model\n")

    def test_docker_may_be_called_with_words_of_ones_own(self):
        """A stand-in for sudo, which drops the environment as sudo does."""
        sudo = self.folder / "sudo"
        sudo.write_text("#!/bin/bash\nkeep=()\nfor word; do case $word in\n"
                        "  --preserve-env=*) for name in ${word#*=}; do keep+=(\"$name=${!name}\"); done; shift ;;\n"
                        "  -n) shift ;;\n  *) break ;;\nesac; done\n"
                        f"exec env -i PATH={shlex.quote(self.rig['PATH'])} DOCKER_HOST={self.rig['DOCKER_HOST']} "
                        f"HOME=/nonexistent \"${{keep[@]}}\" \"$@\"\n")
        sudo.chmod(0o755)
        config = self.folder / "config/sparkrun/config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(f'[engine]\nname = "docker"\ncommand = ["{sudo}", "-n", "docker"]\n')
        self.write_job(head='env_from_host = ["PASSED"]')
        self.sparkrun("lock", "job")

        result = self.sparkrun("run", "--allow", "host-env", "job", "sh", "-c", "echo got $PASSED",
                               environment={"PASSED": "through", "DOCKER_HOST": "unix:///nowhere"})

        self.assertIn("got through", result.out)
        self.assertEqual(self.events(), ["run.start", "run.bound", "run.end"])
        line = self.sparkrun("run", "job", "--dry-run", environment={"PASSED": "x"}).out
        self.assertTrue(line.startswith(f"{sudo} --preserve-env=PASSED -n docker run "), line)

    def test_an_engine_elsewhere_is_told_apart(self):
        """Docker through its client, at an address that is not a socket of this host."""
        self.write_job(text='[[mount]]\nsource = "/absent/here"\ntarget = "/x"\n')
        self.sparkrun("lock", "job")
        script = self.folder / "bin/docker"
        script.parent.mkdir()
        script.write_text("#!/bin/sh\nDOCKER_HOST=%s exec %s/docker \"$@\"\n" % (
            shlex.quote(self.rig["DOCKER_HOST"]), shlex.quote(self.rig["PATH"].split(":")[0])))
        script.chmod(0o755)
        remote = {"DOCKER_HOST": "tcp://192.0.2.1:2376", "PATH": f"{script.parent}:{self.rig['PATH']}"}

        result = self.sparkrun("run", "--dry-run", "--json", "job", environment=remote)

        self.assertTrue(any("tcp://192.0.2.1:2376" in warning and "/absent/here" in warning
                            for warning in result.json["warnings"]), result.json["warnings"])
        self.assertIn("-v", result.json["argv"])

    def test_an_image_that_may_not_fit_is_warned_of_before_it_is_fetched(self):
        self.write_job()
        self.sparkrun("lock", "job")
        lock = self.project / "lockfiles/job.lock"
        text = lock.read_text()
        self.forget_images()
        lines = [f"download_bytes = {10**18}" if line.startswith("download_bytes") else line for line in text.splitlines()]
        lock.write_text("\n".join(lines) + "\n")

        result = self.sparkrun("run", "--no-preflight", "job", "true")

        self.assertIn("it will hardly fit", result.err)

    def test_the_engines_own_refusal_is_explained_before_the_job(self):
        self.write_job()
        self.sparkrun("lock", "job")

        error = self.sparkrun("run", "--json", "--device", "/dev/no-such-device", "job", code=110).error

        self.assertEqual(error["id"], "engine.device_missing")
        self.assertEqual(self.events()[-1], "run.refused")

    def test_a_name_that_is_taken_is_explained(self):
        self.write_job()
        self.sparkrun("lock", "job")
        with self.running("run", "--no-preflight", "--name", "taken", "job", "sleep", "60") as process:
            self.wait_for(lambda: "taken" in self.docker("ps", "--format", "{{.Names}}"))
            self.assertEqual(self.sparkrun("run", "--no-preflight", "--name", "taken", "job", "true", code=125).out, "")
            self.docker("stop", "-t", "0", "taken")
            process.wait(timeout=30)


if __name__ == "__main__":
    unittest.main()
