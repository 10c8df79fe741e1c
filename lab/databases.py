"""The MariaDB databases: create, execute SQL, dump and restore.

The repository contains a dump of the migrated databases in which addresses and region names are placeholders. Restoring
it takes seconds, running all migrations a minute. Every region is restored from the same dump.
"""

import getpass
import gzip
import hashlib
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lab.errors import LabError
from lab.plan import HOST, REGIONS, Plan, region_databases

DUMP_FOLDER = Path(__file__).with_name("dump")
REQUIREMENTS = Path(__file__).parents[1] / "requirements" / "lab.txt"
REGION = b"@region@"


def create(plan: Plan) -> None:
    """Create an empty MariaDB data directory."""
    _run(
        [
            "mariadb-install-db",
            "--no-defaults",
            f"--datadir={plan.folder / 'mariadb'}",
            f"--user={getpass.getuser()}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
        ]
    )


def execute(plan: Plan, sql: bytes) -> bytes:
    """Run statements in the lab's MariaDB; return tab-separated rows."""
    return _run(["mariadb", "--no-defaults", "--user=root", f"--socket={plan.socket}", "--batch"], sql)


def dump_sql(plan: Plan, databases: list[str]) -> bytes:
    """Return the SQL that recreates these databases."""
    return _run(
        [
            "mariadb-dump",
            "--no-defaults",
            "--user=root",
            f"--socket={plan.socket}",
            "--skip-dump-date",
            "--skip-comments",
            "--databases",
            *databases,
        ]
    )


def _run(command: list[str], stdin: bytes = b"") -> bytes:
    done = subprocess.run(command, input=stdin, capture_output=True, check=False)
    if done.returncode:
        output = (done.stderr or done.stdout).decode(errors="replace").strip()
        raise LabError(f"{command[0]}: {output[-1000:]}")
    return done.stdout


@dataclass(frozen=True)
class Dump:
    """SQL of Keystone's database and of those of a region."""

    keystone: bytes
    region: bytes
    requirements: str
    """Digest of the requirements of the services that created them."""

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
    def is_current(self) -> bool:
        """Whether the installed services created it."""
        return self.requirements == requirements_digest()


def requirements_digest() -> str:
    return hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()


def take_dump(plan: Plan) -> Dump:
    """Dump the databases of a lab whose first region is empty."""
    first = plan.regions[0]
    region = to_placeholders(plan, dump_sql(plan, region_databases(first)))
    return Dump(
        to_placeholders(plan, dump_sql(plan, ["keystone"])),
        region.replace(first.lower().encode(), REGION),
        requirements_digest(),
    )


def restore(plan: Plan, dump: Dump) -> None:
    """Restore the databases of a lab."""
    execute(plan, statements(plan, dump))


def statements(plan: Plan, dump: Dump) -> bytes:
    """Return the SQL for the databases of a lab; the dumped Keystone has both regions."""
    parts = [from_placeholders(plan, dump.keystone)]
    parts += [for_region(plan, dump, region) for region in plan.regions]
    parts += [
        f"DELETE FROM keystone.endpoint WHERE region_id = '{absent}';"
        f"DELETE FROM keystone.region WHERE id = '{absent}';".encode()
        for absent in REGIONS
        if absent not in plan.regions
    ]
    return b"\n".join(parts)


def for_region(plan: Plan, dump: Dump, region: str) -> bytes:
    """Return the SQL for the databases of a region."""
    return from_placeholders(plan, dump.region).replace(REGION, region.lower().encode())


def to_placeholders(plan: Plan, sql: bytes) -> bytes:
    """Replace the addresses of this lab's services by placeholders."""
    for service, port in plan.ports.items():
        sql = sql.replace(f"{HOST}:{port}".encode(), f"@{service}@".encode())
    return sql


def from_placeholders(plan: Plan, sql: bytes) -> bytes:
    """Replace placeholders by the addresses of this lab's services."""
    for service, port in plan.ports.items():
        sql = sql.replace(f"@{service}@".encode(), f"{HOST}:{port}".encode())
    return sql
