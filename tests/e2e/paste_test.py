# SPDX-License-Identifier: MIT
"""What --dry-run and `profile show --argv` print, pasted into a shell, is the argv that --json gives."""

import json
import os
import re
import subprocess
import unittest

from support import BINARY, ROOT, ProjectTest

CORPUS = [json.loads(line) for line in (ROOT / "tests/data/docker-run-corpus.jsonl").read_text().splitlines()]
IMAGE = "reg.test/tools/job@sha256:" + "3" * 64

# Says what it was called with: the number of words, then the words, each with a NUL behind it.
ENGINE = """#!/bin/sh
printf '%s\\0' "$(($# + 1))" "${0##*/}" "$@" >> "$TOLD"
"""

# The shells as people have them; text comes on stdin as from a paste. With -H bash replaces `!x` in a script, too.
SHELLS = {
    "bash": ["bash", "--norc", "-s"],
    "bash with history": ["bash", "--norc", "-H", "-o", "history", "-s"],
    "bash at a prompt": ["bash", "--norc", "--noediting", "-i"],
    "dash": ["dash", "-s"],
    "dash at a prompt": ["dash", "-i"],
    "zsh": ["zsh", "-f", "-s"],
    "zsh at a prompt": ["zsh", "-f", "-i", "-s"],
    "zsh with everything on": ["zsh", "-f", "-o", "extendedglob", "-o", "banghist", "-o", "interactivecomments",
                               "-o", "magicequalsubst", "-s"],
}

# Each is one word of a command; a shell would make something else of it.
WORDS = [
    "", " ", "  two  blanks  ", "it's", "'", "''", '"', '\\"', "\\", "ends in \\", "a\\nb", "\\'", "'\\''",
    "$HOME", "${HOME}", "$(echo x)", "`echo x`", "$'x'", "$", "$$", "$!", "$?", "$((1+1))",
    "~", "~/x", "~root", "a=~", "a:~", "=ls", "==ls", "=", "a==ls",
    "!", "!!", "!x", "a!b", "!$", "^a^b", "^", "!-1", "!?x?", "a\n!!", "'!!'", '"!!"', "it's !!", "'\n!!\n'",
    "{a,b}", "{1..3}", "{}", "*", "?", "[ab]", "**/*", "a*", "[", "]", "(", ")", "(N)", "a(.)", "<1-9>", "x~y", "x#",
    "-", "--", "-x", "--flag=a b", "#", "# no comment", "a#b", "%", "%1", "%d", "%s%n", "@", "+", ",", ":",
    "&", "&&", "|", "||", ";", ";;", "<", ">", ">>", "2>&1", "<<EOF", "<(ls)", "=(ls)",
    "\t", "\ttab\t", "\n", "\n\n", "a\nb", "a\n", "\nexit\n", "\r", "a\r\nb", "\x0b\x0c", "\x01\x02\x1b\x7f",
    "é", "日本語", "\u00a0", "\u2028", "\u202e", "\U0001f600", "e\u0301",
    "if", "then", "done", "time", "function", "[[", "alias", "exec", "x=y", "-e", "\\c",
    "x" * 100_000, "'" * 1_000, "a b\n" * 1_000,
]


def toml(value):
    """TOML's basic strings are JSON's, but for DEL and for what is beyond the first plane."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


class Paste(ProjectTest):
    def setUp(self):
        super().setUp()
        tools = self.folder / "bin"
        tools.mkdir()
        for name in ("docker", "podman"):
            (tools / name).write_text(ENGINE)
            (tools / name).chmod(0o755)
        self.told = self.folder / "told"
        # What a glob, a history or an alias could find must not be there to be found by chance.
        self.environment |= {"PATH": f"{tools}:{os.environ['PATH']}", "TOLD": str(self.told), "LC_ALL": "C.UTF-8",
                             "PS1": "", "PS2": "", "HISTFILE": ""}
        (self.project / "a b").touch()

    # What is pasted, and what it must come to.

    def printed(self, *words, cwd=None, environment=None):
        """What a command prints, to the byte: no newline is translated."""
        done = subprocess.run([BINARY, *words], cwd=cwd or self.project, env=self.environment | (environment or {}),
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace")[:2000])
        return done.stdout.decode()

    def plan(self, *words, **options):
        """The text and the argv of one command."""
        return self.printed(*words, **options), json.loads(self.printed("--json", *words, **options))["argv"]

    def paste(self, shell, texts):
        """The argv of each command that a shell runs when it is given all the texts, one after another."""
        self.told.write_bytes(b"")
        done = subprocess.run(SHELLS[shell], input="".join(texts).encode(), cwd=self.project, env=self.environment,
                              capture_output=True, timeout=60, check=False)
        words = self.told.read_bytes().decode().split("\0")[:-1]
        heard = []
        while words:
            count = int(words.pop(0))
            heard.append(words[:count])
            del words[:count]
        return heard, done.stderr.decode(errors="replace")

    def check_in_every_shell(self, plans):
        for shell in SHELLS:
            with self.subTest(shell=shell):
                heard, complaints = self.paste(shell, [text for text, _ in plans])
                for (_, argv), got in zip(plans, heard):
                    self.assert_same(got, argv)
                self.assertEqual(len(heard), len(plans), complaints[-2000:])

    def assert_same(self, got, argv):
        """Of a long command only the first word that differs is of interest."""
        for word, wanted in zip(got, argv):
            self.assertEqual(word[:200], wanted[:200])
        self.assertEqual(len(got), len(argv))
        self.assertTrue(got == argv)

    def check_as_an_argument(self, plans):
        """`SHELL -c TEXT`, whose own limit is one word of 128 KiB."""
        for shell in ("bash", "dash", "zsh"):
            for text, argv in plans:
                self.told.write_bytes(b"")
                subprocess.run([shell, *(["-f"] if shell == "zsh" else []), "-c", text], cwd=self.project,
                               env=self.environment, check=True, timeout=30)
                self.assert_same(self.told.read_bytes().decode().split("\0")[1:-1], argv)

    def write(self, name, **keys):
        """A profile of these keys."""
        lines = ["version = 1", f'image = "{IMAGE}"']
        lines += [f"{key} = {toml(value)}" for key, value in keys.items()]
        (self.project / f"profiles/{name}.toml").write_text("\n".join(lines) + "\n")

    # The profiles.

    def test_the_shipped_profiles(self):
        empty = self.folder / "empty"
        empty.mkdir()
        names = [entry["name"] for entry in self.sparkrun("profile", "ls", "--json", cwd=empty).json
                 if entry["origin"] == "built-in"]
        self.assertIn("pytorch", names)

        plans = []
        for name in names:
            plans.append(self.plan("profile", "show", name, "--argv"))
            if self.sparkrun("run", name, "--dry-run", "--locked", "--offline", code=None, cwd=empty).code == 0:
                plans.append(self.plan("run", name, "--dry-run", "--offline", cwd=empty))
                plans.append(self.plan("run", name, "--dry-run", "--offline", "--tty", "always", "a b", "it's"))

        self.assertGreater(len(plans), len(names))
        self.check_in_every_shell(plans)
        self.check_as_an_argument(plans)

    def test_the_lines_that_people_use(self):
        plans = []
        for line in CORPUS:
            name = line["id"]
            self.sparkrun("profile", "import", name, "--", *line["argv"])
            profile = self.project / f"profiles/{name}.toml"
            variables = self.sparkrun("profile", "show", name, "--json").json.get("env_from_host", [])
            environment = {variable.rstrip("?"): "x" for variable in variables}
            plans.append(self.plan("profile", "show", name, "--argv"))
            # By a digest no lock is needed; a mount that would be created need not be there.
            text = re.sub(r'^(image = "[^"@]*)"', r'\1@sha256:' + "3" * 64 + '"', profile.read_text(), flags=re.M)
            text = re.sub(r'^(source = "[~./$].*")$', r"\1\ncreate = true", text.replace("\ncreate = true", ""),
                          flags=re.M)
            text = re.sub(r'^engine = "podman"\n', "", text, flags=re.M)
            text = re.sub(r'^env_file = .*\n', "", text, flags=re.M)  # of another machine
            profile.write_text(text)
            plans.append(self.plan("run", name, "--dry-run", "--offline", environment=environment))

        self.assertEqual(len(plans), 2 * len(CORPUS))
        self.check_in_every_shell(plans)

    def test_words_that_a_shell_would_change(self):
        plans = []
        self.write("all", command=WORDS)
        plans.append(self.plan("profile", "show", "all", "--argv"))
        for at, word in enumerate(WORDS):
            self.write(f"w{at}", command=[word, "last"])
            plans.append(self.plan("run", f"w{at}", "--dry-run", "--offline"))

        self.assertEqual(plans[0][1][-len(WORDS):], WORDS)
        self.check_in_every_shell(plans)
        self.check_as_an_argument([plan for plan in plans if len(plan[0]) < 120_000])

    def test_words_in_every_place_of_a_profile(self):
        words = [word for word in WORDS if word and len(word) < 100 and not re.search(r"[\x00-\x1f\x7f]", word)]
        lines = ["version = 1", f'image = "{IMAGE}"', "[env]"]
        lines += [f"V{at} = {toml(word)}" for at, word in enumerate(words)]
        lines += ["[container.labels]"] + [f"l{at} = {toml(word)}" for at, word in enumerate(words)]
        lines += ["[container]", f"hostname = {toml('a b')}", f"entrypoint = {toml('$x !! =y')}",
                  f"extra_args = {toml(['--label=' + word for word in words])}"]
        for at, word in enumerate(words):
            lines += ["[[mount]]", f"source = {toml('./' + word.replace('${', '$ {'))}",
                      f"target = {toml(f'/{at}/{word}')}", "create = true"]
        (self.project / "profiles/everywhere.toml").write_text("\n".join(lines) + "\n")

        self.check_in_every_shell([self.plan("run", "everywhere", "--dry-run", "--offline"),
                                   self.plan("profile", "show", "everywhere", "--argv")])

    def test_words_of_the_command_line(self):
        self.write("job")
        words = [word for word in WORDS if len(word) < 5_000]

        plan = self.plan("run", "job", "--dry-run", "--offline", "--", *words)

        self.assertEqual(plan[1][-len(words):], words)
        self.check_in_every_shell([plan])

    def test_the_text_is_one_line_that_ends(self):
        self.write("job", command=["a", "b"])

        self.assertRegex(self.sparkrun("run", "job", "--dry-run", "--offline").out, r"\Adocker run [^\n]* a b\n\Z")

    # What no text can show.

    def test_bytes_that_are_no_text_are_refused(self):
        self.write("job")
        for place in ([b"\xff"], [b"a\xc3"], [b"\xc0\x80"], [b"\xed\xa0\x80"], ["-e", b"A=\xff"], ["--json", b"\xff"]):
            with self.subTest(place):
                done = subprocess.run([BINARY, "run", "job", "--dry-run", "--offline", *place], cwd=self.project,
                                      env=self.environment, capture_output=True, timeout=30, check=False)
                self.assertEqual((done.returncode, done.stdout), (2, b""), done.stderr)

    def test_a_profile_that_is_no_text_is_refused(self):
        self.write("job")
        with (self.project / "profiles/job.toml").open("ab") as file:
            file.write(b'command = ["\xff"]\n')

        error = self.sparkrun("run", "--dry-run", "--offline", "--json", "job", code=4).error

        self.assertEqual(error["id"], "profile.invalid")

    def test_a_word_does_not_write_on_the_terminal(self):
        """ESC, CR and the like could paint over what is printed before somebody agrees to it."""
        for word in ("\x1b[2K\r", "a\rb", "\x08\x08", "\x9b2K", "\x7f", "\x07"):
            with self.subTest(repr(word)):
                self.write("job", command=["echo", f"hidden{word}shown"])
                for words in (["run", "job", "--dry-run", "--offline"], ["profile", "show", "job", "--argv"],
                              ["profile", "show", "job"]):
                    self.assertNotIn(word, self.printed(*words), words)


if __name__ == "__main__":
    unittest.main()
