# SPDX-License-Identifier: MIT
"""A job in front, beside `docker run` itself: signals, keys, the terminal, streams and statuses, for each both side by side.

TABLE is what docs/runs.md prints; what the two did is compared with it.
"""

import concurrent.futures
import contextlib
import hashlib
import json
import re
import signal
import subprocess
import time
import unittest
from dataclasses import dataclass
from typing import Callable

from side_by_side import JOB, Side, set_size
from support import BINARY, ROOT, RigTest

# How the two are started: with a terminal for the job; at a terminal without one for the job; on pipes.
MODES = ("-t", "no -t", "pipes")
SETTLED = 0.5  # seconds after which nothing more is expected
PAUSE = 0.3  # between two signals that are to count as two


@dataclass
class Row:
    """One event. What comes of it: signals that the job noted; what was seen; the status; whether the container is left."""

    event: str
    mode: str
    act: Callable
    docker: str
    sparkrun: str = "the same"
    why: str = ""
    wanted: int = 1  # the job ends at so many requests; 0: when /seen/end is there
    words: tuple = ()  # a job of its own instead
    options: tuple = ()
    stdin: int = subprocess.PIPE
    shows_status: bool = True
    compares_output: bool = True

    def line(self):
        return f"| {self.event} | {self.mode} | {self.docker} | {self.sparkrun} | {self.why} |"

    @property
    def wanted_of_sparkrun(self):
        return self.docker if self.sparkrun == "the same" else self.sparkrun


def keys(*typed):
    def act(side):
        for number, key in enumerate(typed):
            time.sleep(PAUSE * bool(number))
            side.type(key)
    return act


def sent(*numbers):
    def act(side):
        for count, number in enumerate(numbers):
            time.sleep(PAUSE * bool(count))
            side.send(number)
    return act


def to_group(number):
    return lambda side: side.send_to_group(number)


def suspended(how):
    """Whether it stopped; it is then brought to the front again, as by a shell's `fg`."""
    def act(side):
        how(side)
        time.sleep(SETTLED)
        if side.is_stopped():
            side.go_on()
            return "stops"
        return "goes on"
    return act


def stopped_and_continued(send):
    def act(side):
        send(side, signal.SIGTSTP)
        side.wait_until(lambda: "TSTP" in side.log or side.is_stopped())
        seen = "stops" if side.is_stopped() else "goes on"
        send(side, signal.SIGCONT)
        return seen
    return act


def killed(side):
    side.send(signal.SIGKILL)
    side.wait_until(lambda: not side.clients())


def hang_up(side):
    side.hang_up()


def resized(side):
    set_size(side.leader, 50, 120)
    side.wait_until(lambda: b"50 120" in side.out)
    return "sees 50 120"


def sized(side):
    side.wait_until(lambda: b"31 97" in side.out)
    return "sees 31 97"


def typed_end(side):
    side.type(b"word\n")
    side.wait_until(lambda: b"got word" in side.out)
    side.type(b"\x04")
    side.wait_until(lambda: b"ended" in side.out)
    return "stdin ends"


def closed_pipe(side):
    side.process.stdin.write(b"word\n")
    side.process.stdin.close()
    side.wait_until(lambda: b"got word" in side.out and b"ended" in side.out)
    return "stdin ends"


def sent_binary(side):
    block = bytes(range(256)) * 20000
    side.process.stdin.write(block)
    side.process.stdin.close()
    for thread in side.threads:
        thread.join(30)
    return "5 MB unharmed" if hashlib.sha256(block).digest() == hashlib.sha256(side.out).digest() else "harmed"


def received(side):
    for thread in side.threads:
        thread.join(30)
    wanted = "".join(f"{number}\n" for number in range(1, 1000001)).encode()
    return "7 MB unharmed" if wanted == bytes(side.out) else "harmed"


def apart(side):
    for thread in side.threads:
        thread.join(30)
    return "kept apart" if bytes(side.out) == b"out\n" and b"err\n" in side.err else "mixed"


def read_a_line(side):
    side.wait_until(lambda: side.out.count(b"\n") > 0)
    side.stop_reading()
    return ""


def nothing(_):
    return ""


def killed_from_outside(side):
    side.wait_until_ready()
    side.docker("kill", side.name)


BARE = ("--entrypoint", "")  # no banner
SIZE_LOOP = "until [ \"$(stty size 2>/dev/null)\" = '{}' ]; do sleep 0.05; done; stty size"
READER = ("sh", "-c", "touch /seen/ready; while read line; do echo got $line; done; echo ended")


STOPPED = "docker's client ends before the job; sparkrun then stops the job"


def again(mode, names, rest="exit 0"):
    """At a terminal docker's client is in our process group: what is sent to the group reaches it directly and through us."""
    if mode == "pipes":
        return {}
    return {"sparkrun": " ".join(f"{name} ({name})" for name in names.split()) + f"; {rest}",
            "why": "at a terminal the client has it from the group and once more from sparkrun"}


def is_as_wanted(seen, wanted):
    """What is in brackets may be missing: two signals of a kind that come at once are one for the kernel."""
    return any(re.fullmatch(re.sub(r" \((\w+)\)", r"( \1)?", choice), seen) for choice in wanted.split(" or "))


def table():
    rows = []
    for mode in MODES[:2]:
        rows += [
            Row("Ctrl-C", mode, keys(b"\x03"), "INT; exit 11"),
            Row("Ctrl-C twice", mode, keys(b"\x03", b"\x03"), "INT INT; exit 12", wanted=2),
            Row("Ctrl-\\", mode, keys(b"\x1c"), "QUIT; exit 11"),
            Row("Ctrl-Z", mode, suspended(keys(b"\x1a")), "TSTP; goes on; exit 0", wanted=0),
            Row("the terminal is closed", mode, hang_up, "HUP or CONT HUP", shows_status=False),
        ]
    for mode in MODES:
        for name in ("INT", "TERM", "HUP", "QUIT"):
            number = getattr(signal, "SIG" + name)
            if (name, mode) == ("INT", "-t"):
                left = {"docker": "exit 1; container left or INT; exit 1", "sparkrun": "TERM; exit 1 or INT; exit 1", "why": STOPPED}
                rows += [Row("SIGINT to it alone", mode, sent(number), **left),
                         Row("SIGINT to its group", mode, to_group(number), **left)]
                continue
            rows += [Row(f"SIG{name} to it alone", mode, sent(number), f"{name}; exit 11"),
                     Row(f"SIG{name} to its group", mode, to_group(number), f"{name}; exit 0", wanted=0, **again(mode, name))]
        if mode != "-t":
            rows.append(Row("SIGINT twice", mode, sent(signal.SIGINT, signal.SIGINT), "INT INT; exit 12", wanted=2))
        rows += [
            Row("SIGUSR1 to it alone", mode, sent(signal.SIGUSR1), "USR1; exit 0", wanted=0),
            Row("SIGTSTP, SIGCONT to it alone", mode, stopped_and_continued(Side.send), "TSTP CONT; goes on; exit 0",
                wanted=0),
            Row("SIGTSTP, SIGCONT to its group", mode, stopped_and_continued(Side.send_to_group), "TSTP CONT; goes on; exit 0",
                wanted=0, **again(mode, "TSTP CONT", "goes on; exit 0")),
            Row("SIGKILL", mode, killed, "exit 137; container left", wanted=0, compares_output=False),
        ]
    rows += [
        Row("size of the terminal", "-t", sized, "sees 31 97; exit 0", words=("sh", "-c", SIZE_LOOP.format("31 97"))),
        Row("resize", "-t", resized, "sees 50 120; exit 0", words=("sh", "-c", "touch /seen/ready; " + SIZE_LOOP.format("50 120"))),
        Row("Ctrl-D", "-t", typed_end, "stdin ends; exit 0", words=READER),
        Row("Ctrl-D", "no -t", typed_end, "stdin ends; exit 0", words=READER),
        Row("stdin closed", "pipes", closed_pipe, "stdin ends; exit 0", words=READER),
        Row("stdin from /dev/null", "pipes", nothing, "exit 0", words=READER, stdin=subprocess.DEVNULL),
        Row("binary data through stdin", "pipes", sent_binary, "5 MB unharmed; exit 0", words=("cat",), options=BARE),
        Row("much output", "pipes", received, "7 MB unharmed; exit 0", words=("seq", "1000000"), options=BARE),
        Row("stdout and stderr", "pipes", apart, "kept apart; exit 3", words=("sh", "-c", "echo out; echo err >&2; exit 3"),
            options=BARE),
        Row("reader of stdout leaves", "pipes", read_a_line, "exit 1; container left", "exit 1", STOPPED,
            words=("sh", "-c", "while echo line; do sleep 0.02; [ ! -e /seen/end ] || exit 0; done"), wanted=0),
        Row("the job ends with 0", "pipes", nothing, "exit 0", words=("true",)),
        Row("the engine refuses to start it", "pipes", nothing, "exit 125", words=("true",), options=("--ulimit", "nofile=1:1")),
        Row("the program cannot be run", "pipes", nothing, "exit 126", words=(), options=("--entrypoint", "/etc")),
        Row("there is no such program", "pipes", nothing, "exit 127", words=(), options=("--entrypoint", "/none")),
        Row("`docker kill`", "pipes", killed_from_outside, "exit 137", wanted=0),
    ]
    return rows


class SideBySide(RigTest):
    def setUp(self):
        super().setUp()
        self.write_job(text='\n[env]\nTRITON_PTXAS_PATH = "/usr/local/cuda/bin/ptxas"\n')
        self.sparkrun("lock", "job")
        self.sparkrun("run", "--no-preflight", "job", "true")

    def side(self, tool, number, row):
        name = f"{tool}-{number}"
        folder = self.folder / name
        folder.mkdir()
        (folder / "job.py").write_text(JOB)
        words = list(row.words) or ([] if row.options else ["python3", "/seen/job.py", str(row.wanted)])
        options = ["--quiet", "--no-preflight", "--tty", "always" if row.mode == "-t" else "never", "--name", name,
                   "--volume", f"{folder}:/seen", *row.options]
        environment = self.environment | {"XDG_STATE_HOME": str(folder / "state")}
        argv = [str(BINARY), "run", *options, "job", *words]
        if tool == "docker":
            dry = subprocess.run([BINARY, "run", "--dry-run", "--json", *options, "job", *words], cwd=self.project,
                                 env=environment, stdin=row.stdin, capture_output=True, text=True, check=True)
            argv = json.loads(dry.stdout)["argv"]
        side = Side(argv, folder, environment, self.project, row.mode != "pipes", row.stdin)
        side.name, side.docker = name, self.docker
        return side

    def play(self, tool, number, row):
        """What came of it, as in the table, and what was printed."""
        side = self.side(tool, number, row)
        try:
            if not row.words and not row.options:
                side.wait_until_ready()
            note = row.act(side) or ""
            with contextlib.suppress(AssertionError, subprocess.TimeoutExpired):
                side.wait_for_exit(SETTLED if not row.wanted else 30)
                is_left = self.is_left(side.name)
            if side.status is None:
                side.end_job()
                side.wait_for_exit()
                is_left = self.is_left(side.name)
            status = side.status
            parts = [" ".join(side.log), note, f"exit {status}" * row.shows_status, "container left" if is_left else ""]
            return "; ".join(part for part in parts if part), bytes(side.out).decode(errors="replace"), bytes(side.err).decode()
        except Exception as error:
            raise AssertionError(f"{tool}: {row.event}, {row.mode}: {error}") from error
        finally:
            side.close()

    @staticmethod
    def words(played):
        """What was printed, without what an engine's client says of its own haste."""
        return [re.sub(r"time=.*context canceled.*\n", "", text) for text in played[1:]]

    def is_left(self, name):
        """Whether the container is there, the engine having had the time to remove it; it is removed then."""
        deadline = time.monotonic() + 1.5
        while self.docker("ps", "-aq", "--filter", f"name=^{name}$").strip():
            if time.monotonic() > deadline:
                self.docker("rm", "-f", name)
                return True
            time.sleep(0.05)
        return False

    def test_each_row_of_the_table(self):
        rows = table()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            played = {(tool, number): pool.submit(self.play, tool, number, row)
                      for number, row in enumerate(rows) for tool in ("docker", "sparkrun")}
        for number, row in enumerate(rows):
            with self.subTest(event=row.event, mode=row.mode):
                try:
                    self.judge(row, *(played[tool, number].result() for tool in ("docker", "sparkrun")))
                except AssertionError:  # four were played at once, on a machine that may be busy; alone it has to be right
                    self.judge(row, *(self.play(tool, len(rows) + number, row) for tool in ("docker", "sparkrun")))

    def judge(self, row, docker, sparkrun):
        self.assertTrue(is_as_wanted(docker[0], row.docker), f"{docker[0]}, not {row.docker}")
        self.assertTrue(is_as_wanted(sparkrun[0], row.wanted_of_sparkrun), f"{sparkrun[0]}, not {row.wanted_of_sparkrun}")
        if row.sparkrun == "the same" and row.compares_output:
            self.assertEqual(self.words(docker), self.words(sparkrun))


class Documentation(unittest.TestCase):
    def test_the_table_is_that_of_the_documentation(self):
        text = (ROOT / "docs/runs.md").read_text()

        shown = text.partition("| event | mode | docker |")[2].partition("\n\n")[0].splitlines()[2:]

        self.assertEqual(shown, [row.line() for row in table()])


if __name__ == "__main__":
    unittest.main()
