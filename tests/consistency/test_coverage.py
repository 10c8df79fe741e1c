"""Coverage requirements of a run."""

from collections import Counter

import pytest
from consistency.coverage import FAULTS, unmet

SUFFICIENT = Counter(
    {
        **{(action, "200"): 400 for action in ("GetUsageLimits", "GetConsumptionsEstimated", "GetNews")},
        ("GetNews", "401 login_required"): 300,
        ("login", "200"): 100,
        ("login (admin UI)", "200"): 20,
        ("logout", "200"): 30,
        **{
            (f"{entity} {verb}{path}", "ok"): 2
            for path in ("", " (admin UI)")
            for entity, verbs in {
                "account": ("disable", "enable", "end-sessions", "password"),
                "news": ("add",),
                "price": ("change",),
                "quota": ("change",),
                "resource": ("add", "remove"),
            }.items()
            for verb in verbs
        },
        **{(f"fault: {target}{'1' if target.endswith('-') else ''}", kind): 1 for target, kind in FAULTS},
    }
)
SUFFICIENT["GetNews", "503 unavailable"] = 10_000 - SUFFICIENT.total()


def test_sufficient_coverage_has_no_gaps() -> None:
    assert SUFFICIENT.total() == 10_000
    assert unmet(SUFFICIENT) == []


@pytest.mark.parametrize(
    ("operation", "left", "gap"),
    [
        (("GetUsageLimits", "200"), 399, "GetUsageLimits: 200 (399 times)"),
        (("GetNews", "401 login_required"), 299, "reads in ended sessions: 401 (299 times)"),
        (("login", "200"), 99, "login: 200 (99 times)"),
        (("login (admin UI)", "200"), 19, "login (admin UI): 200 (19 times)"),
        (("logout", "200"), 29, "logout: 200 (29 times)"),
        (("price change", "ok"), 0, "price: ok via a command (0 times)"),
        (("price change (admin UI)", "ok"), 1, "price: ok via the admin UI (1 times)"),
        (("fault: replica-1", "killed"), 0, "fault: replica-: killed (0 times)"),
        (("fault: PostgreSQL", "restarted"), 0, "fault: PostgreSQL: restarted (0 times)"),
        (("fault: proxy of replica-1", "reset"), 0, "fault: proxy of replica-: reset (0 times)"),
    ],
)
def test_a_gap_is_reported(operation: tuple[str, str], left: int, gap: str) -> None:
    difference = SUFFICIENT[operation] - left
    counts = SUFFICIENT + Counter({("GetNews", "503 unavailable"): difference})
    counts[operation] = left
    assert unmet(counts) == [gap]


def test_revoking_operator_sessions_is_not_a_write_via_a_command() -> None:
    counts = Counter(SUFFICIENT)
    for verb in ("disable", "enable", "end-sessions", "password"):
        counts[f"account {verb} (admin UI)", "ok"] += counts.pop((f"account {verb}", "ok"))
    counts["account revoke-sessions", "ok"] = 10
    counts["GetNews", "503 unavailable"] -= 10
    assert unmet(counts) == ["account: ok via a command (0 times)"]


def test_faults_of_other_targets_do_not_count_for_replicas() -> None:
    counts = Counter(SUFFICIENT)
    counts["fault: PostgreSQL", "killed"] = counts.pop(("fault: replica-1", "killed"))
    counts["fault: proxy of operators", "delay"] = counts.pop(("fault: proxy of replica-1", "delay"))
    assert set(unmet(counts)) == {"fault: replica-: killed (0 times)", "fault: proxy of replica-: delay (0 times)"}


def test_a_run_of_rejections_only_is_insufficient() -> None:
    assert len(unmet(Counter({("GetNews", "503 unavailable"): 3000}))) > 20
