"""Whether an answer is one that the OpenAPI document promises."""

import re
from typing import Any, Final, NamedTuple

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from tests.harness import JSON, HeaderPairs, Reply

from cloudconsole.server.http.response import SECURITY_HEADERS

Schema = dict[str, Any]

_REQUEST_ID: Final = re.compile("[A-Za-z0-9._-]{1,64}")
_ALWAYS: Final = {name.decode() for name, _ in SECURITY_HEADERS} | {"cache-control", "content-security-policy"}


class Finding(Exception):
    """An answer that the document does not promise."""


class Sent(NamedTuple):
    method: str
    path: str
    headers: HeaderPairs
    body: bytes = b""
    action: str | None = None
    """The action that must be answered, where the request is good in every respect."""

    @property
    def request_id(self) -> str | None:
        """The caller's own, where it is to be given back."""
        given = [value for name, value in self.headers if name.lower() == "x-request-id"]
        return given[0] if len(given) == 1 and _REQUEST_ID.fullmatch(given[0]) else None


class Judge:
    def __init__(self, document: Schema) -> None:
        self._document = document
        self._operations = {
            (method.upper(), path): operation
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
        }
        count = len(self._operations)
        self._anywhere = {
            (error["code"], error["error"]) for error in document["x-errors"] if len(error["operations"]) in (0, count)
        }
        self._validators: dict[str, Draft202012Validator] = {}
        self._good: set[tuple[str, bytes]] = set()

    def check(self, sent: Sent, reply: Reply) -> None:
        """Raises a `Finding` that says what is wrong with the answer."""
        self._check_headers(sent, reply)
        if b"Traceback" in reply.body:
            raise Finding("a traceback in the answer")
        if sent.method in ("HEAD", "OPTIONS") and reply.body and reply.status < 400:
            raise Finding("a body where there must be none")
        if sent.method == "HEAD":
            return
        operation = self._operations.get((sent.method, sent.path))
        if operation is None:
            self._check_elsewhere(reply)
        else:
            self._check_answer(operation, reply)
        if sent.action is not None:
            self._check_action(sent.action, reply)

    def operation_of(self, sent: Sent) -> str:
        """Which operation a request is, for people."""
        known = (sent.method, sent.path) in self._operations
        return f"{sent.method} {sent.path}" if known else "none of the operations"

    def _check_headers(self, sent: Sent, reply: Reply) -> None:
        given = reply.header("x-request-id") or ""
        if not _REQUEST_ID.fullmatch(given):
            raise Finding(f"X-Request-ID is {given!r}")
        if sent.request_id not in (None, given):
            raise Finding(f"X-Request-ID was {sent.request_id!r} and came back as {given!r}")
        missing = _ALWAYS - {name.lower() for name, value in reply.headers if value}
        if missing:
            raise Finding(f"without {', '.join(sorted(missing))}")

    def _check_elsewhere(self, reply: Reply) -> None:
        if reply.status >= 400 and (reply.status, reply.error) not in self._anywhere:
            raise Finding(f"{reply.status} {reply.error} outside of every operation")
        if reply.status in (405, 204) and not reply.header("allow"):
            raise Finding("without Allow")

    def _check_answer(self, operation: Schema, reply: Reply) -> None:
        name, responses = operation["operationId"], operation["responses"]
        declared = responses.get(str(reply.status))
        if declared is None:
            raise Finding(f"{name} may not answer {reply.status}: {reply.body[:200]!r}")
        self._check_declared_headers(declared["headers"], reply)
        content = declared.get("content")
        if content is None:
            if reply.body:
                raise Finding(f"{name} answers {reply.status} with a body")
            return
        if reply.header("content-type") not in content:
            raise Finding(f"Content-Type is {reply.header('content-type')}")
        self._validate(f"{name} {reply.status}", content[JSON]["schema"], reply.body, reply)
        if reply.status >= 400:
            self._check_refusal(reply)

    def _check_declared_headers(self, headers: Schema, reply: Reply) -> None:
        for name, reference in headers.items():
            values = [value for key, value in reply.headers if key.lower() == name.lower()]
            schema = self._document["components"]["headers"][reference["$ref"].rpartition("/")[2]]["schema"]
            if not values:
                raise Finding(f"without {name}")
            if not all(_fits(value, schema) for value in values):
                raise Finding(f"{name} is {values}")

    def _check_refusal(self, reply: Reply) -> None:
        try:
            _ = reply.error
        except AssertionError as problem:
            raise Finding(f"not the shape of a refusal: {problem}") from None

    def _check_action(self, action: str, reply: Reply) -> None:
        body = self._document["components"]["schemas"][f"{action}Body"]
        if reply.status == 200:
            self._validate(f"answer of {action}", body["x-answer"], reply.body, reply)
        elif reply.status != 404 or reply.envelope.get("field") not in body["required"][1:]:
            raise Finding(f"a good call of {action} was refused: {reply.body[:200]!r}")

    def _validate(self, name: str, schema: Schema, body: bytes, reply: Reply) -> None:
        if (name, body) in self._good:
            return
        if name not in self._validators:
            whole = {**schema, "components": self._document["components"]}
            self._validators[name] = Draft202012Validator(whole)
        for error in self._validators[name].iter_errors(reply.envelope):
            raise Finding(f"{name}: {error.json_path}: {error.message[:300]}")
        if len(self._good) < 100_000:
            self._good.add((name, body))


def _fits(value: str, schema: Schema) -> bool:
    """Whether a header's value is as its schema says; headers know text and whole numbers only."""
    if schema["type"] == "integer":
        return value.isdecimal() and schema["minimum"] <= int(value) <= schema["maximum"]
    return re.search(schema.get("pattern", ""), value) is not None
