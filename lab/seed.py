"""Seed data: users, projects and their resources; idempotent.

A tenant's resources differ between regions, so a sum that misses a region is wrong.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from openstack.connection import Connection

from lab import databases
from lab.cloud import connect, identity_of
from lab.plan import ADMIN_PASSWORD, Plan

Log = Callable[[str], None]
ADMIN: dict[str, Any] = {"password": ADMIN_PASSWORD, "project": "admin"}

# The projects of each user, the one that tests use first, and whether that is the default project.
USERS: dict[str, tuple[tuple[str, ...], bool]] = {
    "alice": (("acme",), True),
    "bob": (("globex",), True),
    "carol": (("acme",), False),
    "dave": (("acme", "globex"), False),
    "erin": ((), False),
    "frank": (("acme",), True),
    "mallory": (("acme",), True),
}
FLAVORS = (
    ("m1.tiny", 512, 1, 1),
    ("m1.small", 2048, 1, 20),
    ("m1.medium", 4096, 2, 40),
)
PRIVATE_FLAVOR = ("acme.large", 8192, 4, 80)
SECOND_REGION_FLAVOR = ("m2.small", 3072, 1, 30)
TIMEOUT_SECONDS = 120
DISABLED = "frank"
EXPIRED = "mallory"


def unseeded() -> dict[str, dict[str, Any]]:
    """Users of an unseeded lab, in the format of its state file."""
    return {"admin": ADMIN}


def seed(plan: Plan, log: Log) -> dict[str, dict[str, Any]]:
    """Create the seed data; return the users in the format of the state file."""
    with connect(plan.identity, "admin", ADMIN_PASSWORD, "admin", plan.regions[0]) as admin:
        _seed_identity(admin)
    databases.execute(plan, _expire(EXPIRED))
    log("users and projects created")
    with ThreadPoolExecutor(len(plan.regions)) as threads:
        list(threads.map(lambda region: _seed_region(plan, region), plan.regions))
    log("resources created in every region")
    projects = {name: names[0] if names else None for name, (names, _) in USERS.items()}
    return unseeded() | {name: {"password": password(name), "project": project} for name, project in projects.items()}


def password(user: str) -> str:
    return f"{user}-password"


def _seed_identity(admin: Connection) -> None:
    identity = identity_of(admin)
    member = identity.find_role("member", ignore_missing=False)
    projects = {
        name: identity.find_project(name) or identity.create_project(name=name, domain_id="default")
        for name in ("acme", "globex")
    }
    for name, (names, is_default) in USERS.items():
        user = identity.find_user(name)
        if user is None:
            given = {"default_project_id": projects[names[0]].id} if is_default else {}
            user = identity.create_user(
                name=name, password=password(name), domain_id="default", is_enabled=name != DISABLED, **given
            )
        for project in names:
            identity.assign_project_role_to_user(projects[project], user, member)


def _expire(user: str) -> bytes:
    """Expire a password in the database, since Keystone's API rejects dates in the past."""
    return f"""
        UPDATE keystone.password SET expires_at = '2020-01-01 00:00:00', expires_at_int = 1577836800000000
        WHERE local_user_id IN (SELECT id FROM keystone.local_user WHERE name = '{user}');
    """.encode()


def _seed_region(plan: Plan, region: str) -> None:
    first = region == plan.regions[0]

    def as_user(name: str, secret: str, project: str) -> Connection:
        return connect(plan.identity, name, secret, project, region)

    with (
        as_user("admin", ADMIN_PASSWORD, "admin") as admin,
        as_user("alice", password("alice"), "acme") as acme,
        as_user("bob", password("bob"), "globex") as globex,
    ):
        _seed_offerings(admin, first)
        _seed_acme(acme, first)
        _seed_globex(globex, first)


def _seed_offerings(admin: Connection, first: bool) -> None:
    """Create flavors, a volume type and an external network, and set quotas."""
    acme = identity_of(admin).find_project("acme", ignore_missing=False)
    globex = identity_of(admin).find_project("globex", ignore_missing=False)
    for flavor in FLAVORS if first else (*FLAVORS, SECOND_REGION_FLAVOR):
        _flavor(admin, flavor, public=True)
    if _flavor(admin, PRIVATE_FLAVOR, public=False):
        private = admin.compute.find_flavor(PRIVATE_FLAVOR[0], ignore_missing=False)
        admin.compute.flavor_add_tenant_access(private, acme.id)
    if not admin.block_storage.find_type("fast"):
        admin.block_storage.create_type(name="fast", is_public=True)
    if not admin.network.find_network("public"):
        network = admin.network.create_network(
            name="public",
            is_router_external=True,
            provider_network_type="flat",
            provider_physical_network="public",
        )
        admin.network.create_subnet(network_id=network.id, ip_version=4, cidr="203.0.113.0/24", is_dhcp_enabled=False)
    if first:
        admin.set_compute_quotas(globex.id, instances=5, cores=-1)
        admin.set_volume_quotas(globex.id, gigabytes=500)
    else:
        admin.set_compute_quotas(globex.id, instances=-1)
        admin.set_network_quotas(acme.id, floatingip=7)


def _seed_acme(acme: Connection, first: bool) -> None:
    """Create one of each resource for the larger tenant, and two servers in the second region."""
    image = _image(acme, "acme-image", 4096 if first else 12288)
    network = _network(acme)
    load_balancer = acme.load_balancer.find_load_balancer("acme-front") or acme.load_balancer.create_load_balancer(
        name="acme-front", vip_subnet_id=network.subnet_ids[0]
    )
    volumes = [_volume(acme, "acme-data", 3 if first else 5, None)]
    if not first:
        volumes.append(_volume(acme, "acme-fast", 2, "fast"))
    if not acme.compute.find_keypair("acme-key"):
        acme.compute.create_keypair(name="acme-key")
    servers = [
        _server(acme, name, flavor, image, network)
        for name, flavor in ([("web", "m1.small")] if first else [("web", "m1.small"), ("db", "acme.large")])
    ]
    if not list(acme.network.ips()):
        public = acme.network.find_network("public", ignore_missing=False)
        acme.network.create_ip(floating_network_id=public.id)
    for volume in volumes:
        acme.block_storage.wait_for_status(volume, "available", ["error"], interval=0.3, wait=TIMEOUT_SECONDS)
    if not acme.block_storage.find_snapshot("acme-snapshot"):
        snapshot = acme.block_storage.create_snapshot(volume_id=volumes[0].id, name="acme-snapshot")
        acme.block_storage.wait_for_status(snapshot, "available", ["error"], interval=0.3, wait=TIMEOUT_SECONDS)
    for server in servers:
        acme.compute.wait_for_server(server, interval=0.3, wait=TIMEOUT_SECONDS)
    acme.load_balancer.wait_for_load_balancer(load_balancer.id, interval=1, wait=TIMEOUT_SECONDS)


def _seed_globex(globex: Connection, first: bool) -> None:
    """Create a volume for the smaller tenant, and an image in the second region."""
    volume = _volume(globex, "globex-data", 1 if first else 4, None)
    if not first:
        _image(globex, "globex-image", 2048)
    globex.block_storage.wait_for_status(volume, "available", ["error"], interval=0.3, wait=TIMEOUT_SECONDS)


def _flavor(admin: Connection, flavor: tuple[str, int, int, int], public: bool) -> bool:
    """Create a flavor; return whether it did not exist."""
    name, ram, vcpus, disk = flavor
    if admin.compute.find_flavor(name):
        return False
    admin.compute.create_flavor(name=name, ram=ram, vcpus=vcpus, disk=disk, is_public=public)
    return True


def _image(tenant: Connection, name: str, size: int) -> Any:
    return tenant.image.find_image(name) or tenant.image.create_image(
        name=name, data=b"\0" * size, disk_format="raw", container_format="bare"
    )


def _network(tenant: Connection) -> Any:
    name = "acme-network"
    network = tenant.network.find_network(name) or tenant.network.create_network(name=name)
    if not network.subnet_ids:
        tenant.network.create_subnet(network_id=network.id, ip_version=4, cidr="10.1.0.0/24", is_dhcp_enabled=False)
    return tenant.network.get_network(network.id)


def _volume(tenant: Connection, name: str, size: int, kind: str | None) -> Any:
    given = {"volume_type": kind} if kind else {}
    return tenant.block_storage.find_volume(name) or tenant.block_storage.create_volume(name=name, size=size, **given)


def _server(tenant: Connection, name: str, flavor: str, image: Any, network: Any) -> Any:
    found = tenant.compute.find_server(name)
    if found:
        return found
    size = tenant.compute.find_flavor(flavor, ignore_missing=False)
    return tenant.compute.create_server(
        name=name, flavor_id=size.id, image_id=image.id, networks=[{"uuid": network.id}], key_name="acme-key"
    )
