"""Faults of extensions, each with the check that must catch it."""

import json
from typing import Any

from cloudconsole.spec.extensions import EXTENSIONS
from tests.conformance.faulty_console import Exchange, Fault, Mutation
from tests.conformance.mutations import data, is_opening, on, put

DOMAINS, PRICES, ESTIMATE, ANNOUNCEMENTS = "GetDomains", "GetPrices", "GetEstimate", "GetAnnouncements"
ALL = [action.name for action in EXTENSIONS]
COSTS = "GetConsumptionsByQuery"
REPORT = "GetBillingReportList4NearlyYear"


def listing(*names: str) -> Mutation:
    """List these extensions."""

    def change(exchange: Exchange) -> None:
        envelope = exchange.envelope
        envelope["data"]["extensions"] = list(names)
        exchange.envelope = envelope

    return on(is_opening, change)


def sending(**fields: Any) -> Mutation:
    """Send other values of parameters that a request has."""

    def change(exchange: Exchange) -> None:
        if exchange.action == DOMAINS and fields.keys() <= exchange.fields.keys():
            exchange.body = json.dumps(exchange.fields | fields).encode()

    return change


def renumber(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [item | {"id": 1} for item in items]


def change_status(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [item | {"status": "Other"} for item in items]


def raise_first_amount(rows: list[dict[str, Any]]) -> None:
    if rows:
        rows[0]["amount"] = "12345.00"


def replace_flavor(exchange: Exchange) -> None:
    exchange.body = exchange.body.replace(b"no such flavor", b"m1.tiny")


def replace_day(exchange: Exchange) -> None:
    exchange.body = exchange.body.replace(b"2001-01-01", b"2025-12-01")


FAULTS = [
    Fault(
        "an action is an extension", "extensions.listed", listing(*(action.name for action in EXTENSIONS), "GetNews")
    ),
    Fault("an extension is repeated", "extensions.listed", listing(DOMAINS, DOMAINS)),
    Fault("a summary without a sum", "extensions.GetConsumptionsSummary", put("GetConsumptionsSummary", 4, value={})),
    Fault("a cost without a price", f"extensions.{COSTS}", put(COSTS, 0, "unit_price", value=...)),
    Fault("another amount", "extensions.costs.rows", data(COSTS, raise_first_amount)),
    Fault("a row is missing", "extensions.costs.rows", data(COSTS, lambda rows: rows[1:])),
    Fault("any period", "extensions.costs.period", before=replace_day),
    Fault("a bill as number", f"extensions.{REPORT}", put(REPORT, 0, "total", value=5)),
    Fault("a forecast as number", "extensions.GetForecast", put("GetForecast", "total", value=5)),
    Fault("an export without its next page", "extensions.GetCostExport", put("GetCostExport", "next_marker", value=5)),
    Fault("an extension that works is not listed", "extensions.unlisted", listing(DOMAINS)),
    Fault("a domain without text", f"extensions.{DOMAINS}", put(DOMAINS, 0, "status", value=5)),
    Fault("a price as number", f"extensions.{PRICES}", put(PRICES, 0, "price", value=0.012)),
    Fault("domains in reverse", "extensions.domains.order", data(DOMAINS, lambda items: items[::-1])),
    Fault("marker ignored", "extensions.domains.pages", before=sending(marker="")),
    Fault("another status in the list", "extensions.domains.details", data(DOMAINS, change_status)),
    Fault("any limit", "extensions.domains.limit", before=sending(limit=1)),
    Fault("a price with an exponent", "extensions.prices.values", put(PRICES, 0, "price", value="1e3")),
    Fault("an estimate without quotas", f"extensions.{ESTIMATE}", put(ESTIMATE, "quotas", value=...)),
    Fault("another cost per day", "extensions.estimate.costs", put(ESTIMATE, "items", 0, "day", value="5.00")),
    Fault("a free quota that is not", "extensions.estimate.quotas", put(ESTIMATE, "quotas", 5, "free", value=0)),
    Fault("another language", f"extensions.{ANNOUNCEMENTS}", put(ANNOUNCEMENTS, 0, "language", value="fr")),
    Fault("an announcement is missing", "extensions.announcements.news", data(ANNOUNCEMENTS, lambda items: items[1:])),
    Fault("announcements of one number", "extensions.announcements.news", data(ANNOUNCEMENTS, renumber)),
    Fault("any flavor", "extensions.estimate.unknown", before=replace_flavor),
    Fault("a price that ends first", "extensions.prices.values", put(PRICES, 0, "end_at", value="2001-01-01 00:00:00")),
]
