"""Pricing, checked against decimals, and the clock hour, checked against a search over seconds."""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal, localcontext
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cloudconsole.core.pricing import Hour, Price, PriceBook, clock_hour, estimate, format_amount
from cloudconsole.core.resources import Amounts
from cloudconsole.spec.records import BillableType

PLAIN = re.compile(r"(0|[1-9][0-9]*)\.([0-9]{2}|[0-9]{2,8}[1-9])")


def exact(billionths: int) -> Decimal:
    with localcontext() as context:
        context.prec = 100
        return Decimal(billionths) / Decimal(1_000_000_000)


# Amounts as text


@given(st.integers(0, 10**40))
@example(0)
@example(1)
@example(100_000_000)
@example(1_050_000_000)
@example(12_345_678_901_234_567_890)
def test_formatted_amount_is_exact_with_at_least_two_decimals(billionths: int) -> None:
    assert Decimal(format_amount(billionths)) == exact(billionths)
    assert PLAIN.fullmatch(format_amount(billionths))


# The estimate


@pytest.mark.parametrize(
    ("costs", "kinds"),
    [
        ({"volume": 1, "loadbalance": 2, "image": 3, "instance": 4}, ["instance", "image", "loadbalance", "volume"]),
        ({"instance": 0, "image": 1, "volume": 0}, ["image"]),
        ({}, []),
    ],
)
def test_items_have_a_fixed_order_without_free_ones(costs: dict[BillableType, int], kinds: list[str]) -> None:
    assert [item.res_type for item in estimate(costs)] == kinds


@given(st.integers(1, 10**30))
@example(1)
def test_day_month_and_year_are_multiples_of_the_exact_hour(hour: int) -> None:
    (item,) = estimate({"instance": hour})
    with localcontext() as context:
        context.prec = 100
        assert Decimal(item.hour) == exact(hour)
        assert Decimal(item.day) == exact(hour) * 24
        assert Decimal(item.month) == exact(hour) * 24 * 30
        assert Decimal(item.year) == exact(hour) * 24 * 365


# The clock hour


def searched_start(now: float, zone: tzinfo) -> int:
    """Search for the first second of the hour that a clock with the offset of `now` shows."""
    second = int(now // 1)
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    offset = (epoch + timedelta(seconds=second)).astimezone(zone).utcoffset() or timedelta()

    def shown_hour(moment: int) -> int:
        return (epoch + timedelta(seconds=moment) + offset).hour

    low, high = second - 3600, second
    while high - low > 1:
        middle = (low + high) // 2
        if shown_hour(middle) == shown_hour(second):
            high = middle
        else:
            low = middle
    return high


ZONES = ["UTC", "Asia/Shanghai", "Asia/Kolkata", "Asia/Kathmandu", "Australia/Adelaide", "Pacific/Chatham"]
ZONES += ["America/St_Johns", "Europe/Berlin", "America/New_York", "Pacific/Kiritimati", "Etc/GMT+12"]


@pytest.mark.parametrize("zone", ZONES)
@given(st.floats(1.6e9, 2.0e9))
# The offset of Pacific/Chatham changes then, at a quarter to the hour.
@example(1775311200.0)
def test_the_hour_is_the_one_the_clock_shows(zone: str, now: float) -> None:
    hour = clock_hour(now, ZoneInfo(zone))
    assert hour == Hour(searched_start(now, ZoneInfo(zone)), hour.start + 3600)


@pytest.mark.parametrize(
    ("now", "offset", "start"),
    [
        (0, 0, 0),
        (3599.999, 0, 0),
        (3600, 0, 3600),
        (-0.001, 0, -3600),
        (-3600, 0, -3600),
        (899, 345, -2700),
        (900, 345, 900),
        (1799, -210, -1800),
        (1800, -210, 1800),
        (2**31 - 1, 0, 2_147_482_800),
        (2**33, 0, 8_589_931_200),
    ],
)
def test_hours_around_the_epoch_and_beyond_32_bits(now: float, offset: int, start: int) -> None:
    zone = timezone(timedelta(minutes=offset))
    assert clock_hour(now, zone).start == start


# Prices

NODE, OTHER = 7, 8
NEVER = float("-inf")
ONE_GB = Amounts(items=1, size_gb=1)


def _volume(node_id: int | None, start: int, billionths: int) -> Price:
    return Price("volume", "gb", node_id, start, billionths)


def test_existing_unit_prices_of_an_instance_add_up() -> None:
    prices = [
        Price("instance", "vcpu", None, 0, 10),
        Price("instance", "each", None, 0, 100),
        Price("instance", "ram_gb", NODE, 0, 1),
    ]
    amounts = Amounts(items=2, vcpus=6, ram_mb=9000, ram_gb=9, size_gb=0)
    costs = [PriceBook(prices[:count]).hourly("instance", NODE, amounts, 1) for count in (1, 2, 3)]
    assert costs == [6 * 10, 6 * 10 + 2 * 100, 6 * 10 + 2 * 100 + 9 * 1]


def test_kinds_do_not_share_unit_prices() -> None:
    book = PriceBook([_volume(None, 0, 5), Price("image", "gb", None, 0, 7)])
    assert book.hourly("image", NODE, ONE_GB, 1, "qcow2") == 7
    assert book.hourly("loadbalance", NODE, ONE_GB, 1) is None


FLAVOR, VOLUME_TYPE = "m1.small", "ssd"
TWO_SERVERS = Amounts(items=2, vcpus=4, ram_mb=4096, ram_gb=4)
BY_UNIT = [Price("instance", "each", None, 0, 100), Price("instance", "vcpu", None, 0, 10)]


@pytest.mark.parametrize(
    ("scopes", "price"),
    [
        ([(NODE, VOLUME_TYPE), (None, VOLUME_TYPE), (NODE, None), (None, None)], 1),
        ([(None, VOLUME_TYPE), (NODE, None), (None, None)], 2),
        ([(OTHER, VOLUME_TYPE), (NODE, "slow"), (NODE, None), (None, None)], 3),
        ([(OTHER, VOLUME_TYPE), (None, "slow"), (OTHER, None), (None, None)], 4),
        ([(OTHER, VOLUME_TYPE), (None, "slow"), (OTHER, None)], None),
    ],
)
def test_type_price_precedes_node_price(scopes: list[tuple[int | None, str | None]], price: int | None) -> None:
    order = [(NODE, VOLUME_TYPE), (None, VOLUME_TYPE), (NODE, None), (None, None)]
    costs = {scope: rank for rank, scope in enumerate(order, 1)}
    book = PriceBook(Price("volume", "gb", node, 0, costs.get((node, of), 99), of) for node, of in scopes)
    assert book.hourly("volume", NODE, ONE_GB, 1, VOLUME_TYPE) == price


@pytest.mark.parametrize("price", [7, 0])
def test_flavor_price_replaces_unit_prices_from_its_start(price: int) -> None:
    book = PriceBook([*BY_UNIT, Price("instance", "each", NODE, 50, price, FLAVOR)])
    costs = [book.hourly("instance", NODE, TWO_SERVERS, at, FLAVOR) for at in (49.999, 50)]
    assert costs == [2 * 100 + 4 * 10, 2 * price]


def test_volume_price_is_per_gb() -> None:
    book = PriceBook([_volume(None, 0, 5), Price("volume", "gb", None, 0, 3, VOLUME_TYPE)])
    costs = [book.hourly("volume", NODE, Amounts(items=2, size_gb=30), 1, of_type) for of_type in (None, VOLUME_TYPE)]
    assert costs == [150, 90]


def test_type_price_does_not_apply_to_untyped_resources() -> None:
    book = PriceBook([Price("volume", "gb", None, 0, 3, VOLUME_TYPE), Price("instance", "each", NODE, 0, 3, FLAVOR)])
    assert book.hourly("volume", NODE, ONE_GB, 1) is None
    assert book.hourly("instance", NODE, TWO_SERVERS, 1) is None


@pytest.mark.parametrize(("type_name", "price"), [(None, 5), (VOLUME_TYPE, 3), ("slow", 5)])
def test_resource_without_node_uses_only_general_prices(type_name: str | None, price: int) -> None:
    general_prices = [_volume(None, 0, 5), Price("volume", "gb", None, 0, 3, VOLUME_TYPE)]
    node_prices = [_volume(NODE, 0, 1), Price("volume", "gb", NODE, 0, 2, VOLUME_TYPE)]
    book = PriceBook([*general_prices, *node_prices])
    assert book.hourly("volume", None, ONE_GB, 1, type_name) == price
    assert PriceBook(node_prices).hourly("volume", None, ONE_GB, 1, type_name) is None


@pytest.mark.parametrize(
    ("at", "last", "next_one"), [(9.999, NEVER, 10), (10, 10, 20), (19.999, 10, 20), (20, 20, float("inf"))]
)
def test_last_and_next_price_change(at: float, last: float, next_one: float) -> None:
    book = PriceBook([_volume(None, 10, 1), _volume(NODE, 20, 2)])
    assert (book.last_change(at), book.next_change(at)) == (last, next_one)


@given(
    st.lists(
        st.tuples(st.sampled_from([None, NODE, OTHER]), st.integers(0, 50), st.integers(0, 9)),
        unique_by=lambda entry: entry[:2],
        max_size=20,
    ),
    st.integers(-1, 60),
)
def test_current_price_is_latest_of_node_or_else_general(entries: list[tuple[int | None, int, int]], at: int) -> None:
    node_specific = [(start, price) for node, start, price in entries if node == NODE and start <= at]
    general = [(start, price) for node, start, price in entries if node is None and start <= at]
    expected = max(node_specific)[1] if node_specific else max(general)[1] if general else None
    assert PriceBook(_volume(*entry) for entry in entries).hourly("volume", NODE, ONE_GB, at) == expected
