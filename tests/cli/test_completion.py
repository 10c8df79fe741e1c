"""What a shell offers when Tab is pressed, and that real shells do."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from cloudconsole.cli.completion import SCRIPTS, completions
from cloudconsole.spec.actions import ACTIONS
from tests.cli.users import Person
from tests.terminal import Terminal

SET_UP = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'eval "$(cloudconsole completion bash)"'),
    "zsh": (["zsh", "-f", "-i"], "autoload -U compinit; compinit -u -D; source <(cloudconsole completion zsh)"),
    "fish": (["fish", "--no-config", "-i"], "cloudconsole completion fish | source"),
}
READY = "ready-to-type"
PROFILES = "[profiles.work]\n[profiles.workshop]\n[profiles.home]\n"


def offered(*words: str) -> list[str]:
    return [word.text for word in completions(words)]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("us",), ["usage"]),
        (("log",), ["login", "logout"]),
        (("--v",), ["--version"]),
        (("unheard-of", ""), []),
        (("usage", "--out"), ["--output"]),
        (("usage", "--output", ""), ["table", "json", "csv"]),
        (("usage", "--output", "j"), ["json"]),
        (("usage", "--output=c"), ["--output=csv"]),
        (("usage", "--watch", "--outp"), ["--output"]),
        (("usage", "--url", "http://x", "--lang", ""), ["en", "zh"]),
        (("usage", "--url", ""), []),
        (("call", "GetN"), ["GetNews"]),
        (("call", "--url", "http://x", ""), [action.name for action in ACTIONS]),
        (("call", "GetNews", "--ver"), ["--verbose"]),
        (("completion", ""), list(SCRIPTS)),
        (("admin", "tena"), ["tenant"]),
        (("admin", "tenant", "ch"), ["change"]),
        (("admin", "tenant", "unheard-of", ""), []),
        (("doctor", "--qu"), ["--quick"]),
    ],
)
def test_what_is_offered(words: tuple[str, ...], found: list[str]) -> None:
    assert offered(*words) == found


def test_flags_are_offered_where_nothing_else_can_be() -> None:
    assert {"--output", "--watch", "-v"} <= set(offered("usage", ""))


def test_profiles_are_offered_by_name(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(person.folder / "config"))
    assert offered("usage", "--profile", "") == []
    person.has_profiles(PROFILES)
    assert offered("usage", "--profile", "w") == ["work", "workshop"]
    person.has_profiles("broken [")
    assert offered("usage", "--profile", "w") == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("cloudconsole us", ["usage"]),
        ("A=1 cloudconsole us", ["usage"]),
        ("cloudconsole usage --output=j", ["json"]),
        ("cloudconsole usage --url http://x:80 --output ", ["table", "json", "csv"]),
        ("cloudconsole usage --username 'a b' --la", ["--lang"]),
        ("cloudconsole usage --username 'a b", []),
        ("cloudconsole usage --profile wo", ["work:a", "work:b"]),
        ("cloudconsole usage --profile work:", ["a", "b"]),
    ],
)
def test_bash_hands_over_the_line(person: Person, line: str, found: list[str]) -> None:
    person.has_profiles('[profiles."work:a"]\n[profiles."work:b"]\n')
    done = person.run("__complete", "bash", "cloudconsole", line)
    assert (done.code, done.out.split(), done.err) == (0, found, "")


def test_other_shells_get_descriptions(person: Person) -> None:
    done = person.run("__complete", "fish", "cost")
    assert done.out == "costs\tshow the estimated cost of resources\n"
    assert person.run("__complete", "zsh", "cost", LC_ALL="zh_CN.UTF-8").out == "costs\t显示资源费用预估\n"


@pytest.fixture(params=SET_UP)
def shell(request: pytest.FixtureRequest, person: Person) -> Terminal:
    """A real shell that has taken the script, ready to type."""
    name: str = request.param
    if shutil.which(name) is None and os.environ.get("CI") != "true":
        pytest.skip(f"{name} is not installed")
    person.has_profiles(PROFILES)
    programs = person.folder / "bin"
    programs.mkdir()
    program = programs / "cloudconsole"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cloudconsole "$@"\n')
    program.chmod(0o755)
    command, set_up = SET_UP[name]
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    folder = Path(__file__).parents[2]
    environment = person.environment(PATH=path, TERM="xterm", PYTHONPATH=str(folder / "src"))
    terminal = Terminal(person.folder, command=command, **environment)
    # In two pieces, so that what is waited for is not what was typed.
    terminal.type(f"{set_up}; echo ready-to'-type'\n")
    terminal.wait_to_see(READY)
    return terminal


def press_tab(terminal: Terminal, typed: str, *, see: str) -> None:
    terminal.type(typed)
    terminal.wait_to_see(typed.lstrip())
    terminal.type("\t")
    terminal.wait_to_see(see)


def test_a_real_shell_completes(shell: Terminal) -> None:
    try:
        press_tab(shell, "cloudconsole us", see="cloudconsole usage")
        press_tab(shell, "--outp", see="cloudconsole usage --output")
        press_tab(shell, "js", see="cloudconsole usage --output json")
        press_tab(shell, "--output=cs", see="cloudconsole usage --output json --output=csv")
        press_tab(shell, "--profile h", see="--profile home")
        shell.type("\x15")
        press_tab(shell, "cloudconsole call GetNe", see="cloudconsole call GetNews")
        shell.type("\x15")
        press_tab(shell, "cloudconsole urls --profile w", see="cloudconsole urls --profile work")
        shell.type("\t\t")
        shell.wait_to_see("workshop")
    finally:
        shell.process.kill()
        shell.end()
