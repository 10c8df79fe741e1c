"""What the ports' own records say."""

import msgspec
import pytest

from cloudconsole.core.ports import CloudCredentials

ACCESS = CloudCredentials(
    "https://one.example", "user", "project", {"north": {"compute": "https://nova.example/v2.1"}}, b"sealed"
)


@pytest.mark.parametrize(
    "changes",
    [
        {"endpoint": "https://two.example"},
        {"user_id": "another"},
        {"project_id": "another"},
        {"services": {}},
        {"services": {**ACCESS.services, "south": {}}},
    ],
    ids=["endpoint", "user", "project", "no region", "another region"],
)
def test_what_an_answer_hangs_on_makes_another_scope(changes: dict[str, object]) -> None:
    assert msgspec.structs.replace(ACCESS, **changes).scope != ACCESS.scope


def test_another_session_of_the_same_has_the_same_scope() -> None:
    assert msgspec.structs.replace(ACCESS, encrypted_token=b"another").scope == ACCESS.scope
