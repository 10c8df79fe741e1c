"""Which language a command speaks."""

import pytest

from cloudconsole.cli.i18n import detect_language
from tests.cli.users import Person
from tests.harness import RunningServer

ENGLISH_OF_THE_PARSER = ("usage:", "options", "show this help", "argument")


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "ZH"}, "zh"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "en_US.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_TW.UTF-8"}, "zh"),
        ({"LC_ALL": "C.UTF-8", "LC_MESSAGES": "zh_TW.UTF-8", "LANG": "zh_CN"}, "en"),
        ({"LC_ALL": "", "LANG": "zh_CN"}, "zh"),
        ({"LC_CTYPE": "zh_CN.UTF-8"}, "en"),
    ],
)
def test_the_locale_decides(environment: dict[str, str], language: str) -> None:
    assert detect_language(["usage"], environment) == language


@pytest.mark.parametrize("arguments", [["usage", "--lang", "zh"], ["usage", "--lang=zh"], ["--lang", "zh", "--help"]])
def test_a_flag_goes_before_the_locale(arguments: list[str]) -> None:
    assert detect_language(arguments, {"LC_ALL": "en_US.UTF-8"}) == "zh"


@pytest.mark.parametrize("flag", [("--lang", "zh"), ("--lang=zh",)])
@pytest.mark.parametrize(("command", "told"), [("usage", "未指定控制台"), ("completion", "缺少参数")])
def test_the_flag_may_stand_before_the_command(person: Person, flag: tuple[str, ...], command: str, told: str) -> None:
    assert told in person.run(*flag, command).err


def test_a_command_that_speaks_only_english_is_found_behind_the_flag_too(person: Person) -> None:
    assert person.run("--lang", "zh", "conformance").err == person.run("conformance").err != ""


@pytest.mark.parametrize("arguments", [["usage", "--lang", "fr"], ["usage", "--lang"]])
def test_a_flag_that_is_wrong_is_told_in_english(arguments: list[str]) -> None:
    assert detect_language(arguments, {"LC_ALL": "zh_CN.UTF-8"}) == "en"


@pytest.mark.parametrize("arguments", [("--help",), ("usage", "--help"), ("call", "--help"), ("completion", "--help")])
def test_help_is_chinese_throughout(person: Person, arguments: tuple[str, ...]) -> None:
    shown = person.run(*arguments, LC_ALL="zh_CN.UTF-8")
    assert shown.code == 0
    assert "用法：" in shown.out
    assert not any(english in shown.out for english in ENGLISH_OF_THE_PARSER)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("usage", "--outptu", "json"), "此处没有选项 --outptu（是否想用 --output？）"),
        (("usage", "--output", "xml"), "--output：'xml' 不可用"),
        (("usage", "--timeout"), "--timeout：需要一个值"),
        (("domain",), "缺少参数：ID"),
        (("domain", "1", "2"), "2：此处不应出现"),
        (("usage",), "未指定控制台"),
    ],
)
def test_wrong_usage_is_told_in_chinese(person: Person, arguments: tuple[str, ...], told: str) -> None:
    done = person.run(*arguments, "--lang", "zh")
    assert done.code == 2
    assert done.err.startswith(f"cloudconsole: {told}")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("command", ["admin", "conformance"])
def test_what_is_not_a_tenant_s_speaks_english_in_every_locale(person: Person, command: str) -> None:
    shown = person.run(command, "--help", LC_ALL="zh_CN.UTF-8")
    assert shown.out.startswith(f"usage: cloudconsole {command}")


def test_the_console_answers_in_the_same_language(demo_person: Person) -> None:
    assert demo_person.run("domain", "1").err == "cloudconsole: There is no domain with this ID.\n"
    refused = demo_person.run("domain", "1", LC_ALL="zh_CN.UTF-8")
    assert refused.code == 1
    assert "域名" in refused.err


def test_a_profile_may_choose_the_language(person: Person, server: RunningServer) -> None:
    person.logs_in(server)
    person.has_profiles(f'default = "here"\n[profiles.here]\nurl = "{server.base}"\nlanguage = "zh"\n')
    assert person.run("usage").out.startswith("配额\t已用\t上限\t剩余\n")
    assert person.run("usage", "--lang", "en").out.startswith("quota\t")
