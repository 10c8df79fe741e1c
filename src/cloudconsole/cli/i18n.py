"""Output language: `--lang`, else the locale."""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from itertools import pairwise
from typing import Final, get_args

from cloudconsole.spec.i18n import Language, Text

LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)
FLAG: Final = "--lang"
_LOCALE: Final = ("LC_ALL", "LC_MESSAGES", "LANG")
"""In order of precedence, as in POSIX."""

_language: ContextVar[Language] = ContextVar("language", default="en")


def set_language(language: Language) -> None:
    _language.set(language)


def current_language() -> Language:
    return _language.get()


def translate(text: Text, **values: object) -> str:
    return text.format_in(current_language(), **values)


def sentence(phrase: str) -> str:
    """Return a phrase of the list of commands as a sentence."""
    return f"{phrase}。" if current_language() == "zh" else f"{phrase[:1].upper()}{phrase[1:]}."


def detect_language(arguments: Sequence[str], environment: Mapping[str, str]) -> Language:
    """Detect the language before parsing, so that parse errors are translated too."""
    for argument, following in pairwise([*arguments, ""]):
        flag, _, value = argument.partition("=")
        if flag == FLAG:
            requested = value or following
            return next((language for language in LANGUAGES if language == requested), "en")
    locale = next((environment[name] for name in _LOCALE if environment.get(name)), "")
    return "zh" if locale.lower().startswith("zh") else "en"
