"""A command reports its changes only after the replication wait, also those made before an error."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from cloudconsole.operator.sample import SAMPLE_FILE
from cloudconsole.server.commands.admin import store
from tests.server.commands.admin.test_bulk_import import write
from tests.server.commands.conftest import Run


@pytest.fixture
def output_at_wait(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The output of a command before each replication wait."""
    outputs = list[str]()
    fake_time = SimpleNamespace(sleep=lambda _seconds: outputs.append(capsys.readouterr().out))
    monkeypatch.setattr(store, "time", fake_time)
    return outputs


@pytest.mark.parametrize(
    "command",
    [
        ("import", "FILE"),
        ("load", SAMPLE_FILE),
        ("node", "add", "north"),
        ("prune", "--audit", "400d"),
        ("recount",),
        ("end-sessions",),
        ("migrate",),
    ],
    ids=lambda command: command[0],
)
def test_success_is_reported_after_the_replication_wait(
    cloudconsole: Run, data: Path, tmp_path: Path, output_at_wait: list[str], command: tuple[object, ...]
) -> None:
    file = write(tmp_path, 1)
    done = cloudconsole("admin", *(file if word == "FILE" else word for word in command), "--data", data)
    assert done.code == 0
    assert done.out
    assert output_at_wait
    assert not any(output_at_wait)


def test_partial_import_waits_for_replicas(
    cloudconsole: Run, data: Path, tmp_path: Path, output_at_wait: list[str]
) -> None:
    done = cloudconsole("admin", "import", write(tmp_path, 2, end="nonsense\n"), "--data", data)
    assert (done.code, output_at_wait) == (1, [""])
    assert "all lines before it are imported" in done.out


def test_failed_load_waits_for_replicas(
    cloudconsole: Run, data: Path, tmp_path: Path, output_at_wait: list[str]
) -> None:
    """Its commit may have succeeded although the response was lost."""
    (tmp_path / "empty.yaml").write_text("version: 1\n")
    assert cloudconsole("admin", "load", tmp_path / "empty.yaml", "--data", data).code == 1
    assert output_at_wait == [""]
