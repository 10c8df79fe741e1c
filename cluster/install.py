"""Install the Debian packages that a cluster and its tests need."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cluster.errors import ClusterError
from cluster.postgres_setup import find_programs
from lab.install import install_packages

# Where Debian reads whether to create a database cluster with the package.
CREATE_CLUSTER_DIR = Path("/etc/postgresql-common/createcluster.d")
NGINX = Path("/usr/sbin/nginx")
PROMTOOL = Path("/usr/bin/promtool")
SYSTEMD_ANALYZE = Path("/usr/bin/systemd-analyze")


def install(report: Callable[[str], None]) -> None:
    """Install missing packages without creating or starting their servers."""
    missing = [package for package, is_installed in PACKAGES.items() if not is_installed()]
    if not missing:
        return
    if os.geteuid() != 0:
        raise ClusterError(f"packages missing, and only root can install them: {' '.join(missing)}")
    with without_default_cluster(CREATE_CLUSTER_DIR):
        install_packages(missing)
    report(f"installed {' and '.join(missing)}")


def has_postgres() -> bool:
    try:
        find_programs()
    except ClusterError:
        return False
    return True


PACKAGES: dict[str, Callable[[], bool]] = {
    "postgresql": has_postgres,
    "nginx": NGINX.exists,
    "prometheus": PROMTOOL.exists,
    "systemd": SYSTEMD_ANALYZE.exists,
}


@contextmanager
def without_default_cluster(folder: Path) -> Iterator[None]:
    """Keep Debian from creating a database cluster on installation; existing settings are preserved."""
    created = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    rule = folder / "cloudconsole-none.conf"
    rule.write_text("create_main_cluster = false\n")
    try:
        yield
    finally:
        rule.unlink()
        for parent in created:
            if not any(parent.iterdir()):
                parent.rmdir()
