"""Commands take effect in a running console with the next request, and report after the replication wait."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from cloudconsole.operator.sample import SAMPLE_FILE
from cloudconsole.server.commands.admin import store
from tests.harness import ApiClient, InProcessTransport
from tests.server.commands.admin.test_bulk_import import write
from tests.server.commands.conftest import Run


def run(admin: Run, command: str) -> None:
    assert admin(*command.split()).code == 0


@pytest.mark.parametrize(
    ("action", "shown", "add", "key"),
    [
        ("GetFlavors", "m1.tiny", "", "flavor 1"),
        ("GetUrlList", "url-zzzzzzzz", "url add url-zzzzzzzz --type link --url https://e.com/", "url url-zzzzzzzz"),
        ("GetNews", "Brand-new", "news add 99 --title Brand-new --url https://e.com/ --date 2026-11-15", "news 99"),
    ],
)
def test_disabled_entity_is_not_shown(demo: ApiClient, admin: Run, action: str, shown: str, add: str, key: str) -> None:
    def is_shown() -> bool:
        return shown in str(demo.call(action).data)

    assert is_shown() is (not add)
    if add:
        run(admin, add)
    for verb, expected in (("disable", False), ("enable", True)):
        run(admin, key.replace(" ", f" {verb} "))
        assert is_shown() is expected


def test_disabled_tenant_cannot_login_until_enabled(transport: InProcessTransport, demo: ApiClient, admin: Run) -> None:
    run(admin, "tenant disable demo")
    assert demo.call("GetUsageLimits").status == 401
    assert ApiClient(transport).login().status == 401
    assert ApiClient(transport).login("other", "console-other").status == 200
    run(admin, "tenant enable demo")
    assert demo.call("GetUsageLimits").status == 401
    assert ApiClient(transport).login().status == 200


@pytest.fixture
def output_at_wait(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The output of a command before each replication wait."""
    outputs = list[str]()
    fake_time = SimpleNamespace(sleep=lambda _seconds: outputs.append(capsys.readouterr().out))
    monkeypatch.setattr(store, "time", fake_time)
    return outputs


@pytest.mark.parametrize(
    "command",
    ["import many.jsonl", f"load {SAMPLE_FILE}", "node add north", "prune", "recount", "end-sessions", "migrate"],
    ids=lambda command: command.split()[0],
)
def test_success_is_reported_after_the_replication_wait(
    admin: Run, tmp_path: Path, output_at_wait: list[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    write(tmp_path, 1)
    monkeypatch.chdir(tmp_path)
    done = admin(*command.split())
    assert (done.code, bool(done.out)) == (0, True)
    assert output_at_wait
    assert not any(output_at_wait)


def test_partial_import_waits_for_replicas(admin: Run, tmp_path: Path, output_at_wait: list[str]) -> None:
    done = admin("import", write(tmp_path, 2, end="nonsense\n"))
    assert (done.code, output_at_wait) == (1, [""])
    assert "all lines before it are imported" in done.out


def test_failed_load_waits_for_replicas(admin: Run, tmp_path: Path, output_at_wait: list[str]) -> None:
    """Its commit may have succeeded although the response was lost."""
    (tmp_path / "empty.yaml").write_text("version: 1\n")
    assert admin("load", tmp_path / "empty.yaml").code == 1
    assert output_at_wait == [""]
