"""A lab that runs, for tests: who its users are, connections as any of them, and hands to freeze or end a service."""

import json
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import openstack
from openstack.connection import Connection
from openstack.identity.v3._proxy import Proxy as Identity

from lab import plan as plans
from lab import processes, running, services
from lab.errors import LabFailed
from lab.plan import Plan
from lab.processes import Process, Records


@dataclass(frozen=True)
class User:
    """Somebody who can log in, or should not be able to."""

    name: str
    password: str
    project: str | None
    """The project to connect to; None where there is none."""


class Lab:
    """A lab that is ready, found by its folder; nothing is started by looking at it."""

    def __init__(self, plan: Plan, users: dict[str, User]) -> None:
        self.plan = plan
        self.users = users
        self._records = Records(plan.folder)

    @classmethod
    def open(cls, folder: Path) -> "Lab":
        folder = folder.resolve()
        plan = plans.read(folder)
        if plan is None:
            raise LabFailed(f"no lab is ready in {folder}: `python -m lab start` makes one")
        known = json.loads((folder / "state.json").read_bytes())
        return cls(plan, {name: User(name, **user) for name, user in known["users"].items()})

    @property
    def identity(self) -> str:
        """The address that a console is pointed at."""
        return self.plan.identity

    @property
    def regions(self) -> tuple[str, ...]:
        return self.plan.regions

    def connect(self, username: str, region: str | None = None, project: str | None = None) -> Connection:
        """A connection of openstacksdk as one of the users, to his project if not to another."""
        user = self.users[username]
        return connect(self.identity, user.name, user.password, project or user.project, region or self.plan.regions[0])

    def suspend(self, service: str) -> None:
        """Let a service hang: it accepts connections and answers nothing."""
        processes.send(processes.tree(self._process(service)), signal.SIGSTOP)

    def resume(self, service: str) -> None:
        processes.send(processes.tree(self._process(service)), signal.SIGCONT)

    def end(self, service: str) -> None:
        """End a service with all that it started; its port refuses connections."""
        processes.end([self._process(service)])
        self._records.remove(service)

    def begin(self, service: str) -> None:
        """Start a service that was ended, where and as it was, and wait until it answers."""
        known = self._records.get(service)
        if known and known.alive:
            raise LabFailed(f"{service} runs already")
        begun = services.all_services(self.plan)[service]
        running.begin(self.plan, [begun])
        running.wait(self.plan, [begun])

    def _process(self, service: str) -> Process:
        found = self._records.get(service)
        if found is None:
            raise LabFailed(f"{service} does not run; these do: {', '.join(self._records.all())}")
        return found


def identity_of(connection: Connection) -> Identity:
    """Keystone, seen through a connection; openstacksdk would have it be of another version just as well."""
    return cast("Identity", connection.identity)


def connect(identity: str, username: str, password: str, project: str | None, region: str) -> Connection:
    """A connection of openstacksdk that takes nothing from the environment or from files."""
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
