"""Other ways to get the same data: the `openstack` command and openstacksdk."""

import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from openstack.connection import Connection

from bench.measurements import InvalidRun
from bench.openstack.lab_console import lab_user
from bench.servers import clean_environment, taskset
from lab.cloud import Lab


def cli_commands(lab: Lab) -> dict[str, Callable[[], object]]:
    """Return commands of python-openstackclient; each call starts a process."""
    commands = (("limits", "show", "--absolute"), ("flavor", "list"))
    return {" ".join(("openstack", *words)): partial(_run, lab, words) for words in commands}


def _run(lab: Lab, words: tuple[str, ...]) -> None:
    user = lab_user(lab)
    login = {
        "OS_AUTH_URL": lab.identity,
        "OS_USERNAME": user.name,
        "OS_PASSWORD": user.password,
        "OS_PROJECT_NAME": user.project or "",
        "OS_USER_DOMAIN_NAME": "Default",
        "OS_PROJECT_DOMAIN_NAME": "Default",
        "OS_REGION_NAME": lab.regions[0],
    }
    inherited = {name: value for name, value in clean_environment().items() if not name.startswith(("OS_", "PYTHON"))}
    done = subprocess.run(
        [*taskset(None), lab.plan.program("openstack"), *words],
        env=inherited | login,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or not done.stdout:
        raise InvalidRun(f"openstack {' '.join(words)} failed: {done.stderr[-300:]}")


def sdk_reads(connections: list[Connection]) -> dict[str, Callable[[], object]]:
    """Return the reads of each action, made sequentially with openstacksdk; `connections` has one per region."""
    return {
        "GetUsageLimits": lambda: [_limits(connection) for connection in connections],
        "GetFlavors": lambda: [list(connection.compute.flavors()) for connection in connections],
        "GetConsumptionsEstimated": lambda: [_listings(connection) for connection in connections],
    }


def _limits(connection: Connection) -> object:
    return (
        connection.compute.get_limits(),
        connection.block_storage.get_limits(),
        connection.network.get_quota(str(connection.current_project_id), details=True),
    )


def _listings(connection: Connection) -> object:
    hour = datetime.now(UTC).strftime("%Y-%m-%dT%H:00:00Z")
    project = connection.current_project_id
    return [
        list(connection.compute.servers()),
        list(connection.compute.servers(changes_since=hour)),
        list(connection.block_storage.volumes()),
        list(connection.image.images(owner=project)),
        list(connection.image.images(owner=project, is_hidden=True)),
        list(connection.load_balancer.load_balancers(project_id=project)),
    ]
