"""The texts of the tenant pages: each in both languages, with the same places, and each of them used."""

import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import pytest

CONSOLE = files("cloudconsole") / "web" / "console"
LANGUAGES = ("en", "zh")

_STRING = r'"((?:[^"\\]|\\.)*)"'
_TEXT = re.compile(rf"^  {_STRING}: \{{\s*en: {_STRING},\s*zh: {_STRING},?\s*\}},$", re.MULTILINE)
_NAME = re.compile(rf"^  {_STRING}:", re.MULTILINE)
_CALL = re.compile(r'\bt\(\s*(?:"([^"]+)"|`([^`]+)`)')
_PLACE = re.compile(r"\{(\w+)\}")


def _scripts(folder: Traversable) -> list[Traversable]:
    """All scripts in a folder and below it, but for the texts themselves."""
    return [
        script
        for entry in folder.iterdir()
        if entry.name != "messages"
        for script in (_scripts(entry) if entry.is_dir() else [entry])
        if script.name.endswith(".js")
    ]


TEXT_FILES = {entry.name: entry.read_text() for entry in (CONSOLE / "messages").iterdir() if entry.name != "index.js"}
TEXTS = {name: {"en": en, "zh": zh} for content in TEXT_FILES.values() for name, en, zh in _TEXT.findall(content)}
USERS = {str(script): script.read_text() for script in _scripts(CONSOLE)}


def _pattern(template: str) -> str:
    """What the names look like that a template may become."""
    return ".+".join(re.escape(part) for part in re.split(r"\$\{[^}]*\}", template))


@pytest.mark.parametrize("file", sorted(TEXT_FILES))
def test_every_text_is_written_once_in_both_languages(file: str) -> None:
    """Each entry reads `"name": { en: "…", zh: "…" },`, on one line or on several."""
    content = TEXT_FILES[file]
    names = _NAME.findall(content)
    assert names == [name for name, _, _ in _TEXT.findall(content)]
    everywhere = [name for each in TEXT_FILES.values() for name in _NAME.findall(each)]
    assert [name for name in names if everywhere.count(name) > 1] == []


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_both_languages_say_the_same(name: str) -> None:
    english, chinese = (TEXTS[name][language] for language in LANGUAGES)
    assert english.strip(), "no English"
    assert chinese.strip(), "no Chinese"
    assert sorted(_PLACE.findall(english)) == sorted(_PLACE.findall(chinese))


def test_every_text_that_is_asked_for_is_there() -> None:
    missing = []
    for script, content in USERS.items():
        for name, template in _CALL.findall(content):
            known = name in TEXTS if name else any(re.fullmatch(_pattern(template), each) for each in TEXTS)
            missing += [] if known else [(script, name or template)]
    assert missing == []


def test_every_text_is_used() -> None:
    everything = "\n".join(USERS.values())
    quoted = set(re.findall(r'"([^"\n]*)"', everything))
    patterns = [_pattern(template) for template in re.findall(r"`([a-z.]+\.\$\{[^`\n]*)`", everything)]

    def is_used(name: str) -> bool:
        return name in quoted or any(re.fullmatch(pattern, name) for pattern in patterns)

    assert [name for name in TEXTS if not is_used(name)] == []


def test_chinese_texts_use_chinese_punctuation() -> None:
    def is_mixed(text: str) -> Any:
        return re.search(r"[\u4e00-\u9fff][,;:?!()]|[,;?!][\u4e00-\u9fff]", text)

    assert [name for name, text in TEXTS.items() if is_mixed(text["zh"])] == []
