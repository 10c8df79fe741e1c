"""The build steps and the entry point of the Containerfile, without a container engine or image registry.

The base image is replaced by this machine's root under an overlay in a private mount namespace. The steps run
unchanged, once for all tests, and write nothing to the machine. A container sees this machine's root with their output
on top, all of it read-only except the data directory.

Installing the locked requirements takes minutes, so the packages of the test environment, which come from the same
file, are used instead, unless CONTAINER_WHOLE is set.
"""

import os
import shlex
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from cluster.postgres import PostgresServer
from lab.ports import allocate

from cloudconsole.server.config.settings import SETTINGS
from tests.deploy.container_file import BUILD, FINAL, ROOT, environment, only
from tests.e2e.processes import children_of, eventually
from tests.harness import clean_environment
from tests.scale.sites import is_ready
from tests.stores import DATABASE_VARIABLE

pytestmark = pytest.mark.slow

MOUNT_ROOT: Final = """
set -eu
mount -t tmpfs tmpfs {directory}/layers
mkdir {directory}/layers/upper {directory}/layers/work {directory}/layers/root
root={directory}/layers/root
cp -a {image}/. {directory}/layers/upper
mount -t overlay overlay -o lowerdir=/,upperdir={directory}/layers/upper,workdir={directory}/layers/work $root
mount --bind /dev $root/dev
mount -t proc proc $root/proc
"""
"""Mount a root with the image on top of this machine's root."""
PREPARE_BUILD: Final = """
mkdir $root/src
ln -sf {python.name} $root{python.parent}/python
for directory in {hidden}; do chmod go+rx $root$directory; done
"""
"""Prepare the root for the build. The last line makes this machine's Python and packages readable for other users."""
UNSHARE: Final = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"]
PYTHON: Final = Path(sys.executable).resolve()
PACKAGES: Final = Path(sysconfig.get_path("purelib"))
BORROW_PACKAGES: Final = f"echo {PACKAGES} > $(echo /opt/cloudconsole/lib/python3.*/site-packages)/borrowed.pth"
SECRET: Final = "/run/secrets/database-password"
PASSWORD_VARIABLE: Final = SETTINGS["database_password_file"].variable
INSTALLS_REQUIREMENTS: Final = "CONTAINER_WHOLE" in os.environ


def run_in_root(step: str) -> str:
    return f"chroot $root /bin/sh -c {shlex.quote(f'cd /src && PATH={PYTHON.parent}:$PATH && {step}')} >&2\n"


def build_script(directory: Path, image: Path) -> str:
    """Return a shell script that builds the image like a container engine."""
    hidden = " ".join(str(parent) for path in (PYTHON, PACKAGES / "any") for parent in path.parents)
    lines = MOUNT_ROOT.format(directory=directory, image=image) + PREPARE_BUILD.format(python=PYTHON, hidden=hidden)
    for step in BUILD + FINAL:
        if step.instruction == "COPY" and "--from" not in step.text:
            *sources, destination = step.text.split()
            for source in sources:
                target = f"$root/src/{source if destination == './' else destination}"
                lines += f"mkdir -p $(dirname {target}) && cp -r {ROOT / source} {target}\n"
        elif step.instruction == "RUN":
            installs_requirements = "-r requirements/run.txt" in step.text
            lines += run_in_root(BORROW_PACKAGES if installs_requirements and not INSTALLS_REQUIREMENTS else step.text)
    return lines + f"cp -a {directory}/layers/upper/. {image}\n"


def run_script(directory: Path, image: Path, settings: dict[str, str], secret: str) -> str:
    """Return a shell script that runs a container; the secret is the database password."""
    data, user = only(FINAL, "VOLUME").text, only(FINAL, "USER").text
    variables = " ".join(f"{name}={value}" for name, value in {**environment(), **settings}.items())
    entry = shlex.join([*only(FINAL, "ENTRYPOINT").words, *only(FINAL, "CMD").words])
    lines = MOUNT_ROOT.format(directory=directory, image=image)
    lines += f"chown {user} {directory}/volume && mount --bind {directory}/volume $root{data}\n"
    if secret:
        (directory / "secret").write_text(secret)
        lines += f"install -D -m 0400 -o {user.partition(':')[0]} {directory}/secret $root{SECRET}\n"
    lines += "mount -o remount,ro $root\n"
    lines += f"cd / && exec env -i PATH=/usr/sbin:/usr/bin {variables} chroot --userspec={user} $root {entry}\n"
    return lines


@dataclass
class Container:
    process: "subprocess.Popen[bytes]"
    base: str
    volume: Path
    log: Path

    @property
    def init(self) -> int:
        """The pid of the container's init process."""
        (child,) = children_of(self.process.pid)
        return child

    def is_ready(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        return is_ready(self.base)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the build steps have changed relative to this machine's root."""
    directory = tmp_path_factory.mktemp("image")
    for name in ("layers", "image"):
        (directory / name).mkdir()
    (directory / "steps.sh").write_text(build_script(directory, directory / "image"))
    steps = [*UNSHARE, "/bin/sh", str(directory / "steps.sh")]
    done = subprocess.run(steps, env=clean_environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return directory / "image"


@contextmanager
def running_container(directory: Path, image: Path, settings: dict[str, str], secret: str = "") -> Iterator[Container]:
    for name in ("layers", "volume"):
        (directory / name).mkdir()
    port, steps = allocate(["http"])["http"], directory / "steps.sh"
    steps.write_text(run_script(directory, image, {"CLOUDCONSOLE_PORT": str(port), **settings}, secret))
    with (directory / "log").open("wb") as log:
        command = [*UNSHARE, "/bin/sh", str(steps)]
        process = subprocess.Popen(command, env=clean_environment(), stdout=log, stderr=log)
    started = Container(process, f"http://127.0.0.1:{port}", directory / "volume", directory / "log")
    try:
        eventually(started.is_ready)
        yield started
    finally:
        # Killing the init process ends the container; --kill-child fails because it has changed its user.
        for init in children_of(process.pid):
            os.kill(init, signal.SIGKILL)
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def container(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    with running_container(tmp_path_factory.mktemp("container"), image, {}) as started:
        yield started


def test_console_runs_unprivileged_as_pid_1(container: Container) -> None:
    status = Path(f"/proc/{container.init}/status").read_text()
    assert "Uid:\t10001\t10001\t10001\t10001\n" in status
    assert f"NSpid:\t{container.init}\t1\n" in status


def test_only_the_volume_is_writable(container: Container) -> None:
    assert {file.name for file in container.volume.iterdir()} >= {"cloud.db", "activity.db"}
    assert {file.stat().st_uid for file in container.volume.iterdir()} == {10001}
    mounts = Path(f"/proc/{container.init}/mounts").read_text().splitlines()
    (options,) = (options for _, folder, _, options, *_ in map(str.split, mounts) if folder == "/")
    assert options.split(",")[0] == "ro"


def test_declared_health_check_succeeds(container: Container) -> None:
    _, *words = only(FINAL, "HEALTHCHECK").words
    command = [word.replace("http://127.0.0.1:8000", container.base) for word in words]
    assert subprocess.run([sys.executable, *command], capture_output=True).returncode == 0


def test_stop_signal_ends_the_console_gracefully(container: Container) -> None:
    """Must be the last test that uses the container, since it stops it."""
    os.kill(container.init, signal.Signals[only(FINAL, "STOPSIGNAL").text])
    assert container.process.wait(120) == 0
    assert "all requests finished" in container.log.read_text()


def test_on_postgresql_nothing_is_written_to_the_volume(
    image: Path, postgres: PostgresServer, migrated_template: str, tmp_path: Path
) -> None:
    settings = {DATABASE_VARIABLE: postgres.address(migrated_template, password=False), PASSWORD_VARIABLE: SECRET}
    with running_container(tmp_path, image, settings, postgres.password) as started:
        assert not list(started.volume.iterdir())
