"""Resources that a Terraform plan creates, changes or destroys, as items of an estimate.

Reads the JSON of `terraform show -json PLAN`, with resources of the OpenStack provider.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

Item = dict[str, Any]

_INSTANCE: Final = "openstack_compute_instance_v2"
_VOLUMES: Final = ("openstack_blockstorage_volume_v2", "openstack_blockstorage_volume_v3")
_FLOATING_IPS: Final = ("openstack_networking_floatingip_v2", "openstack_compute_floatingip_v2")


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
    """Raise `ValueError`, `TypeError`, `KeyError` or `AttributeError` if a resource does not look like one."""
    counts: Counter[tuple[tuple[str, Any], ...]] = Counter()
    unknown = []
    for resource in content.get("resource_changes", []):
        if resource.get("mode") == "data":
            continue
        try:
            changes = list(_changes(resource["type"], resource["change"]))
        except _Unknown as problem:
            unknown.append(f"{resource['address']}: {problem}")
        else:
            for count, item in changes:
                counts[tuple(sorted(item.items()))] += count
    return Plan([{**dict(item), "count": count} for item, count in counts.items() if count], unknown)


def _changes(kind: str, change: dict[str, Any]) -> Iterator[tuple[int, Item]]:
    """Yield what a change removes, as -1, and what it adds, as 1."""
    actions = change["actions"]
    before, after = change.get("before") or {}, change.get("after") or {}
    is_update = "update" in actions
    if is_update or "delete" in actions:
        for item in _items(kind, before, before):
            yield -1, item
    if is_update or "create" in actions:
        for item in _items(kind, after, before):
            yield 1, item
    if kind == _INSTANCE and not is_update:
        # An update leaves the volumes, and a deletion those that are to be kept.
        if "delete" in actions:
            yield from ((-1, item) for item in _boot_volumes(before, kept=False))
        if "create" in actions:
            if (change.get("after_unknown") or {}).get("block_device") is True:
                raise _Unknown("block_device is known only after apply")
            yield from ((1, item) for item in _boot_volumes(after | _region(after, before)))


def _items(kind: str, values: dict[str, Any], before: dict[str, Any]) -> Iterator[Item]:
    region = _region(values, before)
    if kind == _INSTANCE:
        yield {"res_type": "instance", "flavor": _flavor(values, before), **region}
    elif kind in _VOLUMES:
        yield _volume(values.get("size"), values.get("volume_type"), region)
    elif kind == "openstack_lb_loadbalancer_v2":
        yield {"res_type": "loadbalance", **region}
    elif kind in _FLOATING_IPS:
        yield {"res_type": "floating_ip"}


def _flavor(values: dict[str, Any], before: dict[str, Any]) -> Any:
    """Return ID or name; of a changed flavor the one that changed, since the plan keeps the former other one."""
    changed = [name for name in ("flavor_id", "flavor_name") if values.get(name) not in (None, before.get(name))]
    for name in (*changed, "flavor_id", "flavor_name"):
        if values.get(name) is not None:
            return values[name]
    raise _Unknown("flavor_id is known only after apply")


def _boot_volumes(values: dict[str, Any], *, kept: bool = True) -> Iterator[Item]:
    for device in values.get("block_device") or ():
        is_new = device.get("destination_type") == "volume" and device.get("source_type") != "volume"
        if is_new and (kept or device.get("delete_on_termination")):
            yield _volume(device.get("volume_size"), device.get("volume_type"), _region(values, {}))


def _volume(size: Any, volume_type: Any, region: Item) -> Item:
    if size is None:
        raise _Unknown("size is known only after apply")
    return {"res_type": "volume", "size": size, **({"type": volume_type} if volume_type else {}), **region}


def _region(values: dict[str, Any], before: dict[str, Any]) -> Item:
    """Return the region, which stays the same if the plan does not tell it."""
    region = values.get("region") or before.get("region")
    return {"region": region} if region else {}
