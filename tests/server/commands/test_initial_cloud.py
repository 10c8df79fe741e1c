"""The initial cloud that `serve` loads into an empty store, also when several servers start at once."""

import argparse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from cloudconsole.server.commands import serve
from cloudconsole.server.commands.serve import load_initial_cloud, read_initial_cloud
from cloudconsole.server.config.settings import Settings
from cloudconsole.store.sqlite.store import prepare
from cloudconsole.store.tables import operator_audit
from tests.conftest import SAMPLE_TIME
from tests.operator.clouds import rows


def test_loading_the_initial_cloud_waits_for_replicas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = list[Settings]()
    monkeypatch.setattr(serve, "wait_for_replicas", waits.append)
    prepare(tmp_path)
    settings = Settings(data=tmp_path)
    sample = read_initial_cloud(argparse.Namespace(sample=True, cloud=None), settings)
    assert sample is not None
    load_initial_cloud(sample, settings, int(SAMPLE_TIME))
    assert waits == [settings]


def test_concurrent_starts_load_the_sample_once(tmp_path: Path) -> None:
    prepare(tmp_path)
    settings = Settings(data=tmp_path)
    sample = read_initial_cloud(argparse.Namespace(sample=True, cloud=None), settings)
    assert sample is not None
    start = Barrier(4)

    def load(_number: int) -> None:
        start.wait()
        load_initial_cloud(sample, settings, int(SAMPLE_TIME))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(load, range(4)))
    with settings.store.opened("cloud") as engine:
        assert [entry["change"] for entry in rows(engine, operator_audit)] == ["load"]
