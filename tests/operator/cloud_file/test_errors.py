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
PRICES = "version: 1\nprices:\n- "
TYPED = "{kind: volume, unit: gb, type: ssd, price: 1, from: 2026-01-01}"
SAME_PROJECT = "version: 1\ntenants:\n- {name: a, project: p@https://id}\n- {name: b, project: p@https://ID:443/v3/}\n"
DECIMALS = "must not have more than nine decimals"
UNKNOWN_NODE = "is not listed under nodes in this file"
NO_PRICE = "volume has no price on this node at 2024-12-31T00:00:00Z, when it starts: add one first"
NO_IMAGE_PRICE = "image has no price on this node at 2026-01-01T00:00:00Z, when it starts: add one first"


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
def test_invalid_yaml_is_rejected(tmp_path: Path, text: str | bytes, line: int, path: str | None, message: str) -> None:
    problem = only_problem(tmp_path, text)
    assert problem.line == line
    assert path is None or problem.path in (path, f"'{path}'")
    assert message in problem.message


LEVELS = zip("abcdefgh", "bcdefghi", strict=True)
WIDE = ["a: &a [lol, lol]", *(f"{name}: &{name} [{', '.join([f'*{below}'] * 9)}]" for below, name in LEVELS)]
DEEP = ["l0: &l0 []", *(f"l{level}: &l{level} {'[' * 50}*l{level - 1}{']' * 50}" for level in range(1, 1000))]


@pytest.mark.parametrize(("lines", "message"), [(WIDE, "expand to more than"), (DEEP, "nested too deeply")])
def test_expansion_and_nesting_of_aliases_are_limited(tmp_path: Path, lines: list[str], message: str) -> None:
    assert any(message in problem.message for problem in problems_of(tmp_path, "\n".join(lines)))


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("5: x\nnodes: 5\nnodes: 6\n", [2, 3, 4]),
        *((f'nodes: [a, a]\n"{key}": 1\n', [2, 3]) for key in ("[key]", "", "a b")),
    ],
)
def test_invalid_key_does_not_hide_other_problems(tmp_path: Path, text: str, lines: list[int]) -> None:
    assert [problem.line for problem in problems_of(tmp_path, f"version: 1\n{text}")] == lines


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
        ("version: 1\nnodes: [a]\ndisabled_nodes:\n- b\n", 4, "disabled_nodes[0]", UNKNOWN_NODE),
        ("version: 1\nflavors: [3]\n", 2, "flavors[0]", "must be a mapping of names to values"),
        (PRICES + "{kind: volume, unit: gb, node: x, price: 1, from: 2026-01-01}", 3, "prices[0].node", UNKNOWN_NODE),
        (PRICES + "{kind: volume, unit: gb, price: 0.0000000001, from: 2026-01-01}", 3, "prices[0].price", DECIMALS),
        (RESOURCE + VOLUME.replace("hk-1", "hk-9"), 7, "tenants[0].resources[0].node", UNKNOWN_NODE),
        (RESOURCE + VOLUME.replace("2026-01-01", "2024-12-31"), 7, "tenants[0].resources[0].started", NO_PRICE),
        (RESOURCE + VOLUME.replace("volume", "image"), 7, "tenants[0].resources[0].started", NO_IMAGE_PRICE),
    ],
)
def test_invalid_field_is_rejected(tmp_path: Path, text: str, line: int, path: str, message: str) -> None:
    assert only_problem(tmp_path, text) == (line, path, message)


LINK = 'url: "https://www.example.com/"}'


@pytest.mark.parametrize(
    "text",
    [
        "version: 1\nnodes:\n",
        "version: 1\ntenants:\n- name: a\n  quotas:\n  accounts:\n",
        f"version: 1\nurls:\n- {{id: url-00000001, type: &a link, {LINK}\n- {{id: url-00000002, type: *a, {LINK}\n",
        RESOURCE + VOLUME.replace("2026-01-01", "2025-01-01"),
    ],
    ids=["empty section", "empty sections of a tenant", "aliases", "resource that starts with its price"],
)
def test_valid_file_has_no_problems(tmp_path: Path, text: str) -> None:
    assert problems_of(tmp_path, text) == []


@pytest.mark.parametrize(
    ("account", "path", "message"),
    [
        ("{username: a}", "", "must have password_hash or password_file"),
        (f'{{username: a, password_hash: "{SECRET_HASH}", password_file: f}}', "", "only one of"),
        ("{username: a, password_file: missing}", ".password_file", "cannot be read: No such file or directory"),
        ("{username: a, password_file: .}", ".password_file", "cannot be read: Is a directory"),
        ("{username: a, password_file: /dev/null}", ".password_file", "is not a regular file"),
        ("{username: a, password_file: empty}", ".password_file", "1 to 1024 characters"),
        ("{username: a, role: operator, password_file: short}", ".password_file", "12 to 1024 characters"),
        ("{username: a, password_file: latin}", ".password_file", "UTF-8"),
        ("{username: a, password_file: endless}", ".password_file", "1 to 1024 characters"),
    ],
)
def test_account_without_a_usable_password_is_rejected(tmp_path: Path, account: str, path: str, message: str) -> None:
    files = {"f": b"secret\n", "empty": b"\n", "short": b"eleven char\n", "latin": b"caf\xe9", "endless": b"x" * 5000}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
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
        ("version: 1\nnodes:\n- a\n- b\n- a\n", 5, "nodes[2]", "nodes[0] on line 3"),
        ("version: 1\nnodes: [a]\ndisabled_nodes: [a,\n a]", 4, "disabled_nodes[1]", "disabled_nodes[0] on line 3"),
        (SMALL.replace("2C4G40G", "m1.tiny"), 5, "flavors[1].name", "flavors[0].name on line 4"),
        (SMALL.replace("node: hk-1, price: 0.0004", "price: 0.0004"), 9, "prices[2]", "prices[1] on line 8"),
        (f"{PRICES}{TYPED}\n- {TYPED}", 4, "prices[1]", "prices[0] on line 3"),
        (SAME_PROJECT, 4, "tenants[1].project", "tenants[0].project on line 3"),
    ],
)
def test_duplicates_are_rejected(tmp_path: Path, text: str, line: int, path: str, message: str) -> None:
    assert only_problem(tmp_path, text) == (line, path, f"duplicates {message}")


def test_type_price_does_not_apply_to_resources(tmp_path: Path) -> None:
    typed = INTERDEPENDENT.replace("unit: gb", "unit: gb, type: ssd")
    assert only_problem(tmp_path, typed).path == "tenants[0].resources[0].started"


@pytest.mark.parametrize(
    ("value", "message"), [("2026-01-01", "put it in quotes"), (".nan", "JSON"), ("-.inf", "JSON")]
)
def test_non_json_value_in_a_domain_is_rejected(tmp_path: Path, value: str, message: str) -> None:
    problem = only_problem(tmp_path, DOMAINS + f"\n    cacheBehaviors: [1,\n      {{a: [x, {value}]}}]}}\n")
    assert (problem.line, problem.path) == (9, "tenants[0].domains[0].cacheBehaviors[1].a[1]")
    assert message in problem.message


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
  - {{id: 2, date: 2026-03-02, title: two, url: "https://two.example.com/", language: zh, pinned: true}}
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
  - name: third
    quotas: {{ram: 1}}
    accounts:
      - {{username: dan, password_file: dan-file}}
    domains:
      - {DOMAIN.replace("id: 1", "id: 2")}enabled: false}}
    resources:
      - {{id: k-2, kind: keypair, name: key, started: 2026-02-09}}
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
    Fault("price: 0.031", "price: cheap", "prices[0].price"),
    Fault("unit: gb, node: hk-1", "unit: gb, node: hk-8", "prices[1].node"),
    Fault("unit: gb, node: hk-2", "unit: each, node: hk-2", "prices[2].unit"),
    Fault("from: 2026-01-03", "from: soon", "prices[2].from"),
    Fault("id: 2, date", "id: 1, date", "news[1].id"),
    Fault("date: 2026-03-02", "date: 2026-02-30", "news[1].date"),
    Fault("language: zh", "language: fr", "news[1].language"),
    Fault("pinned: true", "pinned: 1", "news[1].pinned"),
    Fault("id: url-00000002", "id: url-00000001", "tenants[0].urls[0].id"),
    Fault("instances: 20", "instances: few", "tenants[0].quotas.instances"),
    Fault("cores: -1", "core: -1", "tenants[0].quotas.core"),
    Fault("role: operator", "role: boss", "tenants[0].accounts[0].role"),
    Fault("ann-file", "missing", "tenants[0].accounts[0].password_file"),
    Fault("username: bob", "username: ann", "tenants[0].accounts[1].username"),
    Fault("role: tenant", "colour: red", "tenants[0].accounts[1].colour"),
    Fault("password_file: bob-file", "password_file: [bob]", "tenants[0].accounts[1].password_file"),
    Fault("username: cat", "username: *cat", "tenants[0].accounts[2].username"),
    Fault("password_hash: ", "password: ", "tenants[0].accounts[2].password"),
    Fault("{a: b}", "{a: .nan}", "tenants[0].domains[0].cacheBehaviors[0].a"),
    Fault("192.0.2.1", "192.0.2.300", "tenants[0].domains[0].originConfig.originIps[0]"),
    Fault("name: web, node: hk-1", "name: web, node: hk-9", "tenants[0].resources[0].node"),
    Fault("vcpus: 3", "vcpus: 0", "tenants[0].resources[0].vcpus"),
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
    Fault("name: third", "disabled: false", "tenants[2].name"),
    Fault("quotas: {ram: 1}", "quotas: {rams: 1}", "tenants[2].quotas.rams"),
    Fault("username: dan", "username: ann", "tenants[2].accounts[0].username"),
    Fault("dan-file", "gone", "tenants[2].accounts[0].password_file"),
    Fault("id: 2, name: a", "id: 1, name: a", "tenants[2].domains[0].id"),
    Fault("enabled: false", "enabled: 1", "tenants[2].domains[0].enabled"),
    Fault("id: k-2", "id: v-2, size: 5", "tenants[2].resources[0].size"),
    Fault("started: 2026-02-09", "started: soon", "tenants[2].resources[0].started"),
)
"""Each can be combined with any others and adds exactly one problem."""


def assert_exactly_reported(directory: Path, faults: Sequence[Fault]) -> None:
    for name in ("ann-file", "bob-file", "dan-file"):
        (directory / name).write_text("a long secret\n")
    text = VALID
    for fault in faults:
        assert text.count(fault.good) == 1
        text = text.replace(fault.good, fault.bad)
    found = [(problem.line, problem.path) for problem in problems_of(directory, text)]
    assert found == sorted(fault.location for fault in faults)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.path)
def test_each_fault_alone_and_all_others_are_reported(tmp_path: Path, fault: Fault) -> None:
    assert_exactly_reported(tmp_path, [fault])
    assert_exactly_reported(tmp_path, [other for other in FAULTS if other is not fault])


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
        ("unit: gb", "unit: gb, node: 9", "prices[0].node"),
        ("unit: gb", "unit: gb, type: ''", "prices[0].type"),
        ("kind: volume, unit: gb", "kind: disk, unit: gb, type: ssd", "prices[0].kind"),
        ("unit: gb", "unit: each, type: ssd", "prices[0].unit"),
        ("from: 2025-01-01", "from: soon", "prices[0].from"),
        ("node: hk-1", "node: 1", "tenants[0].resources[0].node"),
        ("node: hk-1", "node: *gone", "tenants[0].resources[0].node"),
        ("size: 1", "size: big", "tenants[0].resources[0].size"),
        ("started: 2026-01-01", "started: soon, ended: 2026-01-01", "tenants[0].resources[0].started"),
        ("started: 2026-01-01", "started: 2026-01-01, ended: soon", "tenants[0].resources[0].ended"),
        ("password_hash: ", "password_hash: md5 # ", "tenants[0].accounts[0].password_hash"),
        ("password_hash: ", "password_file: 5 # ", "tenants[0].accounts[0].password_file"),
        ("password_hash: ", "password_file: *gone # ", "tenants[0].accounts[0].password_file"),
        ("  - username: ann\n    password", "  - ann #", "tenants[0].accounts[0]"),
        ("- name: demo\n  accounts", "- demo\n- name: demo\n  accounts", "tenants[0]"),
        ("originConfig: {}", "originConfig: []", "tenants[0].domains[0].originConfig"),
    ],
)
def test_invalid_field_causes_no_follow_up_problems(tmp_path: Path, good: str, bad: str, path: str) -> None:
    assert INTERDEPENDENT.count(good) == 1
    assert problems_of(tmp_path, INTERDEPENDENT) == []
    assert only_problem(tmp_path, INTERDEPENDENT.replace(good, bad)).path == path
