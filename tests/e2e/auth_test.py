# SPDX-License-Identifier: MIT
"""Logins, certificates, mirrors and proxies of `sparkrun resolve`, against distribution's registry with tokens over TLS."""

import base64
import http.server
import json
import os
import pathlib
import shutil
import ssl
import stat
import subprocess
import threading
import unittest

from support import MANIFEST_TYPES, RigTest

PRIVATE = "private/small:1"


class Auth(RigTest):
    def setUp(self):
        super().setUp()
        self.token_registry = self.rig["SPARKRUN_RIG_TOKEN_REGISTRY"]
        self.user, self.password = self.rig["SPARKRUN_RIG_USER"], self.rig["SPARKRUN_RIG_PASSWORD"]
        self.private = f"{self.token_registry}/{PRIVATE}"
        self.public = f"{self.token_registry}/small:1"
        self.environment |= {"SPARKRUN_CACERT": self.rig["SPARKRUN_RIG_CA"],
                             "DOCKER_CONFIG": str(self.folder / "docker"),
                             "XDG_RUNTIME_DIR": str(self.folder / "run")}

    def write_json(self, path, content):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content))
        return str(file)

    def entry(self, password=None):
        return {"auth": base64.b64encode(f"{self.user}:{password or self.password}".encode()).decode()}

    def docker_config(self, **content):
        return self.write_json("docker/config.json", content)

    def answer(self, reference=None, **options):
        result = self.sparkrun("resolve", reference or self.private, "--json", code=None, **options)
        self.assertNotIn(self.password, result.out + result.err)
        return result.json[0] if result.out else {"error": result.error}

    def assert_logged_in(self, source, **options):
        """The private image resolves, and that is where the login came from."""
        answer = self.answer(**options)
        self.assertEqual(answer.get("digest"), self.digest("small", "1"), answer)
        self.assertEqual(answer["login"], source)

    def assert_error(self, error, **options):
        answer = self.answer(**options)
        self.assertEqual(answer.get("error", {}).get("id"), error, answer)
        return answer["error"]

    # Files.

    def test_dockers_config(self):
        config = self.docker_config(auths={self.token_registry: self.entry()})
        self.assert_logged_in(config)

    def test_the_members_that_a_login_may_have(self):
        for entry in ({"username": self.user, "password": self.password},
                      {"identitytoken": self.rig["SPARKRUN_RIG_IDENTITY_TOKEN"]}):
            with self.subTest(entry=list(entry)):
                self.assert_logged_in(self.docker_config(auths={self.token_registry: entry}))

    def test_what_skopeo_login_writes(self):
        file = str(self.folder / "auth.json")
        certificates = self.folder / "certificates"
        certificates.mkdir()
        shutil.copy(self.rig["SPARKRUN_RIG_CA"], certificates / "ca.crt")
        subprocess.run(["/usr/bin/skopeo", "login", "--authfile", file, "--cert-dir", certificates,
                        "--username", self.user, "--password", self.password, self.token_registry],
                       check=True, capture_output=True, env=self.environment)
        self.assert_logged_in(file, environment={"REGISTRY_AUTH_FILE": file})

    def test_podmans_auth_json(self):
        for place, path in (("run", "run/containers/auth.json"), ("config", "config/containers/auth.json")):
            with self.subTest(place):
                file = self.write_json(path, {"auths": {self.token_registry: self.entry()}})
                self.assert_logged_in(file)
                os.unlink(file)

    def test_docker_auth_config_in_the_environment(self):
        self.docker_config(auths={self.token_registry: self.entry("stale")})
        text = json.dumps({"auths": {self.token_registry: self.entry()}})
        self.assert_logged_in("DOCKER_AUTH_CONFIG", environment={"DOCKER_AUTH_CONFIG": text})

    def test_a_named_file_is_the_only_one(self):
        self.docker_config(auths={self.token_registry: self.entry()})
        empty = self.write_json("empty.json", {})
        self.assert_error("registry.login_needed", environment={"REGISTRY_AUTH_FILE": empty})
        self.assert_error("file.unreadable", environment={"REGISTRY_AUTH_FILE": "/absent"})

    def test_a_key_with_a_path_beats_the_host(self):
        host = self.token_registry
        config = self.docker_config(auths={host: self.entry("stale"), f"{host}/private": self.entry(),
                                           f"{host}/private/other": self.entry("stale")})
        self.assert_logged_in(config)

    def test_no_login_a_wrong_one_and_a_broken_file_are_told_apart(self):
        self.assert_error("registry.login_needed")
        self.docker_config(auths={self.token_registry: self.entry("stale")})
        self.assert_error("registry.credentials_refused")
        self.docker_config(auths={self.token_registry: {"auth": 5}})
        self.assert_error("credentials.invalid")

    def test_a_stale_login_does_not_keep_anyone_from_a_public_image(self):
        config = self.docker_config(auths={self.token_registry: self.entry("stale")})
        answer = self.answer(self.public)
        self.assertEqual(answer["digest"], self.digest("small", "1"))
        self.assertIn(config, answer["warnings"][0])

    def test_verbose_says_whose_login_it_was(self):
        config = self.docker_config(auths={self.token_registry: self.entry()})
        result = self.sparkrun("resolve", self.private, "--verbose")
        self.assertIn(f"with the login from {config}", result.err)
        self.assertNotIn(self.password, result.err)

    # Helpers.

    def helper(self, script):
        """docker-credential-rig, for every registry."""
        program = self.folder / "bin/docker-credential-rig"
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\n" + script)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        self.environment["PATH"] = f"{program.parent}:{self.environment['PATH']}"
        return self.docker_config(credsStore="rig")

    def test_a_helper_is_asked_in_its_protocol(self):
        answer = json.dumps({"ServerURL": self.token_registry, "Username": self.user, "Secret": self.password})
        self.helper(f'[ "$1" = get ] || exit 2\n[ "$(cat)" = {self.token_registry} ] || exit 3\n'
                    f"echo x >>{self.folder}/asked\ncat <<'END'\n{answer}\nEND\n")
        config = self.docker_config(credHelpers={self.token_registry: "rig"})

        self.assert_logged_in(f"docker-credential-rig ({config})")
        self.assertEqual((self.folder / "asked").read_text(), "x\n")

    def test_a_helper_is_asked_once_for_many_references(self):
        answer = json.dumps({"Username": self.user, "Secret": self.password})
        self.helper(f"echo x >>{self.folder}/asked\ncat <<'END'\n{answer}\nEND\n")
        self.sparkrun("resolve", self.private, self.public, f"{self.token_registry}/small:2")
        self.assertEqual((self.folder / "asked").read_text(), "x\n")

    def test_a_helper_is_not_asked_where_nobody_wants_a_login(self):
        self.helper(f"touch {self.folder}/asked\n")
        self.sparkrun("resolve", f"{self.registry}/small:1")
        self.assertFalse((self.folder / "asked").exists())

    def test_a_helper_without_a_login_means_anybody(self):
        self.helper("echo 'credentials not found in native keychain'\nexit 1\n")
        self.assertEqual(self.answer(self.public)["digest"], self.digest("small", "1"))
        self.assert_error("registry.login_needed")

    def test_a_broken_helper_is_named(self):
        self.helper("echo 'gpg: decryption failed' >&2\nexit 2\n")
        error = self.assert_error("credentials.helper_failed")
        self.assertIn("docker-credential-rig", error["message"])
        self.assertIn("gpg: decryption failed", error["message"])
        self.helper("echo '{not json'\n")
        self.assert_error("credentials.helper_failed")
        self.docker_config(credsStore="absent")
        self.assertIn("docker-credential-absent", self.assert_error("credentials.helper_failed")["message"])

    def test_a_hanging_helper_is_ended(self):
        self.helper(f"echo $$ >{self.folder}/pid\nexec sleep 60\n")
        error = self.assert_error("credentials.helper_failed", environment={"SPARKRUN_REQUEST_TIMEOUT": "1"})
        self.assertIn("no answer within 1 s", error["message"])
        self.assertFalse(pathlib.Path(f"/proc/{(self.folder / 'pid').read_text().strip()}").exists())

    # Certificates.

    def test_the_ways_to_name_a_ca(self):
        del self.environment["SPARKRUN_CACERT"]
        ca = pathlib.Path(self.rig["SPARKRUN_RIG_CA"])
        self.assertEqual(self.answer(self.public)["error"]["id"], "registry.tls")

        for name in ("config/containers/certs.d", "config/docker/certs.d"):
            with self.subTest(name):
                folder = self.folder / name / self.token_registry
                folder.mkdir(parents=True)
                (folder / "ca.crt").write_bytes(ca.read_bytes())
                # https is asked first, and the token server, on another port, is believed too.
                self.assertEqual(self.answer(self.public)["requests"], 3)
                (folder / "ca.crt").unlink()
        self.assertIn("digest", self.answer(self.public, environment={"SSL_CERT_FILE": str(ca)}))
        self.sparkrun("resolve", self.public, "--cacert", str(ca))
        (self.folder / "config/sparkrun").mkdir()
        (self.folder / "config/sparkrun/config.toml").write_text(f'cacert = "{ca}"\n')
        self.sparkrun("resolve", self.public)

    def test_htpasswd_over_tls_with_a_ca_from_certs_d(self):
        del self.environment["SPARKRUN_CACERT"]
        self.docker_config(auths={self.tls_registry: self.entry()})
        folder = self.folder / "config/containers/certs.d" / self.tls_registry
        folder.mkdir(parents=True)
        (folder / "ca.crt").write_bytes(pathlib.Path(self.rig["SPARKRUN_RIG_CA"]).read_bytes())

        answer = self.answer(f"{self.tls_registry}/small:1")

        self.assertEqual((answer["digest"], answer["requests"]), (self.digest("small", "1"), 2))

    def test_a_ca_file_that_is_not_there_or_is_none(self):
        self.sparkrun("resolve", self.public, "--cacert", "/absent.pem", code=4)
        broken = self.folder / "broken.pem"
        broken.write_text("-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n")
        self.sparkrun("resolve", self.public, "--cacert", str(broken), code=5)

    def test_a_client_certificate_from_certs_d(self):
        def openssl(*words):
            subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=self.folder)

        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=client", "-keyout", "client.key", "-out", "client.cert")
        body, digest = self.manifest("small", "1")

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", MANIFEST_TYPES.split(",")[0])
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls = pathlib.Path(self.rig["SPARKRUN_RIG_CA"]).parent
        context.load_cert_chain(tls / "server.pem", tls / "server.key")
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(self.folder / "client.cert")
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        host = f"127.0.0.1:{server.server_port}"

        self.assertNotIn("digest", self.answer(f"{host}/small:1", environment={"SPARKRUN_REFERENCE_TIMEOUT": "2"}))
        folder = self.folder / "config/containers/certs.d" / host
        folder.mkdir(parents=True)
        for name in ("client.cert", "client.key"):
            (self.folder / name).rename(folder / name)
        self.assertEqual(self.answer(f"{host}/small:1")["digest"], digest)
        (folder / "client.key").unlink()
        self.assertEqual(self.answer(f"{host}/small:1")["error"]["id"], "certificates.invalid")

    # Who is asked.

    def test_a_mirror_of_docker_hub(self):
        mirror = {"SPARKRUN_HUB_MIRRORS": f"http://{self.registry}"}
        answer = self.answer("nvidia/pytorch:25.09-py3", environment=mirror)
        self.assertEqual(answer["digest"], self.digest("nvidia/pytorch", "25.09-py3"))
        self.assertEqual(answer["endpoint"], f"http://{self.registry}")
        self.assertEqual(answer["name"], "docker.io/nvidia/pytorch:25.09-py3")

    def test_the_proxy_of_dockers_config(self):
        self.docker_config(proxies={"default": {"httpProxy": f"http://{self.registry}"}})
        # The plain registry serves as the proxy: it looks at the path only.
        plain = {"SPARKRUN_PLAIN_HTTP": "reg.invalid"}
        self.assertEqual(self.answer("reg.invalid/small:1", environment=plain)["digest"], self.digest("small", "1"))
        self.assert_error("registry.unreachable", reference="reg.invalid/small:1",
                          environment=plain | {"http_proxy": ""})

    # Many.

    def test_a_thousand_references_cost_one_token_and_few_descriptors(self):
        log = pathlib.Path(self.rig["SPARKRUN_RIG_DIR"]) / "log/token-server.log"
        before = log.stat().st_size
        references = [f"{self.token_registry}/small:{'1' if i == 500 else f'none-{i}'}" for i in range(1000)]
        list_file = self.folder / "list"
        list_file.write_text("\n".join(references))

        with list_file.open() as stdin, (self.folder / "out").open("w") as out, \
                self.running("resolve", "-", "--json", stdin=stdin, stdout=out) as process:
            descriptors = 0
            while process.poll() is None:
                try:
                    descriptors = max(descriptors, len(os.listdir(f"/proc/{process.pid}/fd")))
                except FileNotFoundError:
                    break
            self.assertEqual(process.wait(), 6)

        answers = json.loads((self.folder / "out").read_text())
        self.assertEqual([answer["reference"] for answer in answers], references)
        self.assertEqual(answers[500]["digest"], self.digest("small", "1"))
        self.assertEqual({answer["error"]["id"] for i, answer in enumerate(answers) if i != 500},
                         {"registry.not_found"})
        with log.open() as file:
            file.seek(before)
            self.assertEqual(len(file.readlines()), 1)
        self.assertLess(descriptors, 40)


if __name__ == "__main__":
    unittest.main()
