"""The six actions of the interface: name, parameters, response record and errors."""

from typing import Annotated, Any

from msgspec import Struct, field
from msgspec.structs import fields

from cloudconsole.spec.errors import ApiError, DomainNotFound
from cloudconsole.spec.i18n import Text
from cloudconsole.spec.records import ConsumptionItem, DomainDetail, Flavors, NewsItem, UrlItem, UsageLimits, field_doc


class NoParameters(Struct, frozen=True):
    """An action without parameters."""


class Action(Struct, frozen=True, kw_only=True):
    name: str
    purpose: Text
    record: Any
    success: Text
    parameters: type[Struct] = NoParameters
    """Parameters with their types; those with a default are optional."""
    notes: tuple[str, ...] = ()
    """Guarantees to clients, one or more sentences each, in Markdown."""
    errors: tuple[type[ApiError], ...] = ()
    """Errors specific to this action, besides those common to all."""

    @property
    def parameter_names(self) -> tuple[str, ...]:
        return tuple(parameter.encode_name for parameter in fields(self.parameters))


Identifier = Annotated[
    Annotated[str, field_doc("An ID.", minLength=1, maxLength=64, pattern=r"^[^\u0000-\u001f\u007f-\u009f]*$")] | int,
    field_doc("Text of 1 to 64 characters without control characters, or a JSON integer, read as its digits."),
]


class DomainDetailParameters(Struct, frozen=True):
    domain_id: Identifier = field(name="domainId")


GET_USAGE_LIMITS = Action(
    name="GetUsageLimits",
    purpose=Text("The account's quota limits and current usage.", "账户的配额与当前用量。"),
    record=UsageLimits,
    success=Text("Usage and limits.", "获取配额与用量成功"),
    notes=(
        "An unlimited quota is `-1`. The values are a consistent snapshot and always match the tenant's resources.",
    ),
)
GET_FLAVORS = Action(
    name="GetFlavors",
    purpose=Text(
        "The selectable virtual-machine configurations, and which RAM sizes each core count allows.",
        "可选的云主机配置，以及各核数可搭配的内存。",
    ),
    record=Flavors,
    success=Text("Flavors.", "获取云主机配置成功"),
    notes=("`flavors`, `configs` and `limits` are always consistent.",),
)
GET_URL_LIST = Action(
    name="GetUrlList",
    purpose=Text("Commonly used URLs.", "常用 URL。"),
    record=list[UrlItem],
    success=Text("URLs.", "获取URL列表成功"),
    notes=("The tenant's own entries and those published to all tenants, ordered by `id`.",),
)
GET_DOMAIN_DETAIL = Action(
    name="GetDomainDetail",
    purpose=Text("One CDN domain, by ID.", "按 id 查询一个加速域名。"),
    record=DomainDetail,
    success=Text("Domain.", "获取域名详情成功"),
    parameters=DomainDetailParameters,
    notes=("Any other ID, including that of another tenant's domain, returns `domain_not_found`.",),
    errors=(DomainNotFound,),
)
GET_NEWS = Action(
    name="GetNews",
    purpose=Text("Announcements published by the provider, newest first.", "服务商发布的公告，最新的在前。"),
    record=list[NewsItem],
    success=Text("News.", "获取新闻公告成功"),
    notes=(
        "All published items except those dated in the future; items with equal dates are ordered last entered first.",
    ),
)
GET_CONSUMPTIONS_ESTIMATED = Action(
    name="GetConsumptionsEstimated",
    purpose=Text(
        "Estimated cost per hour, day, month and year, from all resources on all nodes in the current hour.",
        "根据当前小时内所有节点上的全部资源，预估每小时、每天、每月与每年的费用。",
    ),
    record=list[ConsumptionItem],
    success=Text("Estimated consumption.", "获取预估消费成功"),
    notes=(
        "One item for each kind with a cost, in the order `instance`, `image`, `loadbalance`, `volume`; `[]` without "
        "any consumption.",
        "The hour is the current clock hour in the operator's time zone. A resource is billed once, at its full "
        "hourly price, on whichever node, if it has started and did not end before the hour began. Stopped "
        "instances are billed.",
        "Its current size, node and price apply to the whole hour: a resize or price change within the hour replaces "
        "the earlier values. A resource that has ended keeps the values it ended with.",
        "Amounts are exact: prices are whole billionths of the currency per hour and unit, RAM is rounded up to whole "
        "GB, and nothing else is rounded. The text has at least two decimals and no exponent. `GET /api/` names the "
        "currency.",
    ),
)

ACTIONS = (
    GET_USAGE_LIMITS,
    GET_FLAVORS,
    GET_URL_LIST,
    GET_DOMAIN_DETAIL,
    GET_NEWS,
    GET_CONSUMPTIONS_ESTIMATED,
)
