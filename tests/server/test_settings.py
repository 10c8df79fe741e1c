"""Settings: their defaults, where they come from, and refusals that say which one is wrong and what mends it."""

from dataclasses import fields
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from cloudconsole.server.settings import SettingError, Settings, load_settings

NAMES = [setting.name for setting in fields(Settings)]

GOOD: dict[str, list[tuple[str, Any]]] = {
    "host": [("0.0.0.0", "0.0.0.0"), ("::1", "::1"), ("LocalHost", "localhost"), ("my-host_1.lan", "my-host_1.lan")],
    "port": [("0", 0), ("1", 1), ("65535", 65535), ("08080", 8080)],
    "workers": [("1", 1), ("64", 64)],
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
            ("https://identity.example.com/v3", "http://b.example:5000"),
        ),
    ],
    "any_region": [("true", True), ("false", False), ("YES", True), ("off", False), ("1", True), ("0", False)],
    "login_redirect": [("on", True), ("no", False)],
    "session_idle": [("120", 120), ("31536000", 31_536_000)],
    "session_lifetime": [("60", 60), ("31536000", 31_536_000)],
    "max_body": [("1024", 1024), ("1048576", 1_048_576)],
    "request_timeout": [("1", 1), ("3600", 3600)],
    "stop_grace": [("0", 0), ("3600", 3600)],
    "currency": [("USD", "USD")],
    "time_zone": [("Asia/Shanghai", "Asia/Shanghai")],
    "access_log": [("False", False)],
    "insecure_sample": [("True", True)],
}

# What is wrong, and a word of the mend that the refusal must give.
BAD: dict[str, list[tuple[str, str]]] = {
    "host": [("", "127.0.0.1"), ("http://localhost", "127.0.0.1"), ("a b", "::1"), ("*", "127.0.0.1")],
    "port": [(text, "from 0 to 65535") for text in ("", "-1", "65536", "http", "80.5", "1e3", " 80", "٨٠", "9" * 20)],
    "workers": [(text, "from 1 to 64") for text in ("0", "65", "all", "-1")],
    "hosts": [
        (text, "console.example.com") for text in ("https://a.example", "a.example,b b", "a/b", "*.example", "a,:80")
    ],
    "public_origin": [
        (text, "https://console.example.com")
        for text in ("", "console.example.com", "https://a.example/path", "ftp://a", "https://u@a", "null", "*")
    ],
    "proxies": [(text, "10.0.0.0/8") for text in ("proxy.example", "10.0.0.0/33", "10.0.0.1:80", "10.0.0.1,x", "*")],
    "identity": [
        (text, "https://identity.example.com/v3")
        for text in ("RegionOne", "https://u:p@a/v3", "https://a/v3?x", "https://a/v3#x", "http://a,b")
    ],
    "any_region": [(text, "true or false") for text in ("", "maybe", "2", "tru")],
    "login_redirect": [("/", "true or false")],
    "session_idle": [(text, "from 120 to 31536000") for text in ("119", "31536001", "30m")],
    "session_lifetime": [(text, "from 60 to 31536000") for text in ("59", "31536001", "12h")],
    "max_body": [(text, "from 1024 to 1048576") for text in ("1023", "1048577", "64K")],
    "request_timeout": [(text, "from 1 to 3600") for text in ("0", "3601")],
    "stop_grace": [(text, "from 0 to 3600") for text in ("-1", "3601")],
    "currency": [(text, "CNY") for text in ("", "cny", "YUAN", "¥", "US")],
    "time_zone": [(text, "Asia/Shanghai") for text in ("", "Beijing/Nowhere", "Asia", "../UTC", "/etc/UTC", "UTC\x00")],
    "access_log": [("loud", "true or false")],
    "insecure_sample": [("", "true or false")],
}
CANNOT_BE_WRONG = {"data"}


def flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def variable(name: str) -> str:
    return "CLOUDCONSOLE_" + name.upper()


def cases(table: dict[str, list[tuple[str, Any]]]) -> list[Any]:
    return [
        pytest.param(name, text, expected, id=f"{name}-{number}")
        for name, examples in table.items()
        for number, (text, expected) in enumerate(examples)
    ]


def test_every_setting_is_tried_here() -> None:
    assert set(GOOD) == set(NAMES)
    assert set(BAD) == set(NAMES) - CANNOT_BE_WRONG


@pytest.mark.parametrize(("name", "text", "value"), cases(GOOD))
def test_a_setting_is_read_from_the_environment(name: str, text: str, value: Any) -> None:
    assert getattr(load_settings({variable(name): text}), name) == value


@pytest.mark.parametrize(("name", "text", "value"), cases(GOOD))
def test_a_setting_is_read_from_its_flag(name: str, text: str, value: Any) -> None:
    assert getattr(load_settings({}, {name: text}), name) == value


@pytest.mark.parametrize(("name", "text", "mend"), cases(BAD))
def test_a_wrong_variable_is_named_with_its_mend(name: str, text: str, mend: str) -> None:
    with pytest.raises(SettingError) as refusal:
        load_settings({variable(name): text})
    assert str(refusal.value).startswith(f"{variable(name)}: ")
    assert mend in str(refusal.value)


@pytest.mark.parametrize(("name", "text", "mend"), cases(BAD))
def test_a_wrong_flag_is_named_with_its_mend(name: str, text: str, mend: str) -> None:
    with pytest.raises(SettingError) as refusal:
        load_settings({}, {name: text})
    assert str(refusal.value).startswith(f"{flag(name)}: ")
    assert mend in str(refusal.value)


def test_nothing_given_is_the_defaults() -> None:
    assert load_settings({}, {}) == load_settings({}) == Settings()


def test_the_defaults_keep_to_this_machine() -> None:
    settings = Settings()
    assert settings.host == "127.0.0.1"
    assert settings.only_this_machine
    assert (settings.session_idle, settings.session_lifetime, settings.max_body) == (1800, 43_200, 65_536)
    assert [settings.any_region, settings.login_redirect, settings.insecure_sample] == [False] * 3
    assert settings.proxies == ()


def test_a_flag_goes_before_the_environment() -> None:
    settings = load_settings({"CLOUDCONSOLE_PORT": "1111", "CLOUDCONSOLE_WORKERS": "2"}, {"port": "2222"})
    assert (settings.port, settings.workers) == (2222, 2)


def test_a_flag_that_was_not_given_leaves_the_environment_in_force() -> None:
    assert load_settings({"CLOUDCONSOLE_PORT": "1111"}, {"port": None}).port == 1111


def test_a_flag_can_switch_off_what_the_environment_switches_on() -> None:
    assert not load_settings({"CLOUDCONSOLE_ANY_REGION": "true"}, {"any_region": "false"}).any_region


def test_the_environment_is_the_processs_own_where_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUDCONSOLE_PORT", "3333")
    assert load_settings().port == 3333


@pytest.mark.parametrize("name", ["CLOUDCONSOLE_PROT", "CLOUDCONSOLE_", "CLOUDCONSOLE_HOSTS_", "CLOUDCONSOLE_ZONE"])
def test_an_unknown_variable_of_ours_is_refused(name: str) -> None:
    with pytest.raises(SettingError, match=f"^{name}: .*--help"):
        load_settings({name: "1"})


@pytest.mark.parametrize("name", ["PORT", "HOST", "CLOUDCONSOLE", "MY_CLOUDCONSOLE_PORT", "cloudconsole_port"])
def test_other_variables_are_passed_over(name: str) -> None:
    assert load_settings({name: "nonsense"}) == Settings()


def test_a_public_origin_must_be_among_the_hosts() -> None:
    origin = {"CLOUDCONSOLE_PUBLIC_ORIGIN": "https://console.example.com"}
    with pytest.raises(SettingError, match=r"^hosts: add console\.example\.com"):
        load_settings(origin | {"CLOUDCONSOLE_HOSTS": "other.example"})
    assert load_settings(origin | {"CLOUDCONSOLE_HOSTS": "other.example,Console.Example.Com:443"}).hosts
    assert load_settings(origin).hosts == ()


def test_the_zone_is_the_one_named() -> None:
    assert load_settings({"CLOUDCONSOLE_TIME_ZONE": "Asia/Shanghai"}).zone == ZoneInfo("Asia/Shanghai")


@pytest.mark.parametrize(
    ("given", "only_here"),
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
def test_whether_only_this_machine_is_meant(given: dict[str, str], only_here: bool) -> None:
    assert load_settings({}, given).only_this_machine == only_here


@pytest.mark.parametrize("setting", fields(Settings), ids=NAMES)
def test_every_setting_has_one_line_of_help(setting: Any) -> None:
    text = setting.metadata["help"]
    assert 5 < len(text) < 90
    assert "\n" not in text
