"""Ways to damage a request or an answer, from which faults are made."""

from collections.abc import Callable
from typing import Any

from tests.conformance.damaged import Change, Exchange


def on(condition: Callable[[Exchange], object], change: Change) -> Change:
    """A change of those exchanges alone for which a condition holds."""

    def changed(exchange: Exchange) -> None:
        if condition(exchange):
            change(exchange)

    return changed


def opening(exchange: Exchange) -> bool:
    return (exchange.method, exchange.path) == ("GET", "/api/")


def logged_in(exchange: Exchange) -> bool:
    return exchange.is_login and exchange.status == 200


def refused(exchange: Exchange) -> bool:
    return exchange.action is not None and exchange.status >= 400


def data(action: str, change: Callable[[Any], Any]) -> Change:
    """Change the payload of an action, in place or by what is given back."""

    def changed(exchange: Exchange) -> None:
        if exchange.is_success and exchange.action == action:
            envelope = exchange.envelope
            given = change(envelope["data"])
            exchange.envelope = envelope if given is None else {**envelope, "data": given}

    return changed


def put(action: str, *path: str | int, value: Any) -> Change:
    """Put a value at a place of an action's payload."""

    def change(payload: Any) -> None:
        *way, last = path
        for step in way:
            payload = payload[step]
        payload[last] = value

    return data(action, change)


def leave_out(action: str, *path: str | int) -> Change:
    """Leave out what stands at a place of an action's payload."""

    def change(payload: Any) -> None:
        *way, last = path
        for step in way:
            payload = payload[step]
        del payload[last]

    return data(action, change)


def envelope(**fields: Any) -> Change:
    """Other fields in the envelope of every successful action; `...` leaves one out."""

    def changed(exchange: Exchange) -> None:
        if exchange.is_success:
            both = {**exchange.envelope, **fields}
            exchange.envelope = {name: value for name, value in both.items() if value is not ...}

    return changed


def cookie(name: str, old: str, new: str) -> Change:
    """Other words in the lines that set a cookie."""
    return lambda exchange: exchange.change_cookie(name, lambda line: line.replace(old, new))


def without_attributes(name: str, *attributes: str) -> Change:
    """The lines that set a cookie without some of its attributes."""

    def change(line: str) -> str:
        kept = [part for part in line.split("; ") if part.partition("=")[0] not in attributes]
        return "; ".join(kept)

    return lambda exchange: exchange.change_cookie(name, change)


def answered(status: int, content: bytes = b"", content_type: str = "text/plain") -> Change:
    """Another answer altogether."""

    def changed(exchange: Exchange) -> None:
        exchange.status, exchange.content = status, content
        exchange.headers = [("content-type", content_type)]

    return changed


def as_if_sent(name: str, value: Callable[[Exchange], str | None]) -> Change:
    """Another header in the request, or none where the value is None."""

    def changed(exchange: Exchange) -> None:
        given = value(exchange)
        exchange.sent.pop(name, None)
        if given is not None:
            exchange.sent[name] = given

    return changed


def own_region_for_none(exchange: Exchange) -> None:
    """A login that names no region is one for the console's own."""
    if exchange.is_login and "region" not in exchange.fields:
        exchange.send_form(region=f"http://{exchange.sent['host']}/v3")
