"""Keystone login: requests, project choice, rejections and failures; token validation and revocation."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from copy import deepcopy
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from cloudconsole.backends.openstack.config import Endpoint
from cloudconsole.backends.openstack.keystone import KeystoneIdentity
from cloudconsole.backends.openstack.secret_files import ApplicationCredential
from cloudconsole.backends.openstack.token_encryption_and_keys import TokenCipher, rotate_keys
from cloudconsole.core.ports import CloudCredentials, Credentials, FederatedUser
from cloudconsole.spec.errors import InvalidField, NoProject, ProjectRequired, UpstreamFailed, UpstreamTimeout
from tests.backends.openstack.fake_cloud import CLIENT, FakeCloud, Reply, client_limits, open_client
from tests.harness import FakeClock

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "recorded" / "keystone.json").read_text("utf-8"))
ACME = "603f0ff1af5b46218e889259439807ec"
GLOBEX = "48fa48413d9d4a9d9f99a03ffad57b08"
GOOD_TOKEN: dict[str, Any] = RECORDED["token_good"]["body"]["token"]
ALICE = "c747c4040d8d482395b1cb6c98d7ed36"
LOGIN, PROJECTS, TOKENS = ("POST", "/v3/auth/tokens"), ("GET", "/v3/auth/projects"), "/v3/auth/tokens"
EXPIRES = 1_794_859_628.0
"""2026-11-16T20:07:08Z, as recorded."""

Result = TypeVar("Result")


def reply(name: str) -> Reply:
    """Return a recorded response of a real Keystone."""
    return Reply(**RECORDED[name])


def login_with(*path: str, value: Any = msgspec.UNSET) -> Reply:
    """Return the recorded login response with one field removed or replaced."""
    recorded = part = deepcopy(RECORDED["login_default_project"])
    *parents, last = path
    for step in parents:
        part = part[step]
    if value is msgspec.UNSET:
        del part[last]
    else:
        part[last] = value
    return Reply(**recorded)


class FakeTenants:
    """Finds the same tenant for every project; None stands for a disabled one."""

    def __init__(self) -> None:
        self.lookups: list[tuple[str, str]] = []
        self.tenant_id: int | None = 7

    async def tenant_of(self, project: str, name: str) -> int | None:
        self.lookups.append((project, name))
        return self.tenant_id


class KeystoneHarness:
    """A Keystone identity backend over the fake cloud."""

    def __init__(self, cloud: FakeCloud, key_file: Path) -> None:
        self.cloud = cloud
        self.key_file = key_file
        self.endpoint = Endpoint(cloud.address)
        self.limits = client_limits()
        self.tenants = FakeTenants()
        self.clock = FakeClock(EXPIRES - 86_400)
        self.discarded: list[CloudCredentials] = []

    def run(self, use: Callable[[KeystoneIdentity], Coroutine[Any, Any, Result]]) -> Result:
        async def run_with_identity() -> Result:
            async with open_client(self.limits) as client:
                cipher = TokenCipher(self.key_file)
                return await use(
                    KeystoneIdentity(
                        self.endpoint,
                        client,
                        cipher,
                        self.tenants,
                        self.clock,
                        lambda credentials, _: self.discarded.append(credentials),
                    )
                )

        return asyncio.run(run_with_identity())

    def respond_unscoped(self, projects: Reply, then: Reply | None = None) -> None:
        self.cloud.respond(*LOGIN, reply("login_unscoped"), then or reply("login_scoped_by_token"))
        self.cloud.respond(*PROJECTS, projects)

    def log_in(
        self,
        username: str = "alice",
        password: str = "alice-password",
        user_domain: str = "",
        project: str = "",
    ) -> FederatedUser | None:
        credentials = Credentials(username, password, user_domain, project)
        return self.run(lambda identity: identity.authenticate(credentials, CLIENT))

    def counted_as(self, username: str, user_domain: str = "") -> str:
        async def count(identity: KeystoneIdentity) -> str:
            return identity.counted_as(Credentials(username, "", user_domain))

        return self.run(count)

    def stored_credentials(self) -> CloudCredentials:
        return CloudCredentials(self.endpoint.address, ALICE, ACME, {}, TokenCipher(self.key_file).encrypt("the-token"))

    def is_valid(self, credentials: CloudCredentials | None = None) -> bool:
        return self.run(lambda identity: identity.is_valid(credentials or self.stored_credentials(), CLIENT))

    def revoke(self, credentials: CloudCredentials | None = None) -> None:
        self.run(lambda identity: identity.revoke(credentials or self.stored_credentials(), CLIENT))


@pytest.fixture
def keystone(cloud: FakeCloud, tmp_path: Path) -> KeystoneHarness:
    return KeystoneHarness(cloud, tmp_path / "token-keys")


def test_login_with_a_default_project_takes_one_request(keystone: KeystoneHarness) -> None:
    keystone.cloud.respond(*LOGIN, reply("login_default_project"))
    user = keystone.log_in("ALICE")
    assert user is not None
    assert (user.username, user.tenant_id, user.expires_at) == ("alice", 7, EXPIRES)
    access = user.credentials
    assert (access.endpoint, access.user_id, access.project_id) == (keystone.cloud.address, ALICE, ACME)
    assert TokenCipher(keystone.key_file).decrypt(user.credentials.encrypted_token) == "gAAAA-login-default-project"
    assert keystone.cloud.request_lines() == [LOGIN]


SERVICES = {
    "compute": "http://127.0.0.1:19021/v2.1",
    "volume": f"http://127.0.0.1:31261/v3/{ACME}",
    "network": "http://127.0.0.1:18784/v2.0",
    "image": "http://127.0.0.1:17066/v2",
    "load-balancer": "http://127.0.0.1:17117/v2",
}


@pytest.mark.parametrize(
    ("settings", "services"),
    [({}, {"RegionOne": SERVICES}), ({"regions": ("Elsewhere",)}, {}), ({"interface": "another"}, {})],
)
def test_services_are_those_of_the_configured_regions_and_interface(
    keystone: KeystoneHarness, settings: dict[str, Any], services: dict[str, Any]
) -> None:
    keystone.endpoint = Endpoint(keystone.cloud.address, **settings)
    keystone.cloud.respond(*LOGIN, reply("login_default_project"))
    user = keystone.log_in()
    assert user is not None
    assert user.credentials.services == services


def test_login_request_has_the_user_domain_and_no_scope(keystone: KeystoneHarness) -> None:
    keystone.endpoint = Endpoint(keystone.cloud.address, user_domain="Kunden")
    keystone.cloud.respond(*LOGIN, reply("login_default_project"))
    keystone.log_in('a"\\é', " p ")
    [request] = keystone.cloud.requests
    user = {"name": 'a"\\é', "domain": {"name": "Kunden"}, "password": " p "}
    assert request.body == {"auth": {"identity": {"methods": ["password"], "password": {"user": user}}}}
    headers = [request.headers[name] for name in ("X-Forwarded-For", "X-Auth-Token", "Content-Type")]
    assert headers == [CLIENT.address, None, "application/json"]


@pytest.mark.parametrize(
    ("username", "user_domain", "name", "domain"),
    [
        ("alice", "Partners", "alice", "Partners"),
        ("alice@Partners", "", "alice", "Partners"),
        ("alice@Partners", "Partners", "alice@Partners", "Partners"),
        ("alice@Default", "", "alice@Default", "Default"),
        ("alice@example.com", "", "alice@example.com", "Default"),
        ("@Partners", "", "@Partners", "Default"),
        ("alice", "Default", "alice", "Default"),
    ],
)
def test_domain_of_the_user_is_a_field_or_follows_the_name(
    keystone: KeystoneHarness, username: str, user_domain: str, name: str, domain: str
) -> None:
    keystone.endpoint = Endpoint(keystone.cloud.address, user_domains=("Partners",))
    keystone.cloud.respond(*LOGIN, reply("login_default_project"))
    keystone.log_in(username, "p", user_domain)
    [request] = keystone.cloud.requests
    user = request.body["auth"]["identity"]["password"]["user"]
    assert user == {"name": name, "domain": {"name": domain}, "password": "p"}


def test_users_of_another_domain_are_named_with_it(keystone: KeystoneHarness) -> None:
    keystone.endpoint = Endpoint(keystone.cloud.address, user_domains=("Partners",))
    keystone.cloud.respond(*LOGIN, login_with("body", "token", "user", "domain", value={"id": "d", "name": "Partners"}))
    user = keystone.log_in("alice@Partners")
    assert user is not None
    assert user.log_name == f"alice@Partners@{keystone.cloud.address}"


def test_failed_logins_are_counted_by_domain(keystone: KeystoneHarness) -> None:
    keystone.endpoint = Endpoint(keystone.cloud.address, user_domains=("Partners",))
    alice = keystone.counted_as("alice")
    assert alice == keystone.counted_as("ALICE", "Default") == f"{keystone.cloud.address} alice"
    partner = keystone.counted_as("alice@Partners")
    assert partner == keystone.counted_as("Alice", "Partners")
    assert len({alice, partner, keystone.counted_as("alice Partners"), keystone.counted_as("alice@partners")}) == 4


@pytest.mark.parametrize("user_domain", ["Partners", "default", " Default"])
def test_user_of_a_domain_that_is_not_configured_is_rejected(keystone: KeystoneHarness, user_domain: str) -> None:
    with pytest.raises(InvalidField) as raised:
        keystone.counted_as("alice", user_domain)
    assert raised.value.field == "user_domain"


def test_only_project_is_used_without_a_default(keystone: KeystoneHarness) -> None:
    keystone.respond_unscoped(reply("projects_one"))
    user = keystone.log_in("carol", "carol-password")
    assert user is not None
    assert (user.username, user.credentials.project_id) == ("carol", ACME)
    assert TokenCipher(keystone.key_file).decrypt(user.credentials.encrypted_token) == "gAAAA-login-scoped-by-token"
    assert keystone.cloud.request_lines() == [LOGIN, PROJECTS, LOGIN]
    assert keystone.cloud.requests[1].headers["X-Auth-Token"] == "gAAAA-login-unscoped"
    assert keystone.cloud.requests[2].body == {
        "auth": {
            "identity": {"methods": ["token"], "token": {"id": "gAAAA-login-unscoped"}},
            "scope": {"project": {"id": ACME}},
        }
    }


def project(name: str, **fields: Any) -> dict[str, Any]:
    return {"id": f"id-{name}", "name": name, "enabled": True, "domain_id": "default", **fields}


@pytest.mark.parametrize(
    ("projects", "chosen"),
    [
        ([project("a", enabled=False), project("b")], "id-b"),
        ([project("a", is_domain=True), project("b")], "id-b"),
        ([project("a"), project("named"), project("b")], "id-named"),
        ([project("named", id="far", domain_id="other"), project("named", id="near")], "near"),
        ([project("a"), project("named", domain_id="other")], "id-named"),
    ],
    ids=["enabled", "not a domain", "named", "same domain", "other domain"],
)
def test_usable_project_is_chosen_by_name_and_domain(
    keystone: KeystoneHarness, projects: list[Any], chosen: str
) -> None:
    keystone.endpoint = Endpoint(keystone.cloud.address, project="named")
    keystone.respond_unscoped(Reply(body={"projects": projects}))
    keystone.log_in()
    assert keystone.cloud.requests[-1].body["auth"]["scope"] == {"project": {"id": chosen}}


@pytest.mark.parametrize(
    ("wanted", "projects", "chosen"),
    [
        ("b", [project("a"), project("b"), project("named")], "id-b"),
        ("id-a", [project("a"), project("named"), project("id-a")], "id-a"),
        ("b", [project("b", id="far", domain_id="other"), project("b", id="near")], "near"),
    ],
    ids=["name", "ID before name", "same domain"],
)
def test_wanted_project_is_chosen_by_id_name_and_domain(
    keystone: KeystoneHarness, wanted: str, projects: list[Any], chosen: str
) -> None:
    keystone.endpoint = Endpoint(keystone.cloud.address, project="named")
    keystone.respond_unscoped(Reply(body={"projects": projects}))
    keystone.log_in(project=wanted)
    first, *_, last = keystone.cloud.requests
    # Not the default project.
    assert first.body["auth"]["scope"] == "unscoped"
    assert last.body["auth"]["scope"] == {"project": {"id": chosen}}


@pytest.mark.parametrize(
    ("wanted", "projects"),
    [("c", [project("a")]), ("B", [project("b")]), ("b", [project("b", enabled=False), project("a")])],
    ids=["unknown", "other case", "disabled"],
)
def test_wanted_project_is_not_replaced(keystone: KeystoneHarness, wanted: str, projects: list[Any]) -> None:
    keystone.respond_unscoped(Reply(body={"projects": projects}))
    with pytest.raises(ProjectRequired):
        keystone.log_in(project=wanted)


@pytest.mark.parametrize(
    ("name", "projects"),
    [
        (None, [project("b"), project("a")]),
        ("named", [project("a"), project("b")]),
        ("named", [project("a"), project("b"), project("named", enabled=False)]),
        ("named", [project("named", id="x", domain_id="y"), project("named", id="z", domain_id="w")]),
    ],
    ids=["several", "no match", "match disabled", "two in other domains"],
)
def test_project_is_not_guessed(keystone: KeystoneHarness, name: str | None, projects: list[Any]) -> None:
    keystone.endpoint = Endpoint(keystone.cloud.address, project=name)
    keystone.respond_unscoped(Reply(body={"projects": projects}))
    with pytest.raises(ProjectRequired) as raised:
        keystone.log_in()
    names = sorted({each["name"] for each in projects if each["enabled"]})
    assert raised.value.message("en").endswith(f": {', '.join(names)}")
    assert keystone.cloud.request_lines() == [LOGIN, PROJECTS]


@pytest.mark.parametrize("projects", [[], [project("a", enabled=False)]], ids=["none", "disabled"])
def test_login_without_a_project_is_rejected(keystone: KeystoneHarness, projects: list[Any]) -> None:
    keystone.respond_unscoped(Reply(body={"projects": projects}))
    with pytest.raises(NoProject):
        keystone.log_in(project="a")


def test_project_that_keystone_forbids_is_not_usable(keystone: KeystoneHarness) -> None:
    keystone.respond_unscoped(reply("projects_one"), Reply(403, {"error": {"code": 403}}))
    with pytest.raises(NoProject):
        keystone.log_in()


RECEIPT = {"receipt": {"methods": ["password"]}, "required_auth_methods": [["password", "totp"]]}
REJECTIONS = {name: reply(f"login_{name}") for name in ("wrong_password", "expired_password", "locked_out")}
REJECTIONS["another_factor_needed"] = Reply(401, RECEIPT, {"Openstack-Auth-Receipt": "gAAAA-receipt"})


@pytest.mark.parametrize("response", REJECTIONS.values(), ids=REJECTIONS)
def test_login_rejected_by_keystone_is_rejected(keystone: KeystoneHarness, response: Reply) -> None:
    keystone.cloud.respond(*LOGIN, response)
    assert keystone.log_in() is None


def test_login_to_a_disabled_tenant_is_rejected(keystone: KeystoneHarness) -> None:
    keystone.tenants.tenant_id = None
    keystone.cloud.respond(*LOGIN, reply("login_default_project"))
    assert keystone.log_in() is None
    assert keystone.tenants.lookups == [(f"{ACME}@{keystone.cloud.address}", "acme")]


INVALID_LOGINS = {
    "HTML 401": Reply(401, b"<html>"),
    "empty 401": Reply(401),
    "forbidden": Reply(403, {"error": {"code": 403}}),
    "HTML": Reply(200, b"<html>"),
    "empty body": Reply(201, headers={"X-Subject-Token": "t"}),
    "no token": login_with("headers", "X-Subject-Token"),
    "empty token": login_with("headers", "X-Subject-Token", value=""),
    "no body": login_with("body", value={}),
    "no user id": login_with("body", "token", "user", "id"),
    "user id unsafe in a URL": login_with("body", "token", "user", "id", value="a/../b"),
    "user id with a newline": login_with("body", "token", "user", "id", value="a\n"),
    "empty user name": login_with("body", "token", "user", "name", value=""),
    "project without id": login_with("body", "token", "project", value={"name": "acme"}),
    "project id unsafe in a URL": login_with("body", "token", "project", "id", value="a?b"),
    "catalog not a list": login_with("body", "token", "catalog", value={}),
    "no expiry": login_with("body", "token", "expires_at"),
    "expiry without a zone": login_with("body", "token", "expires_at", value="2026-11-16T20:07:08.000000"),
    "expired": login_with("body", "token", "expires_at", value="2026-11-15T20:07:08.000000Z"),
}


@pytest.mark.parametrize("response", INVALID_LOGINS.values(), ids=INVALID_LOGINS)
def test_invalid_login_response_is_a_failure_and_not_a_rejection(
    keystone: KeystoneHarness, response: Reply, caplog: pytest.LogCaptureFixture
) -> None:
    keystone.cloud.respond(*LOGIN, response)
    with pytest.raises(UpstreamFailed):
        keystone.log_in("alice", "very-secret")
    assert len(caplog.messages) == 1
    assert "very-secret" not in caplog.text
    assert "gAAAA" not in caplog.text


def test_login_has_the_deadline_of_an_action(keystone: KeystoneHarness) -> None:
    keystone.limits = client_limits(action_seconds=0.05)
    keystone.cloud.respond(*LOGIN, Reply(instead="freeze"))
    with pytest.raises(UpstreamTimeout):
        keystone.log_in()


@pytest.mark.parametrize(
    ("projects", "scoped_login"),
    [
        (reply("login_wrong_password"), reply("login_scoped_by_token")),
        (Reply(body={"projects": None}), reply("login_scoped_by_token")),
        (Reply(body={"projects": [{"name": "a"}]}), reply("login_scoped_by_token")),
        (reply("projects_one"), reply("login_wrong_password")),
        (reply("projects_one"), reply("login_unscoped")),
    ],
    ids=["401 for projects", "no projects", "a project without id", "401 for a scope", "unscoped token"],
)
def test_error_after_a_correct_password_is_not_a_rejection(
    keystone: KeystoneHarness, projects: Reply, scoped_login: Reply
) -> None:
    keystone.respond_unscoped(projects, scoped_login)
    with pytest.raises(UpstreamFailed):
        keystone.log_in()


@pytest.mark.parametrize(
    "use",
    [
        lambda identity: identity.use_application_credential(ApplicationCredential("an-id", "a-secret"), CLIENT),
        lambda identity: identity.authenticate(Credentials("application_credential:an-id", "a-secret"), CLIENT),
    ],
    ids=["from a file", "at login"],
)
def test_application_credential_gives_its_user_and_project(
    keystone: KeystoneHarness, use: Callable[[KeystoneIdentity], Coroutine[Any, Any, FederatedUser | None]]
) -> None:
    keystone.cloud.respond(*LOGIN, reply("login_default_project"))
    user = keystone.run(use)
    assert user is not None
    assert (user.username, user.tenant_id, user.credentials.project_id) == ("alice", 7, ACME)
    (request,) = keystone.cloud.requests
    assert request.body["auth"] == {
        "identity": {
            "methods": ["application_credential"],
            "application_credential": {"id": "an-id", "secret": "a-secret"},
        }
    }


@pytest.mark.parametrize(("user_domains", "is_accepted"), [((), False), (("Partners",), True)])
def test_application_credential_is_accepted_for_configured_domains_only(
    keystone: KeystoneHarness, user_domains: tuple[str, ...], is_accepted: bool
) -> None:
    keystone.endpoint = Endpoint(keystone.cloud.address, user_domains=user_domains)
    keystone.cloud.respond(*LOGIN, login_with("body", "token", "user", "domain", value={"id": "d", "name": "Partners"}))
    user = keystone.log_in("application_credential:an-id")
    assert (user is not None) == is_accepted
    assert len(keystone.discarded) == (not is_accepted)


@pytest.mark.parametrize("wanted", ["acme", ACME])
def test_application_credential_may_name_its_project(keystone: KeystoneHarness, wanted: str) -> None:
    keystone.cloud.respond(*LOGIN, reply("login_default_project"))
    assert keystone.log_in("application_credential:an-id", project=wanted) is not None


def test_application_credential_is_for_its_project_only(keystone: KeystoneHarness) -> None:
    keystone.cloud.respond(*LOGIN, reply("login_default_project"))
    with pytest.raises(ProjectRequired, match="project_required") as raised:
        keystone.log_in("application_credential:an-id", project="globex")
    assert raised.value.message("en").endswith(": acme")
    assert len(keystone.discarded) == 1


@pytest.mark.parametrize("credential_id", ["", "a b", "a/b", "x" * 65])
def test_invalid_id_of_an_application_credential_is_rejected_without_a_request(
    keystone: KeystoneHarness, credential_id: str
) -> None:
    assert keystone.log_in(f"application_credential:{credential_id}") is None
    assert keystone.cloud.request_lines() == []


def test_application_credential_rejected_by_keystone_has_no_user(keystone: KeystoneHarness) -> None:
    keystone.cloud.respond(*LOGIN, reply("login_wrong_password"))
    credential = ApplicationCredential("an-id", "a-secret")
    assert keystone.run(lambda identity: identity.use_application_credential(credential, CLIENT)) is None


def test_usernames_are_never_known_in_advance(keystone: KeystoneHarness) -> None:
    assert keystone.run(lambda identity: identity.knows_username("alice")) is False


def test_accepted_token_is_valid(keystone: KeystoneHarness) -> None:
    keystone.cloud.respond("GET", TOKENS, reply("token_good"))
    assert keystone.is_valid()
    [request] = keystone.cloud.requests
    assert (request.headers["X-Auth-Token"], request.headers["X-Subject-Token"]) == ("the-token", "the-token")
    assert request.query == {"nocatalog": ""}


@pytest.mark.parametrize("name", ["token_project_deleted", "token_user_disabled"])
def test_token_rejected_by_keystone_is_invalid(keystone: KeystoneHarness, name: str) -> None:
    keystone.cloud.respond("GET", TOKENS, reply(name))
    assert not keystone.is_valid()


@pytest.mark.parametrize(
    "changes",
    [{"project": {"id": GLOBEX, "name": "globex"}}, {"project": None}, {"user": GOOD_TOKEN["user"] | {"id": "x"}}],
    ids=["another project", "no project", "another user"],
)
def test_token_of_another_project_or_user_is_invalid(keystone: KeystoneHarness, changes: dict[str, Any]) -> None:
    keystone.cloud.respond("GET", TOKENS, Reply(body={"token": GOOD_TOKEN | changes}))
    assert not keystone.is_valid()


@pytest.mark.parametrize(
    "response",
    [Reply(404, b"<html>"), Reply(401), Reply(403, {"error": {"code": 403}}), Reply(500), Reply(body={}), Reply(204)],
    ids=["HTML", "empty 401", "forbidden", "server error", "no token", "empty body"],
)
def test_failed_token_check_is_not_a_rejection(keystone: KeystoneHarness, response: Reply) -> None:
    keystone.cloud.respond("GET", TOKENS, response)
    with pytest.raises(UpstreamFailed):
        keystone.is_valid()


def test_token_encrypted_with_a_removed_key_is_never_sent(keystone: KeystoneHarness) -> None:
    credentials = keystone.stored_credentials()
    rotate_keys(keystone.key_file)
    rotate_keys(keystone.key_file)
    assert not keystone.is_valid(credentials)
    keystone.revoke(credentials)
    assert not keystone.cloud.requests


@pytest.mark.parametrize("response", [Reply(204), Reply(401, {}), Reply(404, {})], ids=["done", "401", "404"])
def test_token_is_revoked_or_was_already_invalid(keystone: KeystoneHarness, response: Reply) -> None:
    keystone.cloud.respond("DELETE", TOKENS, response)
    keystone.revoke()
    [request] = keystone.cloud.requests
    assert (request.headers["X-Auth-Token"], request.headers["X-Subject-Token"]) == ("the-token", "the-token")


def test_failed_revocation_is_an_upstream_failure(keystone: KeystoneHarness) -> None:
    keystone.cloud.respond("DELETE", TOKENS, Reply(500))
    with pytest.raises(UpstreamFailed):
        keystone.revoke()
