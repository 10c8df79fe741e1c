"""`cloudconsole doctor` as an operator meets it."""

import json
from pathlib import Path

import pytest

from tests.server.commands.conftest import Run


def test_a_store_in_order_gets_a_clean_bill(cloudconsole: Run, tmp_path: Path) -> None:
    cloudconsole("init", "--data", tmp_path / "new", "--password-stdin", stdin=b"secret")
    done = cloudconsole("doctor", "--data", tmp_path / "new", "--port", "0")
    assert (done.code, done.err) == (0, "")
    assert "ok       databases: cloud.db is sound and up to date\n" in done.out
    assert done.out.splitlines()[-1].startswith("problems: 0, ")


def test_a_problem_is_told_with_its_mend_and_the_exit_code(
    cloudconsole: Run, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLOUDCONSOLE_NOPE", "1")
    done = cloudconsole("doctor", "--data", data, "--port", "0", "--quick")
    assert done.code == 1
    assert "problem  settings: CLOUDCONSOLE_NOPE: there is no such setting" in done.out
    assert "         → correct it or take it out" in done.out


def test_findings_can_be_had_as_json(cloudconsole: Run, tmp_path: Path) -> None:
    done = cloudconsole("doctor", "--data", tmp_path / "none", "--port", "0", "--json")
    answer = json.loads(done.out)
    assert (done.code, answer["ok"]) == (1, False)
    assert {tuple(finding) for finding in answer["findings"]} == {("check", "level", "text", "mend")}
