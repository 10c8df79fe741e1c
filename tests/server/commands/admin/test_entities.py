"""`cloudconsole admin NOUN VERB` in process: what it prints, refuses and takes."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert

from cloudconsole.cli.main import main
from cloudconsole.operator.entities import ENTITY_TYPES
from cloudconsole.store.activity import hash_username
from cloudconsole.store.passwords import password_matches
from cloudconsole.store.tables import accounts, login_failures, tenants
from tests.operator.clouds import by_name
from tests.stores import database_of, flags_of, open_engine, opened


class Admin:
    """The command line over a store of its own."""

    def __init__(self, data: Path, output: pytest.CaptureFixture[str]) -> None:
        self.data = data
        self.output = output

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        """The exit code and what was said on both streams."""
        self.output.readouterr()
        try:
            code = main(["admin", *arguments, "--data", str(self.data), *flags_of(self.data)])
        except SystemExit as stop:
            code = int(stop.code or 0)
        said = self.output.readouterr()
        return code, said.out, said.err

    def does(self, *arguments: str) -> str:
        code, output, errors = self(*arguments)
        assert (code, errors) == (0, "")
        return output

    def reads(self, *arguments: str) -> Any:
        return json.loads(self.does(*arguments, "--json"))

    def refuses(self, *arguments: str) -> str:
        code, output, errors = self(*arguments)
        assert (code, output) == (1, "")
        assert errors.startswith("cloudconsole: ")
        assert errors.count("\n") == 1
        return errors.removeprefix("cloudconsole: ").rstrip()

    def explains(self, *arguments: str) -> str:
        code, output, errors = self(*arguments)
        assert (code, output) == (2, "")
        assert errors.count("\n") == 1
        message, _, help_text = errors.rstrip().rpartition("; see ")
        words = [word for word in arguments[:2] if not word.startswith("-")]
        assert help_text.startswith(f"cloudconsole admin {words[0]}")
        assert help_text.endswith(" --help")
        return message.removeprefix("cloudconsole: ")


@pytest.fixture
def admin(data: Path, capsys: pytest.CaptureFixture[str]) -> Admin:
    return Admin(data, capsys)


@pytest.fixture
def password_file(tmp_path: Path) -> str:
    (tmp_path / "password").write_text("a secret word\n")
    return str(tmp_path / "password")


def give_input(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))


def stored_hash(data: Path, username: str) -> str:
    engine = open_engine(data, "cloud")
    try:
        return str(by_name(engine, accounts, "username")[username]["password_hash"])
    finally:
        engine.dispose()


# Every noun


@pytest.mark.parametrize("noun", [noun.name for noun in ENTITY_TYPES])
def test_a_list_is_columns_with_tabs_or_an_array(admin: Admin, noun: str) -> None:
    lines = admin.does(noun, "list").splitlines()
    records = admin.reads(noun, "list")
    assert len(records) == len(lines) - 1 > 0
    assert {line.count("\t") for line in lines} == {lines[0].count("\t")}


@pytest.mark.parametrize("noun", ENTITY_TYPES, ids=lambda noun: noun.name)
def test_what_is_listed_can_be_shown(admin: Admin, noun: Any) -> None:
    record = admin.reads(noun.name, "list")[0]
    assert admin.reads(noun.name, "show", noun.key_of(record)) == record
    shown = dict(line.split("\t", 1) for line in admin.does(noun.name, "show", noun.key_of(record)).splitlines())
    assert list(shown) == list(record)


@pytest.mark.parametrize("noun", [noun.name for noun in ENTITY_TYPES])
def test_what_is_not_there_is_refused_in_one_line(admin: Admin, noun: str) -> None:
    assert admin.refuses(noun, "show", "nothing")


@pytest.mark.parametrize("noun", [noun for noun in ENTITY_TYPES if "change" in noun.verbs], ids=lambda noun: noun.name)
def test_a_change_of_nothing_is_wrong_usage(admin: Admin, noun: Any) -> None:
    key = noun.key_of(admin.reads(noun.name, "list")[0])
    assert "specify at least one of --" in admin.explains(noun.name, "change", key)


@pytest.mark.parametrize("noun", ENTITY_TYPES, ids=lambda noun: noun.name)
def test_every_verb_has_its_help(admin: Admin, noun: Any) -> None:
    for verb in noun.verbs:
        code, output, _ = admin(noun.name, verb, "--help")
        assert code == 0
        assert "--data DIR" in output


# Settings


def test_a_settings_file_says_where_the_store_is(admin: Admin, tmp_path: Path) -> None:
    file = tmp_path / "console.toml"
    address = database_of(admin.data)
    file.write_text(f'data = "{admin.data}"\n' + (f'database = "{address}"\n' if address else ""))
    assert main(["admin", "tenant", "add", "acme", "--config", str(file)]) == 0
    assert admin.reads("tenant", "show", "acme") == {"name": "acme"}


def test_all_wrong_settings_are_told_each_on_its_line(
    admin: Admin, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "console.toml"
    file.write_text('port = "many"\nzone = "UTC"\n')
    assert admin("tenant", "list", "--config", str(file))[0] == 1
    main(["admin", "tenant", "list", "--config", str(file)])
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(f"cloudconsole: {file}: port: ")
    assert second.startswith(f"cloudconsole: {file}: zone: ")


# From adding to removing


def test_the_life_of_a_tenant_in_words(admin: Admin, password_file: str) -> None:
    assert admin.does("tenant", "add", "acme") == "tenant acme: added\n"
    assert (
        admin.does("account", "add", "ann", "--tenant", "acme", "--password-file", password_file)
        == "account ann: added\n"
    )
    assert admin.does("quota", "change", "acme", "--cores", "-1", "--floating-ips", "3") == "quota acme: changed\n"
    assert admin.does("tenant", "disable", "acme") == "tenant acme: disabled\n"
    assert admin.does("tenant", "disable", "acme") == "tenant acme: nothing to change\n"
    assert admin.does("tenant", "enable", "acme") == "tenant acme: enabled\n"
    assert admin.does("tenant", "change", "acme", "--name", "apex") == "tenant acme: changed\n"
    assert admin.refuses("tenant", "remove", "apex") == "the tenant apex cannot be removed: 1 account needs it"
    assert admin.does("account", "remove", "ann") == "account ann: removed\n"
    assert admin.does("quota", "reset", "apex") == "quota apex: reset to the defaults\n"
    assert admin.does("tenant", "remove", "apex") == "tenant apex: removed\n"


def test_a_resource_over_quota_needs_force(admin: Admin) -> None:
    admin.does("tenant", "add", "acme")
    command = ("resource", "add", "i-1", "--tenant", "acme", "--kind", "instance", "--name", "web", "--node", "hk-1")
    sizes = ("--vcpus", "21", "--ram", "1024")
    assert admin.refuses(*command, *sizes) == (
        "over quota (cores: 0 of 20 in use, 21 more requested); use --force to override"
    )
    assert admin.reads(*command, *sizes, "--force")["vcpus"] == 21
    assert admin.reads("resource", "end", "i-1")["ended"]
    assert admin.reads("resource", "list", "--tenant", "acme", "--running") == []


def test_a_price_is_named_by_kind_unit_moment_and_node(admin: Admin) -> None:
    added = admin.does(
        "price", "add", "--kind", "volume", "--unit", "gb", "--node", "hk-2", "--price", "0.5", "--from", "2027-01-01"
    )
    assert added == "price volume/gb/2027-01-01T00:00:00Z/hk-2: added\n"
    changed = admin.reads("price", "change", "volume/gb/2027-01-01/hk-2", "--node", "", "--price", "0.25")
    assert changed == {"kind": "volume", "unit": "gb", "price": "0.25", "from": "2027-01-01T00:00:00Z"}
    assert admin.does("price", "remove", "volume/gb/2027-01-01") == "price volume/gb/2027-01-01: removed\n"


def test_a_price_of_a_type_has_it_in_its_key_and_its_line(admin: Admin) -> None:
    kind = ("--kind", "instance", "--unit", "each", "--type", "m1/small", "--price", "0.12", "--from", "2027-01-01")
    key = "instance:m1%2Fsmall/each/2027-01-01T00:00:00Z"
    assert admin.does("price", "add", *kind) == f"price {key}: added\n"
    record = {"kind": "instance", "unit": "each", "type": "m1/small", "price": "0.12", "from": "2027-01-01T00:00:00Z"}
    assert admin.reads("price", "list", "--type", "m1/small") == [record]
    head, line = admin.does("price", "list", "--type", "m1/small").splitlines()
    assert dict(zip(head.split("\t"), line.split("\t"), strict=True))["type"] == "m1/small"
    changed = admin.reads("price", "change", key, "--type", "")
    assert changed == {name: value for name, value in record.items() if name != "type"}


def test_the_project_of_a_tenant_is_set_shown_found_and_taken_away(admin: Admin) -> None:
    project = "b14723e1@https://identity.example.com"
    assert admin.does("tenant", "add", "acme", "--project", f"{project}/v3") == "tenant acme: added\n"
    assert admin.reads("tenant", "show", "acme") == {"name": "acme", "project": project}
    assert admin.reads("tenant", "list", "--project", f"{project}/") == [{"name": "acme", "project": project}]
    assert project in admin.does("tenant", "list")
    assert admin.reads("tenant", "change", "acme", "--project", "") == {"name": "acme"}


def test_times_are_in_the_zone_that_is_given(admin: Admin) -> None:
    command = ("news", "add", "--title", "x", "--url", "https://e.example.com/", "--date", "2027-01-01")
    assert admin.reads(*command, "--time-zone", "Asia/Shanghai")["date"] == "2026-12-31T16:00:00Z"


def test_structured_parts_come_as_json_or_from_a_file(admin: Admin, tmp_path: Path) -> None:
    (tmp_path / "origin.json").write_text('{"originIps": ["192.0.2.7"], "advOriginConfigs": {"weight": 1.50}}')
    changed = admin.does(
        "domain", "change", "206813", "--cache-behaviors", '[{"ttl": 5}]',
        "--origin-config", f"@{tmp_path / 'origin.json'}", "--service-areas", "mainland", "--json",
    )  # fmt: skip
    assert json.loads(changed)["cacheBehaviors"] == [{"ttl": 5}]
    assert json.loads(changed)["serviceAreas"] == "mainland"
    assert '"weight": 1.50' in changed


@pytest.mark.parametrize(
    ("arguments", "words"),
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
        (["audit", "--access", "--subject", "x"], "--subject: access log entries have no subject"),
        (["account", "password", "demo", "--password-stdin", "--password-file", "x"], "not allowed with argument"),
        (["account", "password", "demo", "secret"], "unexpected argument: secret"),
        (["price", "fly"], "invalid choice: 'fly'"),
        (["flavor", "add", "--nmae", "x"], "unknown option --nmae (did you mean --name?)"),
        (["flavor", "add", "9", "--vcpu=1"], "unknown option --vcpu (did you mean --vcpus?)"),
        (["domain", "change", "206813", "--service_areas", "hk"], "did you mean --service-areas?"),
        (["tenant", "--json", "list"], "unknown option --json: put a command's options after the command"),
    ],
)  # fmt: skip
def test_wrong_usage_is_explained(admin: Admin, arguments: list[str], words: str) -> None:
    assert words in admin.explains(*arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
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
def test_what_does_not_fit_is_refused_in_one_line(admin: Admin, arguments: list[str], words: str) -> None:
    before = admin.does("dump")
    assert words in admin.refuses(*arguments)
    assert admin.does("dump") == before


def test_a_dump_with_names_of_old_loads_into_the_store_it_is_of_and_into_no_other(admin: Admin, tmp_path: Path) -> None:
    with opened(admin.data, "cloud") as engine, engine.begin() as connection:
        connection.execute(tenants.update().where(tenants.c.name == "other").values(name="other "))
    file = str(tmp_path / "cloud.yaml")
    admin.does("dump", file)
    assert admin.does("load", file) == "nothing to change\n"
    code, _, errors = Admin(tmp_path / "new", admin.output)("load", file)
    assert code == 1
    assert errors.endswith(".name: must not begin or end with a space\n")
    assert not (tmp_path / "new").exists()


def test_where_there_is_no_store_none_is_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    admin = Admin(tmp_path / "nowhere", capsys)
    assert "no store in" in admin.refuses("tenant", "list")
    assert "no store in" in admin.refuses("tenant", "add", "acme")
    assert "no store in" in admin.refuses("audit", "--access")
    assert not (tmp_path / "nowhere").exists()


# Lists


def test_a_cut_list_says_where_to_go_on(admin: Admin) -> None:
    whole = admin.reads("flavor", "list")
    code, output, errors = admin("flavor", "list", "--limit", "2", "--json")
    assert (code, json.loads(output)) == (0, whole[:2])
    after = errors.removeprefix("more results: continue with --after ").rstrip()
    assert admin.reads("flavor", "list", "--after", after) == whole[2:]


def test_filters_narrow_a_list(admin: Admin) -> None:
    everything = admin.reads("resource", "list")
    wanted = [one for one in everything if one["tenant"] == "demo" and one["kind"] == "volume"]
    assert admin.reads("resource", "list", "--tenant", "demo", "--kind", "volume") == wanted != []
    first = everything[0]
    assert first in admin.reads("resource", "list", "--prefix", first["id"])
    assert first in admin.reads("resource", "list", "--prefix", first["name"][:3])
    assert admin.reads("resource", "list", "--prefix", "no such thing") == []


def test_a_long_list_is_whole_when_it_is_not_for_a_terminal(admin: Admin) -> None:
    assert len(admin.does("flavor", "list").splitlines()) == 51


# Passwords


def test_a_password_comes_from_a_file(admin: Admin, password_file: str) -> None:
    assert admin.does("account", "password", "demo", "--password-file", password_file) == (
        "account demo: password changed, sessions ended\n"
    )
    assert password_matches(stored_hash(admin.data, "demo"), "a secret word")


@pytest.mark.parametrize("line", [b"a secret word\n", b"a secret word\r\nanother line\n", b"a secret word"])
def test_a_password_comes_as_one_line_on_standard_input(
    admin: Admin, monkeypatch: pytest.MonkeyPatch, line: bytes
) -> None:
    give_input(monkeypatch, line)
    admin.does("account", "password", "demo", "--password-stdin")
    assert password_matches(stored_hash(admin.data, "demo"), "a secret word")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "a password must have 8 to 1024 characters"),
        (b"\n", "a password must have 8 to 1024 characters"),
        (b"x" * 1025 + b"\n", "a password must have 8 to 1024 characters"),
        (b"x" * 100_000, "a password must have 8 to 1024 characters"),
        (b"\xff\n", "must be UTF-8 text"),
    ],
)
def test_what_is_no_password_is_refused(
    admin: Admin, monkeypatch: pytest.MonkeyPatch, content: bytes, words: str
) -> None:
    before = stored_hash(admin.data, "demo")
    give_input(monkeypatch, content)
    assert words in admin.refuses("account", "password", "demo", "--password-stdin")
    assert stored_hash(admin.data, "demo") == before


@pytest.mark.parametrize(
    "arguments", [("password", "operator"), ("add", "ann", "--tenant", "demo", "--role", "operator")]
)
def test_an_operators_password_needs_twelve_characters(
    admin: Admin, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    give_input(monkeypatch, b"eleven char\n")
    refused = admin.refuses("account", *arguments, "--password-stdin")
    assert "an operator's password must have 12 to 1024 characters" in refused


@pytest.mark.parametrize("name", ["", "missing", "empty"])
def test_a_file_without_a_password_is_refused(admin: Admin, tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").write_text("\n")
    assert str(tmp_path / name) in admin.refuses("account", "password", "demo", "--password-file", str(tmp_path / name))


def test_without_a_terminal_a_password_must_be_handed_over(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    give_input(monkeypatch, b"secret\n")
    assert "pass --password-stdin or --password-file" in admin.refuses("account", "add", "ann", "--tenant", "demo")


def test_no_password_or_hash_is_printed_or_noted(admin: Admin, password_file: str) -> None:
    said = admin.does("account", "add", "ann", "--tenant", "demo", "--password-file", password_file, "--json")
    said += admin.does("account", "password", "ann", "--password-file", password_file, "--json")
    said += admin.does("account", "show", "ann") + admin.does("account", "list") + admin.does("audit", "--json")
    assert "a secret word" not in said
    assert "argon2" not in said


# The trail


def test_the_audit_tells_who_changed_what(admin: Admin) -> None:
    admin.does("flavor", "change", "1", "--ram", "640")
    admin.does("flavor", "disable", "1")
    heading, last, before_that, *_ = admin.does("audit").splitlines()
    assert heading.split("\t") == ["id", "at", "actor", "change", "subject", "what"]
    assert last.split("\t")[3:] == ["flavor.disable", "1", "disabled: nothing -> yes"]
    assert before_that.split("\t")[3:] == ["flavor.change", "1", "ram: 512 -> 640"]
    (line,) = admin.reads("audit", "--subject", "1", "--change", "flavor.change")
    assert (line["before"]["ram"], line["after"]["ram"]) == (512, 640)
    assert admin.reads("audit", "--until", "2020-01-01") == []
    assert [one["change"] for one in admin.reads("audit", "--after", str(line["id"]))] == ["load"]


def test_what_was_refused_is_not_in_the_audit(admin: Admin) -> None:
    before = admin.does("audit")
    admin.refuses("tenant", "add", "demo")
    assert admin.does("audit") == before


def test_the_access_trail_has_columns_of_its_own(admin: Admin) -> None:
    assert admin.does("audit", "--access") == "id\tat\tevent\tusername\taddress\trequest_id\n"
    assert admin.reads("audit", "--access", "--actor", "demo") == []


# Before a password is asked for


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["demo", "--tenant", "demo"], "USERNAME: account demo already exists"),
        (["ann", "--tenant", "nowhere"], "--tenant: there is no tenant nowhere"),
        (["ann", "--tenant", "demo", "--role", "king"], "--role: must be 'tenant' or 'operator'"),
    ],
)
def test_an_account_that_cannot_be_added_is_refused_before_its_password_is_read(
    admin: Admin, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    give_input(monkeypatch, b"typed in vain\n")
    assert admin.refuses("account", "add", *arguments, "--password-stdin") == words
    assert sys.stdin.buffer.read() == b"typed in vain\n"


# The throttle


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
def test_an_address_may_be_written_as_a_proxy_writes_it(admin: Admin, network: str, address: str) -> None:
    with opened(admin.data, "activity") as engine, engine.begin() as connection:
        for failed_from in (network, "198.51.100.7"):
            row = {"network": failed_from, "user_hash": hash_username("demo"), "at": 1}
            connection.execute(insert(login_failures).values(row))
    done = admin.reads("account", "clear-throttle", "demo", "--address", address)
    assert done == {"address": network, "failures": 1}
    assert admin.reads("account", "clear-throttle", "demo") == {"failures": 1}


def test_a_flag_that_is_near_to_none_is_not_taken_for_another(admin: Admin) -> None:
    assert admin.explains("resource", "change", "v-1", "--kind", "volume") == "unknown option --kind"
