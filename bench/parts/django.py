"""The console against an equivalent Django project under the fastest of three server setups."""

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
from bench.datasets import DatasetSpec, SqliteDataset, sqlite_dataset
from bench.measurements import InvalidRun, Measurement, PartResult, Table, ratio, spread
from bench.raw_http import SessionCookies, action_request, expected_body, get_api_request, login
from bench.rounds import RunLength, Variant, measure
from bench.servers import FASTEST_UVICORN_FLAGS, Server, free_port, run_server
from bench.tables import ByName, ratio_table
from bench.wrk import Workload
from cloudconsole.core.resources import QUOTA_DEFAULTS, QUOTA_USES
from cloudconsole.operator.sample import SAMPLE_PASSWORDS
from cloudconsole.store.base import read_only_engine
from cloudconsole.store.sqlite.engine import opened
from cloudconsole.store.tables import accounts, quotas, tenants, usage

MIN_RATIO: Final = 8
GUNICORN: Final = ("-m", "gunicorn", "bench.django_console.wsgi:app", "--workers", "1", "--log-level", "warning")
SERVERS: Final = {
    "Django on gunicorn, sync": (*GUNICORN, "--worker-class", "sync", "--bind", "127.0.0.1:{port}"),
    "Django on gunicorn, threads": (
        *(*GUNICORN, "--worker-class", "gthread", "--threads", "2", "--keep-alive", "75"),
        *("--bind", "127.0.0.1:{port}"),
    ),
    "Django on uvicorn": (
        *("-m", "uvicorn", "bench.django_console.asgi:app", "--port", "{port}", *FASTEST_UVICORN_FLAGS),
    ),
}
CACHED: Final = "Django, response cached for 1 s"


def run(length: RunLength) -> PartResult:
    dataset = sqlite_dataset(DatasetSpec())
    with ExitStack() as stack:
        environment = stack.enter_context(database(dataset))
        console = stack.enter_context(servers.run_console(dataset.directory))
        ours = _workloads(console, dataset.demo_cookies())
        workloads = {console: ours}
        for server in django_servers(stack, environment):
            workloads[server] = _workloads(server, login(server.port, "demo", SAMPLE_PASSWORDS["demo"]))
            check_same(ours["GetUsageLimits"].body, workloads[server]["GetUsageLimits"].body)
        # All servers with one request, then with the next: compared variants are measured within seconds.
        variants = [
            Variant(f"{server.name}, {name}", server, workloads[server][name]) for name in ours for server in workloads
        ]
        measured = measure(variants, length)
    usage_limits, get_api = measured["console, GetUsageLimits"], measured["console, GET /api/"]
    cached = measured[f"{CACHED}, GetUsageLimits"]
    return PartResult(
        "django",
        [
            ratio("GetUsageLimits: console / Django", usage_limits, _fastest(measured, "GetUsageLimits"), MIN_RATIO),
            ratio("GET /api/: console / Django", get_api, _fastest(measured, "GET /api/"), MIN_RATIO),
            ratio(f"GetUsageLimits: console / {CACHED}", usage_limits, cached),
        ],
        list(measured.values()),
    )


def tables(part: PartResult) -> list[Table]:
    found = ByName(part)
    requests = ("GetUsageLimits", "GET /api/")
    rows = [
        [server, *(found.median(f"{server}, {request}") for request in requests)]
        for server in ("console", *SERVERS, CACHED)
    ]
    return [ratio_table(part), Table(["server", *(f"{request}, requests/s" for request in requests)], rows)]


def _workloads(server: Server, cookies: SessionCookies) -> dict[str, Workload]:
    requests = {"GetUsageLimits": action_request(cookies, "GetUsageLimits"), "GET /api/": get_api_request(cookies)}
    return {name: Workload(request, expected_body(server.port, request)) for name, request in requests.items()}


def check_same(mine: bytes, theirs: bytes) -> None:
    if json.loads(mine) != json.loads(theirs):
        raise InvalidRun(f"Django responds with {theirs[:300]!r} instead of {mine[:300]!r}")


def _fastest(measured: dict[str, Measurement], name: str) -> Measurement:
    return max((measured[f"{server}, {name}"] for server in SERVERS), key=lambda each: spread(each.rounds).median)


def django_servers(stack: ExitStack, environment: dict[str, str]) -> Iterator[Server]:
    settings = dict.fromkeys(SERVERS, environment)
    commands = dict(SERVERS)
    settings[CACHED] = environment | {"BENCH_DJANGO_CACHE_SECONDS": "1"}
    commands[CACHED] = SERVERS["Django on gunicorn, threads"]
    for name, command in commands.items():
        port = free_port()
        arguments = [part.format(port=port) for part in command]
        yield stack.enter_context(run_server(name, arguments, port, environment=settings[name]))


@contextmanager
def database(dataset: SqliteDataset) -> Iterator[dict[str, str]]:
    """Create a Django database with the tenants of the dataset; yield the environment variables that select it."""
    with tempfile.TemporaryDirectory(prefix="bench-django-") as directory:
        environment = {
            "BENCH_DJANGO_DATABASE": str(Path(directory) / "django.db"),
            "BENCH_DJANGO_KEY": secrets.token_hex(32),
            "DJANGO_SETTINGS_MODULE": "bench.django_console.settings",
        }
        done = subprocess.run(
            [sys.executable, "-m", "bench.django_console.fill"],
            input=json.dumps(_tenants(dataset)),
            env=servers.clean_environment() | environment,
            cwd=servers.ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            raise InvalidRun(f"creating the Django database failed: {done.stdout.strip()}")
        yield environment


def _tenants(dataset: SqliteDataset) -> list[dict[str, Any]]:
    """Read the tenants of the sample from the console's store."""
    with opened(dataset.directory, "cloud") as engine, read_only_engine(engine).connect() as connection:
        names = {row.id: row.name for row in connection.execute(select(tenants))}
        limits = {row.tenant_id: row._mapping for row in connection.execute(select(quotas))}
        uses = {row.tenant_id: row._mapping for row in connection.execute(select(usage))}
        usernames = {row.username: row.tenant_id for row in connection.execute(select(accounts))}
    return [
        {
            "name": name,
            "quotas": {quota: limits[tenant_id][quota] for quota in QUOTA_DEFAULTS},
            "usage": {quota: uses[tenant_id][quota] for quota in QUOTA_USES} if tenant_id in uses else {},
            "accounts": {name: SAMPLE_PASSWORDS[name] for name, owner in usernames.items() if owner == tenant_id},
        }
        for tenant_id, name in names.items()
    ]
