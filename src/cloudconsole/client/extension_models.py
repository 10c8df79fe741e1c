"""Typed results of the extensions, as in `models`."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Required, TypedDict

from cloudconsole.client.models import Cost
from cloudconsole.spec.extension_records import EstimatedType


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainSummary:
    """One of the tenant's domains, as listed."""

    id: str
    name: str
    enabled: bool
    status: str
    service_type: str
    raw: dict[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """One announcement, with its language and importance."""

    id: int
    date: datetime
    """In the console's time zone if `Console.about()` names one, else naive."""
    title: str
    url: str
    language: str | None
    """`en` or `zh`; None if it is for readers of both."""
    pinned: bool
    """Whether it is important."""
    raw: dict[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """One price per hour and unit, in force or to come."""

    res_type: str
    unit: str
    """`each`, `vcpu`, `ram_gb` or `gb`."""
    region: str | None
    """The node; None for all nodes without a price of their own."""
    type: str | None
    """The flavor or volume type; None for all."""
    price: Decimal
    start: datetime
    """In the console's time zone if `Console.about()` names one, else naive; like `end`."""
    end: datetime | None
    in_force: bool
    raw: dict[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaNeed:
    """What a request needs of one quota."""

    quota: str
    limit: int | None
    """None if unlimited, like `free`."""
    used: int
    free: int | None
    needed: int
    lacking: int


class EstimateItem(TypedDict, total=False):
    """Resources to estimate, as sent to GetEstimate."""

    res_type: Required[EstimatedType]
    flavor: str
    """The ID or the name of a flavor; required for an instance, and only there."""
    size: int
    """In GB; required for a volume or an image, and only there."""
    type: str
    """The volume type."""
    count: int
    """How many; negative for resources that are to be removed."""
    region: str
    """The node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Cost of requested resources, and what they need of the quotas."""

    items: tuple[Cost | None, ...]
    """In the order of the request; None for an item without a price."""
    total: Cost | None
    """None if an item has no price."""
    hours: int | None
    cost: Decimal | None
    """For the given hours; None without hours or a price."""
    quotas: tuple[QuotaNeed, ...]
    fits: bool
    """Whether no quota is lacking."""
    currency: str | None
    raw: dict[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostSummary:
    """What resources of one kind have cost so far; all together with the kind `allcategories`."""

    res_type: str
    count: int
    amount: Decimal | None
    """None if nothing is recorded."""
    raw: dict[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceCost:
    """What one resource has cost while its size, node and price stayed the same, or a correction of closed months."""

    res_type: str
    """The kind of resource; `gap` for hours of an OpenStack project whose cost is not known."""
    res_id: str
    name: str
    region: str
    vcpus: int
    memory_gb: int
    size_gb: int
    start: datetime
    """In the console's time zone if `Console.about()` names one, else naive; like `end`."""
    end: datetime
    duration: timedelta
    """The time that is billed, in whole hours; not the difference of `start` and `end` when the clock is set."""
    unit_price: Decimal
    """Per hour."""
    amount: Decimal
    correction: str
    """What was changed later for closed months; empty for the cost of hours."""
    month: str
    """The month that has this cost, such as `2026-01`."""
    billing: bool
    """Whether the resource still runs at this price."""
    raw: dict[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthlyBill:
    """The cost of one month."""

    month: str
    """Such as `2026-01`."""
    total: Decimal | None
    """None if nothing is recorded."""
    corrections: Decimal | None
    """The part of it that is corrections for earlier months."""
    complete: bool
    """Whether all of the month is recorded, up to now."""
    raw: dict[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The cost of the current month if nothing changes; None where nothing is recorded."""

    month: str
    so_far: Decimal | None
    rest: Decimal | None
    total: Decimal | None
    hours_left: int
    complete: bool
    currency: str | None
    raw: dict[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostExport:
    """What each resource has cost in a month, as rows of a CSV file; iterable by row."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """Values in the order of the columns."""
    raw: dict[str, Any] = field(repr=False, compare=False)
    """The first page."""

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)
