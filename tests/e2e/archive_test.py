# SPDX-License-Identifier: MIT
"""`sparkrun archive` and `sparkrun restore`: real registries, a real engine, skopeo, and what goes wrong."""

import gzip
import hashlib
import io
import json
import os
import pty
import shlex
import signal
import subprocess
import tarfile
import time
import unittest
import uuid

from image_server import Contents, ImageServer, fetch
from support import BINARY, RigTest, rig

IMAGE = "unsloth/unsloth"
HALF = 1 << 20


class Archive(RigTest):
    def setUp(self):
        super().setUp()
        self.layout = self.folder / "images"
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        self.environment["TMPDIR"] = str(self.temporary)
        self.addCleanup(self.assert_nothing_temporary)

    # Helpers.

    def assert_nothing_temporary(self):
        if self.temporary.exists():
            self.assertEqual(list(self.temporary.iterdir()), [])

    def lock(self, *profiles):
        self.sparkrun("lock", *profiles)

    def archive(self, *words, **options):
        return self.sparkrun("archive", str(self.layout), *words, "--json", **options).json

    def actions(self, report):
        """How many blobs were fetched, and how many kept."""
        actions = [blob["action"] for blob in report["blobs"]]
        return actions.count("fetched"), actions.count("kept")

    def blobs(self, layout=None):
        return sorted((layout or self.layout).glob("blobs/*/*"))

    def assert_whole(self):
        """Every file under blobs/ is what its name says."""
        for path in self.blobs():
            self.assertEqual(hashlib.sha256(path.read_bytes()).hexdigest(), path.name)

    def index(self):
        return json.loads((self.layout / "index.json").read_text())["manifests"]

    def skopeo(self, *words):
        return subprocess.run(["skopeo", *words], check=True, capture_output=True).stdout

    def forget(self, report):
        """Takes the images that a test loads out of the engine, at its end."""
        for image in report["images"]:
            for tag in image["tags"]:
                self.addCleanup(self.docker, "image", "rm", tag)

    def restore(self, *words, **options):
        report = self.sparkrun("restore", *words, "--json", **options).json
        self.forget(report)
        return report

    def own_image(self, *more_layers):
        """Contents with an image `app:1` that no engine has seen, which runs on this host."""
        index, _ = self.manifest("small", "1")
        architecture = json.loads(self.docker("version", "--format", "{{json .Server}}"))["Arch"]
        manifest = next(child["digest"] for child in json.loads(index)["manifests"]
                        if child["platform"]["architecture"] == architecture)
        layers = json.loads(self.manifest("small", manifest)[0])["layers"]
        bodies = [fetch(self.registry, f"small/blobs/{layer['digest']}") for layer in layers]
        plain = [gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body for body in bodies]
        contents = Contents()
        contents.add_image("1", [*plain, *more_layers], ["arm64", "amd64"], str(uuid.uuid4()))
        return contents

    def large_image(self):
        """Its digest of 4 MiB comes last, since it is the largest."""
        data = os.urandom(4 << 20)
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w") as tar:
            member = tarfile.TarInfo("data")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
        layer = stream.getvalue()
        contents = self.own_image(layer)
        return contents, "sha256:" + hashlib.sha256(layer).hexdigest()

    def serve(self, contents, name="own"):
        server = self.started(contents)
        self.write_job(name, f"{server.address}/app:1")
        self.lock(name)
        return server

    def started(self, contents):
        server = ImageServer(contents)
        self.addCleanup(server.close)
        server.start()
        return server

    # archive.

    def test_stores_what_is_locked_and_skopeo_copies_it_back_under_the_same_digest(self):
        self.write_profile("job")
        self.lock("job")
        digest = self.digest(IMAGE, "dgxspark-latest")
        name = "archived/copy"
        reference = f"{self.registry}/{IMAGE}:dgxspark-latest"

        report = self.archive("job")

        self.assertEqual([(image["digest"], image["left_out"], image["profiles"]) for image in report["images"]],
                         [(digest, 0, ["job"])])
        self.assertEqual([entry["digest"] for entry in self.index()], [digest])
        self.assertEqual(self.index()[0]["annotations"]["org.opencontainers.image.ref.name"], reference)
        self.assert_whole()
        raw = self.skopeo("inspect", "--raw", f"oci:{self.layout}:{reference}")
        self.assertEqual("sha256:" + hashlib.sha256(raw).hexdigest(), digest)
        self.skopeo("copy", "--all", "--preserve-digests", "--dest-tls-verify=false",
                    f"oci:{self.layout}:{reference}", f"docker://{self.registry}/{name}:1")
        self.addCleanup(rig, "delete", name, digest)
        self.assertEqual(self.digest(name, "1"), digest)

    def test_a_second_one_fetches_nothing_and_changes_nothing(self):
        self.write_profile("job")
        self.lock("job")
        first = self.archive()
        before = {path: path.stat() for path in self.layout.rglob("*") if path.is_file()}

        second = self.archive()
        offline = self.archive(environment={"SPARKRUN_OFFLINE": "1"})

        self.assertEqual(self.actions(first)[1], 0)
        for report in (second, offline):
            self.assertEqual(self.actions(report), (0, self.actions(first)[0]))
        for path, status in before.items():
            self.assertEqual((path.stat().st_mtime_ns, path.stat().st_ino), (status.st_mtime_ns, status.st_ino))

    def test_fetches_a_wrong_blob_anew(self):
        self.write_profile("job", f"{self.registry}/small:1")
        self.lock("job")
        self.archive()
        victim = max(self.blobs(), key=lambda path: path.stat().st_size)
        data = bytearray(victim.read_bytes())
        data[len(data) // 2] ^= 1
        victim.write_bytes(data)

        self.assertEqual(self.actions(self.archive())[0], 1)
        self.assert_whole()

    def test_archives_add_up_and_one_platform_makes_a_sparse_index(self):
        self.write_profile("one", f"{self.registry}/small:1", platforms=["linux/arm64"])
        self.write_profile("two", f"{self.registry}/small:2")
        self.write_profile("single", f"{self.registry}/small:single", platforms=["linux/arm64"])
        self.lock("one", "two")
        self.archive("two")

        result = self.sparkrun("archive", str(self.layout), "one")

        self.assertIn("children are not in the archive", result.err)
        self.assertEqual(len(self.index()), 2)
        self.assert_whole()

    def test_works_with_logins_and_tokens(self):
        registry = self.rig["SPARKRUN_RIG_TOKEN_REGISTRY"]
        self.write_profile("job", f"{registry}/small:1")
        ca = ("--cacert", self.rig["SPARKRUN_RIG_CA"])
        self.sparkrun("lock", "job", *ca)

        report = self.sparkrun("archive", str(self.layout), "job", "--json", *ca).json

        self.assertGreater(self.actions(report)[0], 4)
        self.assert_whole()

    def test_names_every_lock_that_is_missing_or_stale_before_it_asks_anybody(self):
        self.write_profile("stale", f"{self.registry}/small:1")
        self.lock("stale")
        self.write_profile("stale", f"{self.registry}/small:2")
        self.write_profile("missing", f"{self.registry}/small:1")

        both = self.sparkrun("archive", str(self.layout), code=4)
        stale = self.sparkrun("archive", str(self.layout), "stale", "--json", code=3)

        self.assertIn("lock.missing", both.err)
        self.assertIn("lock.stale", both.err)
        self.assertEqual(stale.error["id"], "lock.stale")
        self.assertFalse(self.layout.exists())

    def test_offline_and_foreign_folders_are_refused(self):
        self.write_profile("job", f"{self.registry}/small:1")
        self.lock("job")
        offline = self.sparkrun("archive", str(self.layout), "--json", code=5, environment={"SPARKRUN_OFFLINE": "1"})
        self.assertEqual(offline.error["id"], "registry.offline")
        (self.folder / "home/thesis").write_text("important")

        foreign = self.sparkrun("archive", str(self.folder / "home"), "--json", code=4)

        self.assertEqual(foreign.error["id"], "archive.invalid")
        self.assertEqual([path.name for path in (self.folder / "home").iterdir()], ["thesis"])

    def test_a_stream_is_nothing_for_a_terminal(self):
        self.write_profile("job", f"{self.registry}/small:1")
        self.lock("job")
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        done = subprocess.run([BINARY, "archive", "-"], cwd=self.project, env=self.environment, stdout=theirs,
                              stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        restored = subprocess.run([BINARY, "restore", "-"], cwd=self.project, env=self.environment, stdin=theirs,
                                  capture_output=True, text=True)
        os.close(theirs)
        self.assertEqual((done.returncode, restored.returncode), (2, 2), done.stderr + restored.stderr)

    def test_the_same_locks_give_the_same_stream(self):
        self.write_profile("job", f"{self.registry}/small:1")
        self.lock("job")
        streams = [subprocess.run([BINARY, "archive", "-"], cwd=self.project, env=self.environment, check=True,
                                  capture_output=True).stdout for _ in range(2)]
        self.assertTrue(streams[0] == streams[1])
        with tarfile.open(fileobj=io.BytesIO(streams[0])) as tar:
            self.assertIn("./index.json", tar.getnames())

    def test_goes_on_where_a_connection_was_cut(self):
        contents, large = self.large_image()
        server = self.serve(contents)
        server.cuts[large] = HALF

        self.archive("own")

        self.assertEqual([digest for digest, _ in server.ranges], [large])
        self.assertGreaterEqual(server.ranges[0][1], HALF // 2)
        self.assert_whole()

    def test_killed_halfway_it_goes_on_with_what_is_whole(self):
        contents, large = self.large_image()
        server = self.serve(contents)
        server.halts[large] = HALF
        with self.running("archive", str(self.layout), "own") as process:
            self.assertTrue(server.halted.wait(30))
            # All the others are whole.
            self.wait_for(lambda: len(self.blobs()) == len(contents.bodies) - 1)
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.assert_whole()
        self.assertFalse((self.layout / "index.json").exists())
        incomplete = self.sparkrun("restore", str(self.layout), "--json", code=4)
        self.assertEqual(incomplete.error["id"], "archive.invalid")
        server.halts.clear()
        server.asked.clear()

        report = self.archive("own")

        self.assertEqual(server.asked, [large])
        self.assertEqual(self.actions(report)[0], 1)
        self.assert_whole()

    def test_an_interrupt_ends_it_at_once_and_leaves_whole_blobs_only(self):
        contents, large = self.large_image()
        server = self.serve(contents)
        server.halts[large] = HALF
        for target in (str(self.layout), "-"):
            with self.subTest(target):
                server.halted.clear()
                with self.running("archive", target, "own") as process:
                    self.assertTrue(server.halted.wait(30))
                    started = time.monotonic()
                    process.send_signal(signal.SIGINT)
                    self.assertEqual(process.wait(), 130)
                    self.assertLess(time.monotonic() - started, 5)
                self.assert_whole()
                self.assert_nothing_temporary()

    def test_a_full_disk_leaves_no_half_blob(self):
        contents, large = self.large_image()
        self.serve(contents)
        disk = self.folder / "disk"
        disk.mkdir()
        # The mount is seen by this process alone, and goes with it.
        script = (f"mount -t tmpfs -o size=3m none {shlex.quote(str(disk))} || exit 99; "
                  f"{shlex.quote(str(BINARY))} archive {shlex.quote(str(disk / 'x'))} own; code=$?; "
                  f"cd {shlex.quote(str(disk))}/x/blobs/sha256 && sha256sum *; exit $code")
        done = subprocess.run(["unshare", "--mount", "--map-root-user", "sh", "-c", script], cwd=self.project,
                              env=self.environment, capture_output=True, text=True)

        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("file.unwritable", done.stderr)
        self.assertIn("No space left on device", done.stderr)
        for line in done.stdout.splitlines():
            self.assertEqual(*line.split(), line)
        self.assertNotIn(large.removeprefix("sha256:"), done.stdout)

    # restore.

    def test_runs_locked_and_offline_when_the_registry_is_gone(self):
        server = self.serve(self.own_image())
        self.archive("own")
        server.close()
        run = ("run", "own", "--locked", "--offline", "--no-preflight")
        before = self.sparkrun(*run, "echo", "no", code=105)
        self.assertIn("registry.offline", before.err)

        report = self.restore(str(self.layout))
        again = self.sparkrun("restore", str(self.layout), "--json").json

        self.assertEqual([image["action"] for image in report["images"]], ["loaded"])
        self.assertEqual([image["action"] for image in again["images"]], ["kept"])
        image = report["images"][0]
        self.assertEqual(self.docker("image", "inspect", "--format", "{{.Id}}", image["tags"][0]).strip(),
                         image["config"])
        self.assertIn(image["config"], (self.project / "lockfiles/own.lock").read_text())
        self.assertEqual(self.sparkrun(*run, "echo", "hello").out, "hello\n")
        self.docker("image", "prune", "--force")
        self.assertEqual(self.sparkrun(*run, "echo", "hello").out, "hello\n")

    def test_a_stream_goes_from_archive_to_restore(self):
        self.write_profile("job")
        self.lock("job")
        with self.running("archive", "-") as source:
            done = subprocess.run([BINARY, "restore", "-", "--json"], cwd=self.project, env=self.environment,
                                  stdin=source.stdout, capture_output=True, text=True)
            self.assertEqual(source.wait(), 0)
            self.assertIn("fetched", source.stderr.read())
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.forget(report)
        self.assertEqual(report["images"][0]["digest"], self.digest(IMAGE, "dgxspark-latest"))

    def test_refuses_wrong_blobs_and_other_platforms(self):
        self.write_profile("job", f"{self.registry}/small:1")
        self.lock("job")
        self.archive()
        missing = self.sparkrun("restore", str(self.layout), "--platform", "linux/s390x", "--json", code=8)
        self.assertEqual(missing.error["id"], "registry.platform_missing")
        for path in self.blobs():
            if path.stat().st_size > 5000:
                path.write_bytes(b"x" * path.stat().st_size)

        wrong = self.sparkrun("restore", str(self.layout), "--json", code=4)

        self.assertEqual(wrong.error["id"], "archive.invalid")

    def test_hostile_streams_are_refused_and_reach_nothing(self):
        def stream(*members):
            target = io.BytesIO()
            with tarfile.open(fileobj=target, mode="w") as tar:
                for member in members:
                    tar.addfile(member, io.BytesIO(b"x" * member.size))
            return target.getvalue()

        def member(name, size=1, **values):
            made = tarfile.TarInfo(name)
            made.size = size
            for key, value in values.items():
                setattr(made, key, value)
            return made

        link = member("link", 0, type=tarfile.SYMTYPE, linkname=str(self.folder))
        fifo = member("oci-layout", 0, type=tarfile.FIFOTYPE)
        cases = {"outside": stream(member("../escaped"), member(str(self.folder / "escaped"))),
                 "link": stream(link, member("link/escaped")),
                 "fifo": stream(fifo), "nonsense": b"nonsense" * 1000, "empty": b""}
        for title, data in cases.items():
            with self.subTest(title):
                done = subprocess.run([BINARY, "restore", "-", "--json"], cwd=self.project, env=self.environment,
                                      input=data, capture_output=True, timeout=60)
                self.assertEqual(done.returncode, 4, done.stderr)
                self.assertFalse((self.folder / "escaped").exists())
                self.assertFalse((self.temporary / "escaped").exists())
                self.assert_nothing_temporary()


if __name__ == "__main__":
    unittest.main()
