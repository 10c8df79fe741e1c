"""Why a parameter is invalid, in words: msgspec reports types of Python and regular expressions, in English."""

import re
from collections.abc import Callable
from typing import Final

from cloudconsole.spec.errors import InvalidField
from cloudconsole.spec.extensions import MONTH, NO_CONTROLS
from cloudconsole.spec.i18n import Text

_TYPES: Final = {
    "int": Text("a whole number", "整数"),
    "float": Text("a number", "数字"),
    "str": Text("text", "文本"),
    "bool": Text("true or false", " true 或 false"),
    "array": Text("a list", "列表"),
    "object": Text("an object", "对象"),
    "date": Text("a day such as 2026-11-01", "日期，如 2026-11-01"),
}
_BOUNDS: Final = {
    (">=", False): Text("of at least {bound}", "且不小于 {bound}"),
    ("<=", False): Text("of at most {bound}", "且不大于 {bound}"),
    (">=", True): Text("with a length of at least {bound}", "且长度不小于 {bound}"),
    ("<=", True): Text("with a length of at most {bound}", "且长度不大于 {bound}"),
}
_PATTERNS: Final = {
    MONTH: Text("must be a month from 1970-01 to 9998-12", "必须是 1970-01 至 9998-12 之间的月份"),
    NO_CONTROLS: Text("must not contain control characters", "不得包含控制字符"),
}


def invalid_parameter(field: str, problem: str) -> InvalidField:
    """Return the error of a parameter, of which msgspec reports a problem."""
    reason, _, path = problem.partition(" - at `$")
    for pattern, words in _PROBLEMS:
        found = pattern.fullmatch(reason)
        if found:
            text = words(found)
            place = field + path.rstrip("`")
            message = Text("The field '{place}' {reason.en}.", "字段“{place}”{reason.zh}。")
            return InvalidField(field, message, place=place, reason=text)
    return InvalidField.because(field, problem)


def _type(found: re.Match[str]) -> Text:
    names = [_TYPES[name] for name in found["type"].split(" | ") if name in _TYPES]
    en, zh = " or ".join(name.en for name in names), "或".join(name.zh for name in names)
    return Text(f"must be {en}", f"必须是{zh}")


def _bound(found: re.Match[str]) -> Text:
    must_be, bound = _type(found), _BOUNDS[found["sign"], found["length"] is not None]
    values = {"bound": found["bound"]}
    return Text(f"{must_be.en} {bound.format_in('en', **values)}", f"{must_be.zh}，{bound.format_in('zh', **values)}")


def _pattern(found: re.Match[str]) -> Text:
    other = Text("does not have the required form", "格式不符合要求")
    return next((text for pattern, text in _PATTERNS.items() if repr(pattern) == found["pattern"]), other)


_TYPE: Final = rf"Expected `(?P<type>(?:{'|'.join(_TYPES)}|null)(?: \| (?:{'|'.join(_TYPES)}|null))*)`"
_PROBLEMS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Text]], ...]] = (
    (re.compile(rf"{_TYPE}(, got .*)?"), _type),
    (re.compile(rf"{_TYPE} (?P<length>of length )?(?P<sign>[<>]=) (?P<bound>-?[0-9]+)"), _bound),
    (re.compile(rf"{_TYPE} matching regex (?P<pattern>.*)"), _pattern),
    (
        re.compile("Invalid RFC3339 encoded date"),
        lambda _: Text("must be a day such as 2026-11-01", "必须是日期，如 2026-11-01"),
    ),
    (
        re.compile(r"Invalid (enum )?value (?P<value>.*)", re.DOTALL),
        lambda found: Text(f"cannot be {found['value']}", f"不能是 {found['value']}"),
    ),
    (
        re.compile("Object missing required field `(?P<name>.*)`"),
        lambda found: Text(f"requires '{found['name']}'", f"缺少“{found['name']}”"),
    ),
)
