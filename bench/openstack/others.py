"""How else a user gets the same: the `openstack` command, and openstacksdk in a program of his own."""

import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from openstack.connection import Connection

from bench.figures import Refused
from bench.openstack.guests import user_of
from bench.servers import clean_environment, on_core
from lab.cloud import Lab


def commands(lab: Lab) -> dict[str, Callable[[], object]]:
    """Commands of python-openstackclient, each a process of its own."""
    asked = (("limits", "show", "--absolute"), ("flavor", "list"))
    return {" ".join(("openstack", *words)): partial(_run, lab, words) for words in asked}


def _run(lab: Lab, words: tuple[str, ...]) -> None:
    user = user_of(lab)
    login = {
        "OS_AUTH_URL": lab.identity,
        "OS_USERNAME": user.name,
        "OS_PASSWORD": user.password,
        "OS_PROJECT_NAME": user.project or "",
        "OS_USER_DOMAIN_NAME": "Default",
        "OS_PROJECT_DOMAIN_NAME": "Default",
        "OS_REGION_NAME": lab.regions[0],
    }
    kept = {name: value for name, value in clean_environment().items() if not name.startswith(("OS_", "PYTHON"))}
    done = subprocess.run(
        [*on_core(None), lab.plan.program("openstack"), *words],
        env=kept | login,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or not done.stdout:
        raise Refused(f"openstack {' '.join(words)} failed: {done.stderr[-300:]}")


def reads(connections: list[Connection]) -> dict[str, Callable[[], object]]:
    """By action, what it reads, one after the other with openstacksdk: a connection a region, logged in before."""
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
