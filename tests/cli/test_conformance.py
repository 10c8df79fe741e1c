"""`cloudconsole conformance`: what it is given, what it prints and writes, how it ends."""

import io
import json
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from textwrap import dedent
from typing import Any
from xml.etree import ElementTree as ET

import pyte
import pytest

from cloudconsole.cli.main import main
from tests.conformance.listening import listening
from tests.conformance.raw_servers import HEAD, close, raw_server, say
from tests.e2e.processes import command, eventually, log_lines
from tests.fork_server import WarmProcess
from tests.harness import CERTIFICATES, RunningServer, clean_environment, running_server
from tests.terminal import Terminal

PASSWORDS = {"CLOUDCONSOLE_PASSWORD": "console-demo", "CLOUDCONSOLE_OTHER_PASSWORD": "console-other"}
DOMAINS = ("--domain-id", "206813", "--domain-id", "206814")
EVERYTHING = ("--profile", "all", "--other-username", "other", "--strict", *DOMAINS)

Done = subprocess.CompletedProcess[str]


def account(base: str) -> tuple[str, ...]:
    return (base, "--region", f"{base}/v3", "--username", "demo")


def conformance(base: str, *more: str, **environment: str) -> Done:
    return command("conformance", *account(base), *more, **{**PASSWORDS, **environment})


def calls(server: RunningServer) -> list[dict[str, Any]]:
    return [line for line in log_lines(server) if line.get("event") == "request"]


def content(server: RunningServer, database: str, *tables: str) -> list[Any]:
    file = server.log_file.parent / "data" / f"{database}.db"
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as store:
        return [store.execute(f"SELECT * FROM {table}").fetchall() for table in tables] or list(store.iterdump())


class TestOurOwnConsole:
    def test_it_holds_all_of_both_profiles(self, server: RunningServer, tmp_path: Path) -> None:
        done = conformance(server.base, *EVERYTHING, "--json", str(tmp_path / "report.json"))
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
        report = json.loads((tmp_path / "report.json").read_text())
        assert report["ok"]
        assert {check["outcome"] for check in report["checks"]} == {"passed"}

    def test_it_is_asked_little_and_changed_in_nothing(self, server: RunningServer) -> None:
        cloud, sessions, before = content(server, "cloud"), content(server, "activity", "sessions"), len(calls(server))
        done = conformance(server.base, *EVERYTHING)
        requests = int(re.search(r"([0-9]+) requests", done.stdout)[1])  # type: ignore[index]
        made = eventually(lambda: calls(server)[before:] if len(calls(server)) - before >= requests else None)
        assert len(made) == requests < 200
        assert sum((call["action"], call["status"]) == ("login", 401) for call in made) == 2
        assert content(server, "cloud") == cloud
        assert content(server, "activity", "sessions") == sessions

    def test_by_https(self, tmp_path: Path) -> None:
        files = ("--tls-certificate", str(CERTIFICATES / "rsa.pem"), "--tls-key", str(CERTIFICATES / "rsa-key.pem"))
        with running_server(tmp_path, *files) as secure:
            trusting = conformance(secure.base, *EVERYTHING, "--ca-file", str(CERTIFICATES / "rsa.pem"))
            careless = conformance(secure.base, "--insecure", *DOMAINS)
            careful = conformance(secure.base)
            elsewhere = conformance(secure.base, "--ca-file", str(CERTIFICATES / "ec.pem"))
        assert (trusting.returncode, careless.returncode) == (0, 0), trusting.stdout + careless.stdout
        for done in (careful, elsewhere):
            assert (done.returncode, done.stdout) == (3, "")
            assert re.fullmatch(
                f"cloudconsole: {secure.base}: could not connect: the certificate is not trusted: .*\n", done.stderr
            )

    def test_what_cannot_be_checked_is_told_and_fails_only_where_asked(self, server: RunningServer) -> None:
        done = conformance(server.base)
        assert done.returncode == 0
        assert "skipped  must   answers.GetDomainDetail: no domain ID was given (--domain-id)" in done.stdout
        assert "skipped  must   domain.fields: because answers.GetDomainDetail was skipped" in done.stdout
        assert "\nconforms: " in done.stdout
        strict = conformance(server.base, "--strict")
        assert strict.returncode == 1
        assert "\nDOES NOT CONFORM: " in strict.stdout

    def test_a_wrong_password_is_one_failed_must_and_one_wrong_login(self, server: RunningServer) -> None:
        before = len(calls(server))
        done = conformance(server.base, *EVERYTHING, CLOUDCONSOLE_PASSWORD="not-the-password")
        assert done.returncode == 1
        assert re.findall("FAILED +must +([^:]+)", done.stdout) == ["login.accepted"]
        assert "not-the-password" not in done.stdout
        made = eventually(lambda: [call for call in calls(server)[before:] if call["action"] == "login"])
        assert [call["status"] for call in made] == [401]

    def test_a_wrong_password_of_the_other_account_is_no_third_wrong_login(self, server: RunningServer) -> None:
        before = len(calls(server))
        done = conformance(server.base, *EVERYTHING, CLOUDCONSOLE_OTHER_PASSWORD="not-the-password")
        assert done.returncode == 1
        assert re.findall("FAILED +must +([^:]+)", done.stdout) == ["console.domain.another-tenants"]
        assert "console.login.wrong-password: not sent: the limit of 2 wrong logins is reached" in done.stdout
        made = calls(server)[before:]
        assert sum((call["action"], call["status"]) == ("login", 401) for call in made) == 2


@pytest.fixture(scope="module")
def folder(server: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reports of a run in which something is skipped."""
    folder = tmp_path_factory.mktemp("reports")
    files = ("--json", str(folder / "report.json"), "--junit", str(folder / "report.xml"))
    assert conformance(server.base, *files, "--profile", "all").returncode == 0
    return folder


class TestReports:
    def test_json_has_the_documented_fields(self, folder: Path, server: RunningServer) -> None:
        report = json.loads((folder / "report.json").read_text())
        document = (Path(__file__).parents[2] / "docs/guide/conformance.md").read_text()
        for name in (*report, *report["checks"][0]):
            assert f"| `{name}` |" in document
        assert (report["schema"], report["base_url"], report["profile"]) == (1, server.base, "all")
        counted = sum(number for outcomes in report["counts"].values() for number in outcomes.values())
        assert counted == len(report["checks"])

    def test_junit_has_a_case_for_each_check(self, folder: Path) -> None:
        report = json.loads((folder / "report.json").read_text())
        root = ET.parse(folder / "report.xml").getroot()
        assert root.tag == "testsuites"
        assert {suite.tag for suite in root} == {"testsuite"}
        cases = root.findall("testsuite/testcase")
        assert sorted(case.attrib["name"] for case in cases) == sorted(check["id"] for check in report["checks"])
        skipped = {check["id"] for check in report["checks"] if check["outcome"] == "skipped"}
        assert {case.attrib["name"] for case in cases if case.find("skipped") is not None} == skipped != set()
        for suite in (root, *root):
            assert int(suite.attrib["tests"]) == len(list(suite.iter("testcase")))
            assert int(suite.attrib["skipped"]) == len(list(suite.iter("skipped")))
            assert int(suite.attrib["failures"]) == len(list(suite.iter("failure"))) == 0

    def test_they_hold_no_secret(self, folder: Path) -> None:
        for file in folder.iterdir():
            assert not re.search("console-demo|console-other|[0-9a-f]{32}", file.read_text())

    @pytest.mark.parametrize("flag", ["--json", "--junit"])
    def test_a_file_that_cannot_be_opened_is_named_before_the_first_request(self, flag: str, tmp_path: Path) -> None:
        # There is nobody at this address, which nobody has found out yet.
        done = conformance("http://127.0.0.1:1", flag, str(tmp_path / "missing" / "report"))
        assert done.returncode == 2
        reason = "cannot write: No such file or directory"
        assert done.stderr == f"cloudconsole: {tmp_path}/missing/report: {reason}\n"

    def test_both_cannot_be_the_same_file(self, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(tmp_path / "report")
        files = ("--json", str(tmp_path / "report"), "--junit", str(tmp_path / "link"))
        done = conformance("http://127.0.0.1:1", *files)
        assert done.returncode == 2
        assert done.stderr.startswith(f"cloudconsole: --junit: {tmp_path}/link is also the --json file")
        assert not (tmp_path / "report").exists()

    def test_what_was_written_before_stays_until_there_is_another(self, tmp_path: Path) -> None:
        (tmp_path / "report.json").write_text("of yesterday")
        assert conformance("http://127.0.0.1:1", "--json", str(tmp_path / "report.json")).returncode == 3
        assert (tmp_path / "report.json").read_text() == "of yesterday"

    def test_a_longer_one_of_before_is_gone(self, server: RunningServer, tmp_path: Path) -> None:
        (tmp_path / "report.json").write_text("x" * 1_000_000)
        assert conformance(server.base, "--json", str(tmp_path / "report.json")).returncode == 0
        assert json.loads((tmp_path / "report.json").read_text())["ok"]

    def test_one_that_cannot_be_written_keeps_not_the_other_which_tells_how_it_ended(
        self, server: RunningServer, tmp_path: Path
    ) -> None:
        done = conformance(server.base, "--json", str(tmp_path / "report.json"), "--junit", "/dev/full")
        assert done.returncode == 2
        assert done.stderr == "cloudconsole: /dev/full: cannot write: No space left on device\n"
        assert not json.loads((tmp_path / "report.json").read_text())["ok"]
        other = conformance(server.base, "--junit", str(tmp_path / "report.xml"), "--json", "/dev/full")
        assert other.returncode == 2
        assert ET.parse(tmp_path / "report.xml").getroot().tag == "testsuites"


ECHO = b'{"code": 200, "message": "\\u001b[2J\\u0000 \\ud800 console-demo", "data": 5}'
ODD = (
    HEAD + b"Set-Cookie: csrftoken=abcdefghijklmnop; Max-Age=9; Path=/\r\n"
    b"Set-Cookie: sessionid=qrstuvwxyzabcdef; Path=/\r\nContent-Length: %d\r\n\r\n%b" % (len(ECHO), ECHO)
)


class HangsAfterLogin:
    """Opens, logs in, and leaves the first call without an answer."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.paths: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.paths.append(scope["path"])
        if len(self.paths) == 3:
            self.asked.set()
            while (await receive())["type"] != "http.disconnect":
                pass
            return
        cookies = (b"csrftoken=abcdefghijklmnop; Max-Age=9; Path=/", b"sessionid=qrstuvwxyzabcdef; HttpOnly; Path=/")
        headers = [(b"content-length", b"0"), *((b"set-cookie", cookie) for cookie in cookies)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


def started(base: str) -> WarmProcess:
    """The command, under way."""
    variables = clean_environment(**PASSWORDS)
    return WarmProcess(["conformance", *account(base)], variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def started_in_the_background(base: str) -> "subprocess.Popen[str]":
    """The same as a shell without job control starts it: deaf to Ctrl-C."""
    deaf = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
    return subprocess.Popen(
        [*deaf, sys.executable, "-m", "cloudconsole", "conformance", *account(base)],
        env=clean_environment(**PASSWORDS), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


class TestServersThatBehaveOddly:
    def test_what_they_say_reaches_no_terminal_no_xml_and_no_secret_a_report(self, tmp_path: Path) -> None:
        with raw_server(say(ODD)) as base:
            files = ("--json", str(tmp_path / "report.json"), "--junit", str(tmp_path / "report.xml"))
            done = conformance(base, *files, *DOMAINS)
        assert (done.returncode, done.stderr) == (1, "")
        written = [done.stdout, (tmp_path / "report.json").read_text(), (tmp_path / "report.xml").read_text()]
        for text in written:
            assert all(character.isprintable() or character == "\n" for character in text)
            assert not re.search("console-demo|abcdefghijklmnop|qrstuvwxyzabcdef", text)
        assert ET.fromstring(written[2]).findall("testsuite/testcase/failure")
        assert "FAILED   must   session.sessionid-http-only" in done.stdout

    def test_one_that_closes_every_connection(self) -> None:
        with raw_server(close) as base:
            done = conformance(base)
        assert (done.returncode, done.stderr) == (1, "")
        assert re.findall("FAILED +must +([^:]+)", done.stdout) == ["session.opens"]

    @pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    def test_one_may_be_tired_of_waiting(self, number: signal.Signals, exit_code: int) -> None:
        asked = threading.Event()

        def hang(connection: socket.socket) -> None:
            asked.set()
            connection.recv(1)

        with raw_server(hang) as base:
            waiting = started(base)
            assert asked.wait(timeout=60)
            waiting.send_signal(number)
            told = waiting.communicate(timeout=60)
        assert (waiting.returncode, told) == (exit_code, ("", ""))

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_whoever_ends_it_leaves_no_session_behind(self, number: signal.Signals) -> None:
        application = HangsAfterLogin()
        with listening(application) as base:
            waiting = started(base)
            assert application.asked.wait(timeout=60)
            waiting.send_signal(number)
            waiting.communicate(timeout=60)
        assert application.paths == ["/api/", "/auth/login/", "/api/", "/auth/logout/"]

    def test_nor_does_one_in_the_background(self) -> None:
        application = HangsAfterLogin()
        with listening(application) as base:
            waiting = started_in_the_background(base)
            assert application.asked.wait(timeout=60)
            waiting.terminate()
            told = waiting.communicate(timeout=60)
        assert application.paths == ["/api/", "/auth/login/", "/api/", "/auth/logout/"]
        assert (waiting.returncode, told[1]) == (143, "")

    def test_an_end_between_a_coroutine_and_its_first_step_is_no_warning(self) -> None:
        program = """
            import signal
            from cloudconsole.cli.conformance import Terminated, _terminating_cleanly

            async def step(): ...

            signal.signal(signal.SIGINT, signal.SIG_IGN)
            try:
                with _terminating_cleanly():
                    cut_off = step()
                    signal.raise_signal(signal.SIGTERM)
            except Terminated:
                del cut_off
        """
        done = subprocess.run([sys.executable, "-c", dedent(program)], capture_output=True, text=True, check=True)
        assert done.stderr == ""

    @pytest.mark.parametrize("base", ["http://127.0.0.1:1", "https://127.0.0.1:1", "http://console.invalid"])
    def test_nobody_at_all_is_one_line(self, base: str, tmp_path: Path) -> None:
        done = conformance(base, "--json", str(tmp_path / "report.json"))
        assert (done.returncode, done.stdout) == (3, "")
        assert re.fullmatch(f"cloudconsole: {base}: could not connect: .+\n", done.stderr)
        assert not (tmp_path / "report.json").exists()


GOOD = account("http://127.0.0.1:1")
REFUSED = {
    "no address": (("--region", "r", "--username", "u"), "BASE_URL"),
    "no region": (("http://127.0.0.1:1", "--username", "u"), "--region"),
    "no username": (("http://127.0.0.1:1", "--region", "r"), "--username"),
    "no scheme": (("127.0.0.1:1", *GOOD[1:]), "BASE_URL"),
    "another scheme": (("ftp://127.0.0.1", *GOOD[1:]), "BASE_URL"),
    "no host": (("http://", *GOOD[1:]), "BASE_URL"),
    "a port that is none": (("http://127.0.0.1:x", *GOOD[1:]), "BASE_URL"),
    "port 0": (("http://127.0.0.1:0", *GOOD[1:]), "BASE_URL"),
    "a host that is none": (("http://[::1", *GOOD[1:]), "BASE_URL"),
    "a password in the address": (("http://u:p@127.0.0.1:1", *GOOD[1:]), "BASE_URL"),
    "a query": (("http://127.0.0.1:1/?a=1", *GOOD[1:]), "BASE_URL"),
    "a line break": (("http://127.0.0.1:1/\n", *GOOD[1:]), "BASE_URL"),
    "a password as a flag": ((*GOOD, "--password", "p"), "unknown option --password"),
    "an unknown profile": ((*GOOD, "--profile", "most"), "--profile"),
    "five domains": ((*GOOD, *["--domain-id", "1"] * 5), "--domain-id"),
    "the same account twice": ((*GOOD, "--other-username", "demo"), "--other-username"),
    "a password of nobody": ((*GOOD, "--other-password-file", "f"), "--other-username"),
    "no time": ((*GOOD, "--timeout", "0"), "--timeout"),
    "endless time": ((*GOOD, "--timeout", "inf"), "--timeout"),
    "time that is none": ((*GOOD, "--timeout", "soon"), "--timeout"),
    "trust in two ways": ((*GOOD, "--insecure", "--ca-file", "f"), "--ca-file"),
    "no certificates": ((*GOOD, "--ca-file", "/nowhere.pem"), "--ca-file: /nowhere.pem: No such file or directory"),
    "certificates that are none": ((*GOOD, "--ca-file", __file__), "--ca-file"),
    "no password file": ((*GOOD, "--password-file", "/nowhere"), "/nowhere: No such file"),
    "a folder for a password": ((*GOOD, "--password-file", "/tmp"), "/tmp: Is a directory"),
    "an empty password": ((*GOOD, "--password-file", "/dev/null"), "/dev/null: must contain only the password"),
}


Captured = pytest.CaptureFixture[str]


def here(*arguments: str) -> int:
    """The exit code of the command, run in this process: what is refused at once needs none of its own."""
    try:
        return main(["conformance", *arguments])
    except SystemExit as ended:
        return int(ended.code or 0)


@pytest.fixture
def passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, password in PASSWORDS.items():
        monkeypatch.setenv(name, password)


@pytest.mark.usefixtures("passwords")
@pytest.mark.parametrize(("arguments", "reason"), REFUSED.values(), ids=REFUSED)
def test_wrong_usage_is_one_line(capsys: Captured, arguments: tuple[str, ...], reason: str) -> None:
    assert here(*arguments) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert reason in err


@pytest.mark.usefixtures("passwords")
@pytest.mark.parametrize("flag", ["--region", "--username", "--other-username", "--domain-id"])
def test_what_is_not_utf_8_is_refused(capsys: Captured, flag: str) -> None:
    assert here(*GOOD, flag, "\udcff") == 2
    assert capsys.readouterr().err == f"cloudconsole: {flag}: must be valid UTF-8\n"


def test_a_password_that_is_not_utf_8_is_refused(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUDCONSOLE_PASSWORD", "\udcff")
    assert here(*GOOD) == 2
    assert capsys.readouterr().err == "cloudconsole: an argument or environment variable is not valid UTF-8\n"


@pytest.mark.parametrize(
    ("password", "reason"),
    [
        (b"", "must contain only the password, on one line"),
        (b"\n", "must contain only the password, on one line"),
        (b"\xff", "not valid UTF-8"),
        (b"x" * 1025, "the password of demo must have 1 to 1024 characters"),
    ],
)
def test_a_file_without_a_password_is_refused(capsys: Captured, tmp_path: Path, password: bytes, reason: str) -> None:
    (tmp_path / "password").write_bytes(password)
    assert here(*GOOD, "--password-file", str(tmp_path / "password")) == 2
    assert capsys.readouterr().err.endswith(f": {reason}\n")


@pytest.mark.parametrize("name", ["PASSWORD", "OTHER_PASSWORD"])
def test_without_a_terminal_nobody_is_asked(capsys: Captured, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv("CLOUDCONSOLE_PASSWORD", raising=False)
    if name == "OTHER_PASSWORD":
        monkeypatch.setenv("CLOUDCONSOLE_PASSWORD", "console-demo")
    monkeypatch.setattr("sys.stdin", io.StringIO("typed\n"))
    assert here(*GOOD, "--other-username", "other") == 2
    flag = "--" + name.lower().replace("_", "-") + "-file"
    assert capsys.readouterr().err.endswith(f": pass {flag}, set CLOUDCONSOLE_{name}, or run at a terminal\n")


def test_passwords_from_files(server: RunningServer, tmp_path: Path) -> None:
    for name in ("demo", "other"):
        (tmp_path / name).write_text(f"console-{name}\n")
    files = ("--password-file", str(tmp_path / "demo"), "--other-password-file", str(tmp_path / "other"))
    assert command("conformance", *account(server.base), *EVERYTHING, *files).returncode == 0


class TestOnATerminal:
    def test_a_password_is_asked_for_unseen_and_a_table_shown(self, server: RunningServer, tmp_path: Path) -> None:
        terminal = Terminal(tmp_path, "conformance", *account(server.base), *DOMAINS)
        terminal.wait_for(f"Password for demo at {server.base}: ")
        terminal.type_unseen("console-demo\n")
        assert terminal.end() == 0
        assert "console-demo" not in terminal.shown
        assert re.search("interface +5 Authentication", terminal.shown)
        assert "\x1b[1;32mconforms: " in terminal.shown

    def test_each_section_stays_on_the_screen_once(self, server: RunningServer, tmp_path: Path) -> None:
        terminal = Terminal(
            tmp_path, "conformance", *account(server.base), "--profile", "all", **PASSWORDS, LINES="24", COLUMNS="100"
        )
        assert terminal.end() == 0
        screen = pyte.HistoryScreen(100, 24, history=1000)
        pyte.Stream(screen).feed(terminal.shown)
        above = ["".join(line[column].data for column in range(100)) for line in screen.history.top]
        lines = [*above, *screen.display]
        for section in ("interface  5 Authentication", "console    api: CSRF", "console    errors"):
            assert sum(line.startswith(section) for line in lines) == 1, section

    def test_what_is_wrong_is_listed_under_the_table(self, tmp_path: Path) -> None:
        with raw_server(say(ODD)) as base:
            terminal = Terminal(tmp_path, "conformance", *account(base), **PASSWORDS, NO_COLOR="1")
            assert terminal.end() == 1
        assert "FAILED   must   session.sessionid-http-only" in terminal.shown
        assert "\x1b[1;3" not in terminal.shown
        assert "[secret]" in terminal.shown
        assert "\x1b[2J" not in terminal.shown

    def test_a_dumb_terminal_gets_lines(self, server: RunningServer, tmp_path: Path) -> None:
        terminal = Terminal(tmp_path, "conformance", *account(server.base), *DOMAINS, **PASSWORDS, TERM="dumb")
        assert terminal.end() == 0
        assert "  ok       must   session.opens\r\n" in terminal.shown
        assert "\x1b" not in terminal.shown
