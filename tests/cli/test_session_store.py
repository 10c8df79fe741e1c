"""The file that sessions are kept in: nobody else can read it, and nobody else's is used."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cloudconsole.cli.errors import CommandError
from cloudconsole.cli.session_store import SavedSessions, delete_session, load_sessions, save_session
from cloudconsole.client import SavedCookie, Session
from tests.other_users import give_to_a_stranger

COOKIE = SavedCookie(name="sessionid", value="s3cret")


def session(
    username: str = "demo", url: str = "http://here.example", region: str | None = None, cookie: SavedCookie = COOKIE
) -> Session:
    return Session(base_url=url, username=username, region=region, cookies=(cookie,))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state/cloudconsole/sessions.json"


@pytest.fixture
def kept(file: Path) -> Path:
    save_session(file, session(), is_login=True)
    return file


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_kept_is_found_again(kept: Path) -> None:
    assert load_sessions(kept).find("http://here.example", "demo", None) == session()


@pytest.mark.parametrize(
    "other", [("http://there.example", "demo", None), ("http://here.example", "root", None), (None, "demo", "r")]
)
def test_it_is_nobody_else_s(kept: Path, other: tuple[str | None, str, str | None]) -> None:
    url, username, region = other
    assert load_sessions(kept).find(url or "http://here.example", username, region) is None


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_only_its_user_can_read_it_whatever_the_umask(file: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        save_session(file, session(), is_login=True)
    finally:
        os.umask(before)
    assert (mode(file), mode(file.parent)) == (0o600, 0o700)


def test_nothing_kept_is_no_problem(file: Path) -> None:
    assert load_sessions(file) == SavedSessions()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"sessions": [1]}', b"\xff\xfe", b"[" * 100_000])
def test_a_damaged_file_is_no_session_and_made_anew(kept: Path, content: bytes) -> None:
    kept.write_bytes(content)
    assert load_sessions(kept) == SavedSessions()
    save_session(kept, session("new"), is_login=True)
    assert load_sessions(kept).last_login == ("http://here.example", "new", None)


@pytest.mark.parametrize("loose", [0o644, 0o640, 0o602])
def test_a_file_that_others_could_read_or_write_is_not_used_but_made_anew(kept: Path, loose: int) -> None:
    kept.chmod(loose)
    with pytest.raises(CommandError, match="not a file that only you can read"):
        load_sessions(kept)
    save_session(kept, session("new"), is_login=False)
    assert [each.username for each in load_sessions(kept).sessions] == ["new"]
    assert mode(kept) == 0o600


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
def test_a_session_that_cannot_be_sent_is_dropped(kept: Path, damaged: Session) -> None:
    save_session(kept, damaged, is_login=True)
    save_session(kept, session("other"), is_login=False)
    found = load_sessions(kept)
    assert damaged not in found.sessions
    assert session("other") in found.sessions


def test_folders_above_it_are_made_for_the_user_alone(file: Path) -> None:
    save_session(file, session(), is_login=False)
    assert mode(file.parent.parent) == mode(file.parent) == 0o700


def test_a_folder_that_others_could_look_into_is_closed(kept: Path) -> None:
    kept.parent.chmod(0o755)
    save_session(kept, session("new"), is_login=False)
    assert mode(kept.parent) == 0o700


def test_a_link_in_its_place_is_not_followed(kept: Path, tmp_path: Path) -> None:
    elsewhere = kept.rename(tmp_path / "elsewhere")
    before = elsewhere.read_bytes()
    kept.symlink_to(elsewhere)
    with pytest.raises(CommandError, match="not a file that only you can read"):
        load_sessions(kept)
    save_session(kept, session("new"), is_login=False)
    assert not kept.is_symlink()
    assert elsewhere.read_bytes() == before


def test_a_pipe_in_its_place_is_not_waited_for(kept: Path) -> None:
    kept.unlink()
    os.mkfifo(kept, 0o600)
    with pytest.raises(CommandError):
        load_sessions(kept)


@pytest.mark.parametrize(
    "change", [lambda file: load_sessions(file), lambda file: save_session(file, session(), is_login=True)]
)
def test_a_link_in_place_of_the_folder_is_refused(kept: Path, tmp_path: Path, change: object) -> None:
    kept.parent.rename(tmp_path / "elsewhere")
    kept.parent.symlink_to(tmp_path / "elsewhere")
    assert callable(change)
    with pytest.raises(CommandError, match="symbolic link"):
        change(kept)


def test_a_folder_of_another_user_is_refused(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give_to_a_stranger(kept.parent, monkeypatch)
    with pytest.raises(CommandError, match="belongs to another user"):
        load_sessions(kept)
    with pytest.raises(CommandError, match="belongs to another user"):
        save_session(kept, session(), is_login=True)


def test_a_place_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    file = tmp_path / "state/cloudconsole/sessions.json"
    assert load_sessions(file) == SavedSessions()
    with pytest.raises(CommandError, match="cannot save the session"):
        save_session(file, session(), is_login=True)


def test_a_new_session_takes_the_place_of_the_old_one(kept: Path) -> None:
    save_session(kept, session(), is_login=False)
    assert len(load_sessions(kept).sessions) == 1


def test_only_a_login_says_whose_the_next_calls_are(kept: Path) -> None:
    save_session(kept, session("other"), is_login=False)
    assert load_sessions(kept).last_login == ("http://here.example", "demo", None)


def test_what_is_forgotten_is_gone_and_the_rest_is_not(kept: Path) -> None:
    save_session(kept, session("other"), is_login=False)
    delete_session(kept, session())
    assert [each.username for each in load_sessions(kept).sessions] == ["other"]
    assert load_sessions(kept).last_login is None


def test_the_oldest_go_when_there_are_many(file: Path) -> None:
    for number in range(52):
        save_session(file, session(f"user{number}"), is_login=False)
    names = [each.username for each in load_sessions(file).sessions]
    assert len(names) == 50
    assert names[0] == "user51"


def test_many_at_once_lose_nothing(file: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: save_session(file, session(f"user{number}"), is_login=False), range(40)))
    assert {each.username for each in load_sessions(file).sessions} == {f"user{number}" for number in range(40)}
    assert [path.name for path in file.parent.iterdir()] == [file.name]
