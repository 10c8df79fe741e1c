"""The table of actions: what may be called, with which parameters, answered by which record."""

from typing import Any

from msgspec import Struct

from cloudconsole.spec.language import Text
from cloudconsole.spec.records import (
    ConsumptionItem,
    DomainDetail,
    Flavors,
    NewsItem,
    UrlItem,
    UsageLimits,
)


class Action(Struct, frozen=True, kw_only=True):
    name: str
    purpose: Text
    record: Any
    success: Text
    parameters: tuple[str, ...] = ()
    """Names of required parameters; each is an identifier given as text."""


GET_USAGE_LIMITS = Action(
    name="GetUsageLimits",
    purpose=Text("The account's quota limits and current usage.", "账户的配额与当前用量。"),
    record=UsageLimits,
    success=Text("Usage and limits.", "获取配额与用量成功"),
)
GET_FLAVORS = Action(
    name="GetFlavors",
    purpose=Text(
        "The selectable virtual-machine configurations, and which RAM goes with which cores.",
        "可选的云主机配置，以及各核数可搭配的内存。",
    ),
    record=Flavors,
    success=Text("Flavors.", "获取云主机配置成功"),
)
GET_URL_LIST = Action(
    name="GetUrlList",
    purpose=Text("Commonly used URLs.", "常用 URL。"),
    record=list[UrlItem],
    success=Text("URLs.", "获取URL列表成功"),
)
GET_DOMAIN_DETAIL = Action(
    name="GetDomainDetail",
    purpose=Text("One accelerated domain, by its id.", "按 id 查询一个加速域名。"),
    record=DomainDetail,
    success=Text("Domain.", "获取域名详情成功"),
    parameters=("domainId",),
)
GET_NEWS = Action(
    name="GetNews",
    purpose=Text("Announcements published by the provider, newest first.", "服务商发布的公告，最新的在前。"),
    record=list[NewsItem],
    success=Text("News.", "获取新闻公告成功"),
)
GET_CONSUMPTIONS_ESTIMATED = Action(
    name="GetConsumptionsEstimated",
    purpose=Text(
        "Estimated cost per hour, day, month and year, from all resources on all nodes in the current hour.",
        "根据当前小时内所有节点上的全部资源，预估每小时、每天、每月与每年的费用。",
    ),
    record=list[ConsumptionItem],
    success=Text("Estimated consumption.", "获取预估消费成功"),
)

ACTIONS = (
    GET_USAGE_LIMITS,
    GET_FLAVORS,
    GET_URL_LIST,
    GET_DOMAIN_DETAIL,
    GET_NEWS,
    GET_CONSUMPTIONS_ESTIMATED,
)
