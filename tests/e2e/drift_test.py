# SPDX-License-Identifier: MIT
"""`outdated`, `diff`, `lock --check --remote` and fallback tags, against the rig's plain registry."""

import json
import unittest
import urllib.request

from support import MANIFEST_TYPES, RigTest, rig

NAME = "unsloth/unsloth"
TAG = "drift-test"


class Drift(RigTest):
    def point(self, name, build, tag=TAG):
        """Moves a tag of this test's own."""
        rig("tag", name, build, tag)

    def lock_job(self, name=NAME, build="dgxspark-latest", platforms=("linux/arm64", "linux/amd64")):
        self.point(name, build)
        self.write_profile("job", f"{self.registry}/{name}:{TAG}", platforms=platforms)
        self.sparkrun("lock")

    def put(self, name, reference, body, media_type):
        request = urllib.request.Request(f"http://{self.registry}/v2/{name}/manifests/{reference}", data=body,
                                         method="PUT", headers={"Content-Type": media_type})
        with urllib.request.urlopen(request, timeout=10):
            pass

    def copy_of_index(self, name, build, note):
        """Pushes the index once more under a digest of its own, which a test may delete; the digest."""
        index = json.loads(self.manifest(name, build)[0])
        index["annotations"] = {"test": note}
        self.put(name, TAG, json.dumps(index).encode(), index["mediaType"])
        return self.digest(name, TAG)

    def test_a_tag_that_stands_still_is_the_same(self):
        self.lock_job()

        result = self.sparkrun("outdated", "--json").json[0]

        self.assertEqual((result["class"], result["profile"]), ("same", "job"))
        self.assertEqual(self.sparkrun("outdated").out, f"job: same  {self.registry}/{NAME}:{TAG}\n")

    def test_a_tag_that_has_moved_is_told_with_what_changed(self):
        self.lock_job()
        self.point(NAME, "dgxspark-next")

        result = self.sparkrun("outdated", "--json", code=1).json[0]
        text = self.sparkrun("outdated", code=1).out

        self.assertEqual(result["class"], "content")
        self.assertEqual(result["now"], self.digest(NAME, "dgxspark-next"))
        builds = {build["platform"]: build for build in result["platforms"]}
        changes = {change["name"] for change in builds["linux/arm64"]["difference"]["env"]}
        self.assertIn("UNSLOTH_VERSION", changes)
        self.assertTrue(any(build["difference"]["layers"]["new"] == 1 for build in builds.values()))
        self.assertRegex(text, r"env +UNSLOTH_VERSION: \S+ -> \S+")
        self.assertRegex(text, r"layers +\d+ shared, 1 new, 1 gone; \S+ \S+ to download")

    def test_another_attestation_is_metadata_and_no_reason_to_act(self):
        self.lock_job("nvidia/pytorch", "25.09-py3")
        self.point("nvidia/pytorch", "25.09-py3-resigned")

        self.assertEqual(self.sparkrun("outdated", "--json").json[0]["class"], "metadata-only")
        self.assertIn("nothing to do", self.sparkrun("outdated").err)

    def test_what_cannot_be_compared_has_a_code_of_its_own(self):
        self.lock_job()
        for image, code, kind in ((f"{self.registry}/{NAME}:no-such-tag", 6, "tag-gone"),
                                  (f"{self.tls_registry}/{NAME}:1", 5, "unknown"),
                                  ("127.0.0.1:9/x:1", 5, "unknown")):
            with self.subTest(kind, image=image):
                path = self.project / "lockfiles/job.lock"
                old = path.read_text()
                path.write_text(old.replace(f"{self.registry}/{NAME}:{TAG}", image))
                self.assertEqual(self.sparkrun("outdated", "--json", code=code).json[0]["class"], kind)
                path.write_text(old)

    def test_a_lost_platform(self):
        self.lock_job("nvidia/pytorch", "25.09-py3", platforms=("linux/amd64",))
        self.point("nvidia/pytorch", "foreign-only")

        self.assertEqual(self.sparkrun("outdated", "--json", code=8).json[0]["class"], "platform-lost")

    def test_a_locked_digest_that_has_vanished(self):
        self.forget_images()
        digest = self.copy_of_index(NAME, "dgxspark-latest", self.id())
        self.write_profile("job", f"{self.registry}/{NAME}:{TAG}")
        self.sparkrun("lock")
        self.sparkrun("lock", "--check", "--remote")
        rig("delete", NAME, digest)
        self.point(NAME, "dgxspark-next")

        checked = self.sparkrun("lock", "--check", "--remote", "--json", code=6).json[0]
        outdated = self.sparkrun("outdated", "--json", code=6).json[0]
        said = self.sparkrun("--json", "run", "job", "true", code=106).error

        self.assertEqual((checked["state"], checked["errors"][0]["id"]), ("gone", "registry.not_found"))
        self.assertEqual((outdated["gone"], outdated["class"]), ([digest], "content"))
        self.assertEqual(said["id"], "registry.locked_gone")
        self.assertIn(f"the registry no longer has {digest}", said["message"])
        self.sparkrun("lock", "--check")  # asks nobody

    def test_a_lock_that_contradicts_the_registry(self):
        self.lock_job()
        path = self.project / "lockfiles/job.lock"
        lines = [f'config = "sha256:{"0" * 64}"' if line.startswith("config") else line
                 for line in path.read_text().splitlines()]
        path.write_text("\n".join(lines) + "\n")

        checked = self.sparkrun("lock", "--check", "--remote", "--json", code=4).json[0]

        self.assertEqual(checked["state"], "contradicted")

    def test_a_registry_that_cannot_be_asked_is_no_verdict(self):
        self.lock_job()
        checked = self.sparkrun("lock", "--check", "--remote", "--json", code=5,
                                environment={"SPARKRUN_OFFLINE": "true"}).json[0]
        self.assertEqual((checked["state"], checked["errors"][0]["id"]), ("unknown", "registry.offline"))

    # diff

    def test_diff_takes_profiles_references_and_digests(self):
        self.lock_job()
        next_reference = f"{self.registry}/{NAME}:dgxspark-next"
        next_digest = self.digest(NAME, "dgxspark-next")

        whole = self.sparkrun("diff", "job", next_reference, "--json", code=1).json
        by_digest = self.sparkrun("diff", "job", next_digest, "--json", code=1).json

        self.assertEqual(whole["platforms"], by_digest["platforms"])
        self.assertEqual({build["platform"] for build in whole["platforms"]}, {"linux/amd64", "linux/arm64"})
        self.assertEqual(self.sparkrun("diff", "job", "job", "--json").json["platforms"][0]["class"], "same")
        text = self.sparkrun("diff", "job", next_reference, "--platform", "linux/arm64", code=1).out
        self.assertTrue(text.startswith("--- job (sha256:"), text)
        self.assertIn(f"\n+++ {next_reference} (sha256:", text)

    def test_diff_of_one_build_in_two_wrappings(self):
        single, listed = f"{self.registry}/small:single", f"{self.registry}/small:list"
        result = self.sparkrun("diff", single, listed, "--json").json
        self.assertEqual(result["platforms"][0]["class"], "metadata-only")

    def test_diff_refuses_what_it_cannot_compare(self):
        one = f"{self.registry}/small:1"
        digest = f"sha256:{'0' * 64}"
        for words, code in (((one,), 2), ((digest, digest), 2), ((one, "Bad Name"), 4), ((one, "no-profile"), 4),
                            ((one, digest), 6), ((one, one, "--platform", "linux/s390x"), 8)):
            with self.subTest(words):
                self.sparkrun("diff", *words, code=code)

    # Fallback tags.

    def write_wanting(self, tag, fallback):
        (self.project / "profiles/job.toml").write_text(
            f'version = 1\nimage = "{self.registry}/nvidia/pytorch:{tag}"\nfallback = {json.dumps(fallback)}\n'
            'platforms = ["linux/arm64", "linux/amd64"]\n')

    def test_the_newest_match_stands_in_for_a_tag_that_is_not_there(self):
        self.write_wanting("26.99-py3", ["25.*-py3"])

        result = self.sparkrun("lock")
        lock = (self.project / "lockfiles/job.lock").read_text()
        plan = self.sparkrun("run", "job", "--dry-run", "--json")

        self.assertIn(f'image = "{self.registry}/nvidia/pytorch:26.99-py3"', lock)
        self.assertIn(f'taken = "{self.registry}/nvidia/pytorch:25.10-py3"', lock)
        self.assertIn("26.99-py3 is wanted", result.err)
        self.assertEqual(plan.json["image"]["taken"], f"{self.registry}/nvidia/pytorch:25.10-py3")
        self.assertIn("26.99-py3 is wanted", plan.err)
        self.assertEqual(self.sparkrun("outdated", "--json").json[0]["class"], "same")
        self.assertIn(": unchanged ", self.sparkrun("lock").out)

    def test_without_a_match_the_tag_is_gone(self):
        self.write_wanting("26.99-py3", ["24.*"])
        self.assertEqual(self.sparkrun("lock", "--json", code=6).error["id"], "registry.not_found")

    @classmethod
    def tearDownClass(cls):
        # The tag alone cannot be deleted; pointing it at what stays keeps the registry as small as it was.
        for name, build in ((NAME, "dgxspark-latest"), ("nvidia/pytorch", "25.09-py3")):
            rig("tag", name, build, TAG)


if __name__ == "__main__":
    unittest.main()
