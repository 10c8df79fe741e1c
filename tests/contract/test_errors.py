"""Every error: its status, code, field and message, and which of several errors takes precedence."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
import pytest
from sqlalchemy import text

from cloudconsole.core.ports import Account
from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from cloudconsole.spec.errors import Unavailable, UpstreamFailed, UpstreamTimeout
from tests.harness import FORM, JSON, ApiClient, FakeClock, HttpTransport, InProcessTransport, Reply
from tests.stores import open_engine, settings_for

LIMIT = 65_536
UNKNOWN_USER = "nobody-of-the-contract"
VALID = b'{"action":"GetFlavors"}'
VALID_FORM = b"action=GetFlavors"

json_and_form = pytest.mark.parametrize(
    ("content_type", "body"), [(JSON, VALID), (FORM, VALID_FORM)], ids=["json", "form"]
)


def post(client: ApiClient, body: bytes, content_type: str | None = JSON, **changes: str) -> Reply:
    """Send exactly this body, with the client's CSRF token."""
    headers = {"X-CSRFToken": client.token} | {name.replace("_", "-"): value for name, value in changes.items()}
    if content_type is not None:
        headers["Content-Type"] = content_type
    return client.send("POST", "/api/", headers, body)


def login(client: ApiClient, body: bytes, content_type: str | None = FORM, **changes: str) -> Reply:
    headers = {name.replace("_", "-"): value for name, value in changes.items()}
    if content_type is not None:
        headers["Content-Type"] = content_type
    return client.send("POST", "/auth/login/", headers, body)


def login_form(client: ApiClient, **changes: str) -> bytes:
    if not client.cookies:
        client.open()
    fields = {
        "csrfmiddlewaretoken": client.token,
        "username": UNKNOWN_USER,
        "password": "wrong",
        "region": f"{client.transport.base}/v3",
    }
    return urlencode(fields | changes).encode()


def assert_rejected(reply: Reply, status: int, error: str, field: str | None = None) -> None:
    assert (reply.status, reply.error, reply.envelope.get("field")) == (status, error, field), reply.body
    assert ("field" in reply.envelope) == (field is not None)
    assert reply.header("Content-Type") == "application/json"


# Malformed bodies

NOT_AN_OBJECT = ["[]", '[{"action":"GetFlavors"}]', '"GetFlavors"', "1", "1.5", "true", "null"]
NOT_JSON = [
    "",
    " ",
    "{",
    "}",
    "GetFlavors",
    "action=GetFlavors",
    "{'action':'GetFlavors'}",
    '{"action":"GetFlavors",}',
    '{"action":"GetFlavors"}x',
    '{"action":"GetFlavors"}{}',
    '{"action":"GetFlavors"}\x00',
    '{"action":"GetFlavors"} // why',
    '{"action":"GetFlavors"',
    '{"action":"GetFlavors","x":01}',
    '{"action":"GetFlavors","x":"\t"}',
    '{"action":"GetFlavors","x":undefined}',
    '{"action":"GetFlavors","x":' + "9" * 5000 + "",
    '{"action":"GetFlavors","x":' + "9" * 5000 + "x}",
    '{"action":"GetFlavors","x":' + "9" * 5000 + ',"y":NaN}',
    '{"action":"GetFlavors","x":' + "9" * 5000 + r',"y":"\ud800"}',
    '{"action":"GetFlavors","x":0' + "9" * 5000 + "}",
]


@pytest.mark.parametrize("body", NOT_AN_OBJECT)
def test_json_that_is_not_an_object_is_rejected(demo: ApiClient, body: str) -> None:
    assert_rejected(post(demo, body.encode()), 400, "malformed_body")


@pytest.mark.parametrize("body", NOT_JSON, ids=lambda body: ascii(body)[:40])
def test_invalid_json_is_rejected(demo: ApiClient, body: str) -> None:
    assert_rejected(post(demo, body.encode()), 400, "malformed_body")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "nan", "-NaN"])
@pytest.mark.parametrize("name", ["domainId", "skipped"])
def test_nan_and_infinity_are_rejected(demo: ApiClient, name: str, number: str) -> None:
    assert_rejected(post(demo, f'{{"action":"GetFlavors","{name}":{number}}}'.encode()), 400, "malformed_body")


@pytest.mark.parametrize("surrogate", [r"\ud800", r"\udfff", r"a\ud83dz", r"\ude00\ud83d", r"\uD800"])
def test_lone_surrogates_are_rejected(demo: ApiClient, surrogate: str) -> None:
    for body in (
        f'{{"action":"GetDomainDetail","domainId":"{surrogate}"}}',
        f'{{"action":"GetFlavors","skipped":"{surrogate}"}}',
        f'{{"action":"GetFlavors","skipped":["{surrogate}"]}}',
        f'{{"action":"GetFlavors","{surrogate}":1}}',
        f'{{"action":"{surrogate}"}}',
    ):
        assert_rejected(post(demo, body.encode()), 400, "malformed_body")


@pytest.mark.parametrize("raw", [b"\xff", b"\xc3", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf5\x80\x80\x80"])
def test_invalid_utf_8_in_json_is_rejected(demo: ApiClient, raw: bytes) -> None:
    for body in (
        b'{"action":"GetDomainDetail","domainId":"%b"}' % raw,
        b'{"action":"GetFlavors","skipped":"%b"}' % raw,
        b'{"action":"GetFlavors","%b":1}' % raw,
        b'{"action":"%b"}' % raw,
    ):
        assert_rejected(post(demo, body), 400, "malformed_body")


@pytest.mark.parametrize("raw", [b"\xff", b"%FF", b"%C3", b"%C0%AF", b"%ED%A0%80", b"\xc3"])
def test_invalid_utf_8_in_a_form_is_rejected(demo: ApiClient, raw: bytes) -> None:
    for body in (
        b"action=GetDomainDetail&domainId=" + raw,
        b"action=GetFlavors&skipped=" + raw,
        b"action=GetFlavors&" + raw + b"=1",
        b"action=" + raw,
    ):
        assert_rejected(post(demo, body, FORM), 400, "malformed_body")


@pytest.mark.parametrize("raw", [b"\xff", b"%FF"])
def test_invalid_utf_8_in_a_login_is_rejected(client: ApiClient, raw: bytes) -> None:
    assert_rejected(login(client, login_form(client) + b"&skipped=" + raw), 400, "malformed_body")


def test_form_with_too_many_fields_is_rejected(demo: ApiClient, client: ApiClient) -> None:
    assert_rejected(post(demo, b"action=GetFlavors" + b"&field=" * 64, FORM), 400, "malformed_body")
    assert_rejected(login(client, login_form(client) + b"&field=" * 64), 400, "malformed_body")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "gb18030"])
def test_json_in_another_encoding_is_rejected(demo: ApiClient, encoding: str) -> None:
    assert_rejected(post(demo, '{"action":"获取"}'.encode(encoding)), 400, "malformed_body")


@pytest.mark.parametrize(("opening", "closing", "depth"), [("[", "]", 32_000), ('{"a":', "}", 10_700)])
def test_excessive_nesting_is_rejected(demo: ApiClient, opening: str, closing: str, depth: int) -> None:
    deep = opening * depth + "1" + closing * depth
    # The depth limit depends on the interpreter; on every one the parser fails, not the service.
    with pytest.raises(RecursionError):
        msgspec.json.decode(deep)
    assert_rejected(post(demo, f'{{"action":"GetFlavors","skipped":{deep}}}'.encode()), 400, "malformed_body")


def test_moderate_nesting_is_accepted(demo: ApiClient) -> None:
    deep = "[" * 100 + "]" * 100
    assert post(demo, f'{{"action":"GetFlavors","skipped":{deep}}}'.encode()).status == 200


def test_any_number_of_extra_fields_is_ignored(demo: ApiClient) -> None:
    assert post(demo, b'{"action":"GetFlavors"' + b',"a":1' * 5000 + b"}").status == 200


# Unusual but valid bodies


@pytest.mark.parametrize(
    "body",
    [
        b"\xef\xbb\xbf" + VALID,
        b" \r\n\t" + VALID + b" \r\n\t",
        b'{"action":"Nonsense","action":"GetFlavors"}',
        b'{"action":1,"action":"GetFlavors"}',
        rb'{"\u0061ction":"Get\u0046lavors"}',
        rb'{"action":"GetFlavors","skipped":"\ud83d\ude00 \u0000"}',
        '{"action":"GetFlavors","省略":"中文 😀"}'.encode(),
        b'{"action":"GetFlavors","":0,"null":null,"list":[1,{"a":1.5e3}]}',
        b'{"action":"GetFlavors","skipped":1e400}',
        b'{"action":"GetFlavors","skipped":' + b"9" * 5000 + b"}",
        b'{"action":"GetFlavors","skipped":["' + b"9" * 5000 + b'",-' + b"9" * 5000 + b"]}",
        b'{"action":"GetFlavors","domainId":true}',
    ],
    ids=range(12),
)
def test_unusual_but_valid_json_is_accepted(demo: ApiClient, body: bytes) -> None:
    assert post(demo, body).status == 200


@pytest.mark.parametrize(
    "body",
    [
        b"action=Nonsense&action=GetFlavors",
        b"&&action=GetFlavors&",
        b"action=GetFlavors&a=b=c&d&=e&f=",
        b"%61ction=Get%46lavors",
        b"action=GetFlavors&skipped=%E4%B8%AD+%00",
        "action=GetFlavors&省略=中文".encode(),
        b"action=GetFlavors&a=%zz&b=%",
        b"action=GetFlavors&domainId=",
    ],
)
def test_unusual_but_valid_forms_are_accepted(demo: ApiClient, body: bytes) -> None:
    assert post(demo, body, FORM).status == 200


def test_last_value_of_a_repeated_field_wins_even_if_invalid(demo: ApiClient) -> None:
    assert_rejected(post(demo, b'{"action":"GetFlavors","action":null}'), 400, "missing_field", "action")
    assert_rejected(post(demo, b"action=GetFlavors&action=", FORM), 400, "missing_field", "action")


def test_semicolon_does_not_separate_form_fields(demo: ApiClient) -> None:
    assert_rejected(post(demo, b"action=GetFlavors;x=1", FORM), 404, "unknown_action", "action")


def test_a_plus_in_a_form_is_a_space(client: ApiClient) -> None:
    form = login_form(client)
    base = quote(client.transport.base, safe="").encode()
    assert base in form
    assert_rejected(login(client, form.replace(b"%2Fv3", b"%2Fa+b")), 400, "unknown_region", "region")
    assert_rejected(login(client, form.replace(b"%2Fv3", b"%2Fa%2Bb")), 401, "invalid_credentials")


# The action


@pytest.mark.parametrize("body", [b"{}", b'{"action":null}', b'{"action":""}', b'{"Action":"GetFlavors"}'])
def test_missing_action_in_json_is_rejected(demo: ApiClient, body: bytes) -> None:
    assert_rejected(post(demo, body), 400, "missing_field", "action")


@pytest.mark.parametrize("body", [b"", b"action", b"action=", b"ACTION=GetFlavors", b"domainId=206813", b"&"])
def test_missing_action_in_a_form_is_rejected(demo: ApiClient, body: bytes) -> None:
    assert_rejected(post(demo, body, FORM), 400, "missing_field", "action")


@pytest.mark.parametrize("value", ["1", "0", "1.5", "true", "false", "[]", '["GetFlavors"]', "{}", '{"a":1}'])
def test_action_must_be_a_string(demo: ApiClient, value: str) -> None:
    assert_rejected(post(demo, f'{{"action":{value}}}'.encode()), 400, "invalid_field", "action")


@pytest.mark.parametrize(
    "name",
    [
        "GetEverything",
        "getflavors",
        "GETFLAVORS",
        " GetFlavors",
        "GetFlavors ",
        "GetFlavors\x00",
        "get_flavors",
        "__class__",
        "获取云主机配置",
        "G" * 10_000,
    ],
)
@pytest.mark.parametrize("as_form", [False, True], ids=["json", "form"])
def test_unknown_action_is_rejected(demo: ApiClient, as_form: bool, name: str) -> None:
    assert_rejected(demo.call(name, as_form=as_form), 404, "unknown_action", "action")


# The domain id


@pytest.mark.parametrize("body", ["", ',"domainId":null', ',"domainId":""', ',"domainid":"206813"'])
def test_missing_domain_id_in_json_is_rejected(demo: ApiClient, body: str) -> None:
    assert_rejected(post(demo, f'{{"action":"GetDomainDetail"{body}}}'.encode()), 400, "missing_field", "domainId")


@pytest.mark.parametrize("body", [b"", b"&domainId", b"&domainId=", b"&domainID=206813"])
def test_missing_domain_id_in_a_form_is_rejected(demo: ApiClient, body: bytes) -> None:
    assert_rejected(post(demo, b"action=GetDomainDetail" + body, FORM), 400, "missing_field", "domainId")


@pytest.mark.parametrize(
    "value",
    [
        "true",
        "false",
        "206813.0",
        "1.5",
        "-0.0",
        "2e5",
        "1e400",
        "[]",
        '["206813"]',
        "{}",
        '{"id":"206813"}',
        "1" + "0" * 64,
        "-" + "9" * 64,
        "9" * 4000,
        "9" * 5000,
        "-" + "9" * 5000,
        '"' + "9" * 65 + '"',
        '"' + "中" * 65 + '"',
        '"' + "a" * 5000 + '"',
        r'"206813\n"',
        r'"\u0000"',
        r'"206813\u0000"',
        r'"\u001f"',
        r'"\u007f"',
        r'"\u0085"',
        r'"\u009f"',
    ],
    ids=lambda value: value[:16],
)
def test_invalid_domain_id_in_json_is_rejected(demo: ApiClient, value: str) -> None:
    reply = post(demo, f'{{"action":"GetDomainDetail","domainId":{value}}}'.encode())
    assert_rejected(reply, 400, "invalid_field", "domainId")


@pytest.mark.parametrize("value", ["9" * 65, "中" * 65, "206813\n", "\x00", "206813\x00", "\x1f", "\x7f", "\x85"])
def test_invalid_domain_id_in_a_form_is_rejected(demo: ApiClient, value: str) -> None:
    assert_rejected(demo.call("GetDomainDetail", as_form=True, domainId=value), 400, "invalid_field", "domainId")


@pytest.mark.parametrize(
    "value",
    [
        "0",
        "-0",
        "-206813",
        "1",
        "9" * 20,
        "9" * 64,
        "-" + "9" * 63,
        '"' + "9" * 64 + '"',
        '"' + "中" * 64 + '"',
        '"' + "😀" * 64 + '"',
        '" 206813"',
        '"206813 "',
        '"0206813"',
        '"+206813"',
        '"２０６８１３"',
        '"www.example-demo.com"',
        '"null"',
        '"\u00a0"',
        "\"206813' OR '1'='1\"",
        '"%"',
    ],
    ids=lambda value: value[:16],
)
def test_unknown_domain_id_in_json_is_not_found(demo: ApiClient, value: str) -> None:
    reply = post(demo, f'{{"action":"GetDomainDetail","domainId":{value}}}'.encode())
    assert_rejected(reply, 404, "domain_not_found", "domainId")


@pytest.mark.parametrize("value", ["0", "-1", "9" * 64, "中" * 64, " 206813", "a b", "a+b", "true", "null", "206813.0"])
def test_unknown_domain_id_in_a_form_is_not_found(demo: ApiClient, value: str) -> None:
    assert_rejected(demo.call("GetDomainDetail", as_form=True, domainId=value), 404, "domain_not_found", "domainId")


# Media types


@pytest.mark.parametrize(
    "suffix",
    [
        "",
        ";charset=utf-8",
        "; charset=UTF-8",
        ' ; Charset="utf-8"',
        "; charset=utf8",
        ";",
        "; boundary=x",
        "; odata=verbose; charset=utf-8",
    ],
)
@json_and_form
def test_media_type_parameters_are_accepted(demo: ApiClient, content_type: str, body: bytes, suffix: str) -> None:
    assert post(demo, body, content_type + suffix).status == 200


@pytest.mark.parametrize("change", [str.upper, str.title])
@json_and_form
def test_media_types_are_case_insensitive(demo: ApiClient, content_type: str, body: bytes, change: object) -> None:
    assert callable(change)
    assert post(demo, body, change(content_type)).status == 200


UNSUPPORTED_TYPES = [
    None,
    "",
    "text/plain",
    "text/json",
    "application/xml",
    "application/jsonp",
    "application/json5",
    "application/vnd.api+json",
    "multipart/form-data; boundary=x",
    "json",
    "*/*",
    "application/json, application/json",
    "application/json; charset=utf-16",
    "application/json; charset=gb2312",
    "application/json; charset=latin-1",
    "application/x-www-form-urlencoded; charset=gbk",
    "application/x-www-form-urlencoded; charset=iso-8859-1",
]


@pytest.mark.parametrize("content_type", UNSUPPORTED_TYPES)
def test_other_media_types_are_rejected(demo: ApiClient, content_type: str | None) -> None:
    assert_rejected(post(demo, VALID, content_type), 415, "unsupported_media_type")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_rejection_names_both_media_types(demo: ApiClient, language: str) -> None:
    message = post(demo, VALID, "text/plain", Accept_Language=language).envelope["message"]
    assert JSON in message
    assert FORM in message


@pytest.mark.parametrize("content_type", [None, JSON, "text/plain", FORM + "; charset=gbk"])
def test_login_accepts_only_a_form(client: ApiClient, content_type: str | None) -> None:
    reply = login(client, login_form(client), content_type)
    assert_rejected(reply, 415, "unsupported_media_type")
    assert FORM in reply.envelope["message"]


# Body size


@pytest.mark.parametrize(("more", "status"), [(0, 200), (1, 413)], ids=["at the limit", "one over"])
@json_and_form
def test_action_body_over_the_limit_is_rejected(
    demo: ApiClient, content_type: str, body: bytes, more: int, status: int
) -> None:
    begin, padding = (body, b" ") if content_type == JSON else (body + b"&skipped=", b"x")
    reply = post(demo, begin.ljust(LIMIT + more, padding), content_type)
    assert reply.status == status
    if status == 413:
        assert_rejected(reply, 413, "body_too_large")
        assert str(LIMIT) in reply.envelope["message"]


@pytest.mark.parametrize(("more", "status"), [(0, 200), (1, 413)], ids=["at the limit", "one over"])
def test_chunked_body_over_the_limit_is_rejected(remote: HttpTransport, more: int, status: int) -> None:
    client = ApiClient(remote)
    client.login()
    body = VALID.ljust(LIMIT + more)
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:1000], body[1000:], b""))
    assert post(client, chunks, Transfer_Encoding="chunked").status == status


@pytest.mark.parametrize(("more", "status"), [(0, 401), (1, 413)], ids=["at the limit", "one over"])
def test_login_body_over_the_limit_is_rejected(client: ApiClient, more: int, status: int) -> None:
    form = (login_form(client) + b"&skipped=").ljust(LIMIT + more, b"x")
    assert login(client, form).status == status


def test_body_size_is_checked_before_the_session(client: ApiClient) -> None:
    assert_rejected(post(client, b"x" * (LIMIT + 1), "text/plain"), 413, "body_too_large")


def test_body_size_limit_is_configurable(settings: Settings, clock: FakeClock) -> None:
    console = InProcessTransport(Console(settings_for(settings.data, max_body=2000), clock))
    client = ApiClient(console)
    statuses = [login(client, (login_form(client) + b"&x=").ljust(size, b"x")).status for size in (2000, 2001)]
    console.close()
    assert statuses == [401, 413]


# Sessions, CSRF and hosts


@json_and_form
def test_action_without_a_session_is_rejected(client: ApiClient, content_type: str, body: bytes) -> None:
    assert_rejected(post(client, body, content_type), 401, "login_required")


@json_and_form
def test_action_with_an_anonymous_session_is_rejected(client: ApiClient, content_type: str, body: bytes) -> None:
    client.open()
    assert_rejected(post(client, body, content_type), 401, "login_required")


@pytest.mark.parametrize("session", ["s" + "0" * 48, "a" + "0" * 48, "x", "", '"quoted"', "s" + "é" * 48])
def test_action_with_an_invalid_session_id_is_rejected(demo: ApiClient, session: str) -> None:
    demo.cookies["sessionid"] = session
    assert_rejected(post(demo, VALID), 401, "login_required")


@pytest.mark.parametrize("token", ["", "x", "0" * 64, "é" * 64])
@json_and_form
def test_action_with_a_wrong_csrf_token_is_rejected(
    demo: ApiClient, content_type: str, body: bytes, token: str
) -> None:
    assert_rejected(post(demo, body, content_type, **{"X-CSRFToken": token}), 403, "csrf_failed")


def test_action_without_a_csrf_header_is_rejected(demo: ApiClient) -> None:
    assert_rejected(demo.send("POST", "/api/", {"Content-Type": JSON}, VALID), 403, "csrf_failed")


def test_csrf_token_in_the_body_does_not_replace_the_header(demo: ApiClient) -> None:
    body = urlencode({"action": "GetFlavors", "csrfmiddlewaretoken": demo.token}).encode()
    assert_rejected(demo.send("POST", "/api/", {"Content-Type": FORM}, body), 403, "csrf_failed")


def test_csrf_token_of_another_session_is_rejected(demo: ApiClient, other: ApiClient) -> None:
    demo.cookies["csrftoken"] = other.token
    assert_rejected(post(demo, VALID), 403, "csrf_failed")


@pytest.mark.parametrize(
    "header",
    [
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
    ids=str,
)
def test_cross_site_request_is_rejected(demo: ApiClient, header: Mapping[str, str]) -> None:
    assert_rejected(post(demo, VALID, **header), 403, "csrf_failed")


@pytest.mark.parametrize(
    "host",
    [
        "console.example.com",
        "127.0.0.1.example.com",
        "[::1",
        *(pytest.param(host, marks=pytest.mark.not_behind_nginx) for host in ("a b", "", "localhost:99999")),
    ],
)
@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("GET", "/api/"), ("POST", "/api/"), ("GET", "/nowhere")])
def test_unknown_host_is_rejected(client: ApiClient, method: str, path: str, host: str) -> None:
    assert_rejected(client.send(method, path, {"Host": host}), 400, "invalid_host")


# Login


@pytest.mark.parametrize("name", ["username", "password", "region"])
def test_login_requires_every_field(client: ApiClient, name: str) -> None:
    absent: dict[str, Any] = {name: None}
    empty: dict[str, Any] = {name: ""}
    assert_rejected(client.login(**absent), 400, "missing_field", name)
    assert_rejected(client.login(**empty), 400, "missing_field", name)


def test_login_requires_a_csrf_token(client: ApiClient) -> None:
    assert_rejected(client.login(csrfmiddlewaretoken=None), 403, "csrf_failed")
    assert_rejected(client.login(csrfmiddlewaretoken="0" * 64), 403, "csrf_failed")


@pytest.mark.parametrize("region", ["nonsense", "https://identity.example.com/v3", "{base}?x", "{base}#x", " {base}"])
def test_login_for_an_unknown_region_is_rejected(client: ApiClient, region: str) -> None:
    reply = client.login(region=region.format(base=client.transport.base))
    assert_rejected(reply, 400, "unknown_region", "region")
    assert f"{client.transport.base}/v3" in reply.envelope["message"]


@pytest.mark.parametrize(
    ("username", "password"),
    [
        (UNKNOWN_USER, "wrong"),
        ("demo", "wrong"),
        ("Demo", "console-demo"),
        ("demo ", "console-demo"),
        ("demo\x00", "x"),
    ],
)
def test_wrong_credentials_are_rejected(client: ApiClient, username: str, password: str) -> None:
    reply = client.login(username, password)
    assert_rejected(reply, 401, "invalid_credentials")
    assert reply.set_cookies == {}
    assert client.login().status == 200


def test_unknown_user_and_wrong_password_get_the_same_response(client: ApiClient) -> None:
    unknown, known = client.login(UNKNOWN_USER, "wrong"), client.login("demo", "wrong")
    assert unknown.body == known.body
    assert client.login().status == 200


def test_logout_without_a_session_is_rejected(client: ApiClient) -> None:
    client.open()
    assert_rejected(client.logout(), 401, "login_required")


def test_logout_without_a_csrf_token_is_rejected(demo: ApiClient) -> None:
    assert_rejected(demo.send("POST", "/auth/logout/"), 403, "csrf_failed")


def test_too_many_failed_logins_are_throttled(settings: Settings, clock: FakeClock) -> None:
    console = InProcessTransport(Console(settings, clock))
    client = ApiClient(console)
    statuses = [client.login("demo", "wrong").status for _ in range(10)]
    reply = client.login("demo", "wrong")
    console.close()
    assert statuses == [401] * 10
    assert_rejected(reply, 429, "too_many_requests")
    assert 1 <= int(reply.header("Retry-After") or "") <= 60
    assert_common_headers(reply)


# Order of checks


@pytest.mark.not_behind_nginx
def test_order_of_checks_for_an_action(demo: ApiClient) -> None:
    with_cookies = "; ".join(f"{name}={value}" for name, value in demo.cookies.items())
    headers = {"Host": "elsewhere.example", "Content-Type": "text/plain", "Cookie": "x=1", "X-CSRFToken": "wrong"}
    body = b"\xff" * (LIMIT + 1)

    def outcome() -> tuple[int, str, str | None]:
        reply = demo.send("POST", "/api/", headers, body)
        return reply.status, reply.error, reply.envelope.get("field")

    outcomes = [outcome()]
    del headers["Host"]
    outcomes.append(outcome())
    body = b"\xff"
    outcomes.append(outcome())
    headers["Content-Type"] = JSON
    outcomes.append(outcome())
    headers["Cookie"] = with_cookies
    outcomes.append(outcome())
    headers["X-CSRFToken"] = demo.token
    outcomes.append(outcome())
    body = b'{"domainId":false}'
    outcomes.append(outcome())
    body = b'{"domainId":false,"action":"Nonsense"}'
    outcomes.append(outcome())
    body = b'{"domainId":false,"action":"GetDomainDetail"}'
    outcomes.append(outcome())
    body = b'{"domainId":"0","action":"GetDomainDetail"}'
    outcomes.append(outcome())
    assert outcomes == [
        (400, "invalid_host", None),
        (413, "body_too_large", None),
        (415, "unsupported_media_type", None),
        (401, "login_required", None),
        (403, "csrf_failed", None),
        (400, "malformed_body", None),
        (400, "missing_field", "action"),
        (404, "unknown_action", "action"),
        (400, "invalid_field", "domainId"),
        (404, "domain_not_found", "domainId"),
    ]


@pytest.mark.not_behind_nginx
def test_order_of_checks_for_a_login(client: ApiClient) -> None:
    client.open()
    headers = {"Host": "elsewhere.example", "Content-Type": JSON}
    fields = {"csrfmiddlewaretoken": "wrong", "region": "nonsense", "padding": "x" * LIMIT}

    def outcome() -> tuple[int, str, str | None]:
        reply = client.send("POST", "/auth/login/", headers, urlencode(fields).encode())
        return reply.status, reply.error, reply.envelope.get("field")

    outcomes = [outcome()]
    del headers["Host"]
    outcomes.append(outcome())
    del fields["padding"]
    outcomes.append(outcome())
    headers["Content-Type"] = FORM
    outcomes.append(outcome())
    fields["csrfmiddlewaretoken"] = client.token
    outcomes.append(outcome())
    fields["username"] = UNKNOWN_USER
    outcomes.append(outcome())
    fields["password"] = "wrong"
    outcomes.append(outcome())
    fields["region"] = f"{client.transport.base}/v3"
    outcomes.append(outcome())
    assert outcomes == [
        (400, "invalid_host", None),
        (413, "body_too_large", None),
        (415, "unsupported_media_type", None),
        (403, "csrf_failed", None),
        (400, "missing_field", "username"),
        (400, "missing_field", "password"),
        (400, "unknown_region", "region"),
        (401, "invalid_credentials", None),
    ]


def test_order_of_checks_for_a_logout(demo: ApiClient) -> None:
    wrong_host = {"Host": "elsewhere.example", "Cookie": "x=1", "X-CSRFToken": "wrong"}
    no_session = {"Cookie": "x=1", "X-CSRFToken": "wrong"}
    wrong_token = {"X-CSRFToken": "wrong"}
    outcomes = [demo.send("POST", "/auth/logout/", headers).error for headers in (wrong_host, no_session, wrong_token)]
    assert outcomes == ["invalid_host", "login_required", "csrf_failed"]


# Languages

LANGUAGES = [
    (None, "en"),
    ("en", "en"),
    ("zh", "zh"),
    ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
    ("en;q=0.8,zh;q=0.9", "zh"),
    ("en-GB,en;q=0.9,zh;q=0.8", "en"),
    ("zh;q=0.5,en;q=0.5", "en"),
    ("fr,de;q=0.5", "en"),
    ("fr,zh;q=0.1", "zh"),
    ("zh;q=0", "en"),
    ("*", "en"),
]


def _is_chinese(message: str) -> bool:
    return re.search("[一-鿿]", message) is not None


def _language_header(language: str | None) -> dict[str, str]:
    return {} if language is None else {"Accept_Language": language}


@pytest.mark.parametrize(("header", "language"), LANGUAGES)
def test_error_message_follows_accept_language(demo: ApiClient, header: str | None, language: str) -> None:
    reply = post(demo, b"{}", **_language_header(header))
    assert_rejected(reply, 400, "missing_field", "action")
    assert _is_chinese(reply.envelope["message"]) == (language == "zh")


@pytest.mark.parametrize(("header", "language"), LANGUAGES)
def test_success_message_follows_accept_language(demo: ApiClient, header: str | None, language: str) -> None:
    assert _is_chinese(post(demo, VALID, **_language_header(header)).envelope["message"]) == (language == "zh")


@pytest.mark.parametrize(
    "action", ["GetUsageLimits", "GetFlavors", "GetUrlList", "GetNews", "GetConsumptionsEstimated", "GetDomainDetail"]
)
def test_data_does_not_depend_on_the_language(demo: ApiClient, action: str) -> None:
    body = json.dumps({"action": action, "domainId": "206814"}).encode()
    replies = [post(demo, body, Accept_Language=language) for language in ("en", "zh")]
    assert replies[0].data == replies[1].data
    assert replies[0].envelope["message"] != replies[1].envelope["message"]


def test_only_the_service_info_message_depends_on_the_language(client: ApiClient) -> None:
    replies = [client.send("GET", "/api/", {"Accept-Language": language}) for language in ("en", "zh")]
    assert replies[0].data == replies[1].data
    assert [_is_chinese(reply.envelope["message"]) for reply in replies] == [False, True]


# Headers of every response


def assert_common_headers(reply: Reply, caching: str = "no-store") -> None:
    assert reply.header("Cache-Control") == caching
    assert reply.header("X-Content-Type-Options") == "nosniff"
    assert reply.header("X-Frame-Options") == "DENY"
    assert reply.header("Referrer-Policy") == "same-origin"
    assert "default-src 'none'" in (reply.header("Content-Security-Policy") or "")
    assert re.fullmatch("[A-Za-z0-9._-]{1,64}", reply.header("X-Request-ID") or "")
    assert [name for name, _ in reply.headers if name.lower().startswith("access-control-")] == []


REQUESTS = {
    "page": (200, "GET", "/", {}, b""),
    "page HEAD": (200, "HEAD", "/", {}, b""),
    "service info": (200, "GET", "/api/", {}, b""),
    "service info HEAD": (200, "HEAD", "/api/", {}, b""),
    "OPTIONS": (204, "OPTIONS", "/api/", {}, b""),
    "missing slash": (308, "GET", "/api", {}, b""),
    "invalid UTF-8": (400, "POST", "/api/", {"Content-Type": JSON}, b"\xff"),
    "unknown host": (400, "GET", "/", {"Host": "elsewhere.example"}, b""),
    "no session": (401, "POST", "/api/", {"Content-Type": JSON, "Cookie": "x=1"}, VALID),
    "wrong token": (403, "POST", "/api/", {"Content-Type": JSON, "X-CSRFToken": "x"}, VALID),
    "unknown path": (404, "GET", "/nowhere", {}, b""),
    "unknown path HEAD": (404, "HEAD", "/nowhere", {}, b""),
    "unknown action": (404, "POST", "/api/", {"Content-Type": JSON}, b'{"action":"Nonsense"}'),
    "wrong method": (405, "DELETE", "/api/", {}, b""),
    "body too large": (413, "POST", "/api/", {"Content-Type": JSON}, b"x" * (LIMIT + 1)),
    "wrong media type": (415, "POST", "/api/", {"Content-Type": "text/plain"}, VALID),
    "action": (200, "POST", "/api/", {"Content-Type": JSON}, VALID),
    "login": (415, "POST", "/auth/login/", {"Content-Type": JSON}, b"{}"),
}


def _send_request(demo: ApiClient, kind: str, more: Mapping[str, str]) -> Reply:
    status, method, path, headers, body = REQUESTS[kind]
    reply = demo.send(method, path, {"X-CSRFToken": demo.token, **headers, **more}, body)
    assert reply.status == status
    return reply


@pytest.mark.parametrize("kind", REQUESTS)
def test_every_response_has_the_common_headers(demo: ApiClient, kind: str) -> None:
    # The page is the same for everyone and contains nothing personal.
    assert_common_headers(_send_request(demo, kind, {}), "no-cache" if "page" in kind else "no-store")


@pytest.mark.parametrize("kind", REQUESTS)
def test_every_response_returns_the_clients_request_id(demo: ApiClient, kind: str) -> None:
    given = "Mine-1_2.3"
    assert _send_request(demo, kind, {"X-Request-ID": given}).header("X-Request-ID") == given


@pytest.mark.parametrize("kind", REQUESTS)
def test_no_response_has_cors_headers(demo: ApiClient, kind: str) -> None:
    preflight = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-csrftoken"}
    reply = _send_request(demo, kind, preflight)
    assert [name for name, _ in reply.headers if name.lower().startswith("access-control-")] == []


def test_login_and_logout_have_the_common_headers(client: ApiClient) -> None:
    for reply in (client.login(UNKNOWN_USER, "wrong"), client.login(), client.logout()):
        assert_common_headers(reply)


@pytest.mark.parametrize("given", ["x" * 65, "", "a b", "a;b", "é", "<x>", "a,b"])
def test_invalid_request_id_is_replaced(client: ApiClient, given: str) -> None:
    replies = [client.send("GET", "/api/", {"X-Request-ID": given}) for _ in range(2)]
    generated = [reply.header("X-Request-ID") or "" for reply in replies]
    assert given not in generated
    assert generated[0] != generated[1]
    assert all(re.fullmatch("[A-Za-z0-9._-]{1,64}", each) for each in generated)


def test_request_id_of_maximum_length_is_accepted(client: ApiClient) -> None:
    assert client.send("GET", "/api/", {"X-Request-ID": "x" * 64}).header("X-Request-ID") == "x" * 64


# Backend errors, from fakes


class FailingBackend:
    """A fake of every backend, all of whose methods fail."""

    problem: Exception = UpstreamFailed()

    def __init__(self, *_: object) -> None:
        pass

    async def knows_username(self, _username: str) -> bool:
        return False

    async def fail(self, *_: object) -> None:
        raise self.problem

    urls = domain = news = usage_limits = flavors = consumption = fail


class FailingIdentity(FailingBackend):
    async def authenticate(self, _username: str, _password: str, _client: object) -> Account | None:
        raise self.problem


ACTIONS: dict[str, dict[str, Any]] = {
    "GetUsageLimits": {},
    "GetFlavors": {},
    "GetUrlList": {},
    "GetNews": {},
    "GetConsumptionsEstimated": {},
    "GetDomainDetail": {"domainId": "206813"},
}

BACKEND_ERRORS = pytest.mark.parametrize(
    ("problem", "status", "error"),
    [
        (UpstreamFailed(), 502, "upstream_failed"),
        (UpstreamTimeout(), 504, "upstream_timeout"),
        (Unavailable(), 503, "unavailable"),
        (RuntimeError("very secret text"), 500, "internal_error"),
    ],
    ids=["502", "504", "503", "500"],
)


@pytest.fixture
def failing(settings: Settings, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiClient]:
    """A client logged in to a console whose cloud and content backends fail."""
    monkeypatch.setattr("cloudconsole.server.app.EmbeddedCloud", FailingBackend)
    monkeypatch.setattr("cloudconsole.server.app.EmbeddedContent", FailingBackend)
    console = InProcessTransport(Console(settings, clock))
    client = ApiClient(console)
    assert client.login().status == 200
    yield client
    console.close()


def assert_backend_error(reply: Reply, status: int, error: str) -> None:
    assert_rejected(reply, status, error)
    assert_common_headers(reply)
    assert b"secret" not in reply.body
    assert b"Traceback" not in reply.body
    assert (reply.header("Retry-After") is not None) == (status == 503)
    if status == 500:
        assert reply.header("X-Request-ID") in reply.envelope["message"]


@BACKEND_ERRORS
def test_backend_error_of_an_action_is_reported(
    failing: ApiClient, monkeypatch: pytest.MonkeyPatch, problem: Exception, status: int, error: str
) -> None:
    monkeypatch.setattr(FailingBackend, "problem", problem)
    for action, fields in ACTIONS.items():
        assert_backend_error(failing.call(action, **fields), status, error)
        assert_backend_error(failing.call(action, as_form=True, **fields), status, error)


def test_backend_error_message_follows_accept_language(failing: ApiClient) -> None:
    assert _is_chinese(post(failing, VALID, Accept_Language="zh").envelope["message"])


@BACKEND_ERRORS
def test_backend_error_of_a_login_is_never_invalid_credentials(
    settings: Settings,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
    problem: Exception,
    status: int,
    error: str,
) -> None:
    monkeypatch.setattr(FailingIdentity, "problem", problem)
    monkeypatch.setattr("cloudconsole.server.app.EmbeddedIdentity", FailingIdentity)
    console = InProcessTransport(Console(settings, clock))
    reply = ApiClient(console).login()
    console.close()
    assert_backend_error(reply, status, error)
    assert reply.set_cookies == {}


def test_backend_error_of_a_login_is_not_a_failed_attempt(
    settings: Settings, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cloudconsole.server.app.EmbeddedIdentity", FailingIdentity)
    console = InProcessTransport(Console(settings, clock))
    client = ApiClient(console)
    statuses = {client.login().status for _ in range(12)}
    console.close()
    assert statuses == {502}


def test_too_many_concurrent_logins_are_rejected(
    settings: Settings, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cloudconsole.server.app.QUEUE_LIMIT", 0)
    console = InProcessTransport(Console(settings, clock))
    reply = ApiClient(console).login()
    console.close()
    assert_backend_error(reply, 503, "unavailable")


@pytest.mark.parametrize(
    ("table", "action"),
    [
        ("news", "GetNews"),
        ("prices", "GetConsumptionsEstimated"),
        ("usage", "GetUsageLimits"),
        ("urls", "GetUrlList"),
        ("accounts", "GetFlavors"),
    ],
)
def test_unreadable_store_is_unavailable_until_repaired(
    data: Path, settings: Settings, clock: FakeClock, table: str, action: str
) -> None:
    console = InProcessTransport(Console(settings, clock))
    client = ApiClient(console)
    client.login()
    store = open_engine(data, "cloud")
    replies = []
    for statement in (f"ALTER TABLE {table} RENAME TO away", f"ALTER TABLE away RENAME TO {table}"):
        with store.begin() as connection:
            connection.execute(text(statement))
        replies.append(client.call(action))
    store.dispose()
    console.close()
    assert_backend_error(replies[0], 503, "unavailable")
    assert replies[1].status == 200


def test_stopping_console_rejects_new_requests(settings: Settings, clock: FakeClock) -> None:
    console = InProcessTransport(Console(settings, clock))
    console.console.draining = True
    replies = [
        ApiClient(console).send(method, path) for method, path in (("GET", "/api/"), ("GET", "/"), ("POST", "/api/"))
    ]
    console.close()
    for reply in replies:
        assert_backend_error(reply, 503, "unavailable")
        assert (reply.header("Connection") or "").lower() == "close"
