"""`cloudconsole admin TYPE VERB` in process: output, accepted arguments and errors."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert

from cloudconsole.cli.main import main
from cloudconsole.operator.entities import ENTITY_TYPES
from cloudconsole.store.activity_writes import hash_username
from cloudconsole.store.passwords import password_matches
from cloudconsole.store.tables import accounts, login_failures, tenants
from tests.operator.clouds import by_name
from tests.stores import database_flags, database_of, open_engine, opened


class Admin:
    """The admin commands for one store."""

    def __init__(self, data: Path, output: pytest.CaptureFixture[str]) -> None:
        self.data = data
        self.output = output

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        """Return the exit code and the text of both streams."""
        self.output.readouterr()
        try:
            code = main(["admin", *arguments, "--data", str(self.data), *database_flags(self.data)])
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = self.output.readouterr()
        return code, captured.out, captured.err

    def run(self, *arguments: str) -> str:
        code, output, errors = self(*arguments)
        assert (code, errors) == (0, "")
        return output

    def run_json(self, *arguments: str) -> Any:
        return json.loads(self.run(*arguments, "--json"))

    def expect_error(self, *arguments: str) -> str:
        code, output, errors = self(*arguments)
        assert (code, output) == (1, "")
        assert errors.startswith("cloudconsole: ")
        assert errors.count("\n") == 1
        return errors.removeprefix("cloudconsole: ").rstrip()

    def expect_usage_error(self, *arguments: str) -> str:
        code, output, errors = self(*arguments)
        assert (code, output) == (2, "")
        assert errors.count("\n") == 1
        message, _, help_text = errors.rstrip().rpartition("; see ")
        names = [word for word in arguments[:2] if not word.startswith("-")]
        assert help_text.startswith(f"cloudconsole admin {names[0]}")
        assert help_text.endswith(" --help")
        return message.removeprefix("cloudconsole: ")


@pytest.fixture
def admin(data: Path, capsys: pytest.CaptureFixture[str]) -> Admin:
    return Admin(data, capsys)


@pytest.fixture
def password_file(tmp_path: Path) -> str:
    (tmp_path / "password").write_text("a secret word\n")
    return str(tmp_path / "password")


def set_stdin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))


def stored_hash(data: Path, username: str) -> str:
    engine = open_engine(data, "cloud")
    try:
        return str(by_name(engine, accounts, "username")[username]["password_hash"])
    finally:
        engine.dispose()


# Every entity type


@pytest.mark.parametrize("entity_type", [entity_type.name for entity_type in ENTITY_TYPES])
def test_list_is_tab_separated_or_a_json_array(admin: Admin, entity_type: str) -> None:
    lines = admin.run(entity_type, "list").splitlines()
    records = admin.run_json(entity_type, "list")
    assert len(records) == len(lines) - 1 > 0
    assert {text.count("\t") for text in lines} == {lines[0].count("\t")}


@pytest.mark.parametrize("entity_type", ENTITY_TYPES, ids=lambda entity_type: entity_type.name)
def test_listed_record_can_be_shown(admin: Admin, entity_type: Any) -> None:
    record = admin.run_json(entity_type.name, "list")[0]
    assert admin.run_json(entity_type.name, "show", entity_type.key_of(record)) == record
    shown = dict(
        text.split("\t", 1) for text in admin.run(entity_type.name, "show", entity_type.key_of(record)).splitlines()
    )
    assert list(shown) == list(record)


@pytest.mark.parametrize("entity_type", [entity_type.name for entity_type in ENTITY_TYPES])
def test_unknown_record_is_reported_in_one_line(admin: Admin, entity_type: str) -> None:
    assert admin.expect_error(entity_type, "show", "nothing")


@pytest.mark.parametrize(
    "entity_type",
    [entity_type for entity_type in ENTITY_TYPES if "change" in entity_type.verbs],
    ids=lambda entity_type: entity_type.name,
)
def test_change_without_fields_is_a_usage_error(admin: Admin, entity_type: Any) -> None:
    key = entity_type.key_of(admin.run_json(entity_type.name, "list")[0])
    assert "specify at least one of --" in admin.expect_usage_error(entity_type.name, "change", key)


@pytest.mark.parametrize("entity_type", ENTITY_TYPES, ids=lambda entity_type: entity_type.name)
def test_every_verb_has_help(admin: Admin, entity_type: Any) -> None:
    for verb in entity_type.verbs:
        code, output, _ = admin(entity_type.name, verb, "--help")
        assert code == 0
        assert "--data DIR" in output


# Settings


def test_config_file_sets_the_store(admin: Admin, tmp_path: Path) -> None:
    file = tmp_path / "console.toml"
    address = database_of(admin.data)
    file.write_text(f'data = "{admin.data}"\n' + (f'database = "{address}"\n' if address else ""))
    assert main(["admin", "tenant", "add", "acme", "--config", str(file)]) == 0
    assert admin.run_json("tenant", "show", "acme") == {"name": "acme"}


def test_each_invalid_setting_is_reported_on_its_own_line(
    admin: Admin, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "console.toml"
    file.write_text('port = "many"\nzone = "UTC"\n')
    assert admin("tenant", "list", "--config", str(file))[0] == 1
    main(["admin", "tenant", "list", "--config", str(file)])
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(f"cloudconsole: {file}: port: ")
    assert second.startswith(f"cloudconsole: {file}: zone: ")


# From creation to removal


def test_tenant_lifecycle_messages(admin: Admin, password_file: str) -> None:
    assert admin.run("tenant", "add", "acme") == "tenant acme: added\n"
    assert (
        admin.run("account", "add", "ann", "--tenant", "acme", "--password-file", password_file)
        == "account ann: added\n"
    )
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


def test_price_key_has_kind_unit_time_and_node(admin: Admin) -> None:
    added = admin.run(
        "price", "add", "--kind", "volume", "--unit", "gb", "--node", "hk-2", "--price", "0.5", "--from", "2027-01-01"
    )
    assert added == "price volume/gb/2027-01-01T00:00:00Z/hk-2: added\n"
    changed = admin.run_json("price", "change", "volume/gb/2027-01-01/hk-2", "--node", "", "--price", "0.25")
    assert changed == {"kind": "volume", "unit": "gb", "price": "0.25", "from": "2027-01-01T00:00:00Z"}
    assert admin.run("price", "remove", "volume/gb/2027-01-01") == "price volume/gb/2027-01-01: removed\n"


def test_price_of_a_type_has_it_in_its_key_and_list_entry(admin: Admin) -> None:
    kind = ("--kind", "instance", "--unit", "each", "--type", "m1/small", "--price", "0.12", "--from", "2027-01-01")
    key = "instance:m1%2Fsmall/each/2027-01-01T00:00:00Z"
    assert admin.run("price", "add", *kind) == f"price {key}: added\n"
    record = {"kind": "instance", "unit": "each", "type": "m1/small", "price": "0.12", "from": "2027-01-01T00:00:00Z"}
    assert admin.run_json("price", "list", "--type", "m1/small") == [record]
    head, row = admin.run("price", "list", "--type", "m1/small").splitlines()
    assert dict(zip(head.split("\t"), row.split("\t"), strict=True))["type"] == "m1/small"
    changed = admin.run_json("price", "change", key, "--type", "")
    assert changed == {name: value for name, value in record.items() if name != "type"}


def test_project_of_a_tenant_can_be_set_found_and_cleared(admin: Admin) -> None:
    project = "b14723e1@https://identity.example.com"
    assert admin.run("tenant", "add", "acme", "--project", f"{project}/v3") == "tenant acme: added\n"
    assert admin.run_json("tenant", "show", "acme") == {"name": "acme", "project": project}
    assert admin.run_json("tenant", "list", "--project", f"{project}/") == [{"name": "acme", "project": project}]
    assert project in admin.run("tenant", "list")
    assert admin.run_json("tenant", "change", "acme", "--project", "") == {"name": "acme"}


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
        (["flavor", "change", "1", "--colour", "red"], "unknown option --colour"),
        (["flavor", "change", "1", "--id", "2"], "unknown option --id"),
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
        (["flavor", "add", "--nmae", "x"], "unknown option --nmae (did you mean --name?)"),
        (["flavor", "add", "9", "--vcpu=1"], "unknown option --vcpu (did you mean --vcpus?)"),
        (["domain", "change", "206813", "--service_areas", "hk"], "did you mean --service-areas?"),
        (["tenant", "--json", "list"], "unknown option --json: put a command's options after the command"),
    ],
)  # fmt: skip
def test_usage_error_is_explained(admin: Admin, arguments: list[str], message: str) -> None:
    assert message in admin.expect_usage_error(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["flavor", "change", "1", "--ram", "0"], "--ram: must be at least 1"),
        (
            ["flavor", "add", "x", "--name", "n", "--vcpus", "1", "--ram", "1", "--disk", "1"],
            "ID: must be 1 to 64 digits",
        ),
        (["news", "add", "x", "--title", "n", "--url", "https://e.example.com/"], "ID: must be a whole number"),
        (["url", "add", "--type", "door", "--url", "https://e.example.com/"], "--type: must be 'link' or 'directory'"),
        (["domain", "change", "206813", "--cache-behaviors", "{}"], "--cache-behaviors: must be a list"),
        (
            ["domain", "change", "206813", "--origin-config", '{"originIps": ["x"]}'],
            "--origin-config: originIps[0]: must be an IP",
        ),
        (
            ["account", "disable", "operator"],
            "is the last operator who can log in: create another one first; use --force",
        ),
        (["resource", "list", "--tenant", "nobody"], "--tenant: there is no tenant nobody"),
        (["audit", "--since", "soon"], "--since: must be a time"),
        (
            ["resource", "add", "i-9", "--tenant", "demo", "--kind", "instance", "--name", "n", "--node", "hk-1"],
            "--vcpus: is required for an instance: from 1 to 2147483647; --ram: is required for an instance: from 1 to",
        ),
        (
            ["resource", "add", "v-9", "--tenant", "demo", "--kind", "volume", "--name", "n", "--size", "1"],
            "--node: a volume must be on a node",
        ),
        (["resource", "end", "i-d0000001", "--at", "soon"], "--at: must be a time"),
        (["tenant", "change", "other", "--name", "demo"], "--name: tenant demo already exists"),
        (["tenant", "add", " acme"], "NAME: must not begin or end with a space"),
        (
            ["price", "add", "--kind", "volume", "--unit", "vcpu", "--price", "1", "--from", "2026-01-01"],
            "--unit: volume is priced by gb",
        ),
        (
            ["price", "add", "--kind", "image", "--unit", "gb", "--type", "x", "--price", "1", "--from", "2026-01-01"],
            "--type: only instances by each (flavor) and volumes by gb can have a price per type",
        ),
        (["tenant", "add", "acme", "--project", "b14723e1"], "--project: must be a project ID, an @ and the URL"),
        (["tenant", "list", "--project", "p@q"], "--project: must have the URL of an identity service"),
        (
            ["resource", "list", "--kind", "foo"],
            "--kind: unknown kind foo: use instance, image, loadbalance, volume",
        ),
        (["price", "list", "--kind", "keypair"], "--kind: unknown kind keypair: use instance, image"),
        (["resource", "list", "--tenant", ""], "--tenant: must not be empty: give the tenant's name"),
        (["tenant", "show", "\udcff"], "an argument is not UTF-8 text"),
        (["tenant", "add", "\udcff"], "NAME: contains half of a surrogate pair"),
    ],
)
def test_invalid_value_is_rejected_in_one_line(admin: Admin, arguments: list[str], message: str) -> None:
    before = admin.run("dump")
    assert message in admin.expect_error(*arguments)
    assert admin.run("dump") == before


def test_dump_with_legacy_names_loads_only_into_its_own_store(admin: Admin, tmp_path: Path) -> None:
    with opened(admin.data, "cloud") as engine, engine.begin() as connection:
        connection.execute(tenants.update().where(tenants.c.name == "other").values(name="other "))
    file = str(tmp_path / "cloud.yaml")
    admin.run("dump", file)
    assert admin.run("load", file) == "nothing to change\n"
    code, _, errors = Admin(tmp_path / "new", admin.output)("load", file)
    assert code == 1
    assert errors.endswith(".name: must not begin or end with a space\n")
    assert not (tmp_path / "new").exists()


def test_missing_store_is_not_created(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    admin = Admin(tmp_path / "nowhere", capsys)
    assert "no store in" in admin.expect_error("tenant", "list")
    assert "no store in" in admin.expect_error("tenant", "add", "acme")
    assert "no store in" in admin.expect_error("audit", "--access")
    assert not (tmp_path / "nowhere").exists()


# Lists


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
    first = everything[0]
    assert first in admin.run_json("resource", "list", "--prefix", first["id"])
    assert first in admin.run_json("resource", "list", "--prefix", first["name"][:3])
    assert admin.run_json("resource", "list", "--prefix", "no such thing") == []


def test_list_is_complete_without_a_terminal(admin: Admin) -> None:
    assert len(admin.run("flavor", "list").splitlines()) == 51


# Passwords


def test_password_is_read_from_a_file(admin: Admin, password_file: str) -> None:
    assert admin.run("account", "password", "demo", "--password-file", password_file) == (
        "account demo: password changed, sessions ended\n"
    )
    assert password_matches(stored_hash(admin.data, "demo"), "a secret word")


@pytest.mark.parametrize("content", [b"a secret word\n", b"a secret word\r\nanother line\n", b"a secret word"])
def test_password_is_the_first_line_of_standard_input(
    admin: Admin, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    set_stdin(monkeypatch, content)
    admin.run("account", "password", "demo", "--password-stdin")
    assert password_matches(stored_hash(admin.data, "demo"), "a secret word")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "a password must have 8 to 1024 characters"),
        (b"\n", "a password must have 8 to 1024 characters"),
        (b"x" * 1025 + b"\n", "a password must have 8 to 1024 characters"),
        (b"x" * 100_000, "a password must have 8 to 1024 characters"),
        (b"\xff\n", "must be UTF-8 text"),
    ],
)
def test_invalid_password_is_rejected(
    admin: Admin, monkeypatch: pytest.MonkeyPatch, content: bytes, message: str
) -> None:
    before = stored_hash(admin.data, "demo")
    set_stdin(monkeypatch, content)
    assert message in admin.expect_error("account", "password", "demo", "--password-stdin")
    assert stored_hash(admin.data, "demo") == before


@pytest.mark.parametrize(
    "arguments", [("password", "operator"), ("add", "ann", "--tenant", "demo", "--role", "operator")]
)
def test_an_operators_password_needs_twelve_characters(
    admin: Admin, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    set_stdin(monkeypatch, b"eleven char\n")
    error = admin.expect_error("account", *arguments, "--password-stdin")
    assert "an operator's password must have 12 to 1024 characters" in error


@pytest.mark.parametrize("name", ["", "missing", "empty"])
def test_file_without_a_password_is_rejected(admin: Admin, tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").write_text("\n")
    assert str(tmp_path / name) in admin.expect_error(
        "account", "password", "demo", "--password-file", str(tmp_path / name)
    )


def test_password_option_is_required_without_a_terminal(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    set_stdin(monkeypatch, b"secret\n")
    assert "pass --password-stdin or --password-file" in admin.expect_error("account", "add", "ann", "--tenant", "demo")


def test_no_password_or_hash_is_printed_or_audited(admin: Admin, password_file: str) -> None:
    output = admin.run("account", "add", "ann", "--tenant", "demo", "--password-file", password_file, "--json")
    output += admin.run("account", "password", "ann", "--password-file", password_file, "--json")
    output += admin.run("account", "show", "ann") + admin.run("account", "list") + admin.run("audit", "--json")
    assert "a secret word" not in output
    assert "argon2" not in output


# The audit log


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


def test_rejected_change_is_not_audited(admin: Admin) -> None:
    before = admin.run("audit")
    admin.expect_error("tenant", "add", "demo")
    assert admin.run("audit") == before


def test_access_audit_has_its_own_columns(admin: Admin) -> None:
    assert admin.run("audit", "--access") == "id\tat\tevent\tusername\taddress\trequest_id\n"
    assert admin.run_json("audit", "--access", "--actor", "demo") == []


# Validation before a password is read


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--tenant", "demo"], "USERNAME: account demo already exists"),
        (["ann", "--tenant", "nowhere"], "--tenant: there is no tenant nowhere"),
        (["ann", "--tenant", "demo", "--role", "king"], "--role: must be 'tenant' or 'operator'"),
    ],
)
def test_invalid_account_is_rejected_before_reading_a_password(
    admin: Admin, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    set_stdin(monkeypatch, b"typed in vain\n")
    assert admin.expect_error("account", "add", *arguments, "--password-stdin") == message
    assert sys.stdin.buffer.read() == b"typed in vain\n"


# The login throttle


@pytest.mark.parametrize(
    ("network", "address"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("192.0.2.1", "192.0.2.1:80"),
        ("192.0.2.1", "::ffff:192.0.2.1"),
        ("2001:0db8:0000:0000::/64", "2001:db8::1"),
        ("2001:0db8:0000:0000::/64", "[2001:db8::1]"),
        ("2001:0db8:0000:0000::/64", "[2001:DB8:0::1]:443"),
    ],
)
def test_throttle_address_accepts_proxy_notation(admin: Admin, network: str, address: str) -> None:
    with opened(admin.data, "activity") as engine, engine.begin() as connection:
        for failed_from in (network, "198.51.100.7"):
            row = {"network": failed_from, "user_hash": hash_username("demo"), "at": 1}
            connection.execute(insert(login_failures).values(row))
    done = admin.run_json("account", "clear-throttle", "demo", "--address", address)
    assert done == {"address": network, "failures": 1}
    assert admin.run_json("account", "clear-throttle", "demo") == {"failures": 1}


def test_unknown_flag_is_not_matched_to_another(admin: Admin) -> None:
    assert admin.expect_usage_error("resource", "change", "v-1", "--kind", "volume") == "unknown option --kind"
