"""Providers behind TLS: their certificate is checked before a word is said."""

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest
from asking import ask
from own_gateway import OwnGateway, own_gateway

from infranoise.models.provider import Provider
from infranoise.scheduler.broker import embedded

ANSWER = b'{"usage": {"input_tokens": 1, "output_tokens": 2}}'
SAID = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(
    ANSWER
)
CERTIFICATE = (
    *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
    *("-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
)


@pytest.fixture(scope="module")
def certificate(
    tmp_path_factory: pytest.TempPathFactory, missing: Callable[[str], NoReturn]
) -> tuple[Path, Path]:
    """A certificate of `localhost` and its key."""
    if shutil.which("openssl") is None:
        missing("openssl")
    folder = tmp_path_factory.mktemp("tls")
    paths = folder / "cert.pem", folder / "key.pem"
    files = ("-out", str(paths[0]), "-keyout", str(paths[1]))
    subprocess.run([*CERTIFICATE, *files], check=True, capture_output=True)
    return paths


@contextmanager
def provider(certificate: tuple[Path, Path], heard: list[bytes]) -> Iterator[int]:
    """Answers every request on TLS, and keeps what it heard; gives its port."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*certificate)

    def serve() -> None:
        while True:
            try:
                plain, _ = server.accept()
            except OSError:
                return
            try:
                with tls.wrap_socket(plain, server_side=True) as secure:
                    while got := secure.recv(65536):
                        heard.append(got)
                        secure.sendall(SAID + ANSWER)
            except OSError:
                continue  # the client did not like the certificate

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.fixture
def heard() -> list[bytes]:
    return []


@pytest.fixture
def gateway(
    certificate: tuple[Path, Path], heard: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> Iterator[OwnGateway]:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    with provider(certificate, heard) as port, embedded() as broker:
        providers = {
            name: Provider(dialect="anthropic", base_url=f"https://{host}:{port}", key="env:KEY")
            for name, host in (("named", "localhost"), ("misnamed", "127.0.0.1"))
        }
        with own_gateway(broker, providers, {"KEY": "sk-of-this-test"}) as running:
            yield running


def test_a_certificate_that_is_trusted_and_named_so_is_spoken_to(
    gateway: OwnGateway, heard: list[bytes]
) -> None:
    token = gateway.token(provider="named")
    for _ in range(2):
        got = ask(gateway, token)
        assert (got.status, got.body) == (200, ANSWER)
    assert b"x-api-key: sk-of-this-test" in b"".join(heard)


def test_any_other_never_sees_the_key(gateway: OwnGateway, heard: list[bytes]) -> None:
    got = ask(gateway, gateway.token(provider="misnamed"))
    assert got.status == 502
    (call,) = gateway.calls()
    assert (call.ending, call.detail) == ("unreachable", "SSLCertVerificationError")
    assert not heard
