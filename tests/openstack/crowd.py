"""Thirty who call a console all the time, and a judgement on every answer that each of them gets."""

import random
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from lab.cloud import Lab

from tests.harness import OverHttp, Reply, RunningServer
from tests.openstack.guests import Guest
from tests.openstack.residents import until

USERS = ("alice", "bob", "carol")
READINGS = ("GetUsageLimits", "GetFlavors", "GetConsumptionsEstimated", "GetNews")
LOGIN = "login"
WISHES = (*READINGS, LOGIN)

CALL_SECONDS, ACTION_SECONDS = 5, 8
"""What one call to a service may take, and all calls for one action."""
PATIENCE_SECONDS = 120
PAUSE_SECONDS = 1.5
"""Between one's calls: thirty without a pause are more than a cloud on two cores can answer."""

TROUBLE = {502: "upstream_failed", 503: "unavailable", 504: "upstream_timeout"}


class Heard(NamedTuple):
    """One answer to one member of the crowd."""

    member: "Member"
    at: float
    """When it came."""
    seconds: float
    reply: Reply

    @property
    def is_right(self) -> bool:
        """Exactly what the cloud has for this very user."""
        return (self.reply.status, self.reply.body) == (200, self.member.expected)

    @property
    def is_trouble(self) -> bool:
        """A clear word that a service behind the console does not do its part."""
        return self.reply.status in TROUBLE and self.reply.error == TROUBLE[self.reply.status]

    def __str__(self) -> str:
        return f"{self.member}: {self.reply.status} after {self.seconds:.1f} s: {self.reply.body[:300]!r}"


@dataclass(eq=False)
class Member:
    """One of the crowd: always the same user with the same wish."""

    username: str
    wish: str
    guest: Guest
    expected: bytes = b""
    """The body, byte for byte; that of a login is empty."""

    def ask(self) -> Reply:
        return self.guest.try_as(self.username) if self.wish == LOGIN else self.guest.call(self.wish)

    def __str__(self) -> str:
        return f"{self.username}'s {self.wish}"


@dataclass
class Crowd:
    """All have logged in once, before anything failed; what each is to be told was read then, too."""

    members: list[Member]
    _heard: list[Heard] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)

    def heard(self, since: float = 0) -> list[Heard]:
        """What came of calls that began since."""
        return [heard for heard in list(self._heard) if heard.at - heard.seconds >= since]

    def judge(self, since: float, *, untouched: Collection[str] = ()) -> None:
        """Each answer is right or tells of trouble; where nothing that failed is needed, it is right.

        None that did not come is either: a caller gives up after several times the deadlines above.
        """
        for heard in self.heard(since):
            assert heard.is_right or (heard.is_trouble and heard.member.wish not in untouched), heard

    def wait_for(self, what: Callable[[Heard], bool], wishes: Collection[str], since: float) -> None:
        """Until each with one of these wishes has had such an answer."""
        waiting = {member for member in self.members if member.wish in wishes}
        give_up_at = time.monotonic() + PATIENCE_SECONDS
        while waiting := waiting - {heard.member for heard in self.heard(since) if what(heard)}:
            last = {heard.member: str(heard) for heard in self.heard(since)}
            assert time.monotonic() < give_up_at, [last.get(member, f"{member}: nothing") for member in waiting]
            time.sleep(0.1)

    def live(self, member: Member) -> None:
        self._over.wait(random.uniform(0, PAUSE_SECONDS))
        while not self._over.is_set():
            begun = time.monotonic()
            try:
                reply = member.ask()
            except OSError as lost:
                reply = Reply(0, [], repr(lost).encode())
            now = time.monotonic()
            self._heard.append(Heard(member, now, now - begun, reply))
            self._over.wait(PAUSE_SECONDS)

    def end(self) -> None:
        self._over.set()


@contextmanager
def gathered(console: RunningServer, lab: Lab, wishes: Mapping[str, int]) -> Iterator[Crowd]:
    """So many of each user with each wish, from now on."""
    with ExitStack() as wires:

        def arrive(username: str, wish: str) -> Member:
            wire = OverHttp(console.base)
            wires.callback(wire.close)
            guest = Guest(wire, lab)
            until(partial(_fulfilled, Member(username, LOGIN, guest)))
            return Member(username, wish, guest)

        members = [arrive(user, wish) for user in USERS for wish, count in wishes.items() for _ in range(count)]
        told = {(member.username, member.wish): member for member in members}
        expected = {key: until(partial(_fulfilled, member)).body for key, member in told.items()}
        for member in members:
            member.expected = expected[member.username, member.wish]
        crowd = Crowd(members)
        threads = [threading.Thread(target=crowd.live, args=(member,)) for member in members]
        for thread in threads:
            thread.start()
        try:
            yield crowd
        finally:
            crowd.end()
            for thread in threads:
                thread.join()


def _fulfilled(member: Member) -> Reply | None:
    """A machine may be too busy for the deadlines set, now and then."""
    reply = member.ask()
    return reply if reply.status == 200 else None
