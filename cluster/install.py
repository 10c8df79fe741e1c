"""What a cluster, and the tests of its parts, need of Debian: installed where it is missing."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cluster.errors import ClusterFailed
from cluster.postgres_making import find_programs
from lab.installing import install_packages

# Debian would make a server of its own with the package, unless it reads otherwise here.
CREATION = Path("/etc/postgresql-common/createcluster.d")
NGINX = Path("/usr/sbin/nginx")
ALERTS_JUDGE = Path("/usr/bin/promtool")
UNITS_JUDGE = Path("/usr/bin/systemd-analyze")


def install(say: Callable[[str], None]) -> None:
    """Install what is missing; no server of the distribution is made or started."""
    missing = [package for package, is_there in PACKAGES.items() if not is_there()]
    if not missing:
        return
    if os.geteuid() != 0:
        raise ClusterFailed(f"these are missing, and only root can install them: {' '.join(missing)}")
    with no_cluster_made(CREATION):
        install_packages(missing)
    say(f"installed {' and '.join(missing)}")


def has_postgres() -> bool:
    try:
        find_programs()
    except ClusterFailed:
        return False
    return True


PACKAGES: dict[str, Callable[[], bool]] = {
    "postgresql": has_postgres,
    "nginx": NGINX.exists,
    "prometheus": ALERTS_JUDGE.exists,
    "systemd": UNITS_JUDGE.exists,
}


@contextmanager
def no_cluster_made(folder: Path) -> Iterator[None]:
    """Keep Debian from making a database server with PostgreSQL's package; what was set before stays as it was."""
    made = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    rule = folder / "cloudconsole-none.conf"
    rule.write_text("create_main_cluster = false\n")
    try:
        yield
    finally:
        rule.unlink()
        for parent in made:
            if not any(parent.iterdir()):
                parent.rmdir()
