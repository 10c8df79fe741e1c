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
from cloudconsole.spec.records import BillableType, ConsumptionItem

PLAIN = re.compile(r"(0|[1-9][0-9]*)\.([0-9]{2}|[0-9]{2,8}[1-9])")


def exact(billionths: int) -> Decimal:
    with localcontext() as context:
        context.prec = 100
        return Decimal(billionths) / Decimal(1_000_000_000)


# Amounts as text


@pytest.mark.parametrize(
    ("billionths", "text"),
    [
        (0, "0.00"),
        (1, "0.000000001"),
        (10, "0.00000001"),
        (10_000_000, "0.01"),
        (100_000_000, "0.10"),
        (123_000_000, "0.123"),
        (999_999_999, "0.999999999"),
        (1_000_000_000, "1.00"),
        (1_500_000_000, "1.50"),
        (1_050_000_000, "1.05"),
        (100_000_000_000, "100.00"),
        (12_345_678_901_234_567_890, "12345678901.23456789"),
    ],
)
def test_amount_as_text(billionths: int, text: str) -> None:
    assert format_amount(billionths) == text


@given(st.integers(0, 10**40))
def test_formatted_amount_is_exact(billionths: int) -> None:
    assert Decimal(format_amount(billionths)) == exact(billionths)


@given(st.integers(0, 10**40))
def test_formatted_amount_has_at_least_two_decimals(billionths: int) -> None:
    assert PLAIN.fullmatch(format_amount(billionths))


# The estimate


def test_item_order_does_not_depend_on_cost_order() -> None:
    costs: dict[BillableType, int] = {"volume": 1, "loadbalance": 2, "image": 3, "instance": 4}
    assert [item.res_type for item in estimate(costs)] == ["instance", "image", "loadbalance", "volume"]


def test_items_without_cost_are_omitted() -> None:
    assert [item.res_type for item in estimate({"instance": 0, "image": 1, "volume": 0})] == ["image"]


@pytest.mark.parametrize("costs", [{}, {"instance": 0, "image": 0, "loadbalance": 0, "volume": 0}])
def test_no_costs_give_no_items(costs: dict[BillableType, int]) -> None:
    assert estimate(costs) == []


def test_one_billionth_is_not_omitted() -> None:
    assert estimate({"volume": 1}) == [
        ConsumptionItem("volume", "0.000000001", "0.000000024", "0.00000072", "0.00000876")
    ]


@given(st.integers(1, 10**30))
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


@pytest.mark.parametrize("zone", ZONES)
@given(st.floats(1.6e9, 2.0e9))
def test_now_is_in_its_hour(zone: str, now: float) -> None:
    hour = clock_hour(now, ZoneInfo(zone))
    assert hour.start <= now < hour.end


@pytest.mark.parametrize("zone", ZONES)
@given(st.integers(1_600_000_000, 2_000_000_000))
def test_every_moment_of_an_hour_has_the_same_hour(zone: str, now: int) -> None:
    hour = clock_hour(now, ZoneInfo(zone))
    assert clock_hour(hour.start, ZoneInfo(zone)) == clock_hour(hour.end - 0.001, ZoneInfo(zone)) == hour


@pytest.mark.parametrize("zone", ZONES)
@given(st.integers(1_600_000_000, 2_000_000_000))
def test_hours_have_no_gap_or_overlap(zone: str, now: int) -> None:
    hour = clock_hour(now, ZoneInfo(zone))
    assert clock_hour(hour.end, ZoneInfo(zone)).start == hour.end
    assert clock_hour(hour.start - 0.001, ZoneInfo(zone)).end == hour.start


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


@pytest.mark.parametrize(
    ("zone", "now", "start"),
    [
        ("UTC", "2026-11-15T12:20:00+00:00", "2026-11-15T12:00:00+00:00"),
        ("Asia/Kathmandu", "2026-11-15T12:20:00+00:00", "2026-11-15T12:15:00+00:00"),
        ("Asia/Kathmandu", "2026-11-15T12:14:59+00:00", "2026-11-15T11:15:00+00:00"),
        ("Asia/Kolkata", "2026-11-15T12:29:59+00:00", "2026-11-15T11:30:00+00:00"),
        ("Asia/Kolkata", "2026-11-15T12:30:00+00:00", "2026-11-15T12:30:00+00:00"),
        # Berlin switches to and from summer time at 01:00 UTC.
        ("Europe/Berlin", "2026-03-29T00:59:59+00:00", "2026-03-29T00:00:00+00:00"),
        ("Europe/Berlin", "2026-03-29T01:00:00+00:00", "2026-03-29T01:00:00+00:00"),
        ("Europe/Berlin", "2026-10-25T00:59:59+00:00", "2026-10-25T00:00:00+00:00"),
        ("Europe/Berlin", "2026-10-25T01:00:00+00:00", "2026-10-25T01:00:00+00:00"),
        ("Europe/Berlin", "2026-10-25T01:59:59+00:00", "2026-10-25T01:00:00+00:00"),
        # Adelaide, at UTC+9:30 or UTC+10:30, switches at 16:30 UTC.
        ("Australia/Adelaide", "2026-10-03T16:29:59+00:00", "2026-10-03T15:30:00+00:00"),
        ("Australia/Adelaide", "2026-10-03T16:30:00+00:00", "2026-10-03T16:30:00+00:00"),
        ("Australia/Adelaide", "2026-04-04T16:30:00+00:00", "2026-04-04T16:30:00+00:00"),
        ("Pacific/Chatham", "2026-09-26T14:00:00+00:00", "2026-09-26T13:15:00+00:00"),
    ],
)
def test_hours_of_known_times(zone: str, now: str, start: str) -> None:
    assert clock_hour(_moment(now), ZoneInfo(zone)).start == _moment(start)


@pytest.mark.parametrize(
    ("now", "offset", "start"),
    [
        (0, 0, 0),
        (0.5, 0, 0),
        (3599.999, 0, 0),
        (3600, 0, 3600),
        (-0.001, 0, -3600),
        (-3600, 0, -3600),
        (0, 345, -2700),
        (899, 345, -2700),
        (900, 345, 900),
        (0, -210, -1800),
        (1800, -210, 1800),
        (2**31 - 1, 0, 2_147_482_800),
        (2**31 + 100, 0, 2_147_482_800),
        (2**33, 0, 8_589_931_200),
    ],
)
def test_hours_around_the_epoch_and_beyond_32_bits(now: float, offset: int, start: int) -> None:
    zone = timezone(timedelta(minutes=offset))
    assert clock_hour(now, zone).start == start


# Prices

NODE, OTHER = 7, 8
ONE_GB = Amounts(items=1, size_gb=1)


def _volume(node_id: int | None, start: int, billionths: int) -> Price:
    return Price("volume", "gb", node_id, start, billionths)


def test_empty_price_book_has_no_price() -> None:
    assert PriceBook([]).hourly("volume", NODE, ONE_GB, 100) is None


def test_general_price_applies_to_every_node() -> None:
    book = PriceBook([_volume(None, 0, 5)])
    assert (book.hourly("volume", NODE, ONE_GB, 100), book.hourly("volume", OTHER, ONE_GB, 100)) == (5, 5)


def test_node_price_takes_precedence_over_general_price() -> None:
    book = PriceBook([_volume(None, 0, 5), _volume(NODE, 0, 3)])
    assert (book.hourly("volume", NODE, ONE_GB, 100), book.hourly("volume", OTHER, ONE_GB, 100)) == (3, 5)


def test_later_general_price_does_not_replace_node_price() -> None:
    book = PriceBook([_volume(NODE, 0, 3), _volume(None, 50, 5)])
    assert book.hourly("volume", NODE, ONE_GB, 100) == 3


def test_general_price_applies_until_node_price_starts() -> None:
    book = PriceBook([_volume(None, 0, 5), _volume(NODE, 50, 3)])
    assert [book.hourly("volume", NODE, ONE_GB, at) for at in (49, 49.999, 50, 51)] == [5, 5, 3, 3]


def test_node_price_can_be_zero() -> None:
    book = PriceBook([_volume(None, 0, 5), _volume(NODE, 0, 0)])
    assert book.hourly("volume", NODE, ONE_GB, 100) == 0


@pytest.mark.parametrize(("at", "price"), [(9.999, None), (10, 1), (19.999, 1), (20, 2), (29, 2), (30, 3), (10**12, 3)])
def test_price_applies_from_its_start(at: float, price: int | None) -> None:
    book = PriceBook([_volume(None, 30, 3), _volume(None, 10, 1), _volume(None, 20, 2)])
    assert book.hourly("volume", NODE, ONE_GB, at) == price


def test_price_is_multiplied_by_the_amount() -> None:
    assert PriceBook([_volume(None, 0, 5)]).hourly("volume", NODE, Amounts(items=2, size_gb=30), 1) == 150


def test_unit_prices_of_an_instance_add_up() -> None:
    book = PriceBook(
        [
            Price("instance", "each", None, 0, 100),
            Price("instance", "vcpu", None, 0, 10),
            Price("instance", "ram_gb", NODE, 0, 1),
        ]
    )
    amounts = Amounts(items=2, vcpus=6, ram_mb=9000, ram_gb=9, size_gb=0)
    assert book.hourly("instance", NODE, amounts, 1) == 2 * 100 + 6 * 10 + 9 * 1


def test_one_unit_with_a_price_is_enough() -> None:
    book = PriceBook([Price("instance", "vcpu", None, 0, 10)])
    assert book.hourly("instance", NODE, Amounts(items=1, vcpus=4, ram_mb=512, ram_gb=1), 1) == 40


def test_kinds_do_not_share_unit_prices() -> None:
    book = PriceBook([_volume(None, 0, 5), Price("image", "gb", None, 0, 7)])
    assert book.hourly("image", NODE, ONE_GB, 1) == 7
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
def test_type_price_takes_precedence_over_node_price(
    scopes: list[tuple[int | None, str | None]], price: int | None
) -> None:
    order = [(NODE, VOLUME_TYPE), (None, VOLUME_TYPE), (NODE, None), (None, None)]
    costs = {scope: rank for rank, scope in enumerate(order, 1)}
    book = PriceBook(Price("volume", "gb", node, 0, costs.get((node, of), 99), of) for node, of in scopes)
    assert book.hourly("volume", NODE, ONE_GB, 1, VOLUME_TYPE) == price


def test_flavor_price_replaces_unit_prices() -> None:
    book = PriceBook([*BY_UNIT, Price("instance", "each", None, 0, 7, FLAVOR)])
    assert book.hourly("instance", NODE, TWO_SERVERS, 1, FLAVOR) == 2 * 7


def test_flavor_price_can_be_zero() -> None:
    book = PriceBook([*BY_UNIT, Price("instance", "each", None, 0, 0, FLAVOR)])
    assert book.hourly("instance", NODE, TWO_SERVERS, 1, FLAVOR) == 0


def test_unit_prices_apply_until_flavor_price_starts() -> None:
    book = PriceBook([*BY_UNIT, Price("instance", "each", NODE, 50, 7, FLAVOR)])
    assert [book.hourly("instance", NODE, TWO_SERVERS, at, FLAVOR) for at in (49.999, 50)] == [2 * 100 + 4 * 10, 2 * 7]


def test_volume_type_price_is_per_gb() -> None:
    book = PriceBook([_volume(None, 0, 5), Price("volume", "gb", None, 0, 3, VOLUME_TYPE)])
    assert book.hourly("volume", NODE, Amounts(items=1, size_gb=30), 1, VOLUME_TYPE) == 90


def test_type_price_does_not_apply_to_untyped_resources() -> None:
    book = PriceBook([Price("volume", "gb", None, 0, 3, VOLUME_TYPE), Price("instance", "each", NODE, 0, 3, FLAVOR)])
    assert book.hourly("volume", NODE, ONE_GB, 1) is None
    assert book.hourly("instance", NODE, TWO_SERVERS, 1) is None


def test_type_is_ignored_for_kinds_without_types() -> None:
    book = PriceBook([Price("image", "gb", None, 0, 7)])
    assert book.hourly("image", NODE, ONE_GB, 1, "qcow2") == 7


@pytest.mark.parametrize(("type_name", "price"), [(None, 5), (VOLUME_TYPE, 3), ("slow", 5)])
def test_resource_without_node_uses_only_general_prices(type_name: str | None, price: int) -> None:
    general_prices = [_volume(None, 0, 5), Price("volume", "gb", None, 0, 3, VOLUME_TYPE)]
    node_prices = [_volume(NODE, 0, 1), Price("volume", "gb", NODE, 0, 2, VOLUME_TYPE)]
    book = PriceBook([*general_prices, *node_prices])
    assert book.hourly("volume", None, ONE_GB, 1, type_name) == price
    assert PriceBook(node_prices).hourly("volume", None, ONE_GB, 1, type_name) is None


@pytest.mark.parametrize(("after", "change"), [(5, 10), (9.999, 10), (10, 20), (15, 20), (20, float("inf"))])
def test_next_price_change(after: float, change: float) -> None:
    book = PriceBook([_volume(None, 10, 1), _volume(NODE, 20, 2)])
    assert book.next_change(after) == change


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
