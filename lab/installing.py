"""What a lab needs on the machine: MariaDB and RabbitMQ of Debian, and an environment of its own for OpenStack."""

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

from lab.dump import REQUIREMENTS, requirements_digest

Say = Callable[[str], None]
POLICY = Path("/usr/sbin/policy-rc.d")
NEVER_LOADED = r"/(tests?|pip|pygments)/|/cinder/volume/drivers/"
PACKAGES = {"mariadb-server": "/usr/sbin/mariadbd", "rabbitmq-server": "/usr/lib/rabbitmq/bin/rabbitmq-server"}


def install(venv: Path, say: Say) -> None:
    """Install what is missing; where nothing is, this takes no time."""
    missing = [package for package, program in PACKAGES.items() if not Path(program).exists()]
    if missing:
        install_packages(missing)
        say(f"installed {' and '.join(missing)}")
    stamp = venv / "installed"
    if not stamp.exists() or stamp.read_text() != requirements_digest():
        install_environment(venv, REQUIREMENTS)
        stamp.write_text(requirements_digest())
        say(f"installed OpenStack into {venv}")


def install_packages(packages: list[str]) -> None:
    """Packages of Debian; none of the services in them is started."""
    with _services_left_alone():
        subprocess.run(["apt-get", "update", "-qq"], check=True)
        subprocess.run(
            ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages],
            env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
            stdout=subprocess.DEVNULL,
            check=True,
        )


@contextmanager
def _services_left_alone() -> Iterator[None]:
    """Keep Debian from starting the services that it installs; a policy that the machine has already stays in force."""
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
    """By uv, which takes a tenth of pip's time; pip gets uv itself, as locked as the rest of the requirements."""
    shutil.rmtree(venv, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    python = str(venv / "bin" / "python")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as only_uv:
        only_uv.write(locked("uv", requirements.read_text()))
        only_uv.flush()
        pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--require-hashes"]
        subprocess.run([*pip, "-r", only_uv.name], check=True)
    uv = [str(venv / "bin" / "uv"), "pip", "install", "--quiet", "--python", python, "--require-hashes"]
    subprocess.run([*uv, "-r", str(requirements)], check=True)
    # Bytecode once and for all: two dozen processes would each compile what they load, at twice the cost of a start.
    compiling = [python, "-m", "compileall", "-q", "-j", "0", "-x", NEVER_LOADED, str(venv / "lib")]
    subprocess.run(compiling, check=False)  # some packages carry samples that are no Python


def locked(package: str, requirements: str) -> str:
    """The one package's entry in locked requirements, with its hashes."""
    entry = re.search(rf"^{re.escape(package)}==.*(?:\n    --hash=.*)*", requirements, re.MULTILINE)
    if entry is None:
        raise LookupError(f"{package} is not among the requirements")
    return entry[0].rstrip("\\ ") + "\n"
