"""What came of a run: for the terminal, and for the record."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tests.harness import Reply

from fuzz.judge import Sent

LONGEST_SHOWN: Final = 2000

PAGE: Final = """\
# Fuzzing

`make fuzz` sends a million requests, made from the console's own `/openapi.json`, to a console over the sample cloud in
one process: good calls of every action in both body forms, and calls, logins and other requests with one to three
faults in their fields, bytes, encoding, headers or cookies. Every answer is held against the document: its status must
be declared for the operation, its body must fit the schema (that of the very action, after a good call), its headers
must be there, and the caller's request id must come back. Nothing may answer 5xx, a good call must never be refused,
and the sessions that were open at the start must give the same answers at the end.

The requests come from a generator of our own, `fuzz/making.py`, driven by the served document. Schemathesis copes with
the session, the one path of all actions and both body forms, but was tried and made 34 to 46 requests a second, 6 to 8
hours for a million. Hypothesis is left out of the long run for the same reason, its speed.

`make fuzz REQUESTS=100000 SEED=7` makes fewer, or the same again; only a million or more are recorded here. A finding
is printed with its request, and the run fails. `make test` does a short run over both a console in process and one that
listens; `tests/e2e/test_fuzz.py` sends what no document describes, down to bytes that are not HTTP.

## The last run

"""


@dataclass(frozen=True)
class Result:
    seed: int
    counts: dict[tuple[str, int, str], int]
    """By operation, status and error."""
    findings: list[str]
    seconds: float
    socket: bool = False

    @property
    def requests(self) -> int:
        return sum(self.counts.values())

    def summary(self) -> str:
        lines = [
            f"{self.requests:,} requests in {self.seconds:.0f} s ({self.requests / self.seconds:,.0f} a second), "
            f"seed {self.seed}, {len(self.findings)} findings",
            *(
                f"{count:>9,}  {place}  {status} {error}"
                for (place, status, error), count in sorted(self.counts.items())
            ),
            *self.findings,
        ]
        if self.findings:
            socket = " --socket" if self.socket else ""
            lines.append(f"Again: python -m fuzz.run --requests {self.requests} --seed {self.seed}{socket}")
        return "\n".join(lines) + "\n"


def described(sent: Sent, reply: Reply) -> str:
    """A request and its answer, to be read and repeated; the sessions in it are over when it is read."""
    headers = "\n".join(f"    {name}: {value!r}" for name, value in sent.headers)
    return (
        f"  {sent.method} {sent.path}\n{headers}\n    body: {sent.body[:LONGEST_SHOWN]!r} ({len(sent.body)} bytes)\n"
        f"  {reply.status} {reply.body[:LONGEST_SHOWN]!r}"
    )


def write_report(result: Result, file: Path) -> None:
    day = datetime.now(UTC).date().isoformat()
    place = "a listening console" if result.socket else "a console in one process"
    rows = [
        f"| {place} | {status} | {f'`{error}`' if error else ''} | {count:,} |"
        for (place, status, error), count in sorted(result.counts.items())
    ]
    findings = "\n".join(f"```\n{finding}\n```" for finding in result.findings) or "None."
    text = (
        f"{PAGE}{day}: {result.requests:,} requests to {place}, seed {result.seed}, in {result.seconds:.0f} s "
        f"({result.requests / result.seconds:,.0f} a second).\n\n"
        f"Findings: {len(result.findings)}\n\n{findings}\n\n"
        "| request | status | `error` | answers |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
    )
    file.write_text(text, "utf-8")
