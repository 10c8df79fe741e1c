"""`cloudconsole admin prune` as an operator meets it, over a store that may be served."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import func, insert, select, update

from cloudconsole.store.tables import resources, sessions
from tests.harness import Caller, OverHttp, running_server
from tests.server.commands.conftest import Run
from tests.server.http.world import rows
from tests.stores import changing

FIRST = select(func.min(resources.c.id)).where(resources.c.ended_at.is_(None)).scalar_subquery()
END_ONE = update(resources).where(resources.c.id == FIRST).values(ended_at=resources.c.started_at + 1)
DEAD_SESSION = {"account_id": 1, "account_version": 1, "csrf_seed": "seed", "seen_at": 1, "expires_at": 1}


def end_one(data: Path) -> None:
    with changing(data, "cloud") as connection:
        connection.execute(END_ONE)


def kept(data: Path) -> int:
    return len(rows(data, resources))


@pytest.fixture
def outdated(cloudconsole: Run, data: Path) -> Path:
    """A store with some of everything that may go."""
    end_one(data)
    with changing(data, "activity") as connection:
        connection.execute(insert(sessions).values(id_hash=b"\0", **DEAD_SESSION))
    assert cloudconsole("admin", "recount", "--data", data).code == 0
    return data


def test_it_tells_what_went_and_how_far_back(cloudconsole: Run, outdated: Path) -> None:
    before = kept(outdated)
    done = cloudconsole("admin", "prune", "--ended-resources", "30d", "--data", outdated)
    assert (done.code, done.err) == (0, "")
    removed = before - kept(outdated)
    assert removed
    assert done.out.startswith(f"resources: {removed} removed, from before 20")
    assert "\nsessions: 1 removed, from before 20" in done.out
    assert cloudconsole("admin", "prune", "--ended-resources", "30d", "--data", outdated).out == "nothing to remove\n"


def test_a_dry_run_removes_nothing(cloudconsole: Run, outdated: Path) -> None:
    before = kept(outdated)
    arguments = ("admin", "prune", "--ended-resources", "30d", "--data", outdated, "--json")
    foreseen = json.loads(cloudconsole(*arguments, "--dry-run").out)
    assert foreseen["dry_run"] is True
    assert (kept(outdated), len(rows(outdated, sessions))) == (before, 1)
    removed = json.loads(cloudconsole(*arguments).out)["removed"]
    assert {name: each["rows"] for name, each in removed.items()} == {
        name: each["rows"] for name, each in foreseen["removed"].items()
    }
    words = cloudconsole(*arguments[:-1], "--dry-run").out
    assert words == "nothing to remove\n"


def test_a_dry_run_says_so(cloudconsole: Run, outdated: Path) -> None:
    done = cloudconsole("admin", "prune", "--dry-run", "--data", outdated)
    assert "sessions: 1 would be removed, from before " in done.out
    assert done.out.endswith("dry run: nothing was changed\n")


@pytest.mark.parametrize("flag", ["--ended-resources", "--audit", "--access-audit"])
@pytest.mark.parametrize("age", ["6d", "0d", "-400d", "400", "d", "1e3d", "400h", "10000d", "٤٠٠d", ""])
def test_an_age_that_is_none_or_too_short_is_refused(
    capsys: pytest.CaptureFixture[str], cloudconsole: Run, data: Path, flag: str, age: str
) -> None:
    before = kept(data)
    with pytest.raises(SystemExit, match="2"):
        cloudconsole("admin", "prune", f"{flag}={age}", "--data", data)
    assert "must be a number of days from 7d to 9999d, such as 400d" in capsys.readouterr().err
    assert kept(data) == before


def test_it_needs_a_store(cloudconsole: Run, tmp_path: Path) -> None:
    done = cloudconsole("admin", "prune", "--data", tmp_path / "none")
    assert done.err == f"cloudconsole: no store in {tmp_path / 'none'}: pass its directory with --data\n"
    assert list(tmp_path.iterdir()) == []


def test_a_console_that_is_served_goes_on_with_the_same_figures(cloudconsole: Run, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running_server(tmp_path) as server, closing(OverHttp(server.base)) as wire:
        end_one(data)
        assert cloudconsole("admin", "recount", "--data", data).code == 0
        caller = Caller(wire)
        assert caller.login().status == 200
        before = figures(caller)
        assert cloudconsole("admin", "prune", "--ended-resources", "7d", "--data", data).out.startswith("resources: ")
        assert figures(caller) == before


def figures(caller: Caller) -> list[bytes]:
    replies = [caller.call(action) for action in ("GetUsageLimits", "GetConsumptionsEstimated")]
    assert [reply.status for reply in replies] == [200, 200]
    return [reply.body for reply in replies]
