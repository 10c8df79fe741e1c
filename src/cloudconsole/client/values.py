"""Values in responses: exact amounts, times, and errors with the path of what is invalid."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo
from decimal import Context, Decimal
from functools import reduce
from typing import Any, Final, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from cloudconsole.client.exceptions import ProtocolError

T = TypeVar("T")

_DECIMAL: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)
_EXACT: Final = Context(prec=1000)
_MISSING: Final = re.compile(r"Object missing required field `([^`]*)`")


def convert(data: Any, kind: type[T]) -> T:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as problem:
        # Such as: Expected `int`, got `str` - at `$.limits[...][0]`
        why, _, location = str(problem).partition(" - at `")
        path = location.removeprefix("$").removesuffix("`")
        missing = _MISSING.fullmatch(why)
        if missing:
            raise protocol_error(f"{path}.{missing[1]}", "it is missing", data) from None
        raise protocol_error(path, why, data) from None


def protocol_error(path: str, why: str, data: Any) -> ProtocolError:
    field = path.removeprefix(".") or "data"
    return ProtocolError(f"invalid response field {field}: {why}", payload=data, field=field)


def convert_or_none(value: Any, kind: type[T]) -> T | None:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return None


def exact_amount(text: str, path: str, data: Any) -> Decimal:
    if not _DECIMAL.fullmatch(text):
        raise protocol_error(path, "not a decimal number as text", data)
    return Decimal(text)


def exact_sum(amounts: Iterable[Decimal]) -> Decimal:
    return reduce(_EXACT.add, amounts, Decimal("0.00"))


def timestamp(text: str, zone: tzinfo | None, path: str, data: Any) -> datetime:
    try:
        return datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=zone)
    except ValueError:
        raise protocol_error(path, "not a time such as 2026-01-31 08:00:00", data) from None


def zone_named(name: str | None) -> tzinfo | None:
    """Return the time zone, or None if it is unknown on this system."""
    if name == "UTC":
        return UTC
    try:
        return None if name is None else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def limit_or_none(number: int) -> int | None:
    return None if number < 0 else number
