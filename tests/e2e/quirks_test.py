# SPDX-License-Identifier: MIT
"""`sparkrun resolve` against every quirk of quirks.py: no digest is wrong, no wait without end, no secret astray.

`quirks_test.py --table [QUIRK...]` prints the outcome of all rows, or of these, as Markdown, and ends with 1 when one
is wrong; `quirks_test.py --write` puts the table into docs/registry-quirks.md.
"""

import base64
import concurrent.futures
import dataclasses
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

from quirk_server import ARM64, INDEX, LARGE, LIST, ONLY_ARM64, OTHER, PASSWORD, USER, Content, QuirkServer
from quirks import QUIRKS
from support import BINARY, ROOT, Result, own_environment

PAGE = ROOT / "docs/registry-quirks.md"
MARKS = ("<!-- quirks_test.py --write -->\n", "<!-- end -->\n")
PATIENCE_S = 20
AT_ONCE = 12  # rows under way side by side; most of them wait

PASSWORD_STORED = {"username": USER, "password": PASSWORD}
IDENTITY_STORED = {"auth": base64.b64encode(b"00000000-0000-0000-0000-000000000000:").decode(),  # as ACR has it
                   "identitytoken": PASSWORD}
BY_DIGEST = (f"@{INDEX.digest}",)
TAG_AND_DIGEST = (f":1@{INDEX.digest}",)
IMPATIENT = {"SPARKRUN_CONNECT_TIMEOUT": "1", "SPARKRUN_FIRST_BYTE_TIMEOUT": "1", "SPARKRUN_REQUEST_TIMEOUT": "2",
             "SPARKRUN_REFERENCE_TIMEOUT": "3"}


def platform(name):
    return ("--platform", name)


@dataclasses.dataclass(frozen=True)
class Row:
    """What is right for one quirk."""

    quirk: str
    wanted: Content | str = INDEX  # what has the right digest, or an error id
    source: str = ""  # entries of trackers, as project#number
    requests: int = 1  # at most so many
    hellos: int = 0  # attempts with TLS, of which the server sees no request
    options: tuple = ()
    references: tuple = (":1",)  # what stands behind the repository's name
    login: dict | None = None  # the registry's entry in docker's config.json
    environment: dict = dataclasses.field(default_factory=dict)
    seconds: tuple = (0, 10)  # at least, at most
    tells: dict = dataclasses.field(default_factory=dict)  # a.b -> value, in the answer's JSON
    says: tuple = ()  # in the message, the hint or on stderr
    warns: bool = False


ARM = platform("linux/arm64")
ROWS = {
    "The digest header": [
        Row("no-digest-header", source="ggcr#971, containerd#3238, oras#1318, distribution#3792"),
        Row("false-digest-header", "registry.content_mismatch"),
        Row("digest-of-the-index", "registry.content_mismatch", source="ggcr#56, distribution#2395"),
        Row("bare-digest-header", source="kaniko#298"),
        Row("malformed-digest-header"),
        Row("empty-digest-header"),
        Row("sha512-digest-header"),
        Row("other-content-by-digest", "registry.content_mismatch", source="oci-client#149", references=BY_DIGEST),
    ],
    "The body and its type": [
        Row("no-content-type"),
        Row("text-plain", source="ggcr#971, regclient#363"),
        Row("octet-stream"),
        Row("web-page", "registry.not_a_registry", says=("web page",)),
        Row("other-json", "registry.not_a_registry"),
        Row("empty-body", "registry.not_a_registry"),
        Row("contradicting-type", "registry.not_a_registry"),
        Row("two-in-one", "registry.not_a_registry"),
        Row("schema-1", "registry.not_a_registry", says=("schemaVersion 1",)),
        Row("accept-decides", source="containerd#4397, containerd#5632"),
        Row("docker-list", LIST),
        Row("large-index", LARGE),
        Row("manifest-of-20-mib", "registry.not_a_registry", says=("too much",)),
        Row("endless-body", "registry.not_a_registry", says=("too much",)),
        Row("truncated-body", "registry.failed", requests=3, says=("cut off",)),
        Row("truncated-chunks", "registry.failed", requests=3, says=("cut off",)),
        Row("no-length", source="containerd#3110"),
        Row("no-length-truncated", "registry.not_a_registry"),
        Row("empty-length", "registry.failed", requests=3),
        Row("small-length", "registry.not_a_registry"),
        Row("always-gzip"),
        Row("gzip-when-asked", source="quay#1310"),
        Row("undeclared-gzip", "registry.not_a_registry"),
        Row("false-gzip", "registry.failed", requests=3),
        Row("gzip-bomb", "registry.not_a_registry", says=("too much",)),
        Row("deep-json", "registry.not_a_registry"),
        Row("key-twice", "registry.not_a_registry"),
    ],
    "A tag beside a digest": [
        Row("tag-and-digest", source="skopeo#2367, skopeo#2745", requests=2, references=TAG_AND_DIGEST,
            tells={"tag.name": "1", "tag.digest": INDEX.digest, "tag.moved": False}),
        Row("tag-has-moved", source="rpm-lockfile-prototype#15, docker/cli#4545", requests=3,
            references=TAG_AND_DIGEST, tells={"tag.digest": OTHER.digest, "tag.moved": True}),
        Row("tag-of-the-index", ARM64, requests=3, references=(f":1@{ARM64.digest}",),
            tells={"tag.digest": INDEX.digest, "tag.moved": False}),
        Row("tag-is-gone", requests=3, references=TAG_AND_DIGEST, tells={"tag.gone": True}),
        Row("tag-is-limited", source="k8s-digester#2", requests=2, references=TAG_AND_DIGEST,
            tells={"tag.digest": None, "tag.gone": False}),
        *[Row(quirk, source=source, requests=3, references=TAG_AND_DIGEST,
              tells={"tag.digest": INDEX.digest, "tag.moved": False})
          for quirk, source in {
              "head-405": "", "head-404": "diun#1614, watchtower#669", "head-403": "containerd#6684", "head-400": "",
              "head-without-digest": "", "head-with-other-digest": "", "head-with-malformed-digest": ""}.items()],
        Row("head-without-length", requests=2, references=TAG_AND_DIGEST,
            tells={"tag.digest": INDEX.digest, "tag.moved": False}),
        Row("blob-of-that-digest", "registry.not_found", source="containerd#7390", references=BY_DIGEST),
    ],
    "Logging in": [
        Row("three-tags", references=(":1", ":2", ":3"), requests=5),
        Row("access-token", source="ggcr#54", requests=3),
        Row("both-tokens", source="ggcr#54", requests=3),
        Row("null-token", requests=3),
        Row("no-expiry", source="containerd#8735", references=(":1", ":2", ":3"), requests=5),
        Row("clock-skew", source="containerd#8735", references=(":1", ":2", ":3"), requests=5),
        Row("realm-only", source="ggcr#728, rules_oci#511", requests=3),
        Row("no-service", source="watchtower#1894", requests=3),
        Row("empty-scope", source="torizoncore-builder#131, containerd#3556", requests=3),
        Row("scope-of-push", source="docker/cli#1010", requests=3),
        Row("quoted-comma", source="charliecloud#1336", requests=3),
        Row("quoted-blanks", source="charliecloud#1336", requests=3),
        Row("unquoted", source="genuinetools/reg#72", requests=3),
        Row("other-case", requests=3),
        Row("negotiate-first", source="ggcr#1075", requests=3),
        Row("basic-first", requests=3),
        Row("one-header", source="prowler#12691", requests=3),
        Row("relative-realm", source="regclient#265", requests=3),
        Row("realm-is-the-root", source="regclient#265", requests=3),
        Row("realm-with-query", requests=3),
        Row("realm-elsewhere", requests=3),
        Row("password-for-realm", requests=3, login=PASSWORD_STORED),
        Row("token-403", "registry.login_needed", source="ironclaw#583, tunnel-client#75, openappsec#306",
            requests=2, says=("DENIED: requested access to the resource is denied", "docker login")),
        Row("token-401", "registry.login_needed", source="LlamaFactory#4765", requests=2,
            says=("anonymous access is not allowed", "docker login")),
        Row("token-503-once", requests=4),
        Row("token-page", "registry.failed", requests=2, says=("no token",)),
        Row("token-20-mib", "registry.not_a_registry", requests=2, says=("too much",)),
        Row("token-with-line-end", "registry.failed", requests=2, says=("no token",)),
        Row("token-silent", "registry.timeout", requests=3, environment=IMPATIENT, seconds=(1, 6)),
        Row("basic-only", "registry.login_needed", source="genuinetools/reg#10", says=("docker login",)),
        Row("basic-with-password", source="enroot#143", requests=2, login=PASSWORD_STORED),
        Row("basic-refused", "registry.credentials_refused", requests=2, login=PASSWORD_STORED | {"password": "x"}),
        Row("basic-expired", "registry.denied", source="ecr-credential-helper#7", requests=2, login=PASSWORD_STORED,
            says=("token has expired",)),
        Row("stale-password", source="megalinter#4285, moby#8376", requests=4, login=PASSWORD_STORED, warns=True),
        Row("identity-token", source="ggcr#421, generate-build-provenance#114, nerdctl#737", requests=3,
            login=IDENTITY_STORED),
        Row("identity-token-404", source="ggcr#421", requests=4, login=IDENTITY_STORED),
        Row("identity-token-405", source="ggcr#421", requests=4, login=IDENTITY_STORED),
        Row("identity-token-stale", requests=4, login=IDENTITY_STORED, warns=True),
        Row("empty-challenge", "registry.denied", source="harbor#15252"),
        Row("no-challenge", "registry.denied"),
        Row("token-without-grants", "registry.login_needed", requests=3, says=("docker login",),
            source="distribution-library-image#146, hub-feedback#1103"),
        Row("expired-token", ARM64, options=ARM, requests=6),
        Row("other-realm-after-expiry", ARM64, source="nvidia-container-toolkit#1945", options=ARM, requests=7),
        Row("expired-token-400", ARM64, source="oras-go#1227, containers-roadmap#2835", options=ARM, requests=6),
        Row("always-400-with-token", "registry.failed", requests=5, says=("Your Authorization Token is invalid.",)),
    ],
    "Refusals": [
        Row("not-found", "registry.not_found", source="k8s-digester#2, acorn#1441",
            says=("MANIFEST_UNKNOWN: manifest unknown to this registry",)),
        Row("not-found-unknown", "registry.not_found", source="harbor#7944", says=("artifact quirk:1 not found",)),
        Row("not-found-page", "registry.not_a_registry"),
        Row("denied", "registry.denied", source="containerd#6684, k8s-digester#2",
            says=("DENIED: your address is blocked",)),
        Row("denied-in-text", "registry.denied", source="enroot#143", says=("Not Authorized",)),
        Row("ping-404", source="diun#1395"),
    ],
    "Limits and retries": [
        Row("rate-limit-headers", tells={"rate_limit.limit": 100, "rate_limit.remaining": 98,
                                         "rate_limit.window_seconds": 21600}),
        Row("strange-rate-limit-headers", tells={"rate_limit": None}),
        Row("limited-once", source="c/image#618, ggcr#1569, buildx#3630", requests=2, seconds=(1, 4),
            options=("--verbose",), says=("trying again",)),
        Row("limited-until-date", source="containerd#10447", requests=2, seconds=(0.9, 5)),
        Row("limited-until-fast-date", requests=2, seconds=(0.9, 5)),
        Row("limited-until-slow-date", requests=2, seconds=(0.9, 5)),
        Row("limited-until-past", requests=2),
        Row("limited-until-date-without-clock", requests=2),
        Row("limited-once-bare", requests=2),
        Row("limited-soon", requests=2),
        Row("limited-always", "registry.rate_limited", requests=3, seconds=(0.6, 10),
            says=("slow down",)),
        Row("limited-always-1", "registry.rate_limited", requests=3, seconds=(2, 8)),
        Row("limited-for-an-hour", "registry.rate_limited", source="regclient#711", says=("3600 s",),
            tells={"error.details.retry_after_seconds": "3600"}, seconds=(0, 2)),
        Row("limited-for-ever", "registry.rate_limited"),
        Row("unavailable-once", requests=2),
        Row("unavailable-for-a-second", requests=2, seconds=(1, 4)),
        Row("bad-gateway-once", requests=2),
        Row("unavailable", "registry.failed", requests=3, seconds=(0.6, 10), says=("down for maintenance",)),
    ],
    "Slow, broken and endless answers": [
        *[Row(quirk, "registry.timeout", requests=2, environment=IMPATIENT, seconds=(1, 6))
          for quirk in ("silent", "dripping", "stalled-body", "dripping-headers")],
        Row("endless-headers", "registry.not_a_registry", says=("too much",)),
        Row("endless-header-line", "registry.failed", requests=3),
        Row("endless-interim-answers", "registry.not_a_registry", says=("too much",)),
        Row("interim-answer"),
        Row("no-http", "registry.failed", requests=4),
        Row("closes", "registry.failed", requests=4),
        Row("reset-once", requests=2, hellos=1),
    ],
    "Redirects": [
        Row("redirect-to-port", source="oras-java#334, GHSA-vh4v-2xq2-g5cg", requests=4),
        Row("redirect-to-host", source="oras-java#334", requests=4),
        Row("redirect-within", source="moby#45333", requests=4),
        Row("redirect-relative", requests=4),
        Row("blob-elsewhere", ARM64, options=ARM, requests=5),
        Row("redirect-to-page", "registry.not_a_registry", requests=2, says=("web page",)),
        Row("redirect-to-login", "registry.denied", requests=2, login=PASSWORD_STORED),
        Row("redirect-loop", "registry.failed", requests=6),
        Row("five-redirects", requests=6),
        Row("six-redirects", "registry.failed", requests=6),
        Row("redirect-to-file", "registry.failed"),
        Row("redirect-nowhere", "registry.failed"),
    ],
    "Platforms": [
        Row("arm64-for-v8", ARM64, source="c/image#898", options=platform("linux/arm64/v8")),
        Row("v8-for-arm64", ARM64, source="c/image#898", options=ARM),
        Row("v9-before-v8", ARM64, options=ARM),
        Row("only-v9", "registry.platform_missing", options=ARM, says=("linux/arm64/v9",)),
        Row("two-for-arm64", ARM64, options=ARM, warns=True),
        Row("nested-index", ARM64, options=ARM, requests=2),
        Row("false-nested-index", "registry.content_mismatch", options=ARM, requests=2),
        Row("indexes-eight-deep", "registry.platform_missing", options=ARM, requests=3),
        Row("no-platform", "registry.platform_missing", options=ARM, says=("no platform",)),
        Row("attestation-first", ARM64, options=ARM),
        Row("windows-first", ARM64, options=ARM),
        Row("only-amd64", "registry.platform_missing", source="dbtrail#388", options=ARM, says=("it has linux/amd64",)),
        Row("no-amd64", ONLY_ARM64, source="skopeo#729"),
        Row("single-arm64", ARM64, options=ARM, requests=2),
        Row("single-amd64", "registry.platform_missing", options=ARM, requests=2, says=("it has linux/amd64",)),
        Row("thousand-entries", "registry.not_a_registry"),
    ],
}


@dataclasses.dataclass
class Outcome:
    """What happened; `result` is nothing when sparkrun had to be stopped."""

    result: Result | None
    seconds: float
    requests: list
    registry: str

    @property
    def answers(self):
        return json.loads(self.result.out) if self.result and self.result.out else []


def play(row, server):
    """Runs sparkrun for one row."""
    name = f"{server.registry}/quirk/{row.quirk}"
    command = [BINARY, "resolve", "--json", *row.options, *(name + reference for reference in row.references)]
    with tempfile.TemporaryDirectory(prefix="sparkrun-quirk-") as place:
        folder = pathlib.Path(place)
        environment = own_environment(folder) | row.environment
        if row.login:
            (folder / "home/.docker").mkdir()
            (folder / "home/.docker/config.json").write_text(json.dumps({"auths": {server.registry: row.login}}))
        begin = time.monotonic()
        try:
            done = subprocess.run(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, timeout=PATIENCE_S, check=False)
            result = Result(done.returncode, done.stdout, done.stderr)
        except subprocess.TimeoutExpired:
            result = None
    return Outcome(result, time.monotonic() - begin, server.requests(row.quirk), server.registry)


def play_all(rows):
    """Row -> its outcome; and what was asked beside all of them."""
    with QuirkServer() as server, concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        # Those that wait begin first.
        order = sorted(rows, key=lambda row: (-row.seconds[0], row.requests == 1))
        futures = {row.quirk: pool.submit(play, row, server) for row in order}
        return {row.quirk: futures[row.quirk].result() for row in rows}, server.requests("")


def value_at(answer, path):
    for key in path.split("."):
        answer = answer.get(key) if isinstance(answer, dict) else None
    return answer


def is_astray(request):
    """Whether a secret is where it does not belong: off the registry only a password for a realm may be seen."""
    secret = request.headers.get("Authorization", "")
    is_for_realm = request.path.startswith("/token") and secret.startswith("Basic ")
    return request.origin != "registry" and secret and not is_for_realm


def faults_of_answer(row, outcome, answer):
    error = answer.get("error", {})
    wanted = row.wanted if isinstance(row.wanted, str) else row.wanted.digest
    if (error.get("id") or answer.get("digest")) != wanted:
        yield f"not `{wanted}`" if isinstance(row.wanted, str) else "not the right digest"
    for path, value in row.tells.items():
        if value_at(answer, path) != value:
            yield f"`{path}` is {json.dumps(value_at(answer, path))}"
    words = json.dumps([error.get("message"), error.get("hint"), outcome.result.err], ensure_ascii=False)
    yield from (f"does not say “{text}”" for text in row.says if text not in words)
    if row.warns and not answer.get("warnings"):
        yield "no warning"
    if error:
        return
    if "requests" not in answer:
        yield "does not tell its requests"
    if answer.get("endpoint") != f"http://{outcome.registry}":
        yield "does not tell whom it asked"


def faults(row, outcome):
    """All that is wrong, in words."""
    if outcome.result is None:
        return [f"no end within {PATIENCE_S} s"]
    result, answers = outcome.result, outcome.answers
    if len(answers) != len(row.references):
        return [f"exit {result.code}: {result.err.strip()}"]
    found = list(dict.fromkeys(fault for answer in answers for fault in faults_of_answer(row, outcome, answer)))
    exits = {answer.get("error", {}).get("exit_code", 0) for answer in answers}
    if exits != {result.code}:
        found.append(f"exit {result.code}")
    told = sum(answer.get("requests", 0) for answer in answers)
    if told and told != len(outcome.requests) + row.hellos:
        found.append(f"tells of {told} requests")
    if len(outcome.requests) > row.requests:
        found.append(f"more than {row.requests} requests")
    least, most = row.seconds
    if not least <= outcome.seconds <= most:
        found.append(f"not within {least:g} to {most:g} s")
    if any(map(is_astray, outcome.requests)):
        found.append("a secret went to another origin")
    if re.search(rf"{PASSWORD}|s3cret", result.out + result.err):
        found.append("prints a secret")
    return found


def description(row, outcome):
    """What sparkrun does, for the table."""
    ids = sorted({answer.get("error", {}).get("id", "") for answer in outcome.answers} - {""})
    parts = [", ".join(f"`{each}`" for each in ids) or ("the digest" if outcome.answers else "nothing")]
    if faults(row, outcome):
        return parts[0]
    parts += [f"`{path}` {json.dumps(value)}" for path, value in row.tells.items() if "digest" not in path]
    parts += [f"says “{text}”" for text in row.says]
    parts += ["a warning"] if row.warns else []
    parts += [f"after {row.seconds[0]:g} to {row.seconds[1]:g} s"] if row.seconds[0] else []
    return ", ".join(parts)


def table(outcomes):
    """The rows that were played, as Markdown; and whether all of them are right."""
    lines, is_right = [], True
    for group, rows in ROWS.items():
        played = [row for row in rows if row.quirk in outcomes]
        if not played:
            continue
        lines += [f"### {group}", "",
                  "| `quirk/` | the server | seen in | sparkrun | requests | |", "|---|---|---|---|--:|---|"]
        for row in played:
            outcome = outcomes[row.quirk]
            wrong = faults(row, outcome)
            is_right = is_right and not wrong
            cells = [f"`{row.quirk}`", QUIRKS[row.quirk].title, row.source, description(row, outcome),
                     str(len(outcome.requests)), "WRONG: " + "; ".join(wrong) if wrong else "right"]
            lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines), is_right


def all_rows():
    return [row for rows in ROWS.values() for row in rows]


class Quirks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.outcomes, cls.strays = play_all(all_rows())

    def test_every_row_is_right(self):
        for row in all_rows():
            with self.subTest(row.quirk):
                outcome = self.outcomes[row.quirk]
                result = outcome.result or Result(None, "", "")
                asked = "\n".join(f"{each.origin}: {each.method} {each.path}" for each in outcome.requests)
                self.assertEqual(faults(row, outcome), [],
                                 f"\n{asked}\nafter {outcome.seconds:.2f} s\n{result.out}\n{result.err}")

    def test_every_quirk_has_one_row(self):
        self.assertEqual(sorted(row.quirk for row in all_rows()), sorted(QUIRKS))

    def test_nothing_else_is_asked(self):
        self.assertEqual(self.strays, [], "no ping, no probe")

    def test_the_page_has_this_table(self):
        self.assertEqual(page_parts()[1], table(self.outcomes)[0], "run quirks_test.py --write")

    def test_the_page_names_rows_and_tests_that_exist(self):
        tests = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*_test.cpp"))
        known = {"{}.{}".format(*found) for found in re.findall(r"^TEST(?:_F)?\((\w+), (\w+)\)", tests, re.MULTILINE)}
        known |= {f"quirk/{name}" for name in QUIRKS}
        named = re.findall(r"`((?:quirk/[a-z0-9]|[A-Z]\w+\.[A-Z])[\w-]+)`", page_parts()[2])

        self.assertEqual([name for name in named if name not in known], [])


def page_parts():
    """The page before, in and after its table."""
    begin, end = MARKS
    before, _, rest = PAGE.read_text().partition(begin)
    inner, _, after = rest.partition(end)
    return before + begin, inner, end + after


def main(mode, *names):
    outcomes, strays = play_all([row for row in all_rows() if not names or row.quirk in names])
    text, is_right = table(outcomes)
    if mode == "--write":
        before, _, after = page_parts()
        PAGE.write_text(before + text + after)
    else:
        print(text)
    for stray in strays:
        print(f"also asked: {stray.method} {stray.path}", file=sys.stderr)
    return 0 if is_right and not strays else 1


if __name__ == "__main__":
    if sys.argv[1:2] in (["--table"], ["--write"]):
        sys.exit(main(*sys.argv[1:]))
    unittest.main()
