"""What a project's servers may be made of: the flavors of all its regions, those that are alike as one."""

from collections.abc import Iterable
from typing import Annotated

from msgspec import Meta, Struct, field

from cloudconsole.backends.openstack.quotas import Count
from cloudconsole.core.resources import flavors_record
from cloudconsole.spec.records import Flavor, Flavors

Id = Annotated[str, Meta(min_length=1, max_length=255)]


class ListedFlavor(Struct, frozen=True):
    """Of a flavor in Nova's list, what it is asked for; `disk` is the root disk."""

    id: Id
    name: str
    vcpus: Count
    ram: Count
    disk: Count
    disabled: bool = field(name="OS-FLV-DISABLED:disabled", default=False)


def merge_flavors(regions: Iterable[Iterable[ListedFlavor]]) -> Flavors:
    """One flavor for all of the same name and size, with the id that the first region has it under."""
    found: dict[tuple[int, int, int, str], Flavor] = {}
    for flavors in regions:
        for listed in flavors:
            if not listed.disabled:
                likeness = (listed.vcpus, listed.ram, listed.disk, listed.name)
                flavor = Flavor(listed.id, listed.name, listed.vcpus, listed.ram, listed.disk)
                found.setdefault(likeness, flavor)
    return flavors_record([flavor for _, flavor in sorted(found.items())])
