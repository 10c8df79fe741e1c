"""Tenants of one's own, so that no test sees what another makes: a project, its user, and what they have."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

from lab.cloud import Lab, User, connect

from tests.openstack.direct import Connection
from tests.openstack.guests import Guest

WAITING_SECONDS = 60
EVERY_SECONDS = 0.2

Result = TypeVar("Result")


def until(attempt: Callable[[], Result | None]) -> Result:
    """The first result that is true: what a cloud takes over is done a little later."""
    give_up_at = time.monotonic() + WAITING_SECONDS
    while not (result := attempt()):
        assert time.monotonic() < give_up_at, "it did not come about"
        time.sleep(EVERY_SECONDS)
    return result


@dataclass
class Registry:
    """Makes projects and users, each under a name that nobody had before, and removes them at the end."""

    lab: Lab
    admin: Connection
    _users: list[Any] = field(default_factory=list)
    _projects: list[Any] = field(default_factory=list)

    def project(self, **given: Any) -> Any:
        self._projects.append(self.admin.identity.create_project(name=new_name("project"), **given))
        return self._projects[-1]

    def user(self, *projects: Any, domain_id: str = "default", default: Any = None) -> User:
        """Somebody who is a member of these projects."""
        name = new_name("user")
        secret = f"{name}-password"
        given = {"default_project_id": default.id} if default else {}
        made = self.admin.identity.create_user(name=name, password=secret, domain_id=domain_id, **given)
        self._users.append(made)
        member = self.admin.identity.find_role("member", ignore_missing=False)
        for project in projects:
            self.admin.identity.assign_project_role_to_user(project, made, member)
        return User(name, secret, projects[0].name if projects else None)

    @contextmanager
    def flavor(
        self, project_id: str, *, ram: int, vcpus: int, name: str | None = None, admin: Connection | None = None
    ) -> Iterator[Any]:
        """A flavor of one project, for a while: no other tenant sees it. `admin` is of the region to make it in."""
        compute = (admin or self.admin).compute
        made = compute.create_flavor(name=name or new_name("flavor"), ram=ram, vcpus=vcpus, disk=1, is_public=False)
        compute.flavor_add_tenant_access(made, project_id)
        try:
            yield made
        finally:
            compute.delete_flavor(made)

    def connect(self, user: User, region: str) -> Connection:
        return connect(self.lab.identity, user.name, user.password, user.project, region)

    def close(self) -> None:
        """Remove it all, with what is left in the projects; the cloud goes on with that by itself."""
        own = {project.id for project in self._projects}
        for region in self.lab.regions if own else ():
            with self.lab.connect("admin", region) as admin:
                for project_id, remove in _left(admin):
                    if project_id in own:
                        remove()
        for user in self._users:
            self.admin.identity.delete_user(user)
        for project in self._projects:
            self.admin.identity.delete_project(project)


@dataclass
class Resident:
    """Somebody with a project of their own, in the cloud and before a console."""

    user: User
    cloud: Connection
    guest: Guest

    @property
    def project_id(self) -> str:
        return str(self.cloud.current_project_id)

    def used(self, *fields: str) -> tuple[int, ...]:
        told = self.guest.data("GetUsageLimits")
        return tuple(told[field] for field in fields)

    def hourly(self) -> dict[str, Decimal]:
        """What each kind costs per hour, as the console tells it."""
        return {item["res_type"]: Decimal(item["hour"]) for item in self.guest.data("GetConsumptionsEstimated")}

    def volume(self, size: int = 1, **given: Any) -> Any:
        made = self.cloud.block_storage.create_volume(name="data", size=size, **given)
        return self.cloud.block_storage.wait_for_status(made, "available", interval=EVERY_SECONDS, wait=WAITING_SECONDS)

    def remove_volume(self, volume: Any) -> None:
        self.cloud.block_storage.delete_volume(volume)
        self.cloud.block_storage.wait_for_delete(volume, interval=EVERY_SECONDS, wait=WAITING_SECONDS)

    def server(self, flavor: str, image: Any, **given: Any) -> Any:
        """As Nova has taken it over; it may not run yet."""
        size = self.cloud.compute.find_flavor(flavor, ignore_missing=False)
        return self.cloud.compute.create_server(
            name="web", flavor_id=size.id, image_id=image.id, networks="none", **given
        )

    def remove_server(self, server: Any) -> None:
        self.cloud.compute.delete_server(server)
        self.cloud.compute.wait_for_delete(server, interval=EVERY_SECONDS, wait=WAITING_SECONDS)

    def image(self, size: int = 1024) -> Any:
        return self.cloud.image.create_image(name="own", data=b"\0" * size, disk_format="raw", container_format="bare")

    def subnet(self) -> Any:
        network = self.cloud.network.create_network(name="own")
        return self.cloud.network.create_subnet(network_id=network.id, ip_version=4, cidr="10.2.0.0/24")


def _left(admin: Connection) -> Iterator[tuple[str, Callable[[], object]]]:
    """All that anybody has in a region: whose it is, and how it is removed."""
    compute, storage, images = admin.compute, admin.block_storage, admin.image
    network, balancing = admin.network, admin.load_balancer
    for server in compute.servers(all_projects=True):
        yield server.project_id, partial(compute.delete_server, server)
    for volume in storage.volumes(all_projects=True):
        yield volume.project_id, partial(storage.delete_volume, volume, cascade=True)
    for balancer in balancing.load_balancers():
        yield balancer.project_id, partial(balancing.delete_load_balancer, balancer, cascade=True)
    for address in network.ips():
        yield address.project_id, partial(network.delete_ip, address)
    for own in network.networks():
        yield own.project_id, partial(network.delete_network, own)
    for image in images.images():
        yield image.owner, partial(images.delete_image, image)


def new_name(what: str) -> str:
    """One that nobody had before."""
    return f"test-{what}-{uuid4().hex[:12]}"
