"""Mutations of sessions and tokens, from which faults are built."""

from tests.conformance.faulty_console import Exchange, Login
from tests.conformance.mutations import is_logged_in, is_opening

DOMAIN = "GetDomainDetail"


def keep_session(exchange: Exchange) -> None:
    """Session fixation: login keeps the session ID from before."""
    given = exchange.set_cookies.get("sessionid", "")
    if is_logged_in(exchange) and "sessionid" in exchange.cookies:
        exchange.memory[exchange.memory["sent"]] = given
    planted = [planted for planted, meant in exchange.memory.items() if meant == given and planted != "sent"]
    if given and planted:
        exchange.change_cookie("sessionid", lambda line: line.replace(given, planted[0]))


def resolve_session(exchange: Exchange) -> None:
    """Map a session ID from before a login to that of the login."""
    exchange.memory["sent"] = exchange.cookies.get("sessionid", "").strip('"')
    for planted, meant in exchange.memory.items():
        if planted != "sent":
            exchange.sent["cookie"] = exchange.sent.get("cookie", "").replace(planted, meant)


def revive_first_session(exchange: Exchange) -> None:
    """Let the session from before the first login stay valid."""
    _revive_session(exchange, exchange.logins[:1])


def revive_replaced_sessions(exchange: Exchange) -> None:
    """Let a session stay valid after another login in it."""
    _revive_session(exchange, [login for login in exchange.logins if login.session_before.startswith("s")])


def _revive_session(exchange: Exchange, logins: list[Login]) -> None:
    for login in logins:
        if exchange.action and exchange.cookies.get("sessionid") == login.session_before:
            exchange.cookies = {**exchange.cookies, "sessionid": login.cookies["sessionid"]}


def accept_token_of_any_session(exchange: Exchange) -> None:
    """Accept the token of any session if header and cookie match."""
    _accept_tokens(exchange, [login.cookies["csrftoken"] for login in exchange.logins])


def accept_made_up_token(exchange: Exchange) -> None:
    _accept_tokens(exchange, ["0" * 64])


def _accept_tokens(exchange: Exchange, tokens: list[str]) -> None:
    cookies, sent = exchange.cookies, exchange.sent.get("x-csrftoken")
    for login in exchange.logins:
        is_own = cookies.get("sessionid") == login.cookies["sessionid"]
        if exchange.action and is_own and sent == cookies.get("csrftoken") and sent in tokens:
            exchange.sent["x-csrftoken"] = login.cookies["csrftoken"]
            exchange.cookies = {**cookies, "csrftoken": login.cookies["csrftoken"]}


def rotate_token(exchange: Exchange) -> None:
    """Issue a new csrftoken at login."""
    if is_logged_in(exchange):
        old = exchange.set_cookies["csrftoken"]
        exchange.memory[old[::-1]] = old
        exchange.change_cookie("csrftoken", lambda line: line.replace(old, old[::-1]))


def resolve_token(exchange: Exchange) -> None:
    """Map a token that a login issued to the one from before."""
    for rotated in [new for new, old in exchange.memory.items() if new == old[::-1]]:
        for name in exchange.sent.keys() & {"cookie", "x-csrftoken"}:
            exchange.sent[name] = exchange.sent[name].replace(rotated, rotated[::-1])
        if exchange.is_login:
            exchange.body = exchange.body.replace(rotated.encode(), rotated[::-1].encode())


def remember_any_token(exchange: Exchange) -> None:
    if is_opening(exchange):
        exchange.memory["token"] = exchange.set_cookies["csrftoken"]


def use_any_token(exchange: Exchange) -> None:
    if exchange.is_login:
        sent, known = exchange.fields.get("csrfmiddlewaretoken"), exchange.cookies.get("csrftoken")
        if sent and (sent != known or sent == "0" * 64):
            exchange.send_form(csrfmiddlewaretoken=exchange.memory["token"])
            exchange.cookies = {**exchange.cookies, "csrftoken": exchange.memory["token"]}


def as_main_tenant(exchange: Exchange) -> None:
    """Let the other tenant see the domains of the main tenant."""
    cookies = {login.username: login.cookies for login in exchange.logins}
    session = cookies.get("other", {}).get("sessionid")
    if exchange.action == DOMAIN and session and exchange.cookies.get("sessionid") == session:
        exchange.sent["x-csrftoken"], exchange.cookies = cookies["demo"]["csrftoken"], cookies["demo"]


def replace_live_session(exchange: Exchange) -> None:
    """Replace the session of a logged-in client with an anonymous one."""
    if is_opening(exchange) and exchange.cookies.get("sessionid", "").startswith("s"):
        exchange.change_cookie("sessionid", lambda line: f"sessionid=a{'0' * 48};{line.partition(';')[2]}")


def close_later_sessions(exchange: Exchange) -> None:
    """Accept only the first session of an account."""
    sessions = [login.cookies["sessionid"] for login in exchange.logins if login.username == "demo"]
    if exchange.action and exchange.cookies.get("sessionid") in sessions[1:]:
        exchange.cookies = {}


def lend_cookies(exchange: Exchange) -> None:
    """Use the cookies of another client for requests without any."""
    if exchange.action and not exchange.cookies:
        _use_last_login(exchange)


def accept_made_up_session(exchange: Exchange) -> None:
    if exchange.action and exchange.cookies.get("sessionid") == f"s{'0' * 48}":
        _use_last_login(exchange)


def _use_last_login(exchange: Exchange) -> None:
    if exchange.logins:
        cookies = exchange.logins[-1].cookies
        exchange.sent["x-csrftoken"], exchange.cookies = cookies["csrftoken"], cookies


def read_last_cookies(exchange: Exchange) -> None:
    """Read the last of equal-named cookies only."""
    exchange.cookies = dict(exchange.cookies)


def read_first_cookies(exchange: Exchange) -> None:
    """Read the first of equal-named cookies only."""
    exchange.sent["cookie"] = "; ".join(reversed(exchange.sent.get("cookie", "").split("; ")))
    read_last_cookies(exchange)


def remember_failed_login(exchange: Exchange) -> None:
    if exchange.is_login and exchange.status == 401:
        exchange.memory["ended"] = exchange.cookies.get("sessionid")


def end_session_of_failed_login(exchange: Exchange) -> None:
    if exchange.action and exchange.cookies.get("sessionid") == exchange.memory.get("ended"):
        exchange.cookies = {}


def remember_issued_tokens(exchange: Exchange) -> None:
    if is_opening(exchange):
        exchange.memory.setdefault("tokens", set()).add(exchange.set_cookies["csrftoken"])


def accept_issued_tokens(exchange: Exchange) -> None:
    """Accept any token that the console issued, whatever the cookie."""
    sent = exchange.sent.get("x-csrftoken")
    is_own = f"csrftoken={sent}" in exchange.sent.get("cookie", "")
    if exchange.action and not is_own and sent in exchange.memory.get("tokens", ()):
        exchange.sent["x-csrftoken"] = exchange.cookies.get("csrftoken", "")


def accept_header_without_cookie(exchange: Exchange) -> None:
    if exchange.action and "csrftoken" not in exchange.cookies and "sessionid" in exchange.cookies:
        exchange.cookies = {**exchange.cookies, "csrftoken": exchange.sent.get("x-csrftoken", "")}


def corrupt_token_after_logout(exchange: Exchange) -> None:
    if exchange.is_login and "sessionid" not in exchange.cookies:
        exchange.send_form(csrfmiddlewaretoken="spoilt")
