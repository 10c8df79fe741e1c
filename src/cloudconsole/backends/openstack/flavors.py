"""The flavors of all regions of a project, merged."""

from collections.abc import Iterable
from typing import Annotated

from msgspec import Meta, Struct, field

from cloudconsole.backends.openstack.quotas import Count
from cloudconsole.core.resources import flavors_record
from cloudconsole.spec.records import Flavor, Flavors

Id = Annotated[str, Meta(min_length=1, max_length=255)]


class ListedFlavor(Struct, frozen=True):
    """The required fields of a flavor in Nova's list; `disk` is the root disk."""

    id: Id
    name: str
    vcpus: Count
    ram: Count
    disk: Count
    disabled: bool = field(name="OS-FLV-DISABLED:disabled", default=False)


def merge_flavors(regions: Iterable[Iterable[ListedFlavor]]) -> Flavors:
    """Merge flavors of the same name and size, with the id of the first region."""
    merged: dict[tuple[int, int, int, str], Flavor] = {}
    for flavors in regions:
        for listed in flavors:
            if not listed.disabled:
                key = (listed.vcpus, listed.ram, listed.disk, listed.name)
                flavor = Flavor(listed.id, listed.name, listed.vcpus, listed.ram, listed.disk)
                merged.setdefault(key, flavor)
    return flavors_record([flavor for _, flavor in sorted(merged.items())])
