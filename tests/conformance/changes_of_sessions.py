"""Ways to damage sessions and tokens, from which faults are made."""

from tests.conformance.changes import logged_in, opening
from tests.conformance.damaged import Exchange

DOMAIN = "GetDomainDetail"


def keep_session(exchange: Exchange) -> None:
    """Session fixation: the id from before the login is the one that is logged in."""
    given = exchange.set_cookies.get("sessionid", "")
    if logged_in(exchange) and "sessionid" in exchange.cookies:
        exchange.memory[exchange.memory["sent"]] = given
    planted = [planted for planted, meant in exchange.memory.items() if meant == given and planted != "sent"]
    if given and planted:
        exchange.change_cookie("sessionid", lambda line: line.replace(given, planted[0]))


def know_session(exchange: Exchange) -> None:
    """Of whoever has an id from before a login, that of the login."""
    exchange.memory["sent"] = exchange.cookies.get("sessionid", "").strip('"')
    for planted, meant in exchange.memory.items():
        if planted != "sent":
            exchange.sent["cookie"] = exchange.sent.get("cookie", "").replace(planted, meant)


def remember_first_login(exchange: Exchange) -> None:
    if logged_in(exchange) and not exchange.memory:
        exchange.memory[exchange.cookies["sessionid"]] = exchange.set_cookies["sessionid"]


def revive_session(exchange: Exchange) -> None:
    cookies = exchange.cookies
    if exchange.action and cookies.get("sessionid") in exchange.memory:
        exchange.cookies = {**cookies, "sessionid": exchange.memory[cookies["sessionid"]]}


def remember_token(exchange: Exchange) -> None:
    """Which token is each session's own."""
    given = exchange.set_cookies
    if exchange.is_login and given:
        exchange.memory[given["sessionid"]] = given["csrftoken"]


def bind_no_token(exchange: Exchange) -> None:
    """Any token is good whose header equals the cookie and that some session has."""
    cookies, sent = exchange.cookies, exchange.sent.get("x-csrftoken")
    own = exchange.memory.get(cookies.get("sessionid", ""))
    if exchange.action and own and sent == cookies.get("csrftoken") and sent in exchange.memory.values():
        exchange.sent["x-csrftoken"] = own
        exchange.cookies = {**cookies, "csrftoken": own}


def rotate_token(exchange: Exchange) -> None:
    """Another csrftoken at login, good from then on."""
    if logged_in(exchange):
        old = exchange.set_cookies["csrftoken"]
        exchange.memory[old[::-1]] = old
        exchange.change_cookie("csrftoken", lambda line: line.replace(old, old[::-1]))


def know_token(exchange: Exchange) -> None:
    old = exchange.memory.get(exchange.cookies.get("csrftoken", ""))
    if old:
        if exchange.sent.get("x-csrftoken") == exchange.cookies["csrftoken"]:
            exchange.sent["x-csrftoken"] = old
        exchange.cookies = {**exchange.cookies, "csrftoken": old}


def remember_any_token(exchange: Exchange) -> None:
    if opening(exchange):
        exchange.memory["token"] = exchange.set_cookies["csrftoken"]


def use_any_token(exchange: Exchange) -> None:
    if exchange.is_login:
        sent, known = exchange.fields.get("csrfmiddlewaretoken"), exchange.cookies.get("csrftoken")
        if sent != known or sent == "0" * 64:
            exchange.send_form(csrfmiddlewaretoken=exchange.memory["token"])
            exchange.cookies = {**exchange.cookies, "csrftoken": exchange.memory["token"]}


def remember_tenants(exchange: Exchange) -> None:
    if logged_in(exchange):
        exchange.memory[exchange.fields["username"]] = exchange.set_cookies


def as_main_tenant(exchange: Exchange) -> None:
    """Domains of the main tenant are found whoever of the two asks."""
    demo, other = (exchange.memory.get(name, {}) for name in ("demo", "other"))
    if exchange.action == DOMAIN and exchange.cookies.get("sessionid", "") == other.get("sessionid"):
        exchange.sent["x-csrftoken"], exchange.cookies = demo["csrftoken"], demo


def replace_live_session(exchange: Exchange) -> None:
    """Whoever has logged in becomes anonymous again."""
    if opening(exchange) and exchange.cookies.get("sessionid", "").startswith("s"):
        exchange.change_cookie("sessionid", lambda line: f"sessionid=a{'0' * 48};{line.partition(';')[2]}")


def remember_all_sessions(exchange: Exchange) -> None:
    if logged_in(exchange) and exchange.fields["username"] == "demo":
        exchange.memory.setdefault("sessions", []).append(exchange.set_cookies["sessionid"])


def close_later_sessions(exchange: Exchange) -> None:
    """An account's first session is the only one that is good."""
    if exchange.action and exchange.cookies.get("sessionid") in exchange.memory.get("sessions", [])[1:]:
        exchange.cookies = {}


def remember_login_in_session(exchange: Exchange) -> None:
    """Which session took the place of another."""
    before = exchange.cookies.get("sessionid", "")
    if logged_in(exchange) and before.startswith("s"):
        exchange.memory[before] = exchange.set_cookies["sessionid"]


def remember_last_jar(exchange: Exchange) -> None:
    if logged_in(exchange):
        exchange.memory["jar"] = exchange.set_cookies


def lend_jar(exchange: Exchange) -> None:
    """Who has no cookies at all gets those of somebody else."""
    if exchange.action and not exchange.cookies and "jar" in exchange.memory:
        exchange.sent["x-csrftoken"], exchange.cookies = exchange.memory["jar"]["csrftoken"], exchange.memory["jar"]


def mend_made_up_token(exchange: Exchange) -> None:
    own = exchange.memory.get(exchange.cookies.get("sessionid", ""))
    if exchange.action and own and exchange.sent.get("x-csrftoken") == exchange.cookies.get("csrftoken") == "0" * 64:
        exchange.sent["x-csrftoken"] = own
        exchange.cookies = {**exchange.cookies, "csrftoken": own}


def spoil_token_after_logout(exchange: Exchange) -> None:
    if exchange.is_login and "sessionid" not in exchange.cookies:
        exchange.send_form(csrfmiddlewaretoken="spoilt")
