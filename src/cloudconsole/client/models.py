"""Typed results of the six actions; `raw` is the data as received, including unknown fields.

Not `spec.records`, which define the JSON that the server sends: here, names follow Python, amounts are Decimal,
times are datetime, and `decoding` accepts the deviations of other consoles.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any


@dataclass(frozen=True, slots=True)
class Quota:
    """Usage and limit of one quota."""

    used: int
    limit: int | None
    """None if unlimited."""

    @property
    def is_unlimited(self) -> bool:
        """Whether there is no limit."""
        return self.limit is None

    @property
    def free(self) -> int | None:
        """The remaining amount, at least 0; None if unlimited."""
        return None if self.limit is None else max(0, self.limit - self.used)

    @property
    def share(self) -> float | None:
        """The used fraction, 1.0 for all; None if unlimited, or if limit and usage are 0."""
        if self.limit is None or (self.limit == 0 and self.used == 0):
            return None
        try:
            return self.used / self.limit
        except (ZeroDivisionError, OverflowError):
            return float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageLimits:
    """Quotas and usage. Sizes are in the units that `Console.about()` returns."""

    instances: Quota
    cores: Quota
    ram: Quota
    volumes: Quota
    gigabytes: Quota
    """Size of volumes and their snapshots."""
    snapshots: Quota
    floating_ips: Quota
    security_groups: Quota
    security_group_rules: int | None
    """A limit without usage, like those below; None if unlimited."""
    keypairs: int | None
    personality: int | None
    personality_size: int | None
    image_meta: int | None
    server_meta: int | None
    raw: dict[str, Any] = field(repr=False, compare=False)

    def quotas(self) -> dict[str, Quota]:
        """Return the quotas that have usage, by name."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in values.items() if isinstance(value, Quota)}

    def bounds(self) -> dict[str, int | None]:
        """Return the limits without usage, by name."""
        values = {name: getattr(self, name) for name in self.__slots__ if name != "raw"}
        return {name: value for name, value in values.items() if not isinstance(value, Quota)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Flavor:
    """One virtual-machine configuration."""

    id: str
    name: str
    vcpus: int
    ram: int
    disk: int
    """0 without a system disk."""
    raw: dict[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flavors:
    """All configurations, the selectable values, and the RAM sizes that each core count allows."""

    flavors: tuple[Flavor, ...]
    vcpus: tuple[int, ...]
    ram: tuple[int, ...]
    limits: dict[int, tuple[int, ...]]
    raw: dict[str, Any] = field(repr=False, compare=False)

    def __iter__(self) -> Iterator[Flavor]:
        return iter(self.flavors)

    def __len__(self) -> int:
        return len(self.flavors)

    def allows(self, vcpus: int, ram: int) -> bool:
        """Whether the core count allows this RAM size."""
        return ram in self.limits.get(vcpus, ())

    def choices(self) -> dict[int, tuple[int, ...]]:
        """Return the allowed RAM sizes for each core count, ascending."""
        return {vcpus: tuple(sorted(self.limits[vcpus])) for vcpus in sorted(self.limits)}

    def matching(self, *, vcpus: int | None = None, ram: int | None = None) -> tuple[Flavor, ...]:
        """Return the flavors with these cores and this RAM that the limits allow."""
        return tuple(
            flavor
            for flavor in self.flavors
            if vcpus in (None, flavor.vcpus) and ram in (None, flavor.ram) and self.allows(flavor.vcpus, flavor.ram)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Url:
    """One of the commonly used URLs."""

    id: str
    type: str
    url: str
    raw: dict[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a domain's content comes from."""

    ips: tuple[str, ...]
    advanced: Any
    domain_name: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """One CDN domain."""

    id: str
    name: str
    comment: str
    service_areas: list[str]
    service_type: str
    enabled: bool
    cname: str
    status: str
    cache_behaviors: list[Any]
    visit_control_rules: list[Any]
    origin: Origin
    query_string_settings: str | None
    raw: dict[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewsItem:
    """One announcement."""

    date: datetime
    """In the console's time zone if `Console.about()` names one, else naive."""
    title: str
    url: str
    raw: dict[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Exact cost of one kind of resource; the total has the kind `total`."""

    res_type: str
    hour: Decimal
    day: Decimal
    month: Decimal
    year: Decimal
    raw: dict[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumption:
    """Estimated costs, one for each kind with a cost."""

    items: tuple[Cost, ...]
    total: Cost
    currency: str | None
    """None if the console does not report it."""

    def __iter__(self) -> Iterator[Cost]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """Units of sizes."""

    ram: str
    disk: str
    volume: str
    personality: str


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """A console's self-description; other implementations may omit all of it."""

    actions: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    currency: str | None = None
    time_zone: str | None = None
    month_days: int | None = None
    units: Units | None = None
    extensions: tuple[str, ...] = ()
    """Names of further actions that the console has."""
