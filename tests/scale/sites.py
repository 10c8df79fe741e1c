"""Replicas that share a store, behind nginx."""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any, Final

from cluster.nginx import Nginx
from cluster.replica import Replica
from sqlalchemy import select

from cloudconsole.store.tables import access_audit
from tests.harness import CERTIFICATES, HttpTransport, client_ssl_context
from tests.stores import database_of, opened

CERTIFICATE_PAIR: Final = (CERTIFICATES / "rsa.pem", CERTIFICATES / "rsa-key.pem")
CLIENT_ADDRESS: Final = "127.0.0.2"
"""A loopback address other than that of nginx."""


class OverHttpFrom(HttpTransport):
    """Requests from a chosen source address."""

    def __init__(self, base: str, address: str = CLIENT_ADDRESS) -> None:
        super().__init__(base)
        host = base.removeprefix("https://")
        self._connection = HTTPSConnection(host, timeout=120, context=client_ssl_context(), source_address=(address, 0))


@dataclass
class Site:
    nginx: Nginx
    replicas: list[Replica]
    data: Path

    def logins(self) -> list[tuple[str, str]]:
        """Return the address and request id of every login in the access audit."""
        query = select(access_audit.c.address, access_audit.c.request_id).where(access_audit.c.event == "login")
        with opened(self.data, "activity") as engine, engine.connect() as connection:
            return [(address, request_id) for address, request_id in connection.execute(query)]


def log_lines(replica: Replica) -> list[dict[str, Any]]:
    """Return what a replica has logged so far, without an incomplete last line."""
    return [json.loads(line) for line in replica.log.read_text().split("\n")[:-1] if line.startswith("{")]


@contextmanager
def two_replica_site(data: Path, settings: Mapping[str, object] | None = None) -> Iterator[Site]:
    """Run two replicas over one store, with these settings, behind an nginx without rate limits."""
    address = database_of(data)
    store = {"data": data} if address is None else {"database": address}
    replicas = [Replica(store, name=name) for name in ("first", "second")]
    nginx = Nginx([replica.base for replica in replicas], certificate=CERTIFICATE_PAIR, limits=False)
    for replica in replicas:
        proxy_settings = {"public_origin": nginx.base, "proxies": "127.0.0.1"}
        replica.settings |= proxy_settings | {"insecure_sample": True, "access_log": True} | dict(settings or {})
    with ExitStack() as running:
        for server in (*replicas, nginx):
            running.enter_context(server)
        yield Site(nginx, replicas, data)
