"""`cloudconsole admin end-sessions`: everyone is logged out, in a console that is being served."""

import json
from contextlib import closing
from pathlib import Path

from tests.harness import Caller, OverHttp, running_server
from tests.server.commands.conftest import Run


def test_everyone_is_logged_out_and_can_log_in_again(cloudconsole: Run, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running_server(tmp_path) as server, closing(OverHttp(server.base)) as wire:
        callers = [Caller(wire), Caller(wire)]
        assert [caller.login().status for caller in callers] == [200, 200]
        done = cloudconsole("admin", "end-sessions", "--data", data)
        assert (done.code, done.out, done.err) == (0, "all sessions ended (2): everyone has to log in again\n", "")
        assert [caller.call("GetUsageLimits").status for caller in callers] == [401, 401]
        assert Caller(wire).login().status == 200


def test_it_is_in_the_trail(cloudconsole: Run, data: Path) -> None:
    assert json.loads(cloudconsole("admin", "end-sessions", "--data", data, "--json").out) == {"sessions": 0}
    line = json.loads(cloudconsole("admin", "audit", "--data", data, "--json", "--limit", 1).out)[0]
    assert (line["change"], line["subject"], line["after"]) == ("end-sessions", None, {"sessions": 0})


def test_it_needs_a_store(cloudconsole: Run, tmp_path: Path) -> None:
    done = cloudconsole("admin", "end-sessions", "--data", tmp_path / "none")
    assert done.err == f"cloudconsole: no store in {tmp_path / 'none'}: pass its directory with --data\n"
