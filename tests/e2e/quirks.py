# SPDX-License-Identifier: MIT
"""The odd behaviours of registries, each a short function that answers one request (`it`) to quirk/NAME.

To point another program at them: `/usr/bin/python3 tests/e2e/quirks.py` serves all until it is interrupted.
"""

import datetime
import email.utils
import functools
import gzip
import hashlib
import json
import os
import socket
import struct

from quirk_server import (AMD64, ARM64, ATTESTATION, BASIC, DOCKER_LIST, DOCKER_MANIFEST, INDEX, LARGE, LIST, MIB,
                          NESTED, OCI_INDEX, OCI_MANIFEST, ONLY_ARM64, OTHER, PASSWORD, QUIRKS, Content, QuirkServer,
                          index, quirk)


# The digest header.

@quirk("no `Docker-Content-Digest` header")
def no_digest_header(it):
    it.serve(digest="")


@quirk("a digest header that is false")
def false_digest_header(it):
    it.serve(digest=OTHER.digest)


@quirk("the digest header is the index's, the body is the amd64 child")
def digest_of_the_index(it):
    it.serve(AMD64, digest=INDEX.digest)


@quirk("a digest header without `sha256:`")
def bare_digest_header(it):
    it.serve(digest=INDEX.digest.removeprefix("sha256:"))


@quirk("an ETag in the place of the digest")
def malformed_digest_header(it):
    it.serve(digest='W/"5d41402a"')


@quirk("an empty digest header")
def empty_digest_header(it):
    it.serve(digest=" ")


@quirk("a sha512 digest header")
def sha512_digest_header(it):
    it.serve(digest="sha512:" + hashlib.sha512(INDEX.body).hexdigest())


@quirk("asked by digest, it sends other content")
def other_content_by_digest(it):
    it.send(OTHER.body, headers=[("Content-Type", OCI_MANIFEST)])


# The body and its type.

@quirk("no `Content-Type`")
def no_content_type(it):
    it.serve(media_type="")


@quirk("`Content-Type: text/plain` and no digest header (Red Hat)")
def text_plain(it):
    it.serve(media_type="text/plain; charset=utf-8", digest="")


@quirk("`Content-Type: application/octet-stream`")
def octet_stream(it):
    it.serve(media_type="application/octet-stream")


@quirk("200 with a web page (captive portal, single sign-on)")
def web_page(it):
    it.send(b"<!DOCTYPE html><title>Sign in</title>", headers=[("Content-Type", "text/html")])


@quirk("200 with JSON that is no manifest")
def other_json(it):
    it.send(b'{"status":"ok"}', headers=[("Content-Type", "application/json")])


@quirk("200 without a body")
def empty_body(it):
    it.send(headers=[("Content-Type", OCI_INDEX)])


@quirk("`Content-Type` says manifest, the body is an index")
def contradicting_type(it):
    it.serve(media_type=OCI_MANIFEST)


@quirk("an index and a manifest in one document")
def two_in_one(it):
    it.serve(index(ARM64.entry("linux/arm64"), config=ARM64.entry(), layers=[]))


@quirk("a manifest of schema 1")
def schema_1(it):
    document = {"schemaVersion": 1, "name": "quirk", "tag": "1", "fsLayers": [], "history": []}
    it.send(json.dumps(document).encode(),
            headers=[("Content-Type", "application/vnd.docker.distribution.manifest.v1+prettyjws")])


@quirk("the document type depends on `Accept`: unless all four types stand in one line, the amd64 child")
def accept_decides(it):
    line = it.headers.get("Accept", "")
    it.serve(INDEX if all(kind in line for kind in (OCI_INDEX, OCI_MANIFEST, DOCKER_LIST, DOCKER_MANIFEST)) else AMD64)


@quirk("a Docker manifest list")
def docker_list(it):
    it.serve(LIST)


@quirk("an index of exactly 4 MiB")
def large_index(it):
    it.serve(LARGE)


@quirk("a manifest of 20 MiB")
def manifest_of_20_mib(it):
    it.send(b" " * (20 * MIB), headers=[("Content-Type", OCI_MANIFEST)])


@quirk("a body without end, in chunks")
def endless_body(it):
    it.raw(f"HTTP/1.1 200 OK\r\nContent-Type: {OCI_INDEX}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    while not it.server.stopped.is_set():
        it.raw(chunk)


@quirk("a body that is cut off")
def truncated_body(it):
    it.raw(f"HTTP/1.1 200 OK\r\nContent-Length: {len(INDEX.body)}\r\n\r\n".encode() + INDEX.body[:100])


@quirk("a body in chunks that is cut off")
def truncated_chunks(it):
    it.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n" + INDEX.body[:100] + b"\r\n")


@quirk("no `Content-Length`: the body ends with the connection")
def no_length(it):
    it.raw(f"HTTP/1.0 200 OK\r\nContent-Type: {OCI_INDEX}\r\n\r\n".encode() + INDEX.body)


@quirk("no `Content-Length`, and the connection ends too early")
def no_length_truncated(it):
    it.raw(b"HTTP/1.0 200 OK\r\n\r\n" + INDEX.body[:100])


@quirk("an empty `Content-Length` (RFC 9112, 6.3: no answer)")
def empty_length(it):
    it.raw(b"HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n" + INDEX.body)


@quirk("a `Content-Length` that is too small")
def small_length(it):
    it.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + INDEX.body)


@quirk("the body is always gzip-encoded")
def always_gzip(it):
    it.send(gzip.compress(INDEX.body), headers=[("Content-Type", OCI_INDEX), ("Content-Encoding", "gzip")])


@quirk("it packs when asked to, and announces the digest of the packed bytes")
def gzip_when_asked(it):
    if "gzip" not in it.headers.get("Accept-Encoding", ""):
        return it.serve()
    packed = Content(gzip.compress(INDEX.body), OCI_INDEX)
    return it.send(packed.body, headers=[("Content-Encoding", "gzip"), ("Docker-Content-Digest", packed.digest)])


@quirk("gzip without a `Content-Encoding`")
def undeclared_gzip(it):
    it.send(gzip.compress(INDEX.body), headers=[("Content-Type", OCI_INDEX)])


@quirk("`Content-Encoding: gzip`, and the body is not")
def false_gzip(it):
    it.serve(headers=[("Content-Encoding", "gzip")])


@quirk("a gzip bomb: 64 KiB that unpack to 64 MiB")
def gzip_bomb(it):
    it.send(bomb(), headers=[("Content-Type", OCI_INDEX), ("Content-Encoding", "gzip")])


@functools.cache
def bomb():
    return gzip.compress(b" " * (64 * MIB))


@quirk("JSON nested 100 000 deep")
def deep_json(it):
    it.send(b"[" * 100_000 + b"]" * 100_000, headers=[("Content-Type", OCI_INDEX)])


@quirk("JSON with a key twice: two programs would read two images")
def key_twice(it):
    body = INDEX.body.replace(b'{"schemaVersion": 2', b'{"schemaVersion": 2, "manifests": []')
    it.send(body, headers=[("Content-Type", OCI_INDEX)])


# HEAD: it is sent for the tag of `name:tag@digest`, to see whether it moved.

def without_head(it, status):
    """A registry that refuses every HEAD."""
    if it.method == "HEAD":
        return it.send(status=status)
    return it.serve()


@quirk("`tag@digest`, the tag is still there")
def tag_and_digest(it):
    it.serve()


@quirk("`tag@digest`, the tag has moved on")
def tag_has_moved(it):
    it.serve(OTHER) if it.is_tag else it.serve()


@quirk("`tag@digest`, the digest is that of a build within the tag's index")
def tag_of_the_index(it):
    it.serve()


@quirk("`tag@digest`, the tag is gone")
def tag_is_gone(it):
    it.refuse(404, "MANIFEST_UNKNOWN", "manifest unknown") if it.is_tag else it.serve()


@quirk("`tag@digest`, the tag is limited: 429")
def tag_is_limited(it):
    it.refuse(429, "TOOMANYREQUESTS", "slow down") if it.is_tag else it.serve()


@quirk("`tag@digest`, HEAD answers 405")
def head_405(it):
    without_head(it, 405)


@quirk("`tag@digest`, HEAD answers 404, GET 200 (Nexus)")
def head_404(it):
    without_head(it, 404)


@quirk("`tag@digest`, HEAD answers 403, GET 200 (centos)")
def head_403(it):
    without_head(it, 403)


@quirk("`tag@digest`, HEAD answers 400, GET 200")
def head_400(it):
    without_head(it, 400)


@quirk("`tag@digest`, HEAD has no digest header")
def head_without_digest(it):
    it.serve(digest="")


@quirk("`tag@digest`, HEAD has another digest than GET")
def head_with_other_digest(it):
    it.serve(digest=OTHER.digest if it.method == "HEAD" else None)


@quirk("`tag@digest`, HEAD has a malformed digest header")
def head_with_malformed_digest(it):
    it.serve(digest="unknown" if it.method == "HEAD" else None)


@quirk("`tag@digest`, HEAD has neither length nor type")
def head_without_length(it):
    if it.method == "HEAD":
        return it.raw(f"HTTP/1.1 200 OK\r\nDocker-Content-Digest: {INDEX.digest}\r\n\r\n".encode())
    return it.serve()


@quirk("no manifest of that digest, but a blob (Artifactory)")
def blob_of_that_digest(it):
    if "/blobs/" in it.path:
        return it.send(INDEX.body, headers=[("Content-Type", "application/octet-stream")])
    return it.refuse(404, "MANIFEST_UNKNOWN", "manifest unknown")


# Logging in.

PLAIN_CHALLENGE = 'Bearer realm="{realm}",service="quirks",scope="{scope}"'


def behind_token(it, *challenges, root=INDEX, token=None, service="quirks"):
    """A registry with a token endpoint that is strict about scope and service. `token(it)` gives its answer."""
    if it.area == "token":
        if (it.form.get("scope"), it.form.get("service")) != (it.scope, service):
            return it.refuse(403, "DENIED", f"wrong scope or service: {it.form}")
        answer = token(it) if token else {"token": it.new_token()}
        return it.send(json.dumps(answer).encode(), headers=[("Content-Type", "application/json")])
    if not it.has_token:
        return it.challenge(*(challenges or [PLAIN_CHALLENGE]))
    return it.serve(root)


@quirk("three tags behind a token")
def three_tags(it):
    behind_token(it)


@quirk("the token is called `access_token`")
def access_token(it):
    behind_token(it, token=lambda it: {"access_token": it.new_token()})


@quirk("`token` and `access_token`")
def both_tokens(it):
    def tokens(it):
        token = it.new_token()
        return {"token": token, "access_token": token}
    behind_token(it, token=tokens)


@quirk("`token` is null, `access_token` is not")
def null_token(it):
    behind_token(it, token=lambda it: {"token": None, "access_token": it.new_token()})


@quirk("the token has no `expires_in`, three tags")
def no_expiry(it):
    behind_token(it, token=lambda it: {"token": it.new_token(), "issued_at": None})


@quirk("the token was issued in 1970 by its own clock, three tags")
def clock_skew(it):
    behind_token(it, token=lambda it: {"token": it.new_token(), "expires_in": 60, "issued_at": "1970-01-01T00:00:00Z"})


@quirk("the challenge has a realm only (nvcr.io)")
def realm_only(it):
    behind_token(it, 'Bearer realm="{realm}"', service=None)


@quirk("the challenge has no service (GAR)")
def no_service(it):
    behind_token(it, 'Bearer realm="{realm}",scope="{scope}"', service=None)


@quirk("the challenge has an empty scope (GitLab)")
def empty_scope(it):
    behind_token(it, 'Bearer realm="{realm}",service="quirks",scope=""')


@quirk("the challenge wants a scope of pull and push; only pull is granted")
def scope_of_push(it):
    behind_token(it, PLAIN_CHALLENGE.replace("{scope}", "{scope},push"))


@quirk("a comma inside quotes")
def quoted_comma(it):
    behind_token(it, 'Bearer realm="{realm}",service="one, two",scope="{scope}"', service="one, two")


@quirk("blanks inside quotes, blanks around the commas")
def quoted_blanks(it):
    behind_token(it, 'Bearer realm="{realm}" , service="the registry" , scope="{scope}"', service="the registry")


@quirk("values without quotes")
def unquoted(it):
    behind_token(it, "Bearer realm={realm},service=quirks,scope={scope}")


@quirk("`bearer` in lower case, `REALM` in capitals")
def other_case(it):
    behind_token(it, 'bearer REALM="{realm}",Service="quirks",scope="{scope}"')


@quirk("`Negotiate`, then `Bearer`, in two headers")
def negotiate_first(it):
    behind_token(it, "Negotiate", PLAIN_CHALLENGE)


@quirk("`Basic`, then `Bearer`, in two headers; no password is stored")
def basic_first(it):
    behind_token(it, 'Basic realm="quirks"', PLAIN_CHALLENGE)


@quirk("`Basic` and `Bearer` in one header; no password is stored")
def one_header(it):
    behind_token(it, 'Basic realm="quirks", ' + PLAIN_CHALLENGE)


@quirk("a relative realm: `/token`")
def relative_realm(it):
    behind_token(it, 'Bearer realm="/token",service="quirks"')


@quirk("the realm is `/`")
def realm_is_the_root(it):
    it.area = it.area or "token"
    behind_token(it, "Bearer realm=/,service=quirks")


@quirk("the realm has a query")
def realm_with_query(it):
    if it.area == "token" and it.form.get("account") != "any":
        return it.refuse(403, "DENIED", "the query is lost")
    return behind_token(it, 'Bearer realm="{realm}?account=any",service="quirks"')


@quirk("the realm is at another origin")
def realm_elsewhere(it):
    behind_token(it, PLAIN_CHALLENGE.replace("{realm}", f"{it.elsewhere}/token"))


@quirk("the realm is at another origin and wants the stored password")
def password_for_realm(it):
    if it.area == "token" and it.authorization != BASIC:
        return it.challenge('Basic realm="quirks"')
    return behind_token(it, PLAIN_CHALLENGE.replace("{realm}", f"{it.elsewhere}/token"))


@quirk("the token endpoint answers 403 (ghcr.io, private or unknown package)")
def token_403(it):
    if it.area == "token":
        return it.refuse(403, "DENIED", "requested access to the resource is denied")
    return it.challenge(PLAIN_CHALLENGE)


@quirk("the token endpoint answers anybody 401 (nvcr.io, restricted image)")
def token_401(it):
    if it.area == "token":
        return it.send(b'{"message":"anonymous access is not allowed"}', 401)
    return it.challenge('Bearer realm="{realm}"')


@quirk("the token endpoint answers 503 once")
def token_503_once(it):
    if it.area == "token" and it.nth("token") == 1:
        return it.send(status=503)
    return behind_token(it)


@quirk("the token endpoint answers with a web page")
def token_page(it):
    if it.area == "token":
        return it.send(b"<html>Sign in</html>", headers=[("Content-Type", "text/html")])
    return it.challenge(PLAIN_CHALLENGE)


@quirk("the token endpoint sends 20 MiB")
def token_20_mib(it):
    behind_token(it, token=lambda it: {"token": "x" * 20 * MIB})


@quirk("a token with a line end in it")
def token_with_line_end(it):
    behind_token(it, token=lambda it: {"token": it.new_token() + "\r\nX-Evil: 1"})


@quirk("the token endpoint says nothing")
def token_silent(it):
    if it.area == "token":
        it.pause()
    behind_token(it)


@quirk("only Basic, no password is stored")
def basic_only(it):
    it.challenge('Basic realm="quirks"')


@quirk("only Basic, the password is stored (ECR)")
def basic_with_password(it):
    it.serve() if it.authorization == BASIC else it.challenge('Basic realm="quirks"')


@quirk("only Basic, the stored password is wrong")
def basic_refused(it):
    it.challenge('Basic realm="quirks"')


@quirk("only Basic, the stored password has expired: 403 with plain text (ECR)")
def basic_expired(it):
    if it.authorization:
        return it.send(b"Your authorization token has expired. Reauthenticate and try again.\n", 403)
    return it.challenge('Basic realm="quirks"')


@quirk("a stale stored password on a public image")
def stale_password(it):
    if it.area == "token" and it.authorization:
        return it.send(b'{"details":"incorrect username or password"}', 401)
    return behind_token(it)


@quirk("a stored identity token is taken by POST (ACR)")
def identity_token(it):
    if it.area == "token" and (it.method, it.form.get("refresh_token")) != ("POST", PASSWORD):
        return it.send(status=401)
    return behind_token(it)


@quirk("POST at the token endpoint answers 404")
def identity_token_404(it):
    it.send(status=404) if it.method == "POST" else behind_token(it)


@quirk("POST at the token endpoint answers 405")
def identity_token_405(it):
    it.send(status=405) if it.method == "POST" else behind_token(it)


@quirk("POST at the token endpoint refuses a stale identity token, on a public image")
def identity_token_stale(it):
    it.send(b'{"error":"invalid_grant"}', 400) if it.method == "POST" else behind_token(it)


@quirk("401 with an empty `WWW-Authenticate` (Harbor, odd names)")
def empty_challenge(it):
    it.challenge("")


@quirk("401 without `WWW-Authenticate` (GCR)")
def no_challenge(it):
    it.challenge()


@quirk("a token without grants, then 401 (Docker Hub, missing or private repository)")
def token_without_grants(it):
    if it.area == "token":
        return behind_token(it)
    return it.challenge(PLAIN_CHALLENGE + ',error="insufficient_scope"')


def while_token_lasts(it, when_expired):
    """Behind a token, of which the first serves a single request."""
    is_expired = it.has_token and it.authorization == "Bearer s3cret-1" and it.nth("s3cret-1") > 1
    return when_expired() if is_expired else behind_token(it, root=NESTED)


@quirk("the token expires between two requests")
def expired_token(it):
    while_token_lasts(it, lambda: it.challenge(PLAIN_CHALLENGE + ',error="invalid_token"'))


@quirk("after the token's expiry another realm is named, a dead end for anybody (nvcr.io)")
def other_realm_after_expiry(it):
    if it.area == "token" and it.origin == "other":
        return it.refuse(401, "UNAUTHORIZED", "no anonymous tokens here")
    return while_token_lasts(
        it, lambda: it.challenge(f'Bearer realm="{it.elsewhere}/token",service="quirks",error="invalid_token"'))


@quirk("an expired token is answered 400 without a challenge (ECR Public)")
def expired_token_400(it):
    while_token_lasts(it, lambda: it.refuse(400, "DENIED", "Your Authorization Token is invalid."))


@quirk("every token is answered 400")
def always_400_with_token(it):
    if it.area != "token" and it.has_token:
        return it.refuse(400, "DENIED", "Your Authorization Token is invalid.")
    return behind_token(it)


# Refusals, limits, faults.

@quirk("404 with JSON")
def not_found(it):
    it.refuse(404, "MANIFEST_UNKNOWN", "manifest unknown to this registry")


@quirk("404 with the code UNKNOWN (Harbor)")
def not_found_unknown(it):
    it.refuse(404, "UNKNOWN", "artifact quirk:1 not found")


@quirk("404 with a web page")
def not_found_page(it):
    it.send(b"<html>Not here</html>", 404, [("Content-Type", "text/html")])


@quirk("403 with JSON")
def denied(it):
    it.refuse(403, "DENIED", "your address is blocked")


@quirk("403 with plain text (ECR)")
def denied_in_text(it):
    it.send(b"Not Authorized\n", 403, [("Content-Type", "text/plain")])


@quirk("`/v2/` answers 404 (Nexus, path repositories)")
def ping_404(it):
    it.serve()


@quirk("rate-limit headers (Docker Hub)")
def rate_limit_headers(it):
    it.serve(headers=[("ratelimit-limit", "100;w=21600"), ("ratelimit-remaining", "98;w=21600")])


@quirk("rate-limit headers that nobody can read")
def strange_rate_limit_headers(it):
    it.serve(headers=[("ratelimit-limit", "lots"), ("ratelimit-remaining", "-1;w=99999999999999999999")])


def limited(it, tries, *headers):
    """429 for that many requests, then the index."""
    if it.nth() <= tries:
        return it.refuse(429, "TOOMANYREQUESTS", "slow down", headers)
    return it.serve()


def date_in(seconds):
    when = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return email.utils.format_datetime(when, usegmt=True)


def limited_until(it, seconds, clock=0):
    """429 once, until a date by a clock that is `clock` seconds off."""
    limited(it, 1, ("Date", date_in(clock)), ("Retry-After", date_in(clock + seconds)))


ALWAYS = 1000


@quirk("429 once, `Retry-After: 1`")
def limited_once(it):
    limited(it, 1, ("Retry-After", "1"))


@quirk("429 once, `Retry-After` is a date 2 s ahead")
def limited_until_date(it):
    limited_until(it, 2)


@quirk("429 once, `Retry-After` is a date 2 s ahead by a clock that is an hour fast")
def limited_until_fast_date(it):
    limited_until(it, 2, clock=3600)


@quirk("429 once, `Retry-After` is a date 2 s ahead by a clock that is an hour slow")
def limited_until_slow_date(it):
    limited_until(it, 2, clock=-3600)


@quirk("429 once, `Retry-After` is a date that has passed")
def limited_until_past(it):
    limited_until(it, -3600)


@quirk("429 once, `Retry-After` is a date and the server does not say what time it is")
def limited_until_date_without_clock(it):
    limited(it, 1, ("Retry-After", date_in(2)))


@quirk("429 once, without `Retry-After`")
def limited_once_bare(it):
    limited(it, 1)


@quirk("429 once, `Retry-After: soon`")
def limited_soon(it):
    limited(it, 1, ("Retry-After", "soon"))


@quirk("429 always, without `Retry-After`")
def limited_always(it):
    limited(it, ALWAYS)


@quirk("429 always, `Retry-After: 1`")
def limited_always_1(it):
    limited(it, ALWAYS, ("Retry-After", "1"))


@quirk("429 always, `Retry-After: 3600`")
def limited_for_an_hour(it):
    limited(it, ALWAYS, ("Retry-After", "3600"))


@quirk("429 always, `Retry-After` is more seconds than fit into 64 bits")
def limited_for_ever(it):
    limited(it, ALWAYS, ("Retry-After", "9" * 30))


@quirk("503 once")
def unavailable_once(it):
    it.send(status=503) if it.nth() == 1 else it.serve()


@quirk("503 once, `Retry-After: 1`")
def unavailable_for_a_second(it):
    it.send(status=503, headers=[("Retry-After", "1")]) if it.nth() == 1 else it.serve()


@quirk("502 with a web page, once")
def bad_gateway_once(it):
    it.send(b"<html>Bad gateway</html>", 502) if it.nth() == 1 else it.serve()


@quirk("503 always")
def unavailable(it):
    it.refuse(503, "UNAVAILABLE", "down for maintenance")


@quirk("it accepts the connection and says nothing")
def silent(it):
    it.pause()


@quirk("one byte a second")
def dripping(it):
    it.raw(f"HTTP/1.1 200 OK\r\nContent-Length: {len(INDEX.body)}\r\n\r\n".encode())
    for byte in INDEX.body:
        it.raw(bytes([byte]))
        it.pause(1)


@quirk("half a body, then silence")
def stalled_body(it):
    it.raw(f"HTTP/1.1 200 OK\r\nContent-Length: {len(INDEX.body)}\r\n\r\n".encode() + INDEX.body[:100])
    it.pause()


@quirk("a header every half second, without end")
def dripping_headers(it):
    it.raw(b"HTTP/1.1 200 OK\r\n")
    while not it.server.stopped.is_set():
        it.raw(b"X-More: 1\r\n")
        it.pause(0.5)


@quirk("headers without end")
def endless_headers(it):
    it.raw(b"HTTP/1.1 200 OK\r\n")
    while not it.server.stopped.is_set():
        it.raw(b"X-More: 1\r\n" * 1000)


@quirk("one header line without end")
def endless_header_line(it):
    it.raw(b"HTTP/1.1 200 OK\r\nX-More: ")
    while not it.server.stopped.is_set():
        it.raw(b"x" * 10_000)


@quirk("interim answers (103) without end")
def endless_interim_answers(it):
    while not it.server.stopped.is_set():
        it.raw(b"HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n" * 100)


@quirk("an interim answer (103) before the answer")
def interim_answer(it):
    it.raw(b"HTTP/1.1 103 Early Hints\r\nDocker-Content-Digest: " + OTHER.digest.encode() + b"\r\n\r\n")
    it.serve()


@quirk("it does not speak HTTP")
def no_http(it):
    it.raw(b"SSH-2.0-OpenSSH_9.2\r\n")


@quirk("it closes the connection without a word")
def closes(it):
    it.raw(b"")


@quirk("it resets the connection once")
def reset_once(it):
    if it.nth() > 1:
        return it.serve()
    connection = it.handler.connection
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    it.handler.close_connection = True
    return os.close(connection.detach())


# Redirects.

def redirecting(it, location, root=INDEX, needs_token=False):
    """Behind a token; manifests and blobs lie at `location`, which wants it as well or may not see it."""
    if it.area == "v2" and it.has_token:
        return it.redirect(location)
    if it.area != "store":
        return behind_token(it)
    if it.has_token != needs_token:
        return it.refuse(403, "DENIED", "a token is missing, or here by mistake")
    return it.serve(root)


@quirk("307 to another port of the host")
def redirect_to_port(it):
    redirecting(it, f"{it.elsewhere}/store{it.path}")


@quirk("307 to another host name")
def redirect_to_host(it):
    redirecting(it, f"{it.elsewhere}/store{it.path}".replace("127.0.0.1", "localhost"))


@quirk("307 within the origin, where the token is wanted")
def redirect_within(it):
    redirecting(it, f"{it.here}/store{it.path}", needs_token=True)


@quirk("307 with a relative `Location`")
def redirect_relative(it):
    redirecting(it, f"/store{it.path}", needs_token=True)


@quirk("the config lies at another origin (a CDN)")
def blob_elsewhere(it):
    if "/blobs/" in it.path:
        return redirecting(it, f"{it.elsewhere}/store{it.path}")
    return behind_token(it, root=ARM64)


@quirk("307 to a web page at another origin (single sign-on)")
def redirect_to_page(it):
    web_page(it) if it.origin == "other" else it.redirect(f"{it.elsewhere}/login/quirk/{it.name}/1")


@quirk("307 to another origin that wants a login of its own; a password is stored")
def redirect_to_login(it):
    if it.origin == "registry":
        return it.redirect(f"{it.elsewhere}{it.path}")
    return it.challenge(f'Bearer realm="{it.elsewhere}/login"')


@quirk("a redirect to itself")
def redirect_loop(it):
    it.redirect(it.path)


def redirects(it, count):
    """A chain of that many, each to a place of its own."""
    nth = it.nth()
    it.redirect(f"{it.here}/v2/quirk/{it.name}/manifests/{nth}") if nth <= count else it.serve()


@quirk("five redirects")
def five_redirects(it):
    redirects(it, 5)


@quirk("six redirects")
def six_redirects(it):
    redirects(it, 6)


@quirk("a redirect to a file")
def redirect_to_file(it):
    it.redirect("file:///etc/hostname")


@quirk("a redirect without `Location`")
def redirect_nowhere(it):
    it.redirect("", 302)


# Platforms.

@quirk("the entry is arm64; asked for arm64/v8")
def arm64_for_v8(it):
    it.serve(ONLY_ARM64)


@quirk("the entry is arm64/v8; asked for arm64")
def v8_for_arm64(it):
    it.serve(index(ARM64.entry("linux/arm64/v8")))


@quirk("entries v9, then v8; asked for arm64")
def v9_before_v8(it):
    it.serve(index(OTHER.entry("linux/arm64/v9"), ARM64.entry("linux/arm64/v8")))


@quirk("only v9; asked for arm64")
def only_v9(it):
    it.serve(index(OTHER.entry("linux/arm64/v9")))


@quirk("two entries for arm64: the first")
def two_for_arm64(it):
    it.serve(index(ARM64.entry("linux/arm64"), OTHER.entry("linux/arm64")))


@quirk("an index within the index")
def nested_index(it):
    it.serve(NESTED)


@quirk("the index within the index is not what its descriptor says")
def false_nested_index(it):
    it.serve(NESTED) if it.is_tag else it.send(LIST.body)


@quirk("indexes within indexes, eight deep")
def indexes_eight_deep(it):
    root = ONLY_ARM64
    for _ in range(8):
        root = index(root.entry())
    it.serve(root)


@quirk("an entry without a platform")
def no_platform(it):
    it.serve(index(ARM64.entry()))


@quirk("an attestation before the image")
def attestation_first(it):
    it.serve(index(ATTESTATION.entry("unknown/unknown"), ARM64.entry("linux/arm64")))


@quirk("windows/arm64 before linux/arm64")
def windows_first(it):
    it.serve(index(OTHER.entry("windows/arm64"), ARM64.entry("linux/arm64")))


@quirk("only amd64, and its attestation")
def only_amd64(it):
    it.serve(index(AMD64.entry("linux/amd64"), ATTESTATION.entry("unknown/unknown")))


@quirk("no amd64 in the index; no platform is asked for")
def no_amd64(it):
    it.serve(ONLY_ARM64)


@quirk("a single manifest of arm64")
def single_arm64(it):
    it.serve(ARM64)


@quirk("a single manifest of amd64; asked for arm64")
def single_amd64(it):
    it.serve(AMD64)


@quirk("an index of 1000 entries")
def thousand_entries(it):
    it.serve(index(*[ARM64.entry("linux/arm64")] * 1000))


if __name__ == "__main__":
    with QuirkServer() as running:
        for each, what in QUIRKS.items():
            print(f"{running.registry}/quirk/{each}:1  {what.title}")
        try:
            running.stopped.wait()
        except KeyboardInterrupt:
            pass
