"""Tenants for single tests, with their own project, user and resources, so that tests do not affect each other."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from shutil import copytree
from typing import Any, TypeVar
from uuid import uuid4

from lab.cloud import Lab, User, connect

from tests.harness import ApiClient, Reply, Transport
from tests.openstack.reference import Connection


class FederatedClient(ApiClient):
    """Logs in as a user of the cloud, with the correct password unless another is given."""

    def __init__(self, transport: Transport, lab: Lab) -> None:
        super().__init__(transport)
        self._lab = lab

    def try_login_as(self, user: str | User, password: str | None = None, **fields: str) -> Reply:
        """Try to log in; `user` is the name of one of the lab's users, or another user."""
        if isinstance(user, str):
            user = self._lab.users.get(user, User(user, "-", None))
        return self.login(user.name, password or user.password, region=self._lab.identity, **fields)

    def log_in_as(self, user: str | User) -> "FederatedClient":
        reply = self.try_login_as(user)
        assert reply.status == 200, reply.body
        return self

    def data(self, action: str, **parameters: Any) -> Any:
        return self.call(action, **parameters).data


def prepare_console(
    lab: Lab, directory: Path, store: Path, endpoint: str, settings: Mapping[str, str | int]
) -> list[str]:
    """Create the data directory and config file of a console that uses the cloud, and return its flags."""
    copytree(store, directory / "data")
    regions = ", ".join(f'"{region}"' for region in lab.regions)
    lines = [
        *(f"{name} = {value!r}" for name, value in settings.items()),
        "[[identity]]",
        f'address = "{lab.identity}"',
        'kind = "keystone"',
        *([] if "regions" in endpoint else [f"regions = [{regions}]"]),
        endpoint,
    ]
    file = directory / "cloudconsole.toml"
    file.write_text("\n".join(lines) + "\n")
    return ["--config", str(file)]


WAIT_SECONDS = 300
POLL_SECONDS = 0.2

Result = TypeVar("Result")


def wait_until(attempt: Callable[[], Result | None]) -> Result:
    """Return the first result that is true: a cloud completes many requests asynchronously."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not (result := attempt()):
        assert time.monotonic() < deadline, "timed out"
        time.sleep(POLL_SECONDS)  # a cloud reports no events
    return result


@dataclass
class TenantFactory:
    """Creates projects and users with unique names, and removes them at the end."""

    lab: Lab
    admin: Connection
    _users: list[Any] = field(default_factory=list)
    _projects: list[Any] = field(default_factory=list)

    def project(self) -> Any:
        self._projects.append(self.admin.identity.create_project(name=unique_name("project")))
        return self._projects[-1]

    def user(self, *projects: Any, name: str | None = None, domain_id: str = "default", default: Any = None) -> User:
        """Create a user who is a member of these projects."""
        name = name or unique_name("user")
        password = unique_name("password")
        options = {"default_project_id": default.id} if default else {}
        created = self.admin.identity.create_user(name=name, password=password, domain_id=domain_id, **options)
        self._users.append(created)
        member = self.admin.identity.find_role("member", ignore_missing=False)
        for project in projects:
            self.admin.identity.assign_project_role_to_user(project, created, member)
        return User(name, password, projects[0].name if projects else None)

    @contextmanager
    def flavor(self, project_id: str, *, ram: int, vcpus: int) -> Iterator[Any]:
        """Create a temporary flavor that only one project can see."""
        compute = self.admin.compute
        created = compute.create_flavor(name=unique_name("flavor"), ram=ram, vcpus=vcpus, disk=1, is_public=False)
        compute.flavor_add_tenant_access(created, project_id)
        try:
            yield created
        finally:
            compute.delete_flavor(created)

    def connect(self, user: User, region: str) -> Connection:
        return connect(self.lab.identity, user.name, user.password, user.project, region)

    def close(self) -> None:
        """Remove all projects and users, and the resources left in them; the cloud completes this in the background."""
        own = {project.id for project in self._projects}
        for region in self.lab.regions if own else ():
            with self.lab.connect("admin", region) as admin:
                for project_id, remove in _resources(admin):
                    if project_id in own:
                        remove()
        for user in self._users:
            self.admin.identity.delete_user(user)
        for project in self._projects:
            self.admin.identity.delete_project(project)


@dataclass
class Tenant:
    """A user with their own project, connected to the cloud and to a console."""

    user: User
    cloud: Connection
    client: FederatedClient

    @property
    def project_id(self) -> str:
        return str(self.cloud.current_project_id)

    def used(self, *fields: str) -> tuple[int, ...]:
        limits = self.client.data("GetUsageLimits")
        return tuple(limits[field] for field in fields)

    def hourly(self) -> dict[str, Decimal]:
        """Return the cost per hour by kind, according to the console."""
        return {item["res_type"]: Decimal(item["hour"]) for item in self.client.data("GetConsumptionsEstimated")}

    def volume(self, size: int) -> Any:
        created = self.cloud.block_storage.create_volume(name="data", size=size)
        return self.cloud.block_storage.wait_for_status(created, "available", interval=POLL_SECONDS, wait=WAIT_SECONDS)

    def remove_volume(self, volume: Any) -> None:
        self.cloud.block_storage.delete_volume(volume)
        self.cloud.block_storage.wait_for_delete(volume, interval=POLL_SECONDS, wait=WAIT_SECONDS)

    def server(self, flavor: str, image: Any) -> Any:
        """Create a server, which Nova may not have started yet."""
        size = self.cloud.compute.find_flavor(flavor, ignore_missing=False)
        return self.cloud.compute.create_server(name="web", flavor_id=size.id, image_id=image.id, networks="none")

    def remove_server(self, server: Any) -> None:
        self.cloud.compute.delete_server(server)
        self.cloud.compute.wait_for_delete(server, interval=POLL_SECONDS, wait=WAIT_SECONDS)

    def image(self) -> Any:
        return self.cloud.image.create_image(name="own", data=b"\0" * 1024, disk_format="raw", container_format="bare")

    def subnet(self) -> Any:
        network = self.cloud.network.create_network(name="own")
        return self.cloud.network.create_subnet(network_id=network.id, ip_version=4, cidr="10.2.0.0/24")


def _resources(admin: Connection) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the project of each resource in a region, and a function to remove it."""
    compute, storage, images = admin.compute, admin.block_storage, admin.image
    network, balancers = admin.network, admin.load_balancer
    for server in compute.servers(all_projects=True):
        yield server.project_id, partial(compute.delete_server, server)
    for volume in storage.volumes(all_projects=True):
        yield volume.project_id, partial(storage.delete_volume, volume, cascade=True)
    for balancer in balancers.load_balancers():
        yield balancer.project_id, partial(balancers.delete_load_balancer, balancer, cascade=True)
    for address in network.ips():
        yield address.project_id, partial(network.delete_ip, address)
    for own in network.networks():
        yield own.project_id, partial(network.delete_network, own)
    for image in images.images():
        yield image.owner, partial(images.delete_image, image)


def unique_name(kind: str) -> str:
    """Return a unique name."""
    return f"test-{kind}-{uuid4().hex[:12]}"
