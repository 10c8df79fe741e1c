"""Interface checks: URLs, news and estimated consumption."""

from datetime import datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any, get_args

from cloudconsole.conformance.assertions import check_no_problems
from cloudconsole.conformance.checks import CheckGroup, for_each_payload
from cloudconsole.conformance.redaction import json_line
from cloudconsole.conformance.schemas import TEXT, pattern_errors, schema_errors_of_all, values_of
from cloudconsole.spec.records import BillableType

checks = CheckGroup("interface")

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


def is_timestamp(text: str) -> bool:
    try:
        return datetime.strptime(text, "%Y-%m-%d %H:%M:%S").strftime("%Y-%m-%d %H:%M:%S") == text  # noqa: DTZ007
    except ValueError:
        return False


def check_newest_first(items: list[Any]) -> None:
    dates = [value for _, value in values_of(items, "date", "data") if isinstance(value, str)]
    check_no_problems([f"{after} comes after {before}" for before, after in pairwise(dates) if after > before])
