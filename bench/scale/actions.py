"""Each action on SQLite and PostgreSQL, with cache hits and misses, against the bare server, nginx and products."""

from contextlib import ExitStack
from typing import Final

from bench import servers
from bench.datasets import DatasetSpec, sqlite_dataset
from bench.measurements import Measurement, PartResult, Ratio, Table, cpu_ratio, ratio
from bench.parts import django
from bench.raw_http import action_request, expected_body, login
from bench.rounds import RunLength, Variant, measure
from bench.scale import peers
from bench.scale.nginx import nginx
from bench.scale.postgres_dataset import SMALL, postgres_dataset, run_postgres, temporary_directory
from bench.scale.workloads import HIT, MISS, REQUESTS, Dataset, cache_hits, cache_misses
from bench.servers import Server
from bench.tables import ByName, fixed, limit_table
from bench.wrk import Workload
from cloudconsole.operator.sample import SAMPLE_PASSWORDS
from cluster.postgres import PostgresServer

MIN_RATIO_TO_BARE: Final = 1.1
MIN_RATIO_TO_PEERS: Final = 8
SQLITE: Final = "SQLite"
POSTGRES: Final = "PostgreSQL"
COMPARED: Final = "GetUsageLimits"
DJANGO: Final = "Django on gunicorn, sync"
"""The fastest of its servers according to `make bench`."""
BARE: Final = "bare server"
NGINX: Final = "nginx"


def run(length: RunLength) -> PartResult:
    peers.install()
    with ExitStack() as stack:
        on_sqlite, on_postgres = sqlite_dataset(SMALL), postgres_dataset(stack.enter_context(run_postgres()), SMALL)
        sqlite_console = stack.enter_context(servers.run_console(on_sqlite.directory))
        directory = stack.enter_context(temporary_directory())
        postgres_console = stack.enter_context(servers.run_console(directory, "--database", on_postgres.dsn))
        consoles: dict[str, tuple[Server, Dataset]] = {
            SQLITE: (sqlite_console, on_sqlite),
            POSTGRES: (postgres_console, on_postgres),
        }
        sqlite_hits, postgres_hits = (cache_hits(name, *console) for name, console in consoles.items())
        sqlite_misses, postgres_misses = (cache_misses(name, *console) for name, console in consoles.items())
        workloads = {name: variant.workload for name, variant in zip(REQUESTS, sqlite_hits, strict=True)}
        bare, by_nginx = _constant_responses(stack, workloads)
        others = [_django(stack), *_peers(stack)]
        # Compared variants are measured within seconds: all of one request, and the other products next to the first.
        sliced = zip(sqlite_hits, bare, postgres_hits, by_nginx, strict=True)
        groups = (sqlite_misses, sliced, postgres_misses)
        variants = [each for same in zip(*groups, strict=True) for each in same]
        first = len(groups)
        versions = f"PostgreSQL {_version(on_postgres.server)}, {peers.versions(peers.REQUIREMENTS.read_text())}."
        measured = measure([*variants[:first], *others, *variants[first:]], length)
        limits = [server.memory_limit(f"on {name}") for name, (server, _) in consoles.items()]
    ratios = compare(measured, list(REQUESTS), [other.name for other in others])
    return PartResult("actions", ratios, list(measured.values()), limits, [versions])


def compare(measured: dict[str, Measurement], requests: list[str], others: list[str]) -> list[Ratio]:
    """Compare each request with the bare server, nginx and the products; one request also by CPU time."""

    def to_bare(name: str, store: str, cache: str, at_least: float | None) -> Ratio:
        variant = f"{name}, {store}, {cache}"
        return ratio(f"{variant} / {BARE}", measured[variant], measured[f"{BARE}: {name}"], at_least)

    ours = {name: measured[f"{name}, {POSTGRES}, {HIT}"] for name in requests}
    compared = ours[COMPARED]
    return [
        *(to_bare(name, POSTGRES, HIT, MIN_RATIO_TO_BARE) for name in requests),
        *(to_bare(name, POSTGRES, MISS, None) for name in requests),
        *(to_bare(name, SQLITE, cache, None) for cache in (HIT, MISS) for name in requests),
        *(ratio(f"{each.name} / {NGINX}", each, measured[f"{NGINX}: {name}"]) for name, each in ours.items()),
        cpu_ratio(f"{compared.name} / {NGINX}", compared, measured[f"{NGINX}: {COMPARED}"]),
        *(
            ratio(f"{each.name} / {other}", each, measured[other], MIN_RATIO_TO_PEERS)
            for other in others
            for each in ours.values()
        ),
        *(cpu_ratio(f"{compared.name} / {other}", compared, measured[other]) for other in others),
    ]


def tables(part: PartResult) -> list[Table]:
    found = ByName(part)
    variants = [f"{store}, {cache}" for store in (POSTGRES, SQLITE) for cache in (HIT, MISS)]
    rated = variants[:2]
    rows = [
        [
            request,
            *(found.ratio(f"{request}, {variant} / {BARE}") for variant in variants),
            *(found.median(f"{request}, {variant}") for variant in rated),
        ]
        for request in REQUESTS
    ]
    head = ["ratio to the bare server", *variants, *(f"{variant}, requests/s" for variant in rated)]
    return [Table(head, rows), _peers_table(part), limit_table(part)]


def _peers_table(part: PartResult) -> Table:
    found = ByName(part)
    ours = f"{COMPARED}, {POSTGRES}, {HIT}"
    rows = []
    for ratio_name in found.ratios:
        if not (ratio_name.startswith(f"{ours} / ") and ratio_name.endswith(", by CPU time")):
            continue
        other = ratio_name.removeprefix(f"{ours} / ").removesuffix(", by CPU time")
        lowest = min(found.ratios[f"{name}, {POSTGRES}, {HIT} / {other}"].spread.median for name in REQUESTS)
        rate = found.median(f"{NGINX}: {COMPARED}" if other == NGINX else other)
        rows.append([other, rate, found.ratio(f"{ours} / {other}"), found.ratio(ratio_name), fixed(lowest)])
    head = ["console relative to", "its requests/s", COMPARED, f"{COMPARED}, by CPU time", "lowest of all requests"]
    return Table(head, rows)


def _version(server: PostgresServer) -> str:
    return str(server.execute("SHOW server_version")[0][0]).partition(" ")[0]


def _constant_responses(stack: ExitStack, workloads: dict[str, Workload]) -> tuple[list[Variant], list[Variant]]:
    """Serve the same response bodies from the bare server and from nginx."""
    by_nginx = stack.enter_context(nginx({name: workload.body for name, workload in workloads.items()}))
    bare = {name: stack.enter_context(servers.run_bare_server(each.body)) for name, each in workloads.items()}
    return (
        [Variant(f"{BARE}: {name}", bare[name], workload) for name, workload in workloads.items()],
        [Variant(f"{NGINX}: {name}", by_nginx[name], workload) for name, workload in workloads.items()],
    )


def _django(stack: ExitStack) -> Variant:
    environment = stack.enter_context(django.database(sqlite_dataset(DatasetSpec())))
    server = next(each for each in django.django_servers(stack, environment) if each.name == DJANGO)
    request = action_request(login(server.port, "demo", SAMPLE_PASSWORDS["demo"]), COMPARED)
    return Variant(f"Django, {COMPARED}", server, Workload(request, expected_body(server.port, request)))


def _peers(stack: ExitStack) -> list[Variant]:
    found = [stack.enter_context(peer()) for peer in (peers.skyline, peers.moto, peers.horizon)]
    return [Variant(peer.name, peer.server, peer.workload) for peer in found]
