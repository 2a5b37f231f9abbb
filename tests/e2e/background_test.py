# SPDX-License-Identifier: MIT
"""Runs in the background: who stays with them, how others come back to them, and what is left when somebody is killed."""

import contextlib
import http.server
import json
import os
import pathlib
import pty
import signal
import socket
import subprocess
import threading
import time
import unittest

from support import BINARY, RigTest


class Health(http.server.BaseHTTPRequestHandler):
    """Answers with a status that a test sets."""
    status = 200

    def do_GET(self):
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *words):
        pass


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

    def waiter(self, run):
        """Its process id."""
        return self.wait_for(lambda: found[0] if len(found := self.left_behind("__wait", run)) == 1 else None)

    def left_behind(self, verb, run):
        """Process ids of those that were left behind for a run; a child that is about to become another program looks like one."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                words = process.read_bytes().split(b"\0")
                if verb.encode() in words and run.encode() in words:
                    found.append(int(process.parent.name))
        return found

    def test_a_killed_waiter_is_replaced_by_the_next_command(self):
        run = self.start("while [ ! -e /tmp/end ]; do sleep 0.1; done; exit 5")
        os.kill(self.waiter(run), signal.SIGKILL)
        self.wait_for(lambda: not self.left_behind("__wait", run))

        result = self.sparkrun("run", "--no-preflight", "job", "true")

        self.assertIn(f"run {run} (running) had no waiter any more; it has one again", result.err)
        self.sparkrun("shell", run, "touch", "/tmp/end")
        self.assertEqual(self.ended(run), 5)
        self.assertEqual([record["event"] for record in self.records() if record["run"] == run],
                         ["run.start", "run.bound", "run.exec", "run.end"])

    def test_what_ended_while_nobody_looked_is_closed_by_the_next_command(self):
        run = self.start("echo last words; while [ ! -e /tmp/end ]; do sleep 0.1; done; exit 5")
        os.kill(self.waiter(run), signal.SIGKILL)
        self.docker("exec", self.docker("ps", "-q").strip(), "touch", "/tmp/end")
        self.wait_for(lambda: not self.docker("ps", "-q").strip())

        self.sparkrun("ps")

        self.assertEqual(self.ended(run), 5)
        self.assertTrue(self.sparkrun("logs", run).out.endswith("last words\n"))

    # Readiness.

    def write_server(self, ready):
        self.write_job("server", text=f"[ready]\n{ready}\n")
        self.sparkrun("lock", "server")

    def serve(self, script, *options, code=0):
        return self.sparkrun("--json", "run", "--no-preflight", "--wait", *options, "server", "sh", "-c", script, code=code)

    def answer(self, status, port=0):
        """A server on loopback, until the test ends, that answers so; its port."""
        Health.status = status
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Health)
        self.addCleanup(server.server_close)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        return server.server_port

    def test_wait_returns_when_the_line_has_come(self):
        self.write_server("log = '^listening on port \\d+$'")

        run = self.serve("echo loading; sleep 1; echo listening on port 8000 >&2; sleep 600").out.strip()

        self.assertIn("listening", self.sparkrun("logs", run).out + self.sparkrun("logs", run).err)
        self.assertEqual(self.sparkrun("ps", "--json").json[0]["ready"], True)
        ready = next(record for record in self.records() if record["event"] == "run.ready")
        self.assertEqual(ready["run"], run)
        self.assertGreater(ready["after_ms"], 0)
        self.sparkrun("stop", "--time", "0")
        self.assertEqual(self.ended(run), 137)

    def test_wait_returns_when_the_server_answers(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.write_server(f'http = "http://127.0.0.1:{port}/health"')
        self.answer(503, port)
        with self.running("run", "--no-preflight", "--wait", "server", "sleep", "600") as process:
            self.wait_for(lambda: [entry["ready"] for entry in self.sparkrun("ps", "--json").json] == [False])
            self.assertIsNone(process.poll())
            Health.status = 200
            run = process.stdout.read().strip()
            self.assertEqual(process.wait(timeout=30), 0)
        self.sparkrun("stop", "--time", "0", run)
        self.assertEqual(self.ended(run), 137)

    def test_wait_fails_at_once_when_the_job_dies_first(self):
        self.write_server('log = "never"\ntimeout = "10m"')

        start = time.monotonic()
        result = self.serve("for line in $(seq 30); do echo line $line; done; exit 3", "--status-file", "status.json", code=101)

        self.assertLess(time.monotonic() - start, 30)
        self.assertEqual(result.error["id"], "run.ended_early")
        self.assertIn("exit 3", result.error["message"])
        self.assertEqual(result.error["details"]["problems"], [f"line {line}" for line in range(11, 31)])
        run = result.out.strip()
        self.assertEqual(self.ended(run), 3)
        status = json.loads((self.project / "status.json").read_text())
        self.assertEqual((status["origin"], status["exit"], status["run"]), ("container", 3, run))

    def test_who_answers_before_the_job_is_no_job(self):
        port = self.answer(200)
        self.write_server(f'http = "http://127.0.0.1:{port}/"')

        self.assertEqual(self.serve("true", code=101).error["id"], "run.answered_already")
        self.assertEqual(self.events(), ["run.refused"])
        result = self.sparkrun("run", "--no-preflight", "server", "true")
        self.assertIn("whether the job is ready cannot be told", result.err)

    def test_who_stops_waiting_leaves_the_run(self):
        self.write_server('log = "never"')
        with self.running("run", "--no-preflight", "--wait", "--status-file", "status.json", "server", "sleep", "600") as process:
            run = process.stdout.readline().strip()
            process.send_signal(signal.SIGINT)
            errors = process.stderr.read()
            self.assertEqual(process.wait(timeout=20), 130)
        self.assertIn(f"run {run} goes on: `sparkrun stop {run}` ends it", errors)
        self.assertFalse((self.project / "status.json").exists())
        self.sparkrun("stop", "--time", "0", run)
        self.assertEqual(json.loads((self.project / "status.json").read_text())["exit"], 137)

    def test_a_job_whose_waiter_is_killed_does_not_pass_for_late(self):
        self.write_server('log = "never"\ntimeout = "10m"')
        with self.running("run", "--no-preflight", "--wait", "server", "sh", "-c", "sleep 2; exit 3") as process:
            run = process.stdout.readline().strip()
            os.kill(self.waiter(run), signal.SIGKILL)
            self.assertEqual(process.wait(timeout=30), 101)
            self.assertIn("ended before it was ready", process.stderr.read())
        self.sparkrun("wait", run, code=3)  # by another waiter

    def test_what_was_printed_is_there_as_soon_as_stop_returns(self):
        run = self.start("echo important; sleep 600")
        self.wait_for(lambda: "important" in self.sparkrun("logs", run).out)

        self.sparkrun("stop", "--time", "0", run)

        self.assertIn("important", self.sparkrun("logs", run).out)
        self.assertIn("important", self.sparkrun("logs", "^1").out)
        self.sparkrun("wait", "^1", code=137)

    def test_words_that_mean_no_run(self):
        run = self.start("sleep 600")

        self.assertEqual(self.sparkrun("--json", "stop", "", code=2).error["id"], "usage.which_run")
        self.assertEqual(self.sparkrun("--json", "stop", "--all", "job", code=2).error["id"], "usage.bad_value")
        self.assertEqual(self.sparkrun("--json", "stop", "other", code=1).error["id"], "run.none")
        elsewhere = {"XDG_STATE_HOME": str(self.folder / "elsewhere")}
        self.assertEqual(self.sparkrun("ps", "--json", environment=elsewhere).json[0]["kept_by"], "unknown")
        self.sparkrun("stop", "--all", environment=elsewhere)
        self.assertEqual(self.sparkrun("ps", "--json").json[0]["run"], run)
        self.sparkrun("stop", "--time", "0", run)

    def test_another_engine_does_not_make_a_run_forgotten(self):
        run = self.start("while [ ! -e /tmp/end ]; do sleep 0.1; done; exit 5")
        os.kill(self.waiter(run), signal.SIGKILL)

        self.sparkrun("ps", environment={"DOCKER_HOST": self.rig["SPARKRUN_RIG_DOCKER2_HOST"]})

        self.assertIn("it has one again", self.sparkrun("ps").err)
        self.sparkrun("shell", run, "touch", "/tmp/end")
        self.sparkrun("wait", run, code=5)

    def test_a_run_that_started_is_no_refusal(self):
        with open("/dev/full", "w") as full, self.running("run", "--no-preflight", "--detach", "job", "sleep", "1", stdout=full) as process:
            self.assertIn("goes on", process.stderr.read())
            self.assertEqual(process.wait(timeout=30), 104)
        self.wait_for(lambda: self.events() == ["run.start", "run.bound", "run.end"])
        self.wait_for(lambda: not self.docker("ps", "-aq").strip())

    def test_a_status_file_without_a_folder_is_refused_before_the_start(self):
        self.start("true", "--status-file", "no/such/folder/status.json", code=104)

        self.assertEqual(self.events(), ["run.refused"])

    def test_wait_gives_up_on_a_job_that_is_late_and_leaves_it(self):
        self.write_server('log = "never"\ntimeout = "1s"')

        result = self.serve("sleep 600", code=101)

        self.assertEqual(result.error["id"], "run.not_ready")
        listed = self.sparkrun("ps").out
        self.assertRegex(listed, r"running +late ")
        self.sparkrun("stop", "--time", "0")
        self.ended(result.out.strip())

    def test_wait_needs_to_know_for_what(self):
        self.assertEqual(self.sparkrun("--json", "run", "--wait", "job", "true", code=102).error["id"], "usage.bad_value")
        self.assertEqual(self.records(), [])

    def test_a_run_in_front_is_watched_too(self):
        self.write_server('log = "ready"')
        with self.running("run", "--no-preflight", "server", "sh", "-c", "echo ready; sleep 600") as process:
            self.wait_for(lambda: [entry["ready"] for entry in self.sparkrun("ps", "--json").json] == [True])
            process.terminate()
            process.wait(timeout=60)
        self.wait_for(lambda: not list((self.folder / "state/sparkrun/runs").iterdir()))

    # What ps tells.

    def test_ps_says_memory_and_who_else_has_the_gpu(self):
        run = self.start("sleep 600")
        image = f"{self.registry}/unsloth/unsloth:dgxspark-latest"
        for name, words in (("foreign", ["--gpus", "all"]), ("plain", [])):
            self.docker("run", "--detach", "--rm", "--name", name, *words, "--entrypoint", "sleep", image, "600")

        self.assertEqual([entry["run"] for entry in self.sparkrun("ps", "--json").json], [run])
        entries = {entry["container"]: entry for entry in self.sparkrun("ps", "--all", "--json").json}

        self.assertEqual(len(entries), 2, "neither ours nor with a GPU: not listed")
        self.assertIsNone(entries["foreign"]["run"])
        [own] = [entry for entry in entries.values() if entry["run"] == run]
        self.assertGreater(own["memory_bytes"], 1000)
        self.assertIsNone(own["ready"])
        self.docker("stop", "--time", "0", "foreign", "plain")
        self.sparkrun("stop", "--time", "0", run)
        self.ended(run)

    def test_what_is_kept_of_a_run_goes_after_its_time(self):
        run = self.start("echo words; exit 0")
        self.ended(run)
        self.assertEqual(self.sparkrun("logs", "--tail", "1", run).out, "words\n")

        self.sparkrun("ps", environment={"SPARKRUN_LOGS_KEPT": "0"})

        self.assertEqual(self.sparkrun("--json", "logs", run, code=1).error["id"], "run.none")
        self.assertEqual(list((self.folder / "state/sparkrun/runs").iterdir()), [])
        self.sparkrun("audit", "show", run)

    def test_a_job_that_the_engine_starts_again(self):
        self.write_job("again")
        path = self.project / "profiles/again.toml"
        path.write_text(path.read_text().replace("remove = true", 'restart = "on-failure:2"'))
        self.sparkrun("lock", "again")
        run = self.sparkrun("run", "--no-preflight", "--detach", "again", "sh", "-c", "sleep 0.5; exit 4").out.strip()

        self.wait_for(lambda: "run.end" in self.events())

        records = [record for record in self.records() if record["run"] == run]
        self.assertEqual([record["event"] for record in records if record["event"] != "run.restart"],
                         ["run.start", "run.bound", "run.end"])
        self.assertGreaterEqual([record["event"] for record in records].count("run.restart"), 1)
        self.assertEqual(records[-1]["exit"], 4)
        self.docker("rm", self.docker("ps", "-a", "-q").strip())

    # One GPU, many launchers.

    def exclusive(self, *options, **more):
        self.environment["SPARKRUN_GPU_LOCK"] = str(self.folder / "gpu.lock")
        return self.running("run", "--no-preflight", *options, "job", "sh", "-c",
                            "echo got it; while [ ! -e /tmp/end ]; do sleep 0.1; done", **more)

    def end_job(self, run):
        self.sparkrun("shell", run, "touch", "/tmp/end")

    def running_runs(self):
        return [entry["run"] for entry in self.sparkrun("ps", "--json").json]

    def test_exclusive_runs_wait_for_one_another(self):
        with self.exclusive("--exclusive") as first:
            [run] = self.wait_for(self.running_runs)
            with self.exclusive("--exclusive=1m") as second:
                line = second.stderr.readline()
                while "waiting" not in line:
                    line = second.stderr.readline()
                self.assertIn(f"waiting for the GPU: run {run} (job, ", line)
                self.assertIn("up to 1 min", line)
                self.assertEqual(self.running_runs(), [run])
                error = self.sparkrun("--json", "run", "--no-preflight", "--exclusive=0", "job", "true", code=101).error
                self.assertEqual(error["id"], "run.gpu_busy")
                self.sparkrun("run", "--no-preflight", "job", "true")  # who does not ask shares
                self.end_job(run)
                self.assertEqual(first.wait(timeout=30), 0)
                [run] = self.wait_for(self.running_runs)
                self.end_job(run)
                self.assertEqual(second.wait(timeout=30), 0)

    def test_the_waiter_holds_the_gpu_for_a_run_in_the_background(self):
        with self.exclusive("--exclusive", "--detach") as first:
            run = first.stdout.read().strip()
        self.sparkrun("run", "--no-preflight", "--exclusive=0", "job", "true", code=101)

        self.end_job(run)

        self.assertEqual(self.ended(run), 0)
        self.sparkrun("run", "--no-preflight", "--exclusive=10", "job", "true")

    def test_the_lock_dies_with_its_holder_but_its_container_is_waited_for(self):
        with self.exclusive("--exclusive") as first:
            [run] = self.wait_for(self.running_runs)
            first.kill()
            first.wait()
        result = self.sparkrun("--json", "run", "--no-preflight", "--exclusive=1", "job", "true", code=101)
        self.assertIn(f"waiting for the GPU: run {run} (job, ", result.err)

        self.sparkrun("stop", "--time", "0", run)

        self.sparkrun("run", "--no-preflight", "--exclusive=10", "job", "true")

    def test_an_interrupted_wait_for_the_gpu_starts_nothing(self):
        with self.exclusive("--exclusive", "--detach") as first:
            run = first.stdout.read().strip()
        with self.exclusive("--exclusive") as second:
            while "waiting" not in second.stderr.readline():
                pass
            second.send_signal(signal.SIGINT)
            self.assertEqual(second.wait(timeout=10), 130)
        self.assertEqual(self.running_runs(), [run])
        self.sparkrun("stop", "--time", "0")
        self.ended(run)

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
