"""`--debug`: print each request and response to standard error, without secrets.

Passwords, cookies and tokens are recognised by the names of headers and fields. Their values are then removed wherever
else they occur, as in a message that quotes them. Of bodies other than JSON and forms only type and size are shown.
"""

import json
import ssl
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import parse_qsl

import httpx2

from cloudconsole.client.events import SECRET_NAME
from cloudconsole.client.transport import MAX_BYTES
from cloudconsole.spec.operations import FORM
from cloudconsole.spec.secret_values import HIDDEN, Secrets, distinctive
from cloudconsole.spec.text_escaping import escape_and_truncate

_MAX_LENGTH: Final = 20_000


class DebugTransport(httpx2.BaseTransport):
    """Sends requests through a client of its own, which uses the proxies of the environment as usual."""

    def __init__(self, verify: ssl.SSLContext | bool) -> None:
        self._client = httpx2.Client(verify=verify)
        self._passwords: set[str] = set()
        self._tokens: set[str] = set()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        lines = [f"{request.method} {request.url}", *self._headers(request.headers)]
        self._print(">", [*lines, *self._body(request.headers, request.read(), self._passwords)])
        began = time.monotonic()
        try:
            response = self._client.send(request, stream=True)
            content = _read(response)
        except httpx2.HTTPError as problem:
            self._print("<", [f"{type(problem).__name__}: {problem}"])
            raise
        response.close()
        seconds = time.monotonic() - began
        lines = [f"{response.status_code} {response.reason_phrase} ({seconds:.3f} s)", *self._headers(response.headers)]
        self._print("<", [*lines, *self._body(response.headers, content, self._tokens)])
        stream = httpx2.ByteStream(content)
        return httpx2.Response(
            response.status_code, headers=response.headers, stream=stream, extensions=response.extensions
        )

    def close(self) -> None:
        self._client.close()

    def _headers(self, headers: httpx2.Headers) -> Iterator[str]:
        for name, value in headers.multi_items():
            if name in ("cookie", "set-cookie"):
                yield f"{name}: {'; '.join(self._cookies(name, value.split(';')))}"
            elif SECRET_NAME.search(name):
                self._tokens.add(value)
                yield f"{name}: {HIDDEN}"
            else:
                yield f"{name}: {value}"

    def _cookies(self, header: str, parts: Iterable[str]) -> Iterator[str]:
        for number, part in enumerate(parts):
            name, equals, value = part.strip().partition("=")
            # After the first one, Set-Cookie has attributes.
            if header == "set-cookie" and number > 0:
                yield part.strip()
            elif equals:
                self._tokens.add(value.strip('"'))
                yield f"{name}={HIDDEN}"
            else:
                self._tokens.add(name)
                yield HIDDEN

    def _body(self, headers: httpx2.Headers, content: bytes, secrets: set[str]) -> Iterator[str]:
        media_type = headers.get("content-type", "")
        try:
            if media_type.startswith(FORM):
                fields = parse_qsl(content.decode(), keep_blank_values=True)
                shown = "&".join(f"{name}={_redacted({name: value}, secrets)[name]}" for name, value in fields)
            else:
                shown = json.dumps(_redacted(json.loads(content), secrets), ensure_ascii=False)
        except (ValueError, RecursionError):
            shown = f"({len(content)} bytes of {media_type or 'unknown type'})" if content else ""
        if shown:
            yield shown

    def _print(self, mark: str, lines: list[str]) -> None:
        secrets = Secrets(distinctive(self._passwords))
        for token in self._tokens:
            secrets.add_cookie(token)
        shown = (escape_and_truncate(secrets.remove_from(line), _MAX_LENGTH) for line in lines)
        sys.stderr.write("".join(f"{mark} {line}\n" for line in shown))
        sys.stderr.flush()


def _read(response: httpx2.Response) -> bytes:
    """Read the body up to a size that the client rejects."""
    content = bytearray()
    for chunk in response.iter_raw():
        content += chunk
        if len(content) > MAX_BYTES:
            break
    return bytes(content)


def _redacted(value: Any, secrets: set[str]) -> Any:
    """Hide the values of fields with the name of a secret, and note them."""
    if isinstance(value, list):
        return [_redacted(each, secrets) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _hidden(below, secrets) if SECRET_NAME.search(name) else _redacted(below, secrets)
        for name, below in value.items()
    }


def _hidden(value: Any, secrets: set[str]) -> Any:
    if isinstance(value, str) and value:
        secrets.add(value)
    return value if value is None or isinstance(value, bool) else HIDDEN
