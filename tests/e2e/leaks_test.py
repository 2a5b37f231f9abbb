# SPDX-License-Identifier: MIT
"""Many runs leave nothing: no process, mount, container, file. SPARKRUN_RUNS=500 takes minutes and is run by hand."""

import contextlib
import os
import pathlib
import subprocess
import time
import unittest

from support import BINARY, RigTest

RUNS = int(os.environ.get("SPARKRUN_RUNS", "12"))


def cpu_ticks(pid):
    """User and system time of a process, in clock ticks (proc(5), stat: fields 14 and 15)."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return int(fields[11]) + int(fields[12])


class Leaks(RigTest):
    def setUp(self):
        super().setUp()
        self.write_job()
        self.sparkrun("lock", "job")
        self.sparkrun("run", "--no-preflight", "job", "true")  # pulls

    def processes(self):
        """Those that were started from this test, zombies among them."""
        found = {}
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                is_child = f" {os.getpid()} " in process.joinpath("stat").read_text().rpartition(") ")[2][:20]
                if is_child or str(self.folder).encode() in process.joinpath("environ").read_bytes():
                    found[int(process.name)] = process.joinpath("cmdline").read_bytes()
        return found

    def left(self):
        """What could be left behind, apart from records."""
        state = [path for path in (self.folder / "state").rglob("*") if "audit" not in path.parts]
        return {
            "processes": self.processes(),
            "mounts": sorted(line.split()[1] for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()
                             if self.rig["SPARKRUN_RIG_DIR"] in line),
            "containers": self.docker("ps", "-aq").split(),
            "volumes": self.docker("volume", "ls", "-q").split(),
            "descriptors": len(list(pathlib.Path("/proc/self/fd").iterdir())),
            "files": sorted(str(path) for path in state if path.is_file()),
            "temporary": sorted(path.name for path in pathlib.Path("/tmp").glob("*sparkrun*")
                                if not path.name.startswith("sparkrun-e2e-")),  # of a test beside this one
        }

    def test_one_after_the_other_in_front(self):
        before = self.left()

        for count in range(RUNS):
            self.sparkrun("run", "--no-preflight", "job", "sh", "-c", f"exit {count % 3}", code=count % 3)

        self.assertEqual(self.left(), before)
        self.assertEqual(self.events().count("run.end"), RUNS + 1)
        self.sparkrun("audit", "verify")

    def test_twenty_at_once(self):
        before = self.left()
        runs = [subprocess.Popen([BINARY, "run", "--no-preflight", *mode, "job", "true"], cwd=self.project,
                                 env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True)
                for mode in ([], ["--detach"]) * 10]
        for process in runs:
            with process:
                errors = process.stderr.read()
            self.assertEqual(process.returncode, 0, errors)
        self.wait_for(lambda: self.events().count("run.end") == 21, 60)
        self.wait_for(lambda: self.processes() == before["processes"])
        self.sparkrun("ps", environment={"SPARKRUN_LOGS_KEPT": "0"})  # what is kept for `logs` goes, too

        self.assertEqual(self.left(), before)
        started = [record for record in self.records() if record["event"] == "run.start"]
        names = [record["argv"][record["argv"].index("--name") + 1] if "--name" in record["argv"] else
                 next(word for word in record["argv"] if word.startswith("--name=")) for record in started]
        self.assertEqual(len(set(names)), 21)
        self.sparkrun("audit", "verify")

    def test_an_idle_waiter_costs_nothing(self):
        run = self.sparkrun("run", "--no-preflight", "--detach", "job", "sleep", "600").out.strip()
        [waiter] = self.wait_for(lambda: found if len(found := [
            pid for pid, words in self.processes().items() if b"__wait" in words]) == 1 else None)
        self.wait_for(lambda: [pid for pid, words in self.processes().items() if words.startswith(b"docker\0wait")])
        descriptors = sorted(pathlib.Path(f"/proc/{waiter}/fd").iterdir())
        before = cpu_ticks(waiter)
        time.sleep(3)

        self.assertEqual(cpu_ticks(waiter) - before, 0)
        self.assertLess(len(descriptors), 12, [os.readlink(path) for path in descriptors])
        self.sparkrun("stop", "--time", "0", run)
        self.wait_for(lambda: not self.processes())


if __name__ == "__main__":
    unittest.main()
