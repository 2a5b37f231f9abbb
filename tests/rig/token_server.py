#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The rig's token server: distribution's docs/spec/auth/token.md (GET) and oauth.md (POST), over HTTPS.

    token_server.py SETTINGS

SETTINGS is a JSON file: host, port; certificate and key of the server; signing_certificate and signing_key (RSA) of the
tokens; issuer, service; user, password, identity_token. With the password or a refresh token an account gets what it asks
for. Without, it gets to pull what does not lie under private/; asking for that is denied, as ghcr does.

Each request is one line on stdout, written before its answer: method, account or -, scopes or -, status.
"""

import base64
import binascii
import datetime
import hmac
import http.server
import json
import os
import pathlib
import secrets
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse

# A token is given out again for half of its life, so that who measures a client does not measure openssl; what clients
# are told is what is left of it in the worst case.
LIFE_S = 600
EXPIRES_IN_S = LIFE_S // 2
IDLE_S = 60
MAX_FORM_BYTES = 64 * 1024


class Refusal(Exception):
    """An answer other than a token."""

    def __init__(self, status: int, code: str, message: str):
        super().__init__(message)
        self.status = status
        self.body = {"errors": [{"code": code, "message": message}]}


def unauthorized() -> Refusal:
    return Refusal(401, "UNAUTHORIZED", "authentication required")


def jose(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


class Signer:
    """Makes signed tokens as docs/spec/auth/jwt.md describes them."""

    def __init__(self, settings: dict):
        self.settings = settings
        certificate = ssl.PEM_cert_to_DER_cert(pathlib.Path(settings["signing_certificate"]).read_text())
        header = {"typ": "JWT", "alg": "RS256", "x5c": [base64.b64encode(certificate).decode()]}
        self.header = jose(json.dumps(header).encode())
        self.made = {}
        self.lock = threading.Lock()

    def token(self, account: str, access: list[dict]) -> str:
        key = (account, json.dumps(access))
        with self.lock:
            token, expiry = self.made.get(key, ("", 0))
            if expiry - time.time() < EXPIRES_IN_S:
                token, expiry = self.sign(account, access)
                self.made[key] = (token, expiry)
        return token

    def sign(self, account: str, access: list[dict]) -> tuple[str, int]:
        now = int(time.time())
        claims = {
            "iss": self.settings["issuer"],
            "sub": account,
            "aud": self.settings["service"],
            "exp": now + LIFE_S,
            "nbf": now - 10,
            "iat": now,
            "jti": secrets.token_hex(8),
            "access": access,
        }
        signed = f"{self.header}.{jose(json.dumps(claims).encode())}"
        command = ["openssl", "dgst", "-sha256", "-sign", self.settings["signing_key"]]
        signature = subprocess.run(command, input=signed.encode(), check=True, stdout=subprocess.PIPE).stdout
        return f"{signed}.{jose(signature)}", now + LIFE_S


def parse_scope(scope: str) -> dict:
    """`repository:NAME:ACTION,ACTION`; a name may hold colons."""
    kind, _, rest = scope.partition(":")
    name, _, actions = rest.rpartition(":")
    if not kind or not name:
        raise Refusal(400, "UNSUPPORTED", "malformed scope")
    return {"type": kind, "name": name, "actions": actions.split(",")}


def anonymous_access(asked: list[dict]) -> list[dict]:
    if any(one["type"] == "repository" and one["name"].startswith("private/") for one in asked):
        raise Refusal(403, "DENIED", "requested access to the resource is denied")
    return [one | {"actions": ["pull"]} for one in asked if one["type"] == "repository" and "pull" in one["actions"]]


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128

    def __init__(self, settings: dict):
        super().__init__((settings["host"], settings["port"]), Handler)
        self.settings = settings
        self.signer = Signer(settings)
        self.refresh_tokens = {settings["identity_token"]}
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(settings["certificate"], settings["key"])
        self.tls.set_alpn_protocols(["http/1.1"])

    def finish_request(self, request, client_address):
        # The handshake is in the connection's own thread: a client that never speaks holds up nobody.
        request.settimeout(IDLE_S)
        with self.tls.wrap_socket(request, server_side=True) as connection:
            super().finish_request(connection, client_address)

    def handle_error(self, request, client_address):
        # A client that went away or does not trust the certificate is no news.
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    def is_password(self, user: str, password: str) -> bool:
        return same(user, self.settings["user"]) and same(password, self.settings["password"])

    def is_refresh_token(self, token: str) -> bool:
        return any([same(token, known) for known in tuple(self.refresh_tokens)])


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "sparkrun-rig"
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body leave in one piece
    timeout = IDLE_S

    def do_GET(self):
        self.answer(self.token_by_login)

    def do_POST(self):
        self.answer(self.token_by_grant)

    def answer(self, token):
        self.account, self.scopes = "-", []
        try:
            address = urllib.parse.urlsplit(self.path)
            parameters = urllib.parse.parse_qs(self.read_form() if self.command == "POST" else address.query)
            if address.path != "/token":
                raise Refusal(404, "UNSUPPORTED", "not found")
            status, body = 200, token(parameters)
        except Refusal as refusal:
            status, body = refusal.status, refusal.body
        data = json.dumps(body).encode()
        scopes = "+".join(urllib.parse.quote(scope, safe=":/,*") for scope in self.scopes)
        os.write(1, f"{self.command} {self.account} {scopes or '-'} {status}\n".encode())
        self.send_response(status)
        if status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="sparkrun rig tokens"')
        self.send_header("Content-Type", "application/json")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def read_form(self) -> str:
        """With a length or, as skopeo sends it, in chunks."""
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.read_exactly(self.headers.get("Content-Length", ""), 10).decode(errors="replace")
        form = b""
        while chunk := self.read_exactly(self.rfile.readline(32).split(b";")[0].strip().decode(errors="replace"), 16):
            form += chunk
            self.rfile.readline(32)
        while self.rfile.readline(1024).strip():
            pass
        return form.decode(errors="replace")

    def read_exactly(self, length: str, base: int) -> bytes:
        try:
            size = int(length, base)
        except ValueError:
            size = -1
        if not 0 <= size <= MAX_FORM_BYTES:
            self.close_connection = True
            raise Refusal(400, "UNSUPPORTED", "malformed body")
        return self.rfile.read(size)

    def token_by_login(self, query: dict) -> dict:
        access = self.asked_for(query)
        if "Authorization" in self.headers:
            self.account = self.login()
        else:
            access = anonymous_access(access)
        answer = {"token": self.sign(access)} | self.lifetime()
        if query.get("offline_token") == ["true"] and self.account != "-":
            answer["refresh_token"] = self.new_refresh_token()
        return answer

    def token_by_grant(self, form: dict) -> dict:
        access = self.asked_for(form)
        if "client_id" not in form:
            raise Refusal(400, "UNSUPPORTED", "client_id is missing")
        value = {name: values[0] for name, values in form.items()}
        match value.get("grant_type"):
            case "refresh_token":
                granted = self.server.is_refresh_token(value.get("refresh_token", ""))
            case "password":
                granted = self.server.is_password(value.get("username", ""), value.get("password", ""))
            case _:
                raise Refusal(400, "UNSUPPORTED", "unknown grant_type")
        if not granted:
            raise unauthorized()
        self.account = self.server.settings["user"]
        answer = {"access_token": self.sign(access), "scope": " ".join(self.scopes)} | self.lifetime()
        if value.get("access_type") == "offline":
            answer["refresh_token"] = value.get("refresh_token") or self.new_refresh_token()
        return answer

    def asked_for(self, parameters: dict) -> list[dict]:
        self.scopes = [scope for value in parameters.get("scope", ()) for scope in value.split()]
        if parameters.get("service") != [self.server.settings["service"]]:
            raise Refusal(400, "UNSUPPORTED", "unknown service")
        return [parse_scope(scope) for scope in self.scopes]

    def login(self) -> str:
        kind, _, value = self.headers["Authorization"].partition(" ")
        try:
            user, _, password = base64.b64decode(value, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            raise unauthorized() from None
        if kind.lower() != "basic" or not self.server.is_password(user, password):
            raise unauthorized()
        return user

    def sign(self, access: list[dict]) -> str:
        return self.server.signer.token(self.account.removeprefix("-"), access)

    def lifetime(self) -> dict:
        now = datetime.datetime.now(datetime.timezone.utc)
        return {"expires_in": EXPIRES_IN_S, "issued_at": now.isoformat(timespec="seconds").replace("+00:00", "Z")}

    def new_refresh_token(self) -> str:
        token = secrets.token_urlsafe(24)
        self.server.refresh_tokens.add(token)
        return token

    def log_message(self, *_):
        """Nothing: `answer` writes the line, without what the query holds beside scopes."""


if __name__ == "__main__":
    Server(json.loads(pathlib.Path(sys.argv[1]).read_text())).serve_forever()
