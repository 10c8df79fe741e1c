"""Mutations of sessions and tokens, from which faults are built."""

from tests.conformance.faulty_console import Exchange
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


def remember_first_login(exchange: Exchange) -> None:
    if is_logged_in(exchange) and not exchange.memory:
        exchange.memory[exchange.cookies["sessionid"]] = exchange.set_cookies["sessionid"]


def revive_session(exchange: Exchange) -> None:
    cookies = exchange.cookies
    if exchange.action and cookies.get("sessionid") in exchange.memory:
        exchange.cookies = {**cookies, "sessionid": exchange.memory[cookies["sessionid"]]}


def remember_token(exchange: Exchange) -> None:
    """Remember the token of each session."""
    given = exchange.set_cookies
    if exchange.is_login and given:
        exchange.memory[given["sessionid"]] = given["csrftoken"]


def accept_token_of_any_session(exchange: Exchange) -> None:
    """Accept the token of any session if header and cookie match."""
    cookies, sent = exchange.cookies, exchange.sent.get("x-csrftoken")
    own = exchange.memory.get(cookies.get("sessionid", ""))
    if exchange.action and own and sent == cookies.get("csrftoken") and sent in exchange.memory.values():
        exchange.sent["x-csrftoken"] = own
        exchange.cookies = {**cookies, "csrftoken": own}


def rotate_token(exchange: Exchange) -> None:
    """Issue a new csrftoken at login."""
    if is_logged_in(exchange):
        old = exchange.set_cookies["csrftoken"]
        exchange.memory[old[::-1]] = old
        exchange.change_cookie("csrftoken", lambda line: line.replace(old, old[::-1]))


def resolve_token(exchange: Exchange) -> None:
    old = exchange.memory.get(exchange.cookies.get("csrftoken", ""))
    if old:
        if exchange.sent.get("x-csrftoken") == exchange.cookies["csrftoken"]:
            exchange.sent["x-csrftoken"] = old
        exchange.cookies = {**exchange.cookies, "csrftoken": old}


def remember_any_token(exchange: Exchange) -> None:
    if is_opening(exchange):
        exchange.memory["token"] = exchange.set_cookies["csrftoken"]


def use_any_token(exchange: Exchange) -> None:
    if exchange.is_login:
        sent, known = exchange.fields.get("csrfmiddlewaretoken"), exchange.cookies.get("csrftoken")
        if sent != known or sent == "0" * 64:
            exchange.send_form(csrfmiddlewaretoken=exchange.memory["token"])
            exchange.cookies = {**exchange.cookies, "csrftoken": exchange.memory["token"]}


def remember_tenants(exchange: Exchange) -> None:
    if is_logged_in(exchange):
        exchange.memory[exchange.fields["username"]] = exchange.set_cookies


def as_main_tenant(exchange: Exchange) -> None:
    """Let the other tenant see the domains of the main tenant."""
    demo, other = (exchange.memory.get(name, {}) for name in ("demo", "other"))
    if exchange.action == DOMAIN and exchange.cookies.get("sessionid", "") == other.get("sessionid"):
        exchange.sent["x-csrftoken"], exchange.cookies = demo["csrftoken"], demo


def replace_live_session(exchange: Exchange) -> None:
    """Replace the session of a logged-in client with an anonymous one."""
    if is_opening(exchange) and exchange.cookies.get("sessionid", "").startswith("s"):
        exchange.change_cookie("sessionid", lambda line: f"sessionid=a{'0' * 48};{line.partition(';')[2]}")


def remember_all_sessions(exchange: Exchange) -> None:
    if is_logged_in(exchange) and exchange.fields["username"] == "demo":
        exchange.memory.setdefault("sessions", []).append(exchange.set_cookies["sessionid"])


def close_later_sessions(exchange: Exchange) -> None:
    """Accept only the first session of an account."""
    if exchange.action and exchange.cookies.get("sessionid") in exchange.memory.get("sessions", [])[1:]:
        exchange.cookies = {}


def remember_login_in_session(exchange: Exchange) -> None:
    """Remember which session replaced another."""
    before = exchange.cookies.get("sessionid", "")
    if is_logged_in(exchange) and before.startswith("s"):
        exchange.memory[before] = exchange.set_cookies["sessionid"]


def remember_last_cookies(exchange: Exchange) -> None:
    if is_logged_in(exchange):
        exchange.memory["jar"] = exchange.set_cookies


def lend_cookies(exchange: Exchange) -> None:
    """Use the cookies of another client for requests without any."""
    if exchange.action and not exchange.cookies and "jar" in exchange.memory:
        exchange.sent["x-csrftoken"], exchange.cookies = exchange.memory["jar"]["csrftoken"], exchange.memory["jar"]


def accept_made_up_token(exchange: Exchange) -> None:
    own = exchange.memory.get(exchange.cookies.get("sessionid", ""))
    if exchange.action and own and exchange.sent.get("x-csrftoken") == exchange.cookies.get("csrftoken") == "0" * 64:
        exchange.sent["x-csrftoken"] = own
        exchange.cookies = {**exchange.cookies, "csrftoken": own}


def corrupt_token_after_logout(exchange: Exchange) -> None:
    if exchange.is_login and "sessionid" not in exchange.cookies:
        exchange.send_form(csrfmiddlewaretoken="spoilt")
