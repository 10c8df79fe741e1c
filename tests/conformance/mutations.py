"""Mutations of requests and responses, from which faults are built."""

import json
from collections.abc import Callable
from typing import Any

from tests.conformance.faulty_console import Exchange, Mutation


def on(condition: Callable[[Exchange], object], change: Mutation) -> Mutation:
    """Apply a mutation only to exchanges that meet a condition."""

    def mutate(exchange: Exchange) -> None:
        if condition(exchange):
            change(exchange)

    return mutate


def is_opening(exchange: Exchange) -> bool:
    """Whether it is a `GET /api/` that is not rejected."""
    return (exchange.method, exchange.path) == ("GET", "/api/") and exchange.status in (0, 200)


def is_logged_in(exchange: Exchange) -> bool:
    return exchange.is_login and exchange.status == 200


def is_rejected(exchange: Exchange) -> bool:
    return exchange.action is not None and exchange.status >= 400


def data(action: str, change: Callable[[Any], Any]) -> Mutation:
    """Change the payload of an action, in place or by returning a new one."""

    def mutate(exchange: Exchange) -> None:
        if exchange.is_success and exchange.action == action:
            envelope = exchange.envelope
            new = change(envelope["data"])
            exchange.envelope = envelope if new is None else {**envelope, "data": new}

    return mutate


def put(action: str, *path: str | int, value: Any) -> Mutation:
    """Set the value at a path in an action's payload; `...` removes it."""

    def change(payload: Any) -> None:
        *parents, last = path
        for key in parents:
            payload = payload[key]
        payload[last] = value
        if value is ...:
            del payload[last]

    return data(action, change)


def drop(action: str, *path: str | int) -> Mutation:
    return put(action, *path, value=...)


def merge(**fields: Any) -> Mutation:
    """Replace fields in the envelope; `...` removes one."""

    def mutate(exchange: Exchange) -> None:
        merged = {**exchange.envelope, **fields}
        exchange.envelope = {name: value for name, value in merged.items() if value is not ...}

    return mutate


def envelope(**fields: Any) -> Mutation:
    """Replace fields in the envelope of every successful action."""
    return on(lambda exchange: exchange.is_success, merge(**fields))


def cookie(name: str, old: str, new: str) -> Mutation:
    """Replace text in the Set-Cookie headers of a cookie."""
    return lambda exchange: exchange.change_cookie(name, lambda line: line.replace(old, new))


def without_attributes(name: str, *attributes: str) -> Mutation:
    """Remove attributes from the Set-Cookie headers of a cookie."""

    def change(line: str) -> str:
        parts = [part for part in line.split("; ") if part.partition("=")[0] not in attributes]
        return "; ".join(parts)

    return lambda exchange: exchange.change_cookie(name, change)


def respond_with(status: int, content: bytes = b"", content_type: str = "text/plain") -> Mutation:
    """Replace the response, except for headers that every response has."""

    def mutate(exchange: Exchange) -> None:
        exchange.status, exchange.content = status, content
        exchange.headers = [pair for pair in exchange.headers if pair[0] not in ("set-cookie", "retry-after")]
        exchange.set_header("content-type", content_type)

    return mutate


def reject(status: int, error: str, **fields: str) -> Mutation:
    """Respond with an error in its envelope."""
    envelope = {"message": "No.", "code": status, "data": {}, "error": error, **fields}
    return respond_with(status, json.dumps(envelope).encode(), "application/json")


def request_header(name: str, value: Callable[[Exchange], str | None]) -> Mutation:
    """Set a header of the request, or remove it if the value is None."""

    def mutate(exchange: Exchange) -> None:
        new = value(exchange)
        exchange.sent.pop(name, None)
        if new is not None:
            exchange.sent[name] = new

    return mutate


def default_to_own_region(exchange: Exchange) -> None:
    """Treat a login without a region as one for the console's own region."""
    if exchange.is_login and "region" not in exchange.fields:
        exchange.send_form(region=f"http://{exchange.sent['host']}/v3")
