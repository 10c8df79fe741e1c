"""Every error: its status, code, field and message, and which of several errors takes precedence."""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
import pytest
from sqlalchemy import text

from cloudconsole.core.ports import Account
from cloudconsole.spec.errors import Unavailable, UpstreamFailed, UpstreamTimeout
from tests.contract.conftest import StartConsole
from tests.contract.test_actions import ACTIONS
from tests.harness import FORM, JSON, ApiClient, HttpTransport, InProcessTransport, Reply
from tests.stores import write_transaction

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
    "action=GetFlavors",
    "{'action':'GetFlavors'}",
    '{"action":"GetFlavors",}',
    '{"action":"GetFlavors"}x',
    '{"action":"GetFlavors"',
    '{"action":"GetFlavors","x":01}',
    '{"action":"GetFlavors","x":"\t"}',
    '{"action":"GetFlavors","x":' + "9" * 5000 + "x}",
    '{"action":"GetFlavors","x":' + "9" * 5000 + ',"y":NaN}',
]


@pytest.mark.parametrize("body", NOT_AN_OBJECT + NOT_JSON, ids=lambda body: ascii(body)[:40])
def test_body_other_than_a_json_object_is_rejected(demo: ApiClient, body: str) -> None:
    assert_rejected(post(demo, body.encode()), 400, "malformed_body")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "nan", "-NaN"])
@pytest.mark.parametrize("name", ["domainId", "skipped"])
def test_nan_and_infinity_are_rejected(demo: ApiClient, name: str, number: str) -> None:
    assert_rejected(post(demo, f'{{"action":"GetFlavors","{name}":{number}}}'.encode()), 400, "malformed_body")


LONE_SURROGATES = [rb"\ud800", rb"\udfff", rb"a\ud83dz", rb"\ude00\ud83d", rb"\uD800"]
INVALID_UTF_8 = [b"\xff", b"\xc3", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf5\x80\x80\x80"]


@pytest.mark.parametrize("raw", LONE_SURROGATES + INVALID_UTF_8)
def test_invalid_unicode_in_json_is_rejected(demo: ApiClient, raw: bytes) -> None:
    for body in (
        b'{"action":"GetDomainDetail","domainId":"%b"}' % raw,
        b'{"action":"GetFlavors","skipped":["%b"]}' % raw,
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
        b'{"action":"GetFlavors"' + b',"a":1' * 5000 + b"}",
        b'{"action":"GetFlavors","skipped":' + b"[" * 100 + b"]" * 100 + b"}",
    ],
    ids=range(14),
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


MISSING_ACTION = {
    JSON: [b"{}", b'{"action":null}', b'{"action":""}', b'{"Action":"GetFlavors"}'],
    FORM: [b"", b"action", b"action=", b"ACTION=GetFlavors", b"domainId=206813", b"&"],
}
MISSING_DOMAIN = {
    JSON: [b"%b}" % field for field in (b"", b',"domainId":null', b',"domainId":""', b',"domainid":"206813"')],
    FORM: [b"", b"&domainId", b"&domainId=", b"&domainID=206813"],
}


@pytest.mark.parametrize(
    ("content_type", "body"), [(kind, body) for kind in (JSON, FORM) for body in MISSING_ACTION[kind]]
)
def test_missing_action_is_rejected(demo: ApiClient, content_type: str, body: bytes) -> None:
    assert_rejected(post(demo, body, content_type), 400, "missing_field", "action")


@pytest.mark.parametrize("value", ["1", "0", "1.5", "true", "false", "[]", '["GetFlavors"]', "{}", '{"a":1}'])
def test_action_must_be_a_string(demo: ApiClient, value: str) -> None:
    assert_rejected(post(demo, f'{{"action":{value}}}'.encode()), 400, "invalid_field", "action")


@pytest.mark.parametrize(
    "name",
    [
        "GetEverything",
        "getflavors",
        " GetFlavors",
        "GetFlavors\x00",
        "获取云主机配置",
        "G" * 10_000,
    ],
)
@pytest.mark.parametrize("as_form", [False, True], ids=["json", "form"])
def test_unknown_action_is_rejected(demo: ApiClient, as_form: bool, name: str) -> None:
    assert_rejected(demo.call(name, as_form=as_form), 404, "unknown_action", "action")


# The domain id


@pytest.mark.parametrize(
    ("content_type", "rest"), [(kind, rest) for kind in (JSON, FORM) for rest in MISSING_DOMAIN[kind]]
)
def test_missing_domain_id_is_rejected(demo: ApiClient, content_type: str, rest: bytes) -> None:
    begin = b'{"action":"GetDomainDetail"' if content_type == JSON else b"action=GetDomainDetail"
    assert_rejected(post(demo, begin + rest, content_type), 400, "missing_field", "domainId")


@pytest.mark.parametrize(
    "value",
    [
        "true",
        "206813.0",
        "-0.0",
        "2e5",
        "1e400",
        "[]",
        "{}",
        "1" + "0" * 64,
        "-" + "9" * 64,
        "9" * 5000,
        "-" + "9" * 5000,
        '"' + "9" * 65 + '"',
        '"' + "中" * 65 + '"',
        r'"206813\n"',
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
        "9" * 64,
        "-" + "9" * 63,
        '"' + "9" * 64 + '"',
        '"' + "中" * 64 + '"',
        '"' + "😀" * 64 + '"',
        '" 206813"',
        '"0206813"',
        '"+206813"',
        '"２０６８１３"',
        '"\u00a0"',
        "\"206813' OR '1'='1\"",
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
        ' ; Charset="utf-8"',
        "; charset=utf8",
        ";",
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
    "application/xml",
    "application/vnd.api+json",
    "multipart/form-data; boundary=x",
    "*/*",
    "application/json, application/json",
    "application/json; charset=utf-16",
    "application/json; charset=gb2312",
    "application/x-www-form-urlencoded; charset=gbk",
]


@pytest.mark.parametrize("content_type", UNSUPPORTED_TYPES)
def test_other_media_types_are_rejected(demo: ApiClient, content_type: str | None) -> None:
    assert_rejected(post(demo, VALID, content_type), 415, "unsupported_media_type")


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


def test_body_size_limit_is_configurable(start_console: StartConsole) -> None:
    client = start_console(max_body=2000)
    statuses = [login(client, (login_form(client) + b"&x=").ljust(size, b"x")).status for size in (2000, 2001)]
    assert statuses == [401, 413]


# Sessions, CSRF and hosts


@json_and_form
def test_action_without_a_session_is_rejected(client: ApiClient, content_type: str, body: bytes) -> None:
    assert_rejected(post(client, body, content_type), 401, "login_required")
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


UNUSUAL_HOSTS = ("a b", "", "localhost:99999", '"><script>alert(1)</script>.localhost')


@pytest.mark.parametrize(
    "host",
    [
        "console.example.com",
        "127.0.0.1.example.com",
        "[1:2",
        *(pytest.param(host, marks=pytest.mark.not_behind_nginx) for host in UNUSUAL_HOSTS),
    ],
)
@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("GET", "/api/"), ("POST", "/api/"), ("GET", "/nowhere")])
def test_unknown_host_is_rejected(client: ApiClient, method: str, path: str, host: str) -> None:
    reply = client.send(method, path, {"Host": host})
    assert_rejected(reply, 400, "invalid_host")
    assert reply.set_cookies == {}


# Login


@pytest.mark.parametrize("name", ["username", "password", "region"])
def test_login_requires_every_field(client: ApiClient, name: str) -> None:
    absent: dict[str, Any] = {name: None}
    empty: dict[str, Any] = {name: ""}
    assert_rejected(client.login(**absent), 400, "missing_field", name)
    assert_rejected(client.login(**empty), 400, "missing_field", name)


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


def test_too_many_failed_logins_are_throttled(start_console: StartConsole) -> None:
    client = start_console()
    assert [client.login("demo", "wrong").status for _ in range(10)] == [401] * 10
    reply = client.login("demo", "wrong")
    assert_rejected(reply, 429, "too_many_requests")
    assert reply.header("Retry-After") == "60"
    assert_common_headers(reply)


# Order of checks


@pytest.mark.not_behind_nginx
def test_order_of_checks_for_an_action(demo: ApiClient) -> None:
    headers = {"Host": "elsewhere.example", "Content-Type": "text/plain", "Cookie": "x=1", "X-CSRFToken": "wrong"}
    right_host = {"Host": demo.transport.base.partition("//")[2]}
    right_cookies = {"Cookie": "; ".join(f"{name}={value}" for name, value in demo.cookies.items())}
    too_large = b"\xff" * (LIMIT + 1)
    # Everything is wrong at first; each step corrects what was reported.
    steps: list[tuple[dict[str, str], bytes, tuple[int, str, str | None]]] = [
        ({}, too_large, (400, "invalid_host", None)),
        (right_host, too_large, (413, "body_too_large", None)),
        ({}, b"\xff", (415, "unsupported_media_type", None)),
        ({"Content-Type": JSON}, b"\xff", (401, "login_required", None)),
        (right_cookies, b"\xff", (403, "csrf_failed", None)),
        ({"X-CSRFToken": demo.token}, b"\xff", (400, "malformed_body", None)),
        ({}, b'{"domainId":false}', (400, "missing_field", "action")),
        ({}, b'{"domainId":false,"action":"Nonsense"}', (404, "unknown_action", "action")),
        ({}, b'{"domainId":false,"action":"GetDomainDetail"}', (400, "invalid_field", "domainId")),
        ({}, b'{"domainId":"0","action":"GetDomainDetail"}', (404, "domain_not_found", "domainId")),
    ]
    for correction, body, expected in steps:
        headers |= correction
        assert_rejected(demo.send("POST", "/api/", headers, body), *expected)


@pytest.mark.not_behind_nginx
def test_order_of_checks_for_a_login(client: ApiClient) -> None:
    client.open()
    headers = {"Host": "elsewhere.example", "Content-Type": JSON}
    fields = {"csrfmiddlewaretoken": "wrong", "region": "nonsense", "padding": "x" * LIMIT}
    right_host = {"Host": client.transport.base.partition("//")[2]}
    steps: list[tuple[dict[str, str], dict[str, str], tuple[int, str, str | None]]] = [
        ({}, {}, (400, "invalid_host", None)),
        (right_host, {}, (413, "body_too_large", None)),
        ({}, {"padding": ""}, (415, "unsupported_media_type", None)),
        ({"Content-Type": FORM}, {}, (403, "csrf_failed", None)),
        ({}, {"csrfmiddlewaretoken": client.token}, (400, "missing_field", "username")),
        ({}, {"username": UNKNOWN_USER}, (400, "missing_field", "password")),
        ({}, {"password": "wrong"}, (400, "unknown_region", "region")),
        ({}, {"region": f"{client.transport.base}/v3"}, (401, "invalid_credentials", None)),
    ]
    for header_correction, field_correction, expected in steps:
        headers |= header_correction
        fields |= field_correction
        assert_rejected(client.send("POST", "/auth/login/", headers, urlencode(fields).encode()), *expected)


def test_order_of_checks_for_a_logout(demo: ApiClient) -> None:
    wrong_host = {"Host": "elsewhere.example", "Cookie": "x=1", "X-CSRFToken": "wrong"}
    no_session = {"Cookie": "x=1", "X-CSRFToken": "wrong"}
    wrong_token = {"X-CSRFToken": "wrong"}
    outcomes = [demo.send("POST", "/auth/logout/", headers).error for headers in (wrong_host, no_session, wrong_token)]
    assert outcomes == ["invalid_host", "login_required", "csrf_failed"]


# Languages

LANGUAGES = [(None, "en"), ("zh", "zh"), ("zh-CN,zh;q=0.9,en;q=0.8", "zh"), ("en-GB,en;q=0.9,zh;q=0.8", "en")]


def _is_chinese(message: str) -> bool:
    return re.search("[一-鿿]", message) is not None


@pytest.mark.parametrize(("header", "language"), LANGUAGES)
def test_messages_follow_accept_language(demo: ApiClient, header: str | None, language: str) -> None:
    headers = {} if header is None else {"Accept_Language": header}
    for reply in (post(demo, b"{}", **headers), post(demo, VALID, **headers)):
        assert _is_chinese(reply.envelope["message"]) == (language == "zh")


@pytest.mark.parametrize("action", ACTIONS)
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


@pytest.mark.parametrize("kind", REQUESTS)
def test_every_response_has_the_common_headers(demo: ApiClient, kind: str) -> None:
    preflight = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-csrftoken"}
    status, method, path, headers, body = REQUESTS[kind]
    more = {"X-CSRFToken": demo.token, "X-Request-ID": "Mine-1_2.3", **preflight}
    reply = demo.send(method, path, more | headers, body)
    assert reply.status == status
    # The page is the same for everyone and contains nothing personal.
    assert_common_headers(reply, "no-cache" if "page" in kind else "no-store")
    assert reply.header("X-Request-ID") == "Mine-1_2.3"
    assert set(reply.set_cookies) == ({"sessionid", "csrftoken"} if "service info" in kind else set())
    assert reply.body == b"" or "HEAD" not in kind


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
def failing(start_console: StartConsole, monkeypatch: pytest.MonkeyPatch) -> ApiClient:
    """A client logged in to a console whose cloud and content backends fail."""
    monkeypatch.setattr("cloudconsole.server.app.EmbeddedCloud", FailingBackend)
    monkeypatch.setattr("cloudconsole.server.app.EmbeddedContent", FailingBackend)
    client = start_console()
    assert client.login().status == 200
    return client


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
def test_backend_error_of_a_login_is_no_failed_attempt(
    start_console: StartConsole, monkeypatch: pytest.MonkeyPatch, problem: Exception, status: int, error: str
) -> None:
    monkeypatch.setattr(FailingIdentity, "problem", problem)
    monkeypatch.setattr("cloudconsole.server.app.EmbeddedIdentity", FailingIdentity)
    client = start_console()
    # As an attempt, the eleventh would be throttled.
    for _ in range(11):
        reply = client.login()
        assert_backend_error(reply, status, error)
        assert reply.set_cookies == {}


def test_too_many_concurrent_logins_are_rejected(start_console: StartConsole, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cloudconsole.server.app.QUEUE_LIMIT", 0)
    assert_backend_error(start_console().login(), 503, "unavailable")


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
    data: Path, start_console: StartConsole, table: str, action: str
) -> None:
    client = start_console()
    client.login()
    replies = []
    for statement in (f"ALTER TABLE {table} RENAME TO away", f"ALTER TABLE away RENAME TO {table}"):
        with write_transaction(data, "cloud") as connection:
            connection.execute(text(statement))
        replies.append(client.call(action))
    assert_backend_error(replies[0], 503, "unavailable")
    assert replies[1].status == 200


def test_stopping_console_rejects_new_requests(start_console: StartConsole) -> None:
    client = start_console()
    assert isinstance(client.transport, InProcessTransport)
    client.transport.console.draining = True
    for method, path in (("GET", "/api/"), ("GET", "/"), ("POST", "/api/")):
        reply = client.send(method, path)
        assert_backend_error(reply, 503, "unavailable")
        assert (reply.header("Connection") or "").lower() == "close"
