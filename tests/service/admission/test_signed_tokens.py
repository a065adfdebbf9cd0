"""Signed tokens, made with real keys and read from a real file and a real web server."""

import asyncio
import json
import os
import threading
import time
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from service.admission import signed_tokens
from service.admission.admission import Admission
from service.admission.callers_file import Callers, Jwt
from service.admission.signed_tokens import SignedTokens
from service.common.call import Call
from service.common.tasks import Tasks
from service.observability.metrics import Metrics
from tests.support.own_thread import patch_here
from wire.errors import Refusal

ISSUER, AUDIENCE = "https://studio.example", "croupier"
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()
KEYS = {"rsa": (RSA, "RS256"), "ec": (EC, "ES256"), "ed": (ED, "EdDSA")}


def public(name):
    key, algorithm = KEYS[name]
    found = jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key(), as_dict=True)
    return {**found, "kid": name, "alg": algorithm, "use": "sig"}


def write_keys(path, *names):
    path.write_text(json.dumps({"keys": [public(name) for name in names]}))


def token(name="rsa", **changed):
    claims = {"sub": "ann", "iss": ISSUER, "aud": AUDIENCE, "exp": time.time() + 3600, **changed}
    claims = {claim: value for claim, value in claims.items() if value is not None}
    key, algorithm = KEYS[name]
    return jwt.encode(claims, key, algorithm, headers={"kid": name})


def configured(where, algorithms=("RS256", "ES256", "EdDSA")):
    return SignedTokens(Jwt(str(where), ISSUER, AUDIENCE, algorithms), Tasks())


@pytest.fixture
def tokens(runner, tmp_path):
    path = tmp_path / "keys.json"
    write_keys(path, *KEYS)
    tokens = configured(path)

    runner.run(tokens._refresh())
    return tokens


@pytest.mark.parametrize("name", KEYS)
def test_a_valid_token_names_its_subject(tokens, name):
    assert tokens.subject(token(name)) == "ann"


@pytest.mark.parametrize(
    "changed",
    [
        {"exp": time.time() - 1},
        {"exp": None},
        {"iss": "https://other.example"},
        {"aud": "another service"},
        {"aud": None},
        {"sub": None},
        {"sub": ""},
        {"sub": "a" * 257},
        {"nbf": time.time() + 10_000},
    ],
)
def test_a_token_with_a_wrong_claim_is_refused(tokens, changed):
    with pytest.raises(Refusal, match="signed token is not valid"):
        tokens.subject(token(**changed))


def test_a_token_that_somebody_else_signed_is_refused(tokens):
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    claims = {"sub": "ann", "iss": ISSUER, "aud": AUDIENCE, "exp": time.time() + 3600}
    forged = [
        jwt.encode(claims, other, "RS256", headers={"kid": "rsa"}),
        jwt.encode(claims, other, "RS256", headers={"kid": "none"}),
        jwt.encode(claims, None, "none", headers={"kid": "rsa"}),
        jwt.encode(claims, "x" * 32, "HS256", headers={"kid": "rsa"}),
        token()[:-4] + "AAAA",
        "not a token",
        "",
    ]
    for each in forged:
        with pytest.raises(Refusal, match="signed token is not valid"):
            tokens.subject(each)


async def test_without_an_issuer_a_call_of_its_subject_is_readmitted_no_more(tmp_path):
    write_keys(tmp_path / "keys.json", *KEYS)
    issuer = Jwt(str(tmp_path / "keys.json"), ISSUER, AUDIENCE, ("RS256",))
    admission = Admission(Callers(), Metrics())
    await admission.replace(Callers(jwt=issuer))
    call = Call("/method", "grpc", [("x-jwt-assertion", token())])
    admission.admit(call)
    assert str(call.principal) == "subject:ann"
    await admission.replace(Callers(jwt=issuer, require_key=frozenset(["create_match"])))
    admission.readmit(call)
    with pytest.raises(OSError):
        await admission.replace(Callers(jwt=issuer._replace(jwks="nowhere")))
    admission.readmit(call)
    await admission.replace(Callers())
    with pytest.raises(Refusal, match="no signed tokens"):
        admission.readmit(call)


def test_a_token_that_was_valid_expires(tokens, monkeypatch):
    sent = token(exp=time.time() + 3600)
    assert tokens.subject(sent) == "ann"
    later = time.time() + 3601
    patch_here(monkeypatch, time, "time", lambda: later)
    with pytest.raises(Refusal, match="expired"):
        tokens.subject(sent)


def test_an_algorithm_that_is_not_allowed_is_refused(tmp_path):
    path = tmp_path / "keys.json"
    write_keys(path, *KEYS)
    tokens = configured(path, ("ES256",))
    asyncio.run(tokens._refresh())
    assert tokens.subject(token("ec")) == "ann"
    with pytest.raises(Refusal):
        tokens.subject(token("rsa"))


def test_keys_come_from_a_web_server_and_a_withdrawn_key_counts_no_more(tmp_path, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    path = tmp_path / "keys.json"
    write_keys(path, "rsa", "ec")
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        tokens = configured(f"http://127.0.0.1:{server.server_port}/keys.json")
        asyncio.run(tokens._refresh())
        assert tokens.subject(token("rsa")) == tokens.subject(token("ec")) == "ann"
        write_keys(path, "ec")
        asyncio.run(tokens._refresh())
        server.shutdown()
    assert tokens.subject(token("ec")) == "ann"
    with pytest.raises(Refusal):
        tokens.subject(token("rsa"))


async def test_an_answer_that_is_no_http_ends_no_server(caplog):
    class Mail(SimpleHTTPRequestHandler):
        def do_GET(self):
            self.wfile.write(b"220 mail.example.org ESMTP\r\n")

    with ThreadingHTTPServer(("127.0.0.1", 0), Mail) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for place in (f"{server.server_port}/keys.json", "x/keys?key=qz", "9/a b?key=qz"):
            tokens = configured(f"http://127.0.0.1:{place}")
            await tokens.open()
            tokens.close()
            assert "http://127.0.0.1" in caplog.text and "qz" not in caplog.text
        server.shutdown()


@pytest.mark.parametrize(
    "answer",
    [
        b"[" * 100_000,
        b'{"keys": [1]}',
        b'{"keys": [{"kty": ["RSA"]}]}',
        b'{"keys": [{"kty": "RSA", "alg": ["RS256"]}]}',
        json.dumps({"keys": [{**public("ed"), "kid": ["ed"]}]}).encode(),
        json.dumps({"keys": [{**public("ec"), "x": 5}]}).encode(),
        b" " * (2 << 20),
        b"\xff",
        None,
    ],
)
async def test_whatever_an_issuer_answers_the_server_starts(caplog, monkeypatch, answer):
    """The last one sends a byte now and then, for ever."""
    monkeypatch.setattr(signed_tokens, "FETCH_SECONDS", 0.5 if answer is None else 60.0)

    class Issuer(SimpleHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(answer or b"{")
                while answer is None and not gone.wait(0.1):
                    self.wfile.write(b" ")

    gone = threading.Event()
    with ThreadingHTTPServer(("127.0.0.1", 0), Issuer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        tokens = configured(f"http://127.0.0.1:{server.server_port}/keys?key=qz")
        await tokens.open()
        tokens.close()
        gone.set()
        server.shutdown()
    [line] = caplog.messages
    assert line.startswith("cannot read the keys of signed tokens: jwt.jwks: http://127.0.0.1:")
    assert "qz" not in line


def test_a_file_that_holds_no_keys_ends_the_start(tmp_path):
    path = tmp_path / "keys.json"
    for text in ("", "{}", "[]", '{"keys": 1}'):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"jwt\.jwks: .*keys\.json"):
            asyncio.run(configured(path).open())
    with pytest.raises(OSError, match=r"jwt\.jwks: .*missing"):
        asyncio.run(configured(tmp_path / "missing").open())


def test_keys_in_a_pipe_are_refused_and_not_waited_for(runner, tmp_path):
    os.mkfifo(tmp_path / "keys.json")
    with pytest.raises(ValueError, match=r"keys\.json must be a regular file"):
        runner.run(configured(tmp_path / "keys.json").open())
