"""Payload types of the built-in extensions, with field docs."""

from typing import Annotated, Final, Literal

from msgspec import Struct, field

from cloudconsole.spec.records import DECIMAL, SIGNED_DECIMAL, TIMESTAMP, BillableType, field_doc

PricedUnit = Literal["each", "vcpu", "ram_gb", "gb"]


class DomainItem(Struct, frozen=True):
    """One of the tenant's domains; GetDomainDetail returns all of its fields."""

    domain_id: Annotated[str, field_doc("Its ID; the list is ordered by it.")] = field(name="domainId")
    domain_name: Annotated[str, field_doc("The CDN domain.")] = field(name="domainName")
    enabled: Annotated[Literal["true", "false"], field_doc('The text `"true"` or `"false"`, as in GetDomainDetail.')]
    status: Annotated[str, field_doc("As the operator recorded it; accept any value.")]
    service_type: Annotated[str, field_doc("As the operator recorded it; accept any value.")] = field(
        name="serviceType"
    )


NewsLanguage = Literal["en", "zh"]


class Announcement(Struct, frozen=True):
    """One announcement, with what pages need to present it."""

    id: Annotated[int, field_doc("Its number, which stays the same when it changes.")]
    date: Annotated[str, field_doc("As in GetNews.", pattern=TIMESTAMP)]
    url: Annotated[str, field_doc("Link to the full text.")]
    title: Annotated[str, field_doc("Its title.")]
    language: Annotated[NewsLanguage | None, field_doc("The language of the title; null if it is for readers of both.")]
    pinned: Annotated[bool, field_doc("Whether it is important, such as a maintenance notice.")]


class PriceItem(Struct, frozen=True):
    """One price, in force or to come."""

    res_type: Annotated[BillableType, field_doc("The kind of resource.")]
    unit: Annotated[
        PricedUnit,
        field_doc(
            "What the price is for: one resource (`each`), one core (`vcpu`), or one GB of RAM (`ram_gb`) or of size "
            "(`gb`)."
        ),
    ]
    region: Annotated[str | None, field_doc("The node; null for all nodes without a price of their own.")]
    type: Annotated[
        str | None,
        field_doc("The flavor or volume type whose whole price this is, in a cloud that has types; null for all."),
    ]
    price: Annotated[str, field_doc("Per hour and unit, as decimal text.", unit="currency", pattern=DECIMAL)]
    start_at: Annotated[
        str, field_doc("From when it applies: `YYYY-MM-DD HH:MM:SS` in the operator's time zone.", pattern=TIMESTAMP)
    ]
    end_at: Annotated[
        Annotated[str, field_doc("A time.", pattern=TIMESTAMP)] | None,
        field_doc("When the next price replaces it; null if none does."),
    ]
    in_force: Annotated[bool, field_doc("Whether it applies now; false if it is still to come.")]


EstimatedType = Literal["instance", "image", "loadbalance", "volume", "floating_ip"]

_Change = Annotated[str, field_doc("An amount.", unit="currency", pattern=SIGNED_DECIMAL)] | None


class EstimatedItem(Struct, frozen=True):
    """The cost of one requested item, all of its `count` together."""

    res_type: Annotated[EstimatedType, field_doc("The kind of resource.")]
    count: Annotated[int, field_doc("As requested.")]
    hour: Annotated[_Change, field_doc("Per hour, as decimal text; null if there is no price.", unit="currency")]
    day: Annotated[_Change, field_doc("`hour` × 24.", unit="currency")]
    month: Annotated[_Change, field_doc("`day` × 30.", unit="currency")]
    year: Annotated[_Change, field_doc("`day` × 365.", unit="currency")]


QuotaName = Literal["instances", "cores", "ram", "volumes", "gigabytes", "floating_ips"]


class QuotaNeed(Struct, frozen=True):
    """What a request needs of one quota."""

    quota: Annotated[QuotaName, field_doc("Its name.")]
    limit: Annotated[int, field_doc("The quota; `-1` if unlimited.")]
    used: Annotated[int, field_doc("In use now.")]
    free: Annotated[int | None, field_doc("The rest, at least 0; null if unlimited.")]
    needed: Annotated[int, field_doc("What the items need together; negative if they free some.")]
    lacking: Annotated[int, field_doc("By how much `needed` exceeds what is free; 0 if it fits.")]


class Estimate(Struct, frozen=True):
    """`data` of GetEstimate: cost of the items, and what they need of the quotas."""

    items: Annotated[list[EstimatedItem], field_doc("In the order of the request.")]
    hour: Annotated[_Change, field_doc("The sum of the items; null if one has no price.", unit="currency")]
    day: Annotated[_Change, field_doc("`hour` × 24.", unit="currency")]
    month: Annotated[_Change, field_doc("`day` × 30.", unit="currency")]
    year: Annotated[_Change, field_doc("`day` × 365.", unit="currency")]
    hours: Annotated[int | None, field_doc("As requested, or null.")]
    cost: Annotated[_Change, field_doc("`hour` × `hours`; null without either.", unit="currency")]
    is_priced: Annotated[bool, field_doc("Whether all items have a price.")] = field(name="priced")
    fits: Annotated[bool, field_doc("Whether no quota is lacking.")]
    quotas: Annotated[list[QuotaNeed], field_doc("All quotas that items can use.")]


BillingType = Literal["hourly", "correction"]
ConsumptionType = Literal["instance", "image", "loadbalance", "volume", "gap"]
GAP: Final = "gap"
SummaryType = Literal["instance", "image", "loadbalance", "volume", "allcategories"]

_Amount = Annotated[str, field_doc("An amount.", unit="currency", pattern=SIGNED_DECIMAL)] | None


class ConsumptionSummaryItem(Struct, frozen=True):
    """What one kind of resource has cost so far."""

    res_type: Annotated[
        SummaryType,
        field_doc("The kind of resource; `allcategories` in the last row, the sum."),
    ]
    count: Annotated[int, field_doc("Resources that have existed, also those that have ended or were removed.")]
    amount: Annotated[_Amount, field_doc("Their cost, as decimal text; null if nothing is recorded.", unit="currency")]


class ResourceSize(Struct, frozen=True):
    """The size of a resource; what does not apply to its kind is 0."""

    vcpus: Annotated[int, field_doc("Cores of an instance.")]
    memory_gb: Annotated[int, field_doc("RAM of an instance, rounded up.", unit="GB")]
    size_gb: Annotated[int, field_doc("Size of a disk or an image.", unit="GB")]


class Consumption(Struct, frozen=True):
    """What one resource has cost while its size, node and price stayed the same."""

    res_type: Annotated[
        ConsumptionType,
        field_doc("The kind of resource; `gap` for hours of unknown cost: the OpenStack cloud was not read."),
    ]
    res_meta: Annotated[ResourceSize, field_doc("Its size.")]
    start_at: Annotated[str, field_doc("Beginning of the first hour, in the console's time zone.")]
    end_at: Annotated[str, field_doc("End of the last hour, in the console's time zone.")]
    name: Annotated[str, field_doc("Name of the resource.")]
    region: Annotated[str, field_doc("Its node, or empty text.")]
    unit_price: Annotated[str, field_doc("Cost of the resource per hour, as decimal text.", unit="currency")]
    billing_type: Annotated[
        BillingType, field_doc("`hourly`, or `correction` for a later change that affects closed months.")
    ]
    amount: Annotated[str, field_doc("`unit_price` times hours, or the correction.", unit="currency")]
    remarks: Annotated[
        str, field_doc("Of a correction, its cause: `start`, `change`, `end`, `remove` or `price`; otherwise empty.")
    ]
    billing_id: Annotated[
        str, field_doc("The month whose bill has this row, `YYYY-MM`.", pattern="^[0-9]{4}-[0-9]{2}$")
    ]
    cost_time: Annotated[
        str, field_doc("Billed time, a multiple of 3600, as text; `0` for a correction.", unit="seconds")
    ]
    res_id: Annotated[
        str, field_doc("ID of the resource; empty for the correction of a price, and for what `recount` found.")
    ]
    id: Annotated[str, field_doc("ID of the row, for `marker`.")]
    is_billing: Annotated[bool, field_doc("Whether the resource still runs at this price.")]


class MonthlyBill(Struct, frozen=True):
    """The cost of one month."""

    bill_month: Annotated[str, field_doc("`YYYY-MM`.", pattern="^[0-9]{4}-[0-9]{2}$")]
    total: Annotated[_Amount, field_doc("Its cost, as decimal text; null if nothing is recorded.", unit="currency")]
    corrections: Annotated[
        _Amount, field_doc("The part of it that is corrections for earlier months; null with `total`.", unit="currency")
    ]
    is_complete: Annotated[bool, field_doc("Whether all of the month is recorded, up to now.")] = field(name="complete")


class Forecast(Struct, frozen=True):
    """`data` of GetForecast: the current month."""

    month: Annotated[str, field_doc("`YYYY-MM`.", pattern="^[0-9]{4}-[0-9]{2}$")]
    so_far: Annotated[_Amount, field_doc("Cost of its hours so far, the current one included.", unit="currency")]
    rest: Annotated[_Amount, field_doc("`hours_left` times the cost per hour of what runs now.", unit="currency")]
    total: Annotated[_Amount, field_doc("`so_far` + `rest`.", unit="currency")]
    hours_left: Annotated[int, field_doc("Hours of the month after the current one.")]
    is_complete: Annotated[bool, field_doc("Whether all of the month so far is recorded.")] = field(name="complete")


class CostExport(Struct, frozen=True):
    """`data` of GetCostExport: one page of rows."""

    columns: Annotated[list[str], field_doc("The names of the columns, the same on every page.")]
    rows: Annotated[list[list[str]], field_doc("The values of each row, in the order of `columns`.")]
    next_marker: Annotated[str | None, field_doc("`marker` of the next page; null on the last page.")]
