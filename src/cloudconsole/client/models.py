"""What the actions answer, as a person wants it; `raw` is what came, with whatever else the console sent."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any


@dataclass(frozen=True, slots=True)
class Quota:
    """What is in use of one quota."""

    used: int
    limit: int | None
    """None where there is no limit."""

    @property
    def is_unlimited(self) -> bool:
        return self.limit is None

    @property
    def free(self) -> int | None:
        """What may still be added; 0 where more is in use than the limit, None where there is no limit."""
        return None if self.limit is None else max(0, self.limit - self.used)

    @property
    def share(self) -> float | None:
        """How much of it is in use, 1.0 for all; None where there is no limit, or one of 0 with nothing in use."""
        if self.limit is None or (self.limit == 0 and self.used == 0):
            return None
        try:
            return self.used / self.limit
        except (ZeroDivisionError, OverflowError):
            return float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageLimits:
    """Quotas and usage. Sizes are in the console's units: `Console.about()` tells them."""

    instances: Quota
    cores: Quota
    ram: Quota
    volumes: Quota
    gigabytes: Quota
    """Of volumes and their snapshots."""
    snapshots: Quota
    floating_ips: Quota
    security_groups: Quota
    security_group_rules: int | None
    """A limit without a counter, like those below; None where there is no limit."""
    keypairs: int | None
    personality: int | None
    personality_size: int | None
    image_meta: int | None
    server_meta: int | None
    raw: dict[str, Any] = field(repr=False, compare=False)

    def quotas(self) -> dict[str, Quota]:
        """Those that are counted, by name."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in values.items() if isinstance(value, Quota)}

    def bounds(self) -> dict[str, int | None]:
        """Those that are only limits, by name."""
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
    """All configurations, the values to choose from, and which RAM goes with which cores."""

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
        """Whether this RAM goes with these cores."""
        return ram in self.limits.get(vcpus, ())

    def choices(self) -> dict[int, tuple[int, ...]]:
        """For each core count that can be chosen, ascending, the RAM that goes with it."""
        return {vcpus: tuple(sorted(self.limits[vcpus])) for vcpus in sorted(self.limits)}

    def matching(self, *, vcpus: int | None = None, ram: int | None = None) -> tuple[Flavor, ...]:
        """The flavors with these cores and this RAM that the limits allow."""
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
    """One accelerated domain."""

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
    """With the console's time zone where `Console.about()` names one, else without any."""
    title: str
    url: str
    raw: dict[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one kind of resource costs, exactly; the total's kind is `total`."""

    res_type: str
    hour: Decimal
    day: Decimal
    month: Decimal
    year: Decimal
    raw: dict[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumption:
    """The estimated costs, one for each kind that costs something."""

    items: tuple[Cost, ...]
    total: Cost
    currency: str | None
    """None where the console does not say."""

    def __iter__(self) -> Iterator[Cost]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """The units that sizes are in."""

    ram: str
    disk: str
    volume: str
    personality: str


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a console says of itself; other consoles may say none of it."""

    actions: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    currency: str | None = None
    time_zone: str | None = None
    month_days: int | None = None
    units: Units | None = None
