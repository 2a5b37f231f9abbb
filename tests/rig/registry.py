#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A small client for the rig's registries: fills them, moves and deletes tags.

    registry.py URL ping [PATH]
    registry.py URL push LAYOUT [REPOSITORY:TAG=OTHER:TAG]...     # the layout's images, some under another name too
    registry.py URL tag REPOSITORY TAG_OR_DIGEST NEW_TAG
    registry.py URL delete REPOSITORY DIGEST

Of an https URL the certificate is checked against the file in RIG_CA, and RIG_USER and RIG_PASSWORD are sent; where the
registry names a token server, to that.
"""

import base64
import hashlib
import http.client
import json
import os
import pathlib
import re
import ssl
import sys
import urllib.parse

MANIFEST_TYPES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
TIMEOUT_S = 30


class Refused(Exception):
    """The registry answered something else than what was asked for."""


def connect(url: str) -> http.client.HTTPConnection:
    """http.client knows no proxies, which is right for a loopback address."""
    address = urllib.parse.urlsplit(url)
    if address.scheme == "http":
        return http.client.HTTPConnection(address.netloc, timeout=TIMEOUT_S)
    trust = ssl.create_default_context(cafile=os.environ["RIG_CA"])
    return http.client.HTTPSConnection(address.netloc, timeout=TIMEOUT_S, context=trust)


class Registry:
    def __init__(self, url: str):
        self.url = url
        self.connection = connect(url)
        self.token_server = None
        self.headers = {}
        if url.startswith("https:"):
            login = f"{os.environ['RIG_USER']}:{os.environ['RIG_PASSWORD']}".encode()
            self.login = {"Authorization": "Basic " + base64.b64encode(login).decode()}
            self.headers |= self.login

    def send(self, method: str, path: str, body: bytes, headers: dict):
        self.connection.request(method, path, body, self.headers | headers)
        answer = self.connection.getresponse()
        return answer, answer.read()

    def request(self, method: str, path: str, wanted: tuple[int, ...], body: bytes = b"", **headers):
        """Gives (status, headers, body) of an answer whose status is one of `wanted`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        answer, data = self.send(method, path, body, named)
        challenge = answer.headers.get("WWW-Authenticate", "")
        if answer.status == 401 and challenge.startswith("Bearer "):
            # The last token serves until one for another repository is asked for.
            self.headers["Authorization"] = "Bearer " + self.token(dict(re.findall(r'(\w+)="([^"]*)"', challenge)))
            answer, data = self.send(method, path, body, named)
        if answer.status not in wanted:
            raise Refused(f"{method} {self.url}{path}: HTTP {answer.status} {data.decode(errors='replace')[:500]}")
        return answer.status, answer.headers, data

    def token(self, challenge: dict[str, str]) -> str:
        self.token_server = self.token_server or connect(challenge["realm"])
        asked = [("service", challenge["service"]), *(("scope", one) for one in challenge.get("scope", "").split())]
        path = f"{urllib.parse.urlsplit(challenge['realm']).path}?{urllib.parse.urlencode(asked)}"
        self.token_server.request("GET", path, headers=self.login)
        answer = self.token_server.getresponse()
        data = answer.read()
        if answer.status != 200:
            raise Refused(f"GET {challenge['realm']}: HTTP {answer.status} {data.decode(errors='replace')[:500]}")
        return json.loads(data)["token"]

    def manifest_digest(self, repository: str, reference: str) -> str | None:
        status, headers, _ = self.request(
            "HEAD", f"/v2/{repository}/manifests/{reference}", (200, 404), Accept=",".join(MANIFEST_TYPES)
        )
        return headers["Docker-Content-Digest"] if status == 200 else None

    def put_manifest(self, repository: str, reference: str, data: bytes, media_type: str) -> None:
        self.request("PUT", f"/v2/{repository}/manifests/{reference}", (201,), data, Content_Type=media_type)

    def has_blob(self, repository: str, digest: str) -> bool:
        return self.request("HEAD", f"/v2/{repository}/blobs/{digest}", (200, 404))[0] == 200

    def put_blob(self, repository: str, digest: str, data: bytes, known_in: str | None) -> None:
        mount = f"?mount={digest}&from={known_in}" if known_in else ""
        status, headers, _ = self.request("POST", f"/v2/{repository}/blobs/uploads/{mount}", (201, 202))
        if status == 201:
            return
        place = urllib.parse.urlsplit(headers["Location"])
        query = f"{place.query}&digest={digest}".lstrip("&")
        self.request("PUT", f"{place.path}?{query}", (201,), data, Content_Type="application/octet-stream")


class Push:
    """Brings a registry to what a layout says; sends only what is missing."""

    def __init__(self, registry: Registry, layout: pathlib.Path):
        self.registry = registry
        self.layout = layout
        self.known_in = {}
        self.seen = set()

    def read(self, digest: str) -> bytes:
        return (self.layout / "blobs" / digest.replace(":", "/")).read_bytes()

    def all(self, other_names: dict[str, str]) -> None:
        entry_of = {
            entry["annotations"]["org.opencontainers.image.ref.name"]: entry
            for entry in json.loads((self.layout / "index.json").read_bytes())["manifests"]
        }
        entry_of |= {other: entry_of[name] for name, other in other_names.items()}
        for name, entry in entry_of.items():
            repository, tag = name.rsplit(":", 1)
            self.manifest(repository, entry)
            if self.registry.manifest_digest(repository, tag) != entry["digest"]:
                self.registry.put_manifest(repository, tag, self.read(entry["digest"]), entry["mediaType"])
                print(f"{repository}:{tag} {entry['digest']}")

    def manifest(self, repository: str, descriptor: dict) -> None:
        digest = descriptor["digest"]
        if (repository, digest) in self.seen:
            return
        self.seen.add((repository, digest))
        data = self.read(digest)
        document = json.loads(data)
        for child in document.get("manifests", ()):
            self.manifest(repository, child)
        if self.registry.manifest_digest(repository, digest):
            return
        for blob in (document["config"], *document["layers"]) if "config" in document else ():
            self.blob(repository, blob["digest"])
        self.registry.put_manifest(repository, digest, data, descriptor["mediaType"])

    def blob(self, repository: str, digest: str) -> None:
        if (repository, digest) not in self.seen and not self.registry.has_blob(repository, digest):
            self.registry.put_blob(repository, digest, self.read(digest), self.known_in.get(digest))
        self.seen.add((repository, digest))
        self.known_in.setdefault(digest, repository)


def tag(registry: Registry, repository: str, source: str, new_tag: str) -> None:
    _, headers, data = registry.request(
        "GET", f"/v2/{repository}/manifests/{source}", (200,), Accept=",".join(MANIFEST_TYPES)
    )
    registry.put_manifest(repository, new_tag, data, headers["Content-Type"])
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    if registry.manifest_digest(repository, new_tag) != digest:
        raise Refused(f"{repository}:{new_tag} does not point at {digest}")
    print(f"{repository}:{new_tag} {digest}")


def delete(registry: Registry, repository: str, digest: str) -> None:
    registry.request("DELETE", f"/v2/{repository}/manifests/{digest}", (202,))


def main(url: str, command: str, *arguments: str) -> None:
    registry = Registry(url)
    match command, arguments:
        case "ping", (*path,):
            registry.request("GET", *path or ["/v2/"], (200,))
        case "push", (layout, *other_names):
            Push(registry, pathlib.Path(layout)).all(dict(pair.split("=") for pair in other_names))
        case "tag", (repository, source, new_tag):
            tag(registry, repository, source, new_tag)
        case "delete", (repository, digest):
            delete(registry, repository, digest)
        case _:
            raise Refused(f"no such command: {command} {' '.join(arguments)}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (Refused, OSError, http.client.HTTPException) as error:
        sys.exit(f"rig: {error}")
