"""Which store a command uses: never one that the user did not specify."""

from pathlib import Path

import pytest

from tests.server.commands.conftest import Run

pytestmark = pytest.mark.embedded_only


@pytest.mark.parametrize("command", [("admin", "tenant", "list"), ("admin", "dump"), ("init",)])
def test_data_flag_is_rejected_if_settings_select_a_database(
    command: tuple[str, ...], cloudconsole: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CLOUDCONSOLE_DATABASE", "postgresql://127.0.0.1:1/nowhere")
    done = cloudconsole(*command, "--data", tmp_path)
    assert done.code == 1
    assert done.err.startswith("cloudconsole: --data: the settings select a PostgreSQL database:")
    assert list(tmp_path.iterdir()) == []
