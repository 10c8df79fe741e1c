"""Selection of output: YAML, `--query`, `--columns`, the list of actions, and a stream of JSON lines."""

import json
import signal
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from cloudconsole.cli.output import json_text
from cloudconsole.cli.yaml_output import yaml_lines
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.extensions import EXTENSIONS
from cloudconsole.spec.text_escaping import escape_json
from tests.cli.users import PASSWORD, CliUser
from tests.client.scripted_server import LOST, ScriptedServer, envelope
from tests.fork_server import ForkedProcess
from tests.harness import RunningServer, clean_environment


def escaped_json(value: Any) -> str:
    return escape_json(json_text(value))


class TestYaml:
    @pytest.mark.parametrize(
        "value",
        [
            {},
            [],
            None,
            "text",
            {"a": [{"b": 1, "c": [[], {}, [1, [2]]]}], "d": {"e": {"f": None}}},
            {"yes": "no", "4": True, "null": "null", "": "", "a b": "- x: y", "#": "# x", "y": "1e3", "N": "0x1f"},
            ["é\u2028\x85\x1b\x00\\", "😀", "云", "\\ud83d", " a ", "a\nb", "2026-01-01", "1_000"],
            [0, -1, 1.5, 10**30, False],
        ],
    )
    @pytest.mark.parametrize("to_json", [escaped_json, json.dumps])
    def test_yaml_has_the_same_data(self, value: Any, to_json: Callable[[Any], str]) -> None:
        assert yaml.safe_load("\n".join(yaml_lines(value, to_json))) == value

    def test_yaml_is_in_block_style(self) -> None:
        assert list(yaml_lines({"a": [{"b": "x", "c": 1}], "yes": {}}, escaped_json)) == [
            "a:",
            '  - b: "x"',
            "    c: 1",
            '"yes": {}',
        ]

    @pytest.mark.parametrize("command", [("flavors",), ("domain", "206814"), ("call", "GetNews"), ("whoami",)])
    def test_commands_print_yaml(self, demo_user: CliUser, command: tuple[str, ...]) -> None:
        shown = demo_user.run(*command, "-o", "yaml")
        assert (shown.code, shown.err) == (0, "")
        assert yaml.safe_load(shown.out) == demo_user.json(*command, "-o", "json")


class TestQuery:
    @pytest.mark.parametrize(
        ("arguments", "shown"),
        [
            (("usage", "--query", "maxTotalCores"), "64\n"),
            (("domain", "206814", "--query", "originConfig.originIps"), '[\n  "192.0.2.20"\n]\n'),
            (("domain", "206814", "--query", "enabled"), "false\n"),
            (("domain", "206814", "--query", "enabled", "-o", "json"), '"false"\n'),
            (("domain", "206814", "--query", "originConfig.originIps", "-o", "yaml"), '- "192.0.2.20"\n'),
            (("costs", "--query", "[?to_number(hour) > `1`].res_type", "-o", "yaml"), '- "instance"\n'),
            (("call", "GetDomainDetail", "domainId=206814", "--query", "nothing"), "null\n"),
            (("estimate", "--volume", "3", "--query", "hour"), "0.00126\n"),
        ],
    )
    def test_query_selects_from_the_data(self, demo_user: CliUser, arguments: tuple[str, ...], shown: str) -> None:
        assert demo_user.run(*arguments) == (0, shown, "")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (
                ("usage", "--query", "a["),
                "argument --query: not a valid JMESPath expression: Incomplete expression; see ",
            ),
            (("usage", "--query", ""), "argument --query: not a valid JMESPath expression: "),
            (("usage", "--query", "[" * 3000), "argument --query: not a valid JMESPath expression: maximum recursion"),
            (("usage", "--query", "f(@)"), "--query cannot be applied to this data: Unknown function: f()"),
            (("costs", "--query", "[?hour > `1`]"), "--query cannot be applied to this data: '>' not supported"),
            (("usage", "--query", "a", "-o", "csv"), "--query requires --output json or yaml"),
            (("usage", "--query", "a", "--columns", "b"), "argument --columns: not allowed with argument --query"),
            (("usage", "--columns", "quota", "-o", "yaml"), "--columns requires --output table, csv or markdown"),
            (("usage", "--columns", "quota,"), "argument --columns: must be names separated by commas"),
            (
                ("usage", "--columns", "node"),
                "--columns: no column 'node'; available: quota, used, limit, free, unit",
            ),
            (("costs", "--plot", "--columns", "hour"), "--plot requires --output table, without --query or --columns"),
            (("costs", "--plot", "--query", "hour"), "--plot requires --output table, without --query or --columns"),
            (
                ("costs", "export", "--month", "2026-01", "--query", "a"),
                "export prints CSV only: remove --output, --query",
            ),
            (("costs", "export", "--month", "2026-01", "--columns", "a"), "export prints CSV only: remove --output, "),
            (("call", "GetNews", "--columns", "date"), "unknown option --columns"),
            (("usage", "--watch", "-o", "yaml"), "--watch requires --output json, or a terminal"),
        ],
    )
    def test_invalid_selection_is_a_usage_error(
        self, demo_user: CliUser, arguments: tuple[str, ...], message: str
    ) -> None:
        done = demo_user.run(*arguments)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"cloudconsole: {message}")
        assert done.err.count("\n") == 1

    @pytest.mark.parametrize(
        ("output", "arguments", "shown"),
        [
            ("csv", ("--query", "[0].type"), "URL目录\n"),
            ("yaml", ("--query", "[0].type"), '"URL目录"\n'),
            ("json", ("--columns", "type"), "type\nURL目录\n"),
            ("csv", ("--columns", "type"), "type\nURL目录\n"),
        ],
    )
    def test_profile_output_gives_way_to_the_selection(
        self, demo_user: CliUser, server: RunningServer, output: str, arguments: tuple[str, ...], shown: str
    ) -> None:
        profile = f'[profiles.a]\nurl = "{server.base}"\nusername = "demo"\noutput = "{output}"\n'
        demo_user.write_profiles(f'default = "a"\n{profile}')
        done = demo_user.run("urls", *arguments)
        assert (done.code, done.err) == (0, "")
        assert "".join(done.out.splitlines(keepends=True)[: shown.count("\n")]) == shown


class TestColumns:
    @pytest.mark.parametrize(
        ("arguments", "shown"),
        [
            (("costs", "--columns", "hour,res_type"), "hour\tres_type\n1.2714\tinstance\n"),
            (("costs", "--columns", "hour, currency", "-o", "csv"), "hour,currency\n1.2714,CNY\n"),
            (("costs", "--columns", "kind,month"), "kind\tmonth\ninstances\t915.408\n"),
            (("flavors", "--columns", "cores,RAM", "-o", "csv"), "cores,RAM\n1,512\n"),
            (("profile", "list", "--columns", "name"), "name\n"),
            (("profile", "list", "--query", "length(@)"), "0\n"),
            (("costs", "--columns", "hour", "-o", "markdown"), "| hour |\n| --- |\n| 1.2714 |\n"),
            (("domain", "206814", "--columns", "domainId"), "domainId\n206814\n"),
            (("estimate", "--volume", "3", "--columns", "hour"), "hour\n0.00126\n"),
            (("costs", "--by", "kind", "--columns", "res_type"), "res_type\ninstance\n"),
        ],
    )
    def test_columns_have_two_names(self, demo_user: CliUser, arguments: tuple[str, ...], shown: str) -> None:
        done = demo_user.run(*arguments)
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith(shown)

    def test_selected_columns_have_no_total(self, demo_user: CliUser) -> None:
        assert len(demo_user.run("costs", "--columns", "res_type").out.splitlines()) == 1 + 3


class TestActions:
    def test_actions_are_listed_without_a_login(self, cli_user: CliUser, server: RunningServer) -> None:
        listed = cli_user.json("actions", "--url", server.base, "-o", "json")
        assert [(each["action"], each["extension"]) for each in listed] == [
            *((action.name, False) for action in ACTIONS),
            *((action.name, True) for action in EXTENSIONS),
        ]
        assert "GetNews\t否\t服务商发布的公告" in cli_user.run("actions", "--url", server.base, "--lang", "zh").out
        assert not cli_user.sessions_file.exists()

    def test_console_that_lists_no_actions(self, cli_user: CliUser) -> None:
        with ScriptedServer() as scripted:
            done = cli_user.run("actions", "--url", scripted.base)
            assert (done.code, done.err) == (1, f"cloudconsole: {scripted.base} does not list its actions\n")


class TestWatch:
    @pytest.fixture
    def guest(self, cli_user: CliUser) -> CliUser:
        account = {"USERNAME": "guest", "PASSWORD": PASSWORD, "REGION": "r"}
        cli_user.variables = {f"CLOUDCONSOLE_{name}": value for name, value in account.items()}
        return cli_user

    @pytest.mark.parametrize("selection", [("-o", "json"), ("--query", "@")])
    def test_watch_in_a_pipe_prints_one_line_each_time(self, guest: CliUser, selection: tuple[str, ...]) -> None:
        with ScriptedServer() as scripted:
            scripted.rule = lambda _: envelope({"a": [1]})
            environment = clean_environment(**guest.environment())
            arguments = ["usage", "--url", scripted.base, "--watch", "0.5", *selection]
            command = ForkedProcess(arguments, environment, guest.home, stdout=-1, stderr=-1)
            assert command.stdout
            assert command.stderr
            assert [json.loads(command.stdout.readline()) for _ in range(2)] == [{"a": [1]}] * 2
            scripted.rule = lambda _: LOST
            assert command.stderr.readline().startswith(f"cloudconsole: cannot reach {scripted.base}: ")
            scripted.rule = lambda _: envelope({"a": [2]})
            while (line := command.stdout.readline()) != '{"a":[2]}\n':
                assert json.loads(line) == {"a": [1]}
            command.send_signal(signal.SIGINT)
            with command:
                assert command.wait() == 130
