"""A load follows the rules of single changes: quotas, disabled entities, and an operator who can log in."""

import re
from pathlib import Path

import pytest
from sqlalchemy import Engine

from cloudconsole.operator.cloud_file import dump
from cloudconsole.operator.errors import OperatorError, OverridableError
from tests.operator.clouds import HEAD, SECRET_HASH, contents, load_text


def cloud(*sizes: int, gigabytes: int = 10, volumes: int = -1, more: str = "") -> str:
    """Return a cloud file with a tenant that has volumes of these sizes."""
    volume = "{{id: v-{}, kind: volume, name: v, node: hk-1, size: {}, started: 2026-01-01}}"
    listed = ", ".join(volume.format(index, size) for index, size in enumerate(sizes))
    quotas = f"{{gigabytes: {gigabytes}, volumes: {volumes}}}"
    return f"{HEAD}tenants:\n  - {{name: t1, quotas: {quotas}, resources: [{listed}]}}\n{more}"


def operators(*fields: str) -> str:
    """Return a cloud file with a tenant `ops` that has an account with each of these fields."""
    accounts = (f'{{username: u{at}, password_hash: "{SECRET_HASH}", {more}}}' for at, more in enumerate(fields))
    return f"version: 1\ntenants:\n  - {{name: ops, accounts: [{', '.join(accounts)}]}}\n"


OPERATOR = "role: operator"
"""Fields of an account that can log in as operator."""


def assert_rejected(engine: Engine, directory: Path, text: str, message: str) -> None:
    before = contents(engine)
    with pytest.raises(OverridableError, match=f"^{re.escape(message)}$"):
        load_text(engine, directory, text)
    assert contents(engine) == before


EMPTY = "version: 1\n"
OVER = "the tenant {} is over quota ({}: {} of {} in use, {} more requested)"
TWO_QUOTAS = "the tenant t1 is over quota (volumes: 0 of 1 in use, 2 more requested; "
TWO_QUOTAS += "gigabytes: 0 of 10 in use, 11 more requested)"
OTHER = "  - {name: t2, quotas: {keypairs: 0}, resources: [{id: k-1, kind: keypair, name: k, started: 2026-01-01}]}\n"
TWO_TENANTS = f"{OVER.format('t1', 'gigabytes', 0, 10, 11)}; {OVER.format('t2', 'keypairs', 0, 0, 1)}"
ENDED = cloud(11).replace("started: 2026-01-01", "started: 2026-01-01, ended: 2026-02-01")
WITH_T2 = cloud(10, more="  - {name: t2, quotas: {gigabytes: 0}}\n")
MOVED_TO_T2 = cloud(10, more="  - {name: t1, quotas: {gigabytes: 0}}\n").replace("name: t1", "name: t2", 1)
MOVED_OVER_QUOTA = MOVED_TO_T2.replace("gigabytes: 10", "gigabytes: 9", 1)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        pytest.param(EMPTY, cloud(5, 6, volumes=1), TWO_QUOTAS, id="first-load"),
        pytest.param(EMPTY, cloud(11, more=OTHER), TWO_TENANTS, id="two-tenants"),
        pytest.param(cloud(4, 6), cloud(4, 6, 3), OVER.format("t1", "gigabytes", 10, 10, 3), id="added"),
        pytest.param(cloud(4, 6), cloud(4, 7), OVER.format("t1", "gigabytes", 10, 10, 1), id="grown"),
        pytest.param(ENDED, cloud(11), OVER.format("t1", "gigabytes", 0, 10, 11), id="end-removed"),
        pytest.param(WITH_T2, MOVED_OVER_QUOTA, OVER.format("t2", "gigabytes", 0, 9, 10), id="moved"),
    ],
)
def test_load_over_quota_is_rejected(engine: Engine, tmp_path: Path, before: str, after: str, message: str) -> None:
    load_text(engine, tmp_path, before)
    assert_rejected(engine, tmp_path, after, message)


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param([EMPTY, cloud(4, 6, volumes=2)], id="used-up"),
        pytest.param([cloud(4, 6), cloud(4, 7, 3, gigabytes=14)], id="raised-quota"),
        pytest.param([cloud(4, 6), cloud(10), cloud(1, 9)], id="freed-by-the-load"),
        pytest.param([cloud(4, 6), cloud(4, 6, gigabytes=5), cloud(4, 5, gigabytes=5)], id="lowered-quota"),
        pytest.param([WITH_T2, MOVED_TO_T2], id="moved"),
    ],
)
def test_load_that_requests_no_more_than_quota_is_accepted(engine: Engine, tmp_path: Path, texts: list[str]) -> None:
    for text in texts:
        load_text(engine, tmp_path, text)


def test_dump_of_a_store_over_quota_loads_into_it(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, cloud(11), force=True)
    text = dump(engine)
    assert not load_text(engine, tmp_path, text).changed
    assert load_text(engine, tmp_path, text.replace("name: v,", "name: renamed,")).changed


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(EMPTY, id="removed"),
        pytest.param(operators("role: tenant"), id="role"),
        pytest.param(operators("role: operator, disabled: true"), id="disabled"),
        pytest.param(operators(OPERATOR).replace("name: ops", "name: ops, disabled: true"), id="tenant-disabled"),
    ],
)
def test_load_that_leaves_no_active_operator_is_rejected(engine: Engine, tmp_path: Path, text: str) -> None:
    load_text(engine, tmp_path, operators(OPERATOR))
    assert_rejected(engine, tmp_path, text, "this leaves no operator who can sign in (u0 can now): keep one")
    assert load_text(engine, tmp_path, text, force=True).changed


def test_load_may_replace_the_operator(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, operators(OPERATOR))
    assert load_text(engine, tmp_path, operators("role: tenant", OPERATOR)).changed


def test_load_needs_no_operator_if_there_was_none(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, operators("role: operator, disabled: true"))
    assert load_text(engine, tmp_path, EMPTY).changed


def cloud_with(*resources: str, t1: str = "", nodes: str = "", of_t2: str = "") -> str:
    """Return a cloud file with resources of t1, a tenant with these further fields, and of t2; some nodes disabled."""
    own, others = (
        ", ".join(f"{{{one}, started: 2026-01-01}}" for one in part) for part in (resources, [of_t2] * bool(of_t2))
    )
    tenants = f"  - {{name: t1, {t1}resources: [{own}]}}\n  - {{name: t2, resources: [{others}]}}\n"
    return f"{HEAD}disabled_nodes: [{nodes}]\ntenants:\n{tenants}"


OFF = "disabled: true, "
KEY = "id: k-1, kind: keypair, name: k"
KEY_2 = "id: k-2, kind: keypair, name: k"
DISK = "id: v-1, kind: volume, name: v, size: 1, node: hk-1"
DISK_2 = "id: v-2, kind: volume, name: v, size: 1, node: hk-1"
ELSEWHERE = DISK_2.replace("hk-1", "hk-2")
FIX = "enable it in the file, or remove them"
NO_TENANT = f"the tenant t1 is disabled and accepts no new resources, such as k-2: {FIX}"
NO_NODE = f"the node hk-1 is disabled and accepts no new resources, such as v-2: {FIX}"
BOTH_OFF = cloud_with(t1=OFF, nodes="hk-1")
BOTH_OFF_AND_NEW = cloud_with(KEY_2, DISK_2, DISK, t1=OFF, nodes="hk-1")
NEW_AND_PROJECT = cloud_with(KEY, KEY_2, t1=f"{OFF}project: p@http://id, ")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        pytest.param(cloud_with(KEY, t1=OFF), cloud_with(KEY, KEY_2, t1=OFF), NO_TENANT, id="new"),
        pytest.param(cloud_with(KEY, t1=OFF), NEW_AND_PROJECT, NO_TENANT, id="new-with-a-project"),
        pytest.param(cloud_with(t1=OFF, of_t2=KEY_2), cloud_with(KEY_2, t1=OFF), NO_TENANT, id="from-another-tenant"),
        pytest.param(cloud_with(nodes="hk-1"), cloud_with(DISK_2, nodes="hk-1"), NO_NODE, id="new-on-node"),
        pytest.param(cloud_with(ELSEWHERE, nodes="hk-1"), cloud_with(DISK_2, nodes="hk-1"), NO_NODE, id="moved"),
        pytest.param(BOTH_OFF, BOTH_OFF_AND_NEW, f"{NO_TENANT}; {NO_NODE}", id="both"),
    ],
)
@pytest.mark.parametrize("force", [False, True])
def test_new_resource_of_disabled_tenant_or_node_is_rejected(
    engine: Engine, tmp_path: Path, before: str, after: str, message: str, *, force: bool
) -> None:
    load_text(engine, tmp_path, before)
    stored = contents(engine)
    with pytest.raises(OperatorError, match=f"^{re.escape(message)}$") as error:
        load_text(engine, tmp_path, after, force=force)
    assert not isinstance(error.value, OverridableError)
    assert contents(engine) == stored


RENAMED = cloud_with(KEY, DISK.replace("name: v", "name: w"), t1=OFF, nodes="hk-1")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(cloud_with(t1=OFF), cloud_with(KEY), id="tenant-enabled-by-the-file"),
        pytest.param(cloud_with(nodes="hk-1"), cloud_with(DISK), id="node-enabled-by-the-file"),
        pytest.param(cloud_with(), cloud_with(KEY, t1=OFF), id="tenant-disabled-by-the-file"),
        pytest.param(cloud_with(), cloud_with(DISK, nodes="hk-1"), id="node-disabled-by-the-file"),
        pytest.param(cloud_with(KEY, DISK, t1=OFF, nodes="hk-1"), RENAMED, id="changed-where-it-is"),
        pytest.param(cloud_with(DISK_2, nodes="hk-1"), cloud_with(ELSEWHERE, nodes="hk-1"), id="moved-away"),
        pytest.param(cloud_with(KEY, t1=OFF), cloud_with(t1=OFF, of_t2=KEY), id="to-another-tenant"),
        pytest.param(cloud_with(KEY, t1=OFF), cloud_with(t1=OFF), id="removed"),
    ],
)
def test_disabled_tenant_or_node_allows_other_changes(engine: Engine, tmp_path: Path, before: str, after: str) -> None:
    load_text(engine, tmp_path, before)
    load_text(engine, tmp_path, after)
    assert not load_text(engine, tmp_path, after).changed


def test_dump_with_resources_of_disabled_tenants_loads_anywhere(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, cloud_with(KEY, DISK, t1=OFF, nodes="hk-1"))
    text = dump(engine)
    assert not load_text(engine, tmp_path, text).changed
    load_text(engine, tmp_path, EMPTY)
    assert load_text(engine, tmp_path, text).changed
    assert dump(engine) == text
