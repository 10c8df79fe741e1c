"""What a region offers, and what its tenants have of it; asked for all at once, waited for at the end."""

from typing import Any

from openstack.connection import Connection

from lab.cloud import identity_of

FLAVORS = (
    ("m1.tiny", 512, 1, 1),
    ("m1.small", 2048, 1, 20),
    ("m1.medium", 4096, 2, 40),
)
PRIVATE_FLAVOR = ("acme.large", 8192, 4, 80)
ONLY_IN_SECOND = ("m2.small", 3072, 1, 30)
PATIENCE = 120


def offer(admin: Connection, first: bool) -> None:
    """Flavors, volume types, an external network, and quotas that are not the usual ones."""
    acme = identity_of(admin).find_project("acme", ignore_missing=False)
    globex = identity_of(admin).find_project("globex", ignore_missing=False)
    for flavor in FLAVORS if first else (*FLAVORS, ONLY_IN_SECOND):
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


def use(acme: Connection, first: bool) -> None:
    """One of everything for the larger tenant, and two servers in the second region."""
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
        acme.block_storage.wait_for_status(volume, "available", ["error"], interval=0.3, wait=PATIENCE)
    if not acme.block_storage.find_snapshot("acme-snapshot"):
        snapshot = acme.block_storage.create_snapshot(volume_id=volumes[0].id, name="acme-snapshot")
        acme.block_storage.wait_for_status(snapshot, "available", ["error"], interval=0.3, wait=PATIENCE)
    for server in servers:
        acme.compute.wait_for_server(server, interval=0.3, wait=PATIENCE)
    acme.load_balancer.wait_for_load_balancer(load_balancer.id, interval=1, wait=PATIENCE)


def use_little(globex: Connection, first: bool) -> None:
    """A volume for the smaller tenant, and an image in the second region."""
    volume = _volume(globex, "globex-data", 1 if first else 4, None)
    if not first:
        _image(globex, "globex-image", 2048)
    globex.block_storage.wait_for_status(volume, "available", ["error"], interval=0.3, wait=PATIENCE)


def _flavor(admin: Connection, flavor: tuple[str, int, int, int], public: bool) -> bool:
    """Make a flavor; the answer is whether there was none."""
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
