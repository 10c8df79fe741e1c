"""The actions as calls of the protocol, with paging."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any, TypeVar

import msgspec

from cloudconsole.client import decoding, extension_decoding
from cloudconsole.client.exceptions import ProtocolError
from cloudconsole.client.extension_models import (
    Announcement,
    CostExport,
    CostSummary,
    DomainSummary,
    Estimate,
    EstimateItem,
    Forecast,
    MonthlyBill,
    Price,
    ResourceCost,
)
from cloudconsole.client.flow import ProtocolFlow
from cloudconsole.client.models import About, Consumption, Domain, Flavors, NewsItem, Url, UsageLimits
from cloudconsole.client.options import CallOptions
from cloudconsole.client.retry import RetryPolicy
from cloudconsole.client.steps import Steps
from cloudconsole.spec.actions import (
    GET_CONSUMPTIONS_ESTIMATED,
    GET_DOMAIN_DETAIL,
    GET_FLAVORS,
    GET_NEWS,
    GET_URL_LIST,
    GET_USAGE_LIMITS,
)
from cloudconsole.spec.extensions import (
    GET_ANNOUNCEMENTS,
    GET_BILLING_REPORT,
    GET_CONSUMPTIONS,
    GET_CONSUMPTIONS_SUMMARY,
    GET_COST_EXPORT,
    GET_DOMAINS,
    GET_ESTIMATE,
    GET_FORECAST,
    GET_PRICES,
    MAX_PAGE,
    ExportFormat,
)

T = TypeVar("T")


class ActionFlow:
    """One method for each action, with the options of one client; the protocol's state is shared."""

    def __init__(self, protocol: ProtocolFlow, options: CallOptions) -> None:
        self._protocol = protocol
        self.options = options

    def retry_policy(self) -> RetryPolicy:
        return RetryPolicy(self.options)

    def about(self) -> Steps[About]:
        return self._protocol.about(self.retry_policy())

    def call(
        self, action: str, fields: dict[str, Any], read: Callable[[Any], T], retry_policy: RetryPolicy | None = None
    ) -> Steps[T]:
        return self._protocol.call(action, fields, read, retry_policy or self.retry_policy())

    def usage_limits(self) -> Steps[UsageLimits]:
        return self.call(GET_USAGE_LIMITS.name, {}, decoding.usage_limits)

    def flavors(self) -> Steps[Flavors]:
        return self.call(GET_FLAVORS.name, {}, decoding.flavors)

    def urls(self) -> Steps[list[Url]]:
        return self.call(GET_URL_LIST.name, {}, decoding.urls)

    def domain(self, domain_id: str) -> Steps[Domain]:
        return self.call(GET_DOMAIN_DETAIL.name, {"domainId": domain_id}, decoding.domain)

    def news(self) -> Steps[list[NewsItem]]:
        retry_policy = self.retry_policy()
        about = yield from self._protocol.description(retry_policy)
        return (yield from self.call(GET_NEWS.name, {}, partial(decoding.news, about=about), retry_policy))

    def consumption(self) -> Steps[Consumption]:
        retry_policy = self.retry_policy()
        about = yield from self._protocol.description(retry_policy)
        read = partial(decoding.consumption, about=about)
        return (yield from self.call(GET_CONSUMPTIONS_ESTIMATED.name, {}, read, retry_policy))

    def domains(self) -> Steps[list[DomainSummary]]:
        retry_policy = self.retry_policy()
        found: list[DomainSummary] = []
        while True:
            fields = {"limit": MAX_PAGE, **({"marker": found[-1].id} if found else {})}
            page = yield from self.call(GET_DOMAINS.name, fields, extension_decoding.domains, retry_policy)
            if found and page and page[0].id <= found[-1].id:
                raise ProtocolError("the console repeats a page", payload=[item.raw for item in page], field="domainId")
            found += page
            if len(page) < MAX_PAGE:
                return found

    def announcements(self) -> Steps[list[Announcement]]:
        retry_policy = self.retry_policy()
        about = yield from self._protocol.description(retry_policy)
        read = partial(extension_decoding.announcements, about=about)
        return (yield from self.call(GET_ANNOUNCEMENTS.name, {}, read, retry_policy))

    def prices(self) -> Steps[list[Price]]:
        retry_policy = self.retry_policy()
        about = yield from self._protocol.description(retry_policy)
        return (
            yield from self.call(GET_PRICES.name, {}, partial(extension_decoding.prices, about=about), retry_policy)
        )

    def estimate(self, items: Sequence[EstimateItem], hours: int | None) -> Steps[Estimate]:
        if isinstance(items, Mapping | str):
            raise TypeError('items must be a list such as [{"res_type": "volume", "size": 10}]')
        retry_policy = self.retry_policy()
        about = yield from self._protocol.description(retry_policy)
        sent: Any = list(map(dict, items))
        if self._protocol.send_as == "form":
            sent = msgspec.json.encode(sent).decode()
        fields = {"items": sent, **({} if hours is None else {"hours": hours})}
        estimate = yield from self.call(
            GET_ESTIMATE.name, fields, partial(extension_decoding.estimate, about=about), retry_policy
        )
        if len(estimate.items) != len(items):
            raise ProtocolError("the estimate has other items than requested", payload=estimate.raw, field="items")
        return estimate

    def cost_summary(self, region: str) -> Steps[list[CostSummary]]:
        fields = {"region": region} if region else {}
        return self.call(GET_CONSUMPTIONS_SUMMARY.name, fields, extension_decoding.cost_summary)

    def costs(self, fields: Mapping[str, Any]) -> Steps[list[ResourceCost]]:
        retry_policy = self.retry_policy()
        about = yield from self._protocol.description(retry_policy)
        found: list[ResourceCost] = []
        marker = ""
        while True:
            page_fields = {**fields, "limit": MAX_PAGE, **({"marker": marker} if marker else {})}
            page = yield from self.call(
                GET_CONSUMPTIONS.name, page_fields, partial(extension_decoding.costs, about=about), retry_policy
            )
            found += page
            if len(page) < MAX_PAGE:
                return found
            if page[-1].raw["id"] == marker:
                raise ProtocolError("the console repeats a page", payload=[item.raw for item in page], field="id")
            marker = page[-1].raw["id"]

    def monthly_bills(self) -> Steps[list[MonthlyBill]]:
        return self.call(GET_BILLING_REPORT.name, {}, extension_decoding.monthly_bills)

    def forecast(self) -> Steps[Forecast]:
        retry_policy = self.retry_policy()
        about = yield from self._protocol.description(retry_policy)
        return (
            yield from self.call(GET_FORECAST.name, {}, partial(extension_decoding.forecast, about=about), retry_policy)
        )

    def cost_export(self, month: str, export_format: ExportFormat) -> Steps[CostExport]:
        retry_policy = self.retry_policy()
        page: CostExport | None = None
        pages: list[CostExport] = []
        while page is None or page.raw["next_marker"] is not None:
            fields = export_fields(month, export_format, page)
            read = partial(extension_decoding.cost_export, previous=page)
            page = yield from self.call(GET_COST_EXPORT.name, fields, read, retry_policy)
            pages.append(page)
        return replace(pages[0], rows=tuple(row for page in pages for row in page))


def cost_fields(
    first: date | str | None, last: date | str | None, res_type: str, region: str, *, by_day: bool
) -> dict[str, str]:
    """Return the parameters of GetConsumptionsByQuery that are given."""
    values = {
        "start_at": "" if first is None else str(first),
        "end_at": "" if last is None else str(last),
        "type": res_type,
        "region": region,
        "interval": "day" if by_day else "",
    }
    return {name: value for name, value in values.items() if value}


def export_fields(month: str, export_format: ExportFormat, previous: CostExport | None) -> dict[str, Any]:
    """Return the parameters of GetCostExport for the page after the previous one."""
    marker = {} if previous is None else {"marker": previous.raw["next_marker"]}
    return {"month": month, "format": export_format, "limit": MAX_PAGE, **marker}
