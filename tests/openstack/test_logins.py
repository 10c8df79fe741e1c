"""Whom a Keystone lets in, into which project, and what becomes of the token."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from keystoneauth1.exceptions import Unauthorized
from lab.cloud import Lab, User

from tests.harness import Reply, RunningServer
from tests.openstack.conftest import Serve
from tests.openstack.direct import Connection
from tests.openstack.guests import Guest
from tests.openstack.operating import data_of, operate
from tests.openstack.residents import Registry, new_name, until
from tests.openstack.sessions import is_good, sessions_of

pytestmark = pytest.mark.xdist_group("logins")

Visit = Callable[..., Guest]

LOCKING_FAILURES = 5


def is_refused(reply: Reply) -> bool:
    """By the very words that everybody gets whom Keystone does not take."""
    words = (reply.status, reply.error, reply.envelope["message"])
    return words == (401, "invalid_credentials", "The username or password is wrong, or the account is disabled.")


@pytest.fixture
def newcomer(registry: Registry) -> User:
    """Somebody with a default project, whom no other test knows."""
    project = registry.project()
    return registry.user(project, default=project)


@pytest.fixture(scope="module")
def at_globex(serve: Serve) -> RunningServer:
    """A console for those with several projects."""
    return serve('project = "globex"')


@pytest.fixture(scope="module")
def elsewhere(admin: Connection) -> Iterator[Any]:
    """Another domain."""
    domain = admin.identity.create_domain(name=new_name("domain"))
    yield domain
    # With it goes all that is in it.
    admin.identity.update_domain(domain, is_enabled=False)
    admin.identity.delete_domain(domain)


@pytest.fixture(scope="module")
def stranger(registry: Registry, elsewhere: Any) -> User:
    """A user of another domain, with a project that is good for the console."""
    project = registry.project()
    return registry.user(project, domain_id=elsewhere.id, default=project)


class TestCredentials:
    def test_the_right_ones_let_in(self, visit: Visit, newcomer: User) -> None:
        guest = visit()
        reply = guest.try_as(newcomer)
        assert (reply.status, reply.body) == (200, b"")
        assert guest.call("GetUsageLimits").status == 200

    @pytest.mark.parametrize(
        ("username", "password"),
        [
            ("carol", "wrong-password"),
            ("nobody", "carol-password"),
            ("Default", "carol-password"),
            ("frank", "frank-password"),
            ("mallory", "mallory-password"),
        ],
        ids=["wrong password", "unknown user", "no user but a domain", "disabled user", "expired password"],
    )
    def test_others_are_refused_by_the_same_words(self, visit: Visit, username: str, password: str) -> None:
        assert is_refused(visit().try_as(username, password))

    def test_after_a_refusal_nothing_can_be_called(self, visit: Visit) -> None:
        guest = visit()
        guest.try_as("frank")
        assert guest.call("GetUsageLimits").error == "login_required"

    def test_a_user_of_another_domain_is_unknown(self, visit: Visit, stranger: User) -> None:
        assert is_refused(visit().try_as(stranger))

    def test_a_domain_can_be_set(self, serve: Serve, visit: Visit, elsewhere: Any, stranger: User) -> None:
        console = serve(f'user_domain = "{elsewhere.name}"')
        assert visit(console).try_as(stranger).status == 200
        assert is_refused(visit(console).try_as("alice"))

    def test_whom_keystone_locked_out_is_refused_until_it_ends_the_lock(
        self, visit: Visit, registry: Registry, newcomer: User
    ) -> None:
        guest = visit()
        for _ in range(LOCKING_FAILURES):
            assert is_refused(guest.try_as(newcomer, "wrong-password"))
        assert is_refused(guest.try_as(newcomer))
        until(lambda: _is_taken(registry, newcomer))
        assert guest.try_as(newcomer).status == 200


class TestProjects:
    def _project(self, console: RunningServer, admin: Connection, username: str) -> str:
        session = sessions_of(console, username)[-1]
        return str(admin.identity.get_project(session.project_id).name)

    def test_the_default_one_counts(
        self, console: RunningServer, visit: Visit, registry: Registry, admin: Connection
    ) -> None:
        first, second = registry.project(), registry.project()
        user = registry.user(first, second, default=second)
        visit().enter(user)
        assert self._project(console, admin, user.name) == second.name

    def test_without_a_default_the_only_one_counts(
        self, console: RunningServer, visit: Visit, admin: Connection
    ) -> None:
        visit().enter("carol")
        assert self._project(console, admin, "carol") == "acme"

    def test_of_several_none_is_guessed(self, visit: Visit) -> None:
        reply = visit().try_as("dave")
        assert (reply.status, reply.error) == (403, "no_project")

    def test_of_several_the_configured_one_counts(
        self, at_globex: RunningServer, visit: Visit, admin: Connection
    ) -> None:
        visit(at_globex).enter("dave")
        assert self._project(at_globex, admin, "dave") == "globex"

    def test_the_configured_one_is_for_its_members_only(
        self, at_globex: RunningServer, visit: Visit, admin: Connection
    ) -> None:
        visit(at_globex).enter("carol")
        assert self._project(at_globex, admin, "carol") == "acme"

    def test_a_default_one_without_a_role_does_not_count(
        self, console: RunningServer, visit: Visit, registry: Registry, admin: Connection
    ) -> None:
        own, foreign = registry.project(), registry.project()
        user = registry.user(own, default=foreign)
        visit().enter(user)
        assert self._project(console, admin, user.name) == own.name

    def test_a_disabled_one_does_not_count(self, visit: Visit, registry: Registry, admin: Connection) -> None:
        project = registry.project()
        user = registry.user(project, default=project)
        admin.identity.update_project(project, is_enabled=False)
        assert visit().try_as(user).error == "no_project"

    @pytest.mark.parametrize("console_with_a_project", [False, True])
    def test_who_has_no_role_anywhere_is_told_so(
        self, at_globex: RunningServer, console: RunningServer, visit: Visit, console_with_a_project: bool
    ) -> None:
        guest = visit(at_globex if console_with_a_project else console)
        reply = guest.try_as("erin")
        assert (reply.status, reply.error) == (403, "no_project")
        assert guest.call("GetUsageLimits").error == "login_required"

    def test_whether_somebody_has_a_project_is_told_only_with_the_right_password(self, visit: Visit) -> None:
        assert is_refused(visit().try_as("erin", "wrong-password"))


class TestTheToken:
    def test_a_session_has_one_of_its_own(
        self, console: RunningServer, visit: Visit, newcomer: User, admin: Connection
    ) -> None:
        for _ in range(2):
            visit().enter(newcomer)
        tokens = {session.token for session in sessions_of(console, newcomer.name)}
        assert len(tokens) == 2
        assert all(is_good(admin, token) for token in tokens)

    def test_logout_revokes_it(self, console: RunningServer, visit: Visit, newcomer: User, admin: Connection) -> None:
        guest = visit().enter(newcomer)
        (session,) = sessions_of(console, newcomer.name)
        assert is_good(admin, session.token)
        assert guest.logout().status == 200
        assert not is_good(admin, session.token)
        assert sessions_of(console, newcomer.name) == []

    def test_logout_leaves_other_sessions_alone(
        self, console: RunningServer, visit: Visit, newcomer: User, admin: Connection
    ) -> None:
        leaving, staying = visit().enter(newcomer), visit().enter(newcomer)
        leaving.logout()
        (session,) = sessions_of(console, newcomer.name)
        assert is_good(admin, session.token)
        assert staying.call("GetUsageLimits").status == 200

    def test_it_lies_nowhere_in_the_clear(self, console: RunningServer, visit: Visit, newcomer: User) -> None:
        guest = visit().enter(newcomer)
        guest.data("GetUsageLimits")
        (session,) = sessions_of(console, newcomer.name)
        files = [console.log_file, *(file for file in data_of(console).rglob("*") if file.is_file())]
        assert len(files) > 3
        for secret in (session.token, newcomer.password):
            assert [file.name for file in files if secret.encode() in file.read_bytes()] == []


def test_the_access_trail_names_the_user_and_whose(
    console: RunningServer, visit: Visit, newcomer: User, lab: Lab
) -> None:
    visit().enter(newcomer).logout()
    trail = operate(console, "audit", "--access", "--actor", f"{newcomer.name}@{lab.identity.removesuffix('/v3')}")
    assert [line["event"] for line in trail] == ["logout", "login"]


def _is_taken(registry: Registry, user: User) -> bool:
    try:
        with registry.connect(user, registry.lab.regions[0]) as connection:
            connection.session.get_token()
    except Unauthorized:
        return False
    return True
