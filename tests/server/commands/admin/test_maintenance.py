"""`cloudconsole admin recount`, `prune`, `end-sessions` and `token-keys`: flags, output and exit codes."""

import json
from pathlib import Path

import pytest
from sqlalchemy import func, insert, select, update

from cloudconsole.backends.openstack.token_encryption_and_keys import create_keys, read_keys
from cloudconsole.store.tables import resources, sessions, usage
from tests.harness import ApiClient
from tests.server.commands.admin.test_cloud_file import newest_entry
from tests.server.commands.conftest import Run
from tests.server.http.helpers import rows
from tests.stores import write_transaction

FIRST_RESOURCE = select(func.min(resources.c.id)).where(resources.c.ended_at.is_(None)).scalar_subquery()
END_ONE_RESOURCE = update(resources).where(resources.c.id == FIRST_RESOURCE).values(ended_at=resources.c.started_at + 1)
EXPIRED_SESSION = {"account_id": 1, "account_version": 1, "csrf_seed": "seed", "seen_at": 1, "expires_at": 1}


@pytest.mark.parametrize(
    ("options", "corrected", "unchanged"),
    [((), "1 counter corrected\n", "nothing to change\n"), (("--json",), {"corrected": 1}, {"corrected": 0})],
)
def test_recount_reports_corrected_counters(
    admin: Run, data: Path, options: tuple[str, ...], corrected: object, unchanged: object
) -> None:
    with write_transaction(data, "cloud") as connection:
        first = select(func.min(usage.c.tenant_id)).scalar_subquery()
        connection.execute(update(usage).where(usage.c.tenant_id == first).values(cores=usage.c.cores + 1))
    for expected in (corrected, unchanged):
        out = admin("recount", *options).out
        assert (json.loads(out) if options else out) == expected


@pytest.fixture
def prunable(admin: Run, data: Path) -> Path:
    """A store with a resource and a session that can be pruned."""
    with write_transaction(data, "cloud") as connection:
        connection.execute(END_ONE_RESOURCE)
    with write_transaction(data, "activity") as connection:
        connection.execute(insert(sessions).values(id_hash=b"\0", **EXPIRED_SESSION))
    assert admin("recount").code == 0
    return data


def test_prune_reports_removed_rows_and_their_age(admin: Run, prunable: Path) -> None:
    before = len(rows(prunable, resources))
    command = ("prune", "--ended-resources", "30d")
    tried = admin(*command, "--dry-run")
    assert "\nsessions: 1 would be removed, from before 20" in tried.out
    assert tried.out.endswith("dry run: nothing was changed\n")
    assert (len(rows(prunable, resources)), len(rows(prunable, sessions))) == (before, 1)
    done = admin(*command)
    assert (done.code, done.err) == (0, "")
    removed = before - len(rows(prunable, resources))
    assert removed
    assert done.out.startswith(f"resources: {removed} removed, from before 20")
    assert "\nsessions: 1 removed, from before 20" in done.out
    assert admin(*command).out == admin(*command, "--dry-run").out == "nothing to remove\n"


@pytest.mark.usefixtures("prunable")
def test_prune_as_json(admin: Run) -> None:
    command = ("prune", "--json")
    for flags, is_dry_run in ((("--dry-run",), True), ((), False)):
        done = json.loads(admin(*command, *flags).out)
        assert (done["dry_run"], done["removed"]["sessions"]["rows"]) == (is_dry_run, 1)
    assert json.loads(admin(*command).out)["removed"]["sessions"]["rows"] == 0


@pytest.mark.parametrize(
    "argument",
    [
        *(f"--audit={age}" for age in ("6d", "0d", "-400d", "400", "d", "1e3d", "400h", "10000d", "٤٠٠d", "")),
        "--ended-resources=6d",
        "--access-audit=6d",
    ],
)
def test_invalid_or_too_short_age_is_rejected(capsys: pytest.CaptureFixture[str], admin: Run, argument: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        admin("prune", argument)
    assert "must be a number of days from 7d to 9999d, such as 400d" in capsys.readouterr().err


def test_shortest_and_longest_age_are_accepted(admin: Run) -> None:
    assert admin("prune", "--audit", "7d", "--access-audit", "9999d").code == 0


def test_everyone_is_logged_out_and_can_log_in_again(admin: Run, demo: ApiClient) -> None:
    done = admin("end-sessions")
    assert (done.code, done.out, done.err) == (0, "all sessions ended (1): everyone has to log in again\n", "")
    assert demo.call("GetUsageLimits").status == 401
    assert demo.login().status == 200


def test_ending_sessions_is_audited(admin: Run) -> None:
    assert json.loads(admin("end-sessions", "--json").out) == {"sessions": 0}
    entry = newest_entry(admin)
    assert (entry["change"], entry["subject"], entry["after"]) == ("end-sessions", None, {"sessions": 0})


def test_rotation_prints_a_summary_and_is_audited(admin: Run, data: Path) -> None:
    create_keys(data / "token-keys")
    [before] = read_keys(data / "token-keys")
    done = admin("token-keys", "rotate")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"{data / 'token-keys'}: tokens are now encrypted with a new key")
    assert before.decode() not in done.out
    assert read_keys(data / "token-keys")[1:] == [before]
    entry = newest_entry(admin)
    assert (entry["change"], entry["subject"]) == ("token-keys.rotate", "token-keys")


def test_key_file_can_be_configured(admin: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create_keys(tmp_path / "elsewhere")
    monkeypatch.setenv("CLOUDCONSOLE_TOKEN_KEYS", str(tmp_path / "elsewhere"))
    done = admin("token-keys", "rotate", "--json")
    assert json.loads(done.out) == {"file": str(tmp_path / "elsewhere"), "keys": 2}


def test_rotation_without_keys_creates_nothing(admin: Run, data: Path) -> None:
    done = admin("token-keys", "rotate")
    assert done.code == 1
    assert done.err.startswith(f"cloudconsole: there are no token keys in {data / 'token-keys'}: ")
    assert not (data / "token-keys").exists()
