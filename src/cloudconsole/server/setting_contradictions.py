"""Settings that are right each by itself, but not together."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cloudconsole.core.hosts import normalise_region
from cloudconsole.server.setting_endpoints import LOCAL

if TYPE_CHECKING:
    from cloudconsole.server.settings import Settings

Contradiction = tuple[str, tuple[str, ...]]
"""What is wrong and mends it, and the settings of which at least one is wrong."""


def contradictions(settings: "Settings") -> Iterator[Contradiction]:
    yield from _of_addresses(settings)
    yield from _of_certificates(settings)
    yield from _of_endpoints(settings)
    yield from _of_stores(settings)


def _of_addresses(settings: "Settings") -> Iterator[Contradiction]:
    if settings.origin_host and settings.hosts and settings.origin_host not in settings.hosts:
        text = f"hosts: add {settings.origin_host}, the host of public_origin, or leave hosts out"
        yield text, ("hosts", "public_origin")
    if settings.metrics == (settings.host, settings.port) and settings.port:
        yield "metrics: give another address or port than the console's own", ("metrics",)


def _of_certificates(settings: "Settings") -> Iterator[Contradiction]:
    certificate, key = settings.tls_certificate, settings.tls_key
    if certificate and not key:
        yield "tls_key: give the key of tls_certificate, or leave both out", ("tls_certificate", "tls_key")
    if key and not certificate:
        yield "tls_certificate: give the certificate of tls_key, or leave both out", ("tls_certificate", "tls_key")
    if certificate and not settings.always_https:
        text = "public_origin: make it https, since the console speaks https, or leave it out"
        yield text, ("public_origin", "tls_certificate", "tls_key")
    if settings.hsts_include_subdomains and not settings.hsts:
        yield "hsts_include_subdomains: set hsts above 0, or leave it out", ("hsts", "hsts_include_subdomains")


def _of_endpoints(settings: "Settings") -> Iterator[Contradiction]:
    if settings.any_region and any(endpoint.kind != LOCAL for endpoint in settings.identity):
        text = "any_region: leave it out, or leave out the identity endpoints that are not local"
        yield text, ("any_region", "identity")
    addresses = Counter(normalise_region(endpoint.address) for endpoint in settings.identity)
    for address, times in addresses.items():
        if times > 1:
            yield f"identity: give {address} once", ("identity",)


def _of_stores(settings: "Settings") -> Iterator[Contradiction]:
    if settings.database_password_file and not settings.database:
        text = "database: give the database of database_password_file, or leave both out"
        yield text, ("database", "database_password_file")
    if settings.database and settings.has_keystone and not settings.token_keys:
        text = "token_keys: give a file that all replicas have, since each may serve every session"
        yield text, ("token_keys", "database", "identity")
