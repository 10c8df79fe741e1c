"""Certificates for servers on this machine."""

import ssl
from pathlib import Path

import pytest
from cluster.certificates import make_certificate


def shaken(certificate: Path, key: Path, trusted: Path, name: str) -> None:
    """Both sides of TLS shake hands, or the caller's refusal is raised."""
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate, key)
    calling = ssl.create_default_context(cafile=trusted)
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    caller = calling.wrap_bio(back, there, server_hostname=name)
    server = serving.wrap_bio(there, back, server_side=True)
    for side in (caller, server, caller, server):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_it_vouches_for_this_machine(tmp_path: Path, name: str) -> None:
    certificate, key = make_certificate(tmp_path)
    shaken(certificate, key, certificate, name)


def test_it_does_not_vouch_for_others(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path, names=("console.example",))
    shaken(certificate, key, certificate, "console.example")
    with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
        shaken(certificate, key, certificate, "localhost")


def test_one_that_is_over_is_refused(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path, days=-0.5)
    with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
        shaken(certificate, key, certificate, "localhost")


def test_each_is_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other, _ = make_certificate(tmp_path / "other")
    certificate, key = make_certificate(tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError):
        shaken(certificate, key, other, "localhost")


def test_the_key_is_its_owners_alone(tmp_path: Path) -> None:
    _, key = make_certificate(tmp_path)
    assert key.stat().st_mode & 0o777 == 0o600
