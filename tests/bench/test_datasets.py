"""SQLite datasets."""

from collections.abc import Iterator

import pytest
from bench.datasets import DatasetSpec, SqliteDataset, sqlite_dataset, temporary_copy
from bench.raw_http import SessionCookies

from bench import datasets
from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from tests.harness import ApiClient, InProcessTransport


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteDataset]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets, "DIRECTORY", tmp_path_factory.mktemp("bench"))
        yield sqlite_dataset(DatasetSpec(tenants=3, resources_per_tenant=10, demo_resources=200))


@pytest.fixture
def transport(made: SqliteDataset) -> Iterator[InProcessTransport]:
    console = InProcessTransport(Console(Settings(data=made.directory)), base="http://127.0.0.1")
    yield console
    console.close()


def logged_in(transport: InProcessTransport, cookies: SessionCookies) -> ApiClient:
    return ApiClient(transport, {"sessionid": cookies.session_id, "csrftoken": cookies.csrf_token})


def test_each_tenant_has_a_session_and_its_own_number(made: SqliteDataset, transport: InProcessTransport) -> None:
    for cookies, number in made.tenant_cookies():
        usage = logged_in(transport, cookies).call("GetUsageLimits").data
        assert usage["maxTotalInstances"] == number
        assert usage["totalVolumesUsed"] == 2


def test_the_resources_added_to_demo_are_counted(made: SqliteDataset, transport: InProcessTransport) -> None:
    demo = logged_in(transport, made.demo_cookies())
    ended = [index for index in range(1, 200, 8) if index % 11 == 10]
    assert demo.call("GetUsageLimits").data["totalVolumesUsed"] == 3 + 25 - len(ended)
    assert {item["res_type"] for item in demo.call("GetConsumptionsEstimated").data} >= {"instance", "volume"}


def test_the_cookies_file_has_a_line_per_tenant(made: SqliteDataset) -> None:
    lines = made.cookies_file().read_text().splitlines()
    assert lines == [f"{cookies.session_id} {cookies.csrf_token} {number}" for cookies, number in made.tenant_cookies()]


def test_a_dataset_is_created_once(made: SqliteDataset) -> None:
    before = (made.directory / "cloud.db").stat().st_ino
    assert sqlite_dataset(made.spec).directory == made.directory
    assert (made.directory / "cloud.db").stat().st_ino == before


def test_a_copy_is_temporary(made: SqliteDataset) -> None:
    demo = made.demo_cookies()
    with temporary_copy(made) as copy:
        directory = copy.directory
        assert copy.demo_cookies() == demo
    assert not directory.exists()
