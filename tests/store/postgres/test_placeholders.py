"""SQL placeholders in the style of psycopg."""

import pytest

from cloudconsole.store.postgres.reader import to_psycopg_placeholders


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("SELECT 1", "SELECT 1"),
        ("a = ? AND b = ?", "a = %s AND b = %s"),
        ("a = :name AND b > :idle_since", "a = %(name)s AND b > %(idle_since)s"),
        ("ram_mb % 1024", "ram_mb %% 1024"),
    ],
)
def test_placeholders_are_converted_for_psycopg(written: str, sent: str) -> None:
    assert to_psycopg_placeholders(written) == sent
