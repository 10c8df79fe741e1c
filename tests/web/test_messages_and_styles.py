"""Messages of the tenant pages are complete in both languages, and their style sheets share no class by accident."""

import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import pytest

WEB = files("cloudconsole") / "web"
CONSOLE = WEB / "console"

_STRING = r'"((?:[^"\\]|\\.)*)"'
_MESSAGE = re.compile(rf"^  {_STRING}: \{{\s*en: {_STRING},\s*zh: {_STRING},?\s*\}},$", re.MULTILINE)
_KEY = re.compile(rf"^  {_STRING}:", re.MULTILINE)
_CALL = re.compile(r'\bt\(\s*(?:"([^"]+)"|`([^`]+)`)')
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_CLASS = re.compile(r"\.([a-z][\w-]*)(?=[^{};]*\{)")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def _scripts(folder: Traversable) -> list[Traversable]:
    """Return all scripts in a directory and its subdirectories, except the messages."""
    return [
        script
        for entry in folder.iterdir()
        if entry.name != "messages"
        for script in (_scripts(entry) if entry.is_dir() else [entry])
        if script.name.endswith(".js")
    ]


MESSAGE_FILES = {
    entry.name: entry.read_text() for entry in (CONSOLE / "messages").iterdir() if entry.name != "index.js"
}
MESSAGES = {
    key: {"en": en, "zh": zh} for content in MESSAGE_FILES.values() for key, en, zh in _MESSAGE.findall(content)
}
SCRIPTS = {str(script): script.read_text() for script in _scripts(CONSOLE)}


def _pattern(template: str) -> str:
    """A regular expression for the keys that a template literal can produce."""
    return ".+".join(re.escape(part) for part in re.split(r"\$\{[^}]*\}", template))


@pytest.mark.parametrize("file", sorted(MESSAGE_FILES))
def test_every_message_is_defined_once_in_both_languages(file: str) -> None:
    """Each entry reads `"key": { en: "…", zh: "…" },`, on one line or several."""
    content = MESSAGE_FILES[file]
    keys = _KEY.findall(content)
    assert keys == [key for key, _, _ in _MESSAGE.findall(content)]
    all_keys = [key for each in MESSAGE_FILES.values() for key in _KEY.findall(each)]
    assert [key for key in keys if all_keys.count(key) > 1] == []


@pytest.mark.parametrize("key", sorted(MESSAGES))
def test_both_languages_have_the_same_placeholders(key: str) -> None:
    english, chinese = MESSAGES[key]["en"], MESSAGES[key]["zh"]
    assert english.strip(), "no English"
    assert chinese.strip(), "no Chinese"
    assert sorted(_PLACEHOLDER.findall(english)) == sorted(_PLACEHOLDER.findall(chinese))


def test_every_key_in_use_is_defined() -> None:
    missing = []
    for script, content in SCRIPTS.items():
        for key, template in _CALL.findall(content):
            known = key in MESSAGES if key else any(re.fullmatch(_pattern(template), each) for each in MESSAGES)
            missing += [] if known else [(script, key or template)]
    assert missing == []


def test_every_message_is_used() -> None:
    source = "\n".join(SCRIPTS.values())
    quoted = set(re.findall(r'"([^"\n]*)"', source))
    patterns = [_pattern(template) for template in re.findall(r"`([a-z.]+\.\$\{[^`\n]*)`", source)]

    def is_used(key: str) -> bool:
        return key in quoted or any(re.fullmatch(pattern, key) for pattern in patterns)

    assert [key for key in MESSAGES if not is_used(key)] == []


def test_chinese_messages_use_chinese_punctuation() -> None:
    def is_mixed(text: str) -> Any:
        return re.search(r"[\u4e00-\u9fff][,;:?!()]|[,;?!][\u4e00-\u9fff]", text)

    assert [key for key, text in MESSAGES.items() if is_mixed(text["zh"])] == []


def _classes(path: str) -> set[str]:
    return set(_CLASS.findall(_COMMENT.sub("", WEB.joinpath(path).read_text())))


def test_shell_and_pages_share_only_the_classes_of_the_theme() -> None:
    sheets = ("console/shell.css", "console/pages.css", "console/costs.css", "theme.css")
    shell, pages, costs, theme = (_classes(path) for path in sheets)
    assert min(len(shell), len(pages), len(costs), len(theme)) > 10
    assert shell & (pages | costs) - theme == set()
