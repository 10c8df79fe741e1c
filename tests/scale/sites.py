"""Consoles that share a store, behind nginx: a whole site on one machine."""

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
from tests.harness import CERTIFICATES, OverHttp, trusting_tests
from tests.stores import database_of, opened

PAIR: Final = (CERTIFICATES / "rsa.pem", CERTIFICATES / "rsa-key.pem")
CALLER: Final = "127.0.0.2"
"""Another address of this machine than nginx's own."""


class From(OverHttp):
    """Calls that come from an address of one's choice."""

    def __init__(self, base: str, address: str = CALLER) -> None:
        super().__init__(base)
        place = base.removeprefix("https://")
        self._connection = HTTPSConnection(place, timeout=30, context=trusting_tests(), source_address=(address, 0))


@dataclass
class Site:
    nginx: Nginx
    replicas: list[Replica]
    data: Path

    def logins(self) -> list[tuple[str, str]]:
        """Address and request id of every login in the trail."""
        wanted = select(access_audit.c.address, access_audit.c.request_id).where(access_audit.c.event == "login")
        with opened(self.data, "activity") as engine, engine.connect() as connection:
            return [(address, request_id) for address, request_id in connection.execute(wanted)]


def log_lines(replica: Replica) -> list[dict[str, Any]]:
    """What a replica has logged so far; its last line may still be under way."""
    return [json.loads(line) for line in replica.log.read_text().split("\n")[:-1] if line.startswith("{")]


@contextmanager
def site_of_two(data: Path, settings: Mapping[str, object] | None = None) -> Iterator[Site]:
    """Two consoles over one store, with these settings, behind an nginx without limits for a caller."""
    address = database_of(data)
    place = {"data": data} if address is None else {"database": address}
    replicas = [Replica(place, name=name) for name in ("first", "second")]
    nginx = Nginx([replica.base for replica in replicas], certificate=PAIR, limits=False)
    for replica in replicas:
        behind = {"public_origin": nginx.base, "proxies": "127.0.0.1"}
        replica.settings |= behind | {"insecure_sample": True, "access_log": True} | dict(settings or {})
    with ExitStack() as running:
        for part in (*replicas, nginx):
            running.enter_context(part)
        yield Site(nginx, replicas, data)
