# SPDX-License-Identifier: MIT
"""`sparkrun profile new`: the file that people start from, and what it does not write."""

import shutil
import unittest

from support import ProjectTest


class New(ProjectTest):
    def refuse(self, error, code, *words):
        result = self.sparkrun("--json", "profile", "new", *words, code=code)
        self.assertEqual(result.error["id"], error, result.err)
        self.assertTrue(result.error["hint"])

    def files(self):
        return sorted(str(path.relative_to(self.project)) for path in self.project.rglob("*") if path.is_file())

    def test_what_it_writes_is_valid_and_is_what_it_extends(self):
        result = self.sparkrun("profile", "new", "mine")

        self.assertEqual(result.out, f"mine: wrote {self.project}/profiles/mine.toml\n")
        self.assertEqual(self.sparkrun("profile", "check", "mine").out.splitlines()[0], "mine: valid")
        own, base = (self.sparkrun("profile", "show", name, "--argv", "--json").json["argv"]
                     for name in ("mine", "pytorch"))
        self.assertEqual(own, base)

    def test_its_comments_are_a_valid_profile_as_well(self):
        self.sparkrun("profile", "new", "mine")
        path = self.project / "profiles/mine.toml"
        path.write_text("\n".join(line.removeprefix("# ") for line in path.read_text().splitlines()) + "\n")

        self.assertIn("mine: valid", self.sparkrun("profile", "check", "mine").out)
        self.assertEqual(self.sparkrun("profile", "show", "mine", "--json").json["command"], ["python3", "train.py"])

    def test_image_and_base_are_the_callers(self):
        written = self.sparkrun("--json", "profile", "new", "mine", "--image", "reg.test/a:1", "--extends", "vllm").json

        self.assertEqual(written, {"profile": "mine", "path": f"{self.project}/profiles/mine.toml"})
        shown = self.sparkrun("profile", "show", "mine", "--json").json
        self.assertEqual(shown["image"], "reg.test/a:1")
        self.assertIn('extends = "vllm"', (self.project / "profiles/mine.toml").read_text())

    def test_a_name_that_is_taken_stays_what_it_is(self):
        path = self.project / "profiles/mine.toml"
        path.write_text('version = 1\nextends = "cuda"\n')
        before = path.read_bytes()

        self.refuse("profile.exists", 4, "mine")
        self.assertEqual(path.read_bytes(), before)
        self.sparkrun("profile", "new", "mine", "--force")
        self.assertIn('extends = "pytorch"', path.read_text())

    def test_a_link_to_nowhere_is_a_name_that_is_taken(self):
        (self.project / "profiles/mine.toml").symlink_to("/nowhere/mine.toml")

        self.refuse("profile.exists", 4, "mine")

    def test_a_built_in_name_is_free_in_a_project(self):
        self.sparkrun("profile", "new", "vllm", "--extends", "vllm")

        self.assertIn("vllm: valid", self.sparkrun("profile", "check", "vllm").out)

    def test_what_is_refused_writes_nothing(self):
        for name in ("../x", "A", "", "a.b", "a/b", "-", "x" * 64):
            with self.subTest(name):
                self.refuse("usage.bad_value", 2, name)
        self.refuse("usage.missing_argument", 2)
        self.refuse("usage.bad_value", 2, "mine", "another")
        self.refuse("reference.malformed", 2, "mine", "--image", "Bad/Name:x:y")
        self.refuse("profile.unknown", 4, "mine", "--extends", "nosuch")

        self.assertEqual(self.files(), [])

    def test_outside_a_project_the_folder_becomes_one(self):
        shutil.rmtree(self.project / "profiles")
        self.assertIsNone(self.sparkrun("paths", "--json").json["project"])

        self.sparkrun("profile", "new", "mine")

        self.assertEqual(self.files(), ["profiles/mine.toml"])
        self.assertEqual(self.sparkrun("paths", "--json").json["project"], str(self.project))

    def test_below_a_project_it_is_the_projects(self):
        self.sparkrun("profile", "new", "first")
        below = self.project / "a/b"
        below.mkdir(parents=True)

        self.sparkrun("profile", "new", "mine", cwd=below)

        self.assertEqual(self.files(), ["profiles/first.toml", "profiles/mine.toml"])

    def test_a_folder_that_cannot_be_written_is_said(self):
        shutil.rmtree(self.project / "profiles")
        (self.project / "profiles").write_text("not a folder")

        self.refuse("file.unwritable", 4, "mine")


if __name__ == "__main__":
    unittest.main()
