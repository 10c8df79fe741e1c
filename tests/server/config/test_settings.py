"""Settings: defaults, sources, and errors that name the invalid setting and suggest a fix."""

from ipaddress import ip_network
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from cloudconsole.backends.openstack.config import Endpoint
from cloudconsole.server.config.identity_endpoints import IdentityEndpoint
from cloudconsole.server.config.loader import load_settings
from cloudconsole.server.config.settings import CLIENT_VARIABLES, SETTINGS, Setting, SettingError, Settings
from cloudconsole.server.config.types import ListenAddress

FILE = Path(__file__)
CERTIFICATE = Path(__file__).parents[2] / "certificates" / "rsa.pem"


def keystone(address: str, url: str, **fields: Any) -> IdentityEndpoint:
    return IdentityEndpoint(address, "keystone", Endpoint(url, **fields))


VALID: dict[str, list[tuple[str, Any]]] = {
    "host": [("0.0.0.0", "0.0.0.0"), ("::1", "::1"), ("LocalHost", "localhost"), ("my-host_1.lan", "my-host_1.lan")],
    "port": [("0", 0), ("1", 1), ("65535", 65535), ("08080", 8080)],
    "workers": [("1", 1), ("64", 64)],
    "tls_certificate": [("/srv/certificate.pem", Path("/srv/certificate.pem"))],
    "tls_key": [("a key.pem", Path("a key.pem"))],
    "hsts": [("0", 0), ("63072000", 63_072_000)],
    "hsts_include_subdomains": [("true", True), ("no", False)],
    "data": [("/srv/console", Path("/srv/console")), ("a folder", Path("a folder"))],
    "hosts": [
        ("", ()),
        ("console.example.com", ("console.example.com",)),
        (" A.Example , b.example:8443,[2001:DB8::1],, ", ("a.example", "b.example", "2001:db8::1")),
    ],
    "public_origin": [
        ("https://console.example.com", "https://console.example.com"),
        ("HTTPS://Console.Example.com:443/", "https://console.example.com"),
        ("http://[::1]:8000", "http://[::1]:8000"),
    ],
    "proxies": [
        ("", ()),
        ("10.0.0.1", (ip_network("10.0.0.1/32"),)),
        ("10.0.0.7/8, 2001:db8::/32", (ip_network("10.0.0.0/8"), ip_network("2001:db8::/32"))),
    ],
    "identity": [
        ("", ()),
        (
            "https://identity.example.com/v3, http://b.example:5000",
            (IdentityEndpoint("https://identity.example.com/v3", "local"), IdentityEndpoint("http://b.example:5000")),
        ),
        (
            "keystone+https://Identity.example.com/v3, http://b.example:5000",
            (
                keystone("https://Identity.example.com/v3", "https://identity.example.com"),
                IdentityEndpoint("http://b.example:5000"),
            ),
        ),
    ],
    "any_region": [("true", True), ("false", False), ("YES", True), ("off", False), ("1", True), ("0", False)],
    "login_redirect": [("on", True), ("no", False)],
    "admin_ui": [("on", True), ("no", False)],
    "session_idle": [("120", 120), ("31536000", 31_536_000)],
    "session_lifetime": [("60", 60), ("31536000", 31_536_000)],
    "max_body": [("1024", 1024), ("1048576", 1_048_576)],
    "request_timeout": [("1", 1), ("3600", 3600)],
    "max_connections": [("16", 16), ("1000000", 1_000_000)],
    "stop_grace": [("0", 0), ("3600", 3600)],
    "worker_timeout": [("0", 0), ("3600", 3600)],
    "password_min_length": [("8", 8), ("128", 128)],
    "identity_recheck": [("0", 0), ("3600", 3600)],
    "cloud_cache": [("0", 0), ("3600", 3600)],
    "flavor_cache": [("0", 0), ("86400", 86_400)],
    "cloud_call_timeout": [("1", 1), ("600", 600)],
    "cloud_timeout": [("1", 1), ("600", 600)],
    "cloud_concurrency": [("1", 1), ("1000", 1000)],
    "database": [
        (text, text)
        for text in (
            "postgresql://console@db.example.com/console",
            "postgres://console:secret@db1.example.com:5433,db2.example.com/console?sslmode=verify-full",
            "postgresql:///console?host=/run/postgresql",
        )
    ],
    "database_password_file": [("/srv/password", Path("/srv/password"))],
    "token_keys": [("/srv/token-keys", Path("/srv/token-keys"))],
    "currency": [("USD", "USD")],
    "time_zone": [("Asia/Shanghai", "Asia/Shanghai")],
    "access_log": [("True", True)],
    "log_format": [("auto", "auto"), ("json", "json"), ("pretty", "pretty")],
    "metrics": [
        ("127.0.0.1:9464", ListenAddress("127.0.0.1", 9464)),
        ("[::1]:0", ListenAddress("::1", 0)),
        ("LocalHost:65535", ListenAddress("localhost", 65535)),
    ],
    "insecure_sample": [("True", True)],
}

# Invalid values, and a part of the fix that the error must suggest.
INVALID: dict[str, list[tuple[str, str]]] = {
    "host": [("", "127.0.0.1"), ("http://localhost", "127.0.0.1"), ("a b", "::1"), ("*", "127.0.0.1")],
    "port": [(text, "from 0 to 65535") for text in ("", "-1", "65536", "http", "80.5", "1e3", " 80", "٨٠", "9" * 20)],
    "workers": [(text, "from 1 to 64") for text in ("0", "65", "all", "-1")],
    "tls_certificate": [("", "a file"), ("a\0b", "a file")],
    "tls_key": [("", "a file")],
    "hsts": [(text, "from 0 to 63072000") for text in ("-1", "63072001", "1y")],
    "hsts_include_subdomains": [("console.example.com", "true or false")],
    "data": [("", "a directory"), ("a\0b", "a directory"), (str(FILE), "is a file, not a directory")],
    "hosts": [
        (text, "console.example.com") for text in ("https://a.example", "a.example,b b", "a/b", "*.example", "a,:80")
    ],
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
    "any_region": [(text, "true or false") for text in ("", "maybe", "2", "tru")],
    "login_redirect": [("/", "true or false")],
    "admin_ui": [("/admin/", "true or false")],
    "session_idle": [(text, "from 120 to 31536000") for text in ("119", "31536001", "30m")],
    "session_lifetime": [(text, "from 60 to 31536000") for text in ("59", "31536001", "12h")],
    "max_body": [(text, "from 1024 to 1048576") for text in ("1023", "1048577", "64K")],
    "request_timeout": [(text, "from 1 to 3600") for text in ("0", "3601")],
    "max_connections": [(text, "from 16 to 1000000") for text in ("15", "1000001", "10k")],
    "stop_grace": [(text, "from 0 to 3600") for text in ("-1", "3601")],
    "worker_timeout": [(text, "from 0 to 3600") for text in ("-1", "3601")],
    "password_min_length": [(text, "from 8 to 128") for text in ("7", "129")],
    "identity_recheck": [(text, "from 0 to 3600") for text in ("-1", "3601", "10s")],
    "cloud_cache": [(text, "from 0 to 3600") for text in ("-1", "3601")],
    "flavor_cache": [(text, "from 0 to 86400") for text in ("-1", "86401")],
    "cloud_call_timeout": [(text, "from 1 to 600") for text in ("0", "601")],
    "cloud_timeout": [(text, "from 1 to 600") for text in ("0", "601")],
    "cloud_concurrency": [(text, "from 1 to 1000") for text in ("0", "1001")],
    "database": [
        *(
            (text, "postgresql://console@db.example.com/console")
            for text in ("", "console", "mysql://a/b", "postgresql")
        ),
        ("postgresql://a/b?sslmode=verify-full&colour=red", "invalid URI query parameter"),
        ("postgresql://a\0b/c", "a PostgreSQL URL"),
    ],
    "database_password_file": [("", "a file"), ("a\0b", "a file")],
    "token_keys": [("", "a file"), ("a\0b", "a file")],
    "currency": [(text, "CNY") for text in ("", "cny", "YUAN", "¥", "US")],
    "time_zone": [(text, "Asia/Shanghai") for text in ("", "Beijing/Nowhere", "Asia", "../UTC", "/etc/UTC", "UTC\x00")],
    "access_log": [("loud", "true or false")],
    "log_format": [(text, "auto, json or pretty") for text in ("", "JSON", "xml")],
    "metrics": [
        (text, "127.0.0.1:9464") for text in ("", "9464", ":9464", "localhost", "a:65536", "::1:9464", "http://a:9464")
    ],
    "insecure_sample": [("", "true or false")],
}

# Values as written in a TOML file.
VALID_IN_FILE: dict[str, list[tuple[str, Any]]] = {
    "port": [("0", 0), ("65_535", 65535)],
    "data": [('"/srv/console"', Path("/srv/console"))],
    "tls_certificate": [("'/srv/certificate.pem'", Path("/srv/certificate.pem"))],
    "hosts": [("[]", ()), ('["A.Example", "b.example:8443"]', ("a.example", "b.example"))],
    "public_origin": [('"HTTPS://Console.Example.com:443/"', "https://console.example.com")],
    "proxies": [('["10.0.0.7/8"]', (ip_network("10.0.0.0/8"),))],
    "identity": [
        ("[]", ()),
        ('[{address = "https://a.example"}]', (IdentityEndpoint("https://a.example", "local"),)),
        (
            '[{address = "https://a.example/v3", kind = "local"}, {address = "http://b.example"}]',
            (IdentityEndpoint("https://a.example/v3"), IdentityEndpoint("http://b.example")),
        ),
        (
            '[{address = "https://A.example/v3", kind = "keystone"}]',
            (keystone("https://A.example/v3", "https://a.example"),),
        ),
        (
            '[{address = "https://a.example", kind = "keystone", user_domain = "users", interface = "internal", '
            f'regions = ["RegionOne", "north 2"], project = "main", ca_file = "{CERTIFICATE}"}}]',
            (
                keystone(
                    "https://a.example",
                    "https://a.example",
                    user_domain="users",
                    interface="internal",
                    regions=("RegionOne", "north 2"),
                    project="main",
                    ca_file=CERTIFICATE,
                ),
            ),
        ),
    ],
    "any_region": [("true", True), ("false", False)],
    "time_zone": [('"Asia/Shanghai"', "Asia/Shanghai")],
    "log_format": [('"json"', "json")],
    "metrics": [('"127.0.0.1:9464"', ListenAddress("127.0.0.1", 9464))],
}
INVALID_IN_FILE: dict[str, list[tuple[str, str]]] = {
    "host": [("1", "must be an address"), ('""', "127.0.0.1")],
    "port": [
        (text, "must be a whole number from 0 to 65535")
        for text in ('"8000"', "80.0", "true", "-1", "65536", "[1]", "2026-01-01", "{}", "nan")
    ],
    "data": [("1", "a directory"), ('""', "a directory"), (f"'{FILE}'", "is a file")],
    "hosts": [
        ('"a.example"', "a list, each a host name"),
        ("[1]", "1 is not a host name"),
        ('["a b"]', "'a b' is not"),
    ],
    "proxies": [('["10.0.0.0/33"]', "'10.0.0.0/33' is not an IP address or network, such as 10.0.0.0/8")],
    "identity": [
        ('"https://a.example"', "[[identity]]"),
        ('["https://a.example"]', "[[identity]]"),
        ('{address = "https://a.example"}', "[[identity]]"),
        ("[{}]", "'' is not an identity address, such as https://identity.example.com/v3"),
        ('[{kind = "local"}]', "'' is not an identity address"),
        ("[{address = 1}]", "1 is not an identity address"),
        ('[{address = "RegionOne"}]', "'RegionOne' is not an identity address"),
        ('[{address = "https://a.example", kind = "skyline"}]', "use one of: local, keystone"),
        ('[{address = "https://a.example", kind = ["local"]}]', "use one of: local"),
        ('[{address = "https://a.example", regions = ["a"]}]', "of kind local has address and kind, not 'regions'"),
        ('[{address = "", kind = "keystone"}]', "'' is not an identity address"),
        ('[{address = "https://a.example/v3/v3", kind = "keystone"}]', "must end with at most one /v3 or slash"),
        ('[{address = "https://a.example///", kind = "keystone"}]', "must end with at most one /v3 or slash"),
        *(
            (f'[{{address = "https://a.example", kind = "keystone", {field}}}]', fix)
            for field, fix in (
                ('user_domain = ""', "user_domain: must be a domain name, such as Default"),
                ('user_domain = " a"', "user_domain: must be"),
                ("project = 1", "project: must be a project name"),
                ('project = "a\\u0000b"', "project: must be"),
                ('interface = "private"', "interface: must be public, internal or admin"),
                ('regions = "RegionOne"', "regions: must be a list, each a region name"),
                ('regions = [""]', "regions: '' is not a region name"),
                ('ca_file = "/nowhere/ca.pem"', "ca_file: /nowhere/ca.pem is not a PEM file of certificates"),
                (f'ca_file = "{FILE}"', "is not a PEM file of certificates"),
                ('password = "x"', "project and ca_file, not 'password'"),
                ('auth_url = "https://a.example"', "not 'auth_url'; use address"),
                ('user_domain_name = "Default"', "use user_domain"),
                ('cacert = "ca.pem"', "use ca_file"),
            )
        ),
        ('[{adress = "https://a.example"}]', "address and kind, not 'adress'"),
        ('[{address = "https://a.example", port = 1}]', "move [[identity]] to the end"),
    ],
    "any_region": [(text, "must be true or false") for text in ('"true"', "1", "0", "[]")],
    "currency": [("1", "CNY"), ('"cny"', "CNY")],
    "log_format": [("true", "auto, json or pretty"), ("[]", "auto, json or pretty")],
    "metrics": [("9464", "127.0.0.1:9464")],
}


def flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def variable(name: str) -> str:
    return "CLOUDCONSOLE_" + name.upper()


def required_with(name: str) -> dict[str, str]:
    """Return other settings that a setting requires."""
    pair = {
        "tls_certificate": ("tls_key", "/srv/the-other.pem"),
        "tls_key": ("tls_certificate", "/srv/the-other.pem"),
        "database_password_file": ("database", "postgresql://console@127.0.0.1/console"),
    }
    return dict([pair[name]]) if name in pair else {}


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


def test_every_setting_has_test_cases() -> None:
    assert set(VALID) == set(INVALID) == set(SETTINGS)
    assert {type(SETTINGS[name].kind) for name in VALID_IN_FILE} == {type(each.kind) for each in SETTINGS.values()}
    assert {type(SETTINGS[name].kind) for name in INVALID_IN_FILE} == {type(each.kind) for each in SETTINGS.values()}


@pytest.mark.parametrize(("name", "text", "value"), cases(VALID))
def test_a_setting_is_read_from_the_environment(name: str, text: str, value: Any) -> None:
    assert getattr(load_settings({variable(name): text}, required_with(name)), name) == value


@pytest.mark.parametrize(("name", "text", "value"), cases(VALID))
def test_a_setting_is_read_from_its_flag(name: str, text: str, value: Any) -> None:
    assert getattr(load_settings({}, {name: text} | required_with(name)), name) == value


@pytest.mark.parametrize(("name", "text", "value"), cases(VALID_IN_FILE))
def test_a_setting_is_read_from_the_file(name: str, text: str, value: Any, file: Path) -> None:
    assert getattr(from_file(file, f"{name} = {text}", {}, **required_with(name)), name) == value


@pytest.mark.parametrize(("name", "text", "fix"), cases(INVALID_IN_FILE))
def test_invalid_value_in_the_file_is_reported_with_a_fix(name: str, text: str, fix: str, file: Path) -> None:
    error = file_error(file, f"{name} = {text}")
    assert error.startswith(f"{file}: {name}: ")
    assert fix in error
    assert "\n" not in error


@pytest.mark.parametrize(("name", "text", "fix"), cases(INVALID))
def test_invalid_variable_is_reported_with_a_fix(name: str, text: str, fix: str) -> None:
    error = load_error({variable(name): text})
    assert error.startswith(f"{variable(name)}: ")
    assert fix in error


@pytest.mark.parametrize(("name", "text", "fix"), cases(INVALID))
def test_invalid_flag_is_reported_with_a_fix(name: str, text: str, fix: str) -> None:
    error = load_error({}, **{name: text})
    assert error.startswith(f"{flag(name)}: ")
    assert fix in error


def test_defaults_apply_without_any_settings() -> None:
    assert load_settings({}, {}) == load_settings({}) == Settings()


def test_defaults_are_limited_to_this_machine() -> None:
    settings = Settings()
    assert settings.host == "127.0.0.1"
    assert settings.only_this_machine
    assert (settings.session_idle, settings.session_lifetime, settings.max_body) == (1800, 43_200, 65_536)
    assert [settings.any_region, settings.login_redirect, settings.insecure_sample] == [False] * 3
    assert settings.proxies == ()


def test_flag_overrides_the_environment() -> None:
    settings = load_settings({"CLOUDCONSOLE_PORT": "1111", "CLOUDCONSOLE_WORKERS": "2"}, {"port": "2222"})
    assert (settings.port, settings.workers) == (2222, 2)


def test_environment_overrides_the_file_and_a_flag_overrides_both(file: Path) -> None:
    environment = {variable("port"): "11", variable("workers"): "12"}
    settings = from_file(file, "port = 1\nworkers = 2\nmax_body = 3000", environment, port="21")
    assert (settings.port, settings.workers, settings.max_body) == (21, 12, 3000)


def test_empty_list_in_the_environment_overrides_the_file(file: Path) -> None:
    assert from_file(file, 'hosts = ["a.example"]', {variable("hosts"): ""}).hosts == ()


def test_missing_flag_does_not_override_the_environment() -> None:
    assert load_settings({"CLOUDCONSOLE_PORT": "1111"}, {"port": None}).port == 1111


def test_flag_can_disable_what_the_environment_enables() -> None:
    assert not load_settings({"CLOUDCONSOLE_ANY_REGION": "true"}, {"any_region": "false"}).any_region


def test_environment_of_the_process_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUDCONSOLE_PORT", "3333")
    assert load_settings().port == 3333


@pytest.mark.parametrize("name", ["CLOUDCONSOLE_PROT", "CLOUDCONSOLE_", "CLOUDCONSOLE_HOSTS_", "CLOUDCONSOLE_ZONE"])
def test_unknown_cloudconsole_variable_is_rejected(name: str) -> None:
    with pytest.raises(SettingError, match=f"^{name}: .*--help"):
        load_settings({name: "1"})


@pytest.mark.parametrize(
    ("key", "nearest"),
    [("prot", "port"), ("public-origin", "public_origin"), ("Host", "host"), ("session_idel", "session_idle")],
)
def test_unknown_setting_suggests_the_closest_match(key: str, nearest: str, file: Path) -> None:
    message = f"unknown setting; did you mean {nearest}? "
    assert file_error(file, f"{key} = 1").startswith(f"{file}: {key}: {message}")


def test_unknown_variable_suggests_the_closest_match() -> None:
    assert "did you mean CLOUDCONSOLE_PORT? " in load_error({"CLOUDCONSOLE_PROT": "1"})


@pytest.mark.parametrize("key", ["config", "zzz", '"a\\nb"', "server.port"])
def test_unknown_setting_without_a_match_is_rejected_in_one_line(key: str, file: Path) -> None:
    error = file_error(file, f"{key} = 1")
    assert ": unknown setting (see cloudconsole serve --help)" in error
    assert "\n" not in error


@pytest.mark.parametrize("name", sorted(CLIENT_VARIABLES))
def test_client_variables_are_ignored(name: str) -> None:
    assert load_settings({name: "https://console.example.com"}) == Settings()


# The config file


def test_environment_can_name_the_file(file: Path) -> None:
    file.write_text("port = 1")
    assert load_settings({"CLOUDCONSOLE_CONFIG": str(file)}).port == 1


def test_config_flag_overrides_the_variable(file: Path) -> None:
    assert from_file(file, "port = 1", {"CLOUDCONSOLE_CONFIG": "/nowhere/at/all.toml"}).port == 1


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


# Conflicting settings


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tls_certificate": "c.pem"}, "tls_key: set the key"),
        ({"tls_key": "k.pem"}, "tls_certificate: set the certificate"),
        (
            {"tls_certificate": "c.pem", "tls_key": "k.pem", "public_origin": "http://a.example"},
            "public_origin: must be https",
        ),
        ({"hsts": "0", "hsts_include_subdomains": "true"}, "hsts_include_subdomains: set hsts above 0"),
        (
            {"host": "::1", "port": "9464", "metrics": "[::1]:9464"},
            "metrics: must differ from the console's own address and port",
        ),
    ],
)
def test_conflicting_settings_are_rejected(given: dict[str, str], message: str) -> None:
    assert load_error({}, **given).startswith(message)


@pytest.mark.parametrize(
    "given",
    [
        {"tls_certificate": "c.pem", "tls_key": "k.pem", "public_origin": "https://a.example"},
        {"port": "9464", "metrics": "[::1]:9464"},
        {"port": "0", "metrics": "127.0.0.1:0"},
        {"session_idle": "3600", "session_lifetime": "600"},
        {"any_region": "true", "identity": "https://a.example"},
    ],
)
def test_settings_without_a_real_conflict_are_accepted(given: dict[str, str]) -> None:
    assert load_settings({}, given) != Settings()


def test_any_region_is_rejected_with_a_non_local_endpoint() -> None:
    foreign = IdentityEndpoint("https://identity.example.com/v3", "another")
    with pytest.raises(SettingError, match=r"^any_region: remove it"):
        Settings(any_region=True, identity=(IdentityEndpoint("https://a.example"), foreign))


@pytest.mark.parametrize("second", ["https://a.example", "HTTPS://A.example:443/v3/", "keystone+https://a.example"])
def test_duplicate_identity_endpoint_is_rejected(second: str) -> None:
    assert (
        load_error({}, identity=f"https://a.example/v3,{second}")
        == "identity: https://a.example is listed more than once"
    )


@pytest.mark.parametrize(
    ("identity", "local", "keystone"),
    [
        ("", True, False),
        ("https://a.example", True, False),
        ("keystone+https://a.example", False, True),
        ("keystone+https://a.example,https://b.example", True, True),
    ],
)
def test_identity_endpoints_decide_which_accounts_can_log_in(identity: str, local: bool, keystone: bool) -> None:
    settings = load_settings({}, {"identity": identity})
    assert (settings.has_local_accounts, settings.has_keystone) == (local, keystone)


def test_token_keys_are_in_the_data_directory_by_default() -> None:
    assert load_settings({}, {"data": "/srv/a"}).token_key_file == Path("/srv/a/token-keys")
    assert load_settings({}, {"data": "/srv/a", "token_keys": "/srv/k"}).token_key_file == Path("/srv/k")


def test_every_conflict_is_reported() -> None:
    message = load_error({}, tls_key="k.pem", port="1", metrics="127.0.0.1:1", database_password_file="p")
    assert [line.partition(":")[0] for line in message.splitlines()] == ["metrics", "tls_certificate", "database"]


def test_keystone_with_postgresql_requires_shared_token_keys(file: Path) -> None:
    content = 'database = "postgresql:///c"\nidentity = [{address = "https://a.example/v3", kind = "keystone"}]\n'
    assert file_error(file, content).startswith("token_keys: set a file that all replicas share")
    assert from_file(file, f'{content}token_keys = "/srv/keys"').token_key_file == Path("/srv/keys")


@pytest.mark.parametrize("address", ["console:secret@[::1/console", "u:secret%zz@h", "u:secret%00@h/c"])
def test_password_in_a_database_url_is_never_shown(address: str) -> None:
    message = load_error({}, database=f"postgresql://{address}")
    assert "secret" not in message
    assert message.startswith("--database: ")


@pytest.mark.parametrize("name", ["PORT", "HOST", "CLOUDCONSOLE", "MY_CLOUDCONSOLE_PORT", "cloudconsole_port"])
def test_unrelated_variables_are_ignored(name: str) -> None:
    assert load_settings({name: "nonsense"}) == Settings()


def test_a_public_origin_must_be_among_the_hosts() -> None:
    origin = {"CLOUDCONSOLE_PUBLIC_ORIGIN": "https://console.example.com"}
    with pytest.raises(SettingError, match=r"^hosts: add console\.example\.com"):
        load_settings(origin | {"CLOUDCONSOLE_HOSTS": "other.example"})
    assert load_settings(origin | {"CLOUDCONSOLE_HOSTS": "other.example,Console.Example.Com:443"}).hosts
    assert load_settings(origin).hosts == ()


def test_zone_is_the_configured_time_zone() -> None:
    assert load_settings({"CLOUDCONSOLE_TIME_ZONE": "Asia/Shanghai"}).zone == ZoneInfo("Asia/Shanghai")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, True),
        ({"host": "::1"}, True),
        ({"host": "LOCALHOST"}, True),
        ({"host": "0.0.0.0"}, False),
        ({"host": "::"}, False),
        ({"host": "console.example.com"}, False),
        ({"hosts": "localhost,[::1]"}, True),
        ({"hosts": "localhost,console.example.com"}, False),
        ({"public_origin": "http://localhost:9000"}, True),
        ({"public_origin": "https://console.example.com"}, False),
        ({"proxies": "127.0.0.1"}, False),
    ],
)
def test_only_this_machine_requires_loopback_and_no_proxies(given: dict[str, str], expected: bool) -> None:
    assert load_settings({}, given).only_this_machine == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, False),
        ({"public_origin": "https://a.example"}, True),
        ({"public_origin": "http://a.example"}, False),
        ({"tls_certificate": "c.pem", "tls_key": "k.pem"}, True),
        ({"proxies": "10.0.0.1"}, False),
    ],
)
def test_always_https_requires_an_https_origin_or_a_certificate(given: dict[str, str], expected: bool) -> None:
    assert load_settings({}, given).always_https == expected


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=list(SETTINGS))
def test_every_setting_has_one_line_of_help(setting: Setting) -> None:
    assert 5 < len(setting.help) < 90
    assert "\n" not in setting.help
