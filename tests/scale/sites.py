"""Consoles that share an embedded store, behind nginx: a whole site on one machine."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPSConnection
from pathlib import Path
from typing import Final

from cluster.nginx import Nginx
from lab.ports import choose
from sqlalchemy import select

from cloudconsole.store.engine import opened
from cloudconsole.store.tables import access_audit
from tests.harness import CERTIFICATES, OverHttp, RunningServer, running_server, trusting_tests

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
    replicas: list[RunningServer]
    data: Path

    def logins(self) -> list[tuple[str, str]]:
        """Address and request id of every login in the trail."""
        wanted = select(access_audit.c.address, access_audit.c.request_id).where(access_audit.c.event == "login")
        with opened(self.data, "activity") as engine, engine.connect() as connection:
            return [(address, request_id) for address, request_id in connection.execute(wanted)]


@contextmanager
def site_of_two(folder: Path, *, limits: bool = False) -> Iterator[Site]:
    """Two consoles over one store; without limits for a caller, unless a test is about those."""
    data = folder / "first/data"
    with Nginx(certificate=PAIR, limits=limits) as nginx, ExitStack() as running:
        ports = choose(["first", "second"])
        nginx.start([f"http://127.0.0.1:{port}" for port in ports.values()])
        replicas = []
        for name, port in ports.items():
            (folder / name).mkdir()
            # The address that a console names is that of nginx, through which it is waited for, too.
            behind = ("--public-origin", nginx.base, "--proxies", "127.0.0.1", "--insecure-sample")
            place = ("--port", str(port), *(() if name == "first" else ("--data", str(data))))
            server = running_server(folder / name, *behind, *place, sample=name == "first")
            replicas.append(running.enter_context(server))
        yield Site(nginx, replicas, data)
