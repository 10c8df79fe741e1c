"""Validate responses against the OpenAPI document."""

import re
from typing import Any, Final, NamedTuple

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from tests.harness import JSON, HeaderPairs, Reply

from cloudconsole.server.http.response import SECURITY_HEADERS

Schema = dict[str, Any]

_REQUEST_ID: Final = re.compile("[A-Za-z0-9._-]{1,64}")
_REQUIRED_HEADERS: Final = {name.decode() for name, _ in SECURITY_HEADERS} | {
    "cache-control",
    "content-security-policy",
}


class ContractViolation(Exception):
    """A response that the document does not allow."""


class Request(NamedTuple):
    method: str
    path: str
    headers: HeaderPairs
    body: bytes = b""
    action: str | None = None
    """The called action if the request is valid and must succeed."""

    @property
    def request_id(self) -> str | None:
        """The client's request id, if the response must echo it."""
        ids = [value for name, value in self.headers if name.lower() == "x-request-id"]
        return ids[0] if len(ids) == 1 and _REQUEST_ID.fullmatch(ids[0]) else None


class ResponseValidator:
    def __init__(self, document: Schema) -> None:
        self._document = document
        self._operations = {
            (method.upper(), path): operation
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
        }
        count = len(self._operations)
        self._global_errors = {
            (error["code"], error["error"]) for error in document["x-errors"] if len(error["operations"]) in (0, count)
        }
        self._validators: dict[str, Draft202012Validator] = {}
        self._validated: set[tuple[str, bytes]] = set()

    def check(self, request: Request, reply: Reply) -> None:
        """Raise a `ContractViolation` if the response is not allowed."""
        self._check_headers(request, reply)
        if b"Traceback" in reply.body:
            raise ContractViolation("traceback in the response")
        if request.method in ("HEAD", "OPTIONS") and reply.body and reply.status < 400:
            raise ContractViolation("unexpected body")
        if request.method == "HEAD":
            return
        operation = self._operations.get((request.method, request.path))
        if operation is None:
            self._check_undocumented(reply)
        else:
            self._check_operation(operation, reply)
        if request.action is not None:
            self._check_action(request.action, reply)

    def operation_of(self, request: Request) -> str:
        """Name the operation of a request for reports."""
        known = (request.method, request.path) in self._operations
        return f"{request.method} {request.path}" if known else "other"

    def _check_headers(self, request: Request, reply: Reply) -> None:
        echoed = reply.header("x-request-id") or ""
        if not _REQUEST_ID.fullmatch(echoed):
            raise ContractViolation(f"X-Request-ID is {echoed!r}")
        if request.request_id not in (None, echoed):
            raise ContractViolation(f"X-Request-ID {request.request_id!r} was echoed as {echoed!r}")
        missing = _REQUIRED_HEADERS - {name.lower() for name, value in reply.headers if value}
        if missing:
            raise ContractViolation(f"missing {', '.join(sorted(missing))}")

    def _check_undocumented(self, reply: Reply) -> None:
        if reply.status >= 400 and (reply.status, reply.error) not in self._global_errors:
            raise ContractViolation(f"{reply.status} {reply.error} outside of the operations")
        if reply.status in (405, 204) and not reply.header("allow"):
            raise ContractViolation("missing Allow")

    def _check_operation(self, operation: Schema, reply: Reply) -> None:
        name, responses = operation["operationId"], operation["responses"]
        declared = responses.get(str(reply.status))
        if declared is None:
            raise ContractViolation(f"{name} does not declare {reply.status}: {reply.body[:200]!r}")
        self._check_declared_headers(declared["headers"], reply)
        content = declared.get("content")
        if content is None:
            if reply.body:
                raise ContractViolation(f"{name} {reply.status} has a body")
            return
        if reply.header("content-type") not in content:
            raise ContractViolation(f"Content-Type is {reply.header('content-type')}")
        self._validate(f"{name} {reply.status}", content[JSON]["schema"], reply.body, reply)
        if reply.status >= 400:
            self._check_error(name, declared["x-errors"], reply)

    def _check_declared_headers(self, headers: Schema, reply: Reply) -> None:
        for name, reference in headers.items():
            values = [value for key, value in reply.headers if key.lower() == name.lower()]
            schema = self._document["components"]["headers"][reference["$ref"].rpartition("/")[2]]["schema"]
            if not values:
                raise ContractViolation(f"missing {name}")
            if not all(_matches(value, schema) for value in values):
                raise ContractViolation(f"{name} is {values}")

    def _check_error(self, name: str, declared: list[str], reply: Reply) -> None:
        try:
            error = reply.error
        except AssertionError as problem:
            raise ContractViolation(f"invalid error envelope: {problem}") from None
        if error not in declared:
            raise ContractViolation(f"{name} does not declare {reply.status} {error}")

    def _check_action(self, action: str, reply: Reply) -> None:
        body = self._document["components"]["schemas"][f"{action}Body"]
        if reply.status == 200:
            self._validate(f"response to {action}", body["x-response"], reply.body, reply)
        elif not _is_about_unknown(reply, body) and not _is_about_period(reply, body):
            raise ContractViolation(f"valid call of {action} rejected: {reply.body[:200]!r}")

    def _validate(self, name: str, schema: Schema, body: bytes, reply: Reply) -> None:
        if (name, body) in self._validated:
            return
        if name not in self._validators:
            whole = {**schema, "components": self._document["components"]}
            self._validators[name] = Draft202012Validator(whole)
        for error in self._validators[name].iter_errors(reply.envelope):
            raise ContractViolation(f"{name}: {error.json_path}: {error.message[:300]}")
        if len(self._validated) < 100_000:
            self._validated.add((name, body))


def _is_about_unknown(reply: Reply, body: Schema) -> bool:
    """Whether a required field, or an item of one that is a list, names something that does not exist."""
    return reply.status == 404 and reply.envelope.get("field") in body["required"][1:]


def _is_about_period(reply: Reply, body: Schema) -> bool:
    """Whether the days are too many or in the wrong order, which the document cannot describe."""
    days = {"start_at", "end_at"} <= body["properties"].keys()
    return days and (reply.status, reply.envelope.get("field")) == (400, "start_at")


def _matches(value: str, schema: Schema) -> bool:
    """Whether a header value matches its schema; headers are strings or integers."""
    if schema["type"] == "integer":
        return value.isdecimal() and schema["minimum"] <= int(value) <= schema["maximum"]
    return re.search(schema.get("pattern", ""), value) is not None
