"""Consistency of three replicas over PostgreSQL under faults; the checker detects a broken lease."""

import asyncio
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from consistency.checker import CheckResult, check
from consistency.coverage import unmet
from consistency.deployment import PostgresDeployment
from consistency.fault_injection import FaultAction
from consistency.initial_cloud import Cloud
from consistency.runner import Round, record_round

from cloudconsole.store.postgres.store import PostgresStore

pytestmark = pytest.mark.slow

ROUNDS = 10
STALE, ACCEPTED = ": stale read: ", "^session accepted "


def checked(directory: Path, round_: Round, deployment: type[PostgresDeployment] = PostgresDeployment) -> CheckResult:
    """Run and check one round; its history is saved in the directory."""
    with deployment(directory, round_.cloud) as deployed:
        history = asyncio.run(record_round(round_, deployed))
    history.save(directory / "history.jsonl")
    return check(history)


def test_there_are_no_anomalies_under_faults(tmp_path: Path) -> None:
    # With this seed every kind of fault hits a replica or its proxy early.
    result = checked(tmp_path, Round(seed=1, operations=3000, seconds=50))
    assert list(map(str, result.anomalies)) == []
    assert result.counts.total() >= 3000
    assert unmet(result.counts) == []


class FaultFree(PostgresDeployment):
    """Without faults."""

    def fault_groups(self) -> list[list[FaultAction]]:
        return []


class Partitioned(PostgresDeployment):
    """Replicas are disconnected from the database, one after another."""

    def fault_groups(self) -> list[list[FaultAction]]:
        replicas = {f"proxy of {replica.name}" for replica in self.replicas}
        cuts = [each for each in self._database_faults() if each.target in replicas and each.kind == "black hole"]
        return [[each._replace(seconds=(2.0, 3.0)) for each in cuts]]


def break_lease(directory: Path, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    """Start every replica with a patched lease time."""
    lines = "from cloudconsole.store.postgres import change_poller", f"change_poller.{change}"
    (directory / "sitecustomize.py").write_text("\n".join(lines) + "\n")
    paths = [str(directory), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))


def is_detected(directory: Path, round_: Round, deployment: type[PostgresDeployment], *signs: str) -> bool:
    """Whether all these anomalies are found; on a busy machine that may take several rounds."""
    missing = set(signs)
    for number in range(ROUNDS):
        round_directory = directory / f"round {number}"
        round_directory.mkdir()
        anomalies = checked(round_directory, replace(round_, seed=round_.seed + number), deployment).anomalies
        missing -= {sign for sign in signs if any(re.search(sign, anomaly.problem) for anomaly in anomalies)}
        if not missing:
            return True
    return False


def test_without_a_replication_wait_stale_reads_are_detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    break_lease(tmp_path, monkeypatch, "REPLICATION_WAIT_SECONDS = 0.0")
    monkeypatch.setattr(PostgresStore, "replication_wait_seconds", 0.0)
    assert is_detected(tmp_path, Round(7, 600, 10, Cloud(2)), FaultFree, STALE, ACCEPTED)


def test_with_an_endless_lease_cut_off_replicas_are_detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    break_lease(tmp_path, monkeypatch, "LEASE_SECONDS = 1e9")
    round_ = Round(7, 600, 15, Cloud(2), fault_interval=(0.5, 1.5))
    assert is_detected(tmp_path, round_, Partitioned, f"{STALE}|{ACCEPTED}")
