"""Growth to a million tenants and ten million resources: each call at both sizes, the importer, and what is on disk."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final

from bench import servers
from bench.data import name_of
from bench.figures import FLAT, Measured, PartResult, Ratio, Refused, Table, ratio
from bench.rounds import Pace, Variant, measure
from bench.scale.calls import CALLS, cold, warm
from bench.scale.database import LARGE, SMALL, Database, copy_of, database, empty_folder, postgres
from bench.servers import SERVER_CORE, clean_environment, on_core

IMPORTED: Final = {SMALL: LARGE.tenants // 10, LARGE: LARGE.tenants // 2}
"""Lines into each; the smaller needs no more to have a rate."""

SIZES: Final = {f"{plan.tenants:,} tenants": plan for plan in (SMALL, LARGE)}

_SIZES_ON_DISK: Final = """
    SELECT relname, reltuples::bigint, pg_table_size(oid), pg_indexes_size(oid) FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND reltuples > 1000
    ORDER BY pg_total_relation_size(oid) DESC
"""


def run(pace: Pace) -> PartResult:
    with ExitStack() as stack:
        server = stack.enter_context(postgres())
        databases = {name: database(server, plan) for name, plan in SIZES.items()}
        imports = [_import(name, original) for name, original in databases.items()]
        folder = stack.enter_context(empty_folder())
        consoles = {
            name: stack.enter_context(servers.console(folder, "--database", tables.address))
            for name, tables in databases.items()
        }
        by_size = [
            [*warm(name, consoles[name], tables), *cold(name, consoles[name], tables)]
            for name, tables in databases.items()
        ]
        # What is compared is measured one after the other.
        variants: list[Variant] = [variant for same in zip(*by_size, strict=True) for variant in same]
        measured = measure(variants, pace)
        small, large = SIZES
        ceiling = consoles[large].memory_ceiling(f"with {large}, after all calls")
        on_disk = _on_disk(databases[large])
    return PartResult(
        "growth",
        [*flatness(measured, small, large), ratio(f"import: {large} / {small}", imports[1], imports[0])],
        [*imports, *measured.values()],
        [ceiling],
        [
            f"Each tenant has an account, a session, a domain and {LARGE.resources_each} resources; the larger "
            f"database has {LARGE.tenants * LARGE.resources_each:,} of these. As many tenants call in turn at both "
            f"sizes ({SMALL.tenants:,}), evenly spread over all. The importer is `cloudconsole admin import` with "
            f"{IMPORTED[LARGE]:,} lines into a copy of the larger database, and {IMPORTED[SMALL]:,} into one of the "
            "smaller; it has a core to itself, and PostgreSQL another.",
        ],
        tables=[on_disk],
    )


def flatness(measured: dict[str, Measured], small: str, large: str) -> list[Ratio]:
    """What each call keeps of its rate."""
    return [
        ratio(
            f"{call}, {how}: {large} / {small}",
            measured[f"{call}, {large}, {how}"],
            measured[f"{call}, {small}, {how}"],
            FLAT,
        )
        for how in ("warm", "cold")
        for call in CALLS
    ]


def _import(name: str, original: Database) -> Measured:
    """Lines a second, from the command's beginning to its end."""
    count = IMPORTED[original.plan]
    with copy_of(original) as copy, empty_folder() as folder:
        file = folder / "resources.jsonl"
        with file.open("w") as lines:
            lines.writelines(import_lines(original.plan.tenants, count))
        sys.stderr.write(f"  importing {count:,} resources beside {name}\n")
        began = time.monotonic()
        done = subprocess.run(
            [
                *(*on_core(SERVER_CORE), sys.executable, "-m", "cloudconsole", "admin", "import", str(file)),
                *("--force", "--json", "--data", str(folder), "--database", copy.address),
            ],
            env=clean_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        took = time.monotonic() - began
    if done.returncode or json.loads(done.stdout)["added"] != count:
        raise Refused(f"the import into {name} failed: {(done.stdout + done.stderr)[-500:]}")
    return Measured(f"import, {name}", "resources/s", [count / took])


def import_lines(tenants: int, count: int) -> Iterator[str]:
    """Volumes, of one tenant after the other."""
    volume = {"kind": "volume", "name": "imported", "node": "hk-1", "size": 10, "started": "2026-02-03T04:05:06Z"}
    for number in range(count):
        line = {"tenant": name_of(number % tenants), "id": f"imported-{number}", **volume}
        yield json.dumps(line, separators=(",", ":")) + "\n"


def _on_disk(tables: Database) -> Table:
    rows = tables.server.execute(_SIZES_ON_DISK, tables.name)
    total = tables.server.execute(f"SELECT pg_database_size('{tables.name}')")[0][0]
    lines = [[name, f"{count:,}", _megabytes(table), _megabytes(indexes)] for name, count, table, indexes in rows]
    return Table(["table", "rows", "table, MB", "its indexes, MB"], [*lines, ["all", "", _megabytes(total), ""]])


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f}"
