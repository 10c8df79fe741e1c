"""`cloudconsole admin prune`, also with a running console."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import func, insert, select, update

from cloudconsole.store.tables import resources, sessions
from tests.harness import ApiClient, HttpTransport, running_server
from tests.server.commands.conftest import Run
from tests.server.http.helpers import rows
from tests.stores import write_transaction

FIRST_RESOURCE = select(func.min(resources.c.id)).where(resources.c.ended_at.is_(None)).scalar_subquery()
END_ONE_RESOURCE = update(resources).where(resources.c.id == FIRST_RESOURCE).values(ended_at=resources.c.started_at + 1)
EXPIRED_SESSION = {"account_id": 1, "account_version": 1, "csrf_seed": "seed", "seen_at": 1, "expires_at": 1}


def end_one_resource(data: Path) -> None:
    with write_transaction(data, "cloud") as connection:
        connection.execute(END_ONE_RESOURCE)


def count_resources(data: Path) -> int:
    return len(rows(data, resources))


@pytest.fixture
def prunable(cloudconsole: Run, data: Path) -> Path:
    """A store with data of each kind that can be pruned."""
    end_one_resource(data)
    with write_transaction(data, "activity") as connection:
        connection.execute(insert(sessions).values(id_hash=b"\0", **EXPIRED_SESSION))
    assert cloudconsole("admin", "recount", "--data", data).code == 0
    return data


def test_prune_reports_removed_rows_and_their_age(cloudconsole: Run, prunable: Path) -> None:
    before = count_resources(prunable)
    done = cloudconsole("admin", "prune", "--ended-resources", "30d", "--data", prunable)
    assert (done.code, done.err) == (0, "")
    removed = before - count_resources(prunable)
    assert removed
    assert done.out.startswith(f"resources: {removed} removed, from before 20")
    assert "\nsessions: 1 removed, from before 20" in done.out
    assert cloudconsole("admin", "prune", "--ended-resources", "30d", "--data", prunable).out == "nothing to remove\n"


def test_a_dry_run_removes_nothing(cloudconsole: Run, prunable: Path) -> None:
    before = count_resources(prunable)
    arguments = ("admin", "prune", "--ended-resources", "30d", "--data", prunable, "--json")
    planned = json.loads(cloudconsole(*arguments, "--dry-run").out)
    assert planned["dry_run"] is True
    assert (count_resources(prunable), len(rows(prunable, sessions))) == (before, 1)
    removed = json.loads(cloudconsole(*arguments).out)["removed"]
    assert {name: each["rows"] for name, each in removed.items()} == {
        name: each["rows"] for name, each in planned["removed"].items()
    }
    output = cloudconsole(*arguments[:-1], "--dry-run").out
    assert output == "nothing to remove\n"


def test_dry_run_reports_what_would_be_removed(cloudconsole: Run, prunable: Path) -> None:
    done = cloudconsole("admin", "prune", "--dry-run", "--data", prunable)
    assert "sessions: 1 would be removed, from before " in done.out
    assert done.out.endswith("dry run: nothing was changed\n")


@pytest.mark.parametrize("flag", ["--ended-resources", "--audit", "--access-audit"])
@pytest.mark.parametrize("age", ["6d", "0d", "-400d", "400", "d", "1e3d", "400h", "10000d", "٤٠٠d", ""])
def test_invalid_or_too_short_age_is_rejected(
    capsys: pytest.CaptureFixture[str], cloudconsole: Run, data: Path, flag: str, age: str
) -> None:
    before = count_resources(data)
    with pytest.raises(SystemExit, match="2"):
        cloudconsole("admin", "prune", f"{flag}={age}", "--data", data)
    assert "must be a number of days from 7d to 9999d, such as 400d" in capsys.readouterr().err
    assert count_resources(data) == before


def test_prune_needs_a_store(cloudconsole: Run, tmp_path: Path) -> None:
    done = cloudconsole("admin", "prune", "--data", tmp_path / "none")
    assert done.err == f"cloudconsole: no store in {tmp_path / 'none'}: pass its directory with --data\n"
    assert list(tmp_path.iterdir()) == []


def test_prune_does_not_change_usage_and_costs(cloudconsole: Run, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running_server(tmp_path) as server, closing(HttpTransport(server.base)) as transport:
        end_one_resource(data)
        assert cloudconsole("admin", "recount", "--data", data).code == 0
        client = ApiClient(transport)
        assert client.login().status == 200
        before = usage_and_costs(client)
        assert cloudconsole("admin", "prune", "--ended-resources", "7d", "--data", data).out.startswith("resources: ")
        assert usage_and_costs(client) == before


def usage_and_costs(client: ApiClient) -> list[bytes]:
    replies = [client.call(action) for action in ("GetUsageLimits", "GetConsumptionsEstimated")]
    assert [reply.status for reply in replies] == [200, 200]
    return [reply.body for reply in replies]
