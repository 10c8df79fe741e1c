"""Who logs in, in the tests of what is written and read of it."""

from cloudconsole.core.ports import Account, Caller
from cloudconsole.store.activity import Attempt, NewSession
from cloudconsole.store.sessions import hash_session_id

NOW = 1_800_000_000
ACCOUNT = Account(1, "alice", 41, "tenant")
HERE = Caller("192.0.2.1", "request-1")


def attempt(username: str = "alice", network: str = "192.0.2.0/24") -> Attempt:
    return Attempt(username, network, HERE)


def new_session(name: str = "s1", *replaces: str, expires_at: int = NOW + 43_200) -> NewSession:
    old = tuple(hash_session_id(each) for each in replaces)
    return NewSession(hash_session_id(name), "seed-of-" + name, expires_at, old)
