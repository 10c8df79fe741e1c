"""Texts and messages in the language of the output."""

import argparse
from collections.abc import Iterable

from cloudconsole.cli.i18n import current_language, translate
from cloudconsole.operator.messages import Message, Term
from cloudconsole.server.admin_ui.names import term_name
from cloudconsole.spec.i18n import Language, Text
from cloudconsole.store.base import Store, StoreError


def localized(value: Text | str | Store | StoreError) -> str:
    """Return a text, error or name in the current language; a plain `str` is data, or exists in English only."""
    if isinstance(value, Text):
        return translate(value)
    if not isinstance(value, str):
        return value.chinese if current_language() == "zh" else str(value)
    if isinstance(value, Message) and current_language() != "en":
        return value.render(current_language(), _word)
    return str(value)


def joined(values: Iterable[Text | str]) -> str:
    """Return several problems in one line."""
    return ("；" if current_language() == "zh" else "; ").join(map(localized, values))


def argument_error(problem: ValueError) -> argparse.ArgumentTypeError:
    """Convert the error of a parser, since argparse prints only the message of its own error type."""
    return argparse.ArgumentTypeError(localized(problem.args[0] if problem.args else str(problem)))


def _word(term: Term, language: Language) -> str:
    """Name a term as the admin UI does, with the word that the command line accepts."""
    name = term_name(term, language)
    return name if term.group == "entity" or name == str(term) else f"{name}（{term.word}）"
