"""Interface checks: usage limits, flavors and domain details."""

import ipaddress
import re
from typing import Any

import msgspec

from cloudconsole.conformance.assertions import CheckSkipped, check_no_problems
from cloudconsole.conformance.checks import CheckGroup, for_each_domain, for_each_payload
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.redaction import json_line
from cloudconsole.conformance.schemas import (
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
from cloudconsole.spec.records import UsageLimits

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
