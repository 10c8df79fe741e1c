"""Output for programs: JSON as received, CSV, or plain columns."""

import csv
import io
import json
from typing import Any

import pytest

from cloudconsole.cli.output import csv_line
from tests.cli.users import CliUser
from tests.harness import ApiClient, HttpTransport, RunningServer

COMMANDS = {
    ("usage",): "GetUsageLimits",
    ("flavors",): "GetFlavors",
    ("urls",): "GetUrlList",
    ("domain", "206814"): "GetDomainDetail",
    ("news",): "GetNews",
    ("costs",): "GetConsumptionsEstimated",
}
EACH_COMMAND = pytest.mark.parametrize("command", COMMANDS, ids=" ".join)


def data_of(server: RunningServer, action: str) -> Any:
    transport = HttpTransport(server.base)
    client = ApiClient(transport)
    assert client.login().status == 200
    # Actions without this field ignore it.
    data = client.call(action, domainId="206814").data
    transport.close()
    return data


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@EACH_COMMAND
def test_json_is_the_data_as_the_console_sent_it(
    demo_user: CliUser, server: RunningServer, command: tuple[str, ...]
) -> None:
    assert demo_user.json(*command, "--output", "json") == data_of(server, COMMANDS[command])


@EACH_COMMAND
def test_plain_columns_have_no_colour_and_no_borders(demo_user: CliUser, command: tuple[str, ...]) -> None:
    done = demo_user.run(*command)
    assert done.code == 0
    assert not set("\x1b│─━█░") & set(done.out)
    assert len({line.count("\t") for line in done.out.splitlines()}) == 1


@EACH_COMMAND
def test_csv_has_the_same_header_in_every_language(demo_user: CliUser, command: tuple[str, ...]) -> None:
    english = demo_user.run(*command, "--output", "csv")
    chinese = demo_user.run(*command, "--output", "csv", "--lang", "zh")
    assert english == chinese
    assert len({len(row) for row in csv.reader(io.StringIO(english.out))}) == 1


def test_csv_line_round_trips() -> None:
    values = ["a,b", 'a"b', "a\nb", "a\rb", "", " a", "a=1"]
    assert list(csv.reader(io.StringIO(csv_line(values), newline=""))) == [values]


@pytest.mark.parametrize(
    "text", ["=1+1", "+A1", "-A1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1", " =1", "-1+1", "-1=x"]
)
def test_csv_text_is_not_run_as_a_spreadsheet_formula(text: str) -> None:
    ((shown,),) = csv.reader(io.StringIO(csv_line([text]), newline=""))
    assert shown == f"'{text}"


@pytest.mark.parametrize("number", ["-1", "-0.5", "12", "-1E-7"])
def test_a_number_in_csv_stays_a_number(number: str) -> None:
    assert csv_line([number]) == f"{number}\n"


def test_usage_as_csv(demo_user: CliUser) -> None:
    rows = rows_of(demo_user.run("usage", "--output", "csv").out)
    assert rows[2] == {"quota": "ram", "used": "41472", "limit": "131072", "free": "89600", "unit": "MB"}
    assert rows[8] == {"quota": "security_group_rules", "used": "", "limit": "100", "free": "", "unit": ""}


def test_costs_as_csv_are_exact_and_have_no_total(demo_user: CliUser, server: RunningServer) -> None:
    rows = rows_of(demo_user.run("costs", "--output", "csv").out)
    assert rows == [{**item, "currency": "CNY"} for item in data_of(server, "GetConsumptionsEstimated")]


def test_a_domain_as_csv_is_one_row(demo_user: CliUser) -> None:
    (row,) = rows_of(demo_user.run("domain", "206814", "--output", "csv").out)
    assert (row["enabled"], row["serviceAreas"]) == ("false", "cn;hk")
    assert json.loads(row["cacheBehaviors"])[0]["pathPattern"] == "/static/*"


def test_costs_have_a_total_line(demo_user: CliUser) -> None:
    heading, *_, total = demo_user.run("costs").out.splitlines()
    assert heading == "kind\thour (CNY)\tday (CNY)\tmonth (CNY)\tyear (CNY)"
    assert total == "total\t1.5717825\t37.72278\t1131.6834\t13768.8147"


def test_flavors_can_be_filtered_by_cores(demo_user: CliUser) -> None:
    narrowed = demo_user.json("flavors", "--vcpus", "4", "--output", "json")
    assert narrowed["limits"] == {"4": [4096, 8192, 16384]}
    assert narrowed["configs"] == {"vcpus": [4], "ram": [4096, 8192, 16384]}
    assert {flavor["vcpus"] for flavor in narrowed["flavors"]} == {4}


def test_flavors_can_be_filtered_by_ram(demo_user: CliUser) -> None:
    rows = rows_of(demo_user.run("flavors", "--vcpus", "4", "--ram", "8192", "--output", "csv").out)
    assert sorted(row["name"] for row in rows) == ["4C8G0G", "4C8G100G", "4C8G40G", "m1.large"]
    by_ram = rows_of(demo_user.run("flavors", "--ram", "512", "--output", "csv").out)
    assert [row["name"] for row in by_ram] == ["m1.tiny"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--vcpus", "3"), "--vcpus 3: not offered; available: 1, 2, 4, 8, 16"),
        (("--vcpus", "4", "--ram", "512"), "--ram 512: not offered with 4 cores; available: 4096, 8192, 16384"),
        (("--ram", "3"), "--ram 3: not offered; available: 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536"),
        (("--vcpus", "3", "--output", "json"), "--vcpus 3: not offered; available: 1, 2, 4, 8, 16"),
    ],
)
def test_unavailable_size_is_rejected_with_the_available_ones(
    demo_user: CliUser, arguments: tuple[str, ...], message: str
) -> None:
    assert demo_user.run("flavors", *arguments) == (1, "", f"cloudconsole: {message}\n")


def test_a_call_prints_the_data_of_any_action(demo_user: CliUser, server: RunningServer) -> None:
    assert demo_user.json("call", "GetNews") == data_of(server, "GetNews")
    for arguments in (["domainId=206814"], ["--output", "json", "--timeout", "9", "domainId:=206814", "-v"]):
        assert demo_user.json("call", "GetDomainDetail", *arguments) == data_of(server, "GetDomainDetail")


def test_field_text_may_contain_separators(demo_user: CliUser) -> None:
    done = demo_user.run("call", "GetDomainDetail", "domainId=a=b:=c", "-v")
    assert done.code == 1
    assert "error: domain_not_found" in done.err


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (["domainId"], "domainId: must be name=text"),
        (["=x"], "=x: must be name=text"),
        ([":=1"], ":=1: must be name=text"),
        (["a=1", "a=2"], "a: given twice"),
        (["action=GetNews"], "action: given twice"),
        (["a:={"], "a: the value after := is not valid JSON"),
    ],
)
def test_invalid_field_is_rejected(cli_user: CliUser, fields: list[str], message: str) -> None:
    done = cli_user.run("call", "GetNews", *fields)
    assert done.code == 2
    assert done.err.startswith(f"cloudconsole: {message}")


def test_plot_in_a_pipe_has_no_colour(demo_user: CliUser) -> None:
    shown = demo_user.run("costs", "--plot").out
    assert "\x1b" not in shown
    assert "cloud hosts  █" in shown
    assert "total, month: 1131.6834 CNY" in shown
    assert "day = hour × 24, month = day × 30, year = day × 365" in shown


def test_a_plot_can_be_drawn_in_ascii(demo_user: CliUser) -> None:
    shown = demo_user.run("costs", "--plot", PYTHONIOENCODING="ascii").out
    assert "cloud hosts  ####" in shown
    assert "---" in shown


@pytest.mark.parametrize("arguments", [("costs", "--plot"), ("usage", "--watch")])
@pytest.mark.parametrize("output_format", ["json", "csv"])
def test_plot_and_watch_reject_other_output_formats(
    demo_user: CliUser, arguments: tuple[str, ...], output_format: str
) -> None:
    done = demo_user.run(*arguments, "--output", output_format)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1


def test_watch_in_a_pipe_is_rejected(demo_user: CliUser) -> None:
    done = demo_user.run("usage", "--watch")
    assert (done.code, done.out) == (2, "")
