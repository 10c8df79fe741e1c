"""Growth to a million tenants and ten million resources: each request at both sizes, the importer, and disk usage."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final

from bench import servers
from bench.datasets import tenant_name
from bench.measurements import MIN_GROWTH_RATIO, InvalidRun, Measurement, PartResult, Ratio, Table, ratio
from bench.rounds import RunLength, Variant, measure
from bench.scale.postgres_dataset import (
    LARGE,
    SMALL,
    PostgresDataset,
    postgres_dataset,
    run_postgres,
    temporary_copy,
    temporary_directory,
)
from bench.scale.workloads import HIT, MISS, REQUESTS, cache_hits, cache_misses
from bench.servers import SERVER_CORE, clean_environment, taskset
from bench.tables import ByName, limit_rows

IMPORTED_LINES: Final = {SMALL: LARGE.tenants // 10, LARGE: LARGE.tenants // 2}
SIZES: Final = {f"{spec.tenants:,} tenants": spec for spec in (SMALL, LARGE)}

_DISK_USAGE: Final = """
    SELECT relname, reltuples::bigint, pg_table_size(oid), pg_indexes_size(oid) FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND reltuples > 1000
    ORDER BY pg_total_relation_size(oid) DESC
"""


def run(length: RunLength) -> PartResult:
    with ExitStack() as stack:
        server = stack.enter_context(run_postgres())
        datasets = {size: postgres_dataset(server, spec) for size, spec in SIZES.items()}
        imports = [_import(size, original) for size, original in datasets.items()]
        directory = stack.enter_context(temporary_directory())
        consoles = {
            size: stack.enter_context(servers.run_console(directory, "--database", dataset.dsn))
            for size, dataset in datasets.items()
        }
        by_size = [
            [*cache_hits(size, consoles[size], dataset), *cache_misses(size, consoles[size], dataset)]
            for size, dataset in datasets.items()
        ]
        # Compared variants are measured one after the other.
        variants: list[Variant] = [variant for same in zip(*by_size, strict=True) for variant in same]
        measured = measure(variants, length)
        small, large = SIZES
        memory = consoles[large].memory_limit(f"with {large}")
        disk_usage = _disk_usage(datasets[large])
    return PartResult(
        "growth",
        [*growth_ratios(measured, small, large), ratio(f"import: {large} / {small}", imports[1], imports[0])],
        [*imports, *measured.values()],
        [memory],
        tables=[disk_usage],
    )


def growth_ratios(measured: dict[str, Measurement], small: str, large: str) -> list[Ratio]:
    return [
        ratio(
            f"{name}, {cache}: {large} / {small}",
            measured[f"{name}, {large}, {cache}"],
            measured[f"{name}, {small}, {cache}"],
            MIN_GROWTH_RATIO,
        )
        for cache in (HIT, MISS)
        for name in REQUESTS
    ]


def tables(part: PartResult) -> list[Table]:
    found = ByName(part)
    sizes = part.ratios[-1].name.removeprefix("import: ")
    large, small = sizes.split(" / ")
    rows = [
        [
            name,
            *(found.ratio(f"{name}, {cache}: {sizes}") for cache in (HIT, MISS)),
            *(found.median(f"{name}, {large}, {cache}") for cache in (HIT, MISS)),
        ]
        for name in REQUESTS
    ]
    head = ["request", f"{HIT}, ratio", f"{MISS}, ratio", f"{HIT}, requests/s", f"{MISS}, requests/s"]
    rates = [[f"import, {size}", f"{found.median(f'import, {size}')} resources/s", ""] for size in (small, large)]
    return [Table(head, rows), Table(["other", "value", "target"], rates + limit_rows(part)), *part.tables]


def _import(size: str, original: PostgresDataset) -> Measurement:
    """Measure `cloudconsole admin import` into a copy, in lines per second of the complete command."""
    count = IMPORTED_LINES[original.spec]
    with temporary_copy(original) as copy, temporary_directory() as directory:
        file = directory / "resources.jsonl"
        with file.open("w") as lines:
            lines.writelines(import_lines(original.spec.tenants, count))
        sys.stderr.write(f"  importing {count:,} resources, {size}\n")
        began = time.monotonic()
        done = subprocess.run(
            [
                *(*taskset(SERVER_CORE), sys.executable, "-m", "cloudconsole", "admin", "import", str(file)),
                *("--force", "--json", "--data", str(directory), "--database", copy.dsn),
            ],
            env=clean_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        took = time.monotonic() - began
    if done.returncode or json.loads(done.stdout)["added"] != count:
        raise InvalidRun(f"the import failed, {size}: {(done.stdout + done.stderr)[-500:]}")
    return Measurement(f"import, {size}", "resources/s", [count / took])


def import_lines(tenants: int, count: int) -> Iterator[str]:
    """Yield volumes, cycling through the tenants."""
    volume = {"kind": "volume", "name": "imported", "node": "hk-1", "size": 10, "started": "2026-02-03T04:05:06Z"}
    for number in range(count):
        line = {"tenant": tenant_name(number % tenants), "id": f"imported-{number}", **volume}
        yield json.dumps(line, separators=(",", ":")) + "\n"


def _disk_usage(dataset: PostgresDataset) -> Table:
    rows = dataset.server.execute(_DISK_USAGE, dataset.name)
    total = dataset.server.execute(f"SELECT pg_database_size('{dataset.name}')")[0][0]
    lines = [[name, f"{count:,}", _megabytes(table), _megabytes(indexes)] for name, count, table, indexes in rows]
    return Table(["table", "rows", "data, MB", "indexes, MB"], [*lines, ["database", "", _megabytes(total), ""]])


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f}"
