"""Checks of the built-in extensions that a console lists; none is required."""

from decimal import Decimal
from itertools import pairwise
from typing import Any, Final

import msgspec

from cloudconsole.conformance.assertions import CheckFailed, CheckSkipped, check, check_equal, check_no_problems
from cloudconsole.conformance.checks import Check, CheckGroup
from cloudconsole.conformance.client import ACTION_NAMES, FORMS, BodyForm
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.extended.assertions import check_rejected, check_success, console_data
from cloudconsole.conformance.field_types import pattern_errors, values_of
from cloudconsole.conformance.interface.payloads import checks_of
from cloudconsole.conformance.redaction import json_line
from cloudconsole.conformance.responses import RawResponse
from cloudconsole.spec.actions import Action
from cloudconsole.spec.errors import ApiError, FlavorNotFound, InvalidField, MissingField, NodeNotFound, UnknownAction
from cloudconsole.spec.extensions import (
    EXTENSIONS,
    GET_ANNOUNCEMENTS,
    GET_BILLING_REPORT,
    GET_CONSUMPTIONS,
    GET_COST_EXPORT,
    GET_DOMAINS,
    GET_ESTIMATE,
    GET_PRICES,
    MAX_PAGE,
    ConsumptionsParameters,
)
from cloudconsole.spec.records import DECIMAL

checks = CheckGroup("extensions")

LIST: Final = "actions: Extensions"
DOMAINS: Final = f"actions: {GET_DOMAINS.name}"
PRICES: Final = f"actions: {GET_PRICES.name}"
ESTIMATE: Final = f"actions: {GET_ESTIMATE.name}"
COSTS: Final = f"actions: {GET_CONSUMPTIONS.name}"
ANNOUNCEMENTS: Final = f"actions: {GET_ANNOUNCEMENTS.name}"
FIELDS: Final[dict[str, dict[str, Any]]] = {
    GET_ESTIMATE.name: {"items": [{"res_type": "floating_ip", "count": 2}]},
    GET_COST_EXPORT.name: {"month": "2026-10"},
}
"""Required parameters."""
MAX_COMPARED: Final = 3
"""Domains that are fetched one by one, to limit the number of requests."""


@checks.must("extensions.listed", LIST, "session.opens")
def listed(console: CheckContext) -> None:
    """`GET /api/` lists the extensions by name, without repeats and without the six actions."""
    names = _listed(console)
    check(len(set(names)) == len(names), f"extensions repeats a name: {json_line(names)}")
    check_no_problems([f"{name} is one of the six actions" for name in names if name in ACTION_NAMES])


@checks.must("extensions.unlisted", LIST, "extensions.listed", "login.accepted")
def unlisted(console: CheckContext) -> str | None:
    """An extension that is not listed is an unknown action."""
    missing = [action.name for action in EXTENSIONS if action.name not in _listed(console)]
    for name in missing:
        check_rejected(console.response_to(name, "JSON"), UnknownAction, after=name)
    return None if missing else "all are listed"


def _response_check(action: Action) -> Check:
    def examine(console: CheckContext) -> None:
        for form in FORMS:
            data = check_success(_response(console, action, form), after=f"as {form}")
            try:
                msgspec.convert(data, action.record)
            except msgspec.ValidationError as problem:
                raise CheckFailed(f"as {form}: {problem}") from None

    title = f"{action.name} succeeds as JSON and as a form, and its data has the documented fields and types."
    section, needs = f"actions: {action.name}", ("extensions.listed", "login.accepted")
    return Check(_check_id(action), "extensions", section, "must", title, examine, needs, ("envelope.data",))


def _check_id(action: Action) -> str:
    return f"extensions.{action.name}"


checks.extend(_response_check(action) for action in EXTENSIONS)


@checks.must("extensions.domains.order", DOMAINS, _check_id(GET_DOMAINS))
def domains_order(console: CheckContext) -> None:
    """Domains are ordered by domainId, without repeats."""
    ids = [item["domainId"] for item in _data(console, GET_DOMAINS)]
    check(all(first < second for first, second in pairwise(ids)), f"they are not ordered: {json_line(ids)}")


@checks.must("extensions.domains.pages", DOMAINS, "extensions.domains.order")
def domains_pages(console: CheckContext) -> None:
    """Pages of one domain each, with the last domainId as marker, are the same list."""
    whole = _data(console, GET_DOMAINS)
    if not whole:
        raise CheckSkipped("the account has no domains")
    marker = ""
    for expected in [[item] for item in whole[:MAX_COMPARED]] + ([[]] if len(whole) <= MAX_COMPARED else []):
        page = _call(console, GET_DOMAINS, limit=1, marker=marker)
        check_equal(page, expected, f"the page after {marker or 'the start'}")
        marker = expected[0]["domainId"] if expected else marker


@checks.must(
    "extensions.domains.details",
    DOMAINS,
    "extensions.domains.order",
    causes=("answers.GetDomainDetail", *checks_of("GetDomainDetail"), "console.domain.values"),
)
def domains_details(console: CheckContext) -> None:
    """GetDomainDetail returns each listed domain with the same values."""
    for item in _data(console, GET_DOMAINS)[:MAX_COMPARED]:
        response = console.main.call("GetDomainDetail", "JSON", {"domainId": item["domainId"]})
        detail = check_success(response, after=item["domainId"])
        check_equal({name: detail.get(name) for name in item}, item, "the detail")


@checks.must("extensions.domains.limit", DOMAINS, _check_id(GET_DOMAINS))
def domains_limit(console: CheckContext) -> None:
    """A limit that is not an integer from 1 to 1000 is an invalid field."""
    for limit in (0, MAX_PAGE + 1, 1.5):
        response = console.main.call(GET_DOMAINS.name, "JSON", {"limit": limit})
        check_rejected(response, InvalidField, "limit", after=json_line(limit))


@checks.must("extensions.prices.values", PRICES, _check_id(GET_PRICES))
def prices_values(console: CheckContext) -> None:
    """Prices are decimal text, each ends after its start, and only those to come are not in force."""
    prices = _data(console, GET_PRICES)
    check_no_problems(pattern_errors(values_of(prices, "price", "data"), DECIMAL, "a decimal number as text"))
    check_no_problems(
        [
            f"{json_line(price)} ends before its start"
            for price in prices
            if (price["end_at"] or "9") < price["start_at"]
        ]
    )
    for key in {_price_key(price) for price in prices}:
        states = [price["in_force"] for price in prices if _price_key(price) == key]
        check(True not in states[1:], f"two prices of {json_line(key)} are in force, or not ordered by start")


@checks.must("extensions.estimate.costs", ESTIMATE, _check_id(GET_ESTIMATE), "flavors.items")
def estimate_costs(console: CheckContext) -> None:
    """The costs of an estimate are multiples of each other, and their sum is its cost per hour."""
    flavors = console.payload("GetFlavors")["flavors"]
    if not flavors:
        raise CheckSkipped("there are no flavors")
    items = [{"res_type": "instance", "flavor": flavors[0]["id"], "count": count} for count in (1, 2, -3)]
    estimate = _call(console, GET_ESTIMATE, items=items, hours=7)
    if not estimate["priced"]:
        raise CheckSkipped(f"the flavor {flavors[0]['id']} has no price")
    hours = [Decimal(item["hour"]) for item in estimate["items"]]
    check_equal([hour / hours[0] for hour in hours] if hours[0] else [1, 2, -3], [1, 2, -3], "the ratio of the costs")
    check_equal(Decimal(estimate["hour"]), sum(hours, Decimal()), "the cost per hour")
    for item in (estimate, *estimate["items"]):
        day = Decimal(item["hour"]) * 24
        expected = [day, day * 30, day * 365]
        check_equal([Decimal(item[period]) for period in ("day", "month", "year")], expected, "day, month and year")


@checks.must("extensions.estimate.quotas", ESTIMATE, _check_id(GET_ESTIMATE), "usage.fields")
def estimate_quotas(console: CheckContext) -> None:
    """An estimate needs what its items use of the quotas, and lacks what exceeds the free amount."""
    usage = console.payload("GetUsageLimits")
    needs = {need["quota"]: need for need in _data(console, GET_ESTIMATE)["quotas"]}
    limit, used = usage["maxTotalFloatingIps"], usage["totalFloatingIpsUsed"]
    free = None if limit < 0 else max(0, limit - used)
    lacking = 0 if free is None else max(0, 2 - (limit - used))
    expected = {"quota": "floating_ips", "limit": limit, "used": used, "free": free, "needed": 2, "lacking": lacking}
    check_equal(needs.get("floating_ips"), expected, "the quota of floating IPs")
    check_equal([need["needed"] for name, need in needs.items() if name != "floating_ips"], [0] * 5, "the other needs")


@checks.must("extensions.estimate.unknown", ESTIMATE, _check_id(GET_ESTIMATE))
def estimate_unknown(console: CheckContext) -> None:
    """A missing or empty list, another kind, and an unknown flavor or node are errors of the field items."""
    flavor = {"res_type": "instance", "flavor": "no such flavor"}
    node = {"res_type": "loadbalance", "region": "no such node"}
    errors: list[tuple[Any, type[ApiError]]] = [([flavor], FlavorNotFound), ([node], NodeNotFound)]
    invalid: list[Any] = [[], [{"res_type": "keypair"}]]
    for items, error in errors + [(items, InvalidField) for items in invalid]:
        response = console.main.call(GET_ESTIMATE.name, "JSON", {"items": items})
        check_rejected(response, error, "items", after=json_line(items))
    check_rejected(console.main.call(GET_ESTIMATE.name), MissingField, "items", after="without items")


@checks.must("extensions.costs.rows", COSTS, _check_id(GET_CONSUMPTIONS), _check_id(GET_BILLING_REPORT))
def costs_rows(console: CheckContext) -> str | None:
    """The costs of this month's rows are their hours times their prices, and add up to the month's total."""
    rows, bill = _data(console, GET_CONSUMPTIONS), _data(console, GET_BILLING_REPORT)[-1]
    for row in rows:
        if row["billing_type"] == "hourly":
            cost = Decimal(row["unit_price"]) * int(row["cost_time"]) / 3600
            check_equal(Decimal(row["amount"]), cost, f"the cost of {json_line(row)}")
    if len(rows) == ConsumptionsParameters().limit or bill["total"] is None:
        return "the sum was not compared: there are many rows, or nothing is recorded"
    if _sum_of(rows) != Decimal(bill["total"]):
        # Costs may have changed between the two responses.
        rows, bill = _call(console, GET_CONSUMPTIONS), _call(console, GET_BILLING_REPORT)[-1]
        check_equal(_sum_of(rows), Decimal(bill["total"]), "the sum of the rows")
    return None


def _sum_of(rows: list[dict[str, Any]]) -> Decimal:
    return sum((Decimal(row["amount"]) for row in rows), Decimal())


@checks.must("extensions.costs.period", COSTS, _check_id(GET_CONSUMPTIONS))
def costs_period(console: CheckContext) -> None:
    """An unknown kind has no rows, and too many days are an invalid field."""
    check_equal(_call(console, GET_CONSUMPTIONS, type="no such kind"), [], "the rows of an unknown kind")
    response = console.main.call(GET_CONSUMPTIONS.name, "JSON", {"start_at": "2001-01-01", "end_at": "2026-01-01"})
    check_rejected(response, InvalidField, "start_at", after="a period of many years")


@checks.must(
    "extensions.announcements.news",
    ANNOUNCEMENTS,
    _check_id(GET_ANNOUNCEMENTS),
    "answers.GetNews",
    causes=(*checks_of("GetNews"), "console.news.order", "console.news.past"),
)
def announcements_news(console: CheckContext) -> None:
    """Announcements are the items of GetNews in the same order, each with a number of its own."""
    items, news = _data(console, GET_ANNOUNCEMENTS), console.payload("GetNews")
    if _news_of(items) != news:
        # News may have appeared between the two responses.
        items, news = _call(console, GET_ANNOUNCEMENTS), check_success(console.main.call("GetNews"))
        check_equal(_news_of(items), news, "the announcements")
    numbers = [item["id"] for item in items]
    check(len(set(numbers)) == len(numbers), f"ids are repeated: {json_line(numbers)}")


def _news_of(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: item[name] for name in ("date", "url", "title")} for item in items]


def _price_key(price: dict[str, Any]) -> tuple[Any, ...]:
    return price["res_type"], price["unit"], price["region"], price["type"]


def _listed(console: CheckContext) -> list[str]:
    data = console_data(console)
    if not isinstance(data, dict) or "extensions" not in data:
        raise CheckSkipped("the console has no extensions")
    names = data["extensions"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise CheckFailed(f"extensions is {json_line(names)}, not an array of text")
    return names


def _response(console: CheckContext, action: Action, form: BodyForm) -> RawResponse:
    if action.name not in _listed(console):
        raise CheckSkipped("the console does not list it")
    fields = {
        name: json_line(value) if form == "form" and not isinstance(value, str) else value
        for name, value in FIELDS.get(action.name, {}).items()
    }
    return console.once(f"{action.name} {form}", lambda: console.main.call(action.name, form, fields))


def _data(console: CheckContext, action: Action) -> Any:
    return check_success(_response(console, action, "JSON"))


def _call(console: CheckContext, action: Action, **fields: Any) -> Any:
    return check_success(console.main.call(action.name, "JSON", fields))
