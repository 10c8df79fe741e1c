"""The dump of the empty databases: which ports and regions it is for is settled when it is read in."""

import dataclasses
import re

import pytest
from lab.dump import Dump
from lab.plan import REGIONS, Plan, region_databases

from lab import dump


@pytest.fixture(scope="module")
def kept() -> Dump:
    found = Dump.read(dump.KEPT)
    assert found is not None
    return found


def test_the_kept_dump_is_of_the_locked_services(kept: Dump) -> None:
    assert kept.fits, "requirements/lab.txt changed: make the dump anew with `python -m lab dump`"


def test_a_dump_of_other_services_does_not_fit(kept: Dump) -> None:
    assert not dataclasses.replace(kept, requirements="0" * 64).fits


def test_addresses_are_left_open_and_filled_with_another_labs(plan: Plan) -> None:
    sql = f"http://127.0.0.1:{plan.ports['keystone']}/v3 http://127.0.0.1:{plan.ports['RegionTwo/nova-api']}/v2.1".encode()
    opened = dump.opened(plan, sql)
    assert opened == b"http://@keystone@/v3 http://@RegionTwo/nova-api@/v2.1"
    other = dataclasses.replace(plan, ports={name: port + 1 for name, port in plan.ports.items()})
    assert dump.filled(other, opened) == b" ".join(
        f"http://127.0.0.1:{plan.ports[name] + 1}{path}".encode()
        for name, path in (("keystone", "/v3"), ("RegionTwo/nova-api", "/v2.1"))
    )


def test_the_kept_dump_has_no_address_of_the_lab_that_made_it(kept: Dump) -> None:
    for sql in (kept.keystone, kept.region):
        assert re.search(rb"127\.0\.0\.1:\d", sql) is None
        assert b"/tmp/" not in sql


def test_all_that_the_kept_dump_leaves_open_is_filled(kept: Dump, plan: Plan) -> None:
    for region in REGIONS:
        sql = dump.for_region(plan, kept, region)
        assert re.findall(rb"@[a-zA-Z/-]+@", sql) == []
        made = re.findall(r"CREATE DATABASE .*?`(\w+)`", sql.decode())
        assert sorted(made) == sorted(region_databases(region))
    assert re.findall(rb"@[a-zA-Z/-]+@", dump.filled(plan, kept.keystone)) == []


def test_what_a_single_region_lacks_is_taken_out_of_the_catalogue(kept: Dump, plan: Plan) -> None:
    alone = dataclasses.replace(plan, regions=REGIONS[:1])
    statements = dump.statements(alone, kept)
    assert b"DELETE FROM keystone.endpoint WHERE region_id = 'RegionTwo'" in statements
    assert b"regiontwo_nova" not in statements
    assert b"DELETE FROM" not in dump.statements(plan, kept)


def test_a_dump_is_written_and_read_back(kept: Dump, plan: Plan) -> None:
    assert Dump.read(plan.folder / "dump") is None
    kept.write(plan.folder / "dump")
    assert Dump.read(plan.folder / "dump") == kept
