"""Replicas that share a store, behind nginx."""

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any, Final

from cluster.nginx import Nginx
from cluster.replica import Replica
from sqlalchemy import select

from cloudconsole.store.tables import access_audit
from tests.e2e.raw_http import RawConnection
from tests.harness import CERTIFICATES, HttpTransport, client_ssl_context
from tests.stores import database_of, opened

CERTIFICATE_PAIR: Final = (CERTIFICATES / "rsa.pem", CERTIFICATES / "rsa-key.pem")
CLIENT_ADDRESS: Final = "127.0.0.2"
"""A loopback address other than that of nginx."""


class ClientTransport(HttpTransport):
    """Requests from the client's address."""

    def __init__(self, base: str) -> None:
        super().__init__(base)
        host, source = base.removeprefix("https://"), (CLIENT_ADDRESS, 0)
        self._connection = HTTPSConnection(host, timeout=120, context=client_ssl_context(), source_address=source)


def raw_connection(nginx: Nginx) -> RawConnection:
    """A raw connection over TLS."""
    plain = socket.create_connection(("127.0.0.1", nginx.port), timeout=120)
    return RawConnection(client_ssl_context().wrap_socket(plain, server_hostname="localhost"))


@dataclass
class Site:
    nginx: Nginx
    replicas: list[Replica]
    data: Path

    def access_lines(self) -> list[dict[str, Any]]:
        """Return what nginx has written to its access log, without an incomplete last line."""
        return [json.loads(line) for line in self.nginx.access_log.read_text().split("\n")[:-1]]

    def logins(self) -> list[tuple[str, str]]:
        """Return the address and request id of every login in the access audit."""
        query = select(access_audit.c.address, access_audit.c.request_id).where(access_audit.c.event == "login")
        with opened(self.data, "activity") as engine, engine.connect() as connection:
            return [(address, request_id) for address, request_id in connection.execute(query)]


def log_lines(replica: Replica) -> list[dict[str, Any]]:
    """Return what a replica has logged so far, without an incomplete last line."""
    return [json.loads(line) for line in replica.log.read_text().split("\n")[:-1] if line.startswith("{")]


def is_ready(base: str) -> bool:
    """Return whether a console reports itself ready."""
    with closing(HttpTransport(base)) as transport:
        try:
            return transport.send("GET", "/readyz", []).status == 200
        except OSError:
            return False


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
