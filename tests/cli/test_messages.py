"""Everything that is said is said in both languages, with the same values in it."""

import re
from collections.abc import Iterator
from string import Formatter

import pytest

from cloudconsole.cli import messages
from cloudconsole.cli.commands import COMMANDS
from cloudconsole.spec.i18n import Text


def everything_said() -> Iterator[tuple[str, Text]]:
    for name, value in vars(messages).items():
        if isinstance(value, Text):
            yield name, value
        elif name.isupper() and name != "ARGPARSE":
            assert isinstance(value, dict), name
            for key, text in value.items():
                yield f"{name}[{key}]", text
    for command in COMMANDS:
        yield command.name, command.purpose


SAID = dict(everything_said())


def values_in(text: str) -> list[str]:
    return sorted(str(name) for _, name, _, _ in Formatter().parse(text) if name is not None)


@pytest.mark.parametrize("name", SAID)
def test_both_languages_say_it_with_the_same_values(name: str) -> None:
    text = SAID[name]
    assert text.en.strip()
    assert text.zh.strip()
    assert values_in(text.en) == values_in(text.zh)


@pytest.mark.parametrize("name", sorted(set(SAID) - {"ID", "URL", "CANNOT_CONNECT", "PROTOCOL_ERROR"}))
def test_chinese_is_chinese_and_english_is_not(name: str) -> None:
    chinese = re.compile("[\u4e00-\u9fff]")
    assert chinese.search(SAID[name].zh)
    assert not chinese.search(SAID[name].en)


@pytest.mark.parametrize("message", messages.ARGPARSE)
def test_the_parser_s_own_words_keep_their_values(message: str) -> None:
    values = re.compile(r"%(?:\([a-z_]+\))?[rs]")
    assert sorted(values.findall(message)) == sorted(values.findall(messages.ARGPARSE[message]))
