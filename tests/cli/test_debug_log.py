"""`--debug` shows requests and responses, and no secret."""

import json
from collections.abc import Callable
from html import escape
from urllib.parse import quote

import pytest

from tests.cli.users import PASSWORD, CliUser
from tests.client.scripted_server import Canned, ReceivedRequest, ScriptedServer, envelope
from tests.harness import RunningServer

ODD_PASSWORD = 'pä"ss&<w/ord> 1'
SESSION, TOKEN = "s3ss10n-of-the-guest", "t0k3n-of-the-guest"
OPENED = Canned(
    headers=[("Set-Cookie", f"csrftoken={TOKEN}; Path=/"), ("Set-Cookie", f'sessionid="{SESSION}"; Path=/')]
)


def test_requests_and_responses_are_shown_beside_the_output(demo_user: CliUser, server: RunningServer) -> None:
    done = demo_user.run("domain", "206814", "--debug", "-o", "json")
    assert json.loads(done.out) == demo_user.json("domain", "206814", "-o", "json")
    lines = done.err.splitlines()
    assert lines[0] == f"> POST {server.base}/api/"
    assert "> cookie: sessionid=[secret]; csrftoken=[secret]" in lines
    assert '> {"domainId": "206814", "action": "GetDomainDetail"}' in lines
    assert any(line.startswith("< 200 OK (") for line in lines)
    assert lines[-1].startswith('< {"message": ')


def test_no_secret_of_a_login_is_shown(cli_user: CliUser, server: RunningServer) -> None:
    account = ("--url", server.base, "--username", "demo")
    done = cli_user.run("--debug", "login", *account, CLOUDCONSOLE_PASSWORD=PASSWORD)
    assert done.code == 0
    assert "password=[secret]" in done.err
    assert "username=demo" in done.err
    assert "> x-csrftoken: [secret]" in done.err
    assert "< set-cookie: sessionid=[secret]; HttpOnly; Path=/; SameSite=Lax" in done.err
    cookies = [cookie["value"] for cookie in cli_user.saved_sessions()["sessions"][0]["cookies"]]
    assert len(cookies) == 2
    for secret in (PASSWORD, *cookies):
        assert secret not in done.out + done.err


def test_a_password_that_is_an_ordinary_word_is_not_searched_for(cli_user: CliUser, server: RunningServer) -> None:
    account = ("--url", server.base, "--username", "demo")
    done = cli_user.run("--debug", "login", *account, CLOUDCONSOLE_PASSWORD="wrong")
    assert "password=[secret]" in done.err
    assert done.err.endswith("cloudconsole: The username or password is wrong, or the account is disabled.\n")
    assert "[secret], or" not in done.err


def echo(_: ReceivedRequest) -> Canned:
    """Repeat all secrets in a message, in other fields and in headers."""
    message = f"{ODD_PASSWORD} {SESSION} {TOKEN} {quote(ODD_PASSWORD)} {escape(ODD_PASSWORD)}"
    data = {"newToken": "an0ther-t0k3n", "again": "an0ther-t0k3n", "list": [{"passwordHash": "h4sh-of-it"}]}
    headers = [("X-Echo", f"{SESSION} {quote(ODD_PASSWORD)}"), ("Authorization", "Bearer b34rer-value")]
    return envelope(data | {"text": message}, code=400, status=400, headers=headers)


def html(_: ReceivedRequest) -> Canned:
    return Canned(500, f"<p>{ODD_PASSWORD}{SESSION}".encode(), [("Content-Type", "text/html")])


def not_json(_: ReceivedRequest) -> Canned:
    return Canned(200, b'{"password": "cut-0ff', [("Content-Type", "application/json")])


@pytest.mark.parametrize(
    ("respond", "shown"),
    [
        (echo, '"list": [{"passwordHash": "[secret]"}]'),
        (html, " bytes of text/html)"),
        (not_json, "< (21 bytes of application/json)"),
    ],
)
def test_no_secret_that_the_console_repeats_is_shown(
    cli_user: CliUser, respond: Callable[[ReceivedRequest], Canned], shown: str
) -> None:
    with ScriptedServer() as scripted:
        scripted.opening, scripted.rule = [OPENED], respond
        account = ("--url", scripted.base, "--username", "guest", "--region", "r")
        done = cli_user.run("call", "Echo", *account, "--debug", CLOUDCONSOLE_PASSWORD=ODD_PASSWORD)
    assert shown in done.err
    log = "".join(line for line in done.err.splitlines(keepends=True) if line[0] in "<>")
    forms = (ODD_PASSWORD, quote(ODD_PASSWORD), escape(ODD_PASSWORD), json.dumps(ODD_PASSWORD)[1:-1])
    for secret in (*forms, SESSION, TOKEN, "an0ther-t0k3n", "h4sh-of-it", "b34rer-value", "cut-0ff"):
        assert secret not in log


def test_debugging_uses_the_proxy_of_the_environment(demo_user: CliUser) -> None:
    done = demo_user.run("urls", "--debug", "--timeout", "1", http_proxy="http://127.0.0.1:1")
    assert done.code == 3
    assert "\n< ConnectError: " in done.err


def test_debug_takes_no_value(cli_user: CliUser) -> None:
    done = cli_user.run("urls", "--debug=1")
    assert (done.code, done.err.partition(";")[0]) == (
        2,
        "cloudconsole: argument --debug: ignored explicit argument '1'",
    )
