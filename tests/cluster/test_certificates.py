"""Self-signed certificates."""

import ssl
from pathlib import Path

import pytest
from cluster.certificates import make_certificate


def handshake(certificate: Path, key: Path, trusted: Path, name: str) -> None:
    """Perform a TLS handshake; raise the client's verification error."""
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(certificate, key)
    client_context = ssl.create_default_context(cafile=trusted)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context.wrap_bio(to_client, to_server, server_hostname=name)
    server = server_context.wrap_bio(to_server, to_client, server_side=True)
    for side in (client, server, client, server):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_a_certificate_is_valid_for_this_machine(tmp_path: Path, name: str) -> None:
    certificate, key = make_certificate(tmp_path)
    handshake(certificate, key, certificate, name)


def test_a_certificate_is_invalid_for_other_names(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path, names=("console.example",))
    handshake(certificate, key, certificate, "console.example")
    with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
        handshake(certificate, key, certificate, "localhost")


def test_an_expired_certificate_is_rejected(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path, days=-0.5)
    with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
        handshake(certificate, key, certificate, "localhost")


def test_certificates_do_not_trust_each_other(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other, _ = make_certificate(tmp_path / "other")
    certificate, key = make_certificate(tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(certificate, key, other, "localhost")


def test_only_the_owner_can_read_the_key(tmp_path: Path) -> None:
    _, key = make_certificate(tmp_path)
    assert key.stat().st_mode & 0o777 == 0o600
