"""TLS certificate: loading, and reloading on SIGHUP."""

import asyncio
import logging
import signal
import ssl
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType
from typing import Final

from cloudconsole.server.config.settings import SettingError, Settings

log = logging.getLogger(__name__)

TLS_1_2_CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Forward secrecy and AEAD only, as in deploy/nginx; does not apply to TLS 1.3."""
_MISMATCHES: Final = ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED")
"""OpenSSL's reasons for a key that does not match the certificate; the last for another key type."""

EXPIRY_WARNING: Final = timedelta(days=14)
"""Time before expiry from which a warning is logged."""


class Certificate:
    """Reloadable certificate; connections on `context` use the one that was last read."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self._files = certificate, key
        self._current = _read(*self._files)
        self.context = _read(*self._files)
        # Loading a new pair into the same context could mix both pairs, or keep both if one is RSA and one EC.
        self.context.sni_callback = self._present
        self.expiry = _expiry(certificate)
        """Expiry of the certificate in use; None if it cannot be decoded."""

    def renew(self) -> bool:
        """Reload the files; if they are invalid, log an error, keep the current certificate and return False."""
        try:
            self._current = _read(*self._files)
        except SettingError as problem:
            log.error("keeping the current certificate, because the new one is invalid: %s", problem)  # noqa: TRY400
            return False
        self.expiry = _expiry(self._files[0])
        return True

    def warn_of_expiry(self) -> None:
        """Log a warning if the certificate has expired, or soon will."""
        now = datetime.now(UTC)
        if self.expiry is not None and self.expiry <= now + EXPIRY_WARNING:
            verb = "expired" if self.expiry <= now else "expires"
            log.warning(
                "tls_certificate: %s %s on %s; renew it", self._files[0], verb, f"{self.expiry:%Y-%m-%d %H:%M} UTC"
            )

    def _present(self, connection: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = self._current


def read_certificate(settings: Settings) -> Certificate | None:
    """Return the configured certificate, if any; raise SettingError if it is invalid."""
    if settings.tls_certificate is None or settings.tls_key is None:
        return None
    return Certificate(settings.tls_certificate, settings.tls_key)


def certificate_expiry(path: Path) -> datetime:
    """Return the notAfter time, in UTC, of the first certificate in a PEM file; raise SettingError without one."""
    _check_file("tls_certificate", path, "CERTIFICATE")
    try:
        return decoded_expiry(path.read_bytes())
    except ValueError:
        raise SettingError(f"tls_certificate: the certificate in {path} cannot be decoded") from None


def decoded_expiry(encoded: bytes) -> datetime:
    """Return the notAfter time, in UTC, of a certificate in PEM or DER; raise ValueError if it is invalid."""
    # Imported only here: it takes memory, and most consoles have no certificate.
    from cryptography import x509

    is_pem = b"-----BEGIN" in encoded
    load = x509.load_pem_x509_certificate if is_pem else x509.load_der_x509_certificate
    return load(encoded).not_valid_after_utc


def _expiry(path: Path) -> datetime | None:
    try:
        return certificate_expiry(path)
    except SettingError as problem:
        # OpenSSL accepts the certificate, so it is usable.
        log.warning("%s: cannot warn before it expires", problem)
        return None


def _read(certificate: Path, key: Path) -> ssl.SSLContext:
    _check_file("tls_certificate", certificate, "CERTIFICATE")
    _check_file("tls_key", key, "PRIVATE KEY")

    def no_passphrase() -> str:
        raise SettingError(f"tls_key: the key in {key} has a passphrase; give one without")

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(TLS_1_2_CIPHERS)
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(certificate, key, no_passphrase)
    except ssl.SSLError as problem:
        if problem.reason in _MISMATCHES:
            raise SettingError(f"tls_key: the key in {key} is not that of the certificate in {certificate}") from None
        reason = (problem.reason or "damaged").replace("_", " ").lower()
        raise SettingError(f"tls_certificate: {certificate} with the key {key} cannot be used: {reason}") from None
    except OSError as problem:
        raise SettingError(f"tls_certificate: {certificate} with the key {key}: {problem.strerror}") from None
    return context


def _check_file(setting: str, file: Path, title: str) -> None:
    try:
        content = file.read_bytes()
    except OSError as problem:
        raise SettingError(f"{setting}: {file}: {problem.strerror}; give the path of a PEM file") from None
    if f"{title}-----".encode() not in content:
        raise SettingError(f"{setting}: there is no {title.lower()} in {file}; give a PEM file with one")


RELOAD_SIGNAL: Final = signal.SIGHUP


def block_reload_signal() -> None:
    """Keep the signal pending until a process can handle it; without a handler it would end the process."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [RELOAD_SIGNAL])


def reload_on_signal(reload: Callable[[], None]) -> None:
    """Call `reload` in the running loop for each signal from now on, and at once for a pending one."""
    loop = asyncio.get_running_loop()

    def handle(_signal: int, _frame: FrameType | None) -> None:
        # The loop is closed while the process ends.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(reload)

    # Not by the loop's add_signal_handler: when that loop closes, it restores the default, which ends the process.
    signal.signal(RELOAD_SIGNAL, handle)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [RELOAD_SIGNAL])


def reload_certificate(certificate: Certificate | None) -> None:
    """Reload the certificate and log the result."""
    if certificate is None:
        fields = {"event": "reload", "reloaded": None}
        log.info("SIGHUP: nothing to reload, no certificate is configured", extra={"fields": fields})
    elif certificate.renew():
        fields = {"event": "reload", "reloaded": "certificate"}
        log.info("SIGHUP: reloaded the certificate", extra={"fields": fields})
        certificate.warn_of_expiry()
