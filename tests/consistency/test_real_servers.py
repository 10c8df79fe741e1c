"""A short round on real servers."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest
from consistency.admin_commands import make_store
from consistency.checker import check
from consistency.fault_injection import FaultAction
from consistency.history import FinalRead, Healed, History, Write
from consistency.initial_cloud import Cloud
from consistency.runner import Round, record_round

from cloudconsole.server.config.settings import Settings
from tests.harness import RunningServer, running_server

pytestmark = pytest.mark.slow

CLOUD = Cloud(2)


class FaultFreeDeployment:
    """Servers sharing a data directory, without faults and quick to start."""

    name = "one data directory"

    def __init__(self, folder: Path, cloud: Cloud) -> None:
        self._folder, self._stack = folder, ExitStack()
        self.settings = Settings(data=folder / "data")
        self.replicas: list[RunningServer] = []
        make_store(self.settings, cloud)

    def fault_groups(self) -> list[list[FaultAction]]:
        return []

    def wait_until_ready(self) -> None:
        pass

    def __enter__(self) -> Self:
        for number in range(2):
            own = self._folder / f"server-{number}"
            own.mkdir()
            server = running_server(own, "--data", str(self.settings.data), sample=False)
            self.replicas.append(self._stack.enter_context(server))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultFreeDeployment]:
    with FaultFreeDeployment(tmp_path_factory.mktemp("deployment"), CLOUD) as deployment:
        yield deployment


@pytest.fixture(scope="module")
def history(deployed: FaultFreeDeployment) -> History:
    return asyncio.run(record_round(Round(1, 300, 4, CLOUD), deployed))


def test_a_history_of_real_servers_has_no_anomalies(history: History) -> None:
    checked = check(history)
    assert checked.anomalies == []
    assert checked.counts.total() >= 300
    seen = {what for what, _ in checked.counts}
    assert {"login", "logout", "GetNews", "login (admin UI)", "admin page"} <= seen
    assert {"quota change", "resource add"} <= {what.removesuffix(" (admin UI)") for what in seen}


def test_a_round_ends_with_a_final_read_after_healing(history: History) -> None:
    assert isinstance(history.operations[-1], FinalRead)
    (healed,) = (operation for operation in history.operations if isinstance(operation, Healed))
    assert all(operation.end <= healed.begin for operation in history.operations if isinstance(operation, Write))


def test_removing_any_last_write_from_the_history_is_detected(history: History) -> None:
    """Mutation test of the checker on a real history."""
    last = {operation.register: operation for operation in history.operations if isinstance(operation, Write)}
    assert last
    for change in last.values():
        others = [operation for operation in history.operations if operation is not change]
        assert check(History(history.initial_state, others)).anomalies, change
