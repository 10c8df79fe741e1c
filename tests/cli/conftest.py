"""Someone at a command line, before and after a login."""

from pathlib import Path

import pytest

from tests.cli.users import Person
from tests.harness import RunningServer


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


@pytest.fixture
def newcomer(person: Person, server: RunningServer) -> Person:
    """Logged in as the sample's tenant just now, with a session of their own."""
    person.logs_in(server)
    return person


@pytest.fixture(scope="session")
def shared_session(server: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What is kept of one login, which no test may end."""
    person = Person(tmp_path_factory.mktemp("shared"))
    person.logs_in(server)
    return person.sessions_file.read_bytes()


@pytest.fixture
def demo_person(person: Person, shared_session: bytes) -> Person:
    """Logged in as the sample's tenant some time ago."""
    person.sessions_file.parent.mkdir(parents=True, mode=0o700)
    person.sessions_file.touch(mode=0o600)
    person.sessions_file.write_bytes(shared_session)
    return person
