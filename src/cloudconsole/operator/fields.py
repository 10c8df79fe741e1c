"""Field types: accepted values and error messages."""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from ipaddress import ip_address
from typing import Annotated, Any, Final, NoReturn, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo

from cloudconsole.core.identity_urls_and_projects import normalise_project
from cloudconsole.core.resources import QUOTA_DEFAULTS, UNLIMITED
from cloudconsole.operator.invalid_placeholder import OR_INVALID
from cloudconsole.operator.messages import Message
from cloudconsole.operator.new_and_existing_names import CONTROL_CHARACTERS, name_problem
from cloudconsole.operator.resource_and_price_rules import MAX_VALUE
from cloudconsole.store.passwords import MIN_COST, is_usable_hash

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_TIME: Final = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}:\d{2})(:\d{2})?(?:\.\d+)?\s*(Z|z|[-+]\d{2}:\d{2})?)?", re.ASCII
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = (datetime(9999, 12, 31, tzinfo=UTC) - _EPOCH) // timedelta(seconds=1)
_MAX_BILLIONTHS: Final = 2**63 - 1
NOT_AN_ADDRESS: Final = Message("must be an IP address, such as 192.0.2.1", "必须是 IP 地址，例如 192.0.2.1")
MAX_DEPTH: Final = 100
"""More than real data needs, and well below the recursion limits of parsers and encoders."""
_NOT_A_NUMBER: Final = Message('must be a number, such as "0.031"', "必须是数字，例如 0.031")


def _without_control_characters(text: str) -> str:
    if _CONTROL.search(text):
        raise ValueError(CONTROL_CHARACTERS)
    return text


def _name(text: str, info: ValidationInfo) -> str:
    problem = name_problem(text)
    if problem is not None and text not in (info.context or {}).get("existing_names", ()):
        raise ValueError(problem)
    return text


def _matching(pattern: str, message: Message) -> AfterValidator:
    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(message)
        return text

    return AfterValidator(check)


def _number_as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _address(text: str) -> str:
    try:
        ip_address(text)
    except ValueError:
        raise ValueError(NOT_AN_ADDRESS) from None
    return text


def parse_project(text: str) -> str:
    try:
        return normalise_project(text)
    except ValueError as problem:
        chinese = "必须是“项目 ID@认证服务地址”，其中项目 ID 为 1 至 64 位字母、数字、- 或 _"
        raise ValueError(Message(str(problem), chinese)) from None


def _password_hash(text: str) -> str:
    if not is_usable_hash(text):
        raise ValueError(
            Message(
                "must be an argon2id hash of at least {least} MiB (memory times passes) and at most 64 MiB, 4 passes "
                "and 8 lanes",
                "必须是 argon2id 哈希，不低于 {least} MiB（内存乘以次数），且不超过 64 MiB、4 次和 8 路",
                least=MIN_COST // 1024,
            )
        )
    return text


def _reject_password(_value: Any) -> NoReturn:
    raise ValueError(
        Message(
            "is not allowed: use password_hash, or password_file with the path of a file that contains it",
            "不可用：请用 password_hash，或用 password_file 指定存放密码的文件",
        )
    )


def _quota_name(text: str) -> str:
    if text not in QUOTA_DEFAULTS:
        names = ", ".join(QUOTA_DEFAULTS)
        raise ValueError(Message("is not a quota; the quotas are {names}", "不是配额；配额有 {names}", names=names))
    return text


def _seconds(value: Any, info: ValidationInfo) -> int:
    return seconds_of(value, info.context["zone"] if info.context else UTC)


def seconds_of(value: Any, zone: tzinfo) -> int:
    """Parse a time into whole seconds since the epoch; without an offset it is in `zone`."""
    if value == "":
        raise ValueError(Message("must not be empty", "不能为空"))
    match = _TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(
            Message("must be a time, such as 2026-01-31T08:00:00Z", "必须是时间，例如 2026-01-31T08:00:00Z")
        )
    day, minute, second, offset = match.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{minute or '00:00'}{second or ':00'}{(offset or '').upper()}")
    except ValueError:
        raise ValueError(Message("is not a valid date or time", "不是有效的日期或时间")) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    seconds = (moment - _EPOCH) // timedelta(seconds=1)
    if not 0 <= seconds < _LAST:
        raise ValueError(Message("must be a time from 1970 to 9999", "必须是 1970 年至 9999 年之间的时间"))
    return seconds


def _billionths(value: Any) -> int:
    """Parse a price into whole billionths, by digits: arithmetic with a huge exponent would exhaust the memory."""
    sign, digits, exponent = _number(value).as_tuple()
    if not isinstance(exponent, int):
        raise ValueError(_NOT_A_NUMBER)  # noqa: TRY004 - pydantic takes ValueError
    written = "".join(map(str, digits))
    significant = written.rstrip("0")
    exponent += len(written) - len(significant)
    if not significant.lstrip("0"):
        return 0
    if sign:
        raise ValueError(Message("must not be negative", "不能为负数"))
    if exponent < -9:
        raise ValueError(Message("must not have more than nine decimals", "小数位数不能超过九位"))
    whole_digits = len(significant) + exponent
    billionths = int(significant + "0" * (exponent + 9)) if whole_digits <= 10 else _MAX_BILLIONTHS + 1
    if billionths > _MAX_BILLIONTHS:
        raise ValueError(Message("is too large", "数值过大"))
    return billionths


def _number(value: Any) -> Decimal:
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,40}(\.[0-9]{1,40})?", value):
        return Decimal(value)
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise ValueError(_NOT_A_NUMBER)  # noqa: TRY004 - pydantic takes ValueError
    return Decimal(value)


def _nothing_as_empty_list(value: Any) -> Any:
    return [] if value is None else value


def _nothing_as_empty_mapping(value: Any) -> Any:
    return {} if value is None else value


def _not_too_deep(value: Any) -> Any:
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise ValueError(
                Message("must not be nested deeper than {levels} levels", "嵌套不能超过 {levels} 层", levels=MAX_DEPTH)
            )
        nested = (each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list))
        level = [inner for inners in nested for inner in inners]
    return value


_CLEAN: Final = AfterValidator(_without_control_characters)
_NAME: Final = AfterValidator(_name)

Id = Annotated[str, Field(min_length=1, max_length=64), _NAME]
Name = Annotated[str, Field(min_length=1, max_length=255), _NAME]
Reference = Annotated[str, Field(min_length=1, max_length=255), _CLEAN]
"""The name of another entity: the lookup validates it, so the rules for new names do not apply."""
DomainName = Annotated[
    str,
    Field(min_length=1, max_length=255),
    _NAME,
    _matching(
        r"(?!\w+://).*",
        Message(
            "must be a host name without https://, such as www.example.com",
            "必须是不含 https:// 的主机名，例如 www.example.com",
        ),
    ),
]
Note = Annotated[str, Field(max_length=2000), _CLEAN]
Label = Annotated[str, Field(max_length=255), _NAME]
NumericId = Annotated[
    str,
    BeforeValidator(_number_as_text),
    _matching(r"[0-9]{1,64}", Message("must be 1 to 64 digits", "必须是 1 至 64 位数字")),
]
Url = Annotated[
    str,
    Field(max_length=2000),
    _NAME,
    _matching(
        r"https?://\S+",
        Message(
            "must begin with http:// or https:// and have no spaces", "必须以 http:// 或 https:// 开头，且不含空格"
        ),
    ),
]
UrlId = Annotated[
    str,
    _matching(
        r"url-[a-z0-9]{8}",
        Message(
            "must be url- followed by eight lowercase letters or digits, such as url-ab12cd34",
            "必须是 url- 加八位小写字母或数字，例如 url-ab12cd34",
        ),
    ),
]
Address = Annotated[str, _NAME, AfterValidator(_address)]
Project = Annotated[str, AfterValidator(parse_project)]
PasswordHash = Annotated[str, AfterValidator(_password_hash)]
Password = Annotated[None, BeforeValidator(_reject_password)]
TIME: Final = BeforeValidator(_seconds)
Seconds = Annotated[int, TIME]
Billionths = Annotated[int, BeforeValidator(_billionths)]
Count = Annotated[int, Field(ge=0, le=MAX_VALUE)]
PositiveCount = Annotated[int, Field(ge=1, le=MAX_VALUE)]
Quotas = Annotated[
    dict[
        Annotated[str, AfterValidator(_quota_name)],
        Annotated[int, Field(ge=UNLIMITED, le=MAX_VALUE), OR_INVALID],
    ],
    BeforeValidator(_nothing_as_empty_mapping),
]

SHALLOW: Final = AfterValidator(_not_too_deep)
"""Limits the nesting of free-form values."""

Item = TypeVar("Item")
Items = Annotated[
    list[Annotated[Item, OR_INVALID]],
    BeforeValidator(_nothing_as_empty_list),
]
"""A list whose key may have no value in a file."""
