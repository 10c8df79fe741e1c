"""Billable resources of a project: servers, volumes, images and load balancers, as listed by the services."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct, field

from cloudconsole.backends.openstack.flavors import Id
from cloudconsole.backends.openstack.quotas import Count
from cloudconsole.core.resources import Amounts, BillableResource

_MB_PER_GB: Final = 1024
_BYTES_PER_GB: Final = 1024**3

_ENDED: Final = frozenset({"DELETED", "SOFT_DELETED"})
_WITHOUT_DATA: Final = frozenset(
    {"queued", "saving", "uploading", "importing", "killed", "deleted", "pending_delete"},
)
"""States of images without stored data, which are not billed."""


class ServerFlavor(Struct, frozen=True):
    """The flavor a server was created with, independent of later changes of that flavor."""

    original_name: str
    vcpus: Count
    ram: Count


class ListedServer(Struct, frozen=True):
    id: Id
    status: str
    flavor: ServerFlavor
    """Required: Nova omits it for servers in cells that are down, and then no correct result is possible."""
    updated: datetime
    terminated_at: datetime | None = field(name="OS-SRV-USG:terminated_at", default=None)
    name: str | None = None
    created: datetime | None = None

    @property
    def ended_at(self) -> float | None:
        """The time of deletion, or None; for a server that never had a host, its last change."""
        if self.status not in _ENDED:
            return None
        return _seconds(self.terminated_at or self.updated)


class ListedVolume(Struct, frozen=True):
    id: Id
    size: Count
    volume_type: str | None
    name: str | None = None
    created_at: datetime | None = None


class ListedImage(Struct, frozen=True):
    id: Id
    owner: str | None
    status: str
    size: Count | None
    name: str | None = None
    created_at: datetime | None = None

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
    name: str | None = None
    created_at: datetime | None = None


def servers(region: str, listed: Iterable[ListedServer], since: float) -> Iterator[BillableResource]:
    """Yield servers that had not ended before `since`, in any state; later entries replace earlier ones."""
    for server in {server.id: server for server in listed}.values():
        ended_at = server.ended_at
        if ended_at is None or ended_at >= since:
            ram, vcpus = server.flavor.ram, server.flavor.vcpus
            amounts = Amounts(items=1, vcpus=vcpus, ram_mb=ram, ram_gb=_round_up(ram, _MB_PER_GB))
            yield BillableResource(
                region,
                "instance",
                server.id,
                amounts,
                server.flavor.original_name,
                ended_at,
                server.name or "",
                _seconds(server.created),
            )


def volumes(region: str, listed: Iterable[ListedVolume]) -> Iterator[BillableResource]:
    """Yield volumes in any state: a failed one, or one being deleted, still uses space."""
    for volume in listed:
        amounts = Amounts(items=1, size_gb=max(volume.size, 1))
        created_at = _seconds(volume.created_at)
        yield BillableResource(
            region, "volume", volume.id, amounts, volume.volume_type, name=volume.name or "", created_at=created_at
        )


def images(region: str, listed: Iterable[ListedImage], project_id: str) -> Iterator[BillableResource]:
    """Yield the project's own images that have data."""
    for image in {image.id: image for image in listed}.values():
        if image.owner == project_id and image.has_data:
            amounts = Amounts(items=1, size_gb=max(_round_up(image.size or 0, _BYTES_PER_GB), 1))
            created_at = _seconds(image.created_at)
            yield BillableResource(region, "image", image.id, amounts, name=image.name or "", created_at=created_at)


def balancers(region: str, listed: Iterable[ListedBalancer], project_id: str) -> Iterator[BillableResource]:
    """Yield the project's own load balancers that are not deleted."""
    for balancer in listed:
        if balancer.project_id == project_id and balancer.provisioning_status != "DELETED":
            name, created_at = balancer.name or "", _seconds(balancer.created_at)
            yield BillableResource(
                region, "loadbalance", balancer.id, Amounts(items=1), name=name, created_at=created_at
            )


def _round_up(amount: int, per_unit: int) -> int:
    """Divide and round up, in exact integer arithmetic."""
    return -(-amount // per_unit)


def _seconds(moment: datetime | None) -> float | None:
    """Return a time of the cloud, which is UTC if it does not say so."""
    return None if moment is None else (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
