"""`cloudconsole conformance`: arguments, output, report files and exit codes."""

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
from tests.conformance.kit_harness import serving
from tests.conformance.raw_servers import HEAD, close, raw_server, send_bytes
from tests.e2e.processes import command, eventually, log_lines
from tests.fork_server import ForkedProcess
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


def logged_requests(server: RunningServer) -> list[dict[str, Any]]:
    return [line for line in log_lines(server) if line.get("event") == "request"]


def content(server: RunningServer, database: str, *tables: str) -> list[Any]:
    file = server.log_file.parent / "data" / f"{database}.db"
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as store:
        return [store.execute(f"SELECT * FROM {table}").fetchall() for table in tables] or list(store.iterdump())


class TestOurOwnConsole:
    def test_passes_every_check_of_both_profiles(self, server: RunningServer, tmp_path: Path) -> None:
        done = conformance(server.base, *EVERYTHING, "--json", str(tmp_path / "report.json"))
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
        report = json.loads((tmp_path / "report.json").read_text())
        assert report["ok"]
        assert {check["outcome"] for check in report["checks"]} == {"passed"}

    def test_few_requests_are_sent_and_nothing_is_changed(self, server: RunningServer) -> None:
        cloud, sessions, before = (
            content(server, "cloud"),
            content(server, "activity", "sessions"),
            len(logged_requests(server)),
        )
        done = conformance(server.base, *EVERYTHING)
        requests = int(re.search(r"([0-9]+) requests", done.stdout)[1])  # type: ignore[index]
        sent = eventually(
            lambda: logged_requests(server)[before:] if len(logged_requests(server)) - before >= requests else None
        )
        assert len(sent) == requests < 200
        assert sum((entry["action"], entry["status"]) == ("login", 401) for entry in sent) == 2
        assert content(server, "cloud") == cloud
        assert content(server, "activity", "sessions") == sessions

    def test_https_certificate_is_verified(self, tmp_path: Path) -> None:
        files = ("--tls-certificate", str(CERTIFICATES / "rsa.pem"), "--tls-key", str(CERTIFICATES / "rsa-key.pem"))
        with running_server(tmp_path, *files) as secure:
            trusted = conformance(secure.base, *EVERYTHING, "--ca-file", str(CERTIFICATES / "rsa.pem"))
            insecure = conformance(secure.base, "--insecure", *DOMAINS)
            default = conformance(secure.base)
            other_ca = conformance(secure.base, "--ca-file", str(CERTIFICATES / "ec.pem"))
        assert (trusted.returncode, insecure.returncode) == (0, 0), trusted.stdout + insecure.stdout
        for done in (default, other_ca):
            assert (done.returncode, done.stdout) == (3, "")
            assert re.fullmatch(
                f"cloudconsole: {secure.base}: could not connect: the certificate is not trusted: .*\n", done.stderr
            )

    def test_skipped_checks_are_listed_and_fail_only_with_strict(self, server: RunningServer) -> None:
        done = conformance(server.base)
        assert done.returncode == 0
        assert "skipped  must   answers.GetDomainDetail: no domain ID was given (--domain-id)" in done.stdout
        assert "skipped  must   domain.fields: because answers.GetDomainDetail was skipped" in done.stdout
        assert "\nconforms: " in done.stdout
        strict = conformance(server.base, "--strict")
        assert strict.returncode == 1
        assert "\nDOES NOT CONFORM: " in strict.stdout

    def test_a_wrong_password_is_one_failed_must_and_one_wrong_login(self, server: RunningServer) -> None:
        before = len(logged_requests(server))
        done = conformance(server.base, *EVERYTHING, CLOUDCONSOLE_PASSWORD="not-the-password")
        assert done.returncode == 1
        assert re.findall("FAILED +must +([^:]+)", done.stdout) == ["login.accepted"]
        assert "not-the-password" not in done.stdout
        sent = eventually(lambda: [entry for entry in logged_requests(server)[before:] if entry["action"] == "login"])
        assert [entry["status"] for entry in sent] == [401]

    def test_wrong_other_password_stays_within_the_login_limit(self, server: RunningServer) -> None:
        before = len(logged_requests(server))
        done = conformance(server.base, *EVERYTHING, CLOUDCONSOLE_OTHER_PASSWORD="not-the-password")
        assert done.returncode == 1
        assert re.findall("FAILED +must +([^:]+)", done.stdout) == ["console.domain.another-tenants"]
        assert "console.login.wrong-password: not sent: the limit of 2 wrong logins is reached" in done.stdout
        sent = logged_requests(server)[before:]
        assert sum((entry["action"], entry["status"]) == ("login", 401) for entry in sent) == 2


@pytest.fixture(scope="module")
def reports(server: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory with the reports of a run that skips some checks."""
    reports = tmp_path_factory.mktemp("reports")
    files = ("--json", str(reports / "report.json"), "--junit", str(reports / "report.xml"))
    assert conformance(server.base, *files, "--profile", "all").returncode == 0
    return reports


class TestReports:
    def test_json_has_the_documented_fields(self, reports: Path, server: RunningServer) -> None:
        report = json.loads((reports / "report.json").read_text())
        document = (Path(__file__).parents[2] / "docs/guide/conformance.md").read_text()
        for name in (*report, *report["checks"][0]):
            assert f"| `{name}` |" in document
        assert (report["schema"], report["base_url"], report["profile"]) == (1, server.base, "all")
        counted = sum(number for outcomes in report["counts"].values() for number in outcomes.values())
        assert counted == len(report["checks"])

    def test_junit_has_a_case_for_each_check(self, reports: Path) -> None:
        report = json.loads((reports / "report.json").read_text())
        root = ET.parse(reports / "report.xml").getroot()
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

    def test_reports_contain_no_secret(self, reports: Path) -> None:
        for file in reports.iterdir():
            assert not re.search("console-demo|console-other|[0-9a-f]{32}", file.read_text())

    @pytest.mark.parametrize("flag", ["--json", "--junit"])
    def test_unwritable_file_is_reported_before_the_first_request(self, flag: str, tmp_path: Path) -> None:
        # Nothing listens at this address, but no request has been sent yet.
        done = conformance("http://127.0.0.1:1", flag, str(tmp_path / "missing" / "report"))
        assert done.returncode == 2
        reason = "cannot write: No such file or directory"
        assert done.stderr == f"cloudconsole: {tmp_path}/missing/report: {reason}\n"

    def test_both_reports_cannot_be_the_same_file(self, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(tmp_path / "report")
        files = ("--json", str(tmp_path / "report"), "--junit", str(tmp_path / "link"))
        done = conformance("http://127.0.0.1:1", *files)
        assert done.returncode == 2
        assert done.stderr.startswith(f"cloudconsole: --junit: {tmp_path}/link is also the --json file")
        assert not (tmp_path / "report").exists()

    def test_previous_report_is_kept_when_the_run_fails(self, tmp_path: Path) -> None:
        (tmp_path / "report.json").write_text("of yesterday")
        assert conformance("http://127.0.0.1:1", "--json", str(tmp_path / "report.json")).returncode == 3
        assert (tmp_path / "report.json").read_text() == "of yesterday"

    def test_longer_previous_report_is_replaced(self, server: RunningServer, tmp_path: Path) -> None:
        (tmp_path / "report.json").write_text("x" * 1_000_000)
        assert conformance(server.base, "--json", str(tmp_path / "report.json")).returncode == 0
        assert json.loads((tmp_path / "report.json").read_text())["ok"]

    def test_write_error_of_one_report_does_not_prevent_the_other(self, server: RunningServer, tmp_path: Path) -> None:
        done = conformance(server.base, "--json", str(tmp_path / "report.json"), "--junit", "/dev/full")
        assert done.returncode == 2
        assert done.stderr == "cloudconsole: /dev/full: cannot write: No space left on device\n"
        assert not json.loads((tmp_path / "report.json").read_text())["ok"]
        reverse = conformance(server.base, "--junit", str(tmp_path / "report.xml"), "--json", "/dev/full")
        assert reverse.returncode == 2
        assert ET.parse(tmp_path / "report.xml").getroot().tag == "testsuites"


ECHO = b'{"code": 200, "message": "\\u001b[2J\\u0000 \\ud800 console-demo", "data": 5}'
MISBEHAVING = (
    HEAD + b"Set-Cookie: csrftoken=abcdefghijklmnop; Max-Age=9; Path=/\r\n"
    b"Set-Cookie: sessionid=qrstuvwxyzabcdef; Path=/\r\nContent-Length: %d\r\n\r\n%b" % (len(ECHO), ECHO)
)


class HangsAfterLogin:
    """Opens a session, logs in, and never responds to the first action."""

    def __init__(self) -> None:
        self.requested = threading.Event()
        self.paths: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.paths.append(scope["path"])
        if len(self.paths) == 3:
            self.requested.set()
            while (await receive())["type"] != "http.disconnect":
                pass
            return
        cookies = (b"csrftoken=abcdefghijklmnop; Max-Age=9; Path=/", b"sessionid=qrstuvwxyzabcdef; HttpOnly; Path=/")
        headers = [(b"content-length", b"0"), *((b"set-cookie", cookie) for cookie in cookies)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


def start(base: str) -> ForkedProcess:
    """Start the command."""
    variables = clean_environment(**PASSWORDS)
    return ForkedProcess(["conformance", *account(base)], variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def start_in_background(base: str) -> "subprocess.Popen[str]":
    """Start the command like a shell without job control: SIGINT is ignored."""
    ignoring_sigint = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
    return subprocess.Popen(
        [*ignoring_sigint, sys.executable, "-m", "cloudconsole", "conformance", *account(base)],
        env=clean_environment(**PASSWORDS), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


class TestMisbehavingServers:
    def test_output_has_no_control_characters_and_no_secrets(self, tmp_path: Path) -> None:
        with raw_server(send_bytes(MISBEHAVING)) as base:
            files = ("--json", str(tmp_path / "report.json"), "--junit", str(tmp_path / "report.xml"))
            done = conformance(base, *files, *DOMAINS)
        assert (done.returncode, done.stderr) == (1, "")
        written = [done.stdout, (tmp_path / "report.json").read_text(), (tmp_path / "report.xml").read_text()]
        for text in written:
            assert all(character.isprintable() or character == "\n" for character in text)
            assert not re.search("console-demo|abcdefghijklmnop|qrstuvwxyzabcdef", text)
        assert ET.fromstring(written[2]).findall("testsuite/testcase/failure")
        assert "FAILED   must   session.sessionid-http-only" in done.stdout

    def test_server_closing_every_connection_fails_one_check(self) -> None:
        with raw_server(close) as base:
            done = conformance(base)
        assert (done.returncode, done.stderr) == (1, "")
        assert re.findall("FAILED +must +([^:]+)", done.stdout) == ["session.opens"]

    @pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    def test_signal_ends_a_hanging_run_silently(self, number: signal.Signals, exit_code: int) -> None:
        requested = threading.Event()

        def hang(connection: socket.socket) -> None:
            requested.set()
            connection.recv(1)

        with raw_server(hang) as base:
            process = start(base)
            assert requested.wait(timeout=60)
            process.send_signal(number)
            output = process.communicate(timeout=60)
        assert (process.returncode, output) == (exit_code, ("", ""))

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_interrupted_run_logs_out(self, number: signal.Signals) -> None:
        application = HangsAfterLogin()
        with serving(application) as base:
            process = start(base)
            assert application.requested.wait(timeout=60)
            process.send_signal(number)
            process.communicate(timeout=60)
        assert application.paths == ["/api/", "/auth/login/", "/api/", "/auth/logout/"]

    def test_terminated_background_run_logs_out(self) -> None:
        application = HangsAfterLogin()
        with serving(application) as base:
            process = start_in_background(base)
            assert application.requested.wait(timeout=60)
            process.terminate()
            output = process.communicate(timeout=60)
        assert application.paths == ["/api/", "/auth/login/", "/api/", "/auth/logout/"]
        assert (process.returncode, output[1]) == (143, "")

    def test_signal_before_a_coroutine_starts_causes_no_warning(self) -> None:
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
    def test_unreachable_server_is_a_one_line_error(self, base: str, tmp_path: Path) -> None:
        done = conformance(base, "--json", str(tmp_path / "report.json"))
        assert (done.returncode, done.stdout) == (3, "")
        assert re.fullmatch(f"cloudconsole: {base}: could not connect: .+\n", done.stderr)
        assert not (tmp_path / "report.json").exists()


GOOD = account("http://127.0.0.1:1")
USAGE_ERRORS = {
    "no URL": (("--region", "r", "--username", "u"), "BASE_URL"),
    "no region": (("http://127.0.0.1:1", "--username", "u"), "--region"),
    "no username": (("http://127.0.0.1:1", "--region", "r"), "--username"),
    "no scheme": (("127.0.0.1:1", *GOOD[1:]), "BASE_URL"),
    "another scheme": (("ftp://127.0.0.1", *GOOD[1:]), "BASE_URL"),
    "no host": (("http://", *GOOD[1:]), "BASE_URL"),
    "an invalid port": (("http://127.0.0.1:x", *GOOD[1:]), "BASE_URL"),
    "port 0": (("http://127.0.0.1:0", *GOOD[1:]), "BASE_URL"),
    "an invalid host": (("http://[::1", *GOOD[1:]), "BASE_URL"),
    "a password in the URL": (("http://u:p@127.0.0.1:1", *GOOD[1:]), "BASE_URL"),
    "a query": (("http://127.0.0.1:1/?a=1", *GOOD[1:]), "BASE_URL"),
    "a line break": (("http://127.0.0.1:1/\n", *GOOD[1:]), "BASE_URL"),
    "a password as a flag": ((*GOOD, "--password", "p"), "unknown option --password"),
    "an unknown profile": ((*GOOD, "--profile", "most"), "--profile"),
    "five domains": ((*GOOD, *["--domain-id", "1"] * 5), "--domain-id"),
    "the same account twice": ((*GOOD, "--other-username", "demo"), "--other-username"),
    "a password file without its username": ((*GOOD, "--other-password-file", "f"), "--other-username"),
    "a zero timeout": ((*GOOD, "--timeout", "0"), "--timeout"),
    "an infinite timeout": ((*GOOD, "--timeout", "inf"), "--timeout"),
    "a timeout that is not a number": ((*GOOD, "--timeout", "soon"), "--timeout"),
    "both --insecure and --ca-file": ((*GOOD, "--insecure", "--ca-file", "f"), "--ca-file"),
    "a missing CA file": ((*GOOD, "--ca-file", "/nowhere.pem"), "--ca-file: /nowhere.pem: No such file or directory"),
    "a CA file without certificates": ((*GOOD, "--ca-file", __file__), "--ca-file"),
    "a missing password file": ((*GOOD, "--password-file", "/nowhere"), "/nowhere: No such file"),
    "a directory as password file": ((*GOOD, "--password-file", "/tmp"), "/tmp: Is a directory"),
    "an empty password file": ((*GOOD, "--password-file", "/dev/null"), "/dev/null: must contain only the password"),
}


Captured = pytest.CaptureFixture[str]


def run_in_process(*arguments: str) -> int:
    """Run the command in this process, which is enough for usage errors; return its exit code."""
    try:
        return main(["conformance", *arguments])
    except SystemExit as error:
        return int(error.code or 0)


@pytest.fixture
def passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, password in PASSWORDS.items():
        monkeypatch.setenv(name, password)


@pytest.mark.usefixtures("passwords")
@pytest.mark.parametrize(("arguments", "reason"), USAGE_ERRORS.values(), ids=USAGE_ERRORS)
def test_usage_error_is_one_line(capsys: Captured, arguments: tuple[str, ...], reason: str) -> None:
    assert run_in_process(*arguments) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert reason in err


@pytest.mark.usefixtures("passwords")
@pytest.mark.parametrize("flag", ["--region", "--username", "--other-username", "--domain-id"])
def test_non_utf_8_argument_is_rejected(capsys: Captured, flag: str) -> None:
    assert run_in_process(*GOOD, flag, "\udcff") == 2
    assert capsys.readouterr().err == f"cloudconsole: {flag}: must be valid UTF-8\n"


def test_non_utf_8_password_is_rejected(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUDCONSOLE_PASSWORD", "\udcff")
    assert run_in_process(*GOOD) == 2
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
def test_invalid_password_file_is_rejected(capsys: Captured, tmp_path: Path, password: bytes, reason: str) -> None:
    (tmp_path / "password").write_bytes(password)
    assert run_in_process(*GOOD, "--password-file", str(tmp_path / "password")) == 2
    assert capsys.readouterr().err.endswith(f": {reason}\n")


@pytest.mark.parametrize("name", ["PASSWORD", "OTHER_PASSWORD"])
def test_missing_password_is_an_error_without_a_terminal(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delenv("CLOUDCONSOLE_PASSWORD", raising=False)
    if name == "OTHER_PASSWORD":
        monkeypatch.setenv("CLOUDCONSOLE_PASSWORD", "console-demo")
    monkeypatch.setattr("sys.stdin", io.StringIO("typed\n"))
    assert run_in_process(*GOOD, "--other-username", "other") == 2
    flag = "--" + name.lower().replace("_", "-") + "-file"
    assert capsys.readouterr().err.endswith(f": pass {flag}, set CLOUDCONSOLE_{name}, or run at a terminal\n")


def test_passwords_can_come_from_files(server: RunningServer, tmp_path: Path) -> None:
    for name in ("demo", "other"):
        (tmp_path / name).write_text(f"console-{name}\n")
    files = ("--password-file", str(tmp_path / "demo"), "--other-password-file", str(tmp_path / "other"))
    assert command("conformance", *account(server.base), *EVERYTHING, *files).returncode == 0


class TestOnATerminal:
    def test_password_prompt_has_no_echo_and_results_are_a_table(self, server: RunningServer, tmp_path: Path) -> None:
        terminal = Terminal(tmp_path, "conformance", *account(server.base), *DOMAINS)
        terminal.wait_for(f"Password for demo at {server.base}: ")
        terminal.type_without_echo("console-demo\n")
        assert terminal.end() == 0
        assert "console-demo" not in terminal.shown
        assert re.search("interface +5 Authentication", terminal.shown)
        assert "\x1b[1;32mconforms: " in terminal.shown

    def test_each_section_is_shown_once(self, server: RunningServer, tmp_path: Path) -> None:
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

    def test_failures_are_listed_below_the_table(self, tmp_path: Path) -> None:
        with raw_server(send_bytes(MISBEHAVING)) as base:
            terminal = Terminal(tmp_path, "conformance", *account(base), **PASSWORDS, NO_COLOR="1")
            assert terminal.end() == 1
        assert "FAILED   must   session.sessionid-http-only" in terminal.shown
        assert "\x1b[1;3" not in terminal.shown
        assert "[secret]" in terminal.shown
        assert "\x1b[2J" not in terminal.shown

    def test_dumb_terminal_gets_plain_lines(self, server: RunningServer, tmp_path: Path) -> None:
        terminal = Terminal(tmp_path, "conformance", *account(server.base), *DOMAINS, **PASSWORDS, TERM="dumb")
        assert terminal.end() == 0
        assert "  ok       must   session.opens\r\n" in terminal.shown
        assert "\x1b" not in terminal.shown
