"""Display names of fields, values and units; submitted values are unchanged."""

import re
from collections.abc import Mapping
from typing import Final

from cloudconsole.operator.entities.fields_and_filters import InputField
from cloudconsole.operator.entities.prices import unescaped

CURRENCY: Final = "¤"
"""Placeholder for the console's currency in a unit."""

_FIELDS: Final = {
    "advOriginConfigs": "Advanced origin settings",
    "cname": "CNAME",
    "from": "In force from",
    "id": "Id",
    "originDomainName": "Origin domain",
    "originIps": "Origin IP addresses",
    "project": "OpenStack project",
    "ram": "RAM",
    "url": "URL",
    "vcpus": "Cores",
    "visitControlRules": "Access control rules",
}
_QUOTAS: Final = {
    "instances": "Cloud hosts",
    "cores": "Cores",
    "ram": "RAM",
    "volumes": "Cloud disks",
    "gigabytes": "Disks and snapshots",
    "snapshots": "Snapshots",
    "floating_ips": "Floating IPs",
    "security_groups": "Security groups",
    "security_group_rules": "Rules per security group",
    "keypairs": "Key pairs",
    "personality": "Injected files per host",
    "personality_size": "Size of an injected file",
    "image_meta": "Metadata items per image",
    "server_meta": "Metadata items per host",
}
_QUOTA_GROUPS: Final = {
    "Compute": ("instances", "cores", "ram"),
    "Storage": ("volumes", "gigabytes", "snapshots"),
    "Network": ("floating_ips", "security_groups", "security_group_rules"),
    "Limits": ("keypairs", "personality", "personality_size", "image_meta", "server_meta"),
}
_GROUPS: Final[Mapping[tuple[str, str], str]] = {
    **{("quota", name): group for group, names in _QUOTA_GROUPS.items() for name in names},
    **{("resource", name): "For cloud hosts" for name in ("vcpus", "ram", "disk")},
    ("resource", "node"): "For all but security groups and key pairs",
    ("resource", "size"): "For cloud disks, snapshots and images",
}
_UNITS: Final[Mapping[tuple[str, str], str]] = {
    ("quota", "ram"): "MB",
    ("quota", "gigabytes"): "GB",
    ("quota", "personality_size"): "bytes",
    ("flavor", "ram"): "MB",
    ("flavor", "disk"): "GB",
    ("resource", "ram"): "MB",
    ("resource", "disk"): "GB",
    ("resource", "size"): "GB",
    ("price", "price"): f"{CURRENCY} per hour",
}
_KIND_HELP: Final = "a cloud host is an instance on the command line, a cloud disk a volume"
_HELPS: Final[Mapping[tuple[str, str], str]] = {
    ("flavor", "vcpus"): "",
    ("flavor", "ram"): "",
    ("flavor", "disk"): "",
    ("price", "kind"): _KIND_HELP,
    (
        "price",
        "unit",
    ): "cloud hosts are priced each, per core and per GB of RAM (vcpu and ram_gb on the command line); \
images and cloud disks per GB; load balancers each",
    ("price", "type"): "a flavor's name for cloud hosts that are priced each, a volume type's for cloud disks; \
if empty, the price applies to all without a specific price",
    ("price", "node"): "if empty, the price applies to all nodes without a specific price",
    ("price", "price"): "for one unit, with at most nine decimals, such as 0.35",
    ("resource", "kind"): _KIND_HELP,
    **{("resource", name): "" for name in ("vcpus", "ram", "disk", "size")},
    ("resource", "node"): "",
    ("resource", "started"): "now if empty",
    ("resource", "ended"): "empty if the end is not known",
    ("news", "id"): "the next number if empty",
    ("news", "date"): "now if empty; tenants see it from then on",
    ("news", "language"): "of the title; tenants who read the other language find it behind a link; empty for all",
    ("price", "from"): "",
    ("tenant", "name"): "must be unique",
    ("tenant", "project"): "project id, @ and the address of its identity service; empty if there is none",
    ("node", "name"): "must be unique",
    **{(entity, "tenant"): "" for entity in ("resource", "domain", "url")},
    ("url", "type"): "",
}
_CHOICES: Final[Mapping[str, Mapping[str, str]]] = {
    "kind": {
        "instance": "Cloud host",
        "image": "Image",
        "loadbalance": "Load balancer",
        "volume": "Cloud disk",
        "snapshot": "Snapshot",
        "floating_ip": "Floating IP",
        "security_group": "Security group",
        "keypair": "Key pair",
    },
    "unit": {"each": "Each", "vcpu": "Per core", "ram_gb": "Per GB of RAM", "gb": "Per GB"},
    "language": {"en": "English", "zh": "Chinese"},
    "role": {"tenant": "Tenant", "operator": "Operator"},
    "type": {"link": "Link", "directory": "Directory"},
    "log": {"changes": "Operators’ changes", "access": "Logins and logouts"},
}
_PRICED: Final = {
    ("instance", "each"): "Cloud host",
    ("instance", "vcpu"): "Core of a cloud host",
    ("instance", "ram_gb"): "GB of RAM of a cloud host",
    ("image", "gb"): "GB of an image",
    ("loadbalance", "each"): "Load balancer",
    ("volume", "gb"): "GB of a cloud disk",
}

_TYPES: Final = {"instance": "flavor", "volume": "type"}


def label_of(name: str, entity: str | None = None) -> str:
    """Return `Service areas` for `serviceAreas`, `Disks and snapshots` for a quota's `gigabytes`."""
    spaced = re.sub(r"[A-Z]", lambda capital: f" {capital.group().lower()}", name).replace("_", " ")
    words = {**_FIELDS, **_QUOTAS} if entity == "quota" else _FIELDS
    return words.get(name, spaced.capitalize())


def help_of(entity: str, given: InputField) -> str:
    """Return the help below a field; for a quota with its command-line name, if different."""
    if entity != "quota":
        return _HELPS.get((entity, given.name), given.help)
    label = label_of(given.name, entity)
    is_alike = label.lower().replace(" ", "_") == given.name
    return given.help + ("" if is_alike else f"; {given.name} on the command line")


def unit_of(entity: str, name: str) -> str:
    return _UNITS.get((entity, name), "")


def group_of(entity: str, name: str) -> str:
    """Return the form group of a field; empty if there is none."""
    return _GROUPS.get((entity, name), "")


def choice_label(value: object, field: str) -> object:
    """Return `Load balancer` for `loadbalance`; other values unchanged."""
    return _CHOICES.get(field, {}).get(value, value) if isinstance(value, str) else value


def price_name(key: str, moment: str) -> str:
    """Return `Core of a cloud host on fra-1, from 2026-01-01 00:00` for a price's key and its formatted time."""
    what, unit, _, node, *_ = (*key.split("/", 3), "", "", "", "")
    kind, _, escaped = what.partition(":")
    priced = _PRICED.get((kind, unit))
    if priced is None:
        return key
    of_type = f" of the {_TYPES.get(kind, 'type')} {unescaped(escaped)}" if escaped else ""
    return f"{priced}{of_type}{f' on {node}' if node else ''}, from {moment}"
