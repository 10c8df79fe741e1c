"""Doctor checks, run on the sample store."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cloudconsole.core import login_throttle
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.doctor.context_and_findings import DoctorContext, Finding
from cloudconsole.server.doctor.runner import CHECKS
from cloudconsole.store.activity_writes import hash_username
from tests.conftest import SAMPLE_TIME

Check = Callable[..., list[Finding]]


@pytest.fixture
def check(data: Path) -> Check:
    """Run a check on the sample store, optionally with other settings or at another time."""

    def run(name: str, *, now: float = SAMPLE_TIME, **changes: Any) -> list[Finding]:
        settings = replace(Settings(data=data), **changes)
        return list(CHECKS[name].run(DoctorContext(settings, [], now)))

    return run


def execute(data: Path, part: str, sql: str) -> None:
    with closing(sqlite3.connect(data / f"{part}.db")) as connection, connection:
        connection.execute(sql)


def fail_logins(
    data: Path, username: str, network: str, times: int = login_throttle.USER_FAILURES, now: float = SAMPLE_TIME
) -> None:
    row = f"('{network}', x'{hash_username(username).hex()}', {int(now) - 10})"
    execute(data, "activity", f"INSERT INTO login_failures (network, user_hash, at) VALUES {', '.join([row] * times)}")


def levels(findings: list[Finding]) -> list[str]:
    return [finding.level for finding in findings]
