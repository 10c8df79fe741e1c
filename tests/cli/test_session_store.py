"""The session file: private to its user, and rejected if other users could access it."""

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cloudconsole.cli.errors import CommandError
from cloudconsole.cli.session_store import Owner, SavedSessions, delete_session, load_sessions, save_session
from cloudconsole.client import SavedCookie, Session
from tests.other_users import chown_to_other_user

COOKIE = SavedCookie(name="sessionid", value="s3cret")


def session(
    username: str = "demo", url: str = "http://here.example", region: str | None = None, cookie: SavedCookie = COOKIE
) -> Session:
    return Session(base_url=url, username=username, region=region, cookies=(cookie,))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state/cloudconsole/sessions.json"


@pytest.fixture
def saved(file: Path) -> Path:
    save_session(file, session(), is_login=True)
    return file


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


class TestSessions:
    def test_session_is_found_only_for_its_account(self, saved: Path) -> None:
        sessions = load_sessions(saved)
        assert sessions.find("http://here.example", "demo", None) == session()
        assert sessions.find("http://there.example", "demo", None) is None
        assert sessions.find("http://here.example", "root", None) is None
        assert sessions.find("http://here.example", "demo", "r") is None
        assert sessions.find("http://here.example", "demo", None, "acme") is None

    def test_last_login_without_a_project_is_still_read(self, saved: Path) -> None:
        """Earlier versions wrote none."""
        content = json.loads(saved.read_text())
        content["last_login"] = content["last_login"][:3]
        saved.write_text(json.dumps(content))
        assert load_sessions(saved).last_login == Owner("http://here.example", "demo", None)

    @pytest.mark.parametrize(
        "damaged",
        [
            session(cookie=SavedCookie(name="sessionid", value="a\nb")),
            session(cookie=SavedCookie(name="sessionid", value="é")),
            session(cookie=SavedCookie(name="session\0id", value="a")),
            session(url="HTTP://here.example/"),
            session(url="here"),
        ],
        ids=repr,
    )
    def test_a_session_that_cannot_be_sent_is_dropped(self, saved: Path, damaged: Session) -> None:
        save_session(saved, damaged, is_login=True)
        save_session(saved, session("other"), is_login=False)
        assert damaged not in load_sessions(saved).sessions
        assert session("other") in load_sessions(saved).sessions

    def test_new_session_replaces_the_old_one_but_not_the_last_login(self, saved: Path) -> None:
        save_session(saved, session(), is_login=False)
        save_session(saved, session("other"), is_login=False)
        found = load_sessions(saved)
        assert [each.username for each in found.sessions] == ["other", "demo"]
        assert found.last_login == Owner("http://here.example", "demo", None)

    def test_deleting_a_session_leaves_the_others(self, saved: Path) -> None:
        save_session(saved, session("other"), is_login=False)
        delete_session(saved, session())
        assert [each.username for each in load_sessions(saved).sessions] == ["other"]
        assert load_sessions(saved).last_login is None

    def test_oldest_sessions_are_dropped_beyond_the_limit(self, file: Path) -> None:
        for number in range(52):
            save_session(file, session(f"user{number}"), is_login=False)
        names = [each.username for each in load_sessions(file).sessions]
        assert len(names) == 50
        assert names[0] == "user51"

    def test_concurrent_saves_lose_nothing(self, file: Path) -> None:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda number: save_session(file, session(f"user{number}"), is_login=False), range(40)))
        assert {each.username for each in load_sessions(file).sessions} == {f"user{number}" for number in range(40)}
        assert [path.name for path in file.parent.iterdir()] == [file.name]


class TestFile:
    @pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
    def test_file_is_private_whatever_the_umask(self, file: Path, umask: int) -> None:
        before = os.umask(umask)
        try:
            save_session(file, session(), is_login=True)
        finally:
            os.umask(before)
        assert (mode(file), mode(file.parent), mode(file.parent.parent)) == (0o600, 0o700, 0o700)

    def test_missing_file_means_no_sessions(self, file: Path) -> None:
        assert load_sessions(file) == SavedSessions()

    @pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"sessions": [1]}', b"\xff\xfe", b"[" * 100_000])
    def test_damaged_file_is_ignored_and_replaced(self, saved: Path, content: bytes) -> None:
        saved.write_bytes(content)
        assert load_sessions(saved) == SavedSessions()
        save_session(saved, session("new"), is_login=True)
        assert load_sessions(saved).last_login == Owner("http://here.example", "new", None)

    @pytest.mark.parametrize("loose", [0o644, 0o640, 0o602])
    def test_file_accessible_to_others_is_rejected_and_replaced(self, saved: Path, loose: int) -> None:
        saved.chmod(loose)
        with pytest.raises(CommandError, match="not a file that only you can read"):
            load_sessions(saved)
        save_session(saved, session("new"), is_login=False)
        assert [each.username for each in load_sessions(saved).sessions] == ["new"]
        assert mode(saved) == 0o600

    def test_directory_accessible_to_others_is_made_private(self, saved: Path) -> None:
        saved.parent.chmod(0o755)
        save_session(saved, session("new"), is_login=False)
        assert mode(saved.parent) == 0o700

    def test_symlink_in_place_of_the_file_is_not_followed(self, saved: Path, tmp_path: Path) -> None:
        elsewhere = saved.rename(tmp_path / "elsewhere")
        before = elsewhere.read_bytes()
        saved.symlink_to(elsewhere)
        with pytest.raises(CommandError, match="not a file that only you can read"):
            load_sessions(saved)
        save_session(saved, session("new"), is_login=False)
        assert not saved.is_symlink()
        assert elsewhere.read_bytes() == before

    def test_fifo_in_place_of_the_file_does_not_block(self, saved: Path) -> None:
        saved.unlink()
        os.mkfifo(saved, 0o600)
        with pytest.raises(CommandError):
            load_sessions(saved)

    def test_symlink_in_place_of_the_directory_is_rejected(self, saved: Path, tmp_path: Path) -> None:
        saved.parent.rename(tmp_path / "elsewhere")
        saved.parent.symlink_to(tmp_path / "elsewhere")
        assert_directory_rejected(saved, "symbolic link")

    def test_directory_of_another_user_is_rejected(self, saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        chown_to_other_user(saved.parent, monkeypatch)
        assert_directory_rejected(saved, "belongs to another user")

    def test_directory_that_cannot_be_created_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "state").write_text("a file")
        file = tmp_path / "state/cloudconsole/sessions.json"
        assert load_sessions(file) == SavedSessions()
        with pytest.raises(CommandError, match="cannot save the session"):
            save_session(file, session(), is_login=True)


def assert_directory_rejected(file: Path, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        load_sessions(file)
    with pytest.raises(CommandError, match=message):
        save_session(file, session(), is_login=True)
