"""`cloudconsole admin end-sessions`: log everyone out of a running console."""

import json
from contextlib import closing
from pathlib import Path

from tests.harness import ApiClient, HttpTransport, running_server
from tests.server.commands.conftest import Run


def test_everyone_is_logged_out_and_can_log_in_again(cloudconsole: Run, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running_server(tmp_path) as server, closing(HttpTransport(server.base)) as transport:
        clients = [ApiClient(transport), ApiClient(transport)]
        assert [client.login().status for client in clients] == [200, 200]
        done = cloudconsole("admin", "end-sessions", "--data", data)
        assert (done.code, done.out, done.err) == (0, "all sessions ended (2): everyone has to log in again\n", "")
        assert [client.call("GetUsageLimits").status for client in clients] == [401, 401]
        assert ApiClient(transport).login().status == 200


def test_ending_sessions_is_audited(cloudconsole: Run, data: Path) -> None:
    assert json.loads(cloudconsole("admin", "end-sessions", "--data", data, "--json").out) == {"sessions": 0}
    entry = json.loads(cloudconsole("admin", "audit", "--data", data, "--json", "--limit", 1).out)[0]
    assert (entry["change"], entry["subject"], entry["after"]) == ("end-sessions", None, {"sessions": 0})


def test_ending_sessions_needs_a_store(cloudconsole: Run, tmp_path: Path) -> None:
    done = cloudconsole("admin", "end-sessions", "--data", tmp_path / "none")
    assert done.err == f"cloudconsole: no store in {tmp_path / 'none'}: pass its directory with --data\n"
