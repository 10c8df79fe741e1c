"""SQLite datasets: the sample cloud plus a given number of tenants, sessions and resources.

Datasets are created once and cached in `DIRECTORY`. Parts that write use a temporary copy.
"""

import hashlib
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC
from itertools import islice
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection, Table, insert, select, update

from bench.raw_http import SessionCookies
from cloudconsole.core.resources import QUOTA_DEFAULTS
from cloudconsole.operator.cloud_file import load
from cloudconsole.operator.sample import SAMPLE_FILE
from cloudconsole.server.http.csrf import SEED_LENGTH, CsrfTokens
from cloudconsole.store import counters
from cloudconsole.store.activity_writes import ActivityStore
from cloudconsole.store.base import DatabaseName
from cloudconsole.store.session_lookup import hash_session_id
from cloudconsole.store.sqlite.engine import opened
from cloudconsole.store.sqlite.store import prepare
from cloudconsole.store.tables import accounts, domains, nodes, quotas, resources, sessions, tenants

VERSION: Final = 2
"""Version of the dataset layout; increment it to recreate all datasets."""

DIRECTORY: Final = Path(os.environ.get("BENCH_DATA") or Path(__file__).parents[1] / "build" / "bench")
BATCH: Final = 20_000
FIRST_TENANT_NUMBER: Final = 1_000_000
"""The instance quota of the first tenant. Each tenant has a different one, which identifies its responses."""

RESOURCE_KINDS: Final = (
    {"kind": "instance", "vcpus": 2, "ram_mb": 4096, "disk_gb": 40},
    {"kind": "volume", "size_gb": 50},
    {"kind": "image", "size_gb": 10},
    {"kind": "snapshot", "size_gb": 50},
    {"kind": "loadbalance"},
    {"kind": "floating_ip"},
    {"kind": "security_group"},
    {"kind": "keypair"},
)
PAST: Final = 1_770_000_000
FUTURE: Final = 4_000_000_000
FUTURE_INDEXES: Final = range(50, 1000, 110)


class DatasetSpec(Struct, frozen=True):
    """What a dataset adds to the sample: tenants with an account, a session and resources each; resources of demo."""

    tenants: int = 0
    resources_per_tenant: int = 0
    demo_resources: int = 0
    has_domains: bool = False
    """Whether each tenant has a domain, with the tenant number as its id."""

    @property
    def name(self) -> str:
        more = "-domains" if self.has_domains else ""
        return f"v{VERSION}-{self.tenants}-{self.resources_per_tenant}-{self.demo_resources}{more}"


class SqliteDataset(Struct, frozen=True):
    directory: Path
    spec: DatasetSpec

    def demo_cookies(self) -> SessionCookies:
        return self.cookies_of("demo")

    def cookies_of(self, username: str) -> SessionCookies:
        return cookies_for(username, CsrfTokens(self._key()))

    def tenant_cookies(self) -> Iterator[tuple[SessionCookies, int]]:
        """Yield the cookies of every added tenant with the number that identifies its responses."""
        tokens = CsrfTokens(self._key())
        for index in range(self.spec.tenants):
            yield cookies_for(tenant_name(index), tokens), FIRST_TENANT_NUMBER + index

    def cookies_file(self) -> Path:
        file = self.directory / "cookies"
        if not file.exists():
            file.write_text(cookies_text(self.tenant_cookies()))
        return file

    def new_csrf_token(self) -> str:
        return CsrfTokens(self._key()).new()

    def touch_sessions(self, seconds_ago: int = 0) -> None:
        """Set when all sessions were last used. Older sessions have expired, or their next request writes the time."""
        with _writing(self.directory, "activity") as connection:
            connection.execute(update(sessions).values(seen_at=int(time.time()) - seconds_ago))

    def _key(self) -> bytes:
        with opened(self.directory, "activity") as engine:
            return ActivityStore(engine).secret("csrf", fresh=secrets.token_bytes(32))


def cookies_for(name: str, tokens: CsrfTokens) -> SessionCookies:
    return SessionCookies(session_id_for(name), tokens.from_seed(csrf_seed(name)))


def cookies_text(tenant_cookies: Iterable[tuple[SessionCookies, int]]) -> str:
    """Format cookies as wrk.lua reads them."""
    return "".join(f"{cookies.session_id} {cookies.csrf_token} {number}\n" for cookies, number in tenant_cookies)


def sqlite_dataset(spec: DatasetSpec) -> SqliteDataset:
    """Return the dataset, created or migrated if necessary, with all sessions just used."""
    return cached_dataset(spec.name, spec, lambda directory: _create(directory, spec))


def cached_dataset(name: str, spec: DatasetSpec, create: Callable[[Path], None]) -> SqliteDataset:
    """Return the dataset of this name, created or migrated if necessary, with all sessions just used."""
    directory = DIRECTORY / name
    if not directory.exists():
        DIRECTORY.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=DIRECTORY))
        create(unfinished)
        unfinished.rename(directory)
    prepare(directory)
    dataset = SqliteDataset(directory.resolve(), spec)
    dataset.touch_sessions()
    return dataset


@contextmanager
def temporary_copy(original: SqliteDataset) -> Iterator[SqliteDataset]:
    """Yield a writable copy; delete it afterwards."""
    with tempfile.TemporaryDirectory(prefix="bench-data-") as directory:
        yield SqliteDataset(shutil.copytree(original.directory, Path(directory) / "data"), original.spec)


def _create(directory: Path, spec: DatasetSpec) -> None:
    prepare(directory)
    with opened(directory, "cloud") as engine:
        load(engine, SAMPLE_FILE, zone=UTC, now=int(time.time()), actor="bench")
    with _writing(directory, "cloud") as connection:
        demo = connection.execute(select(accounts).where(accounts.c.username == "demo")).one()._mapping
        node_ids = list(connection.scalars(select(nodes.c.id).order_by(nodes.c.id)))
        first = 1 + max(connection.scalars(select(tenants.c.id)))
        ids = range(first, first + spec.tenants)
        _insert(connection, tenants, ({"id": key, "name": tenant_name(key - first)} for key in ids))
        _insert(connection, quotas, (quota_row(key, FIRST_TENANT_NUMBER + key - first) for key in ids))
        account = {"role": "tenant", "password_hash": demo["password_hash"], "disabled": False, "version": 1}
        added = ({"id": key + 1000, "tenant_id": key, "username": tenant_name(key - first), **account} for key in ids)
        _insert(connection, accounts, added)
        _insert(connection, resources, resource_rows(ids, spec.resources_per_tenant, node_ids))
        _insert(connection, resources, resource_rows([demo["tenant_id"]], spec.demo_resources, node_ids))
        if spec.has_domains:
            model = connection.execute(select(domains).order_by(domains.c.id).limit(1)).mappings().one()
            owned = ({**model, "id": str(FIRST_TENANT_NUMBER + key - first), "tenant_id": key} for key in ids)
            _insert(connection, domains, owned)
        counters.recount_all(connection)
    with _writing(directory, "activity") as connection:
        _insert(connection, sessions, [session_row("demo", demo["id"], demo["version"])])
        _insert(connection, sessions, (session_row(tenant_name(key - first), key + 1000, 1) for key in ids))


def _insert(connection: Connection, table: Table, rows: Iterable[dict[str, Any]]) -> None:
    remaining = iter(rows)
    while batch := list(islice(remaining, BATCH)):
        connection.execute(insert(table), batch)


def quota_row(tenant_id: int, number: int) -> dict[str, int]:
    return {"tenant_id": tenant_id, **QUOTA_DEFAULTS, "instances": number}


def resource_rows(tenant_ids: Iterable[int], count: int, node_ids: list[int]) -> Iterator[dict[str, Any]]:
    """Yield resources of every kind on every node; every eleventh has ended, at most nine start in the future."""
    sizes = {"vcpus": 0, "ram_mb": 0, "disk_gb": 0, "size_gb": 0}
    for tenant_id in tenant_ids:
        for index in range(count):
            kind = RESOURCE_KINDS[index % len(RESOURCE_KINDS)]
            node = None if kind["kind"] in ("security_group", "keypair") else node_ids[index // 8 % len(node_ids)]
            ended = PAST + 1 if index % 11 == 10 else None
            # Few in any case, because the console counts future resources one by one.
            start = FUTURE if index in FUTURE_INDEXES and not ended else PAST
            yield (
                sizes
                | kind
                | {
                    "id": f"r-{tenant_id}-{index}",
                    "tenant_id": tenant_id,
                    "name": f"resource {index}",
                    "node_id": node,
                    "started_at": start,
                    "ended_at": ended,
                }
            )


def session_row(name: str, account_id: int, account_version: int) -> dict[str, Any]:
    return {
        "id_hash": hash_session_id(session_id_for(name)),
        "account_id": account_id,
        "account_version": account_version,
        "csrf_seed": csrf_seed(name),
        "seen_at": int(time.time()),
        "expires_at": FUTURE,
    }


def tenant_name(index: int) -> str:
    return f"bench-{index:07}"


def session_id_for(name: str) -> str:
    return "s" + hashlib.sha256(f"session of {name}".encode()).hexdigest()[:48]


def csrf_seed(name: str) -> str:
    return hashlib.sha256(f"seed of {name}".encode()).hexdigest()[:SEED_LENGTH]


@contextmanager
def _writing(directory: Path, part: DatabaseName) -> Iterator[Connection]:
    with opened(directory, part) as engine, engine.begin() as connection:
        yield connection
