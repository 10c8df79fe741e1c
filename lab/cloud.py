"""A running lab: its users, openstacksdk connections, and control of single services."""

import json
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import openstack
from openstack.connection import Connection
from openstack.identity.v3._proxy import Proxy as Identity

from lab import plan as plans
from lab import processes, services
from lab.errors import LabError
from lab.plan import Plan
from lab.processes import Process, Records


@dataclass(frozen=True)
class User:
    """A user of the seed data."""

    name: str
    password: str
    project: str | None
    """The project to scope to; None if the user has none."""


class Lab:
    """A running lab, found by its folder."""

    def __init__(self, plan: Plan, users: dict[str, User]) -> None:
        self.plan = plan
        self.users = users
        self._records = Records(plan.folder)

    @classmethod
    def open(cls, folder: Path) -> "Lab":
        folder = folder.resolve()
        plan = plans.read(folder)
        if plan is None:
            raise LabError(f"no lab is running in {folder}: run `python -m lab start`")
        state = json.loads((folder / "state.json").read_bytes())
        return cls(plan, {name: User(name, **user) for name, user in state["users"].items()})

    @property
    def identity(self) -> str:
        """Keystone's URL, as consoles are configured with it."""
        return self.plan.identity

    @property
    def regions(self) -> tuple[str, ...]:
        return self.plan.regions

    def connect(self, username: str, region: str | None = None, project: str | None = None) -> Connection:
        """Connect as a user, scoped to the user's project unless another is given."""
        user = self.users[username]
        return connect(self.identity, user.name, user.password, project or user.project, region or self.plan.regions[0])

    def suspend(self, service: str) -> None:
        """Suspend a service: it accepts connections and never responds."""
        processes.send(processes.tree(self._process(service)), signal.SIGSTOP)

    def resume(self, service: str) -> None:
        processes.send(processes.tree(self._process(service)), signal.SIGCONT)

    def stop(self, service: str) -> None:
        """Stop a service and its child processes; its port refuses connections."""
        processes.terminate([self._process(service)])
        self._records.remove(service)

    def start(self, service: str) -> None:
        """Start a stopped service on its port, and wait until it responds."""
        process = self._records.get(service)
        if process and process.alive:
            raise LabError(f"{service} is already running")
        stopped = services.all_services(self.plan)[service]
        services.start(self.plan, [stopped])
        services.wait(self.plan, [stopped])

    def _process(self, service: str) -> Process:
        process = self._records.get(service)
        if process is None:
            raise LabError(f"{service} is not running; running services: {', '.join(self._records.all())}")
        return process


def identity_of(connection: Connection) -> Identity:
    """Return the identity proxy, typed as v3: openstacksdk does not know the version statically."""
    return cast("Identity", connection.identity)


def connect(identity: str, username: str, password: str, project: str | None, region: str) -> Connection:
    """Connect with openstacksdk, ignoring environment variables and configuration files."""
    return openstack.connect(
        load_yaml_config=False,
        load_envvars=False,
        auth_url=identity,
        username=username,
        password=password,
        project_name=project,
        user_domain_name="Default",
        project_domain_name="Default" if project else None,
        region_name=region,
        app_name="lab",
    )
