"""YAML parsing with line numbers and limits; flow-style output."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, Final, NamedTuple

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from yaml.reader import Reader

from cloudconsole.operator.errors import HALF_SURROGATE_PAIR, FileProblem, Path, format_path
from cloudconsole.operator.messages import Message


class TimeText(str):
    """An unquoted date or time, as written in the file."""

    __slots__ = ()


def _boolean(text: str) -> bool:
    return text.lower() == "true"


def _whole(text: str) -> int:
    number = int(text, 0)
    # Python parses hexadecimal of any length but limits the conversion to decimal.
    str(number)
    return number


def _special(text: str) -> Decimal:
    return Decimal(text.replace(".", ""))


_SCALAR_TYPES: Final[tuple[tuple[re.Pattern[str], Callable[[str], Any]], ...]] = (
    (re.compile(r"|~|null|Null|NULL"), lambda _text: None),
    (re.compile(r"true|True|TRUE|false|False|FALSE"), _boolean),
    (re.compile(r"[-+]?(?:0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+"), _whole),
    (re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"), Decimal),
    (re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"), _special),
    (re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9]{1,2}:.*)?"), TimeText),
)
_FIRST_CHARACTERS: Final = frozenset("~nNtTfF+-.0123456789")


def meaning_of(text: str) -> Any:
    """Return the value of an unquoted scalar; raise ValueError if it is too large."""
    if text and text[0] not in _FIRST_CHARACTERS:
        return text
    for pattern, make in _SCALAR_TYPES:
        if pattern.fullmatch(text):
            try:
                return make(text)
            except (ValueError, InvalidOperation):
                raise ValueError(Message("is a number that is too large", "数字过大")) from None
    return text


Lines = dict[int, dict[str | int, int]]
"""The lines of the entries of each mapping and list, by the `id` of the mapping or list."""


class Unreadable(Exception):
    """A problem that ends the parsing."""

    def __init__(self, line: int, message: str, path: Path = ()) -> None:
        super().__init__(message)
        self.problem = FileProblem(line, format_path(path), message)


@dataclass
class Document:
    """The data of a file, or None if parsing stopped, and the problems found."""

    data: dict[str, Any] | None = None
    problems: list[FileProblem] = field(default_factory=list)
    faulty: set[Path] = field(default_factory=set)
    """Paths of invalid values that have been reported."""
    lines: Lines = field(default_factory=dict)

    def line_of(self, path: Path) -> int:
        """Return the line of a value, or of its nearest ancestor that exists."""
        line = 1
        value: Any = self.data
        for step in path:
            lines = self.lines.get(id(value), {})
            if step not in lines:
                break
            line, value = lines[step], value[step]
        return line


MAX_DEPTH: Final = 100
MAX_ALIASED_VALUES: Final = 100_000
"""Limit on the total number of values that aliases expand to."""

_Parser: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TEXT_TAGS: Final = ("!", "tag:yaml.org,2002:str")
_IN_PROGRESS: Final = object()


def read_document(content: bytes) -> Document:
    document = Document()
    try:
        parser = _Parser(_readable(content))
        try:
            document.data = _Builder(parser, document).read()
        finally:
            parser.dispose()
    except Unreadable as end:
        document.problems.append(end.problem)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        document.problems.append(
            FileProblem(
                mark.line + 1 if mark else 1,
                "",
                Message("is not YAML: {problem}", "不是 YAML：{problem}", problem=error.problem),
            )
        )
    return document


class _Node(NamedTuple):
    """A value, the number of values in it including itself, and its depth."""

    value: Any
    size: int
    height: int


_EMPTY: Final = _Node(None, 1, 1)


class _Builder:
    def __init__(self, parser: Any, document: Document) -> None:
        self._parser = parser
        self._document = document
        self._repeated = 0
        self._anchors: dict[str, _Node] = {}

    def read(self) -> dict[str, Any]:
        self._next()
        if isinstance(self._next(), StreamEndEvent):
            raise Unreadable(
                1, Message("is empty: a cloud file starts with version: 1", "文件为空：云文件以 version: 1 开头")
            )
        first = self._next()
        data = self._value(first, ()).value
        while not isinstance(event := self._next(), StreamEndEvent):
            if isinstance(event, DocumentStartEvent):
                problem = Message(
                    "a second document begins here: a cloud file has only one", "此处开始了第二个文档：云文件只能有一个"
                )
                raise Unreadable(_line(event), problem)
        if not isinstance(data, dict):
            problem = Message("must be a mapping that starts with version: 1", "必须是以 version: 1 开头的映射")
            raise Unreadable(_line(first), problem)
        return data

    def _next(self) -> Event:
        event: Event = self._parser.get_event()
        return event

    def _value(self, event: Event, path: Path) -> _Node:
        if isinstance(event, AliasEvent):
            return self._aliased(event, path)
        _check_depth(event, path, 1)
        anchor = getattr(event, "anchor", None)
        if anchor:
            self._anchors[anchor] = _Node(_IN_PROGRESS, 0, 0)
        if isinstance(event, ScalarEvent):
            read = _Node(self._scalar(event, path), 1, 1)
        elif isinstance(event, SequenceStartEvent):
            read = self._list(event, path)
        else:
            read = self._mapping(event, path)
        if anchor:
            self._anchors[anchor] = read
        return read

    def _aliased(self, event: AliasEvent, path: Path) -> _Node:
        name = str(event.anchor)
        read = self._anchors.get(name)
        if read is None:
            problem = Message(
                "*{name} is undefined: there is no &{name} before it", "*{name} 未定义：之前没有 &{name}", name=name
            )
            self._report_invalid(event, path, problem)
            return _EMPTY
        if read.value is _IN_PROGRESS:
            problem = Message("*{name} refers to a value that contains it", "*{name} 引用了包含它自身的值", name=name)
            self._report_invalid(event, path, problem)
            return _EMPTY
        _check_depth(event, path, read.height)
        self._repeated += read.size
        if self._repeated > MAX_ALIASED_VALUES:
            problem = Message(
                "aliases expand to more than {most} values", "别名展开后超过 {most} 个值", most=MAX_ALIASED_VALUES
            )
            raise Unreadable(_line(event), problem, path)
        return read

    def _scalar(self, event: ScalarEvent, path: Path) -> Any:
        text: str = event.value
        if event.tag is not None and event.tag not in _TEXT_TAGS:
            self._report_invalid(event, path, _tagged(event.tag))
        if any("\ud800" <= character <= "\udfff" for character in text):
            self._report_invalid(event, path, Message(*HALF_SURROGATE_PAIR))
        if event.tag is not None or not event.implicit[0]:
            return text
        try:
            return meaning_of(text)
        except ValueError as error:
            self._report_invalid(event, path, error.args[0])
            return None

    def _list(self, start: Any, path: Path) -> _Node:
        self._reject_tag(start, path)
        items: list[Any] = []
        lines = self._document.lines[id(items)] = {}
        size = height = 0
        while not isinstance(event := self._next(), SequenceEndEvent):
            index = len(items)
            lines[index] = _line(event)
            item = self._value(event, (*path, index))
            items.append(item.value)
            size, height = size + item.size, max(height, item.height)
        return _Node(items, size + 1, height + 1)

    def _mapping(self, start: Any, path: Path) -> _Node:
        self._reject_tag(start, path)
        entries: dict[str, Any] = {}
        lines = self._document.lines[id(entries)] = {}
        size = height = 0
        while not isinstance(event := self._next(), MappingEndEvent):
            key = self._key(event, path, lines)
            entry = self._value(self._next(), (*path, key or ""))
            size, height = size + entry.size, max(height, entry.height)
            if key is not None:
                lines.setdefault(key, _line(event))
                entries[key] = entry.value
        return _Node(entries, size + 1, height + 1)

    def _key(self, event: Event, path: Path, earlier: dict[str | int, int]) -> str | None:
        """Return the mapping's next key, or None if it is invalid."""
        key = self._value(event, path).value
        if not isinstance(key, str):
            self._report(
                event, path, Message("has a key that is not text: put the key in quotes", "键不是文本，请加引号")
            )
            return None
        if key in earlier:
            problem = Message(
                "appears twice: first on line {line}", "重复出现：首次出现在第 {line} 行", line=earlier[key]
            )
            self._report(event, (*path, key), problem)
        elif key == "<<" and isinstance(event, ScalarEvent) and event.implicit[0]:
            problem = Message("merge keys are not supported: write out the keys", "不支持合并键，请逐一写出各键")
            self._report_invalid(event, (*path, key), problem)
        return str(key)

    def _reject_tag(self, start: Any, path: Path) -> None:
        if start.tag is not None and start.tag != "!":
            self._report_invalid(start, path, _tagged(start.tag))

    def _report_invalid(self, event: Event, path: Path, message: str) -> None:
        """Report a problem and exclude the value from further validation."""
        self._report(event, path, message)
        self._document.faulty.add(path)

    def _report(self, event: Event, path: Path, message: str) -> None:
        self._document.problems.append(FileProblem(_line(event), format_path(path), message))


def _check_depth(event: Event, path: Path, height: int) -> None:
    if len(path) + height > MAX_DEPTH:
        raise Unreadable(_line(event), Message("is nested too deeply", "嵌套过深"), path[:3])


def _tagged(tag: str) -> Message:
    return Message("has the tag {tag}: tags are not supported", "带有标签 {tag}：不支持标签", tag=ascii(tag))


def _line(event: Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


def _readable(content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Unreadable(line, Message("is not UTF-8 text", "不是 UTF-8 文本")) from None
    unreadable = Reader.NON_PRINTABLE.search(text)
    if unreadable:
        line = text.count("\n", 0, unreadable.start()) + 1
        problem = Message(
            "contains the character {character}, which YAML does not allow",
            "包含 YAML 不允许的字符 {character}",
            character=ascii(unreadable.group()),
        )
        raise Unreadable(line, problem)
    return text


_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_NOT_PLAIN: Final = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n"))
"""Words that some YAML parsers read as another type."""

# Characters that JSON does not escape and YAML reads as line breaks or rejects.
_ESCAPED: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_MAX_IMPLICIT_KEY_LENGTH: Final = 128


class Plain(str):
    """Text that needs no quotes, such as a time."""

    __slots__ = ()


def flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)}: {flow(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str):
        return _text(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Decimal):
        return str(value)
    raise TypeError(f"a cloud file holds no {type(value).__name__}")


def _key(key: str) -> str:
    text = _text(key)
    # YAML requires `?` before a longer key.
    return text if len(text) <= _MAX_IMPLICIT_KEY_LENGTH else f"? {text} "


def _text(text: str) -> str:
    if isinstance(text, Plain) or (_PLAIN.fullmatch(text) and text.lower() not in _NOT_PLAIN):
        return str(text)
    quoted = json.dumps(text, ensure_ascii=False)
    return _ESCAPED.sub(lambda match: f"\\u{ord(match.group()):04x}", quoted)
