"""A run must have seen something."""

from collections import Counter

import pytest
from history.floor import FAULTS, missing

ENOUGH = Counter(
    {
        **{(action, "200"): 400 for action in ("GetUsageLimits", "GetConsumptionsEstimated", "GetNews")},
        ("GetNews", "401 login_required"): 300,
        ("login", "200"): 100,
        ("login at the pages", "200"): 20,
        ("logout", "200"): 30,
        **{
            (f"{noun} {verb}{way}", "done"): 2
            for way in ("", " at the pages")
            for noun, verbs in {
                "account": ("disable", "enable", "end-sessions", "password"),
                "news": ("add",),
                "price": ("change",),
                "quota": ("change",),
                "resource": ("add", "remove"),
            }.items()
            for verb in verbs
        },
        **{(f"fault of {target}{'1' if target.endswith('-') else ''}", kind): 1 for target, kind in FAULTS},
    }
)
ENOUGH["GetNews", "503 unavailable"] = 10_000 - ENOUGH.total()


def test_enough_of_everything_is_enough() -> None:
    assert ENOUGH.total() == 10_000
    assert missing(ENOUGH) == []


@pytest.mark.parametrize(
    ("operation", "left", "told"),
    [
        (("GetUsageLimits", "200"), 399, "GetUsageLimits: 200 (399 times)"),
        (("GetNews", "401 login_required"), 299, "calls in ended sessions: 401 (299 times)"),
        (("login", "200"), 99, "login: 200 (99 times)"),
        (("login at the pages", "200"), 19, "login at the pages: 200 (19 times)"),
        (("logout", "200"), 29, "logout: 200 (29 times)"),
        (("price change", "done"), 0, "price: done by a command (0 times)"),
        (("price change at the pages", "done"), 1, "price: done at the pages (1 times)"),
        (("fault of replica-1", "killed"), 0, "fault of replica-: killed (0 times)"),
        (("fault of PostgreSQL", "restarted"), 0, "fault of PostgreSQL: restarted (0 times)"),
        (("fault of the wire of replica-1", "reset"), 0, "fault of the wire of replica-: reset (0 times)"),
    ],
)
def test_less_is_told(operation: tuple[str, str], left: int, told: str) -> None:
    taken = ENOUGH[operation] - left
    counts = ENOUGH + Counter({("GetNews", "503 unavailable"): taken})
    counts[operation] = left
    assert missing(counts) == [told]


def test_a_change_that_was_never_done_is_told() -> None:
    counts = Counter(ENOUGH)
    for way in ("", " at the pages"):
        counts["account enable" + way, "unknown"] = counts.pop(("account enable" + way, "done"))
    assert missing(counts) == ["account enable: done (0 times)"]


def test_that_operators_are_shut_out_is_no_change_by_a_command() -> None:
    counts = Counter(ENOUGH)
    for verb in ("disable", "enable", "end-sessions", "password"):
        counts[f"account {verb} at the pages", "done"] += counts.pop((f"account {verb}", "done"))
    counts["account shut-out", "done"] = 10
    counts["GetNews", "503 unavailable"] -= 10
    assert missing(counts) == ["account: done by a command (0 times)"]


@pytest.mark.parametrize(
    "other", ["fault of PostgreSQL", "fault of the wire of operators"], ids=lambda name: name.rpartition(" ")[2]
)
def test_what_broke_elsewhere_is_no_fault_of_a_replica(other: str) -> None:
    counts = Counter(ENOUGH)
    counts[other, "killed"] = counts.pop(("fault of replica-1", "killed"))
    assert missing(counts) == ["fault of replica-: killed (0 times)"]
    counts = Counter(ENOUGH)
    counts[other, "slow"] = counts.pop(("fault of the wire of replica-1", "slow"))
    assert missing(counts) == ["fault of the wire of replica-: slow (0 times)"]


def test_a_run_of_refusals_alone_proves_nothing() -> None:
    assert len(missing(Counter({("GetNews", "503 unavailable"): 3000}))) > 20
