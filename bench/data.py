"""The stores to measure on: the sample cloud and on top of it as many tenants, sessions and resources as asked for.

They are made once, in a folder that is kept. What a run writes to is a copy.
"""

import hashlib
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC
from itertools import islice
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection, Table, insert, select, update

from bench.client import Caller
from cloudconsole.core.resources import QUOTA_DEFAULTS
from cloudconsole.operator.cloud_file import load
from cloudconsole.operator.sample import SAMPLE_FILE
from cloudconsole.server.http.csrf import SEED_LENGTH, CsrfTokens
from cloudconsole.store import counters
from cloudconsole.store.activity import Activity
from cloudconsole.store.base import Part
from cloudconsole.store.sessions import hash_session_id
from cloudconsole.store.sqlite.engine import opened
from cloudconsole.store.sqlite.store import prepare
from cloudconsole.store.tables import accounts, domains, nodes, quotas, resources, sessions, tenants

VERSION: Final = 2
"""Of what is made here; another one makes all stores anew."""

FOLDER: Final = Path(os.environ.get("BENCH_DATA") or Path(__file__).parents[1] / "build" / "bench")
BATCH: Final = 20_000
FIRST_NUMBER: Final = 1_000_000
"""The first added tenant's quota of instances; each has its own, so that no answer can stand for another's."""

KINDS_ADDED: Final = (
    {"kind": "instance", "vcpus": 2, "ram_mb": 4096, "disk_gb": 40},
    {"kind": "volume", "size_gb": 50},
    {"kind": "image", "size_gb": 10},
    {"kind": "snapshot", "size_gb": 50},
    {"kind": "loadbalance"},
    {"kind": "floating_ip"},
    {"kind": "security_group"},
    {"kind": "keypair"},
)
LONG_AGO: Final = 1_770_000_000
FAR_AHEAD: Final = 4_000_000_000
STILL_TO_BEGIN: Final = range(50, 1000, 110)


class Plan(Struct, frozen=True):
    """What a store holds besides the sample: tenants, each with an account, a session and resources; and demo's own."""

    tenants: int = 0
    resources_each: int = 0
    resources_of_demo: int = 0
    has_domains: bool = False
    """Whether each tenant has a domain, too, with its number for an id."""

    @property
    def name(self) -> str:
        more = "-domains" if self.has_domains else ""
        return f"v{VERSION}-{self.tenants}-{self.resources_each}-{self.resources_of_demo}{more}"


class Store(Struct, frozen=True):
    folder: Path
    plan: Plan

    def demo(self) -> Caller:
        return caller_of("demo", CsrfTokens(self._key()))

    def callers(self) -> Iterator[tuple[Caller, int]]:
        """All added tenants' callers, each with the number that only its answer holds."""
        tokens = CsrfTokens(self._key())
        for index in range(self.plan.tenants):
            yield caller_of(name_of(index), tokens), FIRST_NUMBER + index

    def callers_file(self) -> Path:
        file = self.folder / "callers"
        if not file.exists():
            file.write_text(lines_of(self.callers()))
        return file

    def fresh_token(self) -> str:
        return CsrfTokens(self._key()).new()

    def refresh_sessions(self, seconds_ago: int = 0) -> None:
        """As if every session had been in use just now, or then: old ones have ended, or their use must be noted."""
        with _writing(self.folder, "activity") as connection:
            connection.execute(update(sessions).values(seen_at=int(time.time()) - seconds_ago))

    def _key(self) -> bytes:
        with opened(self.folder, "activity") as engine:
            return Activity(engine).secret("csrf", fresh=secrets.token_bytes(32))


def caller_of(name: str, tokens: CsrfTokens) -> Caller:
    return Caller(session_id_of(name), tokens.from_seed(seed_of(name)))


def lines_of(callers: Iterable[tuple[Caller, int]]) -> str:
    """As the load reads them."""
    return "".join(f"{caller.session} {caller.token} {number}\n" for caller, number in callers)


def store(plan: Plan) -> Store:
    """The store of this plan, made if it is not there; its tables as they are today, its sessions fresh."""
    folder = FOLDER / plan.name
    if not folder.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=FOLDER))
        _make(unfinished, plan)
        unfinished.rename(folder)
    prepare(folder)
    found = Store(folder.resolve(), plan)
    found.refresh_sessions()
    return found


@contextmanager
def copy_of(original: Store) -> Iterator[Store]:
    """A store to write to, thrown away afterwards."""
    with tempfile.TemporaryDirectory(prefix="bench-store-") as folder:
        yield Store(shutil.copytree(original.folder, Path(folder) / "data"), original.plan)


def _make(folder: Path, plan: Plan) -> None:
    prepare(folder)
    with opened(folder, "cloud") as engine:
        load(engine, SAMPLE_FILE, zone=UTC, now=int(time.time()), actor="bench")
    with _writing(folder, "cloud") as connection:
        demo = connection.execute(select(accounts).where(accounts.c.username == "demo")).one()._mapping
        node_ids = list(connection.scalars(select(nodes.c.id).order_by(nodes.c.id)))
        first = 1 + max(connection.scalars(select(tenants.c.id)))
        ids = range(first, first + plan.tenants)
        _fill(connection, tenants, ({"id": key, "name": name_of(key - first)} for key in ids))
        _fill(connection, quotas, (quotas_of(key, FIRST_NUMBER + key - first) for key in ids))
        account = {"role": "tenant", "password_hash": demo["password_hash"], "disabled": False, "version": 1}
        added = ({"id": key + 1000, "tenant_id": key, "username": name_of(key - first), **account} for key in ids)
        _fill(connection, accounts, added)
        _fill(connection, resources, resources_of(ids, plan.resources_each, node_ids))
        _fill(connection, resources, resources_of([demo["tenant_id"]], plan.resources_of_demo, node_ids))
        if plan.has_domains:
            model = connection.execute(select(domains).order_by(domains.c.id).limit(1)).mappings().one()
            owned = ({**model, "id": str(FIRST_NUMBER + key - first), "tenant_id": key} for key in ids)
            _fill(connection, domains, owned)
        counters.recount_all(connection)
    with _writing(folder, "activity") as connection:
        _fill(connection, sessions, [session_of("demo", demo["id"], demo["version"])])
        _fill(connection, sessions, (session_of(name_of(key - first), key + 1000, 1) for key in ids))


def _fill(connection: Connection, table: Table, rows: Iterable[dict[str, Any]]) -> None:
    remaining = iter(rows)
    while batch := list(islice(remaining, BATCH)):
        connection.execute(insert(table), batch)


def quotas_of(tenant_id: int, number: int) -> dict[str, int]:
    return {"tenant_id": tenant_id, **QUOTA_DEFAULTS, "instances": number}


def resources_of(tenant_ids: Iterable[int], count: int, node_ids: list[int]) -> Iterator[dict[str, Any]]:
    """Of every kind, on every node; one of eleven ended long ago, ten at the most are still to begin."""
    sizes = {"vcpus": 0, "ram_mb": 0, "disk_gb": 0, "size_gb": 0}
    for tenant_id in tenant_ids:
        for index in range(count):
            kind = KINDS_ADDED[index % len(KINDS_ADDED)]
            place = None if kind["kind"] in ("security_group", "keypair") else node_ids[index // 8 % len(node_ids)]
            ended = LONG_AGO + 1 if index % 11 == 10 else None
            # Few, however many resources there are: what is still to begin is counted singly.
            started = FAR_AHEAD if index in STILL_TO_BEGIN and not ended else LONG_AGO
            yield (
                sizes
                | kind
                | {
                    "id": f"r-{tenant_id}-{index}",
                    "tenant_id": tenant_id,
                    "name": f"resource {index}",
                    "node_id": place,
                    "started_at": started,
                    "ended_at": ended,
                }
            )


def session_of(name: str, account_id: int, account_version: int) -> dict[str, Any]:
    return {
        "id_hash": hash_session_id(session_id_of(name)),
        "account_id": account_id,
        "account_version": account_version,
        "csrf_seed": seed_of(name),
        "seen_at": int(time.time()),
        "expires_at": FAR_AHEAD,
    }


def name_of(index: int) -> str:
    return f"bench-{index:07}"


def session_id_of(name: str) -> str:
    return "s" + hashlib.sha256(f"session of {name}".encode()).hexdigest()[:48]


def seed_of(name: str) -> str:
    return hashlib.sha256(f"seed of {name}".encode()).hexdigest()[:SEED_LENGTH]


@contextmanager
def _writing(folder: Path, part: Part) -> Iterator[Connection]:
    with opened(folder, part) as engine, engine.begin() as connection:
        yield connection
