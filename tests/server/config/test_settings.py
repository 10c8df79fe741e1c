"""Settings: defaults, sources, and errors that name the invalid setting and suggest a fix."""

from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from cloudconsole.backends.openstack.config import Endpoint
from cloudconsole.server.config.identity_endpoints import IdentityEndpoint
from cloudconsole.server.config.loader import load_settings
from cloudconsole.server.config.settings import CLIENT_VARIABLES, SettingError, Settings
from cloudconsole.server.config.types import ListenAddress
from tests.other_users import chown_to_other_user

FILE = Path(__file__)
CERTIFICATE = Path(__file__).parents[2] / "certificates" / "rsa.pem"


def keystone(address: str, url: str, **fields: Any) -> IdentityEndpoint:
    return IdentityEndpoint(address, "keystone", Endpoint(url, **fields))


# Settings of every kind; docs/reference/settings.md, which is generated, pins the kind, range and default of each.
VALID: dict[str, list[tuple[str, Any]]] = {
    "port": [("0", 0), ("65535", 65535), ("08080", 8080)],
    "workers": [("1", 1), ("64", 64)],
    "token_keys": [("/srv/a file.pem", Path("/srv/a file.pem"))],
    "any_region": [
        *((yes, True) for yes in ("True", "YES", "on", "1")),
        *((no, False) for no in ("False", "no", "off", "0")),
    ],
    "host": [("0.0.0.0", "0.0.0.0"), ("::1", "::1"), ("LocalHost", "localhost"), ("my-host_1.lan", "my-host_1.lan")],
    "data": [("/srv/console", Path("/srv/console")), ("a folder", Path("a folder"))],
    "hosts": [("", ()), (" A.Example , b.example:8443,[2001:DB8::1],, ", ("a.example", "b.example", "2001:db8::1"))],
    "public_origin": [("HTTPS://A.Example:443/", "https://a.example"), ("http://[::1]:8000", "http://[::1]:8000")],
    "proxies": [
        ("", ()),
        ("10.0.0.1", (ip_network("10.0.0.1/32"),)),
        ("10.0.0.7/8, 2001:db8::/32", (ip_network("10.0.0.0/8"), ip_network("2001:db8::/32"))),
    ],
    "identity": [
        ("", ()),
        (
            "keystone+https://Id.example/v3, http://b:5000",
            (keystone("https://Id.example/v3", "https://id.example"), IdentityEndpoint("http://b:5000", "local")),
        ),
    ],
    "database": [
        (text, text)
        for text in ("postgresql://c@d/c", "postgres://c:s@a:5433,b/c?sslmode=verify-full", "postgresql:///c?host=/run")
    ],
    "currency": [("USD", "USD")],
    "provider": [("云 Example", "云 Example")],
    "time_zone": [("Asia/Shanghai", "Asia/Shanghai")],
    "log_format": [("auto", "auto"), ("json", "json"), ("pretty", "pretty")],
    "metrics": [
        ("127.0.0.1:9464", ListenAddress("127.0.0.1", 9464)),
        ("[::1]:0", ListenAddress("::1", 0)),
        ("LocalHost:65535", ListenAddress("localhost", 65535)),
    ],
}

# Invalid values, and a part of the fix that the error must suggest.
INVALID: dict[str, list[tuple[str, str]]] = {
    "workers": [(text, "a whole number from 1 to 64") for text in ("0", "65", "-1")],
    "any_region": [(text, "true or false") for text in ("", "maybe", "2", "tru")],
    "token_keys": [("", "a file"), ("a\0b", "a file")],
    "host": [("", "127.0.0.1"), ("http://localhost", "127.0.0.1"), ("a b", "::1"), ("*", "127.0.0.1")],
    "port": [(text, "from 0 to 65535") for text in ("", "-1", "65536", "http", "80.5", "1e3", " 80", "٨٠", "9" * 20)],
    "data": [("", "a directory"), ("a\0b", "a directory"), (str(FILE), "is a file, not a directory")],
    "hosts": [(text, "console.example.com") for text in ("https://a", "a.example,b b", "a/b", "*.example", "a,:80")],
    "public_origin": [
        (text, "https://console.example.com")
        for text in ("", "console.example.com", "https://a.example/path", "ftp://a", "https://u@a", "null", "*")
    ],
    "proxies": [(text, "10.0.0.0/8") for text in ("proxy.example", "10.0.0.0/33", "10.0.0.1:80", "10.0.0.1,x", "*")],
    "identity": [
        *(
            (text, "https://identity.example.com/v3")
            for text in ("RegionOne", "https://u:p@a/v3", "https://a/v3?x", "https://a/v3#x", "http://a,b", "keystone+")
        ),
        *((text, "keystone+https://identity.example.com/v3") for text in ("skyline+http://a", "Keystone+http://a")),
    ],
    "database": [
        *((text, "postgresql://console@db.example.com/console") for text in ("", "mysql://a/b", "postgresql")),
        ("postgresql://a/b?sslmode=verify-full&colour=red", "invalid URI query parameter"),
        ("postgresql://a\0b/c", "a PostgreSQL URL"),
    ],
    "currency": [(text, "CNY") for text in ("", "cny", "YUAN", "¥", "US")],
    "provider": [(text, "Example Cloud") for text in ("", " ", "a\nb", "x" * 256)],
    "time_zone": [(text, "Asia/Shanghai") for text in ("", "Beijing/Nowhere", "Asia", "../UTC", "/etc/UTC", "UTC\x00")],
    "log_format": [(text, "auto, json or pretty") for text in ("", "JSON", "xml")],
    "metrics": [(text, "127.0.0.1:9464") for text in ("", "9464", ":9464", "a", "a:65536", "::1:9464", "http://a:1")],
}

# Values as written in a TOML file.
VALID_IN_FILE: dict[str, list[tuple[str, Any]]] = {
    "port": [("0", 0), ("65_535", 65535)],
    "data": [('"/srv/console"', Path("/srv/console"))],
    "hosts": [("[]", ()), ('["A.Example", "b.example:8443"]', ("a.example", "b.example"))],
    "identity": [
        ("[]", ()),
        ('[{address = "https://a.example"}]', (IdentityEndpoint("https://a.example", "local"),)),
        ('[{address = "https://A.org/v3", kind = "keystone"}]', (keystone("https://A.org/v3", "https://a.org"),)),
        (
            '[{address = "https://a.example", kind = "keystone", user_domain = "users", '
            'user_domains = ["partners"], interface = "internal", regions = ["RegionOne", "north 2"], '
            f'project = "main", ca_file = "{CERTIFICATE}"}}]',
            (
                keystone(
                    "https://a.example",
                    "https://a.example",
                    user_domain="users",
                    user_domains=("partners",),
                    interface="internal",
                    regions=("RegionOne", "north 2"),
                    project="main",
                    ca_file=CERTIFICATE,
                ),
            ),
        ),
    ],
    "any_region": [("true", True), ("false", False)],
    "log_format": [('"json"', "json")],
}
INVALID_IN_FILE: dict[str, list[tuple[str, str]]] = {
    "host": [("1", "must be an address"), ('""', "127.0.0.1")],
    "port": [
        (text, "must be a whole number from 0 to 65535")
        for text in ('"8000"', "80.0", "true", "-1", "65536", "[1]", "2026-01-01", "{}", "nan")
    ],
    "data": [("1", "a directory"), ('""', "a directory"), (f"'{FILE}'", "is a file")],
    "hosts": [('"a.example"', "a list, each a host name"), ("[1]", "1 is not a host name"), ('["a b"]', "'a b' is")],
    "identity": [
        *((text, "[[identity]]") for text in ('"https://a.example"', '["https://a"]', '{address = "https://a"}')),
        ("[{}]", "'' is not an identity address, such as https://identity.example.com/v3"),
        ("[{address = 1}]", "1 is not an identity address"),
        ('[{address = "RegionOne"}]', "'RegionOne' is not an identity address"),
        ('[{address = "https://a.example", kind = "skyline"}]', "use one of: local, keystone"),
        ('[{address = "https://a.example", kind = ["local"]}]', "use one of: local"),
        ('[{address = "https://a.example", regions = ["a"]}]', "of kind local has address and kind, not 'regions'"),
        ('[{address = "", kind = "keystone"}]', "'' is not an identity address"),
        *(
            (f'[{{address = "https://a.example/{path}", kind = "keystone"}}]', "must end with at most one /v3 or slash")
            for path in ("v3/v3", "//")
        ),
        *(
            (f'[{{address = "https://a.example", kind = "keystone", {field}}}]', fix)
            for field, fix in (
                ('user_domain = ""', "user_domain: must be a domain name, such as Default"),
                ('user_domain = " a"', "user_domain: must be"),
                ('user_domains = "a"', "user_domains: must be a list, each a domain name"),
                ('user_domains = [""]', "user_domains: '' is not a domain name"),
                ("project = 1", "project: must be a project name"),
                ('project = "a\\u0000b"', "project: must be"),
                ('interface = "private"', "interface: must be public, internal or admin"),
                ('regions = "RegionOne"', "regions: must be a list, each a region name"),
                ('regions = [""]', "regions: '' is not a region name"),
                ('ca_file = "/nowhere/ca.pem"', "ca_file: /nowhere/ca.pem is not a PEM file of certificates"),
                (f'ca_file = "{FILE}"', "is not a PEM file of certificates"),
                ('application_credentials = "/nowhere/file"', "the application credentials in /nowhere/file cannot be"),
                ('password = "x"', "ca_file and application_credentials, not 'password'"),
                ('auth_url = "https://a.example"', "not 'auth_url'; use address"),
                ('user_domain_name = "Default"', "use user_domain"),
                ('cacert = "ca.pem"', "use ca_file"),
            )
        ),
        ('[{adress = "https://a.example"}]', "address and kind, not 'adress'"),
        ('[{address = "https://a.example", port = 1}]', "move [[identity]] to the end"),
    ],
    "any_region": [(text, "must be true or false") for text in ('"true"', "1", "0", "[]")],
    "log_format": [("true", "auto, json or pretty"), ("[]", "auto, json or pretty")],
}


def flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def variable(name: str) -> str:
    return "CLOUDCONSOLE_" + name.upper()


def load_error(environment: dict[str, str], **flags: str) -> str:
    with pytest.raises(SettingError) as error:
        load_settings(environment, flags)
    return str(error.value)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cloudconsole.toml"


def from_file(file: Path, content: str, environment: dict[str, str] | None = None, **flags: str) -> Settings:
    file.write_text(content)
    return load_settings(environment or {}, {"config": str(file), **flags})


def file_error(file: Path, content: str | bytes) -> str:
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return load_error({}, config=str(file))


def cases(table: dict[str, list[tuple[str, Any]]]) -> list[Any]:
    return [
        pytest.param(name, text, expected, id=f"{name}-{number}")
        for name, examples in table.items()
        for number, (text, expected) in enumerate(examples)
    ]


@pytest.mark.parametrize(("name", "text", "value"), cases(VALID))
def test_a_setting_is_read_from_its_variable_and_its_flag(name: str, text: str, value: Any) -> None:
    assert getattr(load_settings({variable(name): text}), name) == value
    assert getattr(load_settings({}, {name: text}), name) == value


@pytest.mark.parametrize(("name", "text", "value"), cases(VALID_IN_FILE))
def test_a_setting_is_read_from_the_file(name: str, text: str, value: Any, file: Path) -> None:
    assert getattr(from_file(file, f"{name} = {text}"), name) == value


@pytest.mark.parametrize(("name", "text", "fix"), cases(INVALID_IN_FILE))
def test_invalid_value_in_the_file_is_reported_with_a_fix(name: str, text: str, fix: str, file: Path) -> None:
    error = file_error(file, f"{name} = {text}")
    assert error.startswith(f"{file}: {name}: ")
    assert fix in error
    assert "\n" not in error


@pytest.mark.parametrize(("name", "text", "fix"), cases(INVALID))
def test_invalid_variable_or_flag_is_reported_with_a_fix(name: str, text: str, fix: str) -> None:
    errors = {variable(name): load_error({variable(name): text}), flag(name): load_error({}, **{name: text})}
    for source, error in errors.items():
        assert error.startswith(f"{source}: ")
        assert fix in error


def test_environment_overrides_the_file_and_a_flag_overrides_both(file: Path) -> None:
    environment = {variable("port"): "11", variable("workers"): "12", variable("hosts"): ""}
    content = 'port = 1\nworkers = 2\nmax_body = 3000\nhosts = ["a.example"]'
    settings = from_file(file, content, environment, port="21")
    assert (settings.port, settings.workers, settings.max_body, settings.hosts) == (21, 12, 3000, ())
    assert load_settings({variable("port"): "1111"}, {"port": None}).port == 1111


def test_environment_of_the_process_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUDCONSOLE_PORT", "3333")
    assert load_settings().port == 3333


@pytest.mark.parametrize(("name", "nearest"), [("PROT", "PORT"), ("HOSTS_", "HOSTS"), ("", None)])
def test_unknown_cloudconsole_variable_is_rejected(name: str, nearest: str | None) -> None:
    hint = "unknown setting (" if nearest is None else f"did you mean CLOUDCONSOLE_{nearest}? "
    error = load_error({f"CLOUDCONSOLE_{name}": "1"})
    assert error.startswith(f"CLOUDCONSOLE_{name}: ")
    assert hint in error


@pytest.mark.parametrize(("key", "nearest"), [("prot", "port"), ("public-origin", "public_origin"), ("Host", "host")])
def test_unknown_setting_suggests_the_closest_match(key: str, nearest: str, file: Path) -> None:
    message = f"unknown setting; did you mean {nearest}? "
    assert file_error(file, f"{key} = 1").startswith(f"{file}: {key}: {message}")


@pytest.mark.parametrize("key", ["config", "zzz", '"a\\nb"', "server.port"])
def test_unknown_setting_without_a_match_is_rejected_in_one_line(key: str, file: Path) -> None:
    error = file_error(file, f"{key} = 1")
    assert ": unknown setting (see cloudconsole serve --help)" in error
    assert "\n" not in error


@pytest.mark.parametrize("name", [*sorted(CLIENT_VARIABLES), "PORT", "CLOUDCONSOLE", "MY_CLOUDCONSOLE_PORT"])
def test_other_variables_are_ignored(name: str) -> None:
    assert load_settings({name: "nonsense"}) == Settings()


def test_environment_can_name_the_file_unless_the_flag_does(file: Path) -> None:
    file.write_text("port = 1")
    assert load_settings({"CLOUDCONSOLE_CONFIG": str(file)}).port == 1
    assert load_settings({"CLOUDCONSOLE_CONFIG": "/nowhere/at/all.toml"}, {"config": str(file)}).port == 1


@pytest.mark.parametrize("content", ["", "# nothing\n", "\N{BYTE ORDER MARK}# nothing"])
def test_empty_file_leaves_the_defaults(file: Path, content: str) -> None:
    assert from_file(file, content) == Settings()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"port = \n", "not TOML: Invalid value (at line 1, column 8)"),
        (b"host = 'a'\nport 8000\n", "line 2, column 6"),
        (b"port = 1\nport = 2\n", "line 2"),
        (b"host = '\xff'\n", "not UTF-8 text"),
        (b"hosts = " + b"[" * 100_000, "not TOML: "),
        (b"port = " + b"9" * 5000, "not TOML: "),
        (b"\x00\x01\x02", "not TOML: "),
    ],
)
def test_file_that_is_not_toml_is_rejected_in_one_line(content: bytes, message: str, file: Path) -> None:
    error = file_error(file, content)
    assert error.startswith(f"--config: {file}: ")
    assert message in error
    assert "\n" not in error


def test_file_that_everyone_can_write_is_rejected(file: Path) -> None:
    file.write_text("port = 1")
    file.chmod(0o646)
    error = load_error({}, config=str(file))
    assert error == f"--config: {file} can be written by every user of this machine: run chmod o-w on it"
    file.chmod(0o664)
    assert load_settings({}, {"config": str(file)}).port == 1


def test_file_of_another_user_is_rejected(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("port = 1")
    owner, current_user = chown_to_other_user(file, monkeypatch)
    expected = f"--config: {file} belongs to {owner}, who can change it: run chown {current_user} on it"
    assert load_error({}, config=str(file)) == expected


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/nowhere/at/all.toml", "/nowhere/at/all.toml: No such file or directory"),
        ("/", "/: Is a directory"),
        ("", "must be a file"),
        ("a\0b", "must be a file"),
    ],
)
def test_unreadable_file_is_reported_with_its_source(path: str, message: str) -> None:
    assert load_error({}, config=path) == f"--config: {message}"
    assert load_error({"CLOUDCONSOLE_CONFIG": path}) == f"CLOUDCONSOLE_CONFIG: {message}"


def test_all_errors_are_reported_together(file: Path) -> None:
    file.write_text("port = true\nworkers = 2\nprot = 1")
    with pytest.raises(SettingError) as error:
        load_settings({variable("max_body"): "1"}, {"config": str(file), "currency": "x"})
    sources = [line.rpartition(": ")[0] for line in str(error.value).splitlines()]
    assert sources == [f"{file}: port", f"{file}: prot", variable("max_body"), "--currency"]


TLS = {"tls_certificate": "c.pem", "tls_key": "k.pem"}
ORIGIN = {"public_origin": "https://console.example.com"}
KEYSTONE_AND_DATABASE = {"identity": "keystone+https://a.example", "database": "postgresql:///c"}
LOOPBACK = [{}, {"host": "::1"}, {"host": "LOCALHOST"}, {"hosts": "localhost,[::1]"}, {"public_origin": "http://[::1]"}]
OTHERS = [*({"host": host} for host in ("0.0.0.0", "::", "a.example")), {"hosts": "localhost,a.example"}, ORIGIN]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tls_certificate": "c.pem"}, "tls_key: set the key"),
        ({"tls_key": "k.pem"}, "tls_certificate: set the certificate"),
        ({**TLS, "public_origin": "http://a.example"}, "public_origin: must be https"),
        ({"hsts": "0", "hsts_include_subdomains": "true"}, "hsts_include_subdomains: set hsts above 0"),
        ({"host": "::1", "port": "9464", "metrics": "[::1]:9464"}, "metrics: must differ from the console's own"),
        ({**ORIGIN, "hosts": "other.example"}, "hosts: add console.example.com"),
        ({"any_region": "true", "identity": "https://a.example,keystone+https://b.example"}, "any_region: remove it"),
        (KEYSTONE_AND_DATABASE, "token_keys: set a file that all replicas share"),
        ({"database_password_file": "p"}, "database: set the database of database_password_file"),
        *(
            ({"identity": f"https://a.example/v3,{second}"}, "identity: https://a.example is listed more than once")
            for second in ("https://a.example", "HTTPS://A.example:443/v3/", "keystone+https://a.example")
        ),
    ],
)
def test_conflicting_settings_are_rejected(given: dict[str, str], message: str) -> None:
    with pytest.raises(SettingError) as error:
        load_settings({}, given)
    assert str(error.value).startswith(message)
    # Doctor continues without them.
    assert error.value.settings & set(given)


@pytest.mark.parametrize(
    "given",
    [
        {**TLS, **ORIGIN},
        {"port": "9464", "metrics": "[::1]:9464"},
        {"port": "0", "metrics": "127.0.0.1:0"},
        {"session_idle": "3600", "session_lifetime": "600"},
        {"any_region": "true", "identity": "https://a.example"},
        {**ORIGIN, "hosts": "other.example,Console.Example.Com:443"},
        {**KEYSTONE_AND_DATABASE, "token_keys": "/srv/keys"},
    ],
)
def test_settings_without_a_real_conflict_are_accepted(given: dict[str, str]) -> None:
    assert load_settings({}, given) != Settings()


def test_every_conflict_is_reported() -> None:
    message = load_error({}, tls_key="k.pem", port="1", metrics="127.0.0.1:1", database_password_file="p")
    assert [line.partition(":")[0] for line in message.splitlines()] == ["metrics", "tls_certificate", "database"]


@pytest.mark.parametrize("address", ["console:secret@[::1/console", "u:secret%zz@h", "u:secret%00@h/c"])
def test_password_in_a_database_url_is_never_shown(address: str) -> None:
    message = load_error({}, database=f"postgresql://{address}")
    assert "secret" not in message
    assert message.startswith("--database: ")


@pytest.mark.parametrize(
    ("given", "expected"),
    [*((given, True) for given in LOOPBACK), *((given, False) for given in (*OTHERS, {"proxies": "127.0.0.1"}))],
)
def test_only_this_machine_requires_loopback_and_no_proxies(given: dict[str, str], expected: bool) -> None:
    assert load_settings({}, given).only_this_machine == expected
