"""Records: their comforts, and what is missing or of a wrong type in what came."""

import copy
import pickle
from decimal import Decimal
from typing import Any

import pytest

from cloudconsole import About, ConsoleError, ProtocolError, Quota, RegionRequired
from cloudconsole.client import decoding
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


def consumption(data: Any) -> Any:
    return decoding.consumption(data, NOTHING)


ACTIONS: dict[str, tuple[Any, Any]] = {
    "usage": (decoding.usage_limits, USAGE),
    "flavors": (decoding.flavors, FLAVORS),
    "urls": (decoding.urls, URLS),
    "domain": (decoding.domain, DOMAIN),
    "news": (news, NEWS),
    "consumption": (consumption, COSTS),
}


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every key in it, with the way there."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [(*at, key) for key, _ in inner if isinstance(value, dict)]
    return found + [path for key, item in inner for path in paths(item, (*at, key))]


def every_field() -> list[Any]:
    # What is in `limits` are no fields of the interface's, but core counts.
    return [
        pytest.param(name, path, id=f"{name}-{path[-1]}")
        for name, (_, data) in ACTIONS.items()
        for path in paths(data)
        if "limits" not in path[:-1] and path[:2] != ("flavors", 1)
    ]


def changed(data: Any, path: tuple[Any, ...], *value: Any) -> Any:
    """A copy without the field, or with another value in it."""
    whole = copy.deepcopy(data)
    place = whole
    for key in path[:-1]:
        place = place[key]
    if value:
        place[path[-1]] = value[0]
    else:
        del place[path[-1]]
    return whole


@pytest.mark.parametrize(("name", "path"), every_field())
def test_a_missing_field_is_named(name: str, path: tuple[Any, ...]) -> None:
    read, data = ACTIONS[name]
    broken = changed(data, path)
    with pytest.raises(ProtocolError) as refused:
        read(broken)
    assert str(refused.value.field).endswith(path[-1])
    assert path[-1] in str(refused.value)
    assert refused.value.payload == broken


@pytest.mark.parametrize(("name", "path"), every_field())
def test_a_field_of_a_wrong_type_is_named(name: str, path: tuple[Any, ...]) -> None:
    read, data = ACTIONS[name]
    if path[-1] in ("advOriginConfigs", "originDomainName"):
        assert read(changed(data, path, {"any": "structure"}))
        return
    with pytest.raises(ProtocolError) as refused:
        read(changed(data, path, 1.5))
    assert str(refused.value.field).endswith(path[-1])


@pytest.mark.parametrize("name", ACTIONS)
def test_what_else_there_is_breaks_nothing_and_is_kept(name: str) -> None:
    read, data = ACTIONS[name]
    more = copy.deepcopy(data)
    (more[0] if isinstance(more, list) else more)["more"] = {"than": ["we", "know"]}
    record = read(more)
    kept = record.raw if hasattr(record, "raw") else next(iter(record)).raw
    assert kept["more"] == {"than": ["we", "know"]}


@pytest.mark.parametrize("name", ACTIONS)
@pytest.mark.parametrize("data", [None, "text", 7, [[]], [None]])
def test_data_of_another_kind(name: str, data: Any) -> None:
    read, _ = ACTIONS[name]
    with pytest.raises(ProtocolError) as refused:
        read(data)
    assert refused.value.field


def test_a_boolean_is_no_number() -> None:
    with pytest.raises(ProtocolError, match="maxTotalCores"):
        decoding.usage_limits({**USAGE, "maxTotalCores": True})


class TestQuotas:
    def test_what_is_free(self) -> None:
        assert Quota(used=4, limit=20).free == 16

    def test_more_in_use_than_the_limit_leaves_nothing_free(self) -> None:
        assert Quota(used=9, limit=5).free == 0

    def test_unlimited(self) -> None:
        usage = decoding.usage_limits({**USAGE, "maxTotalInstances": -1, "maxTotalKeypairs": -1})
        assert usage.instances.is_unlimited
        assert usage.instances.limit is usage.instances.free is usage.instances.share is None
        assert usage.keypairs is None

    @pytest.mark.parametrize(
        ("quota", "share"),
        [
            (Quota(1, 4), 0.25),
            (Quota(0, 0), None),
            (Quota(2, 0), float("inf")),
            (Quota(9, 6), 1.5),
            (Quota(10**400, 1), float("inf")),
        ],
    )
    def test_shares(self, quota: Quota, share: float | None) -> None:
        assert quota.share == share

    def test_all_fields_of_the_interface_are_there(self) -> None:
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

    def test_matching_obeys_the_limits(self) -> None:
        flavors = decoding.flavors(FLAVORS)
        assert len(flavors) == len(list(flavors)) == 2
        assert [flavor.id for flavor in flavors.matching(vcpus=1)] == ["1"]
        assert flavors.matching(vcpus=1, ram=2048) == ()

    @pytest.mark.parametrize("key", ["one", "", "-1", "1.0", "٣", "1" * 5000])
    def test_a_key_that_is_no_core_count(self, key: str) -> None:
        with pytest.raises(ProtocolError, match="limits"):
            decoding.flavors({**FLAVORS, "limits": {key: [1024]}})


class TestDomains:
    @pytest.mark.parametrize(
        ("sent", "enabled"), [(True, True), (False, False), ("true", True), ("false", False), ("True", True)]
    )
    def test_enabled_is_a_boolean_whatever_came(self, sent: Any, enabled: bool) -> None:
        assert decoding.domain({**DOMAIN, "enabled": sent}).enabled is enabled

    @pytest.mark.parametrize("sent", ["yes", "", 1, None])
    def test_enabled_that_says_nothing(self, sent: Any) -> None:
        with pytest.raises(ProtocolError, match="enabled"):
            decoding.domain({**DOMAIN, "enabled": sent})

    @pytest.mark.parametrize(("sent", "areas"), [("hk;ov", ["hk", "ov"]), ("hk", ["hk"]), ("", []), ("hk; ;", ["hk"])])
    def test_service_areas(self, sent: str, areas: list[str]) -> None:
        assert decoding.domain({**DOMAIN, "serviceAreas": sent}).service_areas == areas


class TestTimes:
    @pytest.mark.parametrize("zone", [None, "No/Such", "../../etc/passwd", "\0"])
    def test_without_a_zone_they_have_none(self, zone: str | None) -> None:
        (item,) = decoding.news(NEWS, About(time_zone=zone))
        assert item.date.isoformat() == "2026-01-31T08:00:00"

    def test_with_a_zone_they_have_it(self) -> None:
        (item,) = decoding.news(NEWS, About(time_zone="Asia/Shanghai"))
        assert item.date.isoformat() == "2026-01-31T08:00:00+08:00"

    @pytest.mark.parametrize("text", ["2026-01-31", "2026-02-30 08:00:00", "now", "2026-01-31T08:00:00"])
    def test_what_is_no_time(self, text: str) -> None:
        with pytest.raises(ProtocolError) as refused:
            news([*NEWS, {**NEWS[0], "date": text}])
        assert refused.value.field == "[1].date"


class TestAmounts:
    def test_sums_are_exact(self) -> None:
        large = {"res_type": "volume", **dict.fromkeys(("hour", "day", "month", "year"), "9" * 30 + ".000000001")}
        assert consumption([*COSTS, large]).total.hour == Decimal("9" * 30 + ".100000001")

    def test_nothing_costs_nothing(self) -> None:
        nothing = consumption([])
        assert len(nothing) == 0
        assert nothing.total.year == 0

    def test_a_kind_that_we_do_not_know(self) -> None:
        (cost,) = consumption([{**COSTS[0], "res_type": "snapshot"}])
        assert cost.res_type == "snapshot"

    @pytest.mark.parametrize("text", ["", "NaN", "Infinity", "1e3", "1,5", "٣", " 1", "1."])
    def test_what_is_no_decimal_number(self, text: str) -> None:
        with pytest.raises(ProtocolError) as refused:
            consumption([{**COSTS[0], "month": text}])
        assert refused.value.field == "[0].month"


@pytest.mark.parametrize(
    "error",
    [
        RegionRequired("which?", ("a", "b")),
        ProtocolError("odd", payload=[1], field="x"),
        ConnectionFailed("gone", was_sent=False),
        ConsoleError("no", code=7, request_id="r"),
    ],
)
def test_errors_can_be_copied_and_sent_to_other_processes(error: ConsoleError) -> None:
    for twin in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(twin) is type(error)
        assert str(twin) == str(error)
        assert vars(twin) == vars(error)
