"""The lab, a user of it, and consoles before it: over the sample's store, so that their own accounts are there, too."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct
from sqlalchemy import select, update

from bench import servers
from bench.client import Caller, Connection, Reply, action_request, log_in, right_body
from bench.data import Plan, Store, copy_of, store
from bench.figures import Refused
from bench.servers import SERVER_CORE, Server
from cloudconsole.store.sqlite.engine import opened
from cloudconsole.store.tables import domains, tenants
from lab.cloud import Lab, User
from lab.errors import LabError

USER: Final = "alice"
"""Her project has one of everything."""

DOMAIN: Final = "206814"

NOTHING_KEPT: Final = {"cloud_cache": 0, "flavor_cache": 0}


class Console(Struct, frozen=True):
    """A console before the lab, and the user logged in there."""

    server: Server
    store: Store
    guest: Caller


def open_lab() -> Lab:
    folder = os.environ.get("LAB")
    if not folder:
        raise Refused("LAB names no folder of a lab; `make bench-openstack` starts one")
    try:
        return Lab.open(Path(folder))
    except LabError as missing:
        raise Refused(str(missing)) from missing


def user_of(lab: Lab) -> User:
    if USER not in lab.users:
        raise Refused(f"the lab has no user {USER}: it must be seeded")
    return lab.users[USER]


@contextmanager
def console(
    lab: Lab, settings: dict[str, int], *, core: int | None = SERVER_CORE, module: str = "cloudconsole"
) -> Iterator[Console]:
    """`cloudconsole serve` before the lab, with one of its users logged in, and one of the sample's domains his."""
    with copy_of(store(Plan())) as copy, tempfile.TemporaryDirectory(prefix="bench-cloud-") as folder:
        file = Path(folder) / "cloudconsole.toml"
        file.write_text(_settings(lab, settings))
        with servers.console(copy.folder, "--config", str(file), core=core, module=module) as server:
            user = user_of(lab)
            guest = log_in(server.port, user.name, user.password, lab.identity)
            with opened(copy.folder, "cloud") as engine, engine.begin() as connection:
                theirs = select(tenants.c.id).where(tenants.c.project.is_not(None)).scalar_subquery()
                connection.execute(update(domains).values(tenant_id=theirs).where(domains.c.id == DOMAIN))
            yield Console(server, copy, guest)


def _settings(lab: Lab, settings: dict[str, int]) -> str:
    lines = [f"{name} = {value}" for name, value in settings.items()]
    regions = ", ".join(f'"{region}"' for region in lab.regions)
    lines += ["[[identity]]", 'kind = "keystone"', f'address = "{lab.identity}"', f"regions = [{regions}]"]
    return "\n".join(lines) + "\n"


def requests_of(caller: Caller) -> dict[str, bytes]:
    """One of every action."""
    plain = ("GetUsageLimits", "GetFlavors", "GetConsumptionsEstimated", "GetUrlList", "GetNews")
    return {name: action_request(caller, name) for name in plain} | {
        "GetDomainDetail": action_request(caller, "GetDomainDetail", domainId=DOMAIN)
    }


class Asker:
    """The same request over a kept connection; every answer must be like the first."""

    def __init__(self, port: int, request: bytes) -> None:
        self._body = right_body(port, request)
        self._port = port
        self._connection = Connection(port)
        self._request = request

    def begin(self) -> None:
        """Over a connection of now: one that nothing was sent on for long may be closed any moment."""
        self._connection.close()
        self._connection = Connection(self._port)
        self.ask()

    def ask(self) -> Reply:
        reply = self._connection.send(self._request)
        if reply.status != 200:
            raise Refused(f"the answer is {reply.status}: {reply.body[:200]!r}")
        if reply.body != self._body:
            raise Refused(f"another answer than before: {reply.body[:200]!r} instead of {self._body[:200]!r}")
        return reply

    def close(self) -> None:
        self._connection.close()
