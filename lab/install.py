"""Install what a lab needs: MariaDB and RabbitMQ from Debian, OpenStack in a virtual environment."""

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.databases import REQUIREMENTS, requirements_digest

Log = Callable[[str], None]
POLICY = Path("/usr/sbin/policy-rc.d")
NOT_COMPILED = r"/(tests?|pip|pygments)/|/cinder/volume/drivers/"
PACKAGES = {"mariadb-server": "/usr/sbin/mariadbd", "rabbitmq-server": "/usr/lib/rabbitmq/bin/rabbitmq-server"}


def install(venv: Path, log: Log) -> None:
    """Install what is missing."""
    missing = [package for package, program in PACKAGES.items() if not Path(program).exists()]
    if missing:
        install_packages(missing)
        log(f"installed {' and '.join(missing)}")
    stamp = venv / "installed"
    if not stamp.exists() or stamp.read_text() != requirements_digest():
        install_environment(venv, REQUIREMENTS)
        stamp.write_text(requirements_digest())
        log(f"installed OpenStack into {venv}")


def install_packages(packages: list[str]) -> None:
    """Install Debian packages without starting their services."""
    with _without_starting_services():
        subprocess.run(["apt-get", "update", "-qq"], check=True)
        subprocess.run(
            ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages],
            env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
            stdout=subprocess.DEVNULL,
            check=True,
        )


@contextmanager
def _without_starting_services() -> Iterator[None]:
    """Keep Debian from starting installed services; an existing policy stays in force."""
    if POLICY.exists():
        yield
        return
    POLICY.write_text("#!/bin/sh\nexit 101\n")
    POLICY.chmod(POLICY.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    try:
        yield
    finally:
        POLICY.unlink()


def install_environment(venv: Path, requirements: Path) -> None:
    """Create a virtual environment with uv, ten times faster than pip; pip installs the locked uv first."""
    shutil.rmtree(venv, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    python = str(venv / "bin" / "python")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as only_uv:
        only_uv.write(locked_requirement("uv", requirements.read_text()))
        only_uv.flush()
        pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--require-hashes"]
        subprocess.run([*pip, "-r", only_uv.name], check=True)
    uv = [str(venv / "bin" / "uv"), "pip", "install", "--quiet", "--python", python, "--require-hashes"]
    subprocess.run([*uv, "-r", str(requirements)], check=True)
    # Precompile: otherwise two dozen processes each compile what they import, doubling start-up time.
    compiling = [python, "-m", "compileall", "-q", "-j", "0", "-x", NOT_COMPILED, str(venv / "lib")]
    subprocess.run(compiling, check=False)  # some packages contain invalid sample files


def locked_requirement(package: str, requirements: str) -> str:
    """Return a package's entry in locked requirements, with its hashes."""
    entry = re.search(rf"^{re.escape(package)}==.*(?:\n    --hash=.*)*", requirements, re.MULTILINE)
    if entry is None:
        raise LookupError(f"{package} is not in the requirements")
    return entry[0].rstrip("\\ ") + "\n"
