"""Cache scope of cloud credentials."""

import msgspec
import pytest

from cloudconsole.core.ports import CloudCredentials

CREDENTIALS = CloudCredentials(
    "https://one.example", "user", "project", {"north": {"compute": "https://nova.example/v2.1"}}, b"sealed"
)


@pytest.mark.parametrize(
    "changes",
    [
        {"endpoint": "https://two.example"},
        {"user_id": "another"},
        {"project_id": "another"},
        {"services": {}},
        {"services": {**CREDENTIALS.services, "south": {}}},
    ],
    ids=["endpoint", "user", "project", "no region", "another region"],
)
def test_scope_depends_on_endpoint_user_project_and_regions(changes: dict[str, object]) -> None:
    assert msgspec.structs.replace(CREDENTIALS, **changes).scope != CREDENTIALS.scope


def test_scope_does_not_depend_on_the_token() -> None:
    assert msgspec.structs.replace(CREDENTIALS, encrypted_token=b"another").scope == CREDENTIALS.scope
