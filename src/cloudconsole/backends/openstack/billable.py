"""What of a project's costs money: servers, volumes, images and load balancers, as the services list them."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct, field

from cloudconsole.backends.openstack.flavors import Id
from cloudconsole.backends.openstack.quotas import Count
from cloudconsole.core.resources import Amounts
from cloudconsole.spec.records import ResourceType

_MB_PER_GB: Final = 1024
_BYTES_PER_GB: Final = 1024**3

_ENDED: Final = frozenset({"DELETED", "SOFT_DELETED"})
_WITHOUT_DATA: Final = frozenset(
    {"queued", "saving", "uploading", "importing", "killed", "deleted", "pending_delete"},
)
"""Images whose data are not there yet, are gone, or never came: nothing of them is kept, so nothing counts."""


class BillableResource(Struct, frozen=True):
    """One thing that costs money in one region."""

    region: str
    kind: ResourceType
    id: str
    amounts: Amounts
    type: str | None = None
    """The name of a server's flavor, or of a volume's type."""
    ended_at: float | None = None


class ServerFlavor(Struct, frozen=True):
    """What a server was made of, which stays so whatever becomes of the flavor."""

    original_name: str
    vcpus: Count
    ram: Count


class ListedServer(Struct, frozen=True):
    id: Id
    status: str
    flavor: ServerFlavor
    """Nova leaves it out of a server in a part of the cloud that it cannot reach: then there is no right answer."""
    updated: datetime
    terminated_at: datetime | None = field(name="OS-SRV-USG:terminated_at", default=None)

    @property
    def ended_at(self) -> float | None:
        """When it was deleted, if it is; one that never came to a host has no end but its last change."""
        if self.status not in _ENDED:
            return None
        end = self.terminated_at or self.updated
        return (end if end.tzinfo else end.replace(tzinfo=UTC)).timestamp()


class ListedVolume(Struct, frozen=True):
    id: Id
    size: Count
    volume_type: str | None


class ListedImage(Struct, frozen=True):
    id: Id
    owner: str | None
    status: str
    size: Count | None

    def __post_init__(self) -> None:
        if self.has_data and self.size is None:
            raise ValueError("an image with data has no size")

    @property
    def has_data(self) -> bool:
        return self.status not in _WITHOUT_DATA


class ListedBalancer(Struct, frozen=True):
    id: Id
    project_id: str
    provisioning_status: str


def servers(region: str, listed: Iterable[ListedServer], since: float) -> Iterator[BillableResource]:
    """All that had not ended before `since`, whatever their state; of those listed twice the later listing counts."""
    for server in {server.id: server for server in listed}.values():
        ended_at = server.ended_at
        if ended_at is None or ended_at >= since:
            ram, vcpus = server.flavor.ram, server.flavor.vcpus
            amounts = Amounts(items=1, vcpus=vcpus, ram_mb=ram, ram_gb=_whole(ram, _MB_PER_GB))
            yield BillableResource(region, "instance", server.id, amounts, server.flavor.original_name, ended_at)


def volumes(region: str, listed: Iterable[ListedVolume]) -> Iterator[BillableResource]:
    """Whatever their state: one that failed, or is being deleted, still takes its room."""
    for volume in listed:
        amounts = Amounts(items=1, size_gb=max(volume.size, 1))
        yield BillableResource(region, "volume", volume.id, amounts, volume.volume_type)


def images(region: str, listed: Iterable[ListedImage], project_id: str) -> Iterator[BillableResource]:
    """The project's own that have data."""
    for image in {image.id: image for image in listed}.values():
        if image.owner == project_id and image.has_data:
            amounts = Amounts(items=1, size_gb=max(_whole(image.size or 0, _BYTES_PER_GB), 1))
            yield BillableResource(region, "image", image.id, amounts)


def balancers(region: str, listed: Iterable[ListedBalancer], project_id: str) -> Iterator[BillableResource]:
    """The project's own, whatever their state."""
    for balancer in listed:
        if balancer.project_id == project_id and balancer.provisioning_status != "DELETED":
            yield BillableResource(region, "loadbalance", balancer.id, Amounts(items=1))


def _whole(amount: int, per_unit: int) -> int:
    """Rounded up, and exact however large."""
    return -(-amount // per_unit)
