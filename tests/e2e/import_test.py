# SPDX-License-Identifier: MIT
"""`profile import`: real lines, from line to profile to line, compared by what they mean.

Needs no rig. The comparison's own reader of docker lines is docker_line.py.
"""

import json
import os
import pathlib
import random
import shlex
import shutil
import subprocess
import tempfile
import unittest

import docker_line
from docker_line import meaning
from support import BINARY, FOREIGN, ROOT, Result

CORPUS = [json.loads(line) for line in (ROOT / "tests/data/docker-run-corpus.jsonl").read_text().splitlines()]


class ImportTest(unittest.TestCase):
    """A project folder of its own; the home folder is the one that the corpus speaks of."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sparkrun-import-")).resolve()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.project = self.folder / "project"
        self.project.mkdir()
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        self.environment |= {"HOME": "/home/user", "XDG_CONFIG_HOME": str(self.folder / "config"),
                             "XDG_STATE_HOME": str(self.folder / "state")}

    def sparkrun(self, *words, code=0, input=None, cwd=None, environment=None):
        done = subprocess.run([BINARY, *words], cwd=cwd or self.project, capture_output=True, timeout=60,
                              input=input.encode() if isinstance(input, str) else input or b"",
                              env=self.environment | (environment or {}), check=False)
        result = Result(done.returncode, done.stdout.decode(), done.stderr.decode())
        if code is not None:
            self.assertEqual(result.code, code, f"sparkrun {shlex.join(words)}\n{result.out}\n{result.err}")
        return result

    def import_text(self, text, *options, **more):
        return self.sparkrun("profile", "import", "it", "--force", "--json", *options, "-", input=text, **more)

    def toml(self, text):
        return self.import_text(text).json["toml"]

    def refusal(self, text):
        """The error of a text that cannot be imported."""
        error = self.import_text(text, code=4).error
        self.assertEqual(error["id"], "import.inexpressible")
        self.assertFalse((self.project / "profiles/it.toml").exists())
        return error

    def argv(self, name="it"):
        return self.sparkrun("profile", "show", name, "--argv", "--json").json["argv"]


class Corpus(ImportTest):
    def test_every_line_means_the_same_afterwards(self):
        same = 0
        for line in CORPUS:
            with self.subTest(line["id"]):
                prefix = ["sudo"] if line.get("sudo") else []
                self.sparkrun("profile", "import", line["id"], "--", *prefix, *line["argv"])

                argv = self.argv(line["id"])

                self.assertEqual(meaning(argv, str(self.project)), meaning(line["argv"], str(self.project)))
                shown = self.sparkrun("profile", "show", line["id"], "--json").json
                self.assertEqual(shown["engine"], "podman" if line["argv"][0] == "podman" else "")
                same += 1
        print(f"{same} of {len(CORPUS)} lines mean the same")
        self.assertEqual((same, len(CORPUS)), (70, 70))

    def test_shell_text_gives_the_same_profile_as_words(self):
        for line in CORPUS:
            with self.subTest(line["id"]):
                words = self.sparkrun("profile", "import", "it", "--dry-run", "--", *line["argv"]).out

                text = self.sparkrun("profile", "import", "it", "--dry-run", "-", input=shlex.join(line["argv"])).out

                self.assertEqual(text, words)

    def test_what_was_imported_is_imported_again_as_the_same(self):
        for line in CORPUS:
            with self.subTest(line["id"]):
                self.sparkrun("profile", "import", "it", "--force", "--", *line["argv"])
                first = self.argv()
                self.sparkrun("profile", "import", "it", "--force", "--", *first)

                self.assertEqual(self.argv(), first)

    def test_the_comparison_sees_differences(self):
        line = ["docker", "run", "--rm", "-e", "A=1", "-v", "/a:/b:ro", "--gpus", "all", "img", "x"]
        for other in (["docker", "run", "-e", "A=1", "-v", "/a:/b:ro", "--gpus", "all", "img", "x"],
                      ["docker", "run", "--rm", "-e", "A=2", "-v", "/a:/b:ro", "--gpus", "all", "img", "x"],
                      ["docker", "run", "--rm", "-e", "A=1", "-v", "/a:/b", "--gpus", "all", "img", "x"],
                      ["docker", "run", "--rm", "-e", "A=1", "-v", "/a:/b:ro", "--gpus", "2", "img", "x"],
                      ["docker", "run", "--rm", "-e", "A=1", "-v", "/a:/b:ro", "--gpus", "all", "img", "y"]):
            self.assertNotEqual(meaning(line), meaning(other))
        self.assertEqual(meaning(line), meaning(["docker", "run", "--gpus=all", "-eA=1", "--rm", "-it", "--mount",
                                                 "type=bind,src=/a,dst=/b,ro", "img", "x"]))


class Combinations(ImportTest):
    """Lines that nobody wrote: every option in turn, and many together in any order and spelling."""

    VALUES = {
        "cpu": "1000", "cpus": "1.5", "memory": "16g", "memory-reservation": "1g", "memory-swap": "-1",
        "memory-swappiness": "60", "shm-size": "2GB", "pids-limit": "-1", "oom-score-adj": "5", "stop-timeout": "3",
        "health-retries": "3", "blkio-weight": "10", "platform": "linux/arm64", "arch": "arm64", "os": "linux",
        "env": "A=b c", "mount": "type=bind,src=/m,dst=/mnt,ro", "volume": "/v:/vol:ro,z", "gpus": "2",
        "annotation": "a=b", "label": "x.y/z=a b", "log-opt": "max-size=1m", "storage-opt": "size=1g",
        "sysctl": "net.x=1", "ulimit": "nofile=1:2", "timeout": "5", "env-file": "/e/file", "label-file": "/l/file",
    }

    def setUp(self):
        super().setUp()
        self.random = random.Random(20260714)

    def value(self, name):
        return self.VALUES.get(name, self.VALUES["cpu"] if name.startswith("cpu-") else "value=1")

    def spelled(self, name, value):
        """One of the spellings of an option."""
        letter = next((letter for letter, long in docker_line.SHORT.items() if long == name), None)
        if name in docker_line.FLAGS:
            forms = [[f"--{name}"], [f"--{name}=true"]] + ([[f"-{letter}"]] if letter else [])
        else:
            forms = [[f"--{name}", value], [f"--{name}={value}"]]
            forms += [[f"-{letter}", value], [f"-{letter}{value}"], [f"-{letter}={value}"]] if letter else []
        return self.random.choice(forms)

    def check(self, words, engine="docker"):
        line = [engine, "run", *words, "reg.test/img:1", "x", "--rm"]
        self.sparkrun("profile", "import", "it", "--force", "--", *line)

        self.assertEqual(meaning(self.argv(), str(self.project)), meaning(line, str(self.project)), shlex.join(line))

    NAMES = [name for name in docker_line.LAST + docker_line.ALL + docker_line.PAIRS + docker_line.FLAGS
             if name not in docker_line.IGNORED | {"help", "replace", "rmi"}]

    PODMANS = {"arch", "os", "pod", "systemd", "tz", "umask", "timeout", "secret", "uidmap", "gidmap"}
    DOCKERS = {"domainname", "link", "link-local-ip", "volume-driver", "isolation", "health-start-interval",
               "use-api-socket", "disable-content-trust"}

    def test_every_option_alone(self):
        for name in self.NAMES:
            with self.subTest(name):
                engine, other = ("podman", "docker") if name in self.PODMANS else ("docker", "podman")
                words = self.spelled(name, self.value(name))
                self.check(words, engine)
                if name in self.PODMANS | self.DOCKERS:
                    error = self.sparkrun("--json", "profile", "import", "it", "--force", "--", other, "run", *words,
                                          "reg.test/img:1", code=4).error
                    self.assertEqual(error["id"], "import.inexpressible")
                    self.assertIn(f"only {engine} has this option", error["message"])

    def test_many_together(self):
        for engine, others in (("docker", self.PODMANS), ("podman", self.DOCKERS | {"arch", "os"})):
            for _ in range(30):
                names = self.random.sample([name for name in self.NAMES if name not in others],
                                           self.random.randint(5, 40))
                self.check([word for name in names for word in self.spelled(name, self.value(name))], engine)


class Files(ImportTest):
    LINE = ("--", "docker", "run", "--rm", "ubuntu:24.04", "true")

    def test_writes_into_the_project(self):
        result = self.sparkrun("profile", "import", "it", *self.LINE)

        self.assertEqual(result.out, f"it: wrote {self.project}/profiles/it.toml\n")
        self.assertEqual(self.sparkrun("profile", "check", "it").out, "it: valid\n")

    def test_takes_the_line_without_the_dashes_as_well(self):
        with_dashes = self.sparkrun("profile", "import", "it", "--dry-run", *self.LINE).out

        self.assertEqual(self.sparkrun("profile", "import", "it", "--dry-run", *self.LINE[1:]).out, with_dashes)

    def test_options_of_the_line_stay_with_the_line(self):
        result = self.sparkrun("profile", "import", "it", "docker", "run", "--quiet", "ubuntu:24.04", "x", "--json",
                               "--force")

        self.assertIn("it: wrote", result.out)
        self.assertEqual(self.argv()[-3:], ["x", "--json", "--force"])

    def test_never_replaces_a_profile_unless_told_to(self):
        self.sparkrun("profile", "import", "it", *self.LINE)
        before = (self.project / "profiles/it.toml").read_bytes()

        refused = self.sparkrun("--json", "profile", "import", "it", "--", "docker", "run", "busybox:1.36", code=4)
        self.assertEqual(refused.error["id"], "profile.exists")
        self.assertEqual((self.project / "profiles/it.toml").read_bytes(), before)

        self.sparkrun("profile", "import", "it", "--force", "--", "docker", "run", "busybox:1.36")
        self.assertIn("busybox", (self.project / "profiles/it.toml").read_text())

    def test_a_link_to_nowhere_is_a_file_that_is_there(self):
        (self.project / "profiles").mkdir()
        (self.project / "profiles/it.toml").symlink_to("/nowhere/it.toml")

        self.assertEqual(self.sparkrun("--json", "profile", "import", "it", *self.LINE, code=4).error["id"],
                         "profile.exists")

    def test_a_dry_run_writes_nothing(self):
        result = self.sparkrun("profile", "import", "it", "--dry-run", *self.LINE)

        self.assertTrue(result.out.startswith("# Imported from a docker run line.\nversion = 1\n"))
        self.assertEqual(list(self.project.iterdir()), [])

    def test_json_says_all_of_it(self):
        result = self.sparkrun("profile", "import", "it", "--json", "--dry-run", *self.LINE).json

        self.assertEqual(sorted(result), ["notes", "path", "profile", "toml", "wrote"])
        self.assertEqual((result["profile"], result["wrote"]), ("it", False))
        self.assertEqual(result["path"], f"{self.project}/profiles/it.toml")

    def test_another_folder_is_another_project(self):
        other = self.folder / "other"
        (other / "data").mkdir(parents=True)

        self.sparkrun("-C", str(other), "profile", "import", "it", "--", "docker", "run", "-v", "./data:/d", "-v",
                      f"{other}/x:/x", "ubuntu:24.04")

        text = (other / "profiles/it.toml").read_text()
        self.assertIn('source = "./data"', text)
        self.assertIn('source = "./x"', text)
        self.assertEqual(list(self.project.iterdir()), [])

    def test_paths_are_relative_to_the_project_also_from_below_it(self):
        self.sparkrun("profile", "import", "first", *self.LINE)
        below = self.project / "a/b"
        below.mkdir(parents=True)

        self.sparkrun("profile", "import", "it", "-", cwd=below,
                      input='docker run -v ./x:/x -v "$(pwd)"/y:/y -v ..:/up -v $PWD/../../..:/top ubuntu:24.04')

        text = (self.project / "profiles/it.toml").read_text()
        for source in ("./a/b/x", "./a/b/y", "./a"):
            self.assertIn(f'source = "{source}"', text)
        volumes = meaning(self.argv(), str(self.project))["volumes"]
        self.assertEqual(volumes["/top"], (str(self.folder), ()))

    def test_a_folder_that_cannot_be_written_is_said(self):
        (self.project / "profiles").write_text("not a folder")

        self.assertEqual(self.sparkrun("--json", "profile", "import", "it", *self.LINE, code=4).error["id"],
                         "file.unwritable")

    def test_names_are_names_of_profiles(self):
        for name in ("../x", "A", "", "a.b", "x" * 64):
            with self.subTest(name):
                self.sparkrun("profile", "import", name, *self.LINE, code=2)

    def test_nothing_to_import_is_wrong_usage(self):
        self.sparkrun("profile", "import", "it", code=2)
        self.sparkrun("profile", "import", code=2)
        self.sparkrun("profile", "import", "it", "-", "--force", code=2)

    def test_what_is_too_large_or_no_text_is_refused(self):
        self.sparkrun("profile", "import", "it", "-", input="docker run " + "x" * (1 << 20), code=4)
        self.refusal(b"docker run a\0b")
        self.refusal(b"docker run \xff\xfe img")
        self.refusal("")


class Secrets(ImportTest):
    TOKEN = "hf_" + "a1B2c3D4e5F6g7H8i9J0k1L2"
    PLAIN = "correct-horse-battery-7"

    def assert_silent(self, *words, code, input=None):
        for json_option in ([], ["--json"]):
            result = self.sparkrun(*json_option, "profile", "import", "it", "--force", *words, code=code, input=input)
            written = "".join(path.read_text() for path in self.project.rglob("*.toml"))
            for secret in (self.TOKEN, self.PLAIN, self.TOKEN[5:]):
                self.assertNotIn(secret, result.out + result.err + written)
        return result

    def test_values_of_variables_are_dropped(self):
        for variable in (f"HF_TOKEN={self.TOKEN}", f"MY_PASSWORD={self.PLAIN}", f"PLAIN={self.TOKEN}",
                         f"DB_URL=postgres://me:{self.PLAIN}@host/db", f"OPENAI_API_KEY={self.PLAIN}"):
            with self.subTest(variable):
                self.assert_silent("--", "docker", "run", "-e", variable, "ubuntu:24.04", code=0)

                name = variable.split("=")[0]
                self.assertIn(f'env_from_host = ["{name}"]', (self.project / "profiles/it.toml").read_text())

    def test_text_that_sets_or_exports_them_is_read_silently(self):
        self.assert_silent("-", code=0, input=f"export HF_TOKEN={self.TOKEN}\ndocker run -e HF_TOKEN ubuntu:24.04")
        self.assert_silent("-", code=0, input=f"T={self.TOKEN}; docker run -e HF_TOKEN=$T ubuntu:24.04")
        self.assert_silent("-", code=0, input=f"HF_TOKEN={self.TOKEN} docker run -e HF_TOKEN ubuntu:24.04")
        for text in (f"docker login -p {self.PLAIN}\ndocker run ubuntu:24.04",
                     f"DB_PASSWORD={self.PLAIN}; docker run -e URL=x:$DB_PASSWORD@y -e A=1 ubuntu:24.04"):
            self.assert_silent("-", code=0, input=text)
        self.assertIn('env_from_host = ["URL"]', (self.project / "profiles/it.toml").read_text())
        for text in (f"DB_PASSWORD={self.PLAIN}; docker run -e A=$DB_PASSWORD$B ubuntu:24.04",
                     f"DB_PASSWORD={self.PLAIN}; docker run ubuntu:24.04 psql -p $DB_PASSWORD",
                     f"DB_PASSWORD={self.PLAIN}; docker run --name $DB_PASSWORD ubuntu:24.04"):
            self.assert_silent("-", code=4, input=text)

    def test_in_a_command_they_are_refused(self):
        for words in (["--api-key", self.TOKEN], [f"--api-key={self.TOKEN}"], ["--api-key", self.PLAIN],
                      ["bash", "-c", f"vllm serve m --api-key {self.PLAIN}"],
                      ["bash", "-c", f"export HF_TOKEN={self.PLAIN}\nvllm serve"],
                      ["git", "clone", f"https://me:{self.PLAIN}@host/x"], [self.TOKEN]):
            with self.subTest(words):
                result = self.assert_silent("--", "docker", "run", "ubuntu:24.04", *words, code=4)
                self.assertEqual(result.error["id"], "import.inexpressible")

    def test_elsewhere_in_the_line_they_are_refused(self):
        for words in (["--label", f"token={self.TOKEN}"], ["--log-opt", f"splunk-token={self.PLAIN}"],
                      ["-v", f"/x/{self.TOKEN}:/x"], [f"--unknown-option={self.TOKEN}"], ["--name", self.TOKEN],
                      ["--health-cmd", f"curl https://me:{self.PLAIN}@x"]):
            with self.subTest(words):
                self.assert_silent("--", "docker", "run", *words, "ubuntu:24.04", code=4)

    def test_placeholders_in_a_command_are_kept_with_a_warning(self):
        result = self.import_text("docker run ubuntu:24.04 serve --api-key '<API_KEY>'").json

        self.assertIn("--api-key", "".join(result["notes"]))
        self.assertEqual(self.argv()[-1], "<API_KEY>")


class ShellText(ImportTest):
    """What a shell makes of a text; each text is also run by a real shell with a docker that prints its words."""

    SAME = [
        "docker run --rm ubuntu:24.04 echo 'a b' \"c d\" e\\ f",
        "docker run --rm \\\n  --name x \\\n  ubuntu:24.04 \\\n  true\n",
        "docker run --rm \\\r\n  ubuntu:24.04 true\r\n",
        "# a comment\ndocker run --rm ubuntu:24.04 true # another",
        "#!/bin/bash\nset -euo pipefail\ndocker run ubuntu:24.04",
        "NAME=x\ndocker run --name $NAME ubuntu:24.04",
        "export NAME=x; docker run --name \"${NAME}\" ubuntu:24.04",
        "ARGS='--rm --name x'\ndocker run $ARGS ubuntu:24.04 \"$ARGS\"",
        "EMPTY=\ndocker run $EMPTY --rm ubuntu:24.04 '' \"$EMPTY\"",
        "TAG=${TAG_OF:-24.04}; docker run ubuntu:${TAG}",
        "docker run ubuntu:24.04 bash -c 'echo $HOME `pwd` $(id)'",
        "docker run ubuntu:24.04 bash -c \"echo \\$HOME \\\"x\\\" \\\\ \\n\"",
        "docker run ubuntu:24.04 printf $'a\\tb\\n\\x41\\101\\u00e9\\''",
        "docker run ubuntu:24.04 a'b'\"c\"d",
        "docker run ubuntu:24.04 '#' a#b \\#",
        "docker run ubuntu:24.04 bash -c 'line 1\nline 2\n  line 3\n'",
        "docker run ubuntu:24.04 \"a\\\nb\"",
        "docker run -v \"$HOME/a b\":/x -v ~/y:/y -v $(pwd)/z:/z -v `pwd`:/w ubuntu:24.04",
        "docker run -e A='x=y z' -eB=2 -e=C=3 --env=D= --env E=ü ubuntu:24.04",
        "docker pull ubuntu:24.04 && docker run --rm ubuntu:24.04",
        "cd sub && docker run -v $PWD:/x -v ./y:/y ubuntu:24.04",
        "A=1; B=$A$A; docker run ubuntu:24.04 $B${A}x",
        "docker run ubuntu:24.04 --json '{\"a\": [1, 2], \"b\": null}'",
        "docker run ubuntu:24.04 echo 'it'\\''s'",
        "docker run -e HOME_OF=~/x ubuntu:24.04",
        "docker container run --rm ubuntu:24.04",
        "sudo -E docker run --rm ubuntu:24.04",
        "mkdir -p sub/{a,b} *.none 2>/dev/null; docker run --rm ubuntu:24.04; echo done",
        "cat > sub/file <<'EOF'\ndocker run not-this\nEOF\ndocker run --rm ubuntu:24.04",
        "docker run ubuntu:24.04 a=b c= --x=~/y",
    ]

    def words_of_shell(self, text):
        """The words that bash gives to docker."""
        tools = self.folder / "tools"
        tools.mkdir(exist_ok=True)
        (self.project / "sub").mkdir(exist_ok=True)
        for name, body in (("docker", '#!/bin/sh\n[ "$1" = pull ] && exit\nprintf "%s\\0" docker "$@" >"$WORDS"\n'
                                      'pwd -P >"$WORDS.folder"\n'),
                           ("sudo", '#!/bin/sh\nshift\nexec "$@"\n')):
            (tools / name).write_text(body)
            (tools / name).chmod(0o755)
        words = self.folder / "words"
        subprocess.run(["bash", "-c", text.replace("\r", "")], cwd=self.project, check=True, capture_output=True,
                       env=self.environment | {"PATH": f"{tools}:{os.environ['PATH']}", "WORDS": str(words)})
        argv = words.read_text().split("\0")[:-1]
        argv = [argv[0], *argv[2:]] if argv[1] == "container" else argv
        return argv, (self.folder / "words.folder").read_text().strip()

    def test_means_what_a_shell_makes_of_it(self):
        for text in self.SAME:
            with self.subTest(text):
                argv, folder = self.words_of_shell(text)
                self.import_text(text)

                self.assertEqual(meaning(self.argv(), str(self.project)), meaning(argv, folder))

    def test_prompts_and_fences_of_documentation_are_skipped(self):
        wanted = self.toml("docker run --rm ubuntu:24.04 true")
        for text in ("$ docker run --rm ubuntu:24.04 true", "# docker run --rm ubuntu:24.04 true",
                     "  # sudo docker run --rm ubuntu:24.04 true", "user@spark:~$ docker run --rm ubuntu:24.04 true",
                     "root@spark:/# docker run --rm ubuntu:24.04 true",
                     "```bash\ndocker run --rm \\\n  ubuntu:24.04 true\n```\n"):
            with self.subTest(text):
                self.assertEqual(self.toml(text), wanted)

    def test_variables_of_the_caller_stay_variables(self):
        text = self.toml("docker run -v $DATA/x:/x -v ${CACHE}:/c --env-file $DATA/env -e A=$A -e B=\"${B}\" -e C "
                         "-e D=${D:-} -e E=${E:-5} -u $(id -u):$(id -g) ubuntu:24.04")

        for line in ('source = "${DATA}/x"', 'source = "${CACHE}"', 'env_file = ["${DATA}/env"]',
                     'env_from_host = ["A", "B", "C?", "D?"]', 'E = "5"', 'user = "caller"'):
            self.assertIn(line, text)

    def test_values_that_the_host_knows_are_filled_in_and_told(self):
        result = self.import_text("docker run -w $PWD -e ME=$(id -u) -v $HOME/x:$HOME/x ubuntu:24.04").json

        self.assertIn(f'workdir = "{self.project}"', result["toml"])
        self.assertIn(f'ME = "{os.getuid()}"', result["toml"])
        self.assertIn('source = "~/x"\ntarget = "/home/user/x"', result["toml"])
        self.assertIn("this host's", "".join(result["notes"]))

    def test_exported_variables_reach_the_container(self):
        text = self.toml("export A=1\nB=2\nC=3 docker run -e A -e B -e C ubuntu:24.04")

        self.assertIn('[env]\nA = "1"\nC = "3"', text)
        self.assertIn('env_from_host = ["B?"]', text)

    def test_a_comment_ends_the_command_as_it_does_for_a_shell(self):
        result = self.import_text("docker run --rm ubuntu:24.04 true # why \\\n  --more x \\\n  --most\n").json

        self.assertEqual(self.argv()[-2:], ["ubuntu:24.04", "true"])
        self.assertIn("`--more x \\` `--most`", "".join(result["notes"]))

    def test_a_comment_between_continued_lines_ends_it_as_well(self):
        error = self.refusal("docker run --rm \\\n  # the cache\n  -v a:/b \\\n  ubuntu:24.04")

        self.assertIn("`# the cache` ends the command there", error["hint"])
        self.assertIn("`-v a:/b \\` `ubuntu:24.04`", error["hint"])

    def test_blanks_behind_a_continuation_are_told(self):
        result = self.import_text("docker run --rm \\  \n  ubuntu:24.04").json

        self.assertIn("line 1: blanks behind", "".join(result["notes"]))
        self.assertIn("remove = true", result["toml"])

    REFUSED = {
        "docker run $IMAGE": "$IMAGE",
        "docker run ubuntu:24.04 $1": "$1",
        'docker run "${ARGS[@]}" ubuntu:24.04': "${ARGS[@]}",
        'ARGS=(--rm)\ndocker run "${ARGS[@]}" ubuntu:24.04': "${ARGS[@]}",
        "ARGS=(--rm)\ndocker run $ARGS ubuntu:24.04": "${ARGS[@]}",
        "docker run --name $(hostname) ubuntu:24.04": "--name=$(hostname)",
        "docker run -e A=$(date) ubuntu:24.04": "-e A=$(date)",
        "docker run -e A=$B ubuntu:24.04": "-e A=$B",
        "docker run -e A=${A#x} ubuntu:24.04": "-e A=${A#x}",
        "docker run -p $PORT:80 ubuntu:24.04": "-p $PORT:80",
        "docker run ubuntu:24.04 | tee log": "|",
        "echo x | docker run ubuntu:24.04": "|",
        "docker run ubuntu:24.04 > log": ">log",
        "docker run ubuntu:24.04 2>&1": "2>&1",
        "docker run ubuntu:24.04 &": "&",
        "docker run ubuntu:24.04 <<EOF\nx\nEOF": "<<EOF",
        "docker run ubuntu:24.04 ls *.py": "*.py",
        "docker run ubuntu:24.04 x {a,b}": "{a,b}",
        "docker run ubuntu:24.04 pip install vllm[all]": "vllm[all]",
        "docker run a:1\ndocker run b:1": "docker run",
        "docker run -v $NAME-data:/x a:1": "-v $NAME-data:/x",
        "docker run -v data-$NAME:/x a:1": "-v data-$NAME:/x",
        "for i in 1 2; do docker run a:1; done": "for",
        "if true; then docker run a:1; fi": "if",
        "f() { docker run a:1; }": "(",
        "x=$(docker run a:1)": "x=$(docker run a:1)",
        "docker run ubuntu:24.04 'a": "'a",
        "docker run ubuntu:24.04 \"a": None,
        "docker run ubuntu:24.04 $(date": None,
        "echo hello": "echo hello",
        "docker ps": "docker ps",
        "docker run --rm": "docker run",
        "docker run --help": "--help",
        "docker -H tcp://x run a:1": "-H",
        "docker --context x run a:1": "--context",
        "DOCKER_HOST=tcp://x docker run a:1": "DOCKER_HOST=tcp://x",
        "docker run --unknown a:1": "--unknown",
        "docker run --gpu all a:1": "--gpu",
        "docker run -z a:1": "-z",
        "docker run --rm=maybe a:1": "--rm=maybe",
        "docker run -e": "-e",
        "docker run -e =x a:1": "-e =x",
        "docker run --platform a/b/c/d a:1": "--platform=a/b/c/d",
        "docker run 'unsloth/unsloth@sha256:<resolved digest>'": "unsloth/unsloth@sha256:<resolved digest>",
        "docker run Not/Lowercase": "Not/Lowercase",
        "docker run --gpus= a:1": "--gpus=",
    }

    def test_what_only_a_shell_can_know_is_refused_by_name(self):
        for text, word in self.REFUSED.items():
            with self.subTest(text):
                error = self.refusal(text)

                if word is not None:
                    self.assertEqual(error["details"]["word"], word)
                self.assertTrue(error["hint"])

    def test_a_text_that_grows_without_end_is_refused(self):
        text = "A=" + "x" * 1000 + "\n" + "A=$A$A\n" * 100 + "docker run $A"

        self.assertEqual(self.import_text(text, code=4).error["id"], "import.inexpressible")

    def test_deep_and_odd_texts_end(self):
        for text in ("${A:-" * 50000, "$(" * 50000, "docker run " + "[" * 200000 + "]", "'" * 99999,
                     "docker run " + "${A:-" * 5000 + "}" * 5000, "\\ \n" * 100000, "`" * 9999, "~" * 100000,
                     "a #\\\n" * 200000, "a\n" * 500000, "A=\n" * 300000, "<<a\n" * 100000, "a " * 500000):
            with self.subTest(text[:20]):
                self.assertEqual(self.import_text(text, code=None).code, 4)


if __name__ == "__main__":
    unittest.main()
