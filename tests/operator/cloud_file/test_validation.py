"""A load is held to the rules of single changes: the quotas, what is disabled, and that an operator can log in."""

import re
from pathlib import Path

import pytest
from sqlalchemy import Engine

from cloudconsole.operator.cloud_file import dump
from cloudconsole.operator.errors import OperatorError, OverridableError
from tests.operator.clouds import HEAD, SECRET_HASH, contents, load_text
from tests.operator.transactions import last_line


def cloud(*sizes: int, gigabytes: int = 10, volumes: int = -1, more: str = "") -> str:
    """A tenant with volumes of these sizes."""
    volume = "{{id: v-{}, kind: volume, name: v, node: hk-1, size: {}, started: 2026-01-01}}"
    listed = ", ".join(volume.format(place, size) for place, size in enumerate(sizes))
    quotas = f"{{gigabytes: {gigabytes}, volumes: {volumes}}}"
    return f"{HEAD}tenants:\n  - {{name: t1, quotas: {quotas}, resources: [{listed}]}}\n{more}"


def operators(*fields: str) -> str:
    """A tenant `ops` with an account for each of these."""
    accounts = (f'{{username: u{at}, password_hash: "{SECRET_HASH}", {more}}}' for at, more in enumerate(fields))
    return f"version: 1\ntenants:\n  - {{name: ops, accounts: [{', '.join(accounts)}]}}\n"


OPERATOR = "role: operator"
"""An account who can log in as one."""


def refuse(engine: Engine, folder: Path, text: str, words: str) -> None:
    before = contents(engine)
    with pytest.raises(OverridableError, match=f"^{re.escape(words)}$"):
        load_text(engine, folder, text)
    assert contents(engine) == before


def test_a_file_may_use_its_quotas_up(engine: Engine, tmp_path: Path) -> None:
    assert load_text(engine, tmp_path, cloud(4, 6, volumes=2)).changed


def test_a_first_load_over_quota_is_refused_with_the_figures(engine: Engine, tmp_path: Path) -> None:
    words = "the tenant t1 is over quota (volumes: 0 of 1 in use, 2 more requested; "
    words += "gigabytes: 0 of 10 in use, 11 more requested)"
    refuse(engine, tmp_path, cloud(5, 6, volumes=1), words)


def test_each_tenant_that_is_over_quota_is_named(engine: Engine, tmp_path: Path) -> None:
    key = "{id: k-1, kind: keypair, name: k, started: 2026-01-01}"
    other = f"  - {{name: t2, quotas: {{keypairs: 0}}, resources: [{key}]}}\n"
    words = "the tenant t1 is over quota (gigabytes: 0 of 10 in use, 11 more requested); "
    words += "the tenant t2 is over quota (keypairs: 0 of 0 in use, 1 more requested)"
    refuse(engine, tmp_path, cloud(11, more=other), words)


def test_what_the_load_adds_or_lets_grow_is_held_to_the_quotas_of_the_file(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, cloud(4, 6))
    over = "the tenant t1 is over quota (gigabytes: {} of 10 in use, {} more requested)"
    refuse(engine, tmp_path, cloud(4, 6, 3), over.format(10, 3))
    refuse(engine, tmp_path, cloud(4, 7), over.format(10, 1))
    assert load_text(engine, tmp_path, cloud(4, 7, 3, gigabytes=14)).changed


def test_what_goes_in_the_same_load_makes_room(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, cloud(4, 6))
    assert load_text(engine, tmp_path, cloud(10)).changed
    assert load_text(engine, tmp_path, cloud(1, 9)).changed


def test_a_lowered_quota_leaves_what_is_there(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, cloud(4, 6))
    assert load_text(engine, tmp_path, cloud(4, 6, gigabytes=5)).changed
    assert load_text(engine, tmp_path, cloud(4, 5, gigabytes=5)).changed


def test_the_dump_of_a_store_over_quota_loads_into_it(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, cloud(11), force=True)
    text = dump(engine)
    assert not load_text(engine, tmp_path, text).changed
    assert load_text(engine, tmp_path, text.replace("name: v,", "name: renamed,")).changed


def test_one_that_has_ended_takes_nothing_until_its_end_is_taken_back(engine: Engine, tmp_path: Path) -> None:
    ended = cloud(11).replace("started: 2026-01-01", "started: 2026-01-01, ended: 2026-02-01")
    load_text(engine, tmp_path, ended)
    refuse(engine, tmp_path, cloud(11), "the tenant t1 is over quota (gigabytes: 0 of 10 in use, 11 more requested)")


def test_one_that_comes_from_another_tenant_is_new_here(engine: Engine, tmp_path: Path) -> None:
    other = "  - {name: t2, quotas: {gigabytes: 0}}\n"
    load_text(engine, tmp_path, cloud(10, more=other))
    moved = cloud(10, more="  - {name: t1, quotas: {gigabytes: 0}}\n").replace("name: t1", "name: t2", 1)
    swapped = moved.replace("gigabytes: 10", "gigabytes: 9", 1)
    refuse(engine, tmp_path, swapped, "the tenant t2 is over quota (gigabytes: 0 of 9 in use, 10 more requested)")
    assert load_text(engine, tmp_path, moved).changed


def test_a_forced_load_goes_over_quota_and_is_noted_as_forced(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, cloud(11), force=True)
    line = last_line(engine)
    assert (line["change"], line["subject"]) == ("load (forced)", "cloud.yaml")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("version: 1\n", id="removed"),
        pytest.param(operators("role: tenant"), id="role"),
        pytest.param(operators("role: operator, disabled: true"), id="disabled"),
        pytest.param(operators(OPERATOR).replace("name: ops", "name: ops, disabled: true"), id="tenant-disabled"),
    ],
)
def test_a_load_that_leaves_no_operator_who_can_log_in_is_refused(engine: Engine, tmp_path: Path, text: str) -> None:
    load_text(engine, tmp_path, operators(OPERATOR))
    refuse(engine, tmp_path, text, "this leaves no operator who can log in (u0 can now): keep one")
    assert load_text(engine, tmp_path, text, force=True).changed


def test_a_load_may_replace_the_operator_by_another(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, operators(OPERATOR))
    assert load_text(engine, tmp_path, operators("role: tenant", OPERATOR)).changed


def test_where_no_operator_can_log_in_a_load_need_not_bring_one(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, operators("role: operator, disabled: true"))
    assert load_text(engine, tmp_path, "version: 1\n").changed


def places(*resources: str, disabled: str = "", nodes: str = "", other: str = "") -> str:
    """Tenants t1, which may be disabled, and t2, with resources; and which nodes are disabled."""
    own, others = (
        ", ".join(f"{{{one}, started: 2026-01-01}}" for one in part) for part in (resources, [other] * bool(other))
    )
    tenants = f"  - {{name: t1, {disabled}resources: [{own}]}}\n  - {{name: t2, resources: [{others}]}}\n"
    return f"{HEAD}disabled_nodes: [{nodes}]\ntenants:\n{tenants}"


SHUT = "disabled: true, "
KEY = "id: k-1, kind: keypair, name: k"
SECOND_KEY = "id: k-2, kind: keypair, name: k"
VOLUME = "id: v-1, kind: volume, name: v, size: 1, node: hk-1"
SECOND_VOLUME = "id: v-2, kind: volume, name: v, size: 1, node: hk-1"
FIX = "enable it in the file, or remove them"
NO_TENANT = f"the tenant t1 is disabled and accepts no new resources, such as k-2: {FIX}"
NO_NODE = f"the node hk-1 is disabled and accepts no new resources, such as v-2: {FIX}"


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        pytest.param(places(KEY, disabled=SHUT), places(KEY, SECOND_KEY, disabled=SHUT), NO_TENANT, id="new"),
        pytest.param(
            places(KEY, disabled=SHUT),
            places(KEY, SECOND_KEY, disabled=f"{SHUT}project: p@http://id, "),
            NO_TENANT,
            id="new-with-a-project",
        ),
        pytest.param(
            places(disabled=SHUT, other=SECOND_KEY),
            places(SECOND_KEY, disabled=SHUT),
            NO_TENANT,
            id="from-another-tenant",
        ),
        pytest.param(places(nodes="hk-1"), places(SECOND_VOLUME, nodes="hk-1"), NO_NODE, id="new-on-node"),
        pytest.param(
            places(SECOND_VOLUME.replace("hk-1", "hk-2"), nodes="hk-1"),
            places(SECOND_VOLUME, nodes="hk-1"),
            NO_NODE,
            id="moved-to-node",
        ),
        pytest.param(
            places(disabled=SHUT, nodes="hk-1"),
            places(SECOND_KEY, SECOND_VOLUME, VOLUME, disabled=SHUT, nodes="hk-1"),
            f"{NO_TENANT}; {NO_NODE}",
            id="both",
        ),
    ],
)
@pytest.mark.parametrize("force", [False, True])
def test_what_is_new_where_all_is_disabled_is_refused_even_if_forced(
    engine: Engine, tmp_path: Path, before: str, after: str, words: str, *, force: bool
) -> None:
    load_text(engine, tmp_path, before)
    stored = contents(engine)
    with pytest.raises(OperatorError, match=f"^{re.escape(words)}$") as refusal:
        load_text(engine, tmp_path, after, force=force)
    assert not isinstance(refusal.value, OverridableError)
    assert contents(engine) == stored


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(places(disabled=SHUT), places(KEY), id="tenant-enabled-by-the-file"),
        pytest.param(places(nodes="hk-1"), places(VOLUME), id="node-enabled-by-the-file"),
        pytest.param(places(), places(KEY, disabled=SHUT), id="tenant-disabled-by-the-file"),
        pytest.param(places(), places(VOLUME, nodes="hk-1"), id="node-disabled-by-the-file"),
        pytest.param(
            places(KEY, VOLUME, disabled=SHUT, nodes="hk-1"),
            places(KEY, VOLUME.replace("name: v", "name: w"), disabled=SHUT, nodes="hk-1"),
            id="changed-where-it-is",
        ),
        pytest.param(
            places(VOLUME, nodes="hk-1"), places(VOLUME.replace("hk-1", "hk-2"), nodes="hk-1"), id="moved-away"
        ),
        pytest.param(places(KEY, disabled=SHUT), places(disabled=SHUT, other=KEY), id="to-another-tenant"),
        pytest.param(places(KEY, disabled=SHUT), places(disabled=SHUT), id="removed"),
    ],
)
def test_what_is_disabled_stands_in_the_way_of_nothing_else(
    engine: Engine, tmp_path: Path, before: str, after: str
) -> None:
    load_text(engine, tmp_path, before)
    load_text(engine, tmp_path, after)
    assert not load_text(engine, tmp_path, after).changed


def test_the_dump_of_a_store_with_resources_where_all_is_disabled_loads_anywhere(
    engine: Engine, tmp_path: Path
) -> None:
    load_text(engine, tmp_path, places(KEY, VOLUME, disabled=SHUT, nodes="hk-1"))
    text = dump(engine)
    assert not load_text(engine, tmp_path, text).changed
    load_text(engine, tmp_path, "version: 1\n")
    assert load_text(engine, tmp_path, text).changed
    assert dump(engine) == text
