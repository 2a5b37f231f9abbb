# SPDX-License-Identifier: MIT
"""Runs in the background: who stays with them, how others come back to them, and what is left when somebody is killed."""

import os
import pathlib
import pty
import signal
import subprocess
import unittest

from support import BINARY, RigTest


class Background(RigTest):
    def setUp(self):
        super().setUp()
        self.write_job()
        self.sparkrun("lock", "job")

    def tearDown(self):
        for process in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = process.read_bytes().split(b"\0")
                environment = (process.parent / "environ").read_bytes()
            except OSError:
                continue
            if b"__wait" in words and str(self.folder).encode() in environment:
                self.addCleanup(self.fail, f"a waiter was left behind: {process.parent.name}")
                os.kill(int(process.parent.name), signal.SIGKILL)
        super().tearDown()

    def start(self, script, *options, code=0):
        return self.sparkrun("run", "--no-preflight", "--detach", *options, "job", "sh", "-c", script, code=code).out.strip()

    def ended(self, run):
        """Waits for the record of its end; its exit."""
        def end():
            return [record for record in self.records() if record["event"] == "run.end" and record["run"] == run]
        code = self.wait_for(end)[0]["exit"]
        # What is removed with it is saved first, and both come after the record.
        self.wait_for(lambda: run not in [entry["run"] for entry in self.sparkrun("ps", "--all", "--json").json])
        return code

    def test_a_run_in_the_background_from_start_to_end(self):
        run = self.start("echo begun; while [ ! -e /tmp/end ]; do sleep 0.1; done; echo ended; exit 5")

        listed = self.sparkrun("ps", "--json").json
        self.assertEqual([(entry["run"], entry["profile"], entry["status"], entry["kept_by"]) for entry in listed],
                         [(run, "job", "running", "waiter")])
        self.wait_for(lambda: "begun" in self.sparkrun("logs", "job").out)
        self.assertEqual(self.sparkrun("shell", "^1", "sh", "-c", "touch /tmp/end; exit 3", code=3).out, "")
        self.sparkrun("wait", run[:8], code=5)

        self.assertEqual(self.events(), ["run.start", "run.bound", "run.exec", "run.end"])
        self.assertIn("ended\n", self.sparkrun("logs", run).out, "saved before the container was removed")
        self.assertEqual(self.sparkrun("ps", "--json").json, [])
        self.sparkrun("wait", run, code=5)
        self.sparkrun("audit", "verify")

    def test_stop_ends_it_and_the_waiter_records_it(self):
        run = self.start("trap 'exit 9' TERM; while :; do sleep 0.1; done")

        self.assertIn(f"{run}: stopped", self.sparkrun("stop").out)

        self.assertEqual(self.ended(run), 9)
        self.assertEqual(self.sparkrun("--json", "stop", code=1).error["id"], "run.none")

    def test_a_job_whose_time_is_over(self):
        run = self.start("sleep 600", "--timeout", "1s")

        self.assertEqual(self.ended(run), 124)
        self.sparkrun("run", "--no-preflight", "--timeout", "1s", "job", "sh", "-c",
                      "trap 'exit 0' TERM; while :; do sleep 0.1; done", code=124)

    def test_several_are_asked_for_by_name(self):
        runs = [self.start("sleep 600") for _ in range(3)]

        error = self.sparkrun("--json", "stop", code=2).error
        self.assertEqual(error["id"], "usage.which_run")
        for run in runs:
            self.assertIn(run, str(error))
        self.sparkrun("stop", "--all", "--time", "0")
        for run in runs:
            self.assertEqual(self.ended(run), 137)

    def test_what_the_engine_refuses_leaves_nothing(self):
        self.start("true", "--device", "/dev/no-such-device", code=110)

        self.assertEqual(self.events()[-1], "run.refused")
        self.assertEqual(list((self.folder / "state/sparkrun/runs").iterdir()), [])

    def test_a_name_that_is_taken_is_left_to_its_owner(self):
        self.docker("run", "--detach", "--rm", "--name", "mine", "--entrypoint", "sleep",
                    f"{self.registry}/unsloth/unsloth:dgxspark-latest", "600")

        self.start("true", "--name", "mine", code=110)

        self.assertEqual(self.docker("ps", "--format", "{{.Names}}").split(), ["mine"])
        self.docker("stop", "--time", "0", "mine")
        self.wait_for(lambda: not self.docker("ps", "-a", "-q").strip())

    def test_a_killed_waiter_leaves_a_run_that_the_next_command_names(self):
        run = self.start("sleep 600")
        waiter = next(process.parent.name for process in pathlib.Path("/proc").glob("[0-9]*/cmdline")
                      if run.encode() in process.read_bytes() and b"__wait" in process.read_bytes())
        os.kill(int(waiter), signal.SIGKILL)
        self.wait_for(lambda: self.sparkrun("ps", "--json").json[0]["kept_by"] == "nobody")

        result = self.sparkrun("run", "--no-preflight", "job", "true")

        self.assertIn(f"run {run} (running) has no sparkrun any more; `sparkrun stop {run}`", result.err)
        self.sparkrun("stop", "--time", "0", run)
        self.assertEqual(self.ended(run), 137)

    def test_a_killed_sparkrun_leaves_a_run_that_the_next_command_names(self):
        with self.running("run", "--no-preflight", "--name", "left", "job", "sleep", "600") as process:
            self.wait_for(lambda: "left" in self.docker("ps", "--format", "{{.Names}}"))
            process.kill()
            process.wait()
        run = self.sparkrun("ps", "--json").json[0]
        self.assertEqual(run["kept_by"], "nobody")

        self.sparkrun("stop", "--time", "0", "left")

        self.wait_for(lambda: not self.docker("ps", "-a", "-q").strip())
        self.assertEqual(list((self.folder / "state/sparkrun/runs").iterdir()), [])
        self.sparkrun("run", "--no-preflight", "job", "true")

    def test_the_waiter_has_neither_terminal_nor_streams(self):
        leader, follower = pty.openpty()
        with self.running("run", "--no-preflight", "--detach", "job", "sleep", "2", stdin=follower,
                          stdout=subprocess.PIPE) as process:
            os.close(follower)
            run = process.communicate(timeout=60)[0].strip()  # nobody holds the pipe open
        os.close(leader)

        self.assertEqual(self.ended(run), 0)

    def test_twenty_at_once(self):
        runs = set()
        processes = [subprocess.Popen([BINARY, "run", "--no-preflight", "--detach", "job", "sleep", "1"], cwd=self.project,
                                      env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
                     for _ in range(20)]
        for process in processes:
            runs.add(process.communicate(timeout=110)[0].strip())

        self.assertEqual(len(runs), 20)
        for run in runs:
            self.assertEqual(self.ended(run), 0)
        self.sparkrun("audit", "verify")


if __name__ == "__main__":
    unittest.main()
