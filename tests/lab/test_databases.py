"""Dump and restore of the databases."""

import dataclasses
import re

import pytest
from lab.databases import Dump
from lab.plan import REGIONS, Plan, region_databases

from lab import databases


@pytest.fixture(scope="module")
def dump() -> Dump:
    found = Dump.read(databases.DUMP_FOLDER)
    assert found is not None
    return found


def test_the_dump_matches_the_locked_services(dump: Dump) -> None:
    assert dump.is_current, "requirements/lab.txt changed: run `python -m lab dump`"


def test_a_dump_of_other_services_is_not_current(dump: Dump) -> None:
    assert not dataclasses.replace(dump, requirements="0" * 64).is_current


def test_addresses_become_placeholders_and_those_another_labs_addresses(plan: Plan) -> None:
    sql = f"http://127.0.0.1:{plan.ports['keystone']}/v3 http://127.0.0.1:{plan.ports['RegionTwo/nova-api']}/v2.1".encode()
    template = databases.to_placeholders(plan, sql)
    assert template == b"http://@keystone@/v3 http://@RegionTwo/nova-api@/v2.1"
    other = dataclasses.replace(plan, ports={name: port + 1 for name, port in plan.ports.items()})
    assert databases.from_placeholders(other, template) == b" ".join(
        f"http://127.0.0.1:{plan.ports[name] + 1}{path}".encode()
        for name, path in (("keystone", "/v3"), ("RegionTwo/nova-api", "/v2.1"))
    )


def test_the_dump_contains_no_address_of_its_lab(dump: Dump) -> None:
    for sql in (dump.keystone, dump.region):
        assert re.search(rb"127\.0\.0\.1:\d", sql) is None
        assert b"/tmp/" not in sql


def test_all_placeholders_are_replaced(dump: Dump, plan: Plan) -> None:
    for region in REGIONS:
        sql = databases.for_region(plan, dump, region)
        assert re.findall(rb"@[a-zA-Z/-]+@", sql) == []
        created = re.findall(r"CREATE DATABASE .*?`(\w+)`", sql.decode())
        assert sorted(created) == sorted(region_databases(region))
    assert re.findall(rb"@[a-zA-Z/-]+@", databases.from_placeholders(plan, dump.keystone)) == []


def test_a_single_region_has_no_endpoints_of_the_other(dump: Dump, plan: Plan) -> None:
    alone = dataclasses.replace(plan, regions=REGIONS[:1])
    statements = databases.statements(alone, dump)
    assert b"DELETE FROM keystone.endpoint WHERE region_id = 'RegionTwo'" in statements
    assert b"regiontwo_nova" not in statements
    assert b"DELETE FROM" not in databases.statements(plan, dump)


def test_a_dump_is_written_and_read_back(dump: Dump, plan: Plan) -> None:
    assert Dump.read(plan.folder / "dump") is None
    dump.write(plan.folder / "dump")
    assert Dump.read(plan.folder / "dump") == dump
