"""The cloud that `serve` loads into an empty store, when several start at once."""

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
from tests.conftest import NOON
from tests.operator.clouds import rows


def test_it_is_loaded_only_when_replicas_that_serve_the_store_have_seen_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled = list[Settings]()
    monkeypatch.setattr(serve, "wait_for_replicas", settled.append)
    prepare(tmp_path)
    settings = Settings(data=tmp_path)
    sample = read_initial_cloud(argparse.Namespace(sample=True, cloud=None), settings)
    assert sample is not None
    load_initial_cloud(sample, settings, int(NOON))
    assert settled == [settings]


def test_of_several_that_start_at_once_one_loads_the_sample(tmp_path: Path) -> None:
    prepare(tmp_path)
    settings = Settings(data=tmp_path)
    sample = read_initial_cloud(argparse.Namespace(sample=True, cloud=None), settings)
    assert sample is not None
    start = Barrier(4)

    def load(_number: int) -> None:
        start.wait()
        load_initial_cloud(sample, settings, int(NOON))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(load, range(4)))
    with settings.store.opened("cloud") as engine:
        assert [line["change"] for line in rows(engine, operator_audit)] == ["load"]
