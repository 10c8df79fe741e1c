"""Every message exists in both languages, with the same placeholders."""

import re
from collections.abc import Iterator
from string import Formatter

import pytest

from cloudconsole.cli import messages
from cloudconsole.cli.commands import COMMANDS
from cloudconsole.spec.i18n import Text


def all_messages() -> Iterator[tuple[str, Text]]:
    for name, value in vars(messages).items():
        if isinstance(value, Text):
            yield name, value
        elif name.isupper() and name != "ARGPARSE":
            assert isinstance(value, dict), name
            for key, text in value.items():
                yield f"{name}[{key}]", text
    for command in COMMANDS:
        yield command.name, command.purpose


MESSAGES = dict(all_messages())


def placeholders_in(text: str) -> list[str]:
    return sorted(str(name) for _, name, _, _ in Formatter().parse(text) if name is not None)


@pytest.mark.parametrize("name", MESSAGES)
def test_both_languages_have_the_same_placeholders(name: str) -> None:
    text = MESSAGES[name]
    assert text.en.strip()
    assert text.zh.strip()
    assert placeholders_in(text.en) == placeholders_in(text.zh)


@pytest.mark.parametrize("name", sorted(set(MESSAGES) - {"ID", "URL", "CANNOT_CONNECT", "PROTOCOL_ERROR"}))
def test_chinese_is_chinese_and_english_is_not(name: str) -> None:
    chinese = re.compile("[\u4e00-\u9fff]")
    assert chinese.search(MESSAGES[name].zh)
    assert not chinese.search(MESSAGES[name].en)


@pytest.mark.parametrize("message", messages.ARGPARSE)
def test_argparse_translations_keep_their_placeholders(message: str) -> None:
    placeholders = re.compile(r"%(?:\([a-z_]+\))?[rs]")
    assert sorted(placeholders.findall(message)) == sorted(placeholders.findall(messages.ARGPARSE[message]))
