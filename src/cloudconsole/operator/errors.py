"""Errors that reject an operator's change or a cloud file; messages and paths of validation errors."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from pydantic_core import ErrorDetails

from cloudconsole.operator.messages import Message
from cloudconsole.spec.i18n import Text

Path = tuple[str | int, ...]
"""The path of a value: mapping keys and list indexes."""
FieldError = tuple[Path, str]
"""The path of a field and the message."""


class OperatorError(Exception):
    """A rejected change; the message says what is wrong and how to fix it."""

    @property
    def message(self) -> str:
        """The text, or the `Message` that pages can translate."""
        return self.args[0] if self.args else ""


class OverridableError(OperatorError):
    """A rejection that is a question: a transaction with `force`, or in which it was confirmed, goes on."""

    def __init__(self, question: str, confirmations: Iterable[str]) -> None:
        self.confirmations = frozenset(confirmations)
        """What confirms this question and those that were confirmed before."""
        super().__init__(question)


class ValidationError(OperatorError):
    """A rejection that lists every invalid field."""

    def __init__(self, errors: Iterable[FieldError]) -> None:
        self.errors = tuple(errors)
        super().__init__("; ".join(f"{format_path(path)}: {message}" for path, message in self.errors))


def cannot_read(file: object, problem: OSError) -> Message:
    return Message("{file} cannot be read: {reason}", "无法读取 {file}：{reason}", file=file, reason=problem.strerror)


def raise_if_invalid(errors: Iterable[FieldError]) -> None:
    errors = tuple(errors)
    if errors:
        raise ValidationError(errors)


class FileProblem(NamedTuple):
    line: int
    path: str
    message: str


class CloudFileError(OperatorError):
    """A rejected file; the message has one line per problem."""

    def __init__(self, source: str, problems: Iterable[FileProblem]) -> None:
        self.source = source
        self.problems = sorted(problems)
        super().__init__("\n".join(self.lines()))

    def lines(self, localize: Callable[[str], str] = str) -> Iterator[str]:
        """Yield one line per problem, with the message in another language if it has one."""
        for problem in self.problems:
            parts = f"{self.source}:{problem.line}:", problem.path and f"{problem.path}:", localize(problem.message)
            yield " ".join(part for part in parts if part)


HALF_SURROGATE_PAIR: Final = Text(
    "contains half of a surrogate pair: write the character itself", "包含不完整的代理对，请直接写出该字符"
)
_MESSAGES: Final[Mapping[str, Text]] = {
    "missing": Text("is missing", "为必填项"),
    "extra_forbidden": Text("is unknown: check the spelling or remove it", "未知：请检查拼写或将其删除"),
    "string_type": Text("must be text: put it in quotes", "必须是文本，请加引号"),
    "string_unicode": HALF_SURROGATE_PAIR,
    "string_too_short": Text("must not be empty", "不能为空"),
    "string_too_long": Text("must have at most {max_length} characters", "最多 {max_length} 个字符"),
    "int_type": Text("must be a whole number", "必须是整数"),
    "bool_type": Text("must be true or false", "必须是 true 或 false"),
    "list_type": Text("must be a list", "必须是列表"),
    "dict_type": Text("must be a mapping of names to values", "必须是名称到值的映射"),
    "model_type": Text("must be a mapping of names to values", "必须是名称到值的映射"),
    "literal_error": Text("must be {expected}", "必须是 {expected}"),
    "greater_than_equal": Text("must be at least {ge}", "不能小于 {ge}"),
    "less_than_equal": Text("must be at most {le}", "不能大于 {le}"),
}


def error_path(detail: ErrorDetails) -> Path:
    loc = detail["loc"]
    return loc[:-1] if loc[-1] == "[key]" and detail["type"] != "extra_forbidden" else loc


def error_message(detail: ErrorDetails) -> str:
    if detail["type"].endswith("_type") and detail["input"] is None:
        return Message("has no value", "没有值")
    context: dict[str, Any] = dict(detail.get("ctx", {}))
    if detail["type"] == "value_error":
        # The exception's argument itself: a message can be translated, its text cannot.
        return context["error"].args[0] if context["error"].args else str(context["error"])
    if detail["type"] == "literal_error":
        context["expected"] = Text(context["expected"], context["expected"].replace(" or ", " 或 ").replace(", ", "、"))
    template = _MESSAGES.get(detail["type"])
    return Message(*template, **context) if template else detail["msg"]


def format_path(path: Path) -> str:
    """Format a path, such as `tenants[0].accounts[1].username`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{_key_text(step)}" for step in path)
    return text.removeprefix(".")


def _key_text(key: str) -> str:
    return key if re.fullmatch(r"[\w-]{1,64}", key) else ascii(key[:64])
