"""`cloudconsole costs` over time: periods, groups, the forecast and the export."""

import csv
import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest

from cloudconsole.cli.tenant.cost_history import period_table
from cloudconsole.client import ResourceCost
from tests.cli.users import PASSWORD, CliUser
from tests.client.scripted_server import ScriptedServer, envelope
from tests.harness import RunningServer

PERIOD = ("--from", "2026-10-01", "--to", "2026-10-31")


@pytest.mark.parametrize(
    ("by", "columns"),
    [
        ("kind", ["res_type"]),
        ("node", ["region"]),
        ("resource", ["res_id", "name", "res_type", "region"]),
        ("day", ["day"]),
        ("month", ["month"]),
    ],
)
def test_each_group_adds_up_to_the_month(demo_user: CliUser, by: str, columns: list[str]) -> None:
    bills = json.loads(demo_user.run("call", "GetBillingReportList4NearlyYear").out)
    total = next(bill["total"] for bill in bills if bill["bill_month"] == "2026-10")
    rows = list(csv.DictReader(StringIO(demo_user.run("costs", *PERIOD, "--by", by, "--output", "csv").out)))
    assert list(rows[0]) == [*columns, "amount", "currency"]
    assert sum(Decimal(row["amount"]) for row in rows) == Decimal(total)
    assert len({tuple(row[column] for column in columns) for row in rows}) == len(rows)
    records = json.loads(demo_user.run("costs", *PERIOD, "--by", by, "--output", "json").out)
    assert records == rows
    shown = demo_user.run("costs", *PERIOD, "--by", by).out.splitlines()
    assert len(shown) == len(rows) + 2
    assert Decimal(shown[-1].split("\t")[-1]) == Decimal(total)


def test_kinds_and_nodes_can_be_chosen(demo_user: CliUser) -> None:
    def amounts(*flags: str) -> dict[str, str]:
        records = json.loads(demo_user.run("costs", *PERIOD, *flags, "--output", "json").out)
        return {record["res_type"]: record["amount"] for record in records}

    everything = amounts()
    assert list(everything) == ["instance", "image", "volume"]
    assert amounts("--kind", "volume") == {"volume": everything["volume"]}
    assert amounts("--node", "nowhere") == {}


def test_hours_without_data_are_named() -> None:
    start, end = (datetime(2026, 11, 15, hour, tzinfo=UTC) for hour in (11, 13))
    no_size: dict[str, Any] = {"vcpus": 0, "memory_gb": 0, "size_gb": 0, "unit_price": Decimal(0)}
    no_resource: dict[str, Any] = {"res_id": "", "name": "", "region": "", "correction": "", "billing": False}
    gap = ResourceCost(
        **no_size,
        **no_resource,
        res_type="gap",
        start=start,
        end=end,
        duration=timedelta(),
        amount=Decimal(0),
        month="2026-11",
        raw={},
    )
    table = period_table("day", [gap], "CNY")
    no_data = "no data from 2026-11-15 11:00 to 2026-11-15 13:00"
    assert (table.records, table.notes) == ([], ["no recorded costs in this period", no_data])


def test_the_current_month_is_the_default(demo_user: CliUser) -> None:
    forecast = json.loads(demo_user.run("costs", "forecast", "--output", "json").out)
    records = json.loads(demo_user.run("costs", "--by", "month", "--output", "json").out)
    assert [(record["month"], record["amount"]) for record in records] == [(forecast["month"], forecast["so_far"])]
    headings, values = (line.split("\t") for line in demo_user.run("costs", "forecast").out.splitlines())
    assert dict(zip(headings, values, strict=True))["total (CNY)"] == forecast["total"]


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        (("forecast", "--by", "day"), 2, "use only one of"),
        (("--plot", "--by", "day"), 2, "use only one of"),
        (("--from", "2026-02-30"), 2, "must be a day"),
        (("--by", "week"), 2, "--by"),
        (("--kind", "router"), 2, "--kind"),
        (("--from", "2020-01-01", "--to", "2026-10-01"), 2, "a period has at most 366 days"),
        (("--kind", "total"), 2, "--kind"),
        (("export", "--month", "2026-13"), 2, "--month: must be a month such as 2026-10"),
        (("export",), 2, "export requires --month"),
        (("export", "--month", "2026-10", "--format", "xml"), 2, "--format"),
        (("export", "--month", "2026-10", "--by", "day"), 2, "use only one of"),
        (("export", "--month", "2026-10", "--output", "json"), 2, "export prints CSV only"),
        (("--month", "2026-10"), 2, "--month and --format require export"),
    ],
)
def test_invalid_flags_are_rejected(demo_user: CliUser, flags: tuple[str, ...], code: int, message: str) -> None:
    done = demo_user.run("costs", *flags)
    assert (done.code, done.out) == (code, "")
    assert message in done.err


@pytest.mark.parametrize("options", [(), ("--format", "csv")])
def test_the_export_equals_the_operators(demo_user: CliUser, server: RunningServer, options: tuple[str, ...]) -> None:
    export = ("costs", "export", "--month", "2026-10", *options)
    done = demo_user.run(*export)
    assert (done.code, done.err) == (0, "")
    assert len(done.out.splitlines()) > 3
    data = server.log_file.parent / "data"
    assert done.out == demo_user.run("admin", *export, "--tenant", "demo", "--data", data).out


def test_an_export_is_printed_page_by_page(cli_user: CliUser) -> None:
    page = {"columns": ["name", "amount"], "rows": [["=1+1", "-0.5"]], "next_marker": "x"}
    error = envelope(None, code=400, message="No more.", error="invalid_field")
    with ScriptedServer() as scripted:
        scripted.actions = [envelope(page), envelope(page | {"next_marker": "y"}), error]
        options = ("--url", scripted.base, "--username", "demo", "--region", "http://a/v3")
        done = cli_user.run("costs", "export", "--month", "2026-10", *options, CLOUDCONSOLE_PASSWORD=PASSWORD)
    assert done == (1, "name,amount\n'=1+1,-0.5\n'=1+1,-0.5\n", "cloudconsole: No more.\n")
