"""Language selection of commands; every message exists in both languages, with the same placeholders."""

import argparse
import re
from collections.abc import Iterator
from string import Formatter

import pytest

from cloudconsole.cli import conformance_messages, messages
from cloudconsole.cli.argument_parser import Parser
from cloudconsole.cli.commands import COMMANDS, command_named, loaded
from cloudconsole.cli.i18n import LANGUAGES, detect_language, set_language
from cloudconsole.cli.tenant import messages as tenant_messages
from cloudconsole.server.commands import messages as command_messages
from cloudconsole.server.commands.admin import messages as admin_messages
from cloudconsole.server.commands.admin import transfer_messages
from cloudconsole.spec.i18n import Text
from tests.cli.users import CliUser
from tests.harness import RunningServer

MODULES = (
    messages,
    conformance_messages,
    tenant_messages,
    command_messages,
    admin_messages,
    transfer_messages,
)
CHINESE = re.compile("[\u4e00-\u9fff]")
ARGPARSE_ENGLISH = ("usage:", "options", "show this help", "argument")


@pytest.mark.parametrize(
    ("arguments", "environment", "language"),
    [
        ("usage", {}, "en"),
        ("usage", {"LANG": "zh_CN.UTF-8"}, "zh"),
        ("usage", {"LANG": "ZH"}, "zh"),
        ("usage", {"LANG": "de_DE.UTF-8"}, "en"),
        ("usage", {"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "en_US.UTF-8"}, "en"),
        ("usage", {"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_TW.UTF-8"}, "zh"),
        ("usage", {"LC_ALL": "C.UTF-8", "LC_MESSAGES": "zh_TW.UTF-8", "LANG": "zh_CN"}, "en"),
        ("usage", {"LC_ALL": "", "LANG": "zh_CN"}, "zh"),
        ("usage", {"LC_CTYPE": "zh_CN.UTF-8"}, "en"),
        # The flag overrides the locale; an invalid one means English.
        ("usage --lang zh", {"LC_ALL": "en_US.UTF-8"}, "zh"),
        ("usage --lang=zh", {"LC_ALL": "en_US.UTF-8"}, "zh"),
        ("--lang zh --help", {"LC_ALL": "en_US.UTF-8"}, "zh"),
        ("usage --lang fr", {"LC_ALL": "zh_CN.UTF-8"}, "en"),
        ("usage --lang", {"LC_ALL": "zh_CN.UTF-8"}, "en"),
    ],
)
def test_locale_and_flag_select_the_language(arguments: str, environment: dict[str, str], language: str) -> None:
    assert detect_language(arguments.split(), environment) == language


@pytest.mark.parametrize("flag", [("--lang", "zh"), ("--lang=zh",)])
@pytest.mark.parametrize(("command", "message"), [("usage", "未指定控制台"), ("completion", "缺少参数")])
def test_flag_may_precede_the_command(cli_user: CliUser, flag: tuple[str, ...], command: str, message: str) -> None:
    assert message in cli_user.run(*flag, command).err


def test_english_only_command_may_follow_the_flag(cli_user: CliUser) -> None:
    assert cli_user.run("--lang", "zh", "serve", "--bogus").err == cli_user.run("serve", "--bogus").err != ""


@pytest.mark.parametrize(
    "arguments",
    [
        ("--lang", "zh", "help", "usage"),
        ("help", "--lang", "zh", "usage"),
        ("help", "--lang=zh", "usage"),
        ("help", "usage", "--lang", "zh"),
    ],
)
def test_flag_may_be_anywhere_in_a_request_for_help(cli_user: CliUser, arguments: tuple[str, ...]) -> None:
    assert cli_user.run(*arguments) == cli_user.run("usage", "--help", "--lang", "zh")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("usage", "--help"),
        ("call", "--help"),
        ("completion", "--help"),
        ("admin", "node", "add", "--help"),
    ],
)
def test_help_is_chinese_throughout(cli_user: CliUser, arguments: tuple[str, ...]) -> None:
    shown = cli_user.run(*arguments, LC_ALL="zh_CN.UTF-8")
    assert shown.code == 0
    assert "用法：" in shown.out
    assert not any(english in shown.out for english in ARGPARSE_ENGLISH)


def test_completion_describes_options_of_admin_in_chinese(cli_user: CliUser) -> None:
    words = ("__complete", "zsh", "admin", "account", "password", "--password-f")
    assert cli_user.run(*words).out == "--password-file\tread the password from a file\n"
    assert cli_user.run(*words, LC_ALL="zh_CN.UTF-8").out == "--password-file\t从文件读取密码\n"


def help_texts(parser: Parser) -> Iterator[tuple[str, str]]:
    """Yield every help text of a command and its subcommands."""
    parser.complete()
    for text in (parser.description, parser.epilog):
        if text:
            yield parser.prog, text
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for choice in action._choices_actions:
                yield f"{parser.prog} {choice.dest}", choice.help or ""
                yield from help_texts(action.choices[choice.dest])
        else:
            yield f"{parser.prog} {action.dest}", action.help or ""


@pytest.mark.parametrize("name", ["admin", "conformance"])
def test_every_help_text_is_in_both_languages(name: str) -> None:
    command = command_named(name)
    assert command is not None
    for language in LANGUAGES:
        set_language(language)
        try:
            texts = list(help_texts(loaded(command)[1]))
        finally:
            set_language("en")
        assert len(texts) > 20
        assert [text for text in texts if bool(CHINESE.search(text[1])) is not (language == "zh")] == []


@pytest.mark.parametrize("command", ["serve", "doctor"])
def test_other_commands_are_always_in_english(cli_user: CliUser, command: str) -> None:
    shown = cli_user.run(command, "--help", LC_ALL="zh_CN.UTF-8")
    assert shown.out.startswith(f"usage: cloudconsole {command}")


def test_server_messages_use_the_same_language(demo_user: CliUser) -> None:
    assert demo_user.run("domain", "1").err == "cloudconsole: There is no domain with this ID.\n"
    rejected = demo_user.run("domain", "1", LC_ALL="zh_CN.UTF-8")
    assert rejected.code == 1
    assert "域名" in rejected.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("estimate", "nothing"),
        (
            "usage",
            "--url",
            "http://127.0.0.1:1",
            "--username",
            "demo",
            "--password-file",
            "/dev/null",
            "--ca-file",
            "nothing",
        ),
        ("conformance", "http://127.0.0.1:1", "--username", "demo", "--password-file", "nothing"),
        ("conformance", "--verify", "nothing"),
    ],
)
def test_missing_file_is_reported_in_chinese(cli_user: CliUser, arguments: tuple[str, ...]) -> None:
    done = cli_user.run("--lang", "zh", *arguments)
    assert (done.code, "nothing：没有此文件或目录" in done.err.replace(": ", "：")) == (2, True)


def test_totals_are_worded_in_chinese(demo_user: CliUser) -> None:
    terminal = demo_user.open_terminal("costs", "--plot", "--lang", "zh")
    assert terminal.end() == 0
    assert "每小时合计：1.5717825 CNY" in terminal.shown


def test_profile_can_set_the_language(cli_user: CliUser, server: RunningServer) -> None:
    cli_user.logs_in(server)
    cli_user.write_profiles(f'default = "here"\n[profiles.here]\nurl = "{server.base}"\nlanguage = "zh"\n')
    assert cli_user.run("usage").out.startswith("配额\t已用\t上限\t剩余\n")
    assert cli_user.run("usage", "--lang", "en").out.startswith("quota\t")


def all_messages() -> Iterator[tuple[str, Text]]:
    for module in MODULES:
        prefix = module.__name__.removeprefix("cloudconsole.")
        for name, value in vars(module).items():
            if isinstance(value, Text):
                yield f"{prefix}.{name}", value
            elif name.isupper() and name != "ARGPARSE":
                assert isinstance(value, dict), name
                for key, text in value.items():
                    yield f"{prefix}.{name}[{key}]", text
    for command in COMMANDS:
        yield command.name, command.purpose


MESSAGES = dict(all_messages())
WITHOUT_WORDS = {
    *(f"cli.messages.{name}" for name in ("CANNOT_CONNECT", "PROTOCOL_ERROR")),
    *(f"cli.conformance_messages.{name}" for name in ("CA_FILE", "VERIFIED", "VERIFY_FAILED")),
    *(f"cli.tenant.messages.{name}" for name in ("COMMA", "ID", "URL")),
    *(f"server.commands.admin.messages.{name}" for name in ("COMMA", "GROUP", "OR", "PROBLEM", "RESULT")),
}


def placeholders_in(text: str) -> list[str]:
    return sorted(str(name) for _, name, _, _ in Formatter().parse(text) if name is not None)


@pytest.mark.parametrize("name", MESSAGES)
def test_both_languages_have_the_same_placeholders(name: str) -> None:
    text = MESSAGES[name]
    assert text.en.strip()
    assert text.zh.strip()
    assert placeholders_in(text.en) == placeholders_in(text.zh)


@pytest.mark.parametrize("name", sorted(set(MESSAGES) - WITHOUT_WORDS))
def test_chinese_is_chinese_and_english_is_not(name: str) -> None:
    assert CHINESE.search(MESSAGES[name].zh)
    assert not CHINESE.search(MESSAGES[name].en)


@pytest.mark.parametrize("message", messages.ARGPARSE)
def test_argparse_translations_keep_their_placeholders(message: str) -> None:
    placeholders = re.compile(r"%(?:\([a-z_]+\))?[rs]")
    assert sorted(placeholders.findall(message)) == sorted(placeholders.findall(messages.ARGPARSE[message]))
