"""The datasets and measurements of costs over time."""

from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest
from bench.parts.costs import REPORT, constant_part, import_times
from sqlalchemy import select

from bench import billing_dataset, datasets
from cloudconsole.operator import bulk_import
from cloudconsole.store.billing.verification import differences
from cloudconsole.store.sqlite.engine import opened
from cloudconsole.store.tables import billing_entries, monthly_sums, tenants


@pytest.fixture(autouse=True)
def small_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "DIRECTORY", tmp_path)
    monkeypatch.setattr(billing_dataset, "RESOURCES", 200)


def test_the_record_of_a_dataset_agrees_with_its_resources() -> None:
    dataset = billing_dataset.billing_dataset(4)
    with opened(dataset.directory, "cloud") as engine, engine.begin() as connection:
        ids = {row.name: row.id for row in connection.execute(select(tenants.c.name, tenants.c.id))}
        entries = Counter(connection.scalars(select(billing_entries.c.tenant_id)))
        # Only the tenant without a record has resources that are not recorded.
        assert {each.key[0] for each in differences(connection)} == {ids[billing_dataset.UNRECORDED]}
        assert entries[ids[billing_dataset.RECORDED]] == 200 * 11
        assert ids[billing_dataset.UNRECORDED] not in entries
        assert [entries[ids[datasets.tenant_name(index)]] for index in (2, 3)] == [3, 3]
        assert set(connection.scalars(select(monthly_sums.c.tenant_id))) == {ids[billing_dataset.RECORDED]}


@pytest.mark.parametrize(("is_recorded", "calls"), [(True, 3), (False, 0)])
def test_an_import_is_measured_with_or_without_recording(
    is_recorded: bool, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    monkeypatch.setattr(bulk_import, "LINES_PER_TRANSACTION", 5)
    monkeypatch.setattr(bulk_import, "record_added", lambda _connection, rows, *_: found.append(len(rows)))
    with ExitStack() as stack:
        assert len(list(import_times(stack, 2, 3, is_recorded=is_recorded))) == 3
    assert found == [5] * calls


def test_a_new_hour_does_not_make_a_report_wrong() -> None:
    past = b'{"data":[{"bill_month":"2026-10","total":"1.00"},'
    assert constant_part(REPORT, past + b'{"bill_month":"2026-11","total":"0.10"}]}') == past
    assert constant_part("GetNews", past) == past
