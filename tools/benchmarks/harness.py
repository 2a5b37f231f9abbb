# SPDX-License-Identifier: MIT
"""What the benchmarks share: one measured run, interleaved rounds, tables, the machine they ran on."""

import argparse
import collections
import dataclasses
import os
import pathlib
import platform
import shlex
import statistics
import subprocess
import sys
from typing import Callable

ROOT = pathlib.Path(__file__).resolve().parents[2]
RIG = ROOT / "tests/rig"
TIMEOUT_S = 300


class Failed(Exception):
    """A measured program did not do what it is measured for."""


def say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr)


@dataclasses.dataclass(frozen=True)
class Cost:
    """What one run cost. Several processes one after another cost the sum of them, and the most memory of any."""

    wall_s: float = 0
    cpu_s: float = 0
    rss_kib: int = 0
    requests: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.wall_s + other.wall_s, self.cpu_s + other.cpu_s, max(self.rss_kib, other.rss_kib),
                    self.requests + other.requests)


def median(costs: list[Cost]) -> Cost:
    return Cost(*(statistics.median(getattr(cost, field.name) for cost in costs) for field in dataclasses.fields(Cost)))


class Runner:
    """Runs programs in an environment of its own, without the user's settings."""

    def __init__(self, work: pathlib.Path, environment: dict[str, str]):
        self.report = work / "report"
        home = work / "home"
        home.mkdir()
        self.environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(home), "XDG_RUNTIME_DIR": str(home),
                            "DOCKER_CONFIG": str(home)} | environment
        self.measure = build_measure()

    def run(self, command: list[str]) -> tuple[Cost, bytes]:
        """What it cost, and its output."""
        done = subprocess.run([self.measure, self.report, *command], env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=TIMEOUT_S)
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
            raise Failed(f"{shlex.join(command)[:200]}: exit {done.returncode}: {said[-1][:300]}")
        wall_ns, cpu_us, rss_kib = map(int, self.report.read_text().split())
        return Cost(wall_ns / 1e9, cpu_us / 1e6, rss_kib), done.stdout


def build_measure() -> pathlib.Path:
    source, program = ROOT / "tools/benchmarks/measure.c", ROOT / "build/bench/measure"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        program.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-o", program, source], check=True)
    return program


def interleave(rounds: int, runs: dict[str, Callable[[], Cost]]) -> dict[str, list[Cost]]:
    """What `rounds` rounds cost, after one that does not count; each round starts with another one."""
    costs = collections.defaultdict(list)
    names = list(runs)
    for number in range(rounds + 1):
        for name in names[number % len(names):] + names[:number % len(names)]:
            cost = runs[name]()
            if number > 0:
                costs[name].append(cost)
    return {name: costs[name] for name in names}


def medians(costs: dict[str, list[Cost]]) -> dict[str, Cost]:
    return {name: median(costs[name]) for name in costs}


def table(head: list[str], rows: list[list[str]]) -> str:
    """As Markdown, with columns that line up in a terminal too."""
    widths = [max(map(len, column)) for column in zip(head, *rows)]
    lines = [head, ["-" * width for width in widths], *rows]
    return "\n".join("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |" for line in lines)


@dataclasses.dataclass(frozen=True)
class Goal:
    text: str
    limit: float
    value: float | None  # None: not measured
    unit: str = ""
    note: str = ""

    def row(self) -> list[str]:
        if self.value is None:
            return [self.text, "not measured", "", self.note]
        verdict = "met" if self.value <= self.limit else "**missed**"
        return [self.text, f"{self.value:.4g}{self.unit}", verdict, self.note]


def rig_environment() -> dict[str, str]:
    """NAME -> value, as `rig env` exports them."""
    done = subprocess.run([RIG / "rig", "env"], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Failed("the rig is needed: tests/rig/rig up")
    return dict(shlex.split(line.removeprefix("export "))[0].split("=", 1) for line in done.stdout.splitlines())


def parser_of(verb: str, doc: str, rounds: str) -> argparse.ArgumentParser:
    """With the options that every benchmark has."""
    parser = argparse.ArgumentParser(prog=f"tools/bench {verb}", description=doc.split("\n\n")[0])
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/sparkrun",
                        help="default: %(default)s")
    parser.add_argument("--rounds", type=int, help=f"default: {rounds}; one more is run and does not count")
    return parser


def check_options(parser: argparse.ArgumentParser, options: argparse.Namespace) -> tuple[pathlib.Path, float]:
    """The binary, and the load of the machine, which has to be asked before anything is measured."""
    if not os.access(options.binary, os.X_OK):
        build = "cmake --preset release && cmake --build --preset release"
        raise Failed(f"there is no {options.binary}: build it ({build}) or say --binary")
    if options.rounds is not None and options.rounds < 1:
        parser.error("--rounds must be at least 1")
    load = os.getloadavg()[0]
    if load > 0.5:
        say(f"the load is {load:.2f}: figures of a machine that does other things mislead")
    return options.binary.resolve(), load


def first_line(*command: str | pathlib.Path) -> str:
    """What a program says of its version."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=10)
    return " ".join(done.stdout.split("\n")[0].split()) or "unknown"


def machine(load: float) -> list[str]:
    cpu = next((line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                if line.startswith("model name")), platform.machine())
    return [
        f"CPU: {cpu}, {len(os.sched_getaffinity(0))} cores",
        f"kernel: {platform.release()} ({platform.machine()})",
        f"system: {platform.freedesktop_os_release().get('PRETTY_NAME', 'unknown')}",
        f"load of the minute before: {load:.2f}",
    ]
