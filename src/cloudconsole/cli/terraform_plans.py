"""Resources that a Terraform plan creates, changes or destroys, as items of an estimate.

Reads the JSON of `terraform show -json PLAN`, with resources of the OpenStack provider.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

Item = dict[str, Any]

_VOLUMES: Final = ("openstack_blockstorage_volume_v2", "openstack_blockstorage_volume_v3")
_FLOATING_IPS: Final = ("openstack_networking_floatingip_v2", "openstack_compute_floatingip_v2")
_UNCHANGED: Final = ({"no-op"}, {"read"}, {"forget"})


class Plan(NamedTuple):
    items: list[Item]
    """What the plan adds, with negative counts what it removes; equal items are one."""
    unknown: list[str]
    """Resources that cannot be estimated yet, and why."""


class _Unknown(Exception):
    """A value that is known only after apply."""


def is_plan(content: Any) -> bool:
    # A plan without any resources has no changes.
    return isinstance(content, dict) and ("resource_changes" in content or "planned_values" in content)


def read_plan(content: Any) -> Plan:
    """Raise `ValueError` or `TypeError` if a resource does not look like one."""
    counts: Counter[tuple[tuple[str, Any], ...]] = Counter()
    unknown = []
    for resource in content.get("resource_changes", []):
        change = resource["change"]
        if set(change["actions"]) in _UNCHANGED or resource.get("mode") == "data":
            continue
        try:
            for sign, values in ((-1, change.get("before")), (1, change.get("after"))):
                for item in _items(resource["type"], values or {}) if values else ():
                    counts[tuple(sorted(item.items()))] += sign
        except _Unknown as problem:
            unknown.append(f"{resource['address']}: {problem}")
    return Plan([{**dict(item), "count": count} for item, count in counts.items() if count], unknown)


def _items(kind: str, values: dict[str, Any]) -> Iterator[Item]:
    if kind == "openstack_compute_instance_v2":
        flavor = values.get("flavor_name") or values.get("flavor_id")
        yield _item(values, res_type="instance", flavor=_known(flavor, "flavor_name"))
        for device in values.get("block_device") or ():
            if device.get("destination_type") == "volume" and device.get("source_type") != "volume":
                yield _volume(values, device.get("volume_size"), device.get("volume_type"))
    elif kind in _VOLUMES:
        yield _volume(values, values.get("size"), values.get("volume_type"))
    elif kind == "openstack_lb_loadbalancer_v2":
        yield _item(values, res_type="loadbalance")
    elif kind in _FLOATING_IPS:
        yield {"res_type": "floating_ip"}


def _volume(values: dict[str, Any], size: Any, volume_type: Any) -> Item:
    return _item(values, res_type="volume", size=_known(size, "size"), **({"type": volume_type} if volume_type else {}))


def _item(values: dict[str, Any], **fields: Any) -> Item:
    region = values.get("region")
    return fields | ({"region": region} if region else {})


def _known(value: Any, name: str) -> Any:
    if value is None:
        raise _Unknown(f"{name} is known only after apply")
    return value
