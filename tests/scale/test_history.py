"""Histories of three replicas over PostgreSQL while things break; and that the checker fails where the lease does."""

import asyncio
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from history.checker import Checked, check
from history.cloud import Cloud
from history.deployment import OnPostgres
from history.faults import Breakage
from history.floor import missing
from history.running import Round, record

from cloudconsole.store.postgres.store import PostgresStore

pytestmark = pytest.mark.long

ROUNDS = 3
STALE, ACCEPTED = ": stale: ", "^accepted "


def checked(folder: Path, round_: Round, deployment: type[OnPostgres] = OnPostgres) -> Checked:
    """One round; its recording stays in the folder."""
    with deployment(folder, round_.cloud) as deployed:
        recording = asyncio.run(record(round_, deployed))
    recording.save(folder / "history.jsonl")
    return check(recording)


def test_what_was_acknowledged_holds_whatever_breaks(tmp_path: Path) -> None:
    # By this seed every kind of fault strikes a replica or its wire early on.
    result = checked(tmp_path, Round(seed=1, operations=3000, seconds=50))
    assert list(map(str, result.findings)) == []
    assert result.counts.total() >= 3000
    assert missing(result.counts) == []


class Whole(OnPostgres):
    """Nothing breaks."""

    def breakages(self) -> list[list[Breakage]]:
        return []


class CutOff(OnPostgres):
    """Replicas are cut off from the database for a while, one after the other."""

    def breakages(self) -> list[list[Breakage]]:
        replicas = {f"the wire of {replica.name}" for replica in self.replicas}
        cuts = [each for each in self._of_database() if each.target in replicas and each.kind == "swallows all"]
        return [[each._replace(seconds=(2.0, 3.0)) for each in cuts]]


def break_lease(folder: Path, monkeypatch: pytest.MonkeyPatch, *changes: str) -> None:
    """Have every replica begin with other times of the lease."""
    mended = ["from cloudconsole.store.postgres import watching", *(f"watching.{change}" for change in changes)]
    (folder / "sitecustomize.py").write_text("\n".join(mended) + "\n")
    paths: Sequence[str] = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))


def is_found_out(folder: Path, round_: Round, deployment: type[OnPostgres], *signs: str) -> bool:
    """Whether problems of all these kinds are found; several rounds are played where a busy machine hides some."""
    hidden = set(signs)
    for number in range(ROUNDS):
        own = folder / f"round {number}"
        own.mkdir()
        findings = checked(own, replace(round_, seed=round_.seed + number), deployment).findings
        hidden -= {sign for sign in signs if any(re.search(sign, finding.problem) for finding in findings)}
        if not hidden:
            return True
    return False


def test_where_changes_are_acknowledged_at_once_old_figures_are_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_lease(tmp_path, monkeypatch, "SETTLE_SECONDS = 0.0")
    monkeypatch.setattr(PostgresStore, "settle_seconds", 0.0)
    assert is_found_out(tmp_path, Round(7, 600, 10, Cloud(2)), Whole, STALE, ACCEPTED)


def test_where_a_lease_never_ends_replicas_that_are_cut_off_are_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_lease(tmp_path, monkeypatch, "LEASE_SECONDS = 1e9")
    round_ = Round(7, 600, 15, Cloud(2), calm_seconds=(0.5, 1.5))
    assert is_found_out(tmp_path, round_, CutOff, f"{STALE}|{ACCEPTED}")
