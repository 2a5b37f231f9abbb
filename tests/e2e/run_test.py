# SPDX-License-Identifier: MIT
"""`sparkrun run`, `preflight` and `audit` with a real engine: the main job and what can go wrong with it."""

import json
import os
import pty
import shlex
import signal
import stat
import subprocess
import unittest

from support import BINARY, RigTest, rig

LATEST = "unsloth/unsloth:dgxspark-latest"
IMAGE = "unsloth/unsloth"


class Run(RigTest):
    def setUp(self):
        super().setUp()
        self.write_job()
        self.sparkrun("lock", "job")

    # The main job.

    def test_output_and_exit_status_of_the_container_pass_through(self):
        for status in (0, 1, 7, 126, 255):
            with self.subTest(status):
                result = self.sparkrun("run", "job", "sh", "-c", f"echo out; echo err >&2; exit {status}", code=status)
                self.assertTrue(result.out.endswith("out\n"), result.out)
                self.assertIn("err\n", result.err)

    def test_the_job_sees_the_gpu_and_its_own_identity(self):
        result = self.sparkrun("run", "job", "python3", "-c",
                               "import os, torch; print(torch.cuda.is_available(), os.environ['SPARKRUN_IMAGE_DIGEST'])")

        self.assertIn(f"True {self.digest(IMAGE, 'dgxspark-latest')}", result.out)

    def test_a_moved_tag_changes_nothing(self):
        self.addCleanup(rig, "up")
        pinned = self.digest(IMAGE, "dgxspark-latest")
        rig("tag", IMAGE, "dgxspark-next", "dgxspark-latest")

        result = self.sparkrun("run", "job", "sh", "-c", "echo $SPARKRUN_IMAGE_DIGEST")

        self.assertIn(pinned, result.out)

    def test_records_start_bound_and_end_in_a_chain(self):
        self.sparkrun("run", "job", "true")

        start, bound, end = self.records()
        self.assertEqual([start["event"], bound["event"], end["event"]], ["run.start", "run.bound", "run.end"])
        self.assertEqual(start["image"]["index"], self.digest(IMAGE, "dgxspark-latest"))
        self.assertEqual(start["image"]["pin"], "lock")
        self.assertEqual(start["preflight"]["verdict"], "ready")
        self.assertEqual(len(bound["container"]), 64)
        self.assertEqual(end["exit"], 0)
        self.sparkrun("audit", "verify")

    def test_the_start_is_durable_before_the_container_runs(self):
        mount = self.folder / "state"
        (mount / "sparkrun").mkdir(parents=True)

        result = self.sparkrun("run", "job", "-v", f"{mount}:/state:ro", "sh", "-c",
                               "cat /state/sparkrun/audit/*/*/*.jsonl")

        self.assertIn('"event":"run.start"', result.out)

    def test_an_edited_ledger_is_named_with_its_line(self):
        self.sparkrun("run", "job", "true")
        file = next(self.folder.glob("state/sparkrun/audit/*/*/*.jsonl"))
        file.write_text(file.read_text().replace('"run.start"', '"run.stort"'))

        result = self.sparkrun("audit", "verify", code=9)

        self.assertIn(f"{file}:1", result.err)

    def test_audit_finds_the_run(self):
        self.sparkrun("run", "job", "sh", "-c", "exit 3", code=3)

        listed = self.sparkrun("audit", "ls", "--json").json
        shown = self.sparkrun("audit", "show", "^1", "--json").json

        self.assertEqual(len(listed), 1)
        self.assertEqual(shown["exit"], 3)
        self.assertEqual([event["event"] for event in shown["events"]], ["run.start", "run.bound", "run.end"])
        self.sparkrun("audit", "show", listed[0]["run"][:8])
        self.sparkrun("audit", "show", "01ZZZZ", code=1)

    def test_the_dry_run_pasted_into_a_shell_does_the_same(self):
        line = self.sparkrun("run", "job", "--dry-run", "-e", "WORD=it's \"q\" $HOME", "sh", "-c", 'echo "$WORD"').out

        done = subprocess.run(["sh", "-c", line], env=self.environment, capture_output=True, text=True, check=True)

        self.assertTrue(done.stdout.endswith("it's \"q\" $HOME\n"), done.stdout)

    def test_the_dry_run_as_json_is_the_argv(self):
        plan = self.sparkrun("run", "job", "--dry-run", "--json", "true").json

        self.assertEqual(plan["argv"][:2], ["docker", "run"])
        self.assertEqual(plan["argv"][-1], "true")
        self.assertEqual(plan["image"]["index"], self.digest(IMAGE, "dgxspark-latest"))
        line = self.sparkrun("run", "job", "--dry-run", "true").out
        self.assertEqual(shlex.split(line), plan["argv"])
        self.assertEqual(self.records(), [])

    def test_an_image_instead_of_a_profile_is_pinned_and_remembered(self):
        self.addCleanup(rig, "up")
        pinned = self.digest(IMAGE, "dgxspark-latest")

        self.sparkrun("run", f"{self.registry}/{LATEST}", "true")
        rig("tag", IMAGE, "dgxspark-next", "dgxspark-latest")
        again = self.sparkrun("run", f"{self.registry}/{LATEST}", "sh", "-c", "echo $SPARKRUN_IMAGE_DIGEST")
        latest = self.sparkrun("run", "--latest", f"{self.registry}/{LATEST}", "sh", "-c", "echo $SPARKRUN_IMAGE_DIGEST")

        self.assertIn(pinned, again.out)
        self.assertIn(self.digest(IMAGE, "dgxspark-next"), latest.out)

    def test_an_image_by_digest_satisfies_locked(self):
        self.sparkrun("run", "--locked", f"{self.registry}/{IMAGE}@{self.digest(IMAGE, 'dgxspark-next')}", "true")

        self.assertEqual(self.records()[0]["image"]["pin"], "digest")

    def test_a_mount_source_is_created_as_the_caller(self):
        self.write_job("mounted", text='[[mount]]\nsource = "./out"\ntarget = "/out"\ncreate = true\n')
        self.sparkrun("lock", "mounted")

        self.sparkrun("run", "mounted", "--dry-run")
        self.assertFalse((self.project / "out").exists())
        self.sparkrun("run", "mounted", "sh", "-c", "echo kept > /out/file")

        self.assertEqual((self.project / "out/file").read_text(), "kept\n")
        self.assertEqual((self.project / "out").stat().st_uid, os.getuid())

    def test_a_host_variable_travels_by_name_only(self):
        secret = "s3cr3t-value-of-the-test"
        environment = {"WANDB_API_KEY": secret}

        result = self.sparkrun("run", "job", "-e", "WANDB_API_KEY", "sh", "-c", "echo ${#WANDB_API_KEY}",
                               environment=environment)

        self.assertIn(str(len(secret)), result.out)
        for file in self.folder.rglob("*"):
            if file.is_file():
                self.assertNotIn(secret, file.read_text(errors="replace"), file)
        self.assertIn("WANDB_API_KEY", json.dumps(self.records()[0]["env"]))

    # Signals and terminals.

    def start_sleeper(self, trap):
        """A job that says when it is ready, and what it does about a signal."""
        return self.running("run", "--quiet", "job", "sh", "-c", f"trap '{trap}' INT TERM; echo ready; "
                            "while :; do sleep 0.1; done")

    def wait_until_ready(self, process):
        for line in process.stdout:
            if line == "ready\n":
                return
        self.fail("the job did not start: " + process.stderr.read())

    def test_signals_reach_the_container(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number), self.start_sleeper("echo caught; exit 5") as process:
                self.wait_until_ready(process)
                process.send_signal(number)
                out, _ = process.communicate(timeout=30)
                self.assertEqual((process.returncode, out), (5, "caught\n"))
                self.assertEqual(self.events()[-1], "run.end")

    def test_a_job_that_ignores_signals_is_stopped_and_nothing_is_left(self):
        with self.start_sleeper(":") as process:
            self.wait_until_ready(process)
            for _ in range(3):
                process.send_signal(signal.SIGTERM)
                # Two pending signals of a kind are one: wait until it was taken.
                self.wait_for(lambda: "0000000000000000" in self.pending(process.pid))
            process.communicate(timeout=30)
        self.assertEqual(process.returncode, 137)
        self.assertEqual(self.docker("ps", "-aq"), "")
        self.assertEqual(self.records()[-1]["exit"], 137)

    @staticmethod
    def pending(pid):
        with open(f"/proc/{pid}/status", encoding="utf-8") as status:
            return next(line for line in status if line.startswith("ShdPnd"))

    def test_an_interrupt_before_the_job_leaves_no_probe_container(self):
        with self.running("run", "job", "true") as process:
            self.wait_for(lambda: "sparkrun-probe" in self.docker("ps", "-a", "--format", "{{.Names}}"))
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130)
        self.wait_for(lambda: self.docker("ps", "-aq") == "")

    def test_a_terminal_is_given_only_where_there_is_one(self):
        self.assertNotIn("-t", shlex.split(self.sparkrun("run", "job", "--dry-run").out))
        master, slave = pty.openpty()
        line = subprocess.run([BINARY, "run", "job", "--quiet", "tty"], cwd=self.project, env=self.environment,
                              stdin=slave, stdout=slave, stderr=subprocess.PIPE, timeout=60, check=False)
        os.close(slave)
        shown = os.read(master, 65536).decode()
        os.close(master)

        self.assertIn("/dev/pts/", shown, line.stderr)

    def test_standard_input_reaches_the_job(self):
        result = self.sparkrun("run", "--quiet", "job", "cat", input="through\n")

        self.assertIn("through\n", result.out)

    def test_closed_streams_are_not_taken_by_something_else(self):
        script = f"{shlex.quote(str(BINARY))} run --quiet --status-file end.json job sh -c 'echo hi; exit 4' <&- >&- 2>&-"

        done = subprocess.run(["sh", "-c", script], cwd=self.project, env=self.environment, timeout=60, check=False)

        self.assertEqual(done.returncode, 4)
        self.assertEqual(json.loads((self.project / "end.json").read_text())["origin"], "container")

    # Refusals: own error, own code (100 + code), recorded, nothing started.

    def refuse(self, error, code, *words, **options):
        result = self.sparkrun("run", "--json", *words, code=code, **options)
        self.assertEqual(result.error["id"], error, result.err)
        self.assertTrue(result.error["hint"])
        return result.error

    def test_usage_and_names(self):
        self.refuse("usage.unknown_option", 102, "--lockd", "job")
        self.assertIn("job", self.refuse("profile.unknown", 104, "jbo")["message"])
        self.refuse("reference.malformed", 102, "Bad/Name:x:y")

    def test_faulty_profiles(self):
        self.write_profile("typo", text='imag = "x"\n[container]\nipcc = "host"')
        error = self.refuse("profile.invalid", 104, "typo")
        self.assertEqual(len(error["details"]["problems"]), 2)
        self.assertIn("typo.toml:4:1", error["details"]["problems"][0])
        self.assertIn("did you mean `image`", error["details"]["problems"][0])

    def test_stale_and_missing_locks(self):
        self.write_job(image=f"{self.registry}/{IMAGE}:dgxspark-next")
        self.refuse("lock.stale", 103, "job")
        self.write_job("unlocked")
        self.refuse("lock.missing", 104, "--locked", "unlocked")
        self.assertIn("CI", self.refuse("lock.missing", 104, "unlocked", environment={"CI": "true"})["message"])
        self.refuse("registry.offline", 105, "--offline", "unlocked")
        (self.project / "lockfiles/job.lock").write_text("<<<<<<< a\n")
        self.refuse("lock.conflict", 104, "job")

    def test_images_that_cannot_be_had(self):
        self.refuse("registry.not_found", 106, f"{self.registry}/{IMAGE}:none")
        self.refuse("registry.platform_missing", 108, f"{self.registry}/nvidia/pytorch:foreign-only")

    def test_no_engine(self):
        self.refuse("engine.unreachable", 110, "job", environment={"DOCKER_HOST": f"unix://{self.folder}/none"})
        self.refuse("engine.unreachable", 110, "job", environment={"DOCKER_HOST": "tcp://127.0.0.1:1"})
        self.sparkrun("run", "job", "--dry-run", environment={"DOCKER_HOST": f"unix://{self.folder}/none"})

    def test_no_docker_client(self):
        self.docker("pull", f"{self.registry}/{IMAGE}@{self.digest(IMAGE, 'dgxspark-latest')}")
        empty = self.folder / "bin"
        empty.mkdir()

        self.refuse("engine.missing", 110, "--no-preflight", "job", "true", environment={"PATH": str(empty)})

    def test_a_gpu_access_that_the_engine_lacks(self):
        self.refuse("engine.cdi_missing", 110, "--gpu-access", "cdi", "job")

    def test_words_for_the_gpu_that_contradict_each_other(self):
        for words in (["--gpus", "none", "--gpu-access", "gpus"], ["--gpus", "none", "--gpu-access", "auto"],
                      ["--runtime", "nvidia", "--gpu-access", "runtime"], ["--runtime", "nvidia", "--gpu-access", "none"],
                      ["--runtime", "nvidia", "--gpus", "none"], ["--runtime", "runc", "--gpu-access", "runtime+gpus"],
                      ["--runtime", "runc", "--gpu-access", "auto"], ["--runtime", "runc"]):
            with self.subTest(words):
                self.refuse("usage.bad_value", 102, *words, "job", "true")
        self.assertEqual(self.events(), [])

    def test_words_for_the_gpu_that_go_together(self):
        for words, wanted in ((["--gpus", "none"], []), (["--gpus", "none", "--gpu-access", "none"], []),
                              (["--gpus", "device=0"], ["--runtime=nvidia", "--gpus", "device=0"]),
                              (["--runtime", "nvidia"], ["--runtime=nvidia"]),
                              (["--runtime", "nvidia", "--gpus", "all"], ["--runtime=nvidia", "--gpus", "all"]),
                              (["--runtime", "nvidia", "--runtime", "runc", "--gpus", "all"],
                               ["--gpus", "all", "--runtime=runc"]),
                              (["--runtime", "runc", "--gpus", "none"], ["--runtime=runc"]),
                              (["--runtime", "runc", "--gpu-access", "gpus"], ["--gpus", "all", "--runtime=runc"])):
            with self.subTest(words):
                argv = self.sparkrun("run", "--dry-run", "--json", *words, "job", "true").json["argv"]
                self.assertEqual([word for before, word in zip(argv, argv[1:])
                                  if before == "--gpus" or word.startswith(("--gpus", "--runtime"))], wanted, argv)

    def test_mounts_in_dockers_long_form(self):
        (self.project / "data").mkdir()
        (self.project / "data/file").write_text("of the host")
        mount = ["--mount", "type=bind,src=./data,dst=/data,readonly"]

        result = self.sparkrun("run", "--no-preflight", *mount, "--mount", "type=tmpfs,dst=/scratch", "job", "sh", "-c",
                               "cat /data/file; touch /scratch/x && ! touch /data/x")

        self.assertTrue(result.out.endswith("of the host"), result.out)
        planned = self.sparkrun("run", "--dry-run", "--json", *mount, "-v", "cache:/data", "job").json
        self.assertIn("cache:/data", planned["argv"])
        self.assertNotIn(f"{self.project}/data:/data:ro", planned["argv"])
        self.assertTrue(any("mounted twice" in warning for warning in planned["warnings"]), planned)

    def test_mounts_that_are_none(self):
        self.refuse("usage.bad_value", 102, "--mount", 'type=bind,"src=./data,dst=/data', "job", "true")
        self.refuse("usage.bad_value", 102, "-v", "data", "job", "true")
        self.refuse("mount.missing", 104, "--mount", "type=bind,src=./none,dst=/x", "job", "true")
        # Words that are the engine's alone to judge: it does.
        self.sparkrun("run", "--no-preflight", "--mount", "type=bind,src=./data", "job", "true", code=125)

    def test_missing_mounts_and_variables(self):
        self.write_job("mounted", text='[[mount]]\nsource = "./none"\ntarget = "/x"\n')
        self.sparkrun("lock", "mounted")
        self.refuse("mount.missing", 104, "mounted")
        self.refuse("env.missing", 104, "-e", "NO_SUCH_VARIABLE", "job")

    def test_other_content_than_the_lock_says(self):
        lock = self.project / "lockfiles/job.lock"
        wrong = "sha256:" + "1" * 64
        lines = [f'config = "{wrong}"' if line.startswith("config") else line for line in lock.read_text().splitlines()]
        lock.write_text("\n".join(lines) + "\n")

        self.refuse("engine.other_content", 112, "job", "true")

        self.assertEqual(self.events(), ["run.refused"])

    def test_a_project_may_not_silently_ask_for_more(self):
        self.write_job("greedy", head="", text="", image=None)
        path = self.project / "profiles/greedy.toml"
        path.write_text(path.read_text().replace('ipc = "host"', 'ipc = "host"\npid = "host"'))
        self.sparkrun("lock", "greedy")

        error = self.refuse("trust.not_allowed", 104, "greedy", "true")
        self.assertIn("--allow host-pid", error["hint"])
        planned = self.sparkrun("run", "--dry-run", "--json", "greedy", "true").json
        self.assertTrue(any("host-pid" in warning for warning in planned["warnings"]), planned)
        self.sparkrun("run", "--allow", "host-pid", "greedy", "true")

    def test_a_ledger_that_cannot_be_written_stops_the_run(self):
        (self.folder / "state/sparkrun").mkdir(parents=True)
        (self.folder / "state/sparkrun/audit").write_text("in the way")

        self.refuse("ledger.unwritable", 109, "job", "true")
        self.sparkrun("run", "job", "true", environment={"SPARKRUN_AUDIT": "best-effort"})

    def test_status_file_tells_whose_code_it_was(self):
        status = self.folder / "status.json"
        cases = [(["job", "sh", "-c", "exit 3"], "container", 3, None),
                 (["nosuch"], "sparkrun", 104, "profile.unknown"),
                 (["job", "no-such-program"], "container", 127, None),
                 # The engine makes the container and cannot start it.
                 (["--no-preflight", "--ulimit", "nofile=1:1", "job", "true"], "engine", 125, None)]
        for words, origin, code, error in cases:
            with self.subTest(words):
                self.sparkrun("run", "--status-file", str(status), *words, code=code)
                written = json.loads(status.read_text())
                self.assertEqual((written["exit"], written["error"]), (code, error))
                self.assertEqual(written["origin"], origin)
                self.assertEqual(stat.S_IMODE(status.stat().st_mode) & 0o600, 0o600)


class Preflight(RigTest):
    def test_cuda_12_is_blocked_with_name_and_fix_and_recorded(self):
        self.write_job(image=f"{self.registry}/nvidia/pytorch:25.09-cuda12")
        self.sparkrun("lock", "job")

        error = self.sparkrun("run", "--json", "job", "true", code=111).error

        self.assertEqual(error["id"], "preflight.blocked")
        self.assertTrue(any(problem.startswith("G1: ") for problem in error["details"]["problems"]), error)
        self.assertEqual(self.events(), ["run.refused"])
        self.sparkrun("run", "--no-preflight", "job", "true")
        self.assertEqual(self.records()[1]["preflight"]["verdict"], "not checked")

    def test_a_leftover_cudart_12_is_a_warning(self):
        self.write_job(image=f"{self.registry}/nvidia/pytorch:25.09-both")
        self.sparkrun("lock", "job")

        report = self.sparkrun("preflight", "job", "--json").json

        self.assertTrue(report["checks"]["G1"].startswith("warn"), report)
        self.assertEqual(report["verdict"], "ready-with-warnings")

    def test_missing_device_nodes_are_the_cause_that_is_named(self):
        self.addCleanup(rig, "gpu", "on")
        self.write_job()
        self.sparkrun("lock", "job")
        rig("gpu", "off")

        error = self.sparkrun("run", "--json", "job", "true", code=111).error

        self.assertTrue(any(problem.startswith("gpu: ") for problem in error["details"]["problems"]), error)

    def test_a_hidden_device_is_the_cause_that_is_named(self):
        self.write_job(text='\n[env]\nCUDA_VISIBLE_DEVICES = ""\n')
        self.sparkrun("lock", "job")

        report = self.sparkrun("preflight", "job", "--json", code=11).json

        self.assertIn("CUDA_VISIBLE_DEVICES", report["checks"]["gpu"])

    def test_a_job_without_gpu_is_not_judged_for_one(self):
        self.write_profile("small", f"{self.registry}/small:1", '[gpu]\naccess = "none"')
        self.sparkrun("lock", "small")

        report = self.sparkrun("preflight", "small", "--json").json

        self.assertTrue(report["checks"]["gpu"].startswith("skip"), report)

    def test_another_platform_is_refused_before_it_fails(self):
        foreign = "arm64" if os.uname().machine == "x86_64" else "amd64"
        self.write_job(platforms=[f"linux/{foreign}"])
        self.sparkrun("lock", "job")

        error = self.sparkrun("run", "--json", "job", "true", code=111).error

        self.assertTrue(any(problem.startswith("platform: ") for problem in error["details"]["problems"]), error)

    def test_the_report_is_written_and_the_host_alone_can_be_checked(self):
        report = self.folder / "env-report.json"

        self.sparkrun("preflight", "--host", "--report", str(report))

        written = json.loads(report.read_text())
        self.assertEqual(written["platform"], "dgx-spark")
        self.assertEqual(written["checks"]["engine"], "pass")

    def test_no_engine_is_a_report_not_a_crash(self):
        result = self.sparkrun("preflight", "--json", code=11,
                               environment={"DOCKER_HOST": f"unix://{self.folder}/none"})

        self.assertTrue(result.json["checks"]["engine"].startswith("fail"))


if __name__ == "__main__":
    unittest.main()
