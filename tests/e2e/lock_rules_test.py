# SPDX-License-Identifier: MIT
"""What a lockfile goes through: git's merges, hands and editors, crashes, full and read-only disks, other processes.

Whatever happens, a lock that sparkrun accepts names one build for all its platforms, and what it does not accept it
names and leaves alone. Profiles have tags of their own in the plain registry, which are gone afterwards.
"""

import dataclasses
import json
import os
import pathlib
import random
import re
import shutil
import stat
import subprocess
import tempfile
import time
import unittest
import urllib.request

from support import BINARY, MANIFEST_TYPES, RigTest, own_environment, rig_environment

REPOSITORY = "nvidia/pytorch"
# Build -> the tag of the rig whose index it is, with a digest of its own. `resigned` has the platforms of `old`.
BUILDS = {"old": "25.09-py3", "resigned": "25.09-py3", "new": "25.10-py3", "other": "25.09-both"}
PROFILES = ("finetune", "serve", "evaluate", "notebook")
ARM64, AMD64 = "linux/arm64", "linux/amd64"
BOTH = (AMD64, ARM64)
COMMENT = "# Written by `sparkrun lock`. Commit this file.\n"
AS_ROOT = () if os.geteuid() == 0 else ("sudo", "-n", "--")
NO_GIT_CONFIG = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
KILLS = 200
ROUNDS_TOGETHER = 20


class Tags:
    """Tags that only these tests use, each on one of BUILDS; and the lock that is right for each build."""

    def __init__(self):
        self.registry = rig_environment()["SPARKRUN_RIG_REGISTRY"]
        self.index, self.digest, self.at, self.pinned = {}, {}, {}, {}

    def publish(self):
        for build, tag in BUILDS.items():
            index = json.loads(self.send("GET", tag))
            self.index[build] = json.dumps(index | {"annotations": {"sparkrun.lock-rules": build}}).encode()
            self.point(build, build)

    def send(self, method, reference, body=None):
        headers = {"Accept": MANIFEST_TYPES} | ({"Content-Type": MANIFEST_TYPES.split(",")[0]} if body else {})
        request = urllib.request.Request(f"http://{self.registry}/v2/{REPOSITORY}/manifests/{reference}", body, headers,
                                         method=method)
        with urllib.request.urlopen(request, timeout=10) as response:
            self.answered = response.headers
            return response.read()

    def point(self, name, build):
        """Lets the tag of that name point at the build."""
        if self.at.get(name) != build:
            self.send("PUT", f"lock-rules-{name}", self.index[build])
            self.digest[build] = self.answered["Docker-Content-Digest"]
            self.at[name] = build

    def image(self, name):
        return f"{self.registry}/{REPOSITORY}:lock-rules-{name}"

    def remove(self):
        """A manifest takes the tags that point at it along."""
        for digest in self.digest.values():
            self.send("DELETE", digest)

    def learn(self):
        """What `sparkrun lock` writes when nothing disturbs it."""
        with tempfile.TemporaryDirectory(prefix="sparkrun-e2e-") as name:
            folder = pathlib.Path(name)
            (folder / "project/profiles").mkdir(parents=True)
            kinds = [(build, platforms) for build in BUILDS for platforms in (BOTH, (ARM64,), (AMD64,))]
            for number, (build, platforms) in enumerate(kinds):
                (folder / f"project/profiles/p{number}.toml").write_text(
                    profile_text(self.image(build), platforms))
            subprocess.run([BINARY, "lock"], cwd=folder / "project", env=own_environment(folder), check=True,
                           capture_output=True)
            for number, (build, platforms) in enumerate(kinds):
                text = (folder / f"project/lockfiles/p{number}.lock").read_text()
                assert f'index = "{self.digest[build]}"' in text and text.startswith(COMMENT), text
                self.pinned[build, platforms] = text

    def text(self, name, build, platforms=BOTH, comment=COMMENT):
        """The one right lock of a profile whose tag is `name`, at that build."""
        text = self.pinned[build, platforms].replace(f'"{self.image(build)}"', f'"{self.image(name)}"')
        return comment + text.removeprefix(COMMENT)


def profile_text(image, platforms=BOTH, more=""):
    return f'version = 1\nimage = "{image}"\nplatforms = {json.dumps(list(platforms))}\n{more}'


def without_details(text):
    """An incomplete lock: what a person would write by hand."""
    text = re.sub(r'\n\[[^\n]*image_env\]\n[^\[]*', "\n", text)
    text = re.sub(r"(?m)^(chain|config|created|download_bytes) = .*\n", "", text)
    return text.rstrip("\n") + "\n"


def setUpModule():
    global tags
    tags = Tags()
    unittest.addModuleCleanup(tags.remove)
    tags.publish()
    tags.learn()


class LockRules(RigTest):
    def setUp(self):
        super().setUp()
        self.locks = self.project / "lockfiles"
        self.path = self.lockfile("job")

    def lockfile(self, name):
        return self.locks / f"{name}.lock"

    def write(self, name, tag=None, platforms=BOTH, image=None, more=""):
        """A profile, of its own tag unless it is told another image."""
        (self.project / f"profiles/{name}.toml").write_text(
            profile_text(image or tags.image(tag or name), platforms, more))

    def write_lock(self, name, text):
        self.locks.mkdir(exist_ok=True)
        self.lockfile(name).write_text(text)

    def job_at(self, build, **options):
        """The profile `job` with its tag, and its lock, there."""
        self.write("job", **options)
        tags.point("job", build)
        self.write_lock("job", tags.text("job", build, **options))

    def left_in(self, folder):
        return sorted(entry.name for entry in folder.iterdir())

    def mount(self, *options, at):
        subprocess.run([*AS_ROOT, "mount", *options, at], check=True)
        self.addCleanup(subprocess.run, [*AS_ROOT, "umount", at], check=True)


# What people do to a project between two commits. Each gives a function of the test that does it.

def update(name, build):
    def change(test):
        tags.point(name, build)
        test.sparkrun("lock", name, "--update")
    return change


def lock_again(name):
    return lambda test: test.sparkrun("lock", name)


def set_platforms(name, *wanted):
    def change(test):
        test.write(name, platforms=wanted)
        test.sparkrun("lock", name)
    return change


def add_profile(name, build):
    def change(test):
        test.write(name)
        tags.point(name, build)
        test.sparkrun("lock", name)
    return change


def set_comment(name, text):
    def change(test):
        test.lockfile(name).write_text(test.lockfile(name).read_text().replace(COMMENT, text))
    return change


def set_image(name, build):
    return lambda test: test.write(name, tag=build)


def delete_lock(name):
    return lambda test: test.lockfile(name).unlink()


@dataclasses.dataclass(frozen=True)
class Pair:
    """Two branches of a project of four profiles, and what is right once they meet."""

    claim: str
    left: tuple
    right: tuple
    # Without a conflict: lockfile -> (tag, build, ...) of Tags.text.
    merged: dict = dataclasses.field(default_factory=dict)
    check: int = 0  # of `lock --check` after the merge; what is not 0 is mended by `lock`
    # With one: the profile, and its lock after taking our side (the right branch) or theirs, and `lock`.
    conflict: str = ""
    ours: tuple = ()
    theirs: tuple = ()
    markers: bool = True  # False: git left no text between markers, as one side deleted the file
    either: bool = False  # git may merge this as well, but not into a lock of two builds that passes as one


MINE = "# Pinned for the March evaluation.\n# Ask before you move it.\n"

PAIRS = [
    Pair("two profiles updated on two branches",
         (update("finetune", "new"),), (update("evaluate", "new"),),
         {"finetune": ("finetune", "new"), "evaluate": ("evaluate", "new", (ARM64,))}),
    Pair("the same profile updated to the same digest on both",
         (update("finetune", "new"),), (update("finetune", "new"),), {"finetune": ("finetune", "new")}),
    Pair("the same profile updated two ways",
         (update("finetune", "new"),), (update("finetune", "other"),),
         conflict="finetune", ours=("finetune", "other"), theirs=("finetune", "new")),
    Pair("the same profile updated, on one side to an index with the old platforms",
         (update("finetune", "new"),), (update("finetune", "resigned"),),
         conflict="finetune", ours=("finetune", "resigned"), theirs=("finetune", "new")),
    Pair("all profiles updated on one side, one of them elsewhere on the other",
         tuple(update(name, "new") for name in PROFILES), (update("notebook", "other"),),
         {"finetune": ("finetune", "new"), "serve": ("serve", "new"), "evaluate": ("evaluate", "new", (ARM64,))},
         conflict="notebook", ours=("notebook", "other", (AMD64,)), theirs=("notebook", "new", (AMD64,))),
    Pair("a platform added above the one whose pin is updated",
         (set_platforms("evaluate", AMD64, ARM64),), (update("evaluate", "new"),), either=True,
         conflict="evaluate", ours=("evaluate", "new"), theirs=("evaluate", "old")),
    Pair("a platform added below the one whose pin is updated",
         (set_platforms("notebook", AMD64, ARM64),), (update("notebook", "new"),), either=True,
         conflict="notebook", ours=("notebook", "new"), theirs=("notebook", "old")),
    Pair("a platform added, and the index updated to one with the same platforms",
         (set_platforms("evaluate", AMD64, ARM64),), (update("evaluate", "resigned"),), either=True,
         conflict="evaluate", ours=("evaluate", "resigned"), theirs=("evaluate", "old")),
    Pair("a platform removed, and the pin updated",
         (set_platforms("finetune", ARM64),), (update("finetune", "new"),),
         conflict="finetune", ours=("finetune", "new", (ARM64,)), theirs=("finetune", "old", (ARM64,))),
    Pair("a platform removed, and the index updated to one with the same platforms",
         (set_platforms("finetune", ARM64),), (update("finetune", "resigned"),), either=True,
         conflict="finetune", ours=("finetune", "resigned", (ARM64,)), theirs=("finetune", "old", (ARM64,))),
    Pair("a profile added on each side",
         (add_profile("left", "new"),), (add_profile("right", "old"),),
         {"left": ("left", "new"), "right": ("right", "old")}),
    Pair("the same profile added on both sides, and locked to what its tag was then",
         (add_profile("left", "new"),), (add_profile("left", "old"),),
         conflict="left", ours=("left", "old"), theirs=("left", "new")),
    Pair("a comment edited, and the pin updated",
         (set_comment("finetune", MINE),), (update("finetune", "new"),), {"finetune": ("finetune", "new", BOTH, MINE)}),
    Pair("a comment edited two ways",
         (set_comment("finetune", MINE),), (set_comment("finetune", "# Theirs.\n"),),
         conflict="finetune", ours=("finetune", "old", BOTH, "# Theirs.\n"), theirs=("finetune", "old", BOTH, MINE)),
    Pair("an incomplete lock completed, and another profile updated",
         (lock_again("serve"),), (update("finetune", "new"),),
         {"serve": ("serve", "old"), "finetune": ("finetune", "new")}),
    Pair("an incomplete lock completed on both sides",
         (lock_again("serve"),), (lock_again("serve"),), {"serve": ("serve", "old")}),
    Pair("an incomplete lock completed on one side and updated on the other",
         (lock_again("serve"),), (update("serve", "new"),),
         conflict="serve", ours=("serve", "new"), theirs=("serve", "old")),
    Pair("another image without a new lock, and the pin of the old image updated",
         (set_image("finetune", "other"),), (update("finetune", "new"),), {"finetune": ("other", "other")}, check=3),
    Pair("another image with its lock, and the pin of the old image updated",
         (set_image("finetune", "other"), lock_again("finetune")), (update("finetune", "new"),),
         conflict="finetune", ours=("other", "other"), theirs=("other", "other")),
    Pair("a lock deleted, and updated on the other side",
         (delete_lock("finetune"),), (update("finetune", "new"),),
         conflict="finetune", ours=("finetune", "new"), theirs=("finetune", "new"), markers=False),
    Pair("a lock updated, and deleted on the other side",
         (update("finetune", "new"),), (delete_lock("finetune"),),
         conflict="finetune", ours=("finetune", "old"), theirs=("finetune", "new"), markers=False),
]


class Merge(LockRules):
    """`git merge` of the two branches of a pair."""

    def git(self, *words, code=0):
        settings = ("-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "init.defaultBranch=main",
                    "-c", f"merge.conflictStyle={self.style}")
        done = subprocess.run(["git", *settings, *words], cwd=self.project, capture_output=True, text=True,
                              env=self.environment | NO_GIT_CONFIG, check=False)
        if code is not None:
            self.assertEqual(done.returncode, code, f"git {words}\n{done.stdout}{done.stderr}")
        return done.stdout

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "change")

    def start(self):
        """A new repository: two profiles of both platforms, the lock of one incomplete, and one of each platform."""
        shutil.rmtree(self.project)
        (self.project / "profiles").mkdir(parents=True)
        wanted = dict.fromkeys(PROFILES, BOTH) | {"evaluate": (ARM64,), "notebook": (AMD64,)}
        for name, platforms in wanted.items():
            tags.point(name, "old")
            self.write(name, platforms=platforms)
            text = tags.text(name, "old", platforms)
            self.write_lock(name, without_details(text) if name == "serve" else text)
        self.git("init", "--quiet")
        self.commit()
        self.sparkrun("lock", "--check")

    def merge(self, pair, style="merge"):
        """Both branches, and the merge of the left one into the right one; the files in conflict."""
        self.style = style
        self.start()
        for branch, changes in (("left", pair.left), ("right", pair.right)):
            self.git("checkout", "--quiet", "-b", branch, "main")
            for name in PROFILES:
                tags.point(name, "old")
            for change in changes:
                change(self)
            self.commit()
        self.git("merge", "--quiet", "--no-edit", "left", code=None)
        return self.git("diff", "--name-only", "--diff-filter=U").split()

    def assert_locks(self, pair):
        for name, words in pair.merged.items():
            self.assertEqual(self.lockfile(name).read_text(), tags.text(*words))

    def assert_settled(self):
        """All is well, and `lock` has nothing to do; but for the incomplete lock that the project has had all along."""
        self.sparkrun("lock", "--check")
        self.sparkrun("lock", "serve")
        before = {path: path.read_bytes() for path in self.locks.iterdir()}
        self.sparkrun("lock")
        self.assertEqual({path: path.read_bytes() for path in self.locks.iterdir()}, before)

    def assert_named(self, name):
        """Every command says where the conflict is and what to do, and leaves the file as git left it."""
        path = self.lockfile(name)
        before = path.read_bytes()
        line = next(number for number, text in enumerate(before.decode().splitlines(), 1) if text.startswith("<<<<<<<"))
        for words in (("lock",), ("lock", name), ("lock", name, "--update"), ("lock", "--check"),
                      ("lock", name, "--check"), ("run", name, "--dry-run")):
            errors = self.sparkrun(*words, "--json", code=4).errors
            self.assertEqual([error["id"] for error in errors], ["lock.conflict"], words)
            self.assertIn(f"{path}:{line}:", errors[0]["message"], words)
            self.assertIn("take either side", errors[0]["hint"], words)
            self.assertIn("`sparkrun lock ", errors[0]["hint"], words)
            self.assertEqual(path.read_bytes(), before, words)

    def assert_either_side_will_do(self, pair):
        name = pair.conflict
        file = f"lockfiles/{name}.lock"
        for side, words in (("ours", pair.ours), ("theirs", pair.theirs)):
            with self.subTest(side=side):
                stage = {"ours": "2", "theirs": "3"}[side]
                if f" {stage}\t" in self.git("ls-files", "--unmerged", file):
                    self.git("checkout", f"--{side}", file)
                else:  # that side has deleted it
                    self.lockfile(name).unlink()
                    self.sparkrun("lock", name, "--check", code=4)
                self.sparkrun("lock", name)
                self.assertEqual(self.lockfile(name).read_text(), tags.text(*words))
                self.assert_settled()

    def assert_one_build(self, pair):
        """git saw no conflict: then the lock is of one build, or it does not pass for one and `lock` mends it."""
        right = [tags.text(*pair.ours), tags.text(*pair.theirs)]
        text = self.lockfile(pair.conflict).read_text()
        if self.sparkrun("lock", pair.conflict, "--check", code=None).code == 0:
            self.assertIn(text, right, "two builds in one lock, and `lock --check` is content")
        self.sparkrun("lock", pair.conflict)
        self.assertIn(self.lockfile(pair.conflict).read_text(), right)
        self.assert_settled()

    def test_what_two_branches_did_meets_in_a_right_lock_or_in_a_conflict_that_is_named(self):
        for pair in PAIRS:
            with self.subTest(pair=pair.claim):
                conflicts = self.merge(pair)
                if pair.either and not conflicts:
                    self.assert_one_build(pair)
                    continue
                self.assertEqual(conflicts, [f"lockfiles/{pair.conflict}.lock"] if pair.conflict else [])
                if pair.check == 0:
                    self.assert_locks(pair)
                if not pair.conflict:
                    self.sparkrun("lock", "--check", code=pair.check)
                    self.sparkrun("lock")
                    self.assert_locks(pair)
                    self.assert_settled()
                    continue
                if pair.markers:
                    self.assert_named(pair.conflict)
                self.assert_either_side_will_do(pair)

    def test_the_markers_of_every_conflict_style_are_known(self):
        pair = next(pair for pair in PAIRS if pair.claim == "the same profile updated two ways")
        for style in ("diff3", "zdiff3"):
            with self.subTest(style=style):
                self.merge(pair, style)
                self.assertIn("|||||||", self.lockfile(pair.conflict).read_text())
                self.assert_named(pair.conflict)
                self.assert_either_side_will_do(pair)


# What may stand in the lockfile's place -> how it comes there from the right text, and the error.
SPOILED = {
    "an unknown key": (lambda text: text.replace("index =", "indx ="), "lock.invalid"),
    "an unknown key of a platform": (lambda text: text.replace("config =", "conf ="), "lock.invalid"),
    "a newer format": (lambda text: text.replace("version = 1", "version = 2"), "lock.newer"),
    "a newer format with keys of its own": (
        lambda text: text.replace("version = 1", 'version = 2\nseal = "x"'), "lock.newer"),
    "no version": (lambda text: text.replace("version = 1\n", ""), "lock.invalid"),
    "a version of the wrong type": (lambda text: text.replace("version = 1", 'version = "1"'), "lock.invalid"),
    "a table twice": (lambda text: text + text[text.index("\n["):text.index("\n[", text.index("\n[") + 1)],
                      "lock.invalid"),
    "a key twice": (lambda text: text.replace("version = 1", "version = 1\nversion = 1"), "lock.invalid"),
    "a digest cut short": (lambda text: re.sub(r'(index = "sha256:\w{63})\w', r"\1", text), "lock.invalid"),
    "git's markers": (lambda text: f"<<<<<<< HEAD\n{text}=======\n{text}>>>>>>> left\n", "lock.conflict"),
    "one forgotten marker": (lambda text: f"{text}>>>>>>> left\n", "lock.conflict"),
    "git's markers with CRLF": (
        lambda text: f"<<<<<<< HEAD\n{text}=======\n{text}>>>>>>> left\n".replace("\n", "\r\n"), "lock.conflict"),
    "half a file": (lambda text: text[:text.index("manifest") + 30], "lock.invalid"),
    "nothing": (lambda text: "", "lock.invalid"),
    "blanks": (lambda text: " \n\n", "lock.invalid"),
    "zeros": (lambda text: b"\0" * 4096, "lock.invalid"),
    "binary junk": (lambda text: random.Random(1).randbytes(5000), "lock.invalid"),
    "terminal control codes": (lambda text: "\x1b]0;title\x07\x1b[31m" + text, "lock.invalid"),
    "17 MiB": (lambda text: text + "# long\n" * (17 * 2**20 // 7), "file.unreadable"),
    "a directory": (None, "file.unreadable"),
    "a pipe": (None, "file.unreadable"),
}

COMMANDS = [("lock", "job"), ("lock", "job", "--update"), ("lock", "job", "--check"), ("run", "job", "--dry-run")]


class Spoiled(LockRules):
    """Lockfiles that are none."""

    def spoil(self, what):
        make = SPOILED[what][0]
        self.locks.mkdir(exist_ok=True)
        if what == "a directory":
            self.path.mkdir()
        elif what == "a pipe":
            os.mkfifo(self.path)
        else:
            content = make(tags.text("job", "old"))
            self.path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def state(self):
        status = self.path.lstat()
        content = self.path.read_bytes() if stat.S_ISREG(status.st_mode) else None
        return status.st_mode, status.st_ino, status.st_mtime_ns, content

    def test_what_is_no_lock_is_named_by_every_command_and_touched_by_none(self):
        self.write("job")
        tags.point("job", "new")
        for what, (_, error) in SPOILED.items():
            self.spoil(what)
            before = self.state()
            for words in COMMANDS:
                with self.subTest(lock=what, command=words):
                    result = self.sparkrun(*words, "--json", code=4)
                    self.assertEqual([found["id"] for found in result.errors], [error])
                    self.assertIn(str(self.path), result.errors[0]["message"])
                    self.assertTrue(self.state() == before, "the file was touched")
            shutil.rmtree(self.locks)

    def test_the_message_is_plain_text(self):
        self.write("job")
        for what in ("zeros", "binary junk", "terminal control codes"):
            with self.subTest(what):
                self.spoil(what)
                self.assertTrue(re.fullmatch(r"[\x20-\x7e\n]+", self.sparkrun("lock", "job", code=4).err))

    def test_the_hint_can_be_copied(self):
        self.write("job")
        for what in ("an unknown key", "git's markers", "nothing"):
            with self.subTest(what):
                self.spoil(what)
                self.assertIn("`sparkrun lock job`", self.sparkrun("lock", "--check", code=4).err)

    def test_each_error_is_explained_with_its_exit_code(self):
        for error in sorted({error for _, error in SPOILED.values()}):
            with self.subTest(error):
                self.assertIn("Exit code: 4", self.sparkrun("explain", error).out)

    def test_what_an_editor_or_a_checkout_adds_is_no_fault_and_does_not_stay_by_half(self):
        """It is read as if it were not there; `lock` leaves the file as it is or writes it canonically."""
        self.write("job")
        tags.point("job", "old")
        right = tags.text("job", "old", comment=MINE).encode()
        for what, content in {"CRLF": right.replace(b"\n", b"\r\n"), "a byte order mark": b"\xef\xbb\xbf" + right,
                              "both": b"\xef\xbb\xbf" + right.replace(b"\n", b"\r\n"),
                              "no final newline": right[:-1], "trailing newlines": right + b"\n\n"}.items():
            for words in COMMANDS:
                with self.subTest(lock=what, command=words):
                    self.write_lock("job", "")
                    self.path.write_bytes(content)
                    self.sparkrun(*words)
                    reads_only = words[-1] in ("--check", "--dry-run")
                    self.assertIn(self.path.read_bytes(), [content] if reads_only else [content, right])


class Untouched(LockRules):
    """What is right already is not written."""

    def state(self):
        return [(path.name, path.stat().st_mtime_ns, path.stat().st_ino, path.read_bytes() if path.is_file() else None)
                for path in (self.path, self.path.parent)]

    def test_a_second_lock_changes_no_byte_and_no_time(self):
        self.write("job")
        tags.point("job", "old")
        self.sparkrun("lock", "job")
        before = self.state()
        for words in (("lock",), ("lock", "job"), ("lock", "job", "--update"), ("lock", "--check"),
                      ("lock", "job", "--update-to", tags.digest["old"]), ("run", "job", "--dry-run")):
            with self.subTest(words):
                self.sparkrun(*words)
                self.assertEqual(self.state(), before)

    def test_a_read_only_checkout_is_good_for_all_that_changes_nothing(self):
        self.job_at("old")
        self.mount("-o", "bind,ro", self.project, at=self.project)
        for words in (("lock",), ("lock", "job"), ("lock", "--update"), ("lock", "--check"), ("lock", "--dry-run"),
                      ("run", "job", "--dry-run")):
            with self.subTest(words):
                self.sparkrun(*words)
        tags.point("job", "new")
        self.sparkrun("lock", "--update", "--dry-run")

        result = self.sparkrun("lock", "--update", "--json", code=4)

        self.assertEqual([error["id"] for error in result.errors], ["file.unwritable"])
        self.assertIn(str(self.path), result.error["message"])
        self.assertEqual(self.path.read_text(), tags.text("job", "old"))

    def test_a_comment_stays_through_every_change(self):
        self.job_at("old", platforms=(ARM64,))
        self.path.write_text(self.path.read_text().replace(COMMENT, MINE))
        for build, platforms, words in (("old", (ARM64,), ()), ("new", (ARM64,), ("--update",)),
                                        ("other", (ARM64,), ("--update-to", tags.digest["other"])),
                                        ("other", BOTH, ())):
            with self.subTest(words, platforms=platforms):
                tags.point("job", build)
                self.write("job", platforms=platforms)
                self.sparkrun("lock", "job", *words)
                self.assertEqual(self.path.read_text(), tags.text("job", build, platforms, MINE))


class Linked(LockRules):
    """A lockfile that is a symbolic link: it stays one, and what it points at is the lock."""

    def test_the_file_behind_a_link_is_written(self):
        self.write("job")
        tags.point("job", "new")
        shared = self.project / "kept/job.lock"
        shared.parent.mkdir()
        self.locks.mkdir()
        self.path.symlink_to("../kept/job.lock")
        for is_there in (True, False):
            with self.subTest(is_there=is_there):
                if is_there:
                    shared.write_text(tags.text("job", "old"))
                else:
                    shared.unlink()
                self.sparkrun("lock", "--update")
                self.assertTrue(self.path.is_symlink(), "the link was replaced by a file")
                self.assertEqual(shared.read_text(), tags.text("job", "new"))


class LinkedElsewhere(LockRules):
    """A project may be somebody else's: it must not have us write outside of it."""

    def test_a_link_out_of_the_project_is_not_followed(self):
        self.write("job")
        tags.point("job", "new")
        outside = self.folder / "outside"
        for make in (lambda: (self.locks.mkdir(), self.path.symlink_to(outside)),
                     lambda: (outside.mkdir(), self.locks.symlink_to(outside))):
            make()
            self.assertEqual(self.sparkrun("lock", "--json", code=4).error["id"], "file.unwritable")
            self.assertEqual(list(outside.iterdir()) if outside.is_dir() else outside.exists(),
                             [] if outside.is_dir() else False)
            if self.path.is_symlink():
                self.path.unlink()
                self.locks.rmdir()


class Killed(LockRules):
    """`kill -9` at any time."""

    def setUp(self):
        super().setUp()
        self.write("job")
        self.old, self.new = tags.text("job", "old"), tags.text("job", "new")
        tags.point("job", "new")
        self.random, self.delay_max_s = random.Random(20), 0.03

    def kill(self, words, wait):
        process = subprocess.Popen([BINARY, *words], cwd=self.project, env=self.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait(process)
        process.kill()
        process.wait()

    def at_random(self, process):
        time.sleep(self.random.uniform(0, self.delay_max_s))

    def once_it_writes(self, process):
        """As soon as there is another file beside the lock, or the process is at its end."""
        known = {"job.lock"}.union(os.listdir(self.locks) if self.locks.exists() else [])
        while process.poll() is None:
            if self.locks.exists() and not known.issuperset(os.listdir(self.locks)):
                return

    def once_it_is_there(self, process):
        """As soon as the lock is not what it was."""
        before = self.path.read_text() if self.path.exists() else None
        while process.poll() is None:
            if (self.path.read_text() if self.path.exists() else None) != before:
                return

    def test_the_lock_is_the_old_one_or_the_new_one(self):
        start = time.monotonic()
        self.sparkrun("lock", "job")
        self.delay_max_s = max(self.delay_max_s, time.monotonic() - start)
        seen = {}
        for number in range(KILLS):
            shutil.rmtree(self.locks, ignore_errors=True)
            is_update = number % 2 == 0
            if is_update:
                self.write_lock("job", self.old)
            wait = (self.at_random, self.at_random, self.once_it_writes, self.once_it_is_there)[number // 2 % 4]
            self.kill(("lock", "job", *(["--update"] if is_update else [])), wait)
            text = self.path.read_text() if self.path.exists() else None
            self.assertIn(text, [self.old if is_update else None, self.new])
            seen[is_update, text == self.new] = seen.get((is_update, text == self.new), 0) + 1
        self.assertEqual(len(seen), 4, f"it was always killed at the same point: {seen}")
        self.sparkrun("lock", "job", "--update")
        self.assertEqual(self.path.read_text(), self.new)

    def test_what_killed_runs_leave_is_gone_after_the_next_lock(self):
        self.write_lock("job", self.old)
        for _ in range(20):
            self.write_lock("job", self.old)
            self.kill(("lock", "job", "--update"), self.once_it_writes)
        left = self.left_in(self.locks)

        self.sparkrun("lock", "job", "--update")
        self.sparkrun("lock")

        self.assertEqual(self.path.read_text(), self.new)
        self.assertEqual(self.left_in(self.locks), ["job.lock"], f"20 killed runs left {len(left) - 1} files: {left}")


class FullDisk(LockRules):
    def setUp(self):
        super().setUp()
        self.locks.mkdir()
        self.mount("-t", "tmpfs", "-o", "size=64k,mode=0777", "sparkrun-lock-rules", at=self.locks)
        self.ballast = self.locks / "ballast"

    def fill(self, free=0):
        """All but `free` bytes."""
        with open(self.ballast, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"\0" * 4096)
            except OSError:
                file.truncate(file.tell() - free)

    def refuse(self, *words, name="job"):
        error, = self.sparkrun(*words, "--json", code=4).errors
        self.assertEqual(error["id"], "file.unwritable")
        self.assertIn(f"{self.lockfile(name)}: No space left on device", error["message"])

    def test_the_old_lock_stays_and_a_new_one_does_not_come_by_half(self):
        long_comment = "# " + "long " * 1200 + "\n"  # two pages of memory, of which one is free
        for free, text in ((0, COMMENT), (4096, long_comment)):
            with self.subTest(free=free):
                self.job_at("old")
                self.path.write_text(tags.text("job", "old", comment=text))
                self.write("fresh", tag="job")
                tags.point("job", "new")
                self.fill(free)
                before = self.path.read_bytes(), self.path.stat().st_mtime_ns

                self.refuse("lock", "job", "--update")
                if free == 0:
                    self.refuse("lock", "fresh", name="fresh")

                self.assertEqual((self.path.read_bytes(), self.path.stat().st_mtime_ns), before)
                self.assertEqual(self.left_in(self.locks), ["ballast", "job.lock"])
                self.sparkrun("lock", "job", "--check")
                self.ballast.unlink()
                self.sparkrun("lock", "job", "--update")
                self.assertEqual(self.path.read_text(), tags.text("job", "new", comment=text))
                self.assertEqual(self.left_in(self.locks), ["job.lock"])

    def test_every_lock_that_could_not_be_written_is_named(self):
        for name in ("one", "two"):
            self.write(name, tag="old")
        self.fill()

        errors = self.sparkrun("lock", "--json", code=4).errors

        self.assertEqual([error["id"] for error in errors], ["file.unwritable"] * 2)
        self.assertEqual(self.left_in(self.locks), ["ballast"])


class Together(LockRules):
    """Two processes and one lockfile."""

    def race(self, *commands, allowed):
        """Runs the commands side by side and looks at the file all the while; their codes and words."""
        processes = [subprocess.Popen([BINARY, *words], cwd=self.project, env=self.environment, text=True,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                     for words in commands]
        try:
            while any(process.poll() is None for process in processes):
                self.assertIn(self.read(), allowed)
            return [(process.wait(), process.stderr.read()) for process in processes]
        finally:
            for process in processes:
                process.kill()
                process.wait()
                process.stderr.close()

    def read(self):
        return self.path.read_text() if self.path.exists() else None

    def test_two_at_once_leave_one_right_lock(self):
        self.write("job")
        tags.point("job", "new")
        old, new, other = (tags.text("job", build) for build in ("old", "new", "other"))
        both_update = (("lock", "job", "--update"),) * 2
        kinds = [(old, both_update, [new]),
                 (None, (("lock", "job"),) * 2, [new]),
                 (old, (both_update[0], ("lock", "job", "--update-to", tags.digest["other"])), [new, other])]
        for number in range(ROUNDS_TOGETHER):
            before, commands, after = kinds[number % len(kinds)]
            with self.subTest(number, commands=commands):
                shutil.rmtree(self.locks, ignore_errors=True)
                if before:
                    self.write_lock("job", before)

                ends = self.race(*commands, allowed=[before, *after])

                self.assertIn(0, [code for code, _ in ends], ends)
                for code, words in ends:
                    self.assertTrue(code == 0 or "error: " in words, ends)
                self.assertIn(self.read(), after)
                self.assertEqual(self.left_in(self.locks), ["job.lock"])


# What may be wrong with one profile of several -> how it comes so, the error and the exit code.
def bad_lock(make):
    def spoil(test):
        test.write("middle", tag="old")
        test.write_lock("middle", make(tags.text("old", "old")))
    return spoil


def lock_folder(test):
    test.write("middle", tag="old")
    (test.locks / "middle.lock").mkdir(parents=True)


def lock_on_a_read_only_disk(test):
    """A stale one, behind a symbolic link."""
    test.write("middle", tag="old")
    disk = test.folder / "disk"
    disk.mkdir()
    (disk / "middle.lock").write_text(tags.text("old", "old", (ARM64,)))
    test.mount("-o", "bind,ro", disk, at=disk)
    test.locks.mkdir(exist_ok=True)
    (test.locks / "middle.lock").symlink_to(disk / "middle.lock")


def bad_profile(**options):
    return lambda test: test.write("middle", **({"tag": "old"} | options))


BAD = {
    "an unknown key": (bad_profile(more='imag = "x"\n'), "profile.invalid", 4),
    "a conflict in the profile": (bad_profile(more="<<<<<<< HEAD\n"), "profile.invalid", 4),
    "an unknown base": (bad_profile(more='extends = "nothing"\n'), "profile.unknown", 4),
    "a malformed image": (bad_profile(image="Not/An:Image:x"), "profile.invalid", 4),
    "a malformed platform": (bad_profile(platforms=("arm64",)), "profile.invalid", 4),
    "a conflict in the lock": (bad_lock(lambda text: "<<<<<<< HEAD\n" + text), "lock.conflict", 4),
    "a newer lock": (bad_lock(lambda text: text.replace("version = 1", "version = 2")), "lock.newer", 4),
    "an invalid lock": (bad_lock(lambda text: text + "x = 1\n"), "lock.invalid", 4),
    "a folder in the lock's place": (lock_folder, "file.unreadable", 4),
    "a lock that cannot be written": (lock_on_a_read_only_disk, "file.unwritable", 4),
    "a tag that is gone": (bad_profile(tag="none"), "registry.not_found", 6),
    "a platform that is not there": (bad_profile(platforms=("linux/s390x",)), "registry.platform_missing", 8),
    "a registry that is not there": (bad_profile(image="127.0.0.1:1/x:1"), "registry.unreachable", 5),
}
# Of these a check, which asks nobody and writes nothing, knows nothing.
OF_REGISTRIES = ("registry.not_found", "registry.platform_missing", "registry.unreachable")
UNCHECKED = ("file.unwritable", *OF_REGISTRIES)


class SeveralProfiles(LockRules):
    def good(self, *names):
        for name in names:
            self.write(name, tag="new")

    def assert_locked(self, *names):
        for name in names:
            self.assertTrue(self.lockfile(name).exists(), f"{name} was not locked")
            self.assertEqual(self.lockfile(name).read_text(), tags.text("new", "new"))

    def test_one_that_is_wrong_keeps_no_other_from_being_locked(self):
        for what, (spoil, error, code) in BAD.items():
            with self.subTest(what):
                shutil.rmtree(self.locks, ignore_errors=True)
                self.good("able", "zealous")
                spoil(self)

                result = self.sparkrun("lock", "--json", code=code)

                found, = result.errors
                self.assertEqual(found["id"], error)
                self.assertIn("middle", found["message"] + " ".join(found["while"]))
                self.assert_locked("able", "zealous")
                self.assertEqual([entry["profile"] for entry in result.json if "error" not in entry], ["able", "zealous"])

    def write_bad(self, is_wanted=lambda error: True):
        """Each bad profile under a name of its own, between two good ones; the errors."""
        self.good("able", "zealous")
        errors = []
        for number, (spoil, error, _) in enumerate(BAD.values()):
            if not is_wanted(error):
                continue
            spoil(self)
            (self.project / "profiles/middle.toml").rename(self.project / f"profiles/middle{number}.toml")
            if os.path.lexists(self.lockfile("middle")):
                self.lockfile("middle").rename(self.lockfile(f"middle{number}"))
            errors.append(error)
        return sorted(errors)

    def test_all_that_is_wrong_is_listed_and_the_worst_is_the_exit_code(self):
        for code, is_wanted in ((6, lambda error: error in OF_REGISTRIES), (4, lambda error: True)):
            with self.subTest(code=code):
                shutil.rmtree(self.locks, ignore_errors=True)
                wanted = self.write_bad(is_wanted)

                result = self.sparkrun("lock", "--json", code=code)

                self.assertEqual(sorted(error["id"] for error in result.errors), wanted)
                self.assert_locked("able", "zealous")

    def test_a_check_lists_all_that_is_wrong(self):
        wanted = [error for error in self.write_bad() if error not in UNCHECKED]
        for name in ("able", "zealous"):
            self.write_lock(name, tags.text("new", "new"))
        self.write("zealous", tag="old")  # stale

        result = self.sparkrun("lock", "--check", "--json", code=4)

        self.assertEqual(sorted(error["id"] for error in result.errors), wanted)
        states = {entry["profile"]: entry["state"] for entry in result.json}
        self.assertEqual((states["able"], states["zealous"]), ("current", "stale"))

    def test_a_check_of_stale_and_missing_locks_lists_both_and_ends_with_the_worse(self):
        self.good("able", "zealous")
        self.write_lock("zealous", tags.text("old", "old"))

        result = self.sparkrun("lock", "--check", "--json", code=4)

        self.assertEqual({entry["profile"]: entry["state"] for entry in result.json},
                         {"able": "missing", "zealous": "stale"})


class OneProfile(LockRules):
    def test_a_profile_that_names_a_digest_is_locked_and_stays_there(self):
        old, new = tags.digest["old"], tags.digest["new"]
        repository = tags.image("job").rsplit(":", 1)[0]
        for image in (f"{tags.image('job')}@{old}", f"{repository}@{old}"):
            with self.subTest(image):
                shutil.rmtree(self.locks, ignore_errors=True)
                tags.point("job", "old")
                self.write("job", image=image)
                right = tags.text("job", "old").replace(tags.image("job"), image)
                self.sparkrun("lock", "--check", code=4)
                self.sparkrun("lock")
                self.assertEqual(self.path.read_text(), right)

                tags.point("job", "new")
                self.sparkrun("lock")
                self.sparkrun("lock", "--update")
                self.assertEqual(self.path.read_text(), right)

                self.write("job", image=image.replace(old, new))
                self.sparkrun("lock", "--check", code=3)
                self.sparkrun("lock")
                self.assertEqual(self.path.read_text(),
                                 tags.text("job", "new").replace(tags.image("job"), image.replace(old, new)))

    def test_the_digest_of_one_manifest_is_locked_for_its_platform(self):
        index = json.loads(tags.index["old"])
        manifest, = (entry["digest"] for entry in index["manifests"] if entry["platform"]["architecture"] == "arm64")
        self.write("job", image=f"{tags.image('job')}@{manifest}", platforms=(ARM64,))

        self.sparkrun("lock")

        self.assertNotIn("index", self.path.read_text())
        self.assertIn(f'manifest = "{manifest}"', self.path.read_text())
        self.sparkrun("lock", "--check")
        before = self.path.read_bytes()
        self.write("job", image=f"{tags.image('job')}@{manifest}")
        self.sparkrun("lock", code=8)
        self.assertEqual(self.path.read_bytes(), before)

    def test_platforms_come_and_go_without_a_look_at_the_tag(self):
        self.job_at("old", platforms=(ARM64,))
        tags.point("job", "new")
        for platforms in (BOTH, (AMD64,), (ARM64,), (ARM64, AMD64), (ARM64,)):
            with self.subTest(platforms):
                self.write("job", platforms=platforms)
                self.sparkrun("lock", "--check", code=3)
                self.sparkrun("lock")
                self.assertEqual(self.path.read_text(), tags.text("job", "old", tuple(sorted(platforms))))
                self.sparkrun("lock", "--check")

    def test_a_platform_that_the_locked_index_lacks_leaves_the_lock_as_it_is(self):
        self.job_at("old")
        self.write("job", platforms=(ARM64, "linux/s390x"))

        result = self.sparkrun("lock", "--json", code=8)

        self.assertEqual(result.error["id"], "registry.platform_missing")
        self.assertEqual(self.path.read_text(), tags.text("job", "old"))


if __name__ == "__main__":
    unittest.main()
