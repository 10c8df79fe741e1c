"""Consoles with the lab as OpenStack backend; their store has the sample, so local accounts exist as well."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct
from sqlalchemy import select, update

from bench import servers
from bench.datasets import DatasetSpec, SqliteDataset, sqlite_dataset, temporary_copy
from bench.measurements import InvalidRun
from bench.raw_http import Connection, Response, SessionCookies, action_request, expected_body, login
from bench.servers import SERVER_CORE, Server
from cloudconsole.store.sqlite.engine import opened
from cloudconsole.store.tables import domains, tenants
from lab.cloud import Lab, User
from lab.errors import LabError

USER: Final = "alice"
"""Her project has one resource of each kind."""

DOMAIN: Final = "206814"

NO_CACHE: Final = {"cloud_cache": 0, "flavor_cache": 0}


class LabConsole(Struct, frozen=True):
    """A console with an OpenStack user logged in."""

    server: Server
    dataset: SqliteDataset
    cookies: SessionCookies


def open_lab() -> Lab:
    directory = os.environ.get("LAB")
    if not directory:
        raise InvalidRun("LAB is not set to the directory of a lab; `make bench-openstack` starts one")
    try:
        return Lab.open(Path(directory))
    except LabError as error:
        raise InvalidRun(str(error)) from error


def lab_user(lab: Lab) -> User:
    if USER not in lab.users:
        raise InvalidRun(f"the lab has no user {USER}: it must be seeded")
    return lab.users[USER]


@contextmanager
def run_lab_console(
    lab: Lab, settings: dict[str, int], *, core: int | None = SERVER_CORE, module: str = "cloudconsole"
) -> Iterator[LabConsole]:
    """Run `cloudconsole serve` with the lab, log in a lab user and assign a domain of the sample to the user."""
    with (
        temporary_copy(sqlite_dataset(DatasetSpec())) as copy,
        tempfile.TemporaryDirectory(prefix="bench-config-") as directory,
    ):
        file = Path(directory) / "cloudconsole.toml"
        file.write_text(_settings(lab, settings))
        with servers.run_console(copy.directory, "--config", str(file), core=core, module=module) as server:
            user = lab_user(lab)
            cookies = login(server.port, user.name, user.password, lab.identity)
            with opened(copy.directory, "cloud") as engine, engine.begin() as connection:
                tenant = select(tenants.c.id).where(tenants.c.project.is_not(None)).scalar_subquery()
                connection.execute(update(domains).values(tenant_id=tenant).where(domains.c.id == DOMAIN))
            yield LabConsole(server, copy, cookies)


def _settings(lab: Lab, settings: dict[str, int]) -> str:
    lines = [f"{name} = {value}" for name, value in settings.items()]
    regions = ", ".join(f'"{region}"' for region in lab.regions)
    lines += ["[[identity]]", 'kind = "keystone"', f'address = "{lab.identity}"', f"regions = [{regions}]"]
    return "\n".join(lines) + "\n"


def requests_for(cookies: SessionCookies) -> dict[str, bytes]:
    """Return a request of every action."""
    plain = ("GetUsageLimits", "GetFlavors", "GetConsumptionsEstimated", "GetUrlList", "GetNews")
    return {name: action_request(cookies, name) for name in plain} | {
        "GetDomainDetail": action_request(cookies, "GetDomainDetail", domainId=DOMAIN)
    }


class VerifiedRequest:
    """A request over a keep-alive connection; every response must equal the first."""

    def __init__(self, port: int, request: bytes) -> None:
        self._body = expected_body(port, request)
        self._port = port
        self._connection = Connection(port)
        self._request = request

    def reconnect(self) -> None:
        """Open a new connection and send once: the server may close an idle one at any moment."""
        self._connection.close()
        self._connection = Connection(self._port)
        self.send()

    def send(self) -> Response:
        response = self._connection.send(self._request)
        if response.status != 200:
            raise InvalidRun(f"the response is {response.status}: {response.body[:200]!r}")
        if response.body != self._body:
            raise InvalidRun(f"the response has changed: {response.body[:200]!r} instead of {self._body[:200]!r}")
        return response

    def close(self) -> None:
        self._connection.close()
