"""The same calls written the ordinary way in Django, under the fastest of its servers."""

import json
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import select

from bench import servers
from bench.client import Caller, action_request, log_in, opening_request, right_body
from bench.data import Plan, Store, store
from bench.figures import Measured, PartResult, Refused, ratio, spread
from bench.load import Load
from bench.rounds import Pace, Variant, measure
from bench.servers import UVICORN_AT_ITS_FASTEST, Server, free_port, started
from cloudconsole.core.resources import QUOTA_DEFAULTS, QUOTA_USES
from cloudconsole.operator.sample import SAMPLE_PASSWORDS
from cloudconsole.store.base import reading
from cloudconsole.store.sqlite.engine import opened
from cloudconsole.store.tables import accounts, quotas, tenants, usage

GOAL: Final = 8
GUNICORN: Final = ("-m", "gunicorn", "bench.django_console.wsgi:app", "--workers", "1", "--log-level", "warning")
SERVERS: Final = {
    "Django on gunicorn, sync": (*GUNICORN, "--worker-class", "sync", "--bind", "127.0.0.1:{port}"),
    "Django on gunicorn, threads": (
        *(*GUNICORN, "--worker-class", "gthread", "--threads", "2", "--keep-alive", "75"),
        *("--bind", "127.0.0.1:{port}"),
    ),
    "Django on uvicorn": (
        *("-m", "uvicorn", "bench.django_console.asgi:app", "--port", "{port}", *UVICORN_AT_ITS_FASTEST),
    ),
}
CACHED: Final = "Django, its answer cached for a second"


def run(pace: Pace) -> PartResult:
    plan = store(Plan())
    with ExitStack() as stack:
        environment = stack.enter_context(database(plan))
        console = stack.enter_context(servers.console(plan.folder))
        mine = _loads(console, plan.demo())
        loads = {console: mine}
        for server in django_servers(stack, environment):
            loads[server] = _loads(server, log_in(server.port, "demo", SAMPLE_PASSWORDS["demo"]))
            check_same(mine["GetUsageLimits"].body, loads[server]["GetUsageLimits"].body)
        # All of one request side by side: what is compared is measured within seconds.
        variants = [Variant(f"{server.name}, {name}", server, loads[server][name]) for name in mine for server in loads]
        measured = measure(variants, pace)
    fastest, opening = (_fastest(measured, name) for name in mine)
    ours, cached = measured["console, GetUsageLimits"], measured[f"{CACHED}, GetUsageLimits"]
    return PartResult(
        "django",
        [
            ratio("GetUsageLimits: console / Django", ours, fastest, GOAL),
            ratio("GET /api/ of a known visitor: console / Django", measured["console, GET /api/"], opening, GOAL),
            ratio(
                "GetUsageLimits: console / Django with its answer cached", measured["console, GetUsageLimits"], cached
            ),
        ],
        list(measured.values()),
        notes=[
            f"Compared with the fastest of its servers: {fastest.name}.",
            "Cached means that an answer may be stale for a second; the console's never is.",
        ],
    )


def _loads(server: Server, caller: Caller) -> dict[str, Load]:
    requests = {"GetUsageLimits": action_request(caller, "GetUsageLimits"), "GET /api/": opening_request(caller)}
    return {name: Load(request, right_body(server.port, request)) for name, request in requests.items()}


def check_same(mine: bytes, theirs: bytes) -> None:
    if json.loads(mine) != json.loads(theirs):
        raise Refused(f"Django answers something else: {theirs[:300]!r} instead of {mine[:300]!r}")


def _fastest(measured: dict[str, Measured], name: str) -> Measured:
    return max((measured[f"{server}, {name}"] for server in SERVERS), key=lambda each: spread(each.rounds).middle)


def django_servers(stack: ExitStack, environment: dict[str, str]) -> Iterator[Server]:
    settings = dict.fromkeys(SERVERS, environment)
    commands = dict(SERVERS)
    settings[CACHED] = environment | {"BENCH_DJANGO_CACHE_SECONDS": "1"}
    commands[CACHED] = SERVERS["Django on gunicorn, threads"]
    for name, command in commands.items():
        port = free_port()
        filled = [part.format(port=port) for part in command]
        yield stack.enter_context(started(name, filled, port, environment=settings[name]))


@contextmanager
def database(plan: Store) -> Iterator[dict[str, str]]:
    """Django's own database with the console's tenants in it; gives the environment that names it."""
    with tempfile.TemporaryDirectory(prefix="bench-django-") as folder:
        environment = {
            "BENCH_DJANGO_DATABASE": str(Path(folder) / "django.db"),
            "BENCH_DJANGO_KEY": secrets.token_hex(32),
            "DJANGO_SETTINGS_MODULE": "bench.django_console.settings",
        }
        filled = subprocess.run(
            [sys.executable, "-m", "bench.django_console.fill"],
            input=json.dumps(_tenants(plan)),
            env=servers.clean_environment() | environment,
            cwd=servers.ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if filled.returncode:
            raise Refused(f"Django's database could not be made: {filled.stdout.strip()}")
        yield environment


def _tenants(plan: Store) -> list[dict[str, Any]]:
    """The sample's tenants as they stand in the console's store."""
    with opened(plan.folder, "cloud") as engine, reading(engine).connect() as connection:
        names = {row.id: row.name for row in connection.execute(select(tenants))}
        limits = {row.tenant_id: row._mapping for row in connection.execute(select(quotas))}
        uses = {row.tenant_id: row._mapping for row in connection.execute(select(usage))}
        people = {row.username: row.tenant_id for row in connection.execute(select(accounts))}
    return [
        {
            "name": name,
            "quotas": {quota: limits[tenant_id][quota] for quota in QUOTA_DEFAULTS},
            "usage": {quota: uses[tenant_id][quota] for quota in QUOTA_USES} if tenant_id in uses else {},
            "accounts": {who: SAMPLE_PASSWORDS[who] for who, where in people.items() if where == tenant_id},
        }
        for tenant_id, name in names.items()
    ]
