#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Tags to digests: what `sparkrun resolve` costs beside other tools, against the rig's registry with TLS and tokens.

All pull anonymously, trust the rig's authority only, and have no settings. Every digest that is printed is checked.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

import harness
from harness import Cost, Failed, Goal, say

PEERS = harness.ROOT / "build/peers"
sys.path.insert(0, str(harness.RIG))
import images  # noqa: E402
import registry  # noqa: E402

REPOSITORY = "bench/app"
TAGS = [f"t{number:04}" for number in range(1, 1001)]
DIFFERENT_IMAGES = 5
DELAY_MS = 50
SETTLE_S = 0.03  # until the registry has written the last line of its log


# What is in the registry.


def layout(folder: pathlib.Path) -> dict[str, str]:
    """Writes images that are nothing but manifests and gives the digest of each tag."""
    made = images.Layout(folder)
    indexes = []
    for number in range(DIFFERENT_IMAGES):
        content = images.layer({"etc/number": images.text(f"{number}\n")}, "COPY number")
        image = images.Image([content], {"Cmd": ["true"]}, "2025-01-01T00:00:00Z")
        indexes.append(made.index([made.manifest(image, architecture) for architecture in ("amd64", "arm64")]))
    digest_of = {}
    for number, tag in enumerate(TAGS):
        index = indexes[number % DIFFERENT_IMAGES]
        made.tag(f"{REPOSITORY}:{tag}", index)
        digest_of[tag] = index["digest"]
    made.finish()
    return digest_of


def fill(url: str, folder: pathlib.Path) -> dict[str, str]:
    """Puts the tags there if they are not, and gives the digest of each."""
    digest_of = layout(folder)
    client = registry.Registry(url)
    status, _, data = client.request("GET", f"/v2/{REPOSITORY}/tags/list", (200, 404))
    there = set(json.loads(data)["tags"] or ()) if status == 200 else set()
    # The last tag is put last.
    if not there.issuperset(TAGS) or client.manifest_digest(REPOSITORY, TAGS[-1]) != digest_of[TAGS[-1]]:
        say(f"putting {len(TAGS)} tags into {REPOSITORY}")
        with contextlib.redirect_stdout(None):
            registry.Push(client, folder).all({})
    return digest_of


# Where it is asked for.


@dataclasses.dataclass(frozen=True)
class Site:
    """A registry at an address, near or far."""

    address: str
    token_url: str
    service: str
    registry_log: pathlib.Path
    token_log: pathlib.Path

    def reference(self, tag: str) -> str:
        return f"{self.address}/{REPOSITORY}:{tag}"

    def request_count(self) -> "RequestCount":
        return RequestCount(
            {
                # Whoever else uses the rig asks for other repositories, except when they greet it.
                self.registry_log: re.compile(rf'^\S+ - \S+ \[[^]]*\] "[A-Z]+ /v2/( |{REPOSITORY}/)', re.M),
                self.token_log: re.compile(rf"^[A-Z]+ \S+ repository:{REPOSITORY}:", re.M),
            }
        )


class RequestCount:
    """The requests since it was made."""

    def __init__(self, patterns: dict[pathlib.Path, re.Pattern]):
        self.patterns = patterns
        self.start = {log: log.stat().st_size for log in patterns}

    def value(self) -> int:
        time.sleep(SETTLE_S)
        return sum(len(pattern.findall(self.added(log))) for log, pattern in self.patterns.items())

    def added(self, log: pathlib.Path) -> str:
        with log.open("rb") as file:
            file.seek(self.start[log])
            return file.read().decode(errors="replace")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


@contextlib.contextmanager
def running(command: list, log: pathlib.Path):
    """A process in the background, until the end of the block; `log` gets what it says."""
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def wait_for(condition, process: subprocess.Popen, log: pathlib.Path):
    """Polls until `condition()` has a value; that."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and process.poll() is None:
        if value := condition():
            return value
        time.sleep(0.05)
    raise Failed(f"did not start: {log.read_text(errors='replace')[-500:]}")


def answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@contextlib.contextmanager
def far_site(rig: dict[str, str], near: Site, work: pathlib.Path):
    """A second process over the same storage, and a relay before it and before the token server: a registry names its
    token server in each challenge, so only one of its own names the relay."""
    folder = pathlib.Path(rig["SPARKRUN_RIG_DIR"])
    port = free_port()
    token_port = urllib.parse.urlsplit(near.token_url).port
    relay_log, registry_log, settings = work / "relay.log", work / "registry.log", work / "registry.yml"
    with running([sys.executable, "-B", harness.ROOT / "tools/benchmarks/delay.py", str(DELAY_MS), str(port),
                  str(token_port)], relay_log) as relay:
        ports = wait_for(lambda: relay_log.read_text().split(), relay, relay_log)
        token_url = near.token_url.replace(f":{token_port}/", f":{ports[1]}/")
        text = (folder / "etc/registry-token.yml").read_text()
        settings.write_text(text.replace(near.address, f"127.0.0.1:{port}").replace(near.token_url, token_url))
        program = folder / "engine/usr/bin/docker-registry"
        with running([program, "serve", settings], registry_log) as process:
            wait_for(lambda: answers(port), process, registry_log)
            yield Site(f"127.0.0.1:{ports[0]}", token_url, near.service, registry_log, near.token_log)


def near_site(rig: dict[str, str]) -> Site:
    folder = pathlib.Path(rig["SPARKRUN_RIG_DIR"])
    settings = (folder / "etc/registry-token.yml").read_text()
    token_url = re.search(r'realm: "([^"]*)"', settings).group(1)
    service = re.search(r"service: ([^,]*),", settings).group(1)
    return Site(rig["SPARKRUN_RIG_TOKEN_REGISTRY"], token_url, service, folder / "log/registry-token.log",
                folder / "log/token-server.log")


# Who asks.


class Tool:
    """A program that gives digests. Those that take one reference at a time are started once for each."""

    name = ""
    takes_many = False

    def __init__(self, program: pathlib.Path, version: str):
        self.program = str(program)
        self.version = version

    def prepare(self, site: Site, tags: list[str]) -> None:
        """What is not measured."""

    def command(self, site: Site, tags: list[str]) -> list[str]:
        raise NotImplementedError

    def digests(self, output: bytes, site: Site, tags: list[str]) -> list[str]:
        """In the order of the tags."""
        return output.decode().split()

    def resolve(self, runner: harness.Runner, site: Site, tags: list[str], digest_of: dict[str, str]) -> Cost:
        self.prepare(site, tags)
        count = site.request_count()
        total = Cost()
        for batch in [tags] if self.takes_many else [[tag] for tag in tags]:
            cost, output = runner.run(self.command(site, batch))
            if self.digests(output, site, batch) != [digest_of[tag] for tag in batch]:
                raise Failed(f"{self.name} gave other digests: {output[:300]!r}")
            total += cost
        return dataclasses.replace(total, requests=count.value())


class Sparkrun(Tool):
    name = "sparkrun"
    takes_many = True

    def __init__(self, program, version, authority: str):
        super().__init__(program, version)
        usage = subprocess.run([program, "resolve", "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
        # Before there was the option SSL_CERT_FILE did, which is set for all.
        self.trust = ["--cacert", authority] if "--cacert" in usage else []

    def command(self, site, tags):
        return [self.program, "resolve", *self.trust, *map(site.reference, tags)]

    def digests(self, output, site, tags):
        return [line.split()[0] for line in output.decode().splitlines()]


class Curl(Tool):
    """Bodies over HTTP/2, many at a time, with a token that was fetched before; nothing computes a digest."""

    name = "curl"
    takes_many = True

    def __init__(self, program, version, authority: str, folder: pathlib.Path):
        super().__init__(program, version)
        self.authority = authority
        self.settings = folder / "curl.conf"

    def url(self, site: Site, tag: str) -> str:
        return f"https://{site.address}/v2/{REPOSITORY}/manifests/{tag}"

    def prepare(self, site, tags):
        options = [
            "silent", "show-error", "fail", "http2", "parallel", f"parallel-max = {min(len(tags), 250)}",
            f'cacert = "{self.authority}"', f'header = "Authorization: Bearer {anonymous_token(site)}"',
            f'header = "Accept: {",".join(registry.MANIFEST_TYPES)}"',
            r'write-out = "%{url} %header{docker-content-digest}\n"',
        ]
        for tag in tags:
            options += [f'url = "{self.url(site, tag)}"', 'output = "/dev/null"']
        self.settings.write_text("\n".join(options) + "\n")

    def command(self, site, tags):
        return [self.program, "--disable", "--config", str(self.settings)]

    def digests(self, output, site, tags):
        digest_of = dict(line.split() for line in output.decode().splitlines())
        return [digest_of.get(self.url(site, tag), "") for tag in tags]


def anonymous_token(site: Site) -> str:
    query = urllib.parse.urlencode({"service": site.service, "scope": f"repository:{REPOSITORY}:pull"})
    with contextlib.closing(registry.connect(site.token_url)) as connection:
        connection.request("GET", f"{urllib.parse.urlsplit(site.token_url).path}?{query}")
        return json.load(connection.getresponse())["token"]


class Skopeo(Tool):
    """Prints the manifest, over which a script would have to compute the digest: its cheapest way."""

    name = "skopeo"

    def command(self, site, tags):
        return [self.program, "inspect", "--raw", f"docker://{site.reference(tags[0])}"]

    def digests(self, output, site, tags):
        return ["sha256:" + hashlib.sha256(output).hexdigest()]


class Crane(Tool):
    name = "crane"

    def command(self, site, tags):
        return [self.program, "digest", site.reference(tags[0])]


class Oras(Tool):
    name = "oras"

    def command(self, site, tags):
        return [self.program, "resolve", site.reference(tags[0])]


class Regctl(Tool):
    name = "regctl"

    def command(self, site, tags):
        return [self.program, "image", "digest", site.reference(tags[0])]


def find(name: str) -> pathlib.Path | None:
    found = shutil.which(name, path=f"{PEERS}/usr/bin:{os.environ['PATH']}:/usr/bin")
    return pathlib.Path(found) if found else None


def version_of(program: pathlib.Path, *question: str) -> str:
    told = PEERS / f"{program.name}.version"
    if program.is_relative_to(PEERS) and told.exists():
        return told.read_text().strip()
    # curl goes on with all its libraries.
    return " ".join(harness.first_line(program, *question).split()[:5])


def find_tools(binary: pathlib.Path, authority: str, work: pathlib.Path) -> list[Tool]:
    tools = [Sparkrun(binary, harness.first_line(binary, "--version"), authority)]
    if curl := find("curl"):
        tools.append(Curl(curl, version_of(curl, "--version"), authority, work))
    for kind, question in ((Crane, "version"), (Oras, "version"), (Regctl, "version"), (Skopeo, "--version")):
        if program := find(kind.name):
            tools.append(kind(program, version_of(program, question)))
        else:
            say(f"{kind.name} is not there" + ("; `tools/bench peers` fetches it" if kind in (Crane, Oras) else ""))
    return tools


# What is measured.


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    title: str
    tags: int
    rounds: int
    is_far: bool = False


CASES = [
    Case("1", "1 tag", 1, 15),
    Case("50", "50 tags", 50, 5),
    Case("100-far", f"100 tags, answers {DELAY_MS} ms later", 100, 5, is_far=True),
    Case("1000-far", f"1000 tags, answers {DELAY_MS} ms later", 1000, 5, is_far=True),
]
START = Case("start", "`sparkrun --version`", 0, 15)


def measure(case: Case, rounds: int, tools: list[Tool], runner: harness.Runner, site: Site,
            digest_of: dict[str, str]) -> dict[str, Cost]:
    tags = TAGS[:case.tags]
    usable = [tool for tool in tools if tool.takes_many or not case.is_far]
    say(f"{case.title}: {rounds} rounds of {', '.join(tool.name for tool in usable)}")
    return harness.medians(harness.interleave(
        rounds, {tool.name: lambda tool=tool: tool.resolve(runner, site, tags, digest_of) for tool in usable}
    ))


def working(tools: list[Tool], runner: harness.Runner, site: Site, digest_of: dict[str, str]) -> list[Tool]:
    """A peer that cannot do it at all is left out."""
    good = []
    for tool in tools:
        try:
            tool.resolve(runner, site, TAGS[:1], digest_of)
            good.append(tool)
        except Failed as failure:
            if tool.name == "sparkrun":
                raise
            say(f"{tool.name} is left out: {failure}")
    return good


# What is said.


def costs_table(costs: dict[str, Cost]) -> str:
    rows = [[name, f"{cost.wall_s * 1000:.1f} ms", f"{cost.cpu_s * 1000:.1f} ms", f"{cost.rss_kib / 1024:.1f} MiB",
             f"{cost.requests:g}"] for name, cost in costs.items()]
    return harness.table(["", "wall", "CPU", "peak RSS", "requests"], rows)


def ratios_table(costs: dict[str, Cost]) -> str:
    own = costs["sparkrun"]
    rows = [[name, *(f"{getattr(cost, field) / getattr(own, field):.2f}" if getattr(own, field) else "-"
                     for field in ("wall_s", "cpu_s", "rss_kib", "requests"))]
            for name, cost in costs.items() if name != "sparkrun"]
    return harness.table(["sparkrun = 1", "wall", "CPU", "peak RSS", "requests"], rows)


def goals(results: dict[str, dict[str, Cost]]) -> list[Goal]:
    def value(case: str, tool: str, field: str) -> float | None:
        cost = results.get(case, {}).get(tool)
        return getattr(cost, field) if cost else None

    def ratio(case: str, tool: str, field: str) -> float | None:
        one, other = value(case, "sparkrun", field), value(case, tool, field)
        return one / other if one is not None and other else None

    def growth(tool: str) -> float | None:
        one, other = value("1000-far", tool, "wall_s"), value("100-far", tool, "wall_s")
        return one / other if one is not None and other else None

    curls_hundred, curls_growth = value("100-far", "curl", "wall_s"), growth("curl")
    start = value("start", "sparkrun", "wall_s")
    return [
        Goal("1 tag: wall at most that of crane", 1.0, ratio("1", "crane", "wall_s"), " x"),
        Goal("1 tag: at most 3 requests", 3, value("1", "sparkrun", "requests")),
        Goal("1 tag: peak RSS at most 1.3 x curl", 1.3, ratio("1", "curl", "rss_kib"), " x"),
        Goal("50 tags: wall at most 0.15 x 50 calls of crane", 0.15, ratio("50", "crane", "wall_s"), " x"),
        Goal("50 tags: wall at most 1.5 x one curl", 1.5, ratio("50", "curl", "wall_s"), " x"),
        Goal(f"100 tags, {DELAY_MS} ms: at most 1 s", 1.0, value("100-far", "sparkrun", "wall_s"), " s",
             f"curl {curls_hundred:.3g} s" if curls_hundred else ""),
        Goal(f"1000 tags, {DELAY_MS} ms: at most 3 x 100 tags", 3.0, growth("sparkrun"), " x",
             f"curl {curls_growth:.3g} x" if curls_growth else ""),
        Goal("start (`--version`): at most 10 ms", 10, start * 1000 if start else None, " ms"),
    ]


def report(binary: pathlib.Path, tools: list[Tool], rig: dict[str, str], load: float, results: dict[str, dict[str, Cost]],
           counts: dict[str, int]) -> str:
    engine = pathlib.Path(rig["SPARKRUN_RIG_DIR"]) / "engine/usr/bin/docker-registry"
    versions = [f"{tool.name}: {tool.version.removeprefix(tool.name).strip()}" for tool in tools]
    registry_version = harness.first_line(engine, "--version").removeprefix(str(engine)).strip()
    facts = [*harness.machine(load), f"binary: `{binary}`", *versions, f"registry: {registry_version}"]
    lines = ["# `sparkrun resolve` beside others", "", *(f"- {fact}" for fact in facts), "", NOTES, ""]
    for case in [*CASES, START]:
        if case.name in results:
            lines += [f"## {case.title} (median of {counts[case.name]})", "", costs_table(results[case.name]), ""]
            if len(results[case.name]) > 1:
                lines += [ratios_table(results[case.name]), ""]
    lines += ["## Goals", "", harness.table(["", "measured", "", ""], [goal.row() for goal in goals(results)])]
    return "\n".join(lines)


NOTES = f"""\
Registry (distribution, TLS, tokens), token server and clients share this machine. Anonymous pull; the only CA is the
registry's; no settings, no caches. sparkrun and curl resolve all tags in one process, the others each in one, one after
another. curl fetches manifests over HTTP/2 with {min(len(TAGS), 250)} at a time at most and computes no digest; its token was fetched before and
is in none of its figures. skopeo prints the manifest (`inspect --raw`) and leaves the digest to the caller. CPU is user and
system time of the client alone. Where answers are late, those of the registry and of the token server are, each chunk by
{DELAY_MS} ms, the handshakes included. On few cores the registry's own work, some 2 ms a request, is most of what many tags take:
where curl takes as long, the client is not what is slow."""


# The command.


def main() -> None:
    names = [case.name for case in [*CASES, START]]
    rounds = ", ".join(f"{case.rounds} for {case.name}" for case in [*CASES, START])
    parser = harness.parser_of("resolve", __doc__, rounds)
    parser.add_argument("--case", action="append", choices=names, help="only this one; may be repeated")
    options = parser.parse_args()
    binary, load = harness.check_options(parser, options)
    rig = harness.rig_environment()
    authority = rig["SPARKRUN_RIG_CA"]
    os.environ |= {"RIG_CA": authority} | {f"RIG_{name}": rig[f"SPARKRUN_RIG_{name}"] for name in ("USER", "PASSWORD")}
    wanted = [case for case in [*CASES, START] if not options.case or case.name in options.case]
    counts = {case.name: options.rounds or case.rounds for case in wanted}

    with tempfile.TemporaryDirectory(prefix="sparkrun-bench-") as folder, contextlib.ExitStack() as ends:
        work = pathlib.Path(folder)
        # Programs in Go would else read all CAs of the machine beside the one, which the others do not.
        (work / "no-cas").mkdir()
        runner = harness.Runner(work, {"SSL_CERT_FILE": authority, "SSL_CERT_DIR": str(work / "no-cas")})
        digest_of = fill("https://" + rig["SPARKRUN_RIG_TOKEN_REGISTRY"], work / "images")
        near = near_site(rig)
        far = ends.enter_context(far_site(rig, near, work)) if any(case.is_far for case in wanted) else None
        tools = working(find_tools(binary, authority, work), runner, near, digest_of)
        results = {}
        for case in wanted:
            if case is START:
                results["start"] = harness.medians(harness.interleave(
                    counts["start"], {"sparkrun": lambda: runner.run([str(binary), "--version"])[0]}
                ))
            else:
                site = far if case.is_far else near
                results[case.name] = measure(case, counts[case.name], tools, runner, site, digest_of)
    print(report(binary, tools, rig, load, results, counts))


if __name__ == "__main__":
    # An exit like any other, so that what was started is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        main()
    except (Failed, registry.Refused, OSError) as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
