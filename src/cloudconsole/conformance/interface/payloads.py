"""Interface checks: the payload of each action."""

import ipaddress
import re
from datetime import datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any, get_args

import msgspec

from cloudconsole.conformance.assertions import CheckSkipped, check_no_problems
from cloudconsole.conformance.checks import CheckGroup
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.field_types import (
    ANY,
    ARRAY,
    INTEGER,
    INTEGERS,
    OBJECT,
    TEXT,
    TEXT_OR_NULL,
    TEXTS,
    FieldType,
    pattern_errors,
    schema_errors,
    schema_errors_of_all,
    values_of,
)
from cloudconsole.conformance.payload_check_decorators import for_each_domain, for_each_payload
from cloudconsole.conformance.redaction import json_line
from cloudconsole.spec.records import BillableType, UsageLimits

checks = CheckGroup("interface")

USAGE_FIELDS = tuple(field.encode_name for field in msgspec.structs.fields(UsageLimits))
FLAVOR = {"id": TEXT, "name": TEXT, "vcpus": INTEGER, "ram": INTEGER, "disk": INTEGER}
DOMAIN = {
    **dict.fromkeys(("domainId", "domainName", "comment", "serviceAreas", "serviceType", "cname", "status"), TEXT),
    "cacheBehaviors": ARRAY,
    "visitControlRules": ARRAY,
    "originConfig": OBJECT,
    "queryStringSettings": TEXT_OR_NULL,
}
ORIGIN = {"originIps": TEXTS, "advOriginConfigs": ANY, "originDomainName": ANY}
ENABLED = FieldType(
    'a boolean or the text "true" or "false"', lambda value: isinstance(value, bool) or value in ("true", "false")
)

USAGE, FLAVORS, DETAIL = "2.2 Usage limits record", "2.3 Flavors record", "2.5 Domain detail"
USAGE_ANSWERS, FLAVORS_ANSWER, DOMAIN_ANSWERS = (
    "answers.GetUsageLimits",
    "answers.GetFlavors",
    "answers.GetDomainDetail",
)


@checks.must("usage.fields", USAGE, USAGE_ANSWERS)
@for_each_payload("GetUsageLimits")
def usage_fields(usage: Any) -> None:
    """Usage limits have all 22 fields, each an integer."""
    check_no_problems(schema_errors(usage, dict.fromkeys(USAGE_FIELDS, INTEGER), "data"))


@checks.must("flavors.parts", FLAVORS, FLAVORS_ANSWER)
@for_each_payload("GetFlavors")
def flavors_parts(data: Any) -> None:
    """Flavors have flavors (an array), configs and limits (objects)."""
    schema = {"flavors": ARRAY, "configs": OBJECT, "limits": OBJECT}
    check_no_problems(schema_errors(data, schema, "data"))


@checks.must("flavors.items", FLAVORS, "flavors.parts")
@for_each_payload("GetFlavors")
def flavors_items(data: Any) -> None:
    """Each flavor has id and name as text, and vcpus, ram and disk as integers."""
    check_no_problems(schema_errors_of_all(_flavors(data), FLAVOR, "flavors"))


@checks.should("flavors.ids", FLAVORS, "flavors.parts")
@for_each_payload("GetFlavors")
def flavors_ids(data: Any) -> None:
    """A flavor's id is numeric text; a console in front of a cloud passes the cloud's IDs through."""
    check_no_problems(pattern_errors(values_of(_flavors(data), "id", "flavors"), "[0-9]+", "numeric text"))


@checks.must("flavors.configs", FLAVORS, "flavors.parts")
@for_each_payload("GetFlavors")
def flavors_configs(data: Any) -> None:
    """configs has vcpus and ram, each an array of integers."""
    check_no_problems(schema_errors(data["configs"], {"vcpus": INTEGERS, "ram": INTEGERS}, "configs"))


@checks.must("flavors.limits", FLAVORS, "flavors.parts")
@for_each_payload("GetFlavors")
def flavors_limits(data: Any) -> None:
    """limits has core counts as text for keys and arrays of integers for values."""
    limits = data["limits"]
    keys = [
        f"limits has the key {json_line(key)}, which is not a core count"
        for key in limits
        if not re.fullmatch("[0-9]+", key, re.ASCII)
    ]
    check_no_problems(keys + schema_errors(limits, dict.fromkeys(limits, INTEGERS), "limits"))


@checks.should("flavors.relation", FLAVORS, "flavors.items", "flavors.limits")
@for_each_payload("GetFlavors")
def flavors_relation(data: Any) -> None:
    """Every flavor has a ram that limits allows with its vcpus."""
    limits = data["limits"]
    check_no_problems(
        [
            f"flavor {json_line(flavor['id'])} has ram {flavor['ram']}, not allowed with {flavor['vcpus']} cores"
            for flavor in _flavors(data)
            if flavor["ram"] not in limits.get(str(flavor["vcpus"]), [])
        ]
    )


@checks.should("flavors.names", FLAVORS, "flavors.items")
@for_each_payload("GetFlavors")
def flavors_names(data: Any) -> None:
    """A name of the form `<vcpus>C<ram>G<disk>G` starts with the flavor's vcpus."""
    named = [(flavor, re.fullmatch("([0-9]+)C[0-9]+G[0-9]+G", flavor["name"], re.ASCII)) for flavor in _flavors(data)]
    wrong = [flavor for flavor, name in named if name and int(name[1]) != flavor["vcpus"]]
    check_no_problems([f"{json_line(flavor['name'])} has {flavor['vcpus']} vcpus" for flavor in wrong])


@checks.must("domain.fields", DETAIL, DOMAIN_ANSWERS)
@for_each_domain
def domain_fields(domains: list[dict[str, Any]]) -> None:
    """A domain has all fields with their types; queryStringSettings may be null."""
    check_no_problems([problem for domain in domains for problem in schema_errors(domain, DOMAIN, "data")])


@checks.must("domain.enabled", DETAIL, DOMAIN_ANSWERS)
@for_each_domain
def domain_enabled(domains: list[dict[str, Any]]) -> str:
    """enabled is a boolean, or the text "true" or "false"."""
    check_no_problems(
        [problem for domain in domains for problem in schema_errors(domain, {"enabled": ENABLED}, "data")]
    )
    return "a boolean" if isinstance(domains[0]["enabled"], bool) else "text"


@checks.must("domain.origin", DETAIL, "domain.fields")
@for_each_domain
def domain_origin(domains: list[dict[str, Any]]) -> None:
    """originConfig has originIps (an array of text), advOriginConfigs and originDomainName, which may be null."""
    check_no_problems(
        [problem for each in domains for problem in schema_errors(each["originConfig"], ORIGIN, "originConfig")]
    )


@checks.must("domain.origin-ips", DETAIL, "domain.origin")
@for_each_domain
def domain_origin_ips(domains: list[dict[str, Any]]) -> None:
    """originIps are IP addresses."""
    addresses = [address for domain in domains for address in domain["originConfig"]["originIps"]]
    check_no_problems([f"originIps has {json_line(address)}" for address in addresses if not _is_address(address)])


@checks.must("domain.id", DETAIL, "domain.fields")
def domain_id(console: CheckContext) -> None:
    """domainId is numeric text and equals the requested ID."""
    problems = []
    for label, domains in console.domains_by_form():
        for requested, domain in zip(console.target.domains, domains, strict=False):
            actual = domain["domainId"]
            if actual != requested:
                problems.append(f"{label}domainId is {json_line(actual)}, but {json_line(requested)} was requested")
            problems += pattern_errors([(f"{label}domainId", actual)], "[0-9]+", "numeric text")
    check_no_problems(problems)


@checks.should("domain.areas", DETAIL, "domain.fields")
@for_each_domain
def domain_areas(domains: list[dict[str, Any]]) -> None:
    """serviceAreas is a list of nonempty codes separated by semicolons."""
    areas = [domain["serviceAreas"] for domain in domains]
    check_no_problems(
        [f"serviceAreas is {json_line(each)}" for each in areas if not all(code.strip() for code in each.split(";"))]
    )


def _flavors(data: Any) -> list[Any]:
    flavors: list[Any] = data["flavors"]
    if not flavors:
        raise CheckSkipped("there are no flavors")
    return flavors


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


URLS, NEWS, CONSUMPTION = "2.4 URL item", "2.6 News item", "2.7 Consumption estimate item"
URLS_ANSWER, NEWS_ANSWERS, CONSUMPTION_ANSWERS = (
    "answers.GetUrlList",
    "answers.GetNews",
    "answers.GetConsumptionsEstimated",
)

KINDS = get_args(BillableType)
PERIODS = ("hour", "day", "month", "year")
URL_TYPES = ("URL链接", "URL目录")


@checks.must("urls.fields", URLS, URLS_ANSWER)
@for_each_payload("GetUrlList")
def urls_fields(items: list[Any]) -> None:
    """Each URL has url, type and id, all text."""
    check_no_problems(schema_errors_of_all(items, dict.fromkeys(("url", "type", "id"), TEXT), "data"))


@checks.must("urls.ids", URLS, URLS_ANSWER)
@for_each_payload("GetUrlList")
def urls_ids(items: list[Any]) -> None:
    """A URL's id is url- and 8 lowercase letters or digits."""
    ids = values_of(items, "id", "data")
    check_no_problems(pattern_errors(ids, "url-[a-z0-9]{8}", "url- and 8 lowercase letters or digits"))


@checks.info("urls.types", URLS, URLS_ANSWER)
@for_each_payload("GetUrlList")
def urls_types(items: list[Any]) -> str:
    """Which types of URL occur; the interface does not list all."""
    types = {value for _, value in values_of(items, "type", "data") if isinstance(value, str)}
    unknown = sorted(types - set(URL_TYPES))
    return f"besides the known ones: {json_line(unknown)}" if unknown else json_line(sorted(types))


@checks.must("news.fields", NEWS, NEWS_ANSWERS)
@for_each_payload("GetNews")
def news_fields(items: list[Any]) -> None:
    """Each news item has date, url and title, all text."""
    check_no_problems(schema_errors_of_all(items, dict.fromkeys(("date", "url", "title"), TEXT), "data"))


@checks.must("news.dates", NEWS, NEWS_ANSWERS)
@for_each_payload("GetNews")
def news_dates(items: list[Any]) -> None:
    """A date is a valid time in the form YYYY-MM-DD HH:MM:SS."""
    dates = [(location, value) for location, value in values_of(items, "date", "data") if isinstance(value, str)]
    check_no_problems([f"{location} is {json_line(value)}" for location, value in dates if not is_timestamp(value)])


@checks.should("news.newest-first", NEWS, "news.dates")
@for_each_payload("GetNews")
def news_newest_first(items: list[Any]) -> None:
    """News is ordered newest first, as in the reference response."""
    check_newest_first(items)


@checks.must("consumption.fields", CONSUMPTION, CONSUMPTION_ANSWERS)
@for_each_payload("GetConsumptionsEstimated")
def consumption_fields(items: list[Any]) -> None:
    """Each item has res_type, hour, day, month and year, all text: amounts are never numbers."""
    schema = dict.fromkeys(("res_type", *PERIODS), TEXT)
    check_no_problems(schema_errors_of_all(items, schema, "data"))


@checks.must("consumption.kinds", CONSUMPTION, CONSUMPTION_ANSWERS)
@for_each_payload("GetConsumptionsEstimated")
def consumption_kinds(items: list[Any]) -> None:
    """res_type is instance, image, loadbalance or volume."""
    kinds = values_of(items, "res_type", "data")
    check_no_problems(pattern_errors(kinds, "|".join(KINDS), "one of the four kinds"))


@checks.must("consumption.amounts", CONSUMPTION, CONSUMPTION_ANSWERS)
@for_each_payload("GetConsumptionsEstimated")
def consumption_amounts(items: list[Any]) -> None:
    """An amount is a decimal number as text."""
    amounts = [amount for period in PERIODS for amount in values_of(items, period, "data")]
    check_no_problems(pattern_errors(amounts, r"-?[0-9]+(\.[0-9]+)?", "a decimal number"))


@checks.should("consumption.each-kind-once", CONSUMPTION, "consumption.fields")
@for_each_payload("GetConsumptionsEstimated")
def consumption_each_kind_once(items: list[Any]) -> None:
    """There is one item per kind with consumption."""
    kinds = [item["res_type"] for item in items]
    check_no_problems(
        [f"{json_line(kind)} occurs {kinds.count(kind)} times" for kind in sorted(set(kinds)) if kinds.count(kind) > 1]
    )


@checks.should("consumption.only-consumed", CONSUMPTION, "consumption.fields", "consumption.amounts")
@for_each_payload("GetConsumptionsEstimated")
def consumption_only_consumed(items: list[Any]) -> None:
    """There is no item for a kind without consumption: every item has a nonzero amount."""
    zeros = [item for item in items if not any(Decimal(item[period]) for period in PERIODS)]
    check_no_problems([f"{json_line(item['res_type'])} has only zero amounts" for item in zeros])


def checks_of(action: str) -> tuple[str, ...]:
    """Return the IDs of the checks of an action's payload."""
    found = [f"answers.{action}"]
    for each in checks:
        if not set(found).isdisjoint(each.needs):
            found.append(each.id)
    return tuple(found[1:])


def is_timestamp(text: str) -> bool:
    try:
        return datetime.strptime(text, "%Y-%m-%d %H:%M:%S").strftime("%Y-%m-%d %H:%M:%S") == text  # noqa: DTZ007
    except ValueError:
        return False


def check_newest_first(items: list[Any]) -> None:
    dates = [value for _, value in values_of(items, "date", "data") if isinstance(value, str)]
    check_no_problems([f"{after} comes after {before}" for before, after in pairwise(dates) if after > before])
