# SPDX-License-Identifier: MIT
"""Who is killed, and when: what the ledger then says, what the next command says, and that nothing is left in the end.

docs/runs.md has what these tests hold, as a table.
"""

import contextlib
import os
import pathlib
import shlex
import signal
import subprocess
import time
import unittest

from support import BINARY, RigTest, rig

FOREVER = "while :; do sleep 0.1; done"
GRACEFUL = f"trap 'exit 9' TERM; {FOREVER}"


def processes_of(*marks):
    """Ids of processes whose words hold all marks."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if all(mark in words for mark in marks):
                found.append(int(path.parent.name))
    return found


class Killed(RigTest):
    def setUp(self):
        super().setUp()
        self.write_job()
        self.sparkrun("lock", "job")

    def tearDown(self):
        left = processes_of("__wait")
        mine = [pid for pid in left if self.is_mine(pid)]
        for pid in mine:
            os.kill(pid, signal.SIGKILL)
        super().tearDown()
        self.assertEqual(mine, [], "a waiter was left behind")

    def is_mine(self, pid):
        with contextlib.suppress(OSError):
            return str(self.folder).encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes()
        return False

    # What is started.

    @contextlib.contextmanager
    def front(self, script=GRACEFUL, *options, profile="job"):
        """A run in front whose job is there; the process, with `run`, its id, and `container`."""
        with self.running("run", "--no-preflight", *options, profile, "sh", "-c", f"echo ready; {script}",
                          stderr=subprocess.STDOUT, start_new_session=True) as process:
            for line in process.stdout:
                if line == "ready\n":
                    break
            process.run = self.wait_for(self.bound)
            yield process

    def use_an_engine_that_creates_only(self):
        """A client that is as far as between `create` and `start`."""
        client = self.folder / "bin/docker"
        client.parent.mkdir(exist_ok=True)
        client.write_text("#!/bin/sh\nPATH=${PATH#*:}\n"
                          '[ "$1" = run ] || exec docker "$@"\nshift\n'
                          'for word; do shift; case $word in -d|--detach) ;; *) set -- "$@" "$word";; esac; done\n'
                          'docker create "$@"\nexec sleep 5\n')
        client.chmod(0o755)
        self.environment["PATH"] = f"{client.parent}:{self.rig['PATH']}"

    def bound(self):
        """The id of the run whose container was the last thing to be recorded."""
        records = self.records()
        return records[-1]["run"] if records and records[-1]["event"] == "run.bound" else None

    def background(self, script=GRACEFUL, *options):
        return self.sparkrun("run", "--no-preflight", "--detach", *options, "job", "sh", "-c", script).out.strip()

    def client_of(self, run):
        return self.wait_for(lambda: [pid for pid in processes_of("docker run", run) if self.is_mine(pid)])[0]

    def waiter_of(self, run):
        return self.wait_for(lambda: processes_of("__wait", run))[0]

    # What is then so.

    def history(self, run):
        """`run.start run.bound run.end=9`"""
        return " ".join(record["event"] + (f"={record['exit']}" if "exit" in record else "")
                        for record in self.records() if record.get("run") == run)

    def ends_as(self, run, history):
        try:
            self.wait_for(lambda: self.history(run) == history, 20)
        except AssertionError:
            self.assertEqual(self.history(run), history)

    def says_orphan(self, run, status="running"):
        line = f"run {run} ({status}) has no sparkrun any more; `sparkrun stop {run}`"
        listed = self.sparkrun("ps", "--all")
        self.assertIn(line, listed.err)
        self.assertIn("nobody", listed.out)
        self.assertIn(line, self.sparkrun("run", "--no-preflight", "job", "true").err)

    def stopped(self, run, status):
        """The engine removes the container at its end, and may be faster than the question how it ended."""
        self.assertIn(self.history(run), ("run.start run.bound", f"run.start run.bound run.end={status}"))

    def is_over(self, run):
        """The container is gone, and with it what is known of the end; it is said once."""
        line = f"run {run} is over; how it ended was not recorded"
        self.wait_for(lambda: line in self.sparkrun("ps").err)
        self.assertEqual(self.sparkrun("audit", "show", run, "--json").json["state"], "unknown")
        self.assertNotIn(line, self.sparkrun("ps").err)

    def kill_waiter(self, run):
        waiter = self.waiter_of(run)
        os.kill(waiter, signal.SIGKILL)
        self.wait_for(lambda: not pathlib.Path(f"/proc/{waiter}/exe").exists())

    def says_that_it_is_back(self, run, status="running"):
        self.assertIn(f"run {run} ({status}) had no waiter any more; it has one again", self.sparkrun("ps").err)

    def nothing_is_left(self, *kept):
        """Neither container nor client, nor a folder but those of ended runs that `logs` needs."""
        self.wait_for(lambda: not self.docker("ps", "-aq").strip())
        self.wait_for(lambda: not [pid for pid in processes_of("docker") if self.is_mine(pid)])
        self.assertNotIn("no sparkrun any more", self.sparkrun("ps", "--all").err)
        folders = {path.name for path in (self.folder / "state/sparkrun/runs").iterdir()}
        self.assertEqual(folders, set(kept))
        known = {"run.json", "cid", "started", "ready", "log", "inspect.json", "waiter.log"}
        files = {path.name for path in (self.folder / "state/sparkrun/runs").rglob("*") if path.is_file()}
        self.assertLessEqual(files, known, "temporary files were left")
        self.sparkrun("audit", "verify")

    # sparkrun is killed.

    def test_sparkrun_while_the_job_runs(self):
        with self.front() as process:
            client = self.client_of(process.run)
            process.kill()
            process.wait()
            self.wait_for(lambda: not pathlib.Path(f"/proc/{client}").exists())
        self.assertEqual(self.history(process.run), "run.start run.bound")
        self.says_orphan(process.run)

        self.sparkrun("stop", process.run)

        self.stopped(process.run, 9)
        self.nothing_is_left()

    def test_sparkrun_while_the_job_ends(self):
        with self.front("trap 'sleep 2; exit 9' TERM; " + FOREVER) as process:
            process.terminate()
            time.sleep(0.5)
            process.kill()
            process.wait()
        self.wait_for(lambda: not self.docker("ps", "-aq").strip())

        self.assertEqual(self.history(process.run), "run.start run.bound")
        self.is_over(process.run)
        self.nothing_is_left()

    def test_sparkrun_before_there_is_a_container(self):
        self.forget_images()
        with self.running("run", "--no-preflight", "job", "true", start_new_session=True) as process:
            self.wait_for(lambda: [pid for pid in processes_of("docker pull") if self.is_mine(pid)], 10)
            process.kill()
            process.wait()

        self.assertEqual(self.records(), [])
        self.assertFalse((self.folder / "state/sparkrun/runs").exists())

    def test_sparkrun_between_creation_and_start(self):
        for options in ([], ["--detach"]):
            with self.subTest(options):
                self.use_an_engine_that_creates_only()
                with self.running("run", "--no-preflight", *options, "--name", "slow", "job", "sh", "-c", GRACEFUL,
                                  start_new_session=True) as process:
                    self.wait_for(lambda: self.docker("ps", "-aq", "--filter", "name=slow").strip())
                    process.kill()
                    process.wait()
                run = self.records()[-1]["run"]
                self.environment["PATH"] = self.rig["PATH"]
                if options:
                    self.assertIn(f"run {run} was never started: removed", self.sparkrun("ps").err)
                else:
                    self.says_orphan(run, "created")
                    self.sparkrun("stop", run)

                self.assertIn(self.history(run), ("run.start", "run.start run.bound"))
                self.nothing_is_left()

    # docker's client is killed.

    def test_the_client_while_the_job_runs(self):
        with self.front() as process:
            os.kill(self.client_of(process.run), signal.SIGKILL)
            out, _ = process.communicate(timeout=30)

        self.assertEqual(process.returncode, 137)
        self.assertIn("docker's client ended before the job did: stopped it", out)
        self.assertEqual(self.history(process.run), "run.start run.bound run.end=137")
        self.nothing_is_left()

    def test_the_client_of_the_waiter(self):
        run = self.background()
        os.kill(self.wait_for(lambda: [pid for pid in processes_of("docker wait") if self.is_mine(pid)])[0], signal.SIGKILL)
        self.sparkrun("stop", run)

        self.ends_as(run, "run.start run.bound run.end=9")
        self.nothing_is_left(run)

    # The waiter is killed.

    def test_the_waiter_while_the_job_runs(self):
        run = self.background()
        self.kill_waiter(run)
        self.says_that_it_is_back(run)
        self.assertEqual(self.sparkrun("ps", "--json").json[0]["kept_by"], "waiter")

        self.sparkrun("stop", run)

        self.ends_as(run, "run.start run.bound run.end=9")
        self.nothing_is_left(run)

    def test_the_waiter_and_then_the_job_ends(self):
        run = self.background("sleep 1; exit 4")
        self.kill_waiter(run)
        self.wait_for(lambda: not self.docker("ps", "-q").strip())

        self.says_that_it_is_back(run, "exited")

        self.ends_as(run, "run.start run.bound run.end=4")
        self.nothing_is_left(run)

    def test_the_waiter_while_the_job_is_stopped(self):
        run = self.background("trap 'sleep 2; exit 9' TERM; " + FOREVER)
        with self.running("stop", run) as stop:
            time.sleep(0.5)
            self.kill_waiter(run)
            self.assertEqual(stop.wait(timeout=30), 0)
        self.assertEqual(self.history(run), "run.start run.bound")

        self.says_that_it_is_back(run, "exited")

        self.ends_as(run, "run.start run.bound run.end=9")
        self.nothing_is_left(run)

    # The container is killed.

    def test_the_container_in_front(self):
        with self.front() as process:
            self.docker("kill", "--signal", "KILL", self.docker("ps", "-q").strip())
            process.communicate(timeout=30)

        self.assertEqual(process.returncode, 137)
        self.ends_as(process.run, "run.start run.bound run.end=137")
        self.nothing_is_left()

    def test_the_container_in_the_background(self):
        run = self.background()
        self.docker("kill", "--signal", "KILL", self.docker("ps", "-q").strip())

        self.ends_as(run, "run.start run.bound run.end=137")
        self.nothing_is_left(run)

    def test_a_job_that_the_engine_starts_again(self):
        run = self.background("sleep 0.3; exit 6", "--restart", "on-failure:2", "--rm=false")

        self.ends_as(run, "run.start run.bound run.restart run.restart run.end=6")
        self.docker("rm", *self.docker("ps", "-aq").split())
        self.nothing_is_left(run)

    # The engine is killed, and comes again. It is not set to keep containers (live-restore), so the jobs end.

    def test_the_engine_while_jobs_run(self):
        behind = self.background()
        with self.front() as process:
            rig("crash")
            out, _ = process.communicate(timeout=60)

        self.assertEqual(process.returncode, 125, out)
        self.assertIn("how the job ended is not known", out)
        self.assertEqual(self.history(process.run), "run.start run.bound")
        self.ends_as(behind, "run.start run.bound run.end=9")
        self.is_over(process.run)
        self.nothing_is_left(behind)

    # A cancelled job of a CI system.

    def cancelled(self, script, *steps, prefix=""):
        """`bash -e -c 'sparkrun run ..'` as a step; each of `steps` is (signal, to whom, seconds until the next)."""
        job = shlex.quote(f"echo ready; {script}")
        line = f"{prefix}{BINARY} run --no-preflight job sh -c {job}; echo step done"
        with subprocess.Popen(["bash", "-e", "-c", line], cwd=self.project, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True) as step:
            for line in step.stdout:
                if line == "ready\n":
                    break
            run = self.wait_for(self.bound)
            tree = self.tree(step.pid)  # what is left of it is found again by its environment
            for number, whom, seconds in steps:
                pids = {"shell": [step.pid], "group": [-step.pid], "tree": tree}[whom]
                for pid in pids:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    step.communicate(timeout=seconds)
            step.communicate(timeout=5)  # nobody holds the pipe open
        return run

    def tree(self, root):
        children = {}
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                children.setdefault(int(path.read_text().rpartition(") ")[2].split()[1]), []).append(int(path.parent.name))
        found = [root]
        for pid in found:
            found += children.get(pid, [])
        return found

    def test_a_job_that_github_cancels(self):
        # actions/runner, ProcessInvoker: SIGINT, 7.5 s later SIGTERM, 2.5 s later SIGKILL to the tree. bash waits for its child
        # before it heeds the first, and dies of the second without a word to it; shorter waits change nothing.
        run = self.cancelled(GRACEFUL, (signal.SIGINT, "shell", 1.5), (signal.SIGTERM, "shell", 0.5), (signal.SIGKILL, "tree", 1))
        self.assertEqual(self.history(run), "run.start run.bound")
        self.says_orphan(run)

        self.sparkrun("stop", run)

        self.stopped(run, 9)
        self.nothing_is_left()

    def test_a_job_that_github_cancels_whose_step_is_sparkrun(self):
        job = "trap 'exit 9' INT TERM; " + FOREVER
        run = self.cancelled(job, (signal.SIGINT, "shell", 7.5), (signal.SIGTERM, "shell", 2.5), (signal.SIGKILL, "tree", 1),
                             prefix="exec ")

        self.ends_as(run, "run.start run.bound run.end=9")
        self.nothing_is_left()

    def test_a_job_that_github_cancels_and_that_heeds_nothing(self):
        job = "trap '' INT TERM; " + FOREVER
        run = self.cancelled(job, (signal.SIGINT, "shell", 7.5), (signal.SIGTERM, "shell", 2.5), (signal.SIGKILL, "tree", 1),
                             prefix="exec ")

        self.ends_as(run, "run.start run.bound run.end=137")
        self.nothing_is_left()

    def test_a_job_that_gitlab_cancels(self):
        run = self.cancelled(GRACEFUL, (signal.SIGTERM, "group", 5), (signal.SIGKILL, "group", 1))

        self.ends_as(run, "run.start run.bound run.end=9")
        self.nothing_is_left()

    def test_a_cancelled_job_that_does_not_end(self):
        run = self.cancelled('trap "" TERM; ' + FOREVER, (signal.SIGTERM, "group", 2), (signal.SIGKILL, "group", 1))
        self.assertEqual(self.history(run), "run.start run.bound")
        self.says_orphan(run)

        self.sparkrun("stop", "--time", "0", run)

        self.stopped(run, 137)
        self.nothing_is_left()


if __name__ == "__main__":
    unittest.main()
