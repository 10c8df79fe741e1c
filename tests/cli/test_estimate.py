"""`cloudconsole estimate`: flags, files and Terraform plans; exit 1 unless everything fits and has a price."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cloudconsole.cli.terraform_plans import read_plan
from tests.cli.users import CliUser

INSTANCE, VOLUME = "openstack_compute_instance_v2", "openstack_blockstorage_volume_v3"
BALANCER, FLOATING_IP = "openstack_lb_loadbalancer_v2", "openstack_networking_floatingip_v2"


def change(kind: str, after: Any, before: Any = None, *actions: str) -> dict[str, Any]:
    default = ["update"] if before and after else ["create"] if after else ["delete"]
    return {
        "address": f"{kind}.a",
        "mode": "managed",
        "type": kind,
        "change": {"actions": list(actions) or default, "before": before, "after": after},
    }


def plan(*changes: dict[str, Any]) -> dict[str, Any]:
    return {"format_version": "1.2", "terraform_version": "1.9.0", "resource_changes": list(changes)}


DISK = {"source_type": "image", "destination_type": "volume", "volume_size": 40, "volume_type": "ssd"}
ATTACHED = {"source_type": "volume", "destination_type": "volume", "uuid": "x"}
LOCAL = {"source_type": "image", "destination_type": "local"}


@pytest.mark.parametrize(
    ("changes", "items"),
    [
        (
            [change(INSTANCE, {"flavor_name": "m1", "flavor_id": None})] * 2,
            [{"res_type": "instance", "flavor": "m1", "count": 2}],
        ),
        (
            [change(INSTANCE, {"flavor_id": "7", "region": "hk-1"})],
            [{"res_type": "instance", "flavor": "7", "region": "hk-1", "count": 1}],
        ),
        (
            [change(INSTANCE, {"flavor_id": "7", "block_device": [DISK, ATTACHED, LOCAL]})],
            [
                {"res_type": "instance", "flavor": "7", "count": 1},
                {"res_type": "volume", "size": 40, "type": "ssd", "count": 1},
            ],
        ),
        (
            [change(VOLUME, {"size": 20}, {"size": 10})],
            [{"res_type": "volume", "size": 10, "count": -1}, {"res_type": "volume", "size": 20, "count": 1}],
        ),
        ([change(VOLUME, {"size": 20}, {"size": 20}, "delete", "create")], []),
        ([change(VOLUME, None, {"size": 20})], [{"res_type": "volume", "size": 20, "count": -1}]),
        ([change(VOLUME, {"size": 20}, {"size": 20}, "no-op")], []),
        ([change(VOLUME, None, {"size": 20}, "forget")], []),
        (
            [change(VOLUME, {"size": 20}, {"size": 10}, "create", "forget")],
            [{"res_type": "volume", "size": 20, "count": 1}],
        ),
        (
            [change(INSTANCE, {"flavor_id": "2", "flavor_name": "old"}, {"flavor_id": "1", "flavor_name": "old"})],
            [{"res_type": "instance", "flavor": "1", "count": -1}, {"res_type": "instance", "flavor": "2", "count": 1}],
        ),
        (
            [change(INSTANCE, {"flavor_id": "1", "flavor_name": "new"}, {"flavor_id": "1", "flavor_name": "old"})],
            [
                {"res_type": "instance", "flavor": "1", "count": -1},
                {"res_type": "instance", "flavor": "new", "count": 1},
            ],
        ),
        ([change(INSTANCE, {"flavor_id": "1", "name": "b"}, {"flavor_id": "1", "block_device": [DISK]})], []),
        (
            [change(INSTANCE, None, {"flavor_id": "1", "block_device": [DISK]})],
            [{"res_type": "instance", "flavor": "1", "count": -1}],
        ),
        (
            [change(INSTANCE, None, {"flavor_id": "1", "block_device": [DISK | {"delete_on_termination": True}]})],
            [
                {"res_type": "instance", "flavor": "1", "count": -1},
                {"res_type": "volume", "size": 40, "type": "ssd", "count": -1},
            ],
        ),
        ([change(VOLUME, {"size": 20}, {"size": 20, "region": "hk-1"}, "delete", "create")], []),
        ([change(BALANCER, {"vip": "x"})], [{"res_type": "loadbalance", "count": 1}]),
        ([change(FLOATING_IP, {"pool": "x", "region": "r"})], [{"res_type": "floating_ip", "count": 1}]),
        ([change("openstack_networking_network_v2", {"name": "n"})], []),
        ([{**change(INSTANCE, {"flavor_id": "7"}), "mode": "data"}], []),
    ],
)
def test_a_plan_is_what_it_adds_and_removes(changes: list[Any], items: list[Any]) -> None:
    assert read_plan(plan(*changes)) == (items, [])


@pytest.mark.parametrize(
    ("kind", "after", "name"),
    [
        (INSTANCE, {"name": "a"}, "flavor_id"),
        (INSTANCE, {"flavor_id": "1", "block_device": [{**DISK, "volume_size": None}]}, "size"),
        (VOLUME, {"name": "a"}, "size"),
    ],
)
def test_what_is_known_only_after_apply_is_named(kind: str, after: dict[str, Any], name: str) -> None:
    unknown = change(kind, after, {"flavor_id": "7", "size": 7}, "delete", "create")
    read = read_plan(plan(unknown, change(BALANCER, {"vip": "x"})))
    assert read.unknown == [f"{kind}.a: {name} is known only after apply"]
    assert read.items == [{"res_type": "loadbalance", "count": 1}]


def test_volumes_that_are_not_known_yet_are_named() -> None:
    later = change(INSTANCE, {"flavor_id": "1"})
    later["change"]["after_unknown"] = {"block_device": True}
    assert read_plan(plan(later)) == ([], [f"{INSTANCE}.a: block_device is known only after apply"])


def test_a_flavor_that_fits(demo_user: CliUser) -> None:
    done = demo_user.run("estimate", "--flavor", "m1.medium", "--count", "2", "--node", "hk-1", "--hours", "48")
    lines = done.out.splitlines()
    assert (done.code, lines[1]) == (0, "instances\tm1.medium\thk-1\t2\t0.3156\t7.5744\t227.232\t2764.656")
    assert lines[-1].startswith("total\t")
    assert done.err == "cloudconsole: The quotas allow this. Cost of 48 hours: 15.1488 CNY.\n"


def test_a_volume_that_does_not_fit(demo_user: CliUser) -> None:
    done = demo_user.run("estimate", "--volume", "5000")
    assert done.code == 1
    text = "cloudconsole: The quotas do not allow this. Over quota: volume and snapshot storage by 4300 GB.\n"
    assert done.err == text
    chinese = demo_user.run("estimate", "--flavor", "m1.medium", "--count", "200", "--lang", "zh")
    assert chinese.err == "cloudconsole: 配额不足：云主机超出 184，核数超出 349，内存超出 729600 MB。\n"


def test_a_terminal_shows_the_quotas(demo_user: CliUser) -> None:
    terminal = demo_user.open_terminal("estimate", "--volume", "5000", "--hours", "1")
    assert terminal.end() == 1
    assert re.search(r"volume and snapshot storage \(GB\) +700 +5000 +.*4300", terminal.shown)
    assert "storage by 4300 GB. Cost of 1 hour: " in terminal.shown


def test_json_and_csv_are_for_programs(demo_user: CliUser) -> None:
    data = demo_user.json("estimate", "--flavor", "1", "--output", "json")
    assert (data["priced"], data["fits"], data["unknown"]) == (True, True, [])
    heading, line = demo_user.run("estimate", "--flavor", "1", "--output", "csv").out.splitlines()
    assert heading == "res_type,what,region,count,hour,day,month,year,currency"
    assert line.startswith("instance,1,,1,0.0667,")


def test_markdown_is_for_reviews(demo_user: CliUser) -> None:
    lines = demo_user.run("estimate", "--flavor", "1", "--output", "markdown").out.splitlines()
    assert lines[0].startswith("| kind | item | node | count | hour (CNY) |")
    assert lines[1].startswith("| --- | --- | --- | ---: | ---: |")
    assert "| RAM (MB) | 89600 | 512 | 0 |" in lines


def test_a_plan_from_a_file_and_from_standard_input(demo_user: CliUser, tmp_path: Path) -> None:
    content = json.dumps(plan(change(INSTANCE, {"flavor_name": "m1.tiny"}), change(VOLUME, {"name": "later"})))
    (tmp_path / "plan.json").write_text(content)
    from_file = demo_user.run("estimate", tmp_path / "plan.json")
    assert from_file.code == 1
    assert from_file.err.splitlines()[-1] == f"cloudconsole: {VOLUME}.a: size is known only after apply"
    assert demo_user.run("estimate", "-", stdin=content) == from_file


def test_a_plan_without_changes_costs_nothing(demo_user: CliUser) -> None:
    for empty in (plan(), {"format_version": "1.2", "planned_values": {"root_module": {}}}):
        done = demo_user.run("estimate", "-", stdin=json.dumps(empty))
        assert (done.code, done.out) == (0, "nothing to estimate\n")


@pytest.mark.parametrize("wrapped", [False, True])
def test_items_from_a_file(demo_user: CliUser, wrapped: bool) -> None:
    items = [{"res_type": "loadbalance", "region": "sg-1"}]
    done = demo_user.run("estimate", "-", stdin=json.dumps({"items": items} if wrapped else items))
    assert (done.code, "load balancers\t\tsg-1\t1\t0.097\t" in done.out) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "problem"),
    [
        ((), "", 2, "give a FILE, or --flavor or --volume"),
        (("-", "--flavor", "1"), "[]", 2, "give a FILE, or --flavor or --volume"),
        (("no-such-file",), "", 2, "no-such-file: No such file or directory"),
        (("-",), "{", 2, "-: not JSON"),
        (("-",), "[" * 5000, 2, "-: not JSON"),
        (("-",), "5", 2, "-: must be a list of items, as in GetEstimate, or a Terraform plan"),
        (("-",), '{"values": {}}', 2, "-: must be a list of items, as in GetEstimate, or a Terraform plan"),
        (("-",), '{"resource_changes": [5]}', 2, "-: not a Terraform plan"),
        (("-",), '{"resource_changes": [{"change": {"actions": 5}}]}', 2, "-: not a Terraform plan"),
        (("--flavor", "no"), "", 1, "--flavor: there is no flavor 'no'; cloudconsole flavors lists them\n"),
        (("--flavor", "1", "--node", "no"), "", 1, "--node: there is no node 'no'; nodes with prices of their own: "),
        (("-",), '[{"res_type": "volume", "size": 1, "region": "no"}]', 1, "items[0].region: there is no node 'no'."),
        (("-",), '[{"res_type": "volume", "size": "1"}]', 1, "The field 'items[0].size' must be a whole number."),
        (("-",), '[{"res_type": "keypair"}]', 1, "The field 'items[0].res_type' cannot be 'keypair'."),
        (
            ("-",),
            '[{"res_type": "volume", "size": 1, "cuont": 2}]',
            2,
            "-: items[0]: unknown field 'cuont' (did you mean count?)",
        ),
        (("--volume", "x"), "", 2, "must be an integer of at least 1"),
        (("--flavor", "1", "--count", "0"), "", 2, "must be an integer of at least 1"),
    ],
)
def test_invalid_input_is_one_line(
    demo_user: CliUser, arguments: tuple[str, ...], stdin: str, code: int, problem: str
) -> None:
    done = demo_user.run("estimate", *arguments, stdin=stdin)
    assert (done.code, done.out) == (code, "")
    assert problem in done.err
