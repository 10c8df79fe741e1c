"""Invalid cloud files are rejected as a whole, and every problem is reported with its line and path."""

from collections.abc import Sequence
from datetime import UTC
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from cloudconsole.operator.cloud_file import CloudFileError, FileProblem
from cloudconsole.operator.cloud_file.loader import read_cloud_file
from cloudconsole.operator.errors import OperatorError
from tests.operator.clouds import HEAD, SECRET_HASH, SMALL, contents, load_text, problems_of, write

ACCOUNT = HEAD + "tenants:\n- name: demo\n  accounts:\n  - "
DOMAIN = "{id: 1, name: a, serviceAreas: hk, serviceType: web, cname: c, status: Deployed, "
DOMAINS = HEAD + "tenants:\n- name: demo\n  domains:\n  - " + DOMAIN
RESOURCE = HEAD + "tenants:\n- name: demo\n  resources:\n  - "
VOLUME = "{id: v-1, kind: volume, name: d, node: hk-1, size: 1, started: 2026-01-01}"


def only_problem(directory: Path, text: str | bytes) -> FileProblem:
    (problem,) = problems_of(directory, text)
    return problem


@pytest.mark.parametrize(
    ("text", "line", "path", "message"),
    [
        pytest.param("version: 1\nnodes: [a\n", 3, "", "is not YAML", id="syntax"),
        pytest.param("version: 1\nnews: @x\n", 2, "", "is not YAML", id="stray-character"),
        pytest.param("version: 1\nurls: []\nurls: []\n", 3, "urls", "twice: first on line 2", id="duplicate-key"),
        pytest.param("version: 1\n1: {x: []}\n", 2, "", "not text", id="number-as-key"),
        pytest.param("version: 1\n? [a]\n: 1\n", 2, "", "not text", id="list-as-key"),
        pytest.param("version: 1\nnodes: &n [*n]\n", 2, "nodes[0]", "a value that contains it", id="recursion"),
        pytest.param("version: 1\nnodes: *n\n", 2, "nodes", "is undefined", id="unknown-alias"),
        pytest.param("version: 1\n---\nversion: 1\n", 2, "", "second document", id="two-documents"),
        pytest.param("- version: 1\n", 1, "", "must be a mapping", id="list-at-top"),
        pytest.param("# nothing\n", 1, "", "is empty", id="empty"),
        pytest.param("version: 1\n<<: {nodes: []}\n", 2, "<<", "merge keys", id="merge-key"),
        pytest.param("version: 1\nnodes: !!set {a}\n", 2, "nodes", "tag", id="tag"),
        pytest.param("version: 1\nnodes: [!!binary aaaa]\n", 2, "nodes[0]", "tag", id="scalar-tag"),
        pytest.param(b"version: 1\nnodes: [\xff]\n", 2, "", "UTF-8", id="not-utf-8"),
        pytest.param("version: 1\n\nnodes: [\x07]\n", 3, "", "does not allow", id="bell"),
        pytest.param('version: 1\nnodes: ["\\ud800"]\n', 2, None, "", id="half-character"),
        pytest.param("version: 1\nnodes: " + "[" * 200_000, 2, "nodes[0][0]", "too deeply", id="deep"),
        pytest.param(f"version: 1\nnews: [{'9' * 5000}]\n", 2, "news[0]", "too large", id="endless-number"),
        pytest.param(f"version: 1\nnews: [0x{'f' * 5000}]\n", 2, "news[0]", "too large", id="endless-hexadecimal"),
        pytest.param("version: 1\nnews: [1e99999999999999999999]\n", 2, "news[0]", "too large", id="endless-float"),
    ],
)
def test_unsupported_yaml_is_rejected(
    tmp_path: Path, text: str | bytes, line: int, path: str | None, message: str
) -> None:
    problem = only_problem(tmp_path, text)
    assert problem.line == line
    assert path is None or problem.path in (path, f"'{path}'")
    assert message in problem.message


def test_expansion_of_aliases_is_limited(tmp_path: Path) -> None:
    levels = [
        f"{name}: &{name} [{', '.join(f'*{below}' for _ in range(9))}]"
        for below, name in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    text = "\n".join(["a: &a [lol, lol]", *levels])
    assert any("aliases expand to more than" in problem.message for problem in problems_of(tmp_path, text))


def test_nesting_of_aliases_is_limited(tmp_path: Path) -> None:
    levels = [f"l{level}: &l{level} {'[' * 50}*l{level - 1}{']' * 50}" for level in range(1, 1000)]
    text = "\n".join(["l0: &l0 []", *levels])
    assert any("nested too deeply" in problem.message for problem in problems_of(tmp_path, text))


def test_invalid_key_does_not_hide_other_problems(tmp_path: Path) -> None:
    text = "version: 1\n5: x\nnodes: 5\nnodes: 6\n"
    assert [(problem.line, problem.path) for problem in problems_of(tmp_path, text)] == [
        (2, ""),
        (3, "nodes"),
        (4, "nodes"),
    ]


def test_ordinary_aliases_are_accepted(tmp_path: Path) -> None:
    url = 'url: "https://www.example.com/"'
    first, second = f"id: url-00000001, type: &kind link, {url}", f"id: url-00000002, type: *kind, {url}"
    text = f"version: 1\nurls:\n- {{{first}}}\n- {{{second}}}\n"
    assert problems_of(tmp_path, text) == []


@pytest.mark.parametrize(
    ("text", "line", "path", "message"),
    [
        ("nodes: []\n", 1, "version", "is missing"),
        ("nodes: []\nversion: 2\n", 2, "version", "must be 1"),
        ("version: 1\nnode: []\n", 2, "node", "is unknown: check the spelling or remove it"),
        ("version: 1\nnodes: hk-1\n", 2, "nodes", "must be a list"),
        ("version: 1\nnodes:\n- a\n- 7\n", 4, "nodes[1]", "must be text: put it in quotes"),
        ("version: 1\nnodes:\n- ''\n", 3, "nodes[0]", "must not be empty"),
        ("version: 1\nnodes:\n- null\n", 3, "nodes[0]", "has no value"),
        ("version: 1\ndisabled_nodes: hk-1\n", 2, "disabled_nodes", "must be a list"),
        (
            "version: 1\nnodes: [a]\ndisabled_nodes:\n- b\n",
            4,
            "disabled_nodes[0]",
            "is not listed under nodes in this file",
        ),
        ("version: 1\ntenants:\n- {name: a, disabled: 1}\n", 3, "tenants[0].disabled", "must be true or false"),
        (f"version: 1\nnodes:\n- {'x' * 256}\n", 3, "nodes[0]", "must have at most 255 characters"),
        (
            'version: 1\nnodes: ["a\\tb"]\n',
            2,
            "nodes[0]",
            "must not contain control characters, such as tabs or line breaks",
        ),
        ("version: 1\nflavors: [3]\n", 2, "flavors[0]", "must be a mapping of names to values"),
        (
            "version: 1\nflavors:\n- {id: x1, name: a, vcpus: 1, ram: 1, disk: 0}\n",
            3,
            "flavors[0].id",
            "must be 1 to 64 digits",
        ),
        (
            "version: 1\nflavors:\n- {id: 1, name: a, vcpus: 0, ram: 1, disk: 0}\n",
            3,
            "flavors[0].vcpus",
            "must be at least 1",
        ),
        (
            "version: 1\nflavors:\n- {id: 1, name: a, vcpus: 1, ram: 2147483648, disk: 0}\n",
            3,
            "flavors[0].ram",
            "must be at most 2147483647",
        ),
        (
            "version: 1\nflavors:\n- {id: 1, name: a, vcpus: 1.5, ram: 1, disk: 0}\n",
            3,
            "flavors[0].vcpus",
            "must be a whole number",
        ),
        (
            "version: 1\nflavors:\n- {id: 1, name: a, vcpus: true, ram: 1, disk: 0}\n",
            3,
            "flavors[0].vcpus",
            "must be a whole number",
        ),
        (
            "version: 1\nnews:\n- {id: 1, date: soon, title: a, url: 'https://example.com'}\n",
            3,
            "news[0].date",
            "must be a time, such as 2026-01-31T08:00:00Z",
        ),
        (
            "version: 1\nnews:\n- {id: 1, date: 2026-02-30, title: a, url: 'https://example.com'}\n",
            3,
            "news[0].date",
            "is not a valid date or time",
        ),
        (
            "version: 1\nnews:\n- {id: 1, date: 1969-12-31T23:59:59Z, title: a, url: 'https://example.com'}\n",
            3,
            "news[0].date",
            "must be a time from 1970 to 9999",
        ),
        (
            "version: 1\nnews:\n- {id: 1, date: 2026-02-03, title: a, url: 'ftp://example.com'}\n",
            3,
            "news[0].url",
            "must begin with http:// or https:// and have no spaces",
        ),
        (
            "version: 1\nurls:\n- {id: url-AB, type: link, url: 'https://example.com'}\n",
            3,
            "urls[0].id",
            "must be url- followed by eight lowercase letters or digits, such as url-ab12cd34",
        ),
        (
            "version: 1\nurls:\n- {id: url-ab12cd34, type: page, url: 'https://example.com'}\n",
            3,
            "urls[0].type",
            "must be 'link' or 'directory'",
        ),
        ("version: 1\ntenants:\n- name: a\n  quotas: {core: 1}\n", 4, "tenants[0].quotas.core", None),
        (
            "version: 1\ntenants:\n- name: a\n  quotas: {cores: -2}\n",
            4,
            "tenants[0].quotas.cores",
            "must be at least -1",
        ),
        (
            "version: 1\ntenants:\n- name: a\n  quotas: {cores: 2147483648}\n",
            4,
            "tenants[0].quotas.cores",
            "must be at most 2147483647",
        ),
        (
            DOMAINS + "originConfig: {originIps: [192.0.2.1, 192.0.2.300]}}\n",
            7,
            "tenants[0].domains[0].originConfig.originIps[1]",
            "must be an IP address, such as 192.0.2.1",
        ),
        (DOMAINS + "enabled: yes}\n", 7, "tenants[0].domains[0].enabled", "must be true or false"),
        (DOMAINS + "cacheBehaviors: {}}\n", 7, "tenants[0].domains[0].cacheBehaviors", "must be a list"),
        (RESOURCE + "{id: v-1, kind: disk, name: d, started: 2026-01-01}\n", 7, "tenants[0].resources[0].kind", None),
    ],
)
def test_invalid_field_is_rejected(tmp_path: Path, text: str, line: int, path: str, message: str | None) -> None:
    problem = only_problem(tmp_path, text)
    assert (problem.line, problem.path) == (line, path)
    assert message is None or problem.message == message


@pytest.mark.parametrize(
    ("price", "message"),
    [
        ("cheap", 'must be a number, such as "0.031"'),
        ("true", 'must be a number, such as "0.031"'),
        (".nan", 'must be a number, such as "0.031"'),
        (".inf", 'must be a number, such as "0.031"'),
        ('"1e3"', 'must be a number, such as "0.031"'),
        ("-0.01", "must not be negative"),
        ("0.0000000001", "must not have more than nine decimals"),
        ("1e-999999999", "must not have more than nine decimals"),
        ("9223372036.854775808", "is too large"),
        ("1e999999999", "is too large"),
    ],
)
def test_invalid_price_is_rejected(tmp_path: Path, price: str, message: str) -> None:
    text = f"version: 1\nprices:\n- {{kind: volume, unit: gb, price: {price}, from: 2026-01-01}}\n"
    assert only_problem(tmp_path, text) == (3, "prices[0].price", message)


@pytest.mark.parametrize(
    ("account", "path", "message"),
    [
        ("{username: a, password: secret}", ".password", "use password_hash, or password_file"),
        ("{username: a}", "", "must have password_hash or password_file"),
        (f'{{username: a, password_hash: "{SECRET_HASH}", password_file: f}}', "", "only one of"),
        ("{username: a, password_hash: md5}", ".password_hash", "must be an argon2id hash"),
        ("{username: a, password_file: missing}", ".password_file", "cannot be read: No such file or directory"),
        ("{username: a, password_file: .}", ".password_file", "is not a file"),
        ("{username: a, password_file: empty}", ".password_file", "1 to 1024 characters"),
        ("{username: a, role: operator, password_file: short}", ".password_file", "12 to 1024 characters"),
        ("{username: a, password_file: latin}", ".password_file", "UTF-8"),
        ("{username: a, password_file: endless}", ".password_file", "1 to 1024 characters"),
    ],
)
def test_account_without_a_usable_password_is_rejected(tmp_path: Path, account: str, path: str, message: str) -> None:
    (tmp_path / "f").write_text("secret\n")
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "short").write_text("eleven char\n")
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    (tmp_path / "endless").write_text("x" * 5000)
    problems = problems_of(tmp_path, ACCOUNT + account)
    assert [(problem.line, problem.path) for problem in problems[:1]] == [(7, f"tenants[0].accounts[0]{path}")]
    assert message in problems[0].message


def test_password_never_appears_in_a_problem(tmp_path: Path) -> None:
    text = ACCOUNT + "{username: a, password: hunter2, password_hash: hunter2, role: hunter2x}"
    with pytest.raises(CloudFileError) as error:
        read_cloud_file(write(tmp_path, text), UTC)
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "line", "path", "message"),
    [
        ("version: 1\nnodes:\n- a\n- b\n- a\n", 5, "nodes[2]", "duplicates nodes[0] on line 3"),
        (SMALL.replace("id: 2, name: 2C4G40G", "id: 1, name: 2C4G40G"), 5, "flavors[1].id", "flavors[0].id on line 4"),
        (SMALL.replace("2C4G40G", "m1.tiny"), 5, "flavors[1].name", "flavors[0].name on line 4"),
        (SMALL.replace("node: hk-1, price: 0.0004", "price: 0.0004"), 9, "prices[2]", "prices[1] on line 8"),
        (SMALL.replace("username: bob", "username: ann"), 19, "tenants[0].accounts[1].username", "line 18"),
        (SMALL.replace("url-00000001", "url-ab12cd34"), 21, "tenants[0].urls[0].id", "urls[0].id on line 13"),
        (SMALL.replace("id: v-2", "id: v-1"), 27, "tenants[0].resources[2].id", "line 26"),
        (SMALL.replace("name: other", "name: demo"), 29, "tenants[1].name", "tenants[0].name on line 15"),
        (
            "version: 1\ntenants:\n- {name: a, project: p@https://id.example.com}\n"
            "- {name: b, project: p@https://ID.example.com:443/v3/}\n",
            4,
            "tenants[1].project",
            "tenants[0].project on line 3",
        ),
        (
            "version: 1\nprices:\n- {kind: volume, unit: gb, type: ssd, price: 1, from: 2026-01-01}\n"
            "- {kind: volume, unit: gb, type: ssd, price: 2, from: 2026-01-01}\n",
            4,
            "prices[1]",
            "prices[0] on line 3",
        ),
    ],
)
def test_duplicates_are_rejected(tmp_path: Path, text: str, line: int, path: str, message: str) -> None:
    problem = only_problem(tmp_path, text)
    assert (problem.line, problem.path) == (line, path)
    assert message in problem.message


def test_usernames_and_ids_are_unique_across_tenants(tmp_path: Path) -> None:
    second = SMALL[SMALL.index("    accounts:") : SMALL.index("  - name: other")]
    paths = [problem.path for problem in problems_of(tmp_path, SMALL + second)]
    assert paths == [
        "tenants[1].accounts[0].username",
        "tenants[1].accounts[1].username",
        "tenants[1].urls[0].id",
        "tenants[1].domains[0].id",
        *(f"tenants[1].resources[{index}].id" for index in range(4)),
    ]


@pytest.mark.parametrize(
    ("resource", "field", "message"),
    [
        (VOLUME.replace("hk-1", "hk-9"), "node", "is not listed under nodes"),
        (VOLUME.replace("node: hk-1, ", ""), "node", "must be on a node"),
        (VOLUME.replace("size: 1", "size: 0"), "size", "must be from 1"),
        (VOLUME.replace("size: 1", "size: 1, vcpus: 1"), "vcpus", "does not apply to the kind"),
        (VOLUME.replace("2026-01-01", "2024-12-31"), "started", "volume has no price on this node"),
        (VOLUME.replace("}", ", ended: 2025-12-31}"), "ended", "must not be before its start, 2026-01-01T00:00:00Z"),
        ("{id: k, kind: keypair, name: k, node: hk-1, started: 2026-01-01}", "node", "cannot be on a node"),
        ("{id: i, kind: image, name: i, node: hk-1, size: 1, started: 2026-01-01}", "started", "image has no price"),
    ],
)
def test_invalid_resource_is_rejected(tmp_path: Path, resource: str, field: str, message: str) -> None:
    problem = only_problem(tmp_path, RESOURCE + resource)
    assert (problem.line, problem.path) == (7, f"tenants[0].resources[0].{field}")
    assert message in problem.message


def test_price_with_a_unit_of_another_kind_is_rejected(tmp_path: Path) -> None:
    text = "version: 1\nprices:\n- {kind: instance, unit: gb, price: 1, from: 2026-01-01}\n"
    assert only_problem(tmp_path, text) == (3, "prices[0].unit", "instance is priced by each or vcpu or ram_gb")


@pytest.mark.parametrize(
    ("kind", "unit"),
    [("image", "gb"), ("loadbalance", "each"), ("instance", "vcpu"), ("instance", "ram_gb")],
)
def test_price_with_an_unsupported_type_is_rejected(tmp_path: Path, kind: str, unit: str) -> None:
    text = f"version: 1\nprices:\n- {{kind: {kind}, unit: {unit}, type: x, price: 1, from: 2026-01-01}}\n"
    message = "only instances by each (flavor) and volumes by gb can have a price per type"
    assert only_problem(tmp_path, text) == (3, "prices[0].type", message)


@pytest.mark.parametrize(
    ("project", "message"),
    [
        ('""', "must be a project ID, an @ and"),
        ("b14723e1", "must be a project ID, an @ and"),
        ('"@https://id.example.com"', "must have a project ID of 1 to 64 letters"),
        ("5", "must be text"),
        ("p@id.example.com", "must have the URL of an identity service"),
    ],
)
def test_invalid_project_is_rejected(tmp_path: Path, project: str, message: str) -> None:
    problem = only_problem(tmp_path, f"version: 1\ntenants:\n- name: a\n  project: {project}\n")
    assert (problem.line, problem.path) == (4, "tenants[0].project")
    assert message in problem.message


def test_type_price_does_not_apply_to_resources(tmp_path: Path) -> None:
    typed = INTERDEPENDENT.replace("unit: gb", "unit: gb, type: ssd")
    assert only_problem(tmp_path, typed).path == "tenants[0].resources[0].started"


def test_price_of_an_unknown_node_is_rejected(tmp_path: Path) -> None:
    text = "version: 1\nprices:\n- {kind: volume, unit: gb, node: x, price: 1, from: 2026-01-01}\n"
    assert only_problem(tmp_path, text) == (3, "prices[0].node", "is not listed under nodes in this file")


@pytest.mark.parametrize(
    ("value", "message"), [("2026-01-01", "put it in quotes"), (".nan", "JSON"), ("-.inf", "JSON")]
)
def test_non_json_value_in_a_domain_is_rejected(tmp_path: Path, value: str, message: str) -> None:
    problem = only_problem(tmp_path, DOMAINS + f"\n    cacheBehaviors: [1,\n      {{a: [x, {value}]}}]}}\n")
    assert (problem.line, problem.path) == (9, "tenants[0].domains[0].cacheBehaviors[1].a[1]")
    assert message in problem.message


def test_every_problem_is_listed_at_once(tmp_path: Path) -> None:
    text = """\
version: 3
nodes: [hk-1]
nodes: [hk-1, hk-1]
flavors: nothing
prices:
  - {kind: volume, unit: vcpu, price: 1, from: 2026-01-01}
tenants:
  - name: demo
    quotas: {cores: many}
    accounts:
      - {username: ann}
      - {username: ann, password: x}
      - {username: ann, password_file: missing}
    resources:
      - {id: v-1, kind: volume, name: a, node: hk-1, size: 0, started: 2026-01-01}
      - {id: v-1, kind: volume, name: b, node: hk-7, size: big, started: 2026-01-01}
      - {id: v-1, kind: volume, name: c, node: hk-8, size: 1, started: 2026-01-02, ended: 2026-01-01}
  - {name: demo, colour: red}
"""
    assert [(problem.line, problem.path) for problem in problems_of(tmp_path, text)] == [
        (1, "version"),
        (3, "nodes"),
        (3, "nodes[1]"),
        (4, "flavors"),
        (6, "prices[0].unit"),
        (9, "tenants[0].quotas.cores"),
        (11, "tenants[0].accounts[0]"),
        (12, "tenants[0].accounts[1].password"),
        (12, "tenants[0].accounts[1].username"),
        (13, "tenants[0].accounts[2].password_file"),
        (13, "tenants[0].accounts[2].username"),
        (15, "tenants[0].resources[0].size"),
        (16, "tenants[0].resources[1].id"),
        (16, "tenants[0].resources[1].node"),
        (16, "tenants[0].resources[1].size"),
        (17, "tenants[0].resources[2].ended"),
        (17, "tenants[0].resources[2].id"),
        (17, "tenants[0].resources[2].node"),
        (18, "tenants[1].colour"),
        (18, "tenants[1].name"),
    ]


def test_each_problem_is_printed_with_file_line_and_path(tmp_path: Path) -> None:
    with pytest.raises(CloudFileError) as error:
        read_cloud_file(write(tmp_path, "version: 1\nnodes: [a, a]\nnews: 5\n"), UTC)
    file = tmp_path / "cloud.yaml"
    assert str(error.value).splitlines() == [
        f"{file}:2: nodes[1]: duplicates nodes[0] on line 2",
        f"{file}:3: news: must be a list",
    ]


def test_a_key_cannot_forge_lines_in_the_list(tmp_path: Path) -> None:
    assert only_problem(tmp_path, 'version: 1\n"a\\nb": 1\n').path == r"'a\nb'"


def test_missing_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match=r"nowhere\.yaml cannot be read: No such file or directory"):
        read_cloud_file(tmp_path / "nowhere.yaml", UTC)


def test_rejected_file_changes_nothing(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, SMALL)
    before = contents(engine)
    with pytest.raises(CloudFileError):
        load_text(engine, tmp_path, "version: 1\nnodes: [a, a]\n")
    assert contents(engine) == before


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(("argon2id", "argon2i"), id="other-type"),
        pytest.param(("v=19", "v=16"), id="old-version"),
        pytest.param(("m=19456", "m=131073"), id="too-much-memory"),
        pytest.param(("m=19456", "m=18431"), id="too-little-memory"),
        pytest.param(("t=2", "t=1"), id="too-few-passes"),
        pytest.param(("m=19456", "m=-19456"), id="negative-memory"),
        pytest.param(("t=2", "t=9"), id="too-many-passes"),
        pytest.param(("t=2", "t=0"), id="no-pass"),
        pytest.param(("p=1", "p=9"), id="too-many-lanes"),
        pytest.param(("p=1", "p=\u0661"), id="foreign-digit"),
        pytest.param((SECRET_HASH[-10:], ""), id="truncated"),
        pytest.param((SECRET_HASH[-1], "é"), id="not-ascii"),
    ],
)
def test_unsafe_password_hash_is_rejected(tmp_path: Path, change: tuple[str, str]) -> None:
    account = f'{{username: a, password_hash: "{SECRET_HASH.replace(*change)}"}}'
    problem = only_problem(tmp_path, ACCOUNT + account)
    assert problem.path == "tenants[0].accounts[0].password_hash"
    assert "at least 36 MiB (memory times passes) and at most 64 MiB, 4 passes and 8 lanes" in str(problem)


def locations(directory: Path, text: str) -> list[tuple[int, str]]:
    return [(problem.line, problem.path) for problem in problems_of(directory, text)]


def test_invalid_field_of_an_account_hides_no_other_problem(tmp_path: Path) -> None:
    text = (
        ACCOUNT
        + f"""{{username: ann, password_hash: "{SECRET_HASH}"}}
  - username: ann
    role: boss
    password_file: missing
    colour: red
"""
    )
    assert locations(tmp_path, text) == [
        (8, "tenants[0].accounts[1].username"),
        (9, "tenants[0].accounts[1].role"),
        (10, "tenants[0].accounts[1].password_file"),
        (11, "tenants[0].accounts[1].colour"),
    ]


def test_invalid_field_of_a_resource_hides_no_other_problem(tmp_path: Path) -> None:
    text = (
        RESOURCE
        + f"""{VOLUME}
  - id: v-1
    kind: volume
    node: hk-9
    vcpus: 2
    ram: big
    started: 2024-01-01
    ended: 2023-01-01
"""
    )
    assert locations(tmp_path, text) == [
        (8, "tenants[0].resources[1].id"),
        (8, "tenants[0].resources[1].name"),
        (8, "tenants[0].resources[1].size"),
        (10, "tenants[0].resources[1].node"),
        (11, "tenants[0].resources[1].vcpus"),
        (12, "tenants[0].resources[1].ram"),
        (13, "tenants[0].resources[1].started"),
        (14, "tenants[0].resources[1].ended"),
    ]


def test_tenant_without_a_name_hides_no_problem_inside_it(tmp_path: Path) -> None:
    text = (
        HEAD
        + f"""tenants:
- accounts:
  - {{username: ann, password_file: missing}}
  - {{username: ann}}
  domains:
  - {DOMAIN}enabled: 1, cacheBehaviors: [.nan]}}
  resources:
  - {VOLUME.replace("hk-1", "hk-9")}
- {{name: demo, quotas: {{core: 1, cores: many}}}}
- {{name: demo}}
"""
    )
    assert locations(tmp_path, text) == [
        (5, "tenants[0].name"),
        (6, "tenants[0].accounts[0].password_file"),
        (7, "tenants[0].accounts[1]"),
        (7, "tenants[0].accounts[1].username"),
        (9, "tenants[0].domains[0].cacheBehaviors[0]"),
        (9, "tenants[0].domains[0].enabled"),
        (11, "tenants[0].resources[0].node"),
        (12, "tenants[1].quotas.core"),
        (12, "tenants[1].quotas.cores"),
        (13, "tenants[2].name"),
    ]


def test_two_passwords_are_rejected_even_if_both_are_invalid(tmp_path: Path) -> None:
    text = ACCOUNT + "{username: a, password_hash: md5, password_file: missing}\n"
    assert locations(tmp_path, text) == [
        (7, "tenants[0].accounts[0]"),
        (7, "tenants[0].accounts[0].password_file"),
        (7, "tenants[0].accounts[0].password_hash"),
    ]


VALID = f"""\
version: 1
nodes: [hk-1, hk-2]
flavors:
  - {{id: 1, name: tiny, vcpus: 1, ram: 512, disk: 1}}
  - {{id: 2, name: small, vcpus: 2, ram: 1024, disk: 2}}
prices:
  - {{kind: instance, unit: vcpu, price: 0.031, from: 2026-01-01}}
  - {{kind: volume, unit: gb, node: hk-1, price: 0.0004, from: 2026-01-02}}
  - {{kind: volume, unit: gb, node: hk-2, price: 0.0005, from: 2026-01-03}}
news:
  - {{id: 1, date: 2026-03-01, title: one, url: "https://news.example.com/1"}}
  - {{id: 2, date: 2026-03-02, title: two, url: "https://news.example.com/2"}}
urls:
  - {{id: url-00000001, type: link, url: "https://www.example.com/"}}
tenants:
  - name: demo
    quotas: {{instances: 20, cores: -1}}
    accounts:
      - {{username: ann, role: operator, password_file: ann-file}}
      - {{username: bob, role: tenant, disabled: false, password_file: bob-file}}
      - {{username: cat, password_hash: "{SECRET_HASH}"}}
    urls:
      - {{id: url-00000002, type: directory, url: "https://files.example.com/"}}
    domains:
      - {DOMAIN}enabled: true, cacheBehaviors: [{{a: b}}], originConfig: {{originIps: [192.0.2.1]}}}}
    resources:
      - {{id: i-1, kind: instance, name: web, node: hk-1, vcpus: 3, ram: 4000, disk: 40, started: 2026-02-03}}
      - {{id: v-1, kind: volume, name: data, node: hk-1, size: 100, started: 2026-02-04, ended: 2026-02-05}}
      - {{id: s-1, kind: snapshot, name: copy, node: hk-2, size: 10, started: 2026-02-06, ended: 2026-02-07}}
  - name: other
    resources:
      - {{id: k-1, kind: keypair, name: laptop, started: 2026-02-08}}
  - {{name: third, urls: []}}
"""


class Fault(NamedTuple):
    good: str
    bad: str
    path: str

    @property
    def location(self) -> tuple[int, str]:
        return VALID.count("\n", 0, VALID.index(self.good)) + 1, self.path


FAULTS = (
    Fault("version: 1", "version: 2", "version"),
    Fault("name: tiny", "name: 5", "flavors[0].name"),
    Fault("id: 2, name: small", "id: 1, name: small", "flavors[1].id"),
    Fault("vcpus: 2, ram: 1024", "vcpus: 0, ram: 1024", "flavors[1].vcpus"),
    Fault("price: 0.031", "price: cheap", "prices[0].price"),
    Fault("unit: gb, node: hk-1", "unit: gb, node: hk-8", "prices[1].node"),
    Fault("price: 0.0004", "price: -1", "prices[1].price"),
    Fault("unit: gb, node: hk-2", "unit: each, node: hk-2", "prices[2].unit"),
    Fault("from: 2026-01-03", "from: soon", "prices[2].from"),
    Fault("title: one", "title: ''", "news[0].title"),
    Fault("id: 2, date", "id: 1, date", "news[1].id"),
    Fault("date: 2026-03-02", "date: 2026-02-30", "news[1].date"),
    Fault("id: url-00000002", "id: url-00000001", "tenants[0].urls[0].id"),
    Fault("type: directory", "type: page", "tenants[0].urls[0].type"),
    Fault("instances: 20", "instances: few", "tenants[0].quotas.instances"),
    Fault("cores: -1", "core: -1", "tenants[0].quotas.core"),
    Fault("role: operator", "role: boss", "tenants[0].accounts[0].role"),
    Fault("ann-file", "missing", "tenants[0].accounts[0].password_file"),
    Fault("username: bob", "username: ann", "tenants[0].accounts[1].username"),
    Fault("role: tenant", "colour: red", "tenants[0].accounts[1].colour"),
    Fault("disabled: false", "disabled: 0", "tenants[0].accounts[1].disabled"),
    Fault("password_file: bob-file", "password_file: [bob]", "tenants[0].accounts[1].password_file"),
    Fault("username: cat", "username: *cat", "tenants[0].accounts[2].username"),
    Fault("password_hash: ", "password: ", "tenants[0].accounts[2].password"),
    Fault("enabled: true", "enabled: 1", "tenants[0].domains[0].enabled"),
    Fault("{a: b}", "{a: .nan}", "tenants[0].domains[0].cacheBehaviors[0].a"),
    Fault("192.0.2.1", "192.0.2.300", "tenants[0].domains[0].originConfig.originIps[0]"),
    Fault("name: web, node: hk-1", "name: web, node: hk-9", "tenants[0].resources[0].node"),
    Fault("vcpus: 3", "vcpus: 0", "tenants[0].resources[0].vcpus"),
    Fault("ram: 4000", "ram: big", "tenants[0].resources[0].ram"),
    Fault("disk: 40,", "disk: -1,", "tenants[0].resources[0].disk"),
    Fault("id: v-1", "id: i-1", "tenants[0].resources[1].id"),
    Fault("name: data", "name: 5", "tenants[0].resources[1].name"),
    Fault("size: 100", "size: 0", "tenants[0].resources[1].size"),
    Fault("started: 2026-02-04", "started: 2025-02-04", "tenants[0].resources[1].started"),
    Fault("ended: 2026-02-05", "ended: 2024-02-05", "tenants[0].resources[1].ended"),
    Fault("kind: snapshot", "kind: photo", "tenants[0].resources[2].kind"),
    Fault("name: copy, node: hk-2", "name: copy, node: hk-7", "tenants[0].resources[2].node"),
    Fault("ended: 2026-02-07", "ended: 2026-02-01", "tenants[0].resources[2].ended"),
    Fault("name: other", "name: demo", "tenants[1].name"),
    Fault("id: k-1", "id: s-1", "tenants[1].resources[0].id"),
    Fault("name: laptop", "name: laptop, node: hk-1", "tenants[1].resources[0].node"),
    Fault("name: third, ", "", "tenants[2].name"),
)
"""Each can be combined with any others and adds exactly one problem."""


def assert_exactly_reported(directory: Path, faults: Sequence[Fault]) -> None:
    for name in ("ann-file", "bob-file"):
        (directory / name).write_text("a long secret\n")
    text = VALID
    for fault in faults:
        assert text.count(fault.good) == 1
        text = text.replace(fault.good, fault.bad)
    assert locations(directory, text) == sorted(fault.location for fault in faults)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.path)
def test_each_fault_alone_and_all_others_are_reported(tmp_path: Path, fault: Fault) -> None:
    assert_exactly_reported(tmp_path, [fault])
    assert_exactly_reported(tmp_path, [other for other in FAULTS if other is not fault])


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(FAULTS), unique=True))
@example(list(FAULTS))
def test_any_combination_of_faults_is_reported_exactly(tmp_path: Path, faults: list[Fault]) -> None:
    assert_exactly_reported(tmp_path, faults)


INTERDEPENDENT = f"""{HEAD}tenants:
- name: demo
  accounts:
  - username: ann
    password_hash: "{SECRET_HASH}"
  domains:
  - {DOMAIN}originConfig: {{}}}}
  resources:
  - {VOLUME}
"""


@pytest.mark.parametrize(
    ("good", "bad", "path"),
    [
        ("nodes: [hk-1, hk-2]", "nodes: 5", "nodes"),
        ("nodes: [hk-1, hk-2]", "nodes: [hk-1, 5]", "nodes[1]"),
        ("nodes: [hk-1, hk-2]", "nodes: *gone", "nodes"),
        ("prices: [", "prices: 5 # [", "prices"),
        ("prices: [", "prices: [5] # [", "prices[0]"),
        ("prices: [{kind: volume", "prices: [{kind: disk", "prices[0].kind"),
        ("unit: gb", "unit: each", "prices[0].unit"),
        ("unit: gb", "unit: byte", "prices[0].unit"),
        ("unit: gb", "unit: gb, node: hk-9", "prices[0].node"),
        ("unit: gb", "unit: gb, node: 9", "prices[0].node"),
        ("unit: gb", "unit: gb, type: ''", "prices[0].type"),
        ("kind: volume, unit: gb", "kind: disk, unit: gb, type: ssd", "prices[0].kind"),
        ("unit: gb", "unit: each, type: ssd", "prices[0].unit"),
        ("price: 1", "price: cheap", "prices[0].price"),
        ("from: 2025-01-01", "from: soon", "prices[0].from"),
        ("kind: volume, name", "kind: disk, name", "tenants[0].resources[0].kind"),
        ("node: hk-1", "node: 1", "tenants[0].resources[0].node"),
        ("node: hk-1", "node: *gone", "tenants[0].resources[0].node"),
        ("size: 1", "size: big", "tenants[0].resources[0].size"),
        ("started: 2026-01-01", "started: soon, ended: 2026-01-01", "tenants[0].resources[0].started"),
        ("started: 2026-01-01", "started: 2026-01-01, ended: soon", "tenants[0].resources[0].ended"),
        ("password_hash: ", "password_hash: md5 # ", "tenants[0].accounts[0].password_hash"),
        ("password_hash: ", "password_file: 5 # ", "tenants[0].accounts[0].password_file"),
        ("password_hash: ", "password_file: *gone # ", "tenants[0].accounts[0].password_file"),
        ("password_hash: ", "password: secret # ", "tenants[0].accounts[0].password"),
        ("  - username: ann\n    password", "  - ann #", "tenants[0].accounts[0]"),
        ("- name: demo\n  accounts", "- demo\n- name: demo\n  accounts", "tenants[0]"),
        ("originConfig: {}", "originConfig: []", "tenants[0].domains[0].originConfig"),
    ],
)
def test_invalid_field_causes_no_follow_up_problems(tmp_path: Path, good: str, bad: str, path: str) -> None:
    assert INTERDEPENDENT.count(good) == 1
    assert problems_of(tmp_path, INTERDEPENDENT) == []
    assert only_problem(tmp_path, INTERDEPENDENT.replace(good, bad)).path == path


@pytest.mark.parametrize("key", ["[key]", "", "a b"])
def test_unusual_keys_are_reported(tmp_path: Path, key: str) -> None:
    text = f'version: 1\nnodes: [a, a]\n"{key}": 1\n'
    assert [problem.line for problem in problems_of(tmp_path, text)] == [2, 3]
