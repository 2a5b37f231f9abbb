# SPDX-License-Identifier: MIT
"""`sparkrun resolve` against distribution's registry, plain and with TLS and passwords."""

import base64
import json
import socket
import subprocess
import unittest

from support import RigTest


class Resolve(RigTest):
    def login(self, password):
        config = self.folder / "docker"
        config.mkdir(exist_ok=True)
        auth = base64.b64encode(f"{self.rig['SPARKRUN_RIG_USER']}:{password}".encode()).decode()
        (config / "config.json").write_text(json.dumps({"auths": {self.tls_registry: {"auth": auth}}}))
        self.environment |= {"DOCKER_CONFIG": str(config), "SSL_CERT_FILE": self.rig["SPARKRUN_RIG_CA"]}

    def test_prints_the_digest_that_the_bytes_hash_to(self):
        reference = f"{self.registry}/nvidia/pytorch:25.09-py3"

        result = self.sparkrun("resolve", reference)

        self.assertEqual(result.out, f"{self.digest('nvidia/pytorch', '25.09-py3')}  index  {reference}\n")
        self.assertEqual(result.err, "")

    def test_agrees_with_skopeo(self):
        reference = f"{self.registry}/small:list"
        raw = subprocess.run(["skopeo", "inspect", "--raw", "--tls-verify=false", f"docker://{reference}"],
                             capture_output=True, check=True, env=self.environment).stdout

        result = self.sparkrun("resolve", reference, "--json").json[0]

        self.assertEqual(result["manifest_bytes"], len(raw))
        children = {child["digest"] for child in result["platforms"]}
        self.assertEqual(children, {entry["digest"] for entry in json.loads(raw)["manifests"]})

    def test_lists_platforms_without_attestations(self):
        result = self.sparkrun("resolve", f"{self.registry}/nvidia/pytorch:25.09-py3", "--json").json[0]

        self.assertEqual(result["kind"], "index")
        self.assertEqual(sorted(child["platform"] for child in result["platforms"]), ["linux/amd64", "linux/arm64"])

    def test_with_a_platform_the_digest_is_that_childs(self):
        reference = f"{self.registry}/nvidia/pytorch:25.09-py3"
        index = json.loads(self.manifest("nvidia/pytorch", "25.09-py3")[0])
        wanted = next(entry["digest"] for entry in index["manifests"] if entry["platform"]["architecture"] == "arm64")

        for platform in ("linux/arm64", "linux/arm64/v8", "linux/aarch64"):
            with self.subTest(platform):
                result = self.sparkrun("resolve", reference, "--platform", platform, "--json").json[0]
                self.assertEqual((result["digest"], result["kind"]), (wanted, "manifest"))

    def test_a_single_docker_manifest_is_called_a_manifest(self):
        result = self.sparkrun("resolve", f"{self.registry}/small:single", "--json").json[0]

        self.assertEqual(result["kind"], "manifest")
        self.assertEqual(result["media_type"], "application/vnd.docker.distribution.manifest.v2+json")
        self.assertEqual(result["digest"], self.digest("small", "single"))

    def test_many_references_keep_their_order_and_the_worst_counts(self):
        small, gone = f"{self.registry}/small:1", f"{self.registry}/small:none"

        result = self.sparkrun("resolve", small, gone, "Bad Name", "-", "--json", code=2, input=f"{small}\n# note\n\n")

        answers = result.json
        self.assertEqual([answer["reference"] for answer in answers], [small, gone, "Bad Name", small])
        self.assertEqual(answers[0]["digest"], answers[3]["digest"])
        self.assertEqual([answer.get("error", {}).get("id") for answer in answers],
                         [None, "registry.not_found", "reference.malformed", None])

    def test_tls_with_a_password(self):
        self.login(self.rig["SPARKRUN_RIG_PASSWORD"])

        result = self.sparkrun("resolve", f"{self.tls_registry}/small:1")

        self.assertIn(self.digest("small", "1"), result.out)

    def test_each_failure_has_its_own_error_and_code(self):
        self.login("wrong")
        with socket.create_server(("127.0.0.1", 0)) as taken:
            free_port = taken.getsockname()[1]
        cases = [
            (f"{self.registry}/small:none", [], "registry.not_found", 6),
            (f"{self.registry}/none:1", [], "registry.not_found", 6),
            (f"{self.registry}/nvidia/pytorch:25.09-py3", ["--platform", "linux/s390x"], "registry.platform_missing", 8),
            (f"{self.registry}/small:1", ["--platform", "arm64"], "platform.malformed", 2),
            (f"{self.tls_registry}/small:1", [], "registry.credentials_refused", 5),
            (f"127.0.0.1:{free_port}/small:1", [], "registry.unreachable", 5),
        ]
        for reference, options, error, code in cases:
            with self.subTest(error=error, reference=reference):
                result = self.sparkrun("resolve", reference, *options, "--json", code=code)
                found = result.json[0]["error"]["id"] if result.out else result.error["id"]
                self.assertEqual(found, error)
                self.assertNotIn("wrong", result.out + result.err)

    def test_a_private_registry_without_login_or_ca(self):
        reference = f"{self.tls_registry}/small:1"
        ca = {"SSL_CERT_FILE": self.rig["SPARKRUN_RIG_CA"]}

        without_login = self.sparkrun("resolve", reference, "--json", code=5, environment=ca).json[0]
        without_ca = self.sparkrun("resolve", reference, "--json", code=5).json[0]

        self.assertEqual(without_login["error"]["id"], "registry.login_needed")
        self.assertIn(f"docker login {self.tls_registry}", without_login["error"]["hint"])
        self.assertEqual(without_ca["error"]["id"], "registry.tls")


if __name__ == "__main__":
    unittest.main()
