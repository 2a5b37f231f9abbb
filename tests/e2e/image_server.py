# SPDX-License-Identifier: MIT
"""A registry with images of a test's own, which can be slow, cut a blob off, and go away."""

import hashlib
import http.server
import json
import re
import threading
import urllib.request

OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_CONFIG = "application/vnd.oci.image.config.v1+json"
OCI_LAYER = "application/vnd.oci.image.layer.v1.tar"
PIECE = 1 << 16


def sha256(body):
    return "sha256:" + hashlib.sha256(body).hexdigest()


class Contents:
    """Blobs and documents by digest, and what tags name."""

    def __init__(self):
        self.bodies, self.types, self.tags = {}, {}, {}

    def add(self, body, media_type):
        """Its descriptor."""
        digest = sha256(body)
        self.bodies[digest], self.types[digest] = body, media_type
        return {"mediaType": media_type, "digest": digest, "size": len(body)}

    def add_json(self, document, media_type):
        return self.add(json.dumps(document).encode(), media_type)

    def add_image(self, tag, layers, architectures, note):
        """An index whose builds have these layers and a config with this note; its digest."""
        children = []
        for architecture in architectures:
            config = self.add_json({
                "os": "linux", "architecture": architecture, "config": {"Labels": {"note": note}},
                "rootfs": {"type": "layers", "diff_ids": [sha256(layer) for layer in layers]}}, OCI_CONFIG)
            manifest = self.add_json({
                "schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": config,
                "layers": [self.add(layer, OCI_LAYER) for layer in layers]}, OCI_MANIFEST)
            children.append(manifest | {"platform": {"os": "linux", "architecture": architecture}})
        index = self.add_json({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": children}, OCI_INDEX)
        self.tags[tag] = index["digest"]
        return index["digest"]


def fetch(registry, path):
    with urllib.request.urlopen(f"http://{registry}/v2/{path}", timeout=10) as response:
        return response.read()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        server, reference = self.server, self.path.rpartition("/")[2]
        contents = server.contents
        digest = contents.tags.get(reference, reference)
        server.asked.append(digest)
        body = contents.bodies.get(digest)
        if body is None:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        start = 0
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if wanted:
            start = int(wanted[1])
            server.ranges.append((digest, start))
        self.send_response(206 if wanted else 200)
        if wanted:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        self.send_header("Content-Type", contents.types[digest])
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        try:
            self.send_body(body, digest, start)
        except OSError:  # the client has gone
            self.close_connection = True

    def send_body(self, body, digest, start):
        server = self.server
        cut = server.cuts.pop(digest, None)
        halt = server.halts.get(digest)
        for at in range(start, len(body), PIECE):
            if cut is not None and at - start >= cut:
                self.close_connection = True
                return
            if halt is not None and at >= halt:
                server.halted.set()
                server.stopped.wait()
            self.wfile.write(body[at:at + PIECE])

    def log_message(self, *_):
        pass


class ImageServer(http.server.ThreadingHTTPServer):
    """Runs from start() to close()."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, contents):
        super().__init__(("127.0.0.1", 0), Handler)
        self.contents = contents
        self.asked, self.ranges = [], []
        self.cuts = {}  # digest -> after so many bytes the connection ends, once
        self.halts = {}  # digest -> after so many bytes nothing more comes
        self.halted, self.stopped = threading.Event(), threading.Event()

    @property
    def address(self):
        return f"127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        pass  # a client that left

    def start(self):
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self):
        if not self.stopped.is_set():
            self.stopped.set()
            self.shutdown()
            self.server_close()
