"""Doctor checks of the certificate files while the console is stopped."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.certificate_factory import write_certificate
from tests.conftest import SAMPLE_TIME
from tests.server.doctor.conftest import Check, levels


def test_console_without_certificate_is_ok(check: Check) -> None:
    assert levels(check("certificate")) == ["ok"]


@pytest.mark.parametrize(
    ("days", "level", "text"),
    [(15, "ok", "is valid"), (13, "warning", "expires on 2026-11-28"), (-1, "problem", "expired on 2026-11-14")],
)
def test_expiry_is_reported_while_the_console_is_stopped(
    check: Check, tmp_path: Path, days: int, level: str, text: str
) -> None:
    not_after = datetime.fromtimestamp(int(SAMPLE_TIME), UTC) + timedelta(days=days)
    certificate, key = write_certificate(tmp_path, not_after)
    (finding,) = check("certificate", tls_certificate=certificate, tls_key=key)
    assert (finding.level, text in finding.text) == (level, True), finding


@pytest.mark.parametrize(("mode", "level"), [(0o604, "problem"), (0o660, "problem"), (0o640, "ok"), (0o400, "ok")])
def test_key_accessible_to_other_users_is_a_problem(check: Check, tmp_path: Path, mode: int, level: str) -> None:
    certificate, key = write_certificate(tmp_path, datetime(2100, 1, 1, tzinfo=UTC))
    key.chmod(mode)
    assert levels(check("certificate", tls_certificate=certificate, tls_key=key)) == [level]
