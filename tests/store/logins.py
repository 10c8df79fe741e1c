"""Login attempts and sessions for the tests of the activity database."""

from cloudconsole.core.ports import Account, ClientInfo
from cloudconsole.store.activity_writes import LoginAttempt, NewSession
from cloudconsole.store.session_lookup import hash_session_id

NOW = 1_800_000_000
ACCOUNT = Account(1, "alice", 41, "tenant")
CLIENT = ClientInfo("192.0.2.1", "request-1")


def attempt(username: str = "alice", network: str = "192.0.2.0/24") -> LoginAttempt:
    return LoginAttempt(username, network, CLIENT)


def new_session(name: str = "s1", *replaces: str, expires_at: int = NOW + 43_200) -> NewSession:
    replaced = tuple(hash_session_id(each) for each in replaces)
    return NewSession(hash_session_id(name), "seed-of-" + name, expires_at, replaced)
