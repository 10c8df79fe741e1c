"""The language that a command speaks: that of `--lang`, else that of the locale."""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from itertools import pairwise
from typing import Final, get_args

from cloudconsole.spec.i18n import Language, Text

LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)
FLAG: Final = "--lang"
_LOCALE: Final = ("LC_ALL", "LC_MESSAGES", "LANG")
"""The first that is set decides, as everywhere."""

_spoken: ContextVar[Language] = ContextVar("spoken", default="en")


def set_language(language: Language) -> None:
    _spoken.set(language)


def current_language() -> Language:
    return _spoken.get()


def translate(text: Text, **values: object) -> str:
    return text.format_in(current_language(), **values)


def detect_language(arguments: Sequence[str], environment: Mapping[str, str]) -> Language:
    """What is asked for; looked at before the arguments are read, as what is wrong with them must be said in it."""
    for argument, following in pairwise([*arguments, ""]):
        flag, _, value = argument.partition("=")
        if flag == FLAG:
            wanted = value or following
            return next((language for language in LANGUAGES if language == wanted), "en")
    locale = next((environment[name] for name in _LOCALE if environment.get(name)), "")
    return "zh" if locale.lower().startswith("zh") else "en"
