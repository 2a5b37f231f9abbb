# SPDX-License-Identifier: MIT
"""A registry that behaves oddly in each of its repositories, quirk/NAME, in another way; the ways stand in quirks.py.

It has a second origin, `other` (the same host, another port), where redirects and realms may lead.
"""

import base64
import collections
import dataclasses
import functools
import hashlib
import http.server
import json
import re
import threading
import urllib.parse

OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_CONFIG = "application/vnd.oci.image.config.v1+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
LAYER = "sha256:" + "1" * 64
MIB = 1 << 20

USER, PASSWORD = "me", "hunter2"
BASIC = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()


# Contents.

@dataclasses.dataclass(frozen=True)
class Content:
    """Bytes that a registry holds."""

    body: bytes
    media_type: str

    @functools.cached_property
    def digest(self):
        return "sha256:" + hashlib.sha256(self.body).hexdigest()

    def entry(self, platform=None, **members):
        """Its descriptor; `platform` is OS/ARCHITECTURE[/VARIANT]."""
        keys = ("os", "architecture", "variant")
        named = {"platform": dict(zip(keys, platform.split("/")))} if platform else {}
        return {"mediaType": self.media_type, "digest": self.digest, "size": len(self.body)} | named | members


STORE = {}  # digest -> Content: what every repository has


def stored(document, media_type):
    content = Content(json.dumps(document).encode(), media_type)
    STORE[content.digest] = content
    return content


def image(architecture, note=""):
    config = stored({"os": "linux", "architecture": architecture, "config": {"Labels": {"note": note}},
                     "rootfs": {"type": "layers", "diff_ids": [LAYER]}}, OCI_CONFIG)
    layer = {"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": LAYER, "size": 32}
    return stored({"schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": config.entry(), "layers": [layer]},
                  OCI_MANIFEST)


def index(*entries, media_type=OCI_INDEX, **members):
    return stored({"schemaVersion": 2, "mediaType": media_type, "manifests": entries} | members, media_type)


ARM64, AMD64, OTHER = image("arm64"), image("amd64"), image("arm64", "another build")
ATTESTATION = image("unknown", "attestation")
INDEX = index(AMD64.entry("linux/amd64"), ATTESTATION.entry("unknown/unknown"), ARM64.entry("linux/arm64"))
LIST = index(AMD64.entry("linux/amd64"), ARM64.entry("linux/arm64"), media_type=DOCKER_LIST)
ONLY_ARM64 = index(ARM64.entry("linux/arm64"))
NESTED = index(AMD64.entry("linux/amd64"), ONLY_ARM64.entry())


def index_of(size):
    """An index of exactly so many bytes."""
    def padded(length):
        return index(ARM64.entry("linux/arm64"), annotations={"padding": "x" * length})
    return padded(size - len(padded(0).body))


LARGE = index_of(4 * MIB)


# The server.

@dataclasses.dataclass(frozen=True)
class Request:
    """One that was received. `origin` is `registry` or `other`."""

    origin: str
    method: str
    path: str
    headers: dict


class Repository:
    """What one quirk remembers."""

    def __init__(self):
        self.requests = []
        self.counts = collections.Counter()
        self.tokens = []


class Exchange:
    """One request, and the ways to answer it."""

    def __init__(self, handler, body):
        self.handler, self.server = handler, handler.server.quirk_server
        self.origin, self.method = handler.server.origin, handler.command
        self.path, _, query = handler.path.partition("?")
        self.form = dict(urllib.parse.parse_qsl(f"{query}&{body.decode()}"))
        self.headers = dict(handler.headers.items())
        self.authorization = handler.headers.get("Authorization", "")
        self.area = self.path.split("/")[1]  # v2, token, or where a redirect leads
        self.reference = self.path.rpartition("/")[2]
        named = re.search(r"quirk/([a-z0-9-]+)", urllib.parse.unquote(self.path) + self.form.get("scope", ""))
        self.name = named[1] if named else ""
        self.memory = self.server.repository(self.name)

    @property
    def here(self):
        return f"http://{self.server.registry}"

    @property
    def elsewhere(self):
        return f"http://{self.server.other}"

    @property
    def scope(self):
        return f"repository:quirk/{self.name}:pull"

    @property
    def is_tag(self):
        return ":" not in self.reference

    def nth(self, what=""):
        """How often this was asked about `what`, this time included."""
        self.memory.counts[what] += 1
        return self.memory.counts[what]

    def pause(self, seconds=None):
        """Waits (None: as long as the server runs)."""
        self.server.stopped.wait(seconds)

    # Answers.

    def raw(self, data):
        """The very bytes; the connection ends after them."""
        self.handler.close_connection = True
        self.handler.wfile.write(data)

    def send(self, body=b"", status=200, headers=()):
        lines = [f"HTTP/1.1 {status} Quirk", *(f"{name}: {value}" for name, value in headers)]
        lines.append(f"Content-Length: {len(body)}")
        head = "\r\n".join(lines).encode() + b"\r\n\r\n"
        self.handler.wfile.write(head if self.method == "HEAD" else head + body)

    def refuse(self, status, code, message, headers=()):
        body = json.dumps({"errors": [{"code": code, "message": message}]}).encode()
        self.send(body, status, [("Content-Type", "application/json"), *headers])

    def serve(self, root=INDEX, digest=None, media_type=None, headers=()):
        """As a good registry: `root` for any tag. None: the true digest and type; an empty text: no such header."""
        content = root if self.is_tag else STORE.get(self.reference, root if self.reference == root.digest else None)
        if content is None:
            return self.refuse(404, "MANIFEST_UNKNOWN", "manifest unknown")
        named = [("Content-Type", content.media_type if media_type is None else media_type),
                 ("Docker-Content-Digest", content.digest if digest is None else digest)]
        return self.send(content.body, headers=[*(pair for pair in named if pair[1]), *headers])

    def redirect(self, location, status=307):
        self.send(status=status, headers=[("Location", location)] if location else ())

    def new_token(self):
        self.memory.tokens.append(f"s3cret-{len(self.memory.tokens) + 1}")
        return self.memory.tokens[-1]

    @property
    def has_token(self):
        return self.authorization.removeprefix("Bearer ") in self.memory.tokens

    def challenge(self, *values):
        """401 with one WWW-Authenticate header for each value; {realm} and {scope} are filled in."""
        named = [("WWW-Authenticate", value.format(realm=f"{self.here}/token", scope=self.scope)) for value in values]
        self.refuse(401, "UNAUTHORIZED", "authentication required", named)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def play(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        exchange = Exchange(self, body)
        exchange.memory.requests.append(
            Request(exchange.origin, exchange.method, self.path, exchange.headers))
        try:
            quirk_of(exchange.name).play(exchange)
        except OSError:  # the client has gone
            self.close_connection = True

    do_GET = do_HEAD = do_POST = play

    def log_message(self, *_):
        pass


class Origin(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, name, quirk_server):
        super().__init__(("127.0.0.1", 0), Handler)
        self.origin, self.quirk_server = name, quirk_server

    def handle_error(self, request, client_address):
        pass  # a client that left, or one that tried TLS


class QuirkServer:
    """Both origins, from `with` to its end. `registry` and `other` are host:port."""

    def __init__(self):
        self.stopped = threading.Event()
        self._repositories, self._lock = {}, threading.Lock()
        self._origins = [Origin("registry", self), Origin("other", self)]
        self.registry, self.other = ("127.0.0.1:%d" % origin.server_port for origin in self._origins)

    def repository(self, name):
        with self._lock:
            return self._repositories.setdefault(name, Repository())

    def requests(self, name):
        """Those about quirk/NAME so far; of no quirk (a ping, say): the empty name."""
        return list(self.repository(name).requests)

    def __enter__(self):
        for origin in self._origins:
            threading.Thread(target=origin.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        for origin in self._origins:
            origin.shutdown()
            origin.server_close()


# The quirks.

@dataclasses.dataclass(frozen=True)
class Quirk:
    title: str
    play: object


QUIRKS = {}


def quirk(title):
    """Registers a function under its own name (no_length: quirk/no-length)."""
    def register(function):
        QUIRKS[function.__name__.replace("_", "-")] = Quirk(title, function)
        return function
    return register


def quirk_of(name):
    return QUIRKS.get(name, Quirk("", lambda it: it.send(b"404 page not found\n", 404)))
