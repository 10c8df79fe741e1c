"""Messages about operators' input: English text for commands and logs, which pages can show in other languages."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple, Self

from cloudconsole.spec.i18n import Language, Text

TermGroup = Literal["entity", "field", "kind", "unit", "quota", "role"]


class Term(NamedTuple):
    """A word of the command line and the cloud file, which pages replace by their own name for it."""

    group: TermGroup
    word: str
    has_article: bool = False

    def __str__(self) -> str:
        return with_article(self.word) if self.has_article else self.word


TermNames = Callable[[Term, Language], str]


class Enumeration(NamedTuple):
    """Several values, as in `a, b and c`."""

    values: Sequence[Any]
    last_separator: Text
    separator: Text = Text(", ", "、")


def all_of(values: Iterable[Any]) -> Enumeration:
    return Enumeration(tuple(values), Text(" and ", "和"))


def any_of(values: Iterable[Any]) -> Enumeration:
    return Enumeration(tuple(values), Text(" or ", "或"))


class Message(str):
    """A message in English that knows its Chinese text; joined to other text it is English only.

    A value in it may be a `Term`, an `Enumeration`, a `Text` or a message itself.
    """

    text: Text
    values: dict[str, object]

    def __new__(cls, en: str, zh: str, **values: object) -> Self:
        text = Text(en, zh)
        message = super().__new__(cls, _formatted(text, values, "en", lambda term, _language: str(term)))
        message.text, message.values = text, values
        return message

    def render(self, language: Language, names: TermNames) -> str:
        return _formatted(self.text, self.values, language, names)


def joined(messages: Sequence[Message]) -> Message:
    """Join several messages in one line."""
    separator = Text("; ", "；")
    return Message("{messages}", "{messages}", messages=Enumeration(messages, separator, separator))


def _formatted(text: Text, values: dict[str, object], language: Language, names: TermNames) -> str:
    return text.format_in(language, **{name: _value_in(language, value, names) for name, value in values.items()})


def _value_in(language: Language, value: object, names: TermNames) -> str:
    if isinstance(value, Term):
        return names(value, language)
    if isinstance(value, Message):
        return value.render(language, names)
    if isinstance(value, Text):
        return value.format_in(language)
    if isinstance(value, Enumeration):
        *first, last = (_value_in(language, each, names) for each in value.values)
        separator, last_separator = (each.format_in(language) for each in (value.separator, value.last_separator))
        return f"{separator.join(first)}{last_separator}{last}" if first else last
    return str(value)


def counted(count: int, one: str, chinese: str) -> Message:
    """Return a number with its noun; the Chinese one has its measure word."""
    return Message("{count} " + one + ("" if count == 1 else "s"), "{count} " + chinese, count=count)


def with_article(thing: str) -> str:
    """Prefix a noun with its article: `a tenant`, `an account`, `a URL`."""
    return f"{'an' if thing[0] in 'aeiou' else 'a'} {thing}"
