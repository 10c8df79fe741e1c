"""The TLS certificate: unusable files are rejected in one line, and a renewal replaces both files or neither."""

import logging
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copy

import pytest

from cloudconsole.server.config.settings import SettingError, Settings
from cloudconsole.server.runtime.tls import Certificate, certificate_expiry, read_certificate
from tests.certificate_factory import write_certificate
from tests.harness import CERTIFICATES, client_ssl_context


def certificate(name: str = "rsa.pem", key: str = "rsa-key.pem") -> Settings:
    return Settings(tls_certificate=CERTIFICATES / name, tls_key=CERTIFICATES / key)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate file and its key file, which a test can replace."""
    files = tmp_path / "certificate.pem", tmp_path / "key.pem"
    install(files, "rsa")
    return files


def install(pair: tuple[Path, Path], name: str) -> None:
    copy(CERTIFICATES / f"{name}.pem", pair[0])
    copy(CERTIFICATES / f"{name}-key.pem", pair[1])


def presented(certificate: Certificate, client: ssl.SSLContext | None = None, name: str | None = "localhost") -> str:
    """Return the name of the test certificate that a new connection is shown."""
    client = client or client_ssl_context()
    client.check_hostname = name is not None
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client_end = client.wrap_bio(to_client, to_server, server_hostname=name)
    server_end = certificate.context.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(4):
        for side in (client_end, server_end):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    shown = client_end.getpeercert(binary_form=True)
    assert shown
    pem = ssl.DER_cert_to_PEM_cert(shown)
    return next(name for name in ("rsa", "ec") if (CERTIFICATES / f"{name}.pem").read_text() == pem)


@pytest.mark.parametrize(
    ("name", "key", "message"),
    [
        ("missing.pem", "rsa-key.pem", "tls_certificate: {0}/missing.pem: No such file or directory; give"),
        ("rsa.pem", "missing.pem", "tls_key: {0}/missing.pem: No such file or directory; give"),
        (".", "rsa-key.pem", "tls_certificate: {0}: Is a directory; give"),
        ("rsa-key.pem", "rsa-key.pem", "tls_certificate: there is no certificate in {0}/rsa-key.pem; give a PEM file"),
        ("rsa.pem", "rsa.pem", "tls_key: there is no private key in {0}/rsa.pem; give a PEM file"),
        ("rsa.pem", "ec-key.pem", "tls_key: the key in {0}/ec-key.pem is not that of the certificate in {0}/rsa.pem"),
        ("ec.pem", "other-ec-key.pem", "tls_key: the key in {0}/other-ec-key.pem is not that of the certificate in"),
        ("ec.pem", "ec-key-with-passphrase.pem", "tls_key: the key in {0}/ec-key-with-passphrase.pem has a passphrase"),
    ],
)
def test_unusable_files_are_rejected_in_one_line(name: str, key: str, message: str) -> None:
    with pytest.raises(SettingError) as error:
        read_certificate(certificate(name, key))
    assert str(error.value).startswith(message.format(CERTIFICATES))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("damaged", [0, 1], ids=["certificate", "key"])
def test_damaged_files_are_rejected_in_one_line(pair: tuple[Path, Path], damaged: int) -> None:
    lines = pair[damaged].read_text().splitlines()
    pair[damaged].write_text("\n".join([lines[0], *lines[5:]]))
    with pytest.raises(SettingError, match=r"^tls_[a-z]+: [^\n]* cannot be used: [^\n]+$"):
        Certificate(*pair)


@pytest.mark.parametrize("host", ["localhost", None], ids=["named", "unnamed"])
def test_renewed_certificate_replaces_the_old_one(pair: tuple[Path, Path], host: str | None) -> None:
    found = Certificate(*pair)
    assert presented(found) == "rsa"
    install(pair, "ec")
    assert presented(found) == "rsa"
    assert found.renew()
    assert presented(found, name=host) == "ec"
    install(pair, "rsa")
    assert found.renew()
    assert presented(found, name=host) == "rsa"


@pytest.mark.parametrize("changed", [0, 1], ids=["certificate", "key"])
def test_unusable_renewal_is_logged_and_changes_nothing(
    pair: tuple[Path, Path], changed: int, caplog: pytest.LogCaptureFixture
) -> None:
    found = Certificate(*pair)
    copy(CERTIFICATES / ("ec.pem", "ec-key.pem")[changed], pair[changed])
    with caplog.at_level(logging.ERROR):
        assert not found.renew()
    assert "tls_key: the key in" in caplog.text
    assert presented(found) == "rsa"


@pytest.mark.parametrize(("days", "warning"), [(-1, "expired on"), (13, "expires on"), (15, None)])
def test_expiring_certificate_causes_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, days: int, warning: str | None
) -> None:
    expiry = datetime.now(UTC).replace(microsecond=0) + timedelta(days=days)
    found = Certificate(*write_certificate(tmp_path, expiry))
    found.warn_of_expiry()
    assert found.expiry == expiry
    assert [record.levelname for record in caplog.records] == (["WARNING"] if warning else [])
    assert warning is None or f"{warning} {expiry:%Y-%m-%d %H:%M} UTC" in caplog.text


@pytest.mark.parametrize("name", ["rsa", "ec"])
def test_tls_1_2_rejects_a_client_that_offers_only_cbc(name: str) -> None:
    found = read_certificate(certificate(f"{name}.pem", f"{name}-key.pem"))
    assert found is not None
    client = client_ssl_context()
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    client.set_ciphers("ECDHE+AES:!AESGCM:!AESCCM")
    with pytest.raises(ssl.SSLError):
        presented(found, client)
    client.set_ciphers("ECDHE+AESGCM")
    assert presented(found, client) == name


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1 is deprecated:DeprecationWarning")
def test_old_tls_versions_are_rejected() -> None:
    found = read_certificate(certificate())
    assert found is not None
    client = client_ssl_context()
    client.set_ciphers("DEFAULT@SECLEVEL=0")
    client.minimum_version = client.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(ssl.SSLError):
        presented(found, client)
    client.minimum_version = client.maximum_version = ssl.TLSVersion.TLSv1_2
    assert presented(found, client) == "rsa"


def test_the_expiry_of_a_chain_is_that_of_its_first_certificate(tmp_path: Path) -> None:
    expiry = datetime(2026, 2, 28, tzinfo=UTC)
    file, _ = write_certificate(tmp_path, expiry)
    file.write_bytes(b"subject=localhost\n" + file.read_bytes() + (CERTIFICATES / "rsa.pem").read_bytes())
    assert certificate_expiry(file) == expiry


@pytest.mark.parametrize("content", ["", "MAQwAgUA", "****"])
def test_a_certificate_that_cannot_be_decoded_has_no_expiry(tmp_path: Path, content: str) -> None:
    file = tmp_path / "certificate.pem"
    file.write_text(f"-----BEGIN CERTIFICATE-----\n{content}\n-----END CERTIFICATE-----\n")
    with pytest.raises(SettingError, match="cannot be decoded"):
        certificate_expiry(file)
