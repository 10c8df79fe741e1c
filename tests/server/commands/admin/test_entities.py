"""`cloudconsole admin TYPE VERB` and `audit`: output, also on a real terminal, accepted arguments and errors."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, update

from cloudconsole.operator.entities import ENTITY_TYPES
from cloudconsole.store.activity_writes import hash_username
from cloudconsole.store.passwords import password_matches
from cloudconsole.store.tables import access_audit, accounts, login_failures, operator_audit
from tests.server.commands.conftest import Run, admin_on_terminal
from tests.server.http.helpers import rows
from tests.stores import write_transaction
from tests.terminal import Terminal


class Admin:
    """The admin commands for one store."""

    def __init__(self, data: Path, cloudconsole: Run, capsys: pytest.CaptureFixture[str]) -> None:
        self.data = data
        self._cloudconsole = cloudconsole
        self._capsys = capsys

    def __call__(self, *arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
        """Return the exit code and the text of both streams."""
        try:
            return self._cloudconsole("admin", *arguments, "--data", self.data, stdin=stdin)
        except SystemExit as stop:
            return int(stop.code or 0), *self._capsys.readouterr()

    def run(self, *arguments: str, stdin: bytes = b"") -> str:
        code, output, errors = self(*arguments, stdin=stdin)
        assert (code, errors) == (0, "")
        return output

    def run_json(self, *arguments: str) -> Any:
        return json.loads(self.run(*arguments, "--json"))

    def expect_error(self, *arguments: str, code: int = 1, stdin: bytes = b"") -> str:
        """Return the only line of the error."""
        actual_code, output, errors = self(*arguments, stdin=stdin)
        assert (actual_code, output, errors.count("\n")) == (code, "", 1)
        assert errors.startswith("cloudconsole: ")
        return errors.removeprefix("cloudconsole: ").rstrip()


@pytest.fixture
def admin(data: Path, cloudconsole: Run, capsys: pytest.CaptureFixture[str]) -> Admin:
    return Admin(data, cloudconsole, capsys)


@pytest.fixture
def password_file(tmp_path: Path) -> str:
    (tmp_path / "password").write_text("a secret word\n")
    return str(tmp_path / "password")


def has_password(data: Path, password: str) -> bool:
    (demo,) = (row for row in rows(data, accounts) if row.username == "demo")
    return password_matches(demo.password_hash, password)


@pytest.mark.parametrize("entity_type", ENTITY_TYPES, ids=lambda entity_type: entity_type.name)
def test_records_are_listed_and_shown_as_text_and_json(admin: Admin, entity_type: Any) -> None:
    lines = admin.run(entity_type.name, "list").splitlines()
    records = admin.run_json(entity_type.name, "list")
    assert len(records) == len(lines) - 1 > 0
    assert {text.count("\t") for text in lines} == {lines[0].count("\t")}
    key = entity_type.key_of(records[0])
    assert admin.run_json(entity_type.name, "show", key) == records[0]
    shown = dict(text.split("\t", 1) for text in admin.run(entity_type.name, "show", key).splitlines())
    assert list(shown) == list(records[0])


@pytest.mark.parametrize("entity_type", ENTITY_TYPES, ids=lambda entity_type: entity_type.name)
def test_every_verb_has_help(admin: Admin, entity_type: Any) -> None:
    for verb in entity_type.verbs:
        code, output, _ = admin(entity_type.name, verb, "--help")
        assert code == 0
        assert "--data DIR" in output


def test_each_invalid_setting_is_reported_on_its_own_line(admin: Admin, tmp_path: Path) -> None:
    file = tmp_path / "console.toml"
    file.write_text('port = "many"\nzone = "UTC"\n')
    code, _, errors = admin("tenant", "list", "--config", str(file))
    first, second = errors.splitlines()
    assert code == 1
    assert first.startswith(f"cloudconsole: {file}: port: ")
    assert second.startswith(f"cloudconsole: {file}: zone: ")


def test_tenant_lifecycle_messages(admin: Admin, password_file: str) -> None:
    assert admin.run("tenant", "add", "acme") == "tenant acme: added\n"
    account = ("account", "add", "ann", "--tenant", "acme", "--password-file", password_file)
    assert admin.run(*account) == "account ann: added\n"
    assert admin.run("quota", "change", "acme", "--cores", "-1", "--floating-ips", "3") == "quota acme: changed\n"
    assert admin.run("tenant", "disable", "acme") == "tenant acme: disabled\n"
    assert admin.run("tenant", "disable", "acme") == "tenant acme: nothing to change\n"
    assert admin.run("tenant", "enable", "acme") == "tenant acme: enabled\n"
    assert admin.run("tenant", "change", "acme", "--name", "apex") == "tenant acme: changed\n"
    assert admin.expect_error("tenant", "remove", "apex") == "the tenant apex cannot be removed: 1 account needs it"
    assert admin.run("account", "remove", "ann") == "account ann: removed\n"
    assert admin.run("quota", "reset", "apex") == "quota apex: reset to the defaults\n"
    assert admin.run("tenant", "remove", "apex") == "tenant apex: removed\n"


def test_a_resource_over_quota_needs_force(admin: Admin) -> None:
    admin.run("tenant", "add", "acme")
    command = ("resource", "add", "i-1", "--tenant", "acme", "--kind", "instance", "--name", "web", "--node", "hk-1")
    sizes = ("--vcpus", "21", "--ram", "1024")
    assert admin.expect_error(*command, *sizes) == (
        "over quota (cores: 0 of 20 in use, 21 more requested); use --force to override"
    )
    assert admin.run_json(*command, *sizes, "--force")["vcpus"] == 21
    assert admin.run_json("resource", "end", "i-1")["ended"]
    assert admin.run_json("resource", "list", "--tenant", "acme", "--running") == []


def test_times_are_in_the_given_time_zone(admin: Admin) -> None:
    command = ("news", "add", "--title", "x", "--url", "https://e.example.com/", "--date", "2027-01-01")
    assert admin.run_json(*command, "--time-zone", "Asia/Shanghai")["date"] == "2026-12-31T16:00:00Z"


def test_structured_fields_can_be_json_or_a_file(admin: Admin, tmp_path: Path) -> None:
    (tmp_path / "origin.json").write_text('{"originIps": ["192.0.2.7"], "advOriginConfigs": {"weight": 1.50}}')
    changed = admin.run(
        "domain", "change", "206813", "--cache-behaviors", '[{"ttl": 5}]',
        "--origin-config", f"@{tmp_path / 'origin.json'}", "--service-areas", "mainland", "--json",
    )  # fmt: skip
    assert json.loads(changed)["cacheBehaviors"] == [{"ttl": 5}]
    assert json.loads(changed)["serviceAreas"] == "mainland"
    assert '"weight": 1.50' in changed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["flavor", "change", "1", "--ram", "much"], "argument --ram: must be a whole number"),
        (["flavor", "change", "1", "--ram", "1.5"], "argument --ram: must be a whole number"),
        (["quota", "change", "demo", "--cores", "9" * 20], "argument --cores: must be at most 2147483647"),
        (["resource", "change", "v-1", "--ended", ""], "--ended: use cloudconsole admin resource end"),
        (["resource", "change", "v-1", "--kind", "volume"], "unknown option --kind;"),
        (["flavor", "change", "1", "--id", "2"], "unknown option --id"),
        (["flavor", "change", "1"], "specify at least one of --name"),
        (["flavor", "add", "1"], "the following arguments are required"),
        (["flavor", "list", "--limit", "0"], "argument --limit: must be a positive whole number"),
        (["flavor", "add", "1", "--disabled", "maybe"], "argument --disabled: must be true or false"),
        (["domain", "change", "206813", "--cache-behaviors", "[1"], "--cache-behaviors: must be JSON"),
        (["domain", "change", "206813", "--cache-behaviors", "[NaN]"], "--cache-behaviors: must be JSON"),
        (["domain", "change", "206813", "--cache-behaviors", "[" * 10_000], "--cache-behaviors: must be JSON"),
        (["domain", "change", "206813", "--cache-behaviors", "@nowhere"], "nowhere cannot be read"),
        (["account", "clear-throttle", "demo", "--address", "here"], "argument --address: must be an IP address"),
        (["audit", "--after", "x"], "argument --after: must be the id of an entry"),
        (["audit", "--access", "--subject", "x"], "--subject: access audit entries have no subject"),
        (["account", "password", "demo", "--password-stdin", "--password-file", "x"], "not allowed with argument"),
        (["account", "password", "demo", "secret"], "unexpected argument: secret"),
        (["price", "fly"], "invalid choice: 'fly'"),
        (["lood", "cloud.yaml"], "'lood'"),
        (["load"], "the following arguments are required: FILE"),
        (["flavor", "add", "--nmae", "x"], "unknown option --nmae (did you mean --name?)"),
        (["flavor", "add", "9", "--vcpu=1"], "unknown option --vcpu (did you mean --vcpus?)"),
        (["domain", "change", "206813", "--service_areas", "hk"], "did you mean --service-areas?"),
        (["tenant", "--json", "list"], "unknown option --json: put a command's options after the command"),
    ],
)
def test_usage_error_is_explained(admin: Admin, arguments: list[str], message: str) -> None:
    error = admin.expect_error(*arguments, code=2)
    assert message in error
    assert "; see cloudconsole admin " in error
    assert error.endswith(" --help")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tenant", "show", "nothing"], "there is no tenant nothing"),
        (["flavor", "change", "1", "--ram", "0"], "--ram: must be at least 1"),
        (["news", "add", "x", "--title", "n", "--url", "https://e.example.com/"], "ID: must be a whole number"),
        (["domain", "change", "206813", "--origin-config", '{"originIps": ["x"]}'], "--origin-config: originIps[0]:"),
        (
            ["resource", "add", "i-9", "--tenant", "demo", "--kind", "instance", "--name", "n", "--node", "hk-1"],
            "--vcpus: is required for an instance: from 1 to 2147483647; --ram: is required for an instance: from 1 to",
        ),
        (["resource", "end", "i-d0000001", "--at", "soon"], "--at: must be a time"),
        (["resource", "list", "--tenant", "nobody"], "--tenant: there is no tenant nobody"),
        (["resource", "list", "--tenant", ""], "--tenant: must not be empty: give the tenant's name"),
        (["resource", "list", "--kind", "foo"], "--kind: unknown kind foo: use instance, image, loadbalance, volume"),
        (["price", "list", "--kind", "keypair"], "--kind: unknown kind keypair: use instance, image"),
        (["audit", "--since", "soon"], "--since: must be a time"),
        (["tenant", "show", "\udcff"], "an argument is not UTF-8 text"),
        (["tenant", "add", "\udcff"], "NAME: contains half of a surrogate pair"),
    ],
)
def test_invalid_value_is_rejected_in_one_line(admin: Admin, arguments: list[str], message: str) -> None:
    assert message in admin.expect_error(*arguments)


def test_truncated_list_says_how_to_continue(admin: Admin) -> None:
    whole = admin.run_json("flavor", "list")
    code, output, errors = admin("flavor", "list", "--limit", "2", "--json")
    assert (code, json.loads(output)) == (0, whole[:2])
    after = errors.removeprefix("more results: continue with --after ").rstrip()
    assert admin.run_json("flavor", "list", "--after", after) == whole[2:]


def test_filters_narrow_a_list(admin: Admin) -> None:
    everything = admin.run_json("resource", "list")
    expected = [one for one in everything if one["tenant"] == "demo" and one["kind"] == "volume"]
    assert admin.run_json("resource", "list", "--tenant", "demo", "--kind", "volume") == expected != []
    assert everything[0] in admin.run_json("resource", "list", "--prefix", everything[0]["id"])
    assert admin.run_json("resource", "list", "--prefix", "no such thing") == []


@pytest.mark.parametrize("content", [b"a secret word\n", b"a secret word\r\nanother line\n", b"a secret word"])
def test_password_is_the_first_line_of_standard_input(admin: Admin, content: bytes) -> None:
    assert admin.run("account", "password", "demo", "--password-stdin", stdin=content) == (
        "account demo: password changed, sessions ended\n"
    )
    assert has_password(admin.data, "a secret word")


@pytest.mark.parametrize("options", [("--tenant", "demo", "--role", "operator"), ("--tenant", "demo")])
def test_password_must_meet_the_policy_of_the_role(admin: Admin, options: tuple[str, ...]) -> None:
    is_operator = "operator" in options
    password = b"eleven char" if is_operator else b"seven c"
    least = "an operator's password must have 12" if is_operator else "a password must have 8"
    for arguments in (("password", "operator" if is_operator else "demo"), ("add", "ann", *options)):
        error = admin.expect_error("account", *arguments, "--password-stdin", stdin=password)
        assert error == f"{least} to 1024 characters"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["password", "nobody"], "there is no account nobody"),
        (["add", "demo", "--tenant", "demo"], "USERNAME: account demo already exists"),
        (["add", "ann", "--tenant", "nowhere"], "--tenant: there is no tenant nowhere"),
    ],
)
def test_invalid_account_is_rejected_before_reading_passwords(admin: Admin, arguments: list[str], message: str) -> None:
    assert admin.expect_error("account", *arguments, "--password-stdin", stdin=b"typed in vain\n") == message
    assert sys.stdin.buffer.read() == b"typed in vain\n"


def test_no_password_or_hash_is_printed_or_audited(admin: Admin, password_file: str) -> None:
    output = admin.run("account", "add", "ann", "--tenant", "demo", "--password-file", password_file, "--json")
    output += admin.run("account", "password", "ann", "--password-file", password_file, "--json")
    output += admin.run("account", "show", "ann") + admin.run("account", "list") + admin.run("audit", "--json")
    assert "a secret word" not in output
    assert "argon2" not in output


def test_audit_log_shows_each_change(admin: Admin) -> None:
    admin.run("flavor", "change", "1", "--ram", "640")
    admin.run("flavor", "disable", "1")
    heading, last, before_that, *_ = admin.run("audit").splitlines()
    assert heading.split("\t") == ["id", "at", "actor", "change", "subject", "what"]
    assert last.split("\t")[3:] == ["flavor.disable", "1", "disabled: nothing -> yes"]
    assert before_that.split("\t")[3:] == ["flavor.change", "1", "ram: 512 -> 640"]
    (entry,) = admin.run_json("audit", "--subject", "1", "--change", "flavor.change")
    assert (entry["before"]["ram"], entry["after"]["ram"]) == (512, 640)
    assert admin.run_json("audit", "--until", "2020-01-01") == []
    assert [one["change"] for one in admin.run_json("audit", "--after", str(entry["id"]))] == ["load"]


def test_access_audit_has_its_own_columns(admin: Admin) -> None:
    assert admin.run("audit", "--access") == "id\tat\tevent\tusername\taddress\trequest_id\n"
    assert admin.run_json("audit", "--access", "--actor", "demo") == []


def test_audit_entry_with_an_invalid_time_is_shown(admin: Admin) -> None:
    with write_transaction(admin.data, "cloud") as connection:
        connection.execute(update(operator_audit).values(at=1763204400000000))
    with write_transaction(admin.data, "activity") as connection:
        entry = {"at": 1763204400000000, "event": "login", "address": "a", "request_id": "r"}
        connection.execute(insert(access_audit).values(entry))
    for flags in ((), ("--access",)):
        assert "\tno time (1763204400000000)\t" in admin.run("audit", *flags)


def test_failures_are_cleared_by_the_network_of_an_address(admin: Admin) -> None:
    networks = ("2001:0db8:0000:0000::/64", "198.51.100.7")
    with write_transaction(admin.data, "activity") as connection:
        for network in networks:
            row = {"network": network, "user_hash": hash_username("demo"), "at": 1}
            connection.execute(insert(login_failures).values(row))
    done = admin.run_json("account", "clear-throttle", "demo", "--address", "[2001:DB8:0::1]:443")
    assert done == {"address": networks[0], "failures": 1}
    assert admin.run("account", "clear-throttle", "demo") == "account demo: 1 failed sign-in cleared\n"


KEYPAIR = '{"tenant": "demo", "id": "k-%d", "kind": "keypair", "name": "key", "started": "2026-02-01T00:00:00Z"}\n'


def shown(terminal: Terminal) -> str:
    """Return the output of a successful command without colours."""
    assert terminal.end() == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", terminal.shown)


def test_password_is_typed_twice_and_hidden(data: Path) -> None:
    terminal = admin_on_terminal(data, "account", "password", "demo")
    terminal.type_password("quite secret", again="quite secret")
    assert "account demo: password changed" in shown(terminal)
    assert "quite secret" not in terminal.shown
    assert has_password(data, "quite secret")


def test_mismatched_passwords_change_nothing(data: Path) -> None:
    terminal = admin_on_terminal(data, "account", "password", "demo")
    terminal.type_password("quite secret", again="quite different")
    assert terminal.end() == 1
    assert "cloudconsole: passwords do not match" in terminal.shown
    assert has_password(data, "console-demo")


@pytest.mark.parametrize(("arguments", "listed"), [((), 100), (("--limit", "101"), 101)])
def test_only_lists_on_a_terminal_are_limited_by_default(admin: Admin, arguments: tuple[str, ...], listed: int) -> None:
    admin.run("import", "-", "--force", stdin="".join(KEYPAIR % number for number in range(101)).encode())
    command = ("resource", "list", "--kind", "keypair")
    assert len(re.findall(r"\bkeypair\b", shown(admin_on_terminal(admin.data, *command, *arguments)))) == listed
    assert admin.run(*command).count("keypair") == 101 + 3  # of the sample


def test_list_is_a_table_as_long_as_it_fits(data: Path) -> None:
    def lines(columns: int) -> list[str]:
        terminal = admin_on_terminal(data, "resource", "list", "--kind", "floating_ip", COLUMNS=str(columns))
        return shown(terminal).splitlines()

    heading, first, *rest = wide = lines(120)
    assert heading.split() == ["tenant", "id", "kind", "name", "node", "started"]
    assert first.index("floating_ip") == heading.index("kind")
    assert "\t" not in "".join(wide)
    width = max(map(len, [heading, first, *rest]))
    assert lines(width) == wide
    records = [line.split() for line in lines(width - 1)]
    assert ["tenant", "demo"] in records
    assert all(len(record) in (0, 2) for record in records)


def test_only_the_last_column_is_wrapped(data: Path) -> None:
    output = shown(admin_on_terminal(data, "audit", COLUMNS="80"))
    assert re.search(r"\b2026-\d\d-\d\dT\d\d:\d\d:\d\dZ\b", output)
    assert all(len(line.rstrip()) <= 80 for line in output.splitlines())


def test_list_can_be_searched_and_sorted(admin: Admin) -> None:
    found = admin.run_json("resource", "list", "--search", "WEB", "--sort", "name", "--descending")
    names = [record["name"] for record in found]
    assert (len(names) > 1, names) == (True, sorted(names, reverse=True))
    assert all("web" in name for name in names)
    assert admin.expect_error("tenant", "list", "--sort", "size") == "--sort: cannot sort by size: use name or project"
    assert admin.expect_error("tenant", "list", "--search", "x" * 256) == "--search: must have at most 255 characters"
