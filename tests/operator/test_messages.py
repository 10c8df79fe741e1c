"""Messages about operators' input are complete in both languages."""

import ast
import re
from pathlib import Path

import pytest

import cloudconsole.operator
from cloudconsole.operator.messages import Message, Term, all_of
from cloudconsole.spec.i18n import Language, Text

FOLDER = Path(cloudconsole.operator.__file__).parent
MODULES = sorted([*FOLDER.glob("*.py"), *FOLDER.glob("entities/*.py")])
"""Modules whose errors the admin UI shows; cloud files and maintenance are for commands only."""
ONLY_COMMANDS = {"bulk_import.py", "first_operator.py"}
ONLY_FILES = {
    "_password_hash",
    "_reject_password",
    "_quota_name",
    "read_password_file",
    "reset_password",
    "_row",
    "add",
    "change",
}
"""Functions that reject passwords and quotas of cloud files, which no form has."""
_PLACEHOLDER = re.compile(r"\{(\w*)\}")


def _name(term: Term, language: Language) -> str:
    return {"en": {"volume": "a volume"}, "zh": {"volume": "云硬盘"}}[language].get(term.word, term.word)


def calls(path: Path, name: str) -> list[ast.Call]:
    tree = ast.parse(path.read_text())
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    ]


def test_message_is_english_text_and_can_be_rendered_in_chinese() -> None:
    users = all_of([Message("{count} accounts", "{count} 个账户", count=2), Term("kind", "volume")])
    message = Message(
        "{kind} has {users}{end}",
        "{kind}有 {users}{end}",
        kind=Term("kind", "volume", has_article=True),
        users=users,
        end=Text("!", "！"),
    )
    assert message == "a volume has 2 accounts and volume!"
    assert message.render("en", _name) == "a volume has 2 accounts and a volume!"
    assert message.render("zh", _name) == "云硬盘有 2 个账户和云硬盘！"


def test_braces_in_a_value_are_not_placeholders() -> None:
    message = Message("there is no {name}", "{name} 不存在", name="{x} {0}")
    assert (message, message.render("zh", _name)) == ("there is no {x} {0}", "{x} {0} 不存在")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_both_languages_of_a_message_have_the_same_placeholders(path: Path) -> None:
    for call in calls(path, "Message"):
        texts = [each.value for each in call.args if isinstance(each, ast.Constant)]
        if len(texts) == 2:
            english, chinese = map(str, texts)
            assert set(_PLACEHOLDER.findall(english)) == set(_PLACEHOLDER.findall(chinese)), english
            assert chinese.strip() != english or not _PLACEHOLDER.sub("", english), english


@pytest.mark.parametrize(
    "path", [path for path in MODULES if path.name not in ONLY_COMMANDS], ids=lambda path: path.name
)
def test_every_rejection_of_input_can_be_translated(path: Path) -> None:
    tree = ast.parse(path.read_text())
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        for raised in (node for node in ast.walk(function) if isinstance(node, ast.Raise)):
            for call in (node for node in ast.walk(raised) if isinstance(node, ast.Call)):
                is_plain = any(isinstance(each, ast.Constant | ast.JoinedStr) for each in call.args)
                is_error = isinstance(call.func, ast.Name) and call.func.id in (
                    "ValueError",
                    "OperatorError",
                    "OverridableError",
                )
                assert not (is_error and is_plain) or function.name in ONLY_FILES, ast.unparse(raised)
