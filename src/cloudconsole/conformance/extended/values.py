"""Checks beyond the interface: payload values."""

from collections.abc import Iterable
from datetime import UTC, timedelta, tzinfo
from decimal import Decimal
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from cloudconsole.conformance.assertions import CheckFailed, CheckSkipped, check, check_equal, check_no_problems
from cloudconsole.conformance.checks import CheckGroup
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.extended.assertions import console_data
from cloudconsole.conformance.field_types import pattern_errors, values_of
from cloudconsole.conformance.interface.payloads import (
    DOMAIN,
    FLAVOR,
    KINDS,
    ORIGIN,
    PERIODS,
    URL_TYPES,
    USAGE_FIELDS,
    check_newest_first,
)
from cloudconsole.conformance.redaction import json_line
from cloudconsole.spec.records import DECIMAL
from cloudconsole.spec.set_cookie import CSRF_COOKIE

checks = CheckGroup("console")

CONSUMPTION = "actions: GetConsumptionsEstimated"


@checks.must("console.usage.values", "actions: GetUsageLimits", "usage.fields")
def usage_values(console: CheckContext) -> None:
    """Quotas are at minimum -1, usage is at minimum 0, and there are no other fields."""
    usage = console.payload("GetUsageLimits")
    _check_only([usage], USAGE_FIELDS)
    minimum = {name: -1 if name.startswith("max") else 0 for name in USAGE_FIELDS}
    check_no_problems([f"{name} is {usage[name]}" for name in USAGE_FIELDS if usage[name] < minimum[name]])


@checks.must("console.flavors.ascending", "actions: GetFlavors", "flavors.configs", "flavors.limits")
def flavors_ascending(console: CheckContext) -> None:
    """The values of configs and limits are ascending, without repeats."""
    data = console.payload("GetFlavors")
    lists = {**data["configs"], **{f"limits of {cores}": rams for cores, rams in data["limits"].items()}}
    check_no_problems([f"{name} is {json_line(values)}" for name, values in lists.items() if not _ascends(values)])


@checks.must(
    "console.flavors.agree",
    "actions: GetFlavors",
    "flavors.items",
    "flavors.configs",
    "flavors.limits",
    causes=("flavors.relation",),
)
def flavors_agree(console: CheckContext) -> None:
    """configs and limits contain exactly the values and pairs of the flavors."""
    data = console.payload("GetFlavors")
    _check_only(data["flavors"], FLAVOR)
    for name in ("vcpus", "ram"):
        occurring = sorted({flavor[name] for flavor in data["flavors"]})
        check_equal(sorted(data["configs"][name]), occurring, f"configs.{name}")
    pairs = {(str(flavor["vcpus"]), flavor["ram"]) for flavor in data["flavors"]}
    limits = {(cores, ram) for cores, rams in data["limits"].items() for ram in rams}
    check_no_problems([f"no flavor has {cores} cores with ram {ram}" for cores, ram in sorted(limits - pairs)])
    check_no_problems([f"limits lacks {cores} cores with ram {ram}" for cores, ram in sorted(pairs - limits)])


@checks.must("console.flavors.names", "actions: GetFlavors", "flavors.items", causes=("flavors.names",))
def flavors_names(console: CheckContext) -> None:
    """A name of the form `<vcpus>C<RAM in GB>G<disk>G` matches the flavor."""
    flavors = console.payload("GetFlavors")["flavors"]
    custom = [flavor for flavor in flavors if not pattern_errors([("", flavor["name"])], "[0-9]+C[0-9]+G[0-9]+G", "")]
    expected = [(flavor["name"], f"{flavor['vcpus']}C{flavor['ram'] // 1024}G{flavor['disk']}G") for flavor in custom]
    check_no_problems([f"{json_line(name)} should be {derived}" for name, derived in expected if name != derived])


@checks.must("console.urls.values", "actions: GetUrlList", "urls.fields", causes=("urls.ids",))
def urls_values(console: CheckContext) -> None:
    """URLs are ordered by id, without repeats; their type is one of two."""
    items = console.items("GetUrlList")
    _check_only(items, ("url", "type", "id"))
    check_no_problems(pattern_errors(values_of(items, "type", "data"), "|".join(URL_TYPES), "one of the two types"))
    check(_ascends([item["id"] for item in items]), "they are not ordered by id")


@checks.must(
    "console.domain.values",
    "actions: GetDomainDetail",
    "domain.fields",
    "domain.origin",
    causes=("domain.enabled",),
)
def domain_values(console: CheckContext) -> None:
    """enabled is the text "true" or "false", originDomainName text or null, and there are no other fields."""
    for domain in console.domains():
        _check_only([domain], (*DOMAIN, "enabled"))
        _check_only([domain["originConfig"]], ORIGIN)
        check(domain["enabled"] in ("true", "false"), f"enabled is {json_line(domain['enabled'])}, not text")
        name = domain["originConfig"]["originDomainName"]
        check(name is None or isinstance(name, str), f"originDomainName is {json_line(name)}")


@checks.must("console.news.order", "actions: GetNews", "news.fields", "news.newest-first")
def news_order(console: CheckContext) -> None:
    """News is ordered newest first and has no other fields."""
    items = console.items("GetNews")
    _check_only(items, ("date", "url", "title"))
    check_newest_first(items)


@checks.must("console.news.past", "actions: GetNews", "news.dates", "console.cookies.csrftoken-lifetime")
def news_past(console: CheckContext) -> None:
    """No news is dated in the future, by the console's clock and time zone."""
    cookie = console.logged_in.cookie(CSRF_COOKIE)
    if cookie is None or cookie.expires is None or cookie.max_age is None:
        raise CheckFailed("the console's clock cannot be derived from csrftoken")
    zone = _zone(console_data(console)["timeZone"])
    # The news was requested shortly after the login.
    clock = cookie.expires - timedelta(seconds=cookie.max_age) + timedelta(minutes=5)
    latest = clock.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S")
    dates = values_of(console.items("GetNews"), "date", "data")
    check_no_problems([f"{location} is {date}" for location, date in dates if date > latest])


@checks.must(
    "console.consumption.amounts",
    CONSUMPTION,
    "consumption.fields",
    causes=("consumption.amounts", "consumption.only-consumed"),
)
def consumption_amounts(console: CheckContext) -> None:
    """An amount has two to nine decimals, no exponent and no sign; kinds without cost are omitted."""
    items = console.items("GetConsumptionsEstimated")
    _check_only(items, ("res_type", *PERIODS))
    amounts = [amount for period in PERIODS for amount in values_of(items, period, "data")]
    check_no_problems(pattern_errors(amounts, DECIMAL, "plain, with two to nine decimals"))
    check_no_problems([f"{item['res_type']} costs nothing" for item in items if not Decimal(item["hour"])])


@checks.must("console.consumption.periods", CONSUMPTION, "console.consumption.amounts")
def consumption_periods(console: CheckContext) -> None:
    """A day is 24 hours, a month monthDays days, a year 365 days, exactly."""
    days = {"day": 1, "month": console_data(console)["monthDays"], "year": 365}
    check_no_problems(
        [
            f"{period} of {item['res_type']} is {item[period]}, not {Decimal(item['hour']) * 24 * count}"
            for item in console.items("GetConsumptionsEstimated")
            for period, count in days.items()
            if Decimal(item[period]) != Decimal(item["hour"]) * 24 * count
        ]
    )


@checks.must(
    "console.consumption.order",
    CONSUMPTION,
    "consumption.fields",
    "consumption.kinds",
    causes=("consumption.each-kind-once",),
)
def consumption_order(console: CheckContext) -> None:
    """Kinds are in the order instance, image, loadbalance, volume, each once."""
    kinds = [item["res_type"] for item in console.items("GetConsumptionsEstimated")]
    check_equal(kinds, [kind for kind in KINDS if kind in kinds], "the order")


def _zone(name: str) -> tzinfo:
    # Known even without a time zone database.
    if name == "UTC":
        return UTC
    if not available_timezones():
        raise CheckSkipped("no time zone database on this machine (pip install tzdata)")
    check(name in available_timezones(), f"there is no time zone {json_line(name)}")
    return ZoneInfo(name)


def _check_only(records: Iterable[Any], names: Iterable[str]) -> None:
    others = sorted({name for record in records for name in record} - set(names))
    check(not others, f"there are other fields: {', '.join(others)}")


def _ascends(values: list[Any]) -> bool:
    return all(low < high for low, high in pairwise(values))
