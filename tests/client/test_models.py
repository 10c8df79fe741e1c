"""Records: convenience methods, and missing or mistyped fields in responses."""

import copy
import pickle
from decimal import Decimal
from typing import Any

import pytest

from cloudconsole import About, ConsoleError, ProtocolError, Quota, RegionRequired
from cloudconsole.client import decoding, extension_decoding
from cloudconsole.client.exceptions import ConnectionFailed
from cloudconsole.spec.records import UsageLimits

NOTHING = About()
USAGE = dict.fromkeys((field for field in UsageLimits.__struct_encode_fields__), 7)
FLAVORS: dict[str, Any] = {
    "flavors": [
        {"id": "1", "name": "1C1G0G", "vcpus": 1, "ram": 1024, "disk": 0},
        {"id": "2", "name": "odd", "vcpus": 1, "ram": 9999, "disk": 0},
    ],
    "configs": {"vcpus": [1, 2], "ram": [1024, 2048]},
    "limits": {"2": [2048, 1024], "1": [1024]},
}
DOMAIN: dict[str, Any] = {
    "domainId": "1",
    "domainName": "www.example.com",
    "comment": "",
    "serviceAreas": "hk;ov",
    "serviceType": "web",
    "enabled": "true",
    "cname": "c.example.net",
    "status": "Deployed",
    "cacheBehaviors": [],
    "visitControlRules": [],
    "originConfig": {"originIps": ["192.0.2.1"], "advOriginConfigs": None, "originDomainName": None},
    "queryStringSettings": None,
}
URLS = [{"url": "http://x", "type": "URL链接", "id": "url-12345678"}]
NEWS = [{"date": "2026-01-31 08:00:00", "url": "http://x", "title": "News"}]
COSTS = [{"res_type": "instance", "hour": "0.10", "day": "2.40", "month": "72.00", "year": "876.00"}]


def news(data: Any) -> Any:
    return decoding.news(data, NOTHING)


DOMAINS = [
    {"domainId": "1", "domainName": "a.example", "enabled": "true", "status": "Deployed", "serviceType": "web"},
    {"domainId": "2", "domainName": "b.example", "enabled": "false", "status": "Disabled", "serviceType": "web"},
]
ANNOUNCEMENTS = [NEWS[0] | {"id": 1, "language": "zh", "pinned": True}]
PRICE = {"res_type": "volume", "unit": "gb", "region": "hk-1", "type": "ssd", "price": "0.000385125"}
PRICES = [{**PRICE, "start_at": "2026-01-01 00:00:00", "end_at": "2026-02-01 00:00:00", "in_force": True}]


COST = {"hour": "-0.10", "day": "-2.40", "month": "-72.00", "year": "-876.00"}
ESTIMATE = {
    "items": [{"res_type": "volume", "count": -1, **COST}],
    **COST,
    "hours": 2,
    "cost": "-0.20",
    "priced": True,
    "fits": True,
    "quotas": [{"quota": "ram", "limit": -1, "used": 7, "free": None, "needed": -5, "lacking": 0}],
}


def estimate(data: Any) -> Any:
    return extension_decoding.estimate(data, NOTHING)


SUMMARY = [{"res_type": "allcategories", "count": 2, "amount": "5.00"}]
BILLS = [{"bill_month": "2026-01", "total": "5.00", "corrections": "-1.00", "complete": True}]
FORECAST = {
    "month": "2026-01",
    "so_far": "1.00",
    "rest": "2.00",
    "total": "3.00",
    "hours_left": 5,
    "complete": True,
}


EXPORT = {"columns": ["amount", "name"], "rows": [["5.00", "v"]], "next_marker": None}


def forecast(data: Any) -> Any:
    return extension_decoding.forecast(data, NOTHING)


def announcements(data: Any) -> Any:
    return extension_decoding.announcements(data, NOTHING)


def prices(data: Any) -> Any:
    return extension_decoding.prices(data, NOTHING)


def consumption(data: Any) -> Any:
    return decoding.consumption(data, NOTHING)


ACTIONS: dict[str, tuple[Any, Any]] = {
    "usage": (decoding.usage_limits, USAGE),
    "flavors": (decoding.flavors, FLAVORS),
    "urls": (decoding.urls, URLS),
    "domain": (decoding.domain, DOMAIN),
    "news": (news, NEWS),
    "consumption": (consumption, COSTS),
    "domains": (extension_decoding.domains, DOMAINS),
    "announcements": (announcements, ANNOUNCEMENTS),
    "prices": (prices, PRICES),
    "estimate": (estimate, ESTIMATE),
    "summary": (extension_decoding.cost_summary, SUMMARY),
    "bills": (extension_decoding.monthly_bills, BILLS),
    "forecast": (forecast, FORECAST),
    "export": (extension_decoding.cost_export, EXPORT),
}


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all keys in a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [(*at, key) for key, _ in inner if isinstance(value, dict)]
    return found + [path for key, item in inner for path in paths(item, (*at, key))]


def every_field() -> list[Any]:
    # The keys of `limits` are core counts, not fields of the interface.
    return [
        pytest.param(name, path, id=f"{name}-{path[-1]}")
        for name, (_, data) in ACTIONS.items()
        for path in paths(data)
        if "limits" not in path[:-1] and path[:2] != ("flavors", 1)
    ]


def changed(data: Any, path: tuple[Any, ...], *value: Any) -> Any:
    """A copy without the field, or with another value for it."""
    result = copy.deepcopy(data)
    parent = result
    for key in path[:-1]:
        parent = parent[key]
    if value:
        parent[path[-1]] = value[0]
    else:
        del parent[path[-1]]
    return result


@pytest.mark.parametrize("value", [(), (1.5,)], ids=["missing", "wrong type"])
@pytest.mark.parametrize(("name", "path"), every_field())
def test_a_missing_or_mistyped_field_is_named(name: str, path: tuple[Any, ...], value: tuple[Any, ...]) -> None:
    read, data = ACTIONS[name]
    broken = changed(data, path, *value)
    if value and path[-1] in ("advOriginConfigs", "originDomainName"):
        # These have any structure.
        assert read(broken)
        return
    with pytest.raises(ProtocolError) as raised:
        read(broken)
    assert str(raised.value.field).endswith(path[-1])
    assert path[-1] in str(raised.value)
    assert raised.value.payload == broken


@pytest.mark.parametrize("name", ACTIONS)
def test_unknown_fields_are_ignored_but_kept_in_raw(name: str) -> None:
    read, data = ACTIONS[name]
    more = copy.deepcopy(data)
    (more[0] if isinstance(more, list) else more)["more"] = {"than": ["we", "know"]}
    record = read(more)
    raw = record.raw if hasattr(record, "raw") else next(iter(record)).raw
    assert raw["more"] == {"than": ["we", "know"]}


@pytest.mark.parametrize("name", ACTIONS)
@pytest.mark.parametrize("data", [None, "text", 7, [[]], [None]])
def test_data_of_a_wrong_type_is_rejected(name: str, data: Any) -> None:
    read, _ = ACTIONS[name]
    with pytest.raises(ProtocolError) as raised:
        read(data)
    assert raised.value.field


def test_boolean_is_not_accepted_as_a_number() -> None:
    with pytest.raises(ProtocolError, match="maxTotalCores"):
        decoding.usage_limits({**USAGE, "maxTotalCores": True})


class TestQuotas:
    @pytest.mark.parametrize(
        ("quota", "free", "share"),
        [
            (Quota(4, 20), 16, 0.2),
            (Quota(9, 6), 0, 1.5),
            (Quota(0, 0), 0, None),
            (Quota(2, 0), 0, float("inf")),
            (Quota(10**400, 1), 0, float("inf")),
        ],
    )
    def test_free_and_share(self, quota: Quota, free: int, share: float | None) -> None:
        assert (quota.free, quota.share) == (free, share)

    def test_minus_one_means_unlimited(self) -> None:
        usage = decoding.usage_limits({**USAGE, "maxTotalInstances": -1, "maxTotalKeypairs": -1})
        assert usage.instances.is_unlimited
        assert usage.instances.limit is usage.instances.free is usage.instances.share is None
        assert usage.keypairs is None

    def test_all_fields_of_the_interface_are_present(self) -> None:
        usage = decoding.usage_limits({name: number for number, name in enumerate(USAGE)})
        numbers = {number for quota in usage.quotas().values() for number in (quota.used, quota.limit)}
        assert numbers | set(usage.bounds().values()) == set(range(22))


class TestFlavors:
    def test_allows(self) -> None:
        flavors = decoding.flavors(FLAVORS)
        assert flavors.allows(2, 1024)
        assert not flavors.allows(1, 2048)
        assert not flavors.allows(64, 1024)

    def test_choices_ascend(self) -> None:
        assert list(decoding.flavors(FLAVORS).choices().items()) == [(1, (1024,)), (2, (1024, 2048))]

    def test_matching_respects_the_limits(self) -> None:
        flavors = decoding.flavors(FLAVORS)
        assert len(flavors) == len(list(flavors)) == 2
        assert [flavor.id for flavor in flavors.matching(vcpus=1)] == ["1"]
        assert flavors.matching(vcpus=1, ram=2048) == ()

    @pytest.mark.parametrize("key", ["one", "", "-1", "1.0", "٣", "1" * 5000])
    def test_limits_key_must_be_a_core_count(self, key: str) -> None:
        with pytest.raises(ProtocolError, match="limits"):
            decoding.flavors({**FLAVORS, "limits": {key: [1024]}})


class TestDomains:
    @pytest.mark.parametrize(
        ("sent", "enabled"), [(True, True), (False, False), ("true", True), ("false", False), ("True", True)]
    )
    def test_enabled_is_a_boolean_even_if_sent_as_text(self, sent: Any, enabled: bool) -> None:
        assert decoding.domain({**DOMAIN, "enabled": sent}).enabled is enabled

    @pytest.mark.parametrize("sent", ["yes", "", 1, None])
    def test_invalid_enabled_is_rejected(self, sent: Any) -> None:
        with pytest.raises(ProtocolError, match="enabled"):
            decoding.domain({**DOMAIN, "enabled": sent})

    @pytest.mark.parametrize(("sent", "areas"), [("hk;ov", ["hk", "ov"]), ("hk", ["hk"]), ("", []), ("hk; ;", ["hk"])])
    def test_service_areas(self, sent: str, areas: list[str]) -> None:
        assert decoding.domain({**DOMAIN, "serviceAreas": sent}).service_areas == areas


class TestTimes:
    @pytest.mark.parametrize(
        ("zone", "offset"),
        [("Asia/Shanghai", "+08:00"), (None, ""), ("No/Such", ""), ("../../etc/passwd", ""), ("\0", "")],
    )
    def test_times_have_the_zone_of_the_console_if_it_is_valid(self, zone: str | None, offset: str) -> None:
        (item,) = decoding.news(NEWS, About(time_zone=zone))
        assert item.date.isoformat() == f"2026-01-31T08:00:00{offset}"

    @pytest.mark.parametrize("text", ["2026-01-31", "2026-02-30 08:00:00", "now", "2026-01-31T08:00:00"])
    def test_invalid_time_is_rejected(self, text: str) -> None:
        with pytest.raises(ProtocolError) as raised:
            news([*NEWS, {**NEWS[0], "date": text}])
        assert raised.value.field == "[1].date"


class TestAmounts:
    def test_sums_are_exact_and_include_unknown_types(self) -> None:
        large = {"res_type": "snapshot", **dict.fromkeys(("hour", "day", "month", "year"), "9" * 30 + ".000000001")}
        costs = consumption([*COSTS, large])
        assert [cost.res_type for cost in costs] == ["instance", "snapshot"]
        assert costs.total.hour == Decimal("9" * 30 + ".100000001")

    def test_empty_consumption_totals_zero(self) -> None:
        assert (len(consumption([])), consumption([]).total.year) == (0, 0)

    @pytest.mark.parametrize("text", ["", "NaN", "Infinity", "1e3", "1,5", "٣", " 1", "1."])
    def test_invalid_amount_is_rejected(self, text: str) -> None:
        with pytest.raises(ProtocolError) as raised:
            consumption([{**COSTS[0], "month": text}])
        assert raised.value.field == "[0].month"


@pytest.mark.parametrize(
    "error",
    [
        RegionRequired("which?", ("a", "b")),
        ProtocolError("odd", payload=[1], field="x"),
        ConnectionFailed("gone", was_sent=False),
        ConsoleError("no", code=7, request_id="r"),
    ],
)
def test_errors_can_be_copied_and_pickled(error: ConsoleError) -> None:
    for duplicate in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(duplicate) is type(error)
        assert str(duplicate) == str(error)
        assert vars(duplicate) == vars(error)


def test_an_estimate_without_a_price_has_no_costs() -> None:
    nothing = dict.fromkeys(("hour", "day", "month", "year"))
    data = {**ESTIMATE, "items": [{"res_type": "image", "count": 1, **nothing}], **nothing, "cost": None}
    decoded = estimate(data)
    assert (decoded.items, decoded.total, decoded.cost) == ((None,), None, None)
    assert (decoded.quotas[0].limit, decoded.quotas[0].free) == (None, None)
    assert estimate(ESTIMATE).total.year == Decimal("-876.00")
