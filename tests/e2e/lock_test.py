# SPDX-License-Identifier: MIT
"""`sparkrun lock` on a real registry."""

import hashlib
import json
import unittest

from support import ROOT, RigTest, rig

IMAGE = "unsloth/unsloth"


class Lock(RigTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(rig, "up")  # puts moved tags back
        self.write_profile("job")
        self.path = self.project / "lockfiles/job.lock"

    def test_pins_index_manifests_and_configs_of_all_platforms(self):
        index, digest = self.manifest(IMAGE, "dgxspark-latest")

        self.sparkrun("lock", "job")

        text = self.path.read_text()
        self.assertIn(f'index = "{digest}"', text)
        for entry in json.loads(index)["manifests"]:
            architecture = entry["platform"]["architecture"]
            if architecture == "unknown":
                self.assertNotIn(entry["digest"], text)
                continue
            manifest = json.loads(self.manifest(IMAGE, entry["digest"])[0])
            self.assertIn(f'[platform."linux/{architecture}"]', text)
            self.assertIn(f'manifest = "{entry["digest"]}"', text)
            self.assertIn(f'config = "{manifest["config"]["digest"]}"', text)
        self.assertIn('CUDA_VERSION = "13.0.1.012"', text)

    def test_a_second_run_changes_no_byte_and_writes_nothing(self):
        self.sparkrun("lock", "job")
        before = (self.path.read_bytes(), self.path.stat().st_mtime_ns, self.path.stat().st_ino)

        result = self.sparkrun("lock", "job")

        self.assertIn("unchanged", result.out)
        self.assertEqual((self.path.read_bytes(), self.path.stat().st_mtime_ns, self.path.stat().st_ino), before)
        self.assertEqual(sorted(entry.name for entry in self.path.parent.iterdir()), ["job.lock"])

    def test_a_moved_tag_moves_the_pin_only_with_update(self):
        self.sparkrun("lock", "job")
        before = self.path.read_text()
        rig("tag", IMAGE, "dgxspark-next", "dgxspark-latest")

        self.sparkrun("lock", "job")
        self.assertEqual(self.path.read_text(), before)
        self.sparkrun("lock", "job", "--update")

        self.assertIn(self.digest(IMAGE, "dgxspark-next"), self.path.read_text())

    def test_update_to_pins_exactly_that_digest(self):
        wanted = self.digest(IMAGE, "dgxspark-next")

        self.sparkrun("lock", "job", "--update-to", wanted)

        self.assertIn(f'index = "{wanted}"', self.path.read_text())

    def test_an_added_platform_comes_from_the_locked_index(self):
        self.write_profile("job", platforms=["linux/arm64"])
        self.sparkrun("lock", "job")
        locked = self.digest(IMAGE, "dgxspark-latest")
        rig("tag", IMAGE, "dgxspark-next", "dgxspark-latest")
        self.write_profile("job", platforms=["linux/arm64", "linux/amd64"])

        self.sparkrun("lock", "job")

        self.assertIn(f'index = "{locked}"', self.path.read_text())
        self.assertIn('[platform."linux/amd64"]', self.path.read_text())

    def test_check_names_every_reason_and_asks_nobody(self):
        self.sparkrun("lock", "job")
        self.sparkrun("lock", "--check")
        self.write_profile("job", f"{self.registry}/{IMAGE}:dgxspark-next", platforms=["linux/arm64"])

        stale = self.sparkrun("lock", "--check", "--json", code=3,
                              environment={"SPARKRUN_OFFLINE": "1"}).json[0]

        self.assertEqual(stale["state"], "stale")
        self.assertEqual(len(stale["reasons"]), 2, stale)

    def test_a_profile_without_a_lock_fails_the_check(self):
        self.sparkrun("lock", "--check", code=4)

    def test_conflict_markers_and_newer_formats_are_refused_and_not_overwritten(self):
        cases = {"lock.conflict": "<<<<<<< HEAD\nimage = 1\n=======\n>>>>>>> x\n",
                 "lock.newer": 'image = "a"\nversion = 2\n',
                 "lock.invalid": 'image = "a"\nindx = "b"\nversion = 1\n'}
        self.path.parent.mkdir()
        for error, text in cases.items():
            with self.subTest(error):
                self.path.write_text(text)
                result = self.sparkrun("lock", "job", "--json", code=4)
                self.assertEqual(result.error["id"], error)
                self.assertIn("job.lock", result.error["message"])
                self.assertEqual(self.path.read_text(), text)

    def test_dry_run_writes_nothing(self):
        result = self.sparkrun("lock", "job", "--dry-run")

        self.assertIn("would write", result.out)
        self.assertFalse(self.path.parent.exists())

    def test_a_gone_tag_is_6_and_other_profiles_are_locked_all_the_same(self):
        self.write_profile("gone", f"{self.registry}/{IMAGE}:none")

        result = self.sparkrun("lock", code=6)

        self.assertTrue(self.path.exists())
        self.assertIn("while: locking profile `gone`", result.err)

    def test_a_platform_that_the_image_lacks_is_8(self):
        self.write_profile("job", platforms=["linux/arm64", "linux/s390x"])

        result = self.sparkrun("lock", "job", code=8)

        self.assertIn("linux/amd64", result.err)

    def test_locking_a_built_in_profile_copies_it_with_its_lock(self):
        # No packet leaves the machine: the proxy is a closed port of it.
        nowhere = {"https_proxy": "http://127.0.0.1:1", "HTTPS_PROXY": "http://127.0.0.1:1"}

        result = self.sparkrun("lock", "pytorch", code=5, environment=nowhere)

        self.assertIn("registry.unreachable", result.err)
        for file in ("profiles/pytorch.toml", "lockfiles/pytorch.lock"):
            self.assertEqual((self.project / file).read_text(), (ROOT / file).read_text())
        self.assertIn("sha256:f3b4a33fd60d", self.sparkrun("run", "pytorch", "--dry-run").out)

    def test_the_lock_holds_nothing_of_the_machine(self):
        self.sparkrun("lock", "job")
        first = hashlib.sha256(self.path.read_bytes()).hexdigest()
        self.path.unlink()

        self.sparkrun("lock", "job", environment={"HOME": str(self.folder), "TZ": "Asia/Tokyo"})

        self.assertEqual(hashlib.sha256(self.path.read_bytes()).hexdigest(), first)


if __name__ == "__main__":
    unittest.main()
