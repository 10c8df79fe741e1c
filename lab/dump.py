"""The databases as they are before the first service starts, kept as SQL in which ports and regions are left open.

Making them from nothing takes a minute of migrations, reading them in a few seconds. A second region is the same text
once more under another name.
"""

import gzip
import hashlib
from dataclasses import dataclass
from pathlib import Path

from lab import databases
from lab.plan import HOST, REGIONS, Plan, region_databases

KEPT = Path(__file__).with_name("dump")
REQUIREMENTS = Path(__file__).parents[1] / "requirements" / "lab.txt"
REGION = b"@region@"


@dataclass(frozen=True)
class Dump:
    """Keystone's database and those of a region."""

    keystone: bytes
    region: bytes
    requirements: str
    """The digest of the requirements whose services made them."""

    @classmethod
    def read(cls, folder: Path) -> "Dump | None":
        try:
            return cls(
                gzip.decompress((folder / "keystone.sql.gz").read_bytes()),
                gzip.decompress((folder / "region.sql.gz").read_bytes()),
                (folder / "requirements.sha256").read_text().strip(),
            )
        except FileNotFoundError:
            return None

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "keystone.sql.gz").write_bytes(gzip.compress(self.keystone, mtime=0))
        (folder / "region.sql.gz").write_bytes(gzip.compress(self.region, mtime=0))
        (folder / "requirements.sha256").write_text(self.requirements + "\n")

    @property
    def fits(self) -> bool:
        """Whether the services that made it are those that are installed."""
        return self.requirements == requirements_digest()


def requirements_digest() -> str:
    return hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()


def take(plan: Plan) -> Dump:
    """Write out the databases of a lab whose first region is still empty."""
    first = plan.regions[0]
    region = opened(plan, databases.written_out(plan, region_databases(first)))
    return Dump(
        opened(plan, databases.written_out(plan, ["keystone"])),
        region.replace(first.lower().encode(), REGION),
        requirements_digest(),
    )


def restore(plan: Plan, dump: Dump) -> None:
    """Make the databases of a lab."""
    databases.execute(plan, statements(plan, dump))


def statements(plan: Plan, dump: Dump) -> bytes:
    """What makes the databases of a lab; the dump's Keystone knows both regions."""
    parts = [filled(plan, dump.keystone)]
    parts += [for_region(plan, dump, region) for region in plan.regions]
    parts += [
        f"DELETE FROM keystone.endpoint WHERE region_id = '{absent}';"
        f"DELETE FROM keystone.region WHERE id = '{absent}';".encode()
        for absent in REGIONS
        if absent not in plan.regions
    ]
    return b"\n".join(parts)


def for_region(plan: Plan, dump: Dump, region: str) -> bytes:
    """What makes the databases of one region."""
    return filled(plan, dump.region).replace(REGION, region.lower().encode())


def opened(plan: Plan, sql: bytes) -> bytes:
    """SQL with the names of services where the addresses of this lab's stood."""
    for service, port in plan.ports.items():
        sql = sql.replace(f"{HOST}:{port}".encode(), f"@{service}@".encode())
    return sql


def filled(plan: Plan, sql: bytes) -> bytes:
    """SQL with the addresses of this lab's services where their names stood."""
    for service, port in plan.ports.items():
        sql = sql.replace(f"@{service}@".encode(), f"{HOST}:{port}".encode())
    return sql
