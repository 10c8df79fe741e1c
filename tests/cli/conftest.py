"""CLI users, before and after a login."""

from pathlib import Path

import pytest

from tests.cli.users import CliUser
from tests.harness import RunningServer


@pytest.fixture
def cli_user(tmp_path: Path) -> CliUser:
    return CliUser(tmp_path)


@pytest.fixture
def logged_in_user(cli_user: CliUser, server: RunningServer) -> CliUser:
    """Freshly logged in as the sample's tenant, with a session that the test may end."""
    cli_user.logs_in(server)
    return cli_user


@pytest.fixture(scope="session")
def shared_session(server: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Session file of one login that all tests share; none may end it."""
    cli_user = CliUser(tmp_path_factory.mktemp("shared"))
    cli_user.logs_in(server)
    return cli_user.sessions_file.read_bytes()


@pytest.fixture
def demo_user(cli_user: CliUser, shared_session: bytes) -> CliUser:
    """Logged in as the sample's tenant, with the shared session."""
    cli_user.sessions_file.parent.mkdir(parents=True, mode=0o700)
    cli_user.sessions_file.touch(mode=0o600)
    cli_user.sessions_file.write_bytes(shared_session)
    return cli_user
