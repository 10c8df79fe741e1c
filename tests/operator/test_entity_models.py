"""Field types and rules of all entities, which single changes, cloud files and imports share."""

from datetime import timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from cloudconsole.operator.entity_models import (
    Account,
    Domain,
    EntityModel,
    Flavor,
    News,
    Node,
    Price,
    Resource,
    Tenant,
    UrlEntry,
    parse_model,
    parse_quotas,
    price_errors,
    resource_errors,
)
from cloudconsole.operator.errors import ValidationError
from cloudconsole.operator.fields import MAX_DEPTH, seconds_of
from cloudconsole.operator.invalid_placeholder import UnreadableValue
from cloudconsole.operator.transaction import OperatorTransaction
from tests.operator.clouds import SECRET_HASH

UNUSED: Any = None
TX = OperatorTransaction(UNUSED, "tester", 0)

URL = "https://www.example.com/"
DOMAIN = {"id": "1", "name": "a", "serviceAreas": "hk", "serviceType": "web", "cname": "c", "status": "Up"}
VOLUME = {"id": "v-1", "kind": "volume", "name": "a", "node": "n1", "size": 1, "started": "2026-01-01"}
INSTANCE = {"kind": "instance", "size": 0, "vcpus": 1, "ram": 1}
VALID: dict[type[EntityModel], dict[str, Any]] = {
    Tenant: {"name": "a"},
    Node: {"name": "a"},
    Account: {"username": "a"},
    Flavor: {"id": "1", "name": "a", "vcpus": 1, "ram": 1, "disk": 0},
    News: {"id": 1, "date": "2026-01-01", "title": "a", "url": URL},
    UrlEntry: {"id": "url-ab12cd34", "type": "link", "url": URL},
    Price: {"kind": "volume", "unit": "gb", "price": "1", "from": "2026-01-01"},
    Domain: DOMAIN,
    Resource: VOLUME,
}
CHECKS: dict[type[EntityModel], Any] = {Price: price_errors, Resource: resource_errors}

NO_NUMBER = 'must be a number, such as "0.031"'
NO_TYPE = "type: does not apply: only instances (unit each) and volumes (unit gb) can have a type"
BAD_ADDRESS = "originConfig.originIps[1]: must be an IP address, such as 192.0.2.1"
BAD_URL_ID = "must be url- followed by eight lowercase letters or digits, such as url-ab12cd34"
BAD_HASH = "must be an argon2id hash of at least 36 MiB (memory times passes) and at most 64 MiB"
NO_PASSWORD = "is not allowed: use password_hash, or password_file with the path of a file that contains it"


def parsed(model: type[EntityModel], values: dict[str, Any]) -> Any:
    return parse_model(model, VALID[model] | values, TX, check=CHECKS.get(model, lambda _part: ()))


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


INVALID_VALUES: list[tuple[type[EntityModel], str, list[Any], str]] = [
    (Node, "name", [""], "must not be empty"),
    (Node, "name", [None], "has no value"),
    (Node, "name", [7], "must be text: put it in quotes"),
    (Node, "name", ["x" * 256], "must have at most 255 characters"),
    (Node, "name", ["\ud800"], "contains half of a surrogate pair: write the character itself"),
    (Node, "disabled", [1], "must be true or false"),
    (Node, "colour", ["red"], "is unknown: check the spelling or remove it"),
    (Tenant, "project", ["p"], "must be a project ID, an @ and the URL of its identity service, such as "),
    (Tenant, "project", [5], "must be text: put it in quotes"),
    (Account, "username", ["x" * 65], "must have at most 64 characters"),
    (Account, "role", ["king"], "must be 'tenant' or 'operator'"),
    (Account, "password", ["plain"], NO_PASSWORD),
    (Account, "password_hash", ["plain"], BAD_HASH),
    (Flavor, "id", ["x1", "1" * 65, "\u0661"], "must be 1 to 64 digits"),
    (Flavor, "id", [True], "must be text: put it in quotes"),
    (Flavor, "vcpus", [0], "must be at least 1"),
    (Flavor, "vcpus", [Decimal("1.5"), True], "must be a whole number"),
    (Flavor, "ram", [0], "must be at least 1"),
    (Flavor, "ram", [2**31], "must be at most 2147483647"),
    (Flavor, "disk", [-1], "must be at least 0"),
    (Flavor, "disk", [UnreadableValue("must be digits")], "must be digits"),
    (News, "id", [0], "must be at least 1"),
    (News, "date", [""], "must not be empty"),
    (News, "date", [5, "soon", "2026-01-01T1:00"], "must be a time, such as 2026-01-31T08:00:00Z"),
    (News, "date", ["2026-02-30"], "is not a valid date or time"),
    (News, "date", ["1969-12-31T23:59:59Z", "9999-12-31T00:00:00Z"], "must be a time from 1970 to 9999"),
    (News, "url", ["ftp://a", "https://exam ple"], "must begin with http:// or https:// and have no spaces"),
    (News, "url", ["https://" + "a" * 1993], "must have at most 2000 characters"),
    (UrlEntry, "id", ["url-AB12cd34", "url-ab12cd3"], BAD_URL_ID),
    (UrlEntry, "type", ["page"], "must be 'link' or 'directory'"),
    (Domain, "name", ["https://www.example.com", "http://a/"], "must be a host name without https://, such as www"),
    (Domain, "comment", ["a\tb"], "must not contain control characters, such as tabs or line breaks"),
    (Domain, "comment", ["x" * 2001], "must have at most 2000 characters"),
    (Domain, "enabled", ["yes"], "must be true or false"),
    (Domain, "cacheBehaviors", [{}], "must be a list"),
    (Domain, "cacheBehaviors", [nested(101)], "must not be nested deeper than 100 levels"),
    (Domain, "originConfig", [[]], "must be a mapping of names to values"),
    (Price, "kind", ["snapshot"], "must be 'instance', 'image', 'loadbalance' or 'volume'"),
    (Price, "type", [""], "must not be empty"),
    (Price, "price", ["cheap", "1e3", "0,01", 0.5, True, Decimal("nan"), Decimal("inf")], NO_NUMBER),
    (Price, "price", ["-0.01"], "must not be negative"),
    (Price, "price", ["0.0000000001", Decimal("1e-999999999")], "must not have more than nine decimals"),
    (Price, "price", ["9223372036.854775808", Decimal("1e999999999")], "is too large"),
    (Resource, "kind", ["disk"], "must be 'instance', 'image', 'loadbalance', 'volume', 'snapshot', "),
    (Resource, "node", ["a\tb"], "must not contain control characters, such as tabs or line breaks"),
    (Resource, "node", [None], "a volume must be on a node"),
    (Resource, "size", [0, 2**31], "must be from 1 to 2147483647"),
    (Resource, "size", ["5"], "must be a whole number"),
    (Resource, "vcpus", [1], "does not apply to the kind volume"),
    (Resource, "ended", ["2025-12-31"], "must not be before its start, 2026-01-01T00:00:00Z"),
]


@pytest.mark.parametrize(
    ("model", "values", "message"),
    [
        *((model, {name: each}, f"{name}: {text}") for model, name, values, text in INVALID_VALUES for each in values),
        (Domain, {"originConfig": {"originIps": ["192.0.2.1", "192.0.2.300"]}}, BAD_ADDRESS),
        (Price, {"kind": "instance", "unit": "gb"}, "unit: must be each, vcpu or ram_gb for an instance"),
        (Price, {"unit": "each", "type": "ssd"}, "unit: must be gb for a volume"),
        (Price, {"kind": "image", "type": "raw"}, NO_TYPE),
        (Price, {"kind": "loadbalance", "unit": "each", "type": "small"}, NO_TYPE),
        (Price, {"kind": "instance", "unit": "vcpu", "type": "m1.small"}, NO_TYPE),
        (Price, {"kind": "instance", "unit": "ram_gb", "type": "m1.small"}, NO_TYPE),
        (Resource, {"kind": "keypair", "size": 0}, "node: a keypair cannot be on a node"),
        (Resource, INSTANCE | {"node": None}, "node: an instance must be on a node"),
        (Resource, {"kind": "loadbalance", "size": -1}, "size: does not apply to the kind loadbalance"),
        (Resource, INSTANCE | {"ram": -1}, "ram: must be from 1 to 2147483647"),
        (Resource, INSTANCE | {"disk": -1}, "disk: must be from 0 to 2147483647"),
        (Resource, INSTANCE | {"vcpus": 0, "ram": 0}, "vcpus: must be from 1 to 2147483647; ram: must be from 1 to "),
    ],
)
def test_invalid_value_is_rejected(model: type[EntityModel], values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as error:
        parsed(model, values)
    assert str(error.value).startswith(message)
    assert len(error.value.errors) == 1 + message.count("; ")


@pytest.mark.parametrize(
    ("model", "values"),
    [
        (Node, {"name": "x" * 255}),
        (Account, {"username": "x" * 64, "password_hash": SECRET_HASH}),
        (Flavor, {"id": "0" * 64, "ram": 2**31 - 1}),
        (News, {"date": "1970-01-01T00:00:00Z"}),
        (News, {"date": "9999-12-30T23:59:59Z", "url": "https://" + "a" * 1992}),
        (Domain, {"name": "*.a-1.xn--p1ai"}),
        (Domain, {"name": "图片.例子.中国"}),
        (Domain, {"name": "intranet"}),
        (Domain, {"comment": "x" * 2000, "cacheBehaviors": nested(MAX_DEPTH)}),
        (Domain, {"originConfig": {"originIps": ["192.0.2.1", "2001:db8::1"], "originDomainName": "a.example"}}),
        (Price, {"kind": "instance", "unit": "each", "type": "m1.small"}),
        (Price, {"type": "ssd", "node": "n1"}),
        (Resource, {"size": 2**31 - 1, "ended": "2026-01-01"}),
        (Resource, INSTANCE | {"disk": 0}),
        (Resource, {"kind": "floating_ip", "size": 0, "node": None}),
        (Resource, {"kind": "floating_ip", "size": 0}),
    ],
)
def test_valid_value_is_accepted(model: type[EntityModel], values: dict[str, Any]) -> None:
    assert parsed(model, values)


def test_missing_size_is_reported_as_required() -> None:
    volume = {name: value for name, value in VOLUME.items() if name != "size"}
    with pytest.raises(ValidationError, match=r"^size: is required for a volume: from 1 to 2147483647$"):
        parse_model(Resource, volume, TX, check=resource_errors)


def test_number_as_numeric_id_becomes_text() -> None:
    assert parsed(Flavor, {"id": 206813}).id == "206813"


@pytest.mark.parametrize(
    ("written", "billionths"),
    [
        ("0.031", 31_000_000),
        (1, 1_000_000_000),
        (0, 0),
        ("-0", 0),
        (Decimal("0.1000000000000000000000000"), 100_000_000),
        ("0.000000001", 1),
        (Decimal("4.2e-4"), 420_000),
        (Decimal("1e9"), 10**18),
        ("9223372036.854775807", 2**63 - 1),
    ],
)
def test_price_is_exact(written: Any, billionths: int) -> None:
    assert parsed(Price, {"price": written}).price == billionths


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("1970-01-02T00:00:00Z", 86_400),
        ("1970-01-02t00:00:00z", 86_400),
        ("1970-01-02 00:00:00.999999999Z", 86_400),
        ("1970-01-02T00:00:00+08:00", 86_400 - 8 * 3600),
        ("1970-01-02T00:00:00", 86_400 - 5 * 3600),
        ("1970-01-02T00:01", 86_460 - 5 * 3600),
        ("1970-01-02", 86_400 - 5 * 3600),
    ],
)
def test_time_without_an_offset_is_in_the_given_zone(written: str, seconds: int) -> None:
    assert seconds_of(written, timezone(timedelta(hours=5))) == seconds


@pytest.mark.parametrize(
    ("quotas", "message"),
    [
        ({"cores": -2}, "cores: must be at least -1"),
        ({"cores": 2**31}, "cores: must be at most 2147483647"),
        ({"cores": "5"}, "cores: must be a whole number"),
        ({"cores": None}, "cores: has no value"),
        ({"wheels": 4}, "wheels: is not a quota; the quotas are instances, cores, ram, "),
    ],
)
def test_invalid_quota_is_rejected(quotas: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as error:
        parse_quotas(quotas)
    assert str(error.value).startswith(message)


def test_quotas_at_the_limits_are_accepted() -> None:
    quotas = {"cores": -1, "ram": 2**31 - 1, "keypairs": 0}
    assert parse_quotas(quotas) == quotas
