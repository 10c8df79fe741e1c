"""Commands: each has help and is loaded only when run; shells complete its words."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cloudconsole.cli.commands import COMMANDS, Command
from cloudconsole.cli.completion import SCRIPTS, completions
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.extensions import EXTENSIONS
from tests.cli.users import CliUser, install_program
from tests.harness import RunningServer, clean_environment
from tests.terminal import Terminal

SET_UP = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'eval "$(cloudconsole completion bash)"'),
    "zsh": (["zsh", "-f", "-i"], "autoload -U compinit; compinit -u -D; source <(cloudconsole completion zsh)"),
    "fish": (["fish", "--no-config", "-i"], "cloudconsole completion fish | source"),
}
READY = "ready-to-type"
PROFILES = "[profiles.work]\n[profiles.workshop]\n[profiles.home]\n"

HEAVY = {"asyncio", "httpx2", "jmespath", "msgspec", "rich", "ssl", "http.client", "email", "tomllib"}

LIST_MODULES = """
import json, sys
from contextlib import suppress
from cloudconsole.cli.main import main
for command in sys.argv[1:]:
    with suppress(SystemExit):
        main([*command.split(), "--help"])
sys.stderr.write(json.dumps(sorted(sys.modules)))
"""


def loaded_by_help(*commands: str) -> set[str]:
    command = [sys.executable, "-c", LIST_MODULES, *commands]
    environment = clean_environment(LC_ALL="C.UTF-8")
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.count("usage: ") == len(commands)
    return set(json.loads(done.stderr))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_has_help(cli_user: CliUser, command: Command) -> None:
    done = cli_user.run(command.name, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"usage: cloudconsole {command.name}")


def test_help_loads_no_command_and_no_library() -> None:
    loaded = loaded_by_help("")
    assert not loaded & HEAVY
    assert not {name for name in loaded if name.startswith(("cloudconsole.cli.tenant", "cloudconsole.server"))}


def test_tenant_command_help_loads_no_http_library_and_no_server() -> None:
    loaded = loaded_by_help(*(command.name for command in COMMANDS if not command.has_raw_arguments))
    assert not loaded & {"httpx2", "jmespath", "rich", "asyncio"}
    assert not {name for name in loaded if name.startswith("cloudconsole.server")}


LIST_MODULES_OF_COMPLETION = """
import json, sys
from cloudconsole.cli.main import main
for line in sys.argv[1:]:
    main(["__complete", "bash", "cloudconsole", f"cloudconsole {line}"])
sys.stderr.write(json.dumps(sorted(sys.modules)))
"""


def test_completion_of_server_commands_loads_no_server() -> None:
    lines = ["admin tenant ad", "serve --log-format js", "doctor --qu", "init --use", "help adm"]
    command = [sys.executable, "-c", LIST_MODULES_OF_COMPLETION, *lines]
    done = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.split() == ["add", "json", "--quick", "--username", "admin"]
    loaded = set(json.loads(done.stderr))
    assert not loaded & {"pydantic", "sqlalchemy", "httpx2", "rich"}
    assert not {name for name in loaded if name.startswith("cloudconsole.server")}


def test_no_arguments_show_help(cli_user: CliUser) -> None:
    assert cli_user.run() == cli_user.run("--help") == cli_user.run("help") == cli_user.run("--timeout", "5")


@pytest.mark.parametrize("command", [("usage",), ("admin", "tenant", "add"), ("help",)])
def test_help_command_shows_the_help_of_a_command(cli_user: CliUser, command: tuple[str, ...]) -> None:
    expected = cli_user.run("--help") if command == ("help",) else cli_user.run(*command, "--help")
    assert cli_user.run("help", *command) == expected
    assert expected.code == 0


def test_help_starts_with_a_sentence(cli_user: CliUser) -> None:
    assert "\nTenants: add one.\n" in cli_user.run("admin", "tenant", "add", "--help").out
    assert "\nCall any action and print its data as JSON.\n" in cli_user.run("call", "--help").out


@pytest.mark.parametrize(
    "arguments",
    [
        ("--output", "csv", "--url", "{url}", "urls"),
        ("--output=csv", "-v", "urls", "--url={url}"),
        ("urls", "--output", "csv", "--url", "{url}"),
    ],
)
def test_connection_options_may_precede_the_command(
    demo_user: CliUser, server: RunningServer, arguments: tuple[str, ...]
) -> None:
    done = demo_user.run(*(argument.format(url=server.base) for argument in arguments), "--username", "demo")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("id,type,url\n")


def offered(*words: str) -> list[str]:
    return [word.text for word in completions(words)]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("us",), ["usage"]),
        (("log",), ["login", "logout"]),
        (("--v",), ["--version", "--verbose"]),
        (("--lang", ""), ["en", "zh"]),
        (("--lang", "zh", "--timeout=5", "us"), ["usage"]),
        (("--lang", "zh", "usage", "--outp"), ["--output"]),
        (("--unheard-of", "us"), []),
        (("unheard-of", ""), []),
        (("usage", "--out"), ["--output"]),
        (("usage", "--output", ""), ["table", "json", "yaml", "csv", "markdown"]),
        (("usage", "--output", "j"), ["json"]),
        (("usage", "--output=c"), ["--output=csv"]),
        (("usage", "--watch", "--outp"), ["--output"]),
        (("usage", "--url", "http://x", "--lang", ""), ["en", "zh"]),
        (("usage", "--url", ""), []),
        (("call", "GetN"), ["GetNews"]),
        (("call", "--url", "http://x", ""), [action.name for action in (*ACTIONS, *EXTENSIONS)]),
        (("call", "GetNews", "--ver"), ["--verbose"]),
        (("completion", ""), list(SCRIPTS)),
        (("profile", "re"), ["remove"]),
        (("admin", "tena"), ["tenant"]),
        (("admin", "tenant", "ch"), ["change"]),
        (("admin", "tenant", "unheard-of", ""), []),
        (("doctor", "--qu"), ["--quick"]),
        (("serve", "--log-format", ""), ["auto", "json", "pretty"]),
        (("serve", "--sample", "--print-"), ["--print-config"]),
        (("usage", "--columns", "u"), ["used", "unit"]),
        (("usage", "--columns", "used,"), ["used,quota", "used,limit", "used,free", "used,unit"]),
        (("urls", "--columns=id,u"), ["--columns=id,url"]),
        (("conformance", "--only", "login.wrong"), ["login.wrong-credentials"]),
        (("help", "us"), ["usage"]),
        (("help", "usage", ""), []),
        (("help", "admin", "tenant", "ch"), ["change"]),
    ],
)
def test_candidates_match_the_words_typed(words: tuple[str, ...], expected: list[str]) -> None:
    assert offered(*words) == expected


@pytest.mark.parametrize(
    "command",
    [
        *((name,) for name in ("whoami", "usage", "flavors", "urls", "domains", "news", "prices", "actions")),
        ("domain", "206813"),
        ("estimate", "--volume", "1"),
        *(("costs", *more) for more in ((), ("forecast",), ("--by", "resource"), ("--by", "month"))),
        *(("profile", verb) for verb in ("list", "show")),
    ],
)
def test_all_columns_are_offered(demo_user: CliUser, command: tuple[str, ...]) -> None:
    demo_user.write_profiles(f'default = "a"\n[profiles.a]\nurl = "{demo_user.saved_sessions()["last_login"][0]}"\n')
    rejection = demo_user.run(*command, "--columns", "?").err
    columns = set(rejection.rpartition("available: ")[2].strip().split(", "))
    offered_columns = set(offered(command[0], "--columns", ""))
    assert columns <= offered_columns if command[0] in ("costs", "profile") else columns == offered_columns


def test_flags_are_offered_where_no_value_is_expected() -> None:
    assert {"--output", "--watch", "-v"} <= set(offered("usage", ""))


def test_profiles_are_offered_by_name(cli_user: CliUser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(cli_user.home / "config"))
    assert offered("usage", "--profile", "") == []
    cli_user.write_profiles(PROFILES)
    assert offered("usage", "--profile", "w") == ["work", "workshop"]
    assert offered("profile", "use", "h") == ["home"]
    cli_user.write_profiles("broken [")
    assert offered("usage", "--profile", "w") == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("cloudconsole us", ["usage"]),
        ("A=1 cloudconsole us", ["usage"]),
        ("cloudconsole usage --output=j", ["json"]),
        ("cloudconsole usage --url http://x:80 --output ", ["table", "json", "yaml", "csv", "markdown"]),
        ("cloudconsole usage --username 'a b' --la", ["--lang"]),
        ("cloudconsole usage --username 'a b", []),
        ("cloudconsole usage --profile wo", ["work:a", "work:b"]),
        ("cloudconsole usage --profile work:", ["a", "b"]),
    ],
)
def test_bash_passes_the_whole_line(cli_user: CliUser, line: str, expected: list[str]) -> None:
    cli_user.write_profiles('[profiles."work:a"]\n[profiles."work:b"]\n')
    done = cli_user.run("__complete", "bash", "cloudconsole", line)
    assert (done.code, done.out.split(), done.err) == (0, expected, "")


def test_other_shells_get_descriptions(cli_user: CliUser) -> None:
    done = cli_user.run("__complete", "fish", "cost")
    assert done.out == "costs\tshow the estimated cost of resources\n"
    assert cli_user.run("__complete", "zsh", "cost", LC_ALL="zh_CN.UTF-8").out == "costs\t显示资源费用预估\n"


@pytest.fixture(params=SET_UP)
def shell(request: pytest.FixtureRequest, cli_user: CliUser) -> Terminal:
    """A real shell with the completion script loaded, at its prompt."""
    name: str = request.param
    if shutil.which(name) is None and os.environ.get("CI") != "true":
        pytest.skip(f"{name} is not installed")
    cli_user.write_profiles(PROFILES)
    command, set_up = SET_UP[name]
    root = Path(__file__).parents[2]
    environment = cli_user.environment(PATH=install_program(cli_user.home), TERM="xterm", PYTHONPATH=str(root / "src"))
    terminal = Terminal(cli_user.home, command=command, **environment)
    # Quoted in two pieces so that the echoed input does not contain the marker.
    terminal.type(f"{set_up}; echo ready-to'-type'\n")
    terminal.wait_for_text(READY)
    return terminal


def press_tab(terminal: Terminal, typed: str, *, see: str) -> None:
    terminal.type(typed)
    terminal.wait_for_text(typed.lstrip())
    terminal.type("\t")
    terminal.wait_for_text(see)


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
        shell.wait_for_text("workshop")
    finally:
        shell.process.kill()
        shell.end()
