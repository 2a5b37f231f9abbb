#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What `sparkrun run` adds to `docker run`, against the rig's docker: a job that does nothing, of a locked profile whose
image is there.

docker is given the very words that sparkrun gives it, as its ledger has them. What follows a run (containers that are
removed, a waiter that ends) is waited for before the next one begins.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import uuid

import harness
from harness import Cost, Failed, Goal, say

IMAGE = "small:1"
NATIVE = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
ROUNDS = 20
IDLE_S = 10
PAUSE_S = 0.3  # until the engine has put away what it is done with, which it does not tell
SLEEP = ("sh", "-c", "trap exit TERM; sleep 300 & wait")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")

# Flags of the shipped profiles, but for the GPU: what the rig has instead would be the most of what docker takes.
PROFILE = """\
version = 1
image = "{image}"
platforms = ["linux/{platform}"]

[gpu]
access = "none"

[container]
ipc = "host"
remove = true

[container.ulimits]
stack = 67108864

[[mount]]
source = "./data"
target = "/workspace/data"

[env]
HF_XET_HIGH_PERFORMANCE = "1"
"""


# Where it is done.


class Place:
    """A project in a git checkout with a locked profile, an engine that has its image, a ledger of its own."""

    def __init__(self, binary: pathlib.Path, rig: dict[str, str], work: pathlib.Path):
        self.binary, self.work, self.project = str(binary), work, work / "project"
        self.runner = harness.Runner(work, {name: rig[name] for name in ("PATH", "DOCKER_HOST")} |
                                     {"XDG_STATE_HOME": str(work / "state"), "XDG_CONFIG_HOME": str(work / "config")})
        self.docker = shutil.which("docker", path=rig["PATH"])
        (self.project / "profiles").mkdir(parents=True)
        (self.project / "data").mkdir()
        text = PROFILE.format(image=f"{rig['SPARKRUN_RIG_REGISTRY']}/{IMAGE}", platform=NATIVE)
        (self.project / "profiles/bench.toml").write_text(text)
        self.ask(self.binary, "-C", str(self.project), "lock", "bench")
        for words in (["init", "-q"], ["add", "."],
                      ["-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "-m", "a project"]):
            self.ask("git", "-C", str(self.project), *words)

    def ask(self, *command: str) -> str:
        done = subprocess.run(command, env=self.runner.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=harness.TIMEOUT_S)
        if done.returncode != 0:
            raise Failed(f"{' '.join(command)[:200]}: exit {done.returncode}: {done.stderr.strip()[-300:]}")
        return done.stdout

    def sparkrun(self, *words: str) -> list[str]:
        return [self.binary, "-C", str(self.project), *words]

    def launch(self, *words: str) -> list[str]:
        return self.sparkrun("run", "--no-preflight", *words, "bench")

    def recorded(self) -> list[str]:
        """The words that the last run gave to docker."""
        shown = json.loads(self.ask(*self.sparkrun("audit", "show", "^1", "--json")))
        return next(event["argv"] for event in shown["events"] if event["event"] == "run.start")

    def settle(self) -> None:
        """Until nothing is left of what was measured."""
        deadline = time.monotonic() + 30
        while left := self.ask(self.docker, "ps", "--all", "--quiet").split():
            if time.monotonic() > deadline:
                raise Failed(f"containers were left behind: {' '.join(left)}")
            time.sleep(0.02)
        time.sleep(PAUSE_S)


@dataclasses.dataclass(frozen=True)
class Line:
    """docker's own words for the same job. What must be new each time is."""

    place: Place
    words: list[str]

    def fresh(self) -> list[str]:
        mark = uuid.uuid4().hex
        words = list(self.words)
        words[0] = self.place.docker
        words[words.index("--name") + 1] = f"bench-{mark}"
        words[words.index("--cidfile") + 1] = str(self.place.work / f"cid-{mark}")
        return words


# What is measured.


def in_front(place: Place) -> dict:
    command = [*place.launch(), "true"]
    place.ask(*command)
    line = Line(place, place.recorded())

    def run(words: list[str]) -> Cost:
        place.settle()
        return place.runner.run(words)[0]

    return {"docker run": lambda: run(line.fresh()), "sparkrun run": lambda: run(command)}


def in_background(place: Place) -> dict:
    command = [*place.launch("--detach"), "true"]
    place.ask(*command)
    line = Line(place, place.recorded())

    def sparkrun() -> Cost:
        place.settle()
        return place.runner.run(command)[0]

    def docker() -> Cost:
        place.settle()
        cost, container = place.runner.run(line.fresh())
        place.ask(place.docker, "wait", container.decode().strip())
        place.ask(place.docker, "rm", container.decode().strip())
        return cost

    return {"docker run --detach": docker, "sparkrun run --detach": sparkrun}


def measure(title: str, place: Place, runs: dict, rounds: int) -> dict[str, list[Cost]]:
    say(f"{title}: {rounds} rounds")
    return harness.interleave(rounds, runs)


@dataclasses.dataclass(frozen=True)
class Idle:
    """A process that waits for a job: its processor time in IDLE_S seconds, and its memory now."""

    cpu_ms: float
    rss_kib: int


def status_of(pid: int) -> dict[str, str]:
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def cpu_ms(pid: int) -> float:
    """User and system time of one process, in steps of the kernel's ticks (proc(5))."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / TICKS_PER_S


def find_process(*words: str, parent: int | None = None) -> int:
    """The process whose command line has all of the words, as a child of `parent` where one is given. A child that is about
    to become something else looks like its parent, so the oldest one counts."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        for pid in sorted(int(path.name) for path in pathlib.Path("/proc").glob("[0-9]*")):
            with contextlib.suppress(OSError, KeyError):
                line = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
                if all(word in line for word in words) and parent in (None, int(status_of(pid)["PPid"])):
                    return pid
        time.sleep(0.05)
    raise Failed(f"there is no process {' '.join(words) or f'below {parent}'}")


def watch(pids: dict[str, int]) -> dict[str, Idle]:
    time.sleep(1)
    before = {name: cpu_ms(pid) for name, pid in pids.items()}
    time.sleep(IDLE_S)
    return {name: Idle(cpu_ms(pid) - before[name], int(status_of(pid)["VmRSS"].split()[0])) for name, pid in pids.items()}


def idle(place: Place) -> dict[str, Idle]:
    """Who stays with a job that sleeps: in front and in the background, and the engine's clients that they wait for."""
    say(f"idle: {IDLE_S} s beside a job in front, and beside one in the background")
    place.settle()
    front = subprocess.Popen([*place.launch(), *SLEEP], env=place.runner.environment, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    run = ""
    try:
        client = find_process("--cidfile", parent=front.pid)
        run = place.ask(*place.launch("--detach"), *SLEEP).strip()
        waiter = find_process("__wait", run)
        asks = find_process("wait", parent=waiter)
        return watch({"sparkrun in front": front.pid, "its client, `docker run`": client, "waiter": waiter,
                      "its client, `docker wait`": asks})
    finally:
        front.send_signal(signal.SIGTERM)
        if run:
            place.ask(*place.sparkrun("stop", run))
        front.wait()
        place.settle()


# What is said.


def costs_table(costs: dict[str, list[Cost]]) -> str:
    rows = []
    for name, of_name in costs.items():
        walls = [cost.wall_s * 1000 for cost in of_name]
        low, middle, high = statistics.quantiles(walls, n=4, method="inclusive") if len(walls) > 1 else walls * 3
        typical = harness.median(of_name)
        rows.append([name, f"{middle:.1f} ms", f"{low:.1f} - {high:.1f} ms", f"{typical.cpu_s * 1000:.1f} ms",
                     f"{typical.rss_kib / 1024:.1f} MiB"])
    added, ratio = difference(costs)
    rows.append(["added", f"{added:.1f} ms ({ratio:.3f} x)", "", f"{cpu_added(costs):.1f} ms", ""])
    return harness.table(["", "wall", "quartiles", "CPU", "peak RSS"], rows)


def difference(costs: dict[str, list[Cost]]) -> tuple[float, float]:
    """Milliseconds that sparkrun adds, and its ratio: medians over the rounds, since both of a round met the same load."""
    pairs = [(docker.wall_s, sparkrun.wall_s) for docker, sparkrun in zip(*costs.values())]
    return (statistics.median(sparkrun - docker for docker, sparkrun in pairs) * 1000,
            statistics.median(sparkrun / docker for docker, sparkrun in pairs))


def cpu_added(costs: dict[str, list[Cost]]) -> float:
    return statistics.median(sparkrun.cpu_s - docker.cpu_s for docker, sparkrun in zip(*costs.values())) * 1000


def idle_table(found: dict[str, Idle]) -> str:
    return harness.table(["", f"CPU in {IDLE_S} s", "RSS"],
                         [[name, f"{one.cpu_ms:.0f} ms", f"{one.rss_kib / 1024:.1f} MiB"] for name, one in found.items()])


def goals(front: dict[str, list[Cost]], background: dict[str, list[Cost]], found: dict[str, Idle]) -> list[Goal]:
    listed = []
    for name, costs in (("run", front), ("run --detach", background)):
        added, ratio = difference(costs)
        listed += [Goal(f"`{name}`: adds at most 60 ms", 60, added, " ms"),
                   Goal(f"`{name}`: at most 1.10 x docker", 1.10, ratio, " x")]
    return [*listed, Goal(f"waiter: no CPU in {IDLE_S} s", 0, found["waiter"].cpu_ms, " ms")]


def file_system_of(path: pathlib.Path) -> str:
    return subprocess.run(["findmnt", "--noheadings", "--output", "FSTYPE", "--target", path], stdout=subprocess.PIPE, text=True).stdout.strip()


def report(place: Place, load: float, rounds: int, front: dict, background: dict, found: dict[str, Idle]) -> str:
    engine = place.ask(place.docker, "version", "--format", "{{.Server.Version}}, client {{.Client.Version}}").strip()
    facts = [*harness.machine(load), f"binary: `{place.binary}`",
             f"sparkrun: {harness.first_line(place.binary, '--version').removeprefix('sparkrun').strip()}",
             f"docker: {engine}", f"file system of the ledger: {file_system_of(place.work)}"]
    return "\n".join(["# `sparkrun run` beside `docker run`", "", *(f"- {fact}" for fact in facts), "", NOTES, "",
                      f"## In front (median of {rounds})", "", costs_table(front), "",
                      f"## In the background (median of {rounds})", "", costs_table(background), "",
                      f"## Idle beside a job that sleeps", "", idle_table(found), "",
                      "## Goals", "",
                      harness.table(["", "measured", "", ""],
                                    [goal.row() for goal in goals(front, background, found)])])


NOTES = f"""\
The job is `true` in `{IMAGE}` without a GPU: what docker itself takes is as little as it can be. docker gets the words
that sparkrun's ledger has for the same run, `--cidfile`, `--name`, labels and variables included. `--no-preflight`; the
image is in the engine's store, its profile is locked, and the project is a git checkout. `run` ends when the job has
ended, `run --detach` when the job runs and somebody stays with it. CPU is that of the processes on this side, docker's
client included; peak RSS is the largest of any one of them. What is added is the median over the rounds. Idle figures are of each process alone."""


# The command.


def main() -> None:
    parser = harness.parser_of("run", __doc__, str(ROUNDS))
    options = parser.parse_args()
    binary, load = harness.check_options(parser, options)
    rounds = options.rounds or ROUNDS
    with tempfile.TemporaryDirectory(prefix="sparkrun-bench-", ignore_cleanup_errors=True) as folder:
        place = Place(binary, harness.rig_environment(), pathlib.Path(folder))
        front = measure("in front", place, in_front(place), rounds)
        background = measure("in the background", place, in_background(place), rounds)
        found = idle(place)
        print(report(place, load, rounds, front, background, found))


if __name__ == "__main__":
    # An exit like any other, so that what was started is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        main()
    except (Failed, OSError) as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
