# SPDX-License-Identifier: MIT
"""What people meet around the commands: completion in real shells, the installation, the man page, help."""

import os
import shlex
import subprocess
import unittest

from support import BINARY, ROOT, RigTest


class Completion(RigTest):
    """Each shell is asked what it would offer, with the script that `sparkrun completion` prints."""

    CASES = [
        (["ru"], ["run"]),
        (["audit", ""], ["ls", "show", "verify"]),
        (["run", "job"], ["job", "job-two"]),
        (["lock", "--up"], ["--update", "--update-to"]),
        (["explain", "registry.t"], ["registry.timeout", "registry.tls"]),
    ]

    def setUp(self):
        super().setUp()
        self.write_profile("job")
        self.write_profile("job-two")
        self.environment["PATH"] = f"{BINARY.parent}:{self.environment['PATH']}"

    def ask(self, shell, script):
        done = subprocess.run([shell, *(["-f"] if shell == "zsh" else []), "-c", script], cwd=self.project,
                              env=self.environment, capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(done.stderr, "", script)
        return sorted(done.stdout.split())

    def test_bash(self):
        for words, wanted in self.CASES:
            with self.subTest(words):
                line = shlex.join(["sparkrun", *words])
                script = (f"source <(sparkrun completion bash); COMP_WORDS=({line}); COMP_CWORD={len(words)}; "
                          '_sparkrun; printf "%s\\n" "${COMPREPLY[@]}"')
                self.assertEqual(self.ask("bash", script), wanted)

    def test_zsh(self):
        for words, wanted in self.CASES:
            with self.subTest(words):
                line = shlex.join(["sparkrun", *words])
                # compadd works only inside the line editor: here it prints what it is given.
                script = ("compdef() { :; }; _files() { :; }; compadd() { shift; print -l -- ${(P)1}; }; "
                          f"source <(sparkrun completion zsh); words=({line}); CURRENT={len(words) + 1}; _sparkrun")
                self.assertEqual(self.ask("zsh", script), wanted)

    def test_fish(self):
        for words, wanted in self.CASES:
            with self.subTest(words):
                line = " ".join(["sparkrun", *words])
                script = f"sparkrun completion fish | source; complete -C {shlex.quote(line)}"
                self.assertEqual(self.ask("fish", script), wanted)

    def test_the_hook_of_the_other_sparkrun_gets_silence(self):
        result = self.sparkrun("run", environment={"_SPARKRUN_COMPLETE": "bash_source"})

        self.assertEqual((result.out, result.err), ("", ""))


class Installation(RigTest):
    def test_puts_everything_where_debian_looks(self):
        build = BINARY.parent
        subprocess.run(["cmake", "--install", build, "--prefix", "/usr"], check=True, capture_output=True,
                       env=os.environ | {"DESTDIR": str(self.folder / "root")})

        root = self.folder / "root/usr"
        for path in ("bin/sparkrun", "share/bash-completion/completions/sparkrun",
                     "share/zsh/vendor-completions/_sparkrun", "share/fish/vendor_completions.d/sparkrun.fish",
                     "share/man/man1/sparkrun.1"):
            self.assertTrue((root / path).is_file(), path)
        self.assertTrue(os.access(root / "bin/sparkrun", os.X_OK))

    def test_the_man_page_is_the_one_that_the_program_prints(self):
        # After a change of the options: build/dev/sparkrun __man > docs/man/sparkrun.1
        self.assertEqual(self.sparkrun("__man").out, (ROOT / "docs/man/sparkrun.1").read_text())


class Help(RigTest):
    def test_every_command_explains_itself(self):
        for line in self.sparkrun("--help").out.split("Commands:\n")[1].split("\n\n")[0].splitlines():
            name = line.split("  ")[1]
            with self.subTest(name):
                self.assertIn(f"Usage: sparkrun {name}", self.sparkrun(*name.split(), "--help").out)

    def test_every_error_and_check_is_explained(self):
        for topic in self.sparkrun("explain").out.split():
            with self.subTest(topic):
                self.assertGreater(len(self.sparkrun("explain", topic).out), 60)

    def test_in_an_empty_folder_the_shipped_lock_gives_the_documented_line(self):
        empty = self.folder / "empty"
        empty.mkdir()
        nowhere = {"DOCKER_HOST": f"unix://{self.folder}/none", "https_proxy": "http://127.0.0.1:1"}

        result = self.sparkrun("run", "pytorch", "--dry-run", "--tty", "always", cwd=empty, environment=nowhere)

        self.assertEqual(
            result.out,
            "docker run --runtime=nvidia --gpus all -t --rm --ipc=host --ulimit memlock=-1 --ulimit stack=67108864 "
            f"-v {empty}/finetuning:/workspace/finetuning -e TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas "
            "-e HF_XET_HIGH_PERFORMANCE=1 --platform linux/arm64 nvcr.io/nvidia/pytorch@"
            "sha256:f3b4a33fd60d5e0358287bb44d57e91eda45e8f1681fef1bfd6c969371417130\n")
        self.assertEqual(list(empty.iterdir()), [])
        self.assertFalse((self.folder / "state").exists())


if __name__ == "__main__":
    unittest.main()
