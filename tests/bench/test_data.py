"""The stores that are measured on."""

from collections.abc import Iterator

import pytest
from bench.data import Plan, Store, copy_of, store

from bench import data
from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from tests.harness import Caller, InProcess


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "FOLDER", tmp_path_factory.mktemp("bench"))
        yield store(Plan(tenants=3, resources_each=10, resources_of_demo=200))


@pytest.fixture
def wire(made: Store) -> Iterator[InProcess]:
    console = InProcess(Console(Settings(data=made.folder)), base="http://127.0.0.1")
    yield console
    console.close()


def logged_in(wire: InProcess, session: str, token: str) -> Caller:
    return Caller(wire, {"sessionid": session, "csrftoken": token})


def test_each_tenants_caller_is_logged_in_and_gets_its_own_number(made: Store, wire: InProcess) -> None:
    for caller, number in made.callers():
        usage = logged_in(wire, caller.session, caller.token).call("GetUsageLimits").data
        assert usage["maxTotalInstances"] == number
        assert usage["totalVolumesUsed"] == 2


def test_the_resources_added_to_demo_count(made: Store, wire: InProcess) -> None:
    demo = logged_in(wire, made.demo().session, made.demo().token)
    ended = [index for index in range(1, 200, 8) if index % 11 == 10]
    assert demo.call("GetUsageLimits").data["totalVolumesUsed"] == 3 + 25 - len(ended)
    assert {item["res_type"] for item in demo.call("GetConsumptionsEstimated").data} >= {"instance", "volume"}


def test_the_callers_file_has_a_line_for_each(made: Store) -> None:
    lines = made.callers_file().read_text().splitlines()
    assert lines == [f"{caller.session} {caller.token} {number}" for caller, number in made.callers()]


def test_a_store_is_made_once(made: Store) -> None:
    before = (made.folder / "cloud.db").stat().st_ino
    assert store(made.plan).folder == made.folder
    assert (made.folder / "cloud.db").stat().st_ino == before


def test_a_copy_can_be_thrown_away(made: Store) -> None:
    demo = made.demo()
    with copy_of(made) as copy:
        folder = copy.folder
        assert copy.demo() == demo
    assert not folder.exists()
