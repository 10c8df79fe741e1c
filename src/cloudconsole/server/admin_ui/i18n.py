"""Language of a page, and the rendering of texts in it."""

from typing import Final, TypeGuard, get_args

from markupsafe import Markup

from cloudconsole.operator.messages import Message
from cloudconsole.server.admin_ui.names import term_name
from cloudconsole.server.http.cookies import read_language
from cloudconsole.server.http.request import Request
from cloudconsole.spec.i18n import Language, Text
from cloudconsole.spec.text_escaping import escape

LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)

Label = Text | Message | str
"""A text to show; a plain `str` is data, or a message in English only."""


def is_language(text: str | None) -> TypeGuard[Language]:
    return text in LANGUAGES


def language_of(request: Request) -> Language:
    """Return the operator's choice, otherwise the browser's preference."""
    chosen = read_language(request.head.header(b"cookie") or "", secure=request.secure)
    return chosen if is_language(chosen) else request.head.language


def localized(value: object, language: Language) -> object:
    """Return a text in this language; other values unchanged."""
    if isinstance(value, Message):
        return escape(value.render(language, term_name))
    return value.format_in(language) if isinstance(value, Text) else value


def localized_text(value: object, language: Language) -> str:
    return str(localized(value, language))


def message_markup(message: Label, language: Language, *, capitalized: bool = False) -> Markup | str:
    """Return a message in this language, or marked as English if there is no translation."""
    text = escape(localized_text(message, language))
    if capitalized:
        text = text[:1].upper() + text[1:]
    if language == "en" or isinstance(message, Text | Message):
        return text
    return Markup('<span lang="en">{}</span>').format(text)
