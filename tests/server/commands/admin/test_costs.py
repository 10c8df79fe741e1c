"""`cloudconsole admin costs export`: columns, tenants and errors."""

import csv
from decimal import Decimal
from io import StringIO

import pytest

from cloudconsole.spec.focus import VERSIONS
from tests.server.commands.conftest import Run


def exported(admin: Run, *options: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(admin("costs", "export", "--month", "2026-10", *options).out)))


def test_focus_and_csv_have_the_same_costs(admin: Run) -> None:
    focus, plain = exported(admin), exported(admin, "--format", "csv")
    assert list(focus[0]) == list(VERSIONS["1.2"])
    assert [row["BilledCost"] for row in focus] == [row["amount"] for row in plain]
    assert {row["ProviderName"] for row in focus} == {"Cloud Console"}
    assert {row["tenant"] for row in plain} == {"demo", "other"}
    for row in plain:
        assert Decimal(row["unit_price"]) * int(row["hours"]) == Decimal(row["amount"])


def test_one_tenant_and_another_provider(admin: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def issuers(*options: str) -> set[tuple[str, str]]:
        rows = exported(admin, "--tenant", "demo", *options)
        return {(row["BillingAccountId"], row["InvoiceIssuerName"]) for row in rows}

    monkeypatch.setenv("CLOUDCONSOLE_PROVIDER", "Example Cloud")
    assert issuers() == {("demo", "Example Cloud")}
    assert issuers("--provider", "Another Cloud") == {("demo", "Another Cloud")}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--month", "2026-13"), "must be a month"),
        (("--month", "2026-1"), "must be a month"),
        (("--month", "9999-12"), "must be a month"),
        (("--month", "2026-10\n"), "must be a month"),
        (("--month", "2026-10", "--provider", ""), "--provider"),
        ((), "--month"),
        (("--month", "2026-10", "--format", "xml"), "--format"),
    ],
)
def test_invalid_options_are_rejected(
    admin: Run, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], message: str
) -> None:
    with pytest.raises(SystemExit):
        admin("costs", "export", *options)
    assert message in capsys.readouterr().err


def test_an_unknown_tenant_is_an_error(admin: Run) -> None:
    done = admin("costs", "export", "--month", "2026-10", "--tenant", "nobody")
    assert (done.code, done.out) == (1, "")
    assert "there is no tenant nobody" in done.err
