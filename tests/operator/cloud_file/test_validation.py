"""A load follows the rules of single changes: quotas, disabled entities, and an operator who can log in."""

import re
from pathlib import Path

import pytest
from sqlalchemy import Engine

from cloudconsole.operator.cloud_file import dump
from cloudconsole.operator.errors import OperatorError, OverridableError
from tests.operator.clouds import HEAD, SECRET_HASH, contents, load_text
from tests.operator.transactions import last_entry


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


def test_file_may_use_up_its_quotas(engine: Engine, tmp_path: Path) -> None:
    assert load_text(engine, tmp_path, cloud(4, 6, volumes=2)).changed


def test_first_load_over_quota_is_rejected_with_the_numbers(engine: Engine, tmp_path: Path) -> None:
    message = "the tenant t1 is over quota (volumes: 0 of 1 in use, 2 more requested; "
    message += "gigabytes: 0 of 10 in use, 11 more requested)"
    assert_rejected(engine, tmp_path, cloud(5, 6, volumes=1), message)


def test_each_tenant_over_quota_is_named(engine: Engine, tmp_path: Path) -> None:
    key = "{id: k-1, kind: keypair, name: k, started: 2026-01-01}"
    other = f"  - {{name: t2, quotas: {{keypairs: 0}}, resources: [{key}]}}\n"
    message = "the tenant t1 is over quota (gigabytes: 0 of 10 in use, 11 more requested); "
    message += "the tenant t2 is over quota (keypairs: 0 of 0 in use, 1 more requested)"
    assert_rejected(engine, tmp_path, cloud(11, more=other), message)


def test_added_and_grown_resources_must_fit_the_quotas(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, cloud(4, 6))
    over = "the tenant t1 is over quota (gigabytes: {} of 10 in use, {} more requested)"
    assert_rejected(engine, tmp_path, cloud(4, 6, 3), over.format(10, 3))
    assert_rejected(engine, tmp_path, cloud(4, 7), over.format(10, 1))
    assert load_text(engine, tmp_path, cloud(4, 7, 3, gigabytes=14)).changed


def test_resources_removed_by_the_load_free_their_quota(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, cloud(4, 6))
    assert load_text(engine, tmp_path, cloud(10)).changed
    assert load_text(engine, tmp_path, cloud(1, 9)).changed


def test_lowered_quota_keeps_existing_resources(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, cloud(4, 6))
    assert load_text(engine, tmp_path, cloud(4, 6, gigabytes=5)).changed
    assert load_text(engine, tmp_path, cloud(4, 5, gigabytes=5)).changed


def test_dump_of_a_store_over_quota_loads_into_it(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, cloud(11), force=True)
    text = dump(engine)
    assert not load_text(engine, tmp_path, text).changed
    assert load_text(engine, tmp_path, text.replace("name: v,", "name: renamed,")).changed


def test_ended_resource_counts_again_when_its_end_is_removed(engine: Engine, tmp_path: Path) -> None:
    ended = cloud(11).replace("started: 2026-01-01", "started: 2026-01-01, ended: 2026-02-01")
    load_text(engine, tmp_path, ended)
    assert_rejected(
        engine, tmp_path, cloud(11), "the tenant t1 is over quota (gigabytes: 0 of 10 in use, 11 more requested)"
    )


def test_resource_moved_from_another_tenant_counts_as_new(engine: Engine, tmp_path: Path) -> None:
    other = "  - {name: t2, quotas: {gigabytes: 0}}\n"
    load_text(engine, tmp_path, cloud(10, more=other))
    moved = cloud(10, more="  - {name: t1, quotas: {gigabytes: 0}}\n").replace("name: t1", "name: t2", 1)
    swapped = moved.replace("gigabytes: 10", "gigabytes: 9", 1)
    assert_rejected(
        engine, tmp_path, swapped, "the tenant t2 is over quota (gigabytes: 0 of 9 in use, 10 more requested)"
    )
    assert load_text(engine, tmp_path, moved).changed


def test_forced_load_over_quota_is_recorded_as_forced(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, cloud(11), force=True)
    entry = last_entry(engine)
    assert (entry["change"], entry["subject"]) == ("load (forced)", "cloud.yaml")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("version: 1\n", id="removed"),
        pytest.param(operators("role: tenant"), id="role"),
        pytest.param(operators("role: operator, disabled: true"), id="disabled"),
        pytest.param(operators(OPERATOR).replace("name: ops", "name: ops, disabled: true"), id="tenant-disabled"),
    ],
)
def test_load_that_leaves_no_active_operator_is_rejected(engine: Engine, tmp_path: Path, text: str) -> None:
    load_text(engine, tmp_path, operators(OPERATOR))
    assert_rejected(engine, tmp_path, text, "this leaves no operator who can log in (u0 can now): keep one")
    assert load_text(engine, tmp_path, text, force=True).changed


def test_load_may_replace_the_operator(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, operators(OPERATOR))
    assert load_text(engine, tmp_path, operators("role: tenant", OPERATOR)).changed


def test_load_needs_no_operator_if_there_was_none(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, operators("role: operator, disabled: true"))
    assert load_text(engine, tmp_path, "version: 1\n").changed


def cloud_with(*resources: str, disabled: str = "", nodes: str = "", other: str = "") -> str:
    """Return a cloud file with resources of the tenants t1 (optionally disabled) and t2, and disabled nodes."""
    own, others = (
        ", ".join(f"{{{one}, started: 2026-01-01}}" for one in part) for part in (resources, [other] * bool(other))
    )
    tenants = f"  - {{name: t1, {disabled}resources: [{own}]}}\n  - {{name: t2, resources: [{others}]}}\n"
    return f"{HEAD}disabled_nodes: [{nodes}]\ntenants:\n{tenants}"


DISABLED = "disabled: true, "
KEY = "id: k-1, kind: keypair, name: k"
SECOND_KEY = "id: k-2, kind: keypair, name: k"
VOLUME = "id: v-1, kind: volume, name: v, size: 1, node: hk-1"
SECOND_VOLUME = "id: v-2, kind: volume, name: v, size: 1, node: hk-1"
FIX = "enable it in the file, or remove them"
NO_TENANT = f"the tenant t1 is disabled and accepts no new resources, such as k-2: {FIX}"
NO_NODE = f"the node hk-1 is disabled and accepts no new resources, such as v-2: {FIX}"


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        pytest.param(
            cloud_with(KEY, disabled=DISABLED), cloud_with(KEY, SECOND_KEY, disabled=DISABLED), NO_TENANT, id="new"
        ),
        pytest.param(
            cloud_with(KEY, disabled=DISABLED),
            cloud_with(KEY, SECOND_KEY, disabled=f"{DISABLED}project: p@http://id, "),
            NO_TENANT,
            id="new-with-a-project",
        ),
        pytest.param(
            cloud_with(disabled=DISABLED, other=SECOND_KEY),
            cloud_with(SECOND_KEY, disabled=DISABLED),
            NO_TENANT,
            id="from-another-tenant",
        ),
        pytest.param(cloud_with(nodes="hk-1"), cloud_with(SECOND_VOLUME, nodes="hk-1"), NO_NODE, id="new-on-node"),
        pytest.param(
            cloud_with(SECOND_VOLUME.replace("hk-1", "hk-2"), nodes="hk-1"),
            cloud_with(SECOND_VOLUME, nodes="hk-1"),
            NO_NODE,
            id="moved-to-node",
        ),
        pytest.param(
            cloud_with(disabled=DISABLED, nodes="hk-1"),
            cloud_with(SECOND_KEY, SECOND_VOLUME, VOLUME, disabled=DISABLED, nodes="hk-1"),
            f"{NO_TENANT}; {NO_NODE}",
            id="both",
        ),
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


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(cloud_with(disabled=DISABLED), cloud_with(KEY), id="tenant-enabled-by-the-file"),
        pytest.param(cloud_with(nodes="hk-1"), cloud_with(VOLUME), id="node-enabled-by-the-file"),
        pytest.param(cloud_with(), cloud_with(KEY, disabled=DISABLED), id="tenant-disabled-by-the-file"),
        pytest.param(cloud_with(), cloud_with(VOLUME, nodes="hk-1"), id="node-disabled-by-the-file"),
        pytest.param(
            cloud_with(KEY, VOLUME, disabled=DISABLED, nodes="hk-1"),
            cloud_with(KEY, VOLUME.replace("name: v", "name: w"), disabled=DISABLED, nodes="hk-1"),
            id="changed-where-it-is",
        ),
        pytest.param(
            cloud_with(VOLUME, nodes="hk-1"), cloud_with(VOLUME.replace("hk-1", "hk-2"), nodes="hk-1"), id="moved-away"
        ),
        pytest.param(
            cloud_with(KEY, disabled=DISABLED), cloud_with(disabled=DISABLED, other=KEY), id="to-another-tenant"
        ),
        pytest.param(cloud_with(KEY, disabled=DISABLED), cloud_with(disabled=DISABLED), id="removed"),
    ],
)
def test_disabled_tenant_or_node_allows_other_changes(engine: Engine, tmp_path: Path, before: str, after: str) -> None:
    load_text(engine, tmp_path, before)
    load_text(engine, tmp_path, after)
    assert not load_text(engine, tmp_path, after).changed


def test_dump_with_resources_of_disabled_tenants_loads_anywhere(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, cloud_with(KEY, VOLUME, disabled=DISABLED, nodes="hk-1"))
    text = dump(engine)
    assert not load_text(engine, tmp_path, text).changed
    load_text(engine, tmp_path, "version: 1\n")
    assert load_text(engine, tmp_path, text).changed
    assert dump(engine) == text
