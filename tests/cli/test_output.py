"""Output for programs: JSON as received, CSV, or plain columns; layout of tables within a given width."""

import csv
import io
import json
from typing import Any

import pytest

from cloudconsole.cli.output import Field, Table, print_markdown
from cloudconsole.cli.tables import Bar, Cell, Column, Styled, render
from cloudconsole.spec.csv_lines import csv_line
from tests.cli.users import CliUser
from tests.harness import ApiClient, HttpTransport, RunningServer

COMMANDS = {
    ("usage",): "GetUsageLimits",
    ("flavors",): "GetFlavors",
    ("urls",): "GetUrlList",
    ("domains",): "GetDomains",
    ("prices",): "GetPrices",
    ("domain", "206814"): "GetDomainDetail",
    ("news",): "GetNews",
    ("costs",): "GetConsumptionsEstimated",
}
BARS = [Column("name"), Column("", "bar"), Column("number", "number")]
NUMBER, AMOUNT = Column("n", "number"), Column("amount", "amount")
HALF: list[list[Cell]] = [["x", Bar(0.5), "1"]]
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
def test_markdown_is_one_table(demo_user: CliUser, command: tuple[str, ...]) -> None:
    lines = demo_user.run(*command, "--output", "markdown").out.splitlines()
    assert all(line.startswith("| ") and line.endswith(" |") for line in lines)
    assert set(lines[1]) <= set("|-: ")


def test_markdown_has_no_markup_of_the_console(capsys: pytest.CaptureFixture[str]) -> None:
    print_markdown(Table([Field("a", "a|b", str)], ["<img>", "[x](javascript:y)", "*`_`*"]))
    assert capsys.readouterr().out.splitlines() == [
        "| a\\|b |",
        "| --- |",
        r"| \<img\> |",
        r"| \[x\](javascript:y) |",
        r"| \*\`\_\`\* |",
    ]


class TestCsv:
    @EACH_COMMAND
    def test_csv_has_the_same_header_in_every_language(self, demo_user: CliUser, command: tuple[str, ...]) -> None:
        english = demo_user.run(*command, "--output", "csv")
        chinese = demo_user.run(*command, "--output", "csv", "--lang", "zh")
        assert english == chinese
        assert len({len(row) for row in csv.reader(io.StringIO(english.out))}) == 1

    def test_csv_line_round_trips(self) -> None:
        values = ["a,b", 'a"b', "a\nb", "a\rb", "", " a", "a=1"]
        assert list(csv.reader(io.StringIO(csv_line(values), newline=""))) == [values]

    @pytest.mark.parametrize(
        "text", ["=1+1", "+A1", "-A1", "@SUM(A1)", "\ta", "\ra", "\na", "＝1+1", " =1", "-1+1", "-1=x"]
    )
    def test_csv_text_is_not_run_as_a_spreadsheet_formula(self, text: str) -> None:
        ((shown,),) = csv.reader(io.StringIO(csv_line([text]), newline=""))
        assert shown == f"'{text}"

    @pytest.mark.parametrize("number", ["-1", "-0.5", "12", "-1E-7"])
    def test_a_number_in_csv_stays_a_number(self, number: str) -> None:
        assert csv_line([number]) == f"{number}\n"

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("a;=1", "a;'=1"),
            ("a;=1;b\t@x\n+2", "a;'=1;b\t'@x\n'+2"),
            ("a; -x", "a;' -x"),
            ("\t=1", "'\t'=1"),
            ("\r=1", "'\r'=1"),
            ("\n=1", "'\n'=1"),
            # Its quotation marks are doubled, so that the part begins with an empty quoted text.
            ('a;"=1;', "a;'\"=1;"),
            ("hk;-2;-2.5e3;ov", "hk;-2;-2.5e3;ov"),
            ("-2;ov", "'-2;ov"),
            ("a-b=c;d", "a-b=c;d"),
        ],
    )
    def test_a_part_after_a_separator_is_not_run_as_a_formula_either(self, text: str, expected: str) -> None:
        ((shown,),) = csv.reader(io.StringIO(csv_line([text]), newline=""))
        assert shown == expected

    def test_usage_as_csv(self, demo_user: CliUser) -> None:
        rows = rows_of(demo_user.run("usage", "--output", "csv").out)
        assert rows[2] == {"quota": "ram", "used": "41472", "limit": "131072", "free": "89600", "unit": "MB"}
        assert rows[8] == {"quota": "security_group_rules", "used": "", "limit": "100", "free": "", "unit": ""}

    def test_costs_as_csv_are_exact_and_have_no_total(self, demo_user: CliUser, server: RunningServer) -> None:
        rows = rows_of(demo_user.run("costs", "--output", "csv").out)
        assert rows == [{**item, "currency": "CNY"} for item in data_of(server, "GetConsumptionsEstimated")]

    def test_a_domain_as_csv_is_one_row(self, demo_user: CliUser) -> None:
        (row,) = rows_of(demo_user.run("domain", "206814", "--output", "csv").out)
        assert (row["enabled"], row["serviceAreas"]) == ("false", "cn;hk")
        assert json.loads(row["cacheBehaviors"])[0]["pathPattern"] == "/static/*"


def test_costs_have_a_total_line(demo_user: CliUser) -> None:
    heading, *_, total = demo_user.run("costs").out.splitlines()
    assert heading == "kind\thour (CNY)\tday (CNY)\tmonth (CNY)\tyear (CNY)"
    assert total == "total\t1.5717825\t37.72278\t1131.6834\t13768.8147"


def test_flavors_can_be_filtered_by_cores_and_ram(demo_user: CliUser) -> None:
    narrowed = demo_user.json("flavors", "--vcpus", "4", "--output", "json")
    assert narrowed["limits"] == {"4": [4096, 8192, 16384]}
    assert narrowed["configs"] == {"vcpus": [4], "ram": [4096, 8192, 16384]}
    assert {flavor["vcpus"] for flavor in narrowed["flavors"]} == {4}
    for flags, expected in (
        (("--vcpus", "4", "--ram", "8192"), {"4C8G0G", "4C8G100G", "4C8G40G", "m1.large"}),
        (("--ram", "512"), {"m1.tiny"}),
    ):
        rows = rows_of(demo_user.run("flavors", *flags, "--output", "csv").out)
        assert {row["name"] for row in rows} == expected


def test_a_call_prints_the_data_of_any_action(demo_user: CliUser, server: RunningServer) -> None:
    assert demo_user.json("call", "GetNews") == data_of(server, "GetNews")
    for arguments in (["domainId=206814"], ["--output", "json", "--timeout", "9", "domainId:=206814", "-v"]):
        assert demo_user.json("call", "GetDomainDetail", *arguments) == data_of(server, "GetDomainDetail")


def test_plot_in_a_pipe_has_only_the_numbers(demo_user: CliUser) -> None:
    assert demo_user.run("costs", "--plot").out.splitlines() == [
        "kind\thour (CNY)\t%",
        "instances\t1.2714\t80.9",
        "images\t0.00987\t0.6",
        "volumes\t0.2905125\t18.5",
    ]


def test_one_record_in_a_pipe_has_headings(demo_user: CliUser) -> None:
    headings, values = (line.split("\t") for line in demo_user.run("domain", "206814").out.splitlines())
    assert dict(zip(headings, values, strict=True))["CNAME"] == "img.demo.example.com.cdn.example.net"


def lines(columns: list[Column] | None, rows: list[list[Cell]], width: int, *, ascii_only: bool = False) -> list[str]:
    from rich.console import Console

    console = Console(width=width, no_color=True)
    with console.capture() as captured:
        for table in render(columns, rows, width, ascii_only=ascii_only):
            console.print(table)
    return [line.rstrip() for line in captured.get().splitlines()]


class TestTables:
    @pytest.mark.parametrize(
        ("share", "bar"),
        [
            (0.0, "----------"),
            (0.001, "#---------"),
            (0.5, "#####-----"),
            (0.999, "#########-"),
            (1.0, "##########"),
            (7.0, "##########"),
            (float("inf"), "##########"),
        ],
    )
    def test_bar_is_empty_only_at_zero_and_full_only_at_the_limit(self, share: float, bar: str) -> None:
        (_, line) = lines(BARS, [["x", Bar(share), "1"]], 4 + 2 + 10 + 2 + 6, ascii_only=True)
        assert line == f"x     {bar}       1"

    @pytest.mark.parametrize(
        ("columns", "rows", "width", "shown"),
        [
            # A bar is dropped where it does not fit, and from a record.
            (BARS, HALF, 4 + 2 + 8 + 2 + 6, ["name            number", "x     ████░░░░       1"]),
            (BARS, HALF, 4 + 2 + 7 + 2 + 6, ["name  number", "x          1"]),
            (
                BARS,
                [["x" * 20, Bar(0.5), "1"]],
                6 + 2 + 8,
                ["name    xxxxxxxx", " " * 8 + "xxxxxxxx", " " * 8 + "xxxx", "number  1"],
            ),
            # Where values have no space beside the names, both are folded together.
            (BARS, HALF, 6 + 2 + 3, ["name: x", "number: 1"]),
            (None, [["id", "206814"]], 4, ["id:", "2068", "14"]),
            # Amounts align by decimal point.
            ([AMOUNT], [["1.5"], ["10.25"], ["3"]], 40, ["amount", " 1.5", "10.25", " 3"]),
            # Numbers align right, and wide characters take two columns.
            ([Column("名称"), NUMBER], [["云主机", "1"], ["ab", "22"]], 40, ["名称     n", "云主机   1", "ab      22"]),
            # Empty columns are omitted, but an empty table has headings.
            ([Column("a"), Column("b"), NUMBER], [["1", "", Styled("", "red")], ["2", "", ""]], 40, ["a", "1", "2"]),
            ([Column("a"), Column("", "bar"), NUMBER], [], 40, ["a    n"]),
            # Markup is shown as text.
            ([Column("[b]a[/b]")], [["[red]x[/red]"], [":smile:"]], 40, ["[b]a[/b]", "[red]x[/red]", ":smile:"]),
        ],
    )
    def test_layout(self, columns: list[Column], rows: list[list[Cell]], width: int, shown: list[str]) -> None:
        assert lines(columns, rows, width) == shown
