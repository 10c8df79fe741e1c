"""What a command says is done has been seen by every replica; also what was done before a refusal."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from cloudconsole.operator.sample import SAMPLE_FILE
from cloudconsole.server.commands.admin import store
from tests.server.commands.admin.test_bulk_import import write
from tests.server.commands.conftest import Run


@pytest.fixture
def said_before(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What had been said whenever a command waited until its changes had settled."""
    said = list[str]()
    waiting = SimpleNamespace(sleep=lambda _seconds: said.append(capsys.readouterr().out))
    monkeypatch.setattr(store, "time", waiting)
    return said


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
def test_nothing_is_said_to_be_done_before_it_has_settled(
    cloudconsole: Run, data: Path, tmp_path: Path, said_before: list[str], command: tuple[object, ...]
) -> None:
    file = write(tmp_path, 1)
    done = cloudconsole("admin", *(file if word == "FILE" else word for word in command), "--data", data)
    assert done.code == 0
    assert done.out
    assert said_before
    assert not any(said_before)


def test_what_an_import_has_brought_in_before_a_refusal_has_settled(
    cloudconsole: Run, data: Path, tmp_path: Path, said_before: list[str]
) -> None:
    done = cloudconsole("admin", "import", write(tmp_path, 2, end="nonsense\n"), "--data", data)
    assert (done.code, said_before) == (1, [""])
    assert "all lines before it are imported" in done.out


def test_a_load_that_fails_has_settled_too(
    cloudconsole: Run, data: Path, tmp_path: Path, said_before: list[str]
) -> None:
    """Its commit may have been made though its answer was lost."""
    (tmp_path / "empty.yaml").write_text("version: 1\n")
    assert cloudconsole("admin", "load", tmp_path / "empty.yaml", "--data", data).code == 1
    assert said_before == [""]
