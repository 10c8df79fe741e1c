"""The built-in extensions: actions in addition to the six, which a console may have or not."""

from datetime import date
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from cloudconsole.spec.actions import Action
from cloudconsole.spec.errors import FlavorNotFound, NodeNotFound
from cloudconsole.spec.extension_records import (
    Announcement,
    Consumption,
    ConsumptionSummaryItem,
    CostExport,
    DomainItem,
    Estimate,
    Forecast,
    MonthlyBill,
    PriceItem,
)
from cloudconsole.spec.i18n import Text
from cloudconsole.spec.records import field_doc

MAX_PAGE: Final = 1000

_END: Final = r"(?![\s\S])"
"""The end of a text. In Python, `$` also matches before a final line break."""
NO_CONTROLS: Final = rf"^[^\u0000-\u001f\u007f-\u009f]*{_END}"


PageLimit = Annotated[
    int, Meta(ge=1, le=MAX_PAGE, description=f"Maximum number of items, 1 to {MAX_PAGE}; 100 unless given.")
]


def _marker(max_length: int, value: str) -> Meta:
    return Meta(
        max_length=max_length,
        pattern=NO_CONTROLS,
        description=f"{value} of the previous page; absent for the first page.",
    )


class DomainsParameters(Struct, frozen=True):
    limit: PageLimit = 100
    marker: Annotated[str, _marker(64, "The last `domainId`")] = ""


GET_DOMAINS = Action(
    name="GetDomains",
    purpose=Text("The tenant's CDN domains, in pages.", "租户的加速域名，分页返回。"),
    record=list[DomainItem],
    success=Text("Domains.", "获取域名列表成功"),
    parameters=DomainsParameters,
    notes=("Ordered by `domainId`. A page with fewer items than `limit` is the last.",),
)
GET_PRICES = Action(
    name="GetPrices",
    purpose=Text(
        "The prices that apply to the tenant's resources, now and later.", "适用于租户资源的现行价格与将生效的价格。"
    ),
    record=list[PriceItem],
    success=Text("Prices.", "获取价格成功"),
    notes=(
        "A resource costs, per hour, the price of its type times its units, or, without one, the sum of its kind's "
        "prices, each times its units. A node's own price replaces the one for all nodes from its start on.",
        "Ordered by kind, unit, node, type and start. Prices that have been replaced are not listed.",
    ),
)

Count = Annotated[
    int,
    Meta(
        ge=-100_000,
        le=100_000,
        description="How many, -100000 to 100000; 1 unless given. Negative for resources that are to be removed.",
    ),
]
Size = Annotated[int, Meta(ge=1, le=100_000_000, description="Size of each.", extra_json_schema={"x-unit": "GB"})]
Node = Annotated[str, Meta(max_length=255, description="The node; unless given, only prices for all nodes apply.")]
TypeName = Annotated[str, Meta(min_length=1, max_length=255)]


class InstanceRequest(Struct, frozen=True, tag_field="res_type", tag="instance"):
    """Instances of one flavor."""

    flavor: Annotated[TypeName, field_doc("The ID or the name of a flavor of GetFlavors.")]
    count: Count = 1
    region: Node = ""


class VolumeRequest(Struct, frozen=True, tag_field="res_type", tag="volume"):
    """Volumes of one size."""

    size: Size
    type: Annotated[str, Meta(max_length=255, description="The volume type, in a cloud that has types; optional.")] = ""
    count: Count = 1
    region: Node = ""


class ImageRequest(Struct, frozen=True, tag_field="res_type", tag="image"):
    """Images of one size."""

    size: Size
    count: Count = 1
    region: Node = ""


class LoadBalancerRequest(Struct, frozen=True, tag_field="res_type", tag="loadbalance"):
    """Load balancers."""

    count: Count = 1
    region: Node = ""


class FloatingIpRequest(Struct, frozen=True, tag_field="res_type", tag="floating_ip"):
    """Floating IPs, which have no price but use a quota."""

    count: Count = 1


RequestedItem = InstanceRequest | VolumeRequest | ImageRequest | LoadBalancerRequest | FloatingIpRequest

MAX_ITEMS: Final = 1000


class EstimateParameters(Struct, frozen=True):
    items: Annotated[
        tuple[RequestedItem, ...],
        Meta(min_length=1, max_length=MAX_ITEMS, description=f"What to estimate, 1 to {MAX_ITEMS} items."),
    ]
    hours: Annotated[
        int, Meta(ge=0, le=87_840, description="How long they are to run, up to 87840 hours, for `cost`; optional.")
    ] = 0


GET_ESTIMATE = Action(
    name="GetEstimate",
    purpose=Text(
        "What resources would cost, and whether the tenant's quotas allow them.", "拟创建资源的费用，以及配额是否足够。"
    ),
    record=Estimate,
    success=Text("Estimate.", "获取费用估算成功"),
    parameters=EstimateParameters,
    notes=(
        "At the prices in force now, by the rules of GetConsumptionsEstimated: once the resources exist on the given "
        "nodes and with the given types, its amounts grow by exactly these.",
        "An item without a price is no error: its amounts and the sums are null.",
        "Only the quotas of instances, volumes and floating IPs are considered, in a cloud of several regions "
        "their sums, as in GetUsageLimits; the cloud may have other limits.",
    ),
    errors=(FlavorNotFound, NodeNotFound),
)


OnlyNode = Annotated[str, Meta(max_length=255, pattern=NO_CONTROLS, description="Only this node; optional.")]


class SummaryParameters(Struct, frozen=True):
    region: OnlyNode = ""


MAX_DAYS: Final = 366


class ConsumptionsParameters(Struct, frozen=True):
    region: OnlyNode = ""
    type: Annotated[
        str,
        Meta(
            max_length=255,
            pattern=NO_CONTROLS,
            description="Only this kind of resource; optional. An unknown one has no rows.",
        ),
    ] = ""
    start_at: Annotated[
        date | None,
        Meta(
            description="The first day, `YYYY-MM-DD`; unless given, the first of the month of `end_at`. It must not be "
            f"after `end_at`, and a period has at most {MAX_DAYS} days."
        ),
    ] = None
    end_at: Annotated[
        date | None, Meta(description="The last day; unless given, today, or the last of the longest period.")
    ] = None
    interval: Annotated[
        Literal["", "day"], Meta(description="`day` to end rows with each day; unless given, they end with each month.")
    ] = ""
    limit: PageLimit = 100
    marker: Annotated[str, _marker(128, "The last `id`")] = ""


ExportFormat = Literal["focus", "csv"]

MONTH: Final = rf"^(19[7-9][0-9]|[2-8][0-9]{{3}}|9[0-8][0-9]{{2}}|99[0-8][0-9]|999[0-8])-(0[1-9]|1[0-2]){_END}"
"""A month from 1970-01 to 9998-12."""


class CostExportParameters(Struct, frozen=True):
    month: Annotated[str, Meta(pattern=MONTH, description="The month, `YYYY-MM`, from 1970-01 to 9998-12.")]
    format: Annotated[
        ExportFormat,
        Meta(description="`focus` for the columns of FOCUS 1.2, `csv` for fewer of our own; `focus` unless given."),
    ] = "focus"
    limit: PageLimit = 100
    marker: Annotated[str, _marker(128, "`next_marker`")] = ""


_RULE: Final = (
    "The same rule as that of GetConsumptionsEstimated: each resource costs the full hourly price in every clock hour "
    "in which it existed, with its size and node at its last moment in that hour, at the price then in force."
)
_CLOSED: Final = (
    "A month is closed when the next one begins. What an operator changes later for closed hours is a correction in "
    "the month in which it is made."
)
_UNKNOWN: Final = "Null if nothing was recorded: months before the console kept a record, and clouds without one."

GET_CONSUMPTIONS_SUMMARY = Action(
    name="GetConsumptionsSummary",
    purpose=Text("What the tenant's resources have cost so far, by kind.", "租户资源至今的费用，按类型汇总。"),
    record=list[ConsumptionSummaryItem],
    success=Text("Consumption summary.", "获取消费汇总成功"),
    parameters=SummaryParameters,
    notes=(
        _RULE,
        "Always five rows: the four kinds in the usual order, and `allcategories`, their sum.",
        "Hours before the console kept a record are not included. In clouds without one, amounts are null.",
    ),
)
GET_CONSUMPTIONS = Action(
    name="GetConsumptionsByQuery",
    purpose=Text("What each resource has cost in a period, in pages.", "指定时间段内各资源的费用，分页返回。"),
    record=list[Consumption],
    success=Text("Consumptions.", "获取消费记录成功"),
    parameters=ConsumptionsParameters,
    notes=(
        _RULE,
        "A new row begins where the size, the node or the hourly price changes. The amounts of a month's "
        "rows add up to its total in GetBillingReportList4NearlyYear.",
        _CLOSED,
        "Ordered by `res_id` and time. A page with fewer items than `limit` is the last.",
        "What was not recorded has no rows: hours before the console kept a record, and clouds without one.",
    ),
)
GET_BILLING_REPORT = Action(
    name="GetBillingReportList4NearlyYear",
    purpose=Text("The cost of each of the last twelve months.", "最近十二个月每月的费用。"),
    record=list[MonthlyBill],
    success=Text("Monthly costs.", "获取月度账单成功"),
    notes=(_RULE, "Always twelve rows, oldest first; the last is the current month so far.", _CLOSED, _UNKNOWN),
)
GET_FORECAST = Action(
    name="GetForecast",
    purpose=Text("What the current month will cost if nothing changes.", "若资源不变，本月的预计费用。"),
    record=Forecast,
    success=Text("Forecast.", "获取费用预测成功"),
    notes=(
        "`so_far` includes the current hour. Scheduled starts and ends, and prices to come, are not considered.",
        "`rest` and `total` are null while something that runs has no price.",
        "If a part of the month was not recorded, `complete` is false, and the amounts are those of the rest. In "
        "clouds without a record they are null.",
    ),
)
GET_COST_EXPORT = Action(
    name="GetCostExport",
    purpose=Text(
        "What each resource has cost in a month, as rows of a CSV file, in pages.",
        "某月各资源的费用，以 CSV 文件的行分页返回。",
    ),
    record=CostExport,
    success=Text("Cost export.", "获取费用导出成功"),
    parameters=CostExportParameters,
    notes=(
        "The rows are those that the operator exports for the tenant. `focus` has the columns of FOCUS 1.2, the FinOps "
        "Open Cost and Usage Specification; an empty value is null there.",
        "`BilledCost`, or `amount` as `csv`, adds up to the month's total in GetBillingReportList4NearlyYear.",
        _CLOSED,
        "Ordered by resource and time. The current month goes up to now.",
        "What was not recorded has no rows: hours before the console kept a record, and clouds without one.",
    ),
)

GET_ANNOUNCEMENTS = Action(
    name="GetAnnouncements",
    purpose=Text("Announcements, with language and importance.", "公告，含语言与是否置顶。"),
    record=list[Announcement],
    success=Text("Announcements.", "获取公告成功"),
    notes=("The items of GetNews in the same order, with more fields.",),
)

EXTENSIONS: Final = (
    GET_DOMAINS,
    GET_PRICES,
    GET_ESTIMATE,
    GET_CONSUMPTIONS_SUMMARY,
    GET_CONSUMPTIONS,
    GET_BILLING_REPORT,
    GET_FORECAST,
    GET_COST_EXPORT,
    GET_ANNOUNCEMENTS,
)
