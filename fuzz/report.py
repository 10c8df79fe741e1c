"""Reports of a run, for the terminal and for the documentation."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tests.harness import Reply

from fuzz.response_validator import Request

MAX_LENGTH: Final = 2000

INTRODUCTION: Final = """\
# Fuzzing

`make fuzz` sends a million requests, generated from the served `/openapi.json`, to an in-process console with the
sample cloud: valid calls of every action in both body formats, and calls, logins and other requests with one to three
mutations of fields, bytes, encoding, headers or cookies. Every response must match the document: a declared status, a
body valid for the schema, all declared headers, and the client's request id. A 5xx response, a rejected valid call and
a changed response in an existing session are failures.

Then it sends a million streams of requests, many of them malformed, to connections (`fuzz/stream_splits.py`). However a
stream is split into reads, the responses must be the same.

The generator is our own (`fuzz/request_generator.py`) because it is fast: Schemathesis made 34 to 46 requests a
second, 6 to 8 hours for a million.

`make fuzz REQUESTS=100000 SEED=7` sends fewer requests or repeats a seed; only runs of at least a million are recorded
here. Failures are printed with their requests. `make test-all` includes short runs in process and over HTTP;
`tests/e2e/test_fuzz.py` sends malformed HTTP.

## Last run

"""


@dataclass(frozen=True)
class Result:
    seed: int
    counts: dict[tuple[str, int, str], int]
    """Number of responses by operation, status and error code."""
    failures: list[str]
    seconds: float
    streams: int = 0
    stream_seconds: float = 0
    socket: bool = False

    @property
    def requests(self) -> int:
        return sum(self.counts.values())

    def summary(self) -> str:
        lines = [
            f"{self.requests:,} requests in {self.seconds:.0f} s ({self.requests / self.seconds:,.0f} a second), "
            f"{self.streams:,} streams in {self.stream_seconds:.0f} s, seed {self.seed}, {len(self.failures)} failures",
            *(
                f"{count:>9,}  {operation}  {status} {error}"
                for (operation, status, error), count in sorted(self.counts.items())
            ),
            *self.failures,
        ]
        if self.failures:
            socket = " --socket" if self.socket else ""
            lines.append(f"To repeat: python -m fuzz --requests {self.requests} --seed {self.seed}{socket}")
        return "\n".join(lines) + "\n"


def describe(request: Request, reply: Reply) -> str:
    """Describe a request and its response; the sessions in it have ended by then."""
    headers = "\n".join(f"    {name}: {value!r}" for name, value in request.headers)
    return (
        f"  {request.method} {request.path}\n{headers}\n"
        f"    body: {request.body[:MAX_LENGTH]!r} ({len(request.body)} bytes)\n"
        f"  {reply.status} {reply.body[:MAX_LENGTH]!r}"
    )


def write_report(result: Result, file: Path) -> None:
    day = datetime.now(UTC).date().isoformat()
    target = "a console over HTTP" if result.socket else "an in-process console"
    rows = [
        f"|{operation}|{status}|{error}|{count:,}|"
        for (operation, status, error), count in sorted(result.counts.items())
    ]
    parts = [
        f"{day}: {result.requests:,} requests to {target}, seed {result.seed}, in {result.seconds:.0f} s "
        f"({result.requests / result.seconds:,.0f} a second); {result.streams:,} streams, in pieces and as a whole, in "
        f"{result.stream_seconds:.0f} s. Failures: {len(result.failures)}.",
        *(f"```\n{failure}\n```" for failure in result.failures),
        "\n".join(["|request|status|`error`|responses|", "|---|---|---|---|", *rows]),
    ]
    file.write_text(INTRODUCTION + "\n\n".join(parts) + "\n", "utf-8")
