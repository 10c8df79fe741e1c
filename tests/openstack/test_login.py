"""Login through Keystone: credentials, choice of the project, and the token."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from keystoneauth1.exceptions import Unauthorized
from lab.cloud import Lab, User

from tests.harness import Reply, RunningServer
from tests.openstack.conftest import Serve
from tests.openstack.federated_client import FederatedClient
from tests.openstack.operator_cli import data_dir, run_admin
from tests.openstack.reference import Connection
from tests.openstack.sessions import is_valid, sessions_of
from tests.openstack.tenants import TenantFactory, unique_name, wait_until

pytestmark = pytest.mark.xdist_group("login")

NewClient = Callable[..., FederatedClient]

LOCKING_FAILURES = 5


def is_rejected(reply: Reply) -> bool:
    """Return whether a login was rejected, with the same message for every cause."""
    rejection = (reply.status, reply.error, reply.envelope["message"])
    return rejection == (401, "invalid_credentials", "The username or password is wrong, or the account is disabled.")


@pytest.fixture
def new_user(factory: TenantFactory) -> User:
    """Create a user with a default project, for one test only."""
    project = factory.project()
    return factory.user(project, default=project)


@pytest.fixture(scope="module")
def globex_console(serve: Serve) -> RunningServer:
    """Start a console with a project configured for users who have several."""
    return serve('project = "globex"')


@pytest.fixture(scope="module")
def other_domain(admin: Connection) -> Iterator[Any]:
    """Create another domain."""
    domain = admin.identity.create_domain(name=unique_name("domain"))
    yield domain
    # This deletes everything in it.
    admin.identity.update_domain(domain, is_enabled=False)
    admin.identity.delete_domain(domain)


@pytest.fixture(scope="module")
def other_domain_user(factory: TenantFactory, other_domain: Any) -> User:
    """Create a user of another domain, with a project that the console could use."""
    project = factory.project()
    return factory.user(project, domain_id=other_domain.id, default=project)


class TestCredentials:
    def test_correct_credentials_log_in(self, new_client: NewClient, new_user: User) -> None:
        client = new_client()
        reply = client.try_login_as(new_user)
        assert (reply.status, reply.body) == (200, b"")
        assert client.call("GetUsageLimits").status == 200

    @pytest.mark.parametrize(
        ("username", "password"),
        [
            ("carol", "wrong-password"),
            ("nobody", "carol-password"),
            ("Default", "carol-password"),
            ("frank", "frank-password"),
            ("mallory", "mallory-password"),
        ],
        ids=["wrong password", "unknown user", "domain name", "disabled user", "expired password"],
    )
    def test_wrong_credentials_get_the_same_message(self, new_client: NewClient, username: str, password: str) -> None:
        assert is_rejected(new_client().try_login_as(username, password))

    def test_rejected_login_opens_no_session(self, new_client: NewClient) -> None:
        client = new_client()
        client.try_login_as("frank")
        assert client.call("GetUsageLimits").error == "login_required"

    def test_user_of_another_domain_is_rejected(self, new_client: NewClient, other_domain_user: User) -> None:
        assert is_rejected(new_client().try_login_as(other_domain_user))

    def test_user_domain_is_configurable(
        self, serve: Serve, new_client: NewClient, other_domain: Any, other_domain_user: User
    ) -> None:
        console = serve(f'user_domain = "{other_domain.name}"')
        assert new_client(console).try_login_as(other_domain_user).status == 200
        assert is_rejected(new_client(console).try_login_as("alice"))

    def test_locked_out_user_is_rejected_until_the_lock_ends(
        self, new_client: NewClient, factory: TenantFactory, new_user: User
    ) -> None:
        client = new_client()
        for _ in range(LOCKING_FAILURES):
            assert is_rejected(client.try_login_as(new_user, "wrong-password"))
        assert is_rejected(client.try_login_as(new_user))
        wait_until(lambda: _is_accepted(factory, new_user))
        assert client.try_login_as(new_user).status == 200


class TestProjects:
    def _project(self, console: RunningServer, admin: Connection, username: str) -> str:
        session = sessions_of(console, username)[-1]
        return str(admin.identity.get_project(session.project_id).name)

    def test_default_project_is_used(
        self, console: RunningServer, new_client: NewClient, factory: TenantFactory, admin: Connection
    ) -> None:
        first, second = factory.project(), factory.project()
        user = factory.user(first, second, default=second)
        new_client().log_in_as(user)
        assert self._project(console, admin, user.name) == second.name

    def test_only_project_is_used_without_a_default(
        self, console: RunningServer, new_client: NewClient, admin: Connection
    ) -> None:
        new_client().log_in_as("carol")
        assert self._project(console, admin, "carol") == "acme"

    def test_project_is_not_guessed_among_several(self, new_client: NewClient) -> None:
        reply = new_client().try_login_as("dave")
        assert (reply.status, reply.error) == (403, "no_project")

    def test_configured_project_is_used_among_several(
        self, globex_console: RunningServer, new_client: NewClient, admin: Connection
    ) -> None:
        new_client(globex_console).log_in_as("dave")
        assert self._project(globex_console, admin, "dave") == "globex"

    def test_configured_project_applies_only_to_its_members(
        self, globex_console: RunningServer, new_client: NewClient, admin: Connection
    ) -> None:
        new_client(globex_console).log_in_as("carol")
        assert self._project(globex_console, admin, "carol") == "acme"

    def test_default_project_without_a_role_is_ignored(
        self, console: RunningServer, new_client: NewClient, factory: TenantFactory, admin: Connection
    ) -> None:
        own, foreign = factory.project(), factory.project()
        user = factory.user(own, default=foreign)
        new_client().log_in_as(user)
        assert self._project(console, admin, user.name) == own.name

    def test_disabled_project_is_not_usable(
        self, new_client: NewClient, factory: TenantFactory, admin: Connection
    ) -> None:
        project = factory.project()
        user = factory.user(project, default=project)
        admin.identity.update_project(project, is_enabled=False)
        assert new_client().try_login_as(user).error == "no_project"

    @pytest.mark.parametrize("use_configured_project", [False, True])
    def test_user_without_any_role_gets_a_no_project_error(
        self, globex_console: RunningServer, console: RunningServer, new_client: NewClient, use_configured_project: bool
    ) -> None:
        client = new_client(globex_console if use_configured_project else console)
        reply = client.try_login_as("erin")
        assert (reply.status, reply.error) == (403, "no_project")
        assert client.call("GetUsageLimits").error == "login_required"

    def test_no_project_error_requires_the_correct_password(self, new_client: NewClient) -> None:
        assert is_rejected(new_client().try_login_as("erin", "wrong-password"))


class TestToken:
    def test_each_session_has_its_own_token(
        self, console: RunningServer, new_client: NewClient, new_user: User, admin: Connection
    ) -> None:
        for _ in range(2):
            new_client().log_in_as(new_user)
        tokens = {session.token for session in sessions_of(console, new_user.name)}
        assert len(tokens) == 2
        assert all(is_valid(admin, token) for token in tokens)

    def test_logout_revokes_the_token(
        self, console: RunningServer, new_client: NewClient, new_user: User, admin: Connection
    ) -> None:
        client = new_client().log_in_as(new_user)
        (session,) = sessions_of(console, new_user.name)
        assert is_valid(admin, session.token)
        assert client.logout().status == 200
        assert not is_valid(admin, session.token)
        assert sessions_of(console, new_user.name) == []

    def test_logout_leaves_other_sessions_alone(
        self, console: RunningServer, new_client: NewClient, new_user: User, admin: Connection
    ) -> None:
        leaving, staying = new_client().log_in_as(new_user), new_client().log_in_as(new_user)
        leaving.logout()
        (session,) = sessions_of(console, new_user.name)
        assert is_valid(admin, session.token)
        assert staying.call("GetUsageLimits").status == 200

    def test_token_and_password_are_never_stored_in_plain_text(
        self, console: RunningServer, new_client: NewClient, new_user: User
    ) -> None:
        client = new_client().log_in_as(new_user)
        client.data("GetUsageLimits")
        (session,) = sessions_of(console, new_user.name)
        files = [console.log_file, *(file for file in data_dir(console).rglob("*") if file.is_file())]
        assert len(files) > 3
        for secret in (session.token, new_user.password):
            assert [file.name for file in files if secret.encode() in file.read_bytes()] == []


def test_access_audit_names_the_user_and_the_endpoint(
    console: RunningServer, new_client: NewClient, new_user: User, lab: Lab
) -> None:
    new_client().log_in_as(new_user).logout()
    entries = run_admin(console, "audit", "--access", "--actor", f"{new_user.name}@{lab.identity.removesuffix('/v3')}")
    assert [entry["event"] for entry in entries] == ["logout", "login"]


def _is_accepted(factory: TenantFactory, user: User) -> bool:
    try:
        with factory.connect(user, factory.lab.regions[0]) as connection:
            connection.session.get_token()
    except Unauthorized:
        return False
    return True
