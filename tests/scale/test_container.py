"""The Containerfile's own steps, and its entry point, in a root of their own; no registry of images is needed.

What stands for the image is this machine's root under an overlay, which only the mount namespace of the test sees: the
steps run word by word, once for all tests, and write nothing to the machine. A container has what they wrote over that
root, and all of it is read-only but the data folder.

Installing the locked requirements takes minutes, and the environment of these tests was made from the same file: its
packages are taken instead, unless CONTAINER_WHOLE is set.
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
from tests.scale.machines import is_ready
from tests.stores import DATABASE_VARIABLE

pytestmark = pytest.mark.long

ROOTED: Final = """
set -eu
mount -t tmpfs tmpfs {folder}/layers
mkdir {folder}/layers/upper {folder}/layers/work {folder}/layers/root
root={folder}/layers/root
cp -a {image}/. {folder}/layers/upper
mount -t overlay overlay -o lowerdir=/,upperdir={folder}/layers/upper,workdir={folder}/layers/work $root
mount --bind /dev $root/dev
mount -t proc proc $root/proc
"""
"""A root with what is in the image over this machine's."""
PREPARED: Final = """
mkdir $root/src
ln -sf {python.name} $root{python.parent}/python
for folder in {hidden}; do chmod go+rx $root$folder; done
"""
"""A root to build in. The last line: this machine's Python and packages may lie where only root can look."""
APART: Final = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"]


PYTHON: Final = Path(sys.executable).resolve()
PACKAGES: Final = Path(sysconfig.get_path("purelib"))
BORROWED: Final = f"echo {PACKAGES} > $(echo /opt/cloudconsole/lib/python3.*/site-packages)/borrowed.pth"
SECRET: Final = "/run/secrets/database-password"
PASSWORD_VARIABLE: Final = SETTINGS["database_password_file"].variable
WHOLE: Final = "CONTAINER_WHOLE" in os.environ


def in_root(step: str) -> str:
    return f"chroot $root /bin/sh -c {shlex.quote(f'cd /src && PATH={PYTHON.parent}:$PATH && {step}')} >&2\n"


def building(folder: Path, image: Path) -> str:
    """What an engine for containers does to build an image, in its order."""
    hidden = " ".join(str(parent) for place in (PYTHON, PACKAGES / "any") for parent in place.parents)
    lines = ROOTED.format(folder=folder, image=image) + PREPARED.format(python=PYTHON, hidden=hidden)
    for step in BUILD + FINAL:
        if step.instruction == "COPY" and "--from" not in step.text:
            *sources, place = step.text.split()
            for source in sources:
                target = f"$root/src/{source if place == './' else place}"
                lines += f"mkdir -p $(dirname {target}) && cp -r {ROOT / source} {target}\n"
        elif step.instruction == "RUN":
            is_long = "-r requirements/run.txt" in step.text
            lines += in_root(BORROWED if is_long and not WHOLE else step.text)
    return lines + f"cp -a {folder}/layers/upper/. {image}\n"


def running(folder: Path, image: Path, settings: dict[str, str], secret: str) -> str:
    """What it does to run one; the secret is the database's password."""
    data, user = only(FINAL, "VOLUME").text, only(FINAL, "USER").text
    variables = " ".join(f"{name}={value}" for name, value in {**environment(), **settings}.items())
    entry = shlex.join([*only(FINAL, "ENTRYPOINT").words, *only(FINAL, "CMD").words])
    lines = ROOTED.format(folder=folder, image=image)
    lines += f"chown {user} {folder}/volume && mount --bind {folder}/volume $root{data}\n"
    if secret:
        (folder / "secret").write_text(secret)
        lines += f"install -D -m 0400 -o {user.partition(':')[0]} {folder}/secret $root{SECRET}\n"
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
    def first(self) -> int:
        """The process that is the container's first."""
        (child,) = children_of(self.process.pid)
        return child

    def is_ready(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        return is_ready(self.base)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the steps have changed of this machine's root."""
    folder = tmp_path_factory.mktemp("image")
    for name in ("layers", "image"):
        (folder / name).mkdir()
    (folder / "steps.sh").write_text(building(folder, folder / "image"))
    steps = [*APART, "/bin/sh", str(folder / "steps.sh")]
    done = subprocess.run(steps, env=clean_environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "image"


@contextmanager
def contained(folder: Path, image: Path, settings: dict[str, str], secret: str = "") -> Iterator[Container]:
    for name in ("layers", "volume"):
        (folder / name).mkdir()
    port = allocate(["calls"])["calls"]
    (folder / "steps.sh").write_text(running(folder, image, {"CLOUDCONSOLE_PORT": str(port), **settings}, secret))
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*APART, "/bin/sh", str(folder / "steps.sh")], env=clean_environment(), stdout=log, stderr=log
        )
    started = Container(process, f"http://127.0.0.1:{port}", folder / "volume", folder / "log")
    try:
        eventually(started.is_ready, tries=6000)
        yield started
    finally:
        # With the first all of a container end. By itself it would not: it became another user since it was started.
        for first in children_of(process.pid):
            os.kill(first, signal.SIGKILL)
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def container(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    with contained(tmp_path_factory.mktemp("container"), image, {}) as started:
        yield started


def test_it_runs_as_nobody_in_particular_and_as_the_first_process(container: Container) -> None:
    status = Path(f"/proc/{container.first}/status").read_text()
    assert "Uid:\t10001\t10001\t10001\t10001\n" in status
    assert f"NSpid:\t{container.first}\t1\n" in status


def test_it_can_write_nowhere_but_to_its_volume(container: Container) -> None:
    assert {file.name for file in container.volume.iterdir()} >= {"cloud.db", "activity.db"}
    assert {file.stat().st_uid for file in container.volume.iterdir()} == {10001}
    (root,) = (line for line in mounts(container) if line.split()[1] == "/")
    assert root.split()[3].split(",")[0] == "ro"


def test_its_health_is_asked_for_as_it_says(container: Container) -> None:
    _, *words = only(FINAL, "HEALTHCHECK").words
    asked = [word.replace("http://127.0.0.1:8000", container.base) for word in words]
    assert subprocess.run([sys.executable, *asked], capture_output=True).returncode == 0


def test_it_ends_in_good_order(container: Container) -> None:
    """The last, since it ends it."""
    os.kill(container.first, signal.Signals[only(FINAL, "STOPSIGNAL").text])
    assert container.process.wait(60) == 0
    assert "all requests finished" in container.log.read_text()


def test_on_postgresql_it_serves_with_a_secret_and_keeps_nothing(
    image: Path, postgres: PostgresServer, with_tables: str, tmp_path: Path
) -> None:
    place = {DATABASE_VARIABLE: postgres.address(with_tables, password=False), PASSWORD_VARIABLE: SECRET}
    with contained(tmp_path, image, place, postgres.password) as started:
        assert not list(started.volume.iterdir())


def mounts(container: Container) -> list[str]:
    return Path(f"/proc/{container.first}/mounts").read_text().splitlines()
