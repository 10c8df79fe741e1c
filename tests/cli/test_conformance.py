"""`cloudconsole conformance`: arguments, output, report files and exit codes."""

import io
import json
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pyte
import pytest

from cloudconsole.cli.main import main
from cloudconsole.conformance.runner import INTERFACE
from tests.client.scripted_server import Canned, ScriptedServer, envelope
from tests.conformance.raw_servers import HEAD, close, raw_server, send_bytes
from tests.e2e.processes import command, eventually, log_lines
from tests.harness import CERTIFICATES, RunningServer, clean_environment, running_server
from tests.terminal import Terminal

PASSWORDS = {"CLOUDCONSOLE_PASSWORD": "console-demo", "CLOUDCONSOLE_OTHER_PASSWORD": "console-other"}
DOMAINS = ("--domain-id", "206813", "--domain-id", "206814")
EVERYTHING = ("--suite", "all", "--other-username", "other", "--strict", *DOMAINS)
DOCUMENT = (Path(__file__).parents[2] / "docs/guide/conformance.md").read_text("utf-8")
NOWHERE = "http://127.0.0.1:1"
Done = subprocess.CompletedProcess[str]


def account(base: str) -> tuple[str, ...]:
    return (base, "--region", f"{base}/v3", "--username", "demo")


def conformance(base: str, *more: str, **environment: str) -> Done:
    return command("conformance", *account(base), *more, **{**PASSWORDS, **environment})


def logged_requests(server: RunningServer) -> list[dict[str, Any]]:
    return [line for line in log_lines(server) if line.get("event") == "request"]


def stored(server: RunningServer) -> list[Any]:
    """All rows of the cloud and all sessions, except password hashes: a login may replace an outdated one."""
    data = server.log_file.parent / "data"
    with (
        closing(sqlite3.connect(f"file:{data}/cloud.db?mode=ro", uri=True)) as cloud,
        closing(sqlite3.connect(f"file:{data}/activity.db?mode=ro", uri=True)) as activity,
    ):
        rows = [row for row in cloud.iterdump() if not row.startswith('INSERT INTO "accounts"')]
        return [*rows, *activity.execute("SELECT * FROM sessions")]


def test_our_own_console_passes_every_check_and_is_not_changed(server: RunningServer, tmp_path: Path) -> None:
    for name in ("demo", "other"):
        (tmp_path / name).write_text(f"console-{name}\n")
        (tmp_path / name).chmod(0o600)
    passwords = ("--password-file", str(tmp_path / "demo"), "--other-password-file", str(tmp_path / "other"))
    # Longer than the new one, which replaces it.
    (tmp_path / "report.json").write_text("x" * 1_000_000)
    files = ("--json", str(tmp_path / "report.json"), "--junit", str(tmp_path / "report.xml"))
    before, requests = stored(server), len(logged_requests(server))
    done = command("conformance", *account(server.base), *EVERYTHING, *passwords, *files)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["ok"]
    assert {check["outcome"] for check in report["checks"]} == {"passed"}
    cases = ET.parse(tmp_path / "report.xml").getroot().findall("testsuite/testcase")
    assert sorted(case.attrib["name"] for case in cases) == sorted(check["id"] for check in report["checks"])
    assert [name for name in (*report, *report["checks"][0]) if f"| `{name}` |" not in DOCUMENT] == []
    for file in files[1::2]:
        content = Path(file).read_text().replace(report["digest"], "")
        assert not re.search("console-demo|console-other|[0-9a-f]{32}", content)
    eventually(lambda: len(logged_requests(server)) >= requests + report["requests"])
    sent = logged_requests(server)[requests:]
    assert len(sent) == report["requests"] < 400
    assert sum((entry["action"], entry["status"]) == ("login", 401) for entry in sent) == 2
    assert stored(server) == before


def test_https_certificate_is_verified(tmp_path: Path) -> None:
    files = ("--tls-certificate", str(CERTIFICATES / "rsa.pem"), "--tls-key", str(CERTIFICATES / "rsa-key.pem"))
    with running_server(tmp_path, *files) as secure:
        trusted = conformance(secure.base, "--ca-file", str(CERTIFICATES / "rsa.pem"))
        insecure = conformance(secure.base, "--insecure")
        default = conformance(secure.base)
    assert (trusted.returncode, insecure.returncode) == (0, 0), trusted.stdout + insecure.stdout
    assert (default.returncode, default.stdout) == (3, "")
    assert re.fullmatch(
        f"cloudconsole: {secure.base}: could not connect: the certificate is not trusted: .*--ca-file\n",
        default.stderr,
    )


def test_skipped_checks_are_listed_as_documented_and_fail_only_with_strict(server: RunningServer) -> None:
    done, strict = conformance(server.base), conformance(server.base, "--strict")
    assert (done.returncode, strict.returncode) == (0, 1)
    assert "skipped  must   answers.GetDomainDetail: no domain ID was given (--domain-id)" in done.stdout
    shown = re.findall("^(?:interface:.*|  (?:ok|skipped) .*)$", DOCUMENT, re.MULTILINE)
    assert len(shown) == 3
    assert [line for line in shown if f"{line}\n" not in done.stdout] == []
    assert "\nconforms: " in done.stdout
    assert "\nDOES NOT CONFORM: " in strict.stdout
    assert strict.stdout.endswith("; with --strict, a skipped MUST counts as failed\n")


class TestLogin:
    @pytest.mark.parametrize(
        ("flags", "environment", "reason"),
        [
            ((), {"CLOUDCONSOLE_PASSWORD": "wrong"}, "demo at {base}/v3: HTTP 401, .* invalid_credentials"),
            (
                ("--suite", "all", "--other-username", "other"),
                {"CLOUDCONSOLE_OTHER_PASSWORD": "wrong"},
                "other at {base}/v3: HTTP 401, .* invalid_credentials",
            ),
            (
                ("--region", "http://x/v3"),
                {},
                "demo at http://x/v3: HTTP 400, .* unknown_region; GET /api/ lists the regions {base}/v3",
            ),
        ],
    )
    def test_rejected_account_ends_the_run(
        self, server: RunningServer, flags: tuple[str, ...], environment: dict[str, str], reason: str, tmp_path: Path
    ) -> None:
        done = conformance(server.base, *flags, "--json", str(tmp_path / "report.json"), **environment)
        assert (done.returncode, done.stdout) == (4, "")
        assert re.fullmatch(f"cloudconsole: could not log in: {reason.format(base=server.base)}\n", done.stderr)
        assert not (tmp_path / "report.json").exists()

    def test_login_form_after_a_wrong_password_is_a_rejection(self) -> None:
        with ScriptedServer() as scripted:
            scripted.login = [Canned(body=b"<form>try again")]
            scripted.rule = lambda _: Canned(401)
            done = conformance(scripted.base)
        assert (done.returncode, done.stdout) == (4, "")

    def test_no_login_is_made_if_no_check_needs_one(self, server: RunningServer) -> None:
        done = conformance(server.base, "--only", "session.opens", CLOUDCONSOLE_PASSWORD="wrong")
        assert done.returncode == 0, done.stderr
        assert "the selected checks passed: MUST: 3 passed, 0 failed, 0 skipped; " in done.stdout

    def test_results_are_also_in_chinese_but_reports_are_not(self, server: RunningServer, tmp_path: Path) -> None:
        report = tmp_path / "report.json"
        arguments = ("--only", "session.opens", "--json", str(report))
        done = conformance(server.base, *arguments, "--lang", "zh")
        assert done.returncode == 0, done.stderr
        assert "  通过     must   session.opens\n" in done.stdout
        assert "所选检查均通过：MUST：通过 3，失败 0，跳过 0；" in done.stdout
        assert json.loads(report.read_text())["checks"][0]["title"].startswith("GET /api/ sets the cookies")
        verified = command("conformance", "--verify", str(report), "--lang", "zh")
        assert verified.stdout.startswith(f"{report}：未被改动；所选检查均通过：MUST：通过 3，")

    def test_the_only_listed_region_is_the_default(self, server: RunningServer) -> None:
        done = command("conformance", server.base, "--username", "demo", "--only", "login.accepted", **PASSWORDS)
        assert done.returncode == 0, done.stderr

    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            ({}, 'GET /api/ lists no region: HTTP 200, code 200, message "so it is"'),
            ({"regions": []}, 'GET /api/ lists no region: HTTP 200, code 200, message "so it is"'),
            ({"regions": ["http://a", "http://b"]}, "the console lists several: http://a, http://b"),
        ],
    )
    def test_region_is_required_if_not_exactly_one_is_listed(self, data: dict[str, Any], reason: str) -> None:
        with ScriptedServer() as scripted:
            scripted.opening = [envelope(data)]
            done = command("conformance", scripted.base, "--username", "demo", **PASSWORDS)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"cloudconsole: --region: required, since {reason}\n"

    def test_another_website_is_named_as_such(self) -> None:
        with ScriptedServer() as scripted:
            scripted.opening = [Canned(404, body=b"<h1>Not Found</h1>")] * 2
            done = command("conformance", scripted.base, "--username", "demo", **PASSWORDS)
            with_region = conformance(scripted.base)
        reason = "does not look like a Cloud Console"
        assert done.stderr == (
            f'cloudconsole: BASE_URL: {scripted.base} {reason}: GET /api/ returned HTTP 404 with "<h1>Not Found</h1>"\n'
        )
        assert (done.returncode, with_region.returncode) == (2, 1)
        assert f"HTTP 404 set none; it {reason}: check BASE_URL\n" in with_region.stdout


def test_list_needs_no_console_and_sends_nothing() -> None:
    done = command("conformance", "--list", "--suite", "all", "--only", "console.host")
    assert (done.returncode, done.stderr) == (0, "")
    assert "console: errors\n  should console.host: " in done.stdout
    listed = {line.split()[1].rstrip(":") for line in done.stdout.splitlines() if line.startswith("  ")}
    assert listed == {"session.opens", "console.host", "connection.alive", "connection.answered"}


def test_report_is_verified(server: RunningServer, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    assert conformance(server.base, "--only", "session.opens", "--json", str(report)).returncode == 0
    verified = command("conformance", "--verify", str(report))
    assert verified.returncode == 0
    summary = f"the selected checks passed: MUST: 3 passed, 0 failed, 0 skipped; {server.base}, "
    assert verified.stdout.startswith(f"{report}: unchanged; {summary}")
    report.write_text(report.read_text().replace("passed", "failed"))
    changed = command("conformance", "--verify", str(report))
    assert (changed.returncode, changed.stdout) == (1, f"{report}: the content does not match the digest\n")


class TestReports:
    @pytest.mark.parametrize("flag", ["--json", "--junit"])
    def test_unwritable_file_is_reported_before_the_first_request(self, flag: str, tmp_path: Path) -> None:
        # Nothing listens at this address, but no request has been sent yet.
        done = conformance(NOWHERE, flag, str(tmp_path / "missing" / "report"))
        assert done.returncode == 2
        reason = "cannot write: No such file or directory"
        assert done.stderr == f"cloudconsole: {tmp_path}/missing/report: {reason}\n"

    def test_both_reports_cannot_be_the_same_file(self, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(tmp_path / "report")
        done = conformance(NOWHERE, "--json", str(tmp_path / "report"), "--junit", str(tmp_path / "link"))
        assert done.returncode == 2
        assert done.stderr.startswith(f"cloudconsole: --junit: {tmp_path}/link is also the --json file")
        assert not (tmp_path / "report").exists()

    def test_previous_report_is_kept_when_the_run_fails(self, tmp_path: Path) -> None:
        (tmp_path / "report.json").write_text("of yesterday")
        assert conformance(NOWHERE, "--json", str(tmp_path / "report.json")).returncode == 3
        assert (tmp_path / "report.json").read_text() == "of yesterday"

    def test_write_error_of_one_report_does_not_prevent_the_other(self, server: RunningServer, tmp_path: Path) -> None:
        done = conformance(server.base, "--json", str(tmp_path / "report.json"), "--junit", "/dev/full")
        assert done.returncode == 2
        assert done.stderr == "cloudconsole: /dev/full: cannot write: No space left on device\n"
        assert not json.loads((tmp_path / "report.json").read_text())["ok"]
        with raw_server(close) as base:
            reverse = conformance(base, "--junit", str(tmp_path / "report.xml"), "--json", "/dev/full")
        assert reverse.returncode == 2
        assert ET.parse(tmp_path / "report.xml").getroot().tag == "testsuites"


ECHO = b'{"code": 200, "message": "\\u001b[2J\\u0000 \\ud800 console-demo", "data": 5}'
MISBEHAVING = (
    HEAD + b"Set-Cookie: csrftoken=abcdefghijklmnop; Max-Age=9; Path=/\r\n"
    b"Set-Cookie: sessionid=qrstuvwxyzabcdef; Path=/\r\nContent-Length: %d\r\n\r\n%b" % (len(ECHO), ECHO)
)


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

    @pytest.mark.parametrize(
        ("trap", "number", "exit_code"),
        [
            ("", signal.SIGINT, 130),
            ("", signal.SIGTERM, 143),
            # A shell without job control makes background commands ignore SIGINT.
            ('trap "" INT; ', signal.SIGTERM, 143),
        ],
    )
    def test_interrupted_run_logs_out_silently(self, trap: str, number: signal.Signals, exit_code: int) -> None:
        is_over = threading.Event()
        arguments = ("sh", "-c", f'{trap}exec "$@"', "sh", sys.executable, "-m", "cloudconsole", "conformance")
        environment, pipe = clean_environment(**PASSWORDS), subprocess.PIPE
        with ScriptedServer() as scripted:
            scripted.actions = [Canned(after=is_over)]
            command = (*arguments, *account(scripted.base))
            process = subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True)
            eventually(lambda: scripted.action_requests)
            process.send_signal(number)
            _, error = process.communicate(timeout=300)
            is_over.set()
        assert (process.returncode, error) == (exit_code, "")
        assert [each.path for each in scripted.requests] == ["/api/", "/auth/login/", "/api/", "/auth/logout/"]

    @pytest.mark.parametrize(("base", "reason"), [(NOWHERE, "Connection refused"), ("http://console.invalid", ".+")])
    def test_unreachable_server_is_a_one_line_error(self, base: str, reason: str, tmp_path: Path) -> None:
        done = conformance(base, "--json", str(tmp_path / "report.json"))
        assert (done.returncode, done.stdout) == (3, "")
        assert re.fullmatch(f"cloudconsole: {base}: could not connect: {reason}\n", done.stderr)
        assert not (tmp_path / "report.json").exists()


GOOD = account(NOWHERE)
USAGE_ERRORS = {
    "no URL": (("--region", "r", "--username", "u"), "BASE_URL"),
    "an unknown check": ((*GOOD, "--only", "nothing"), "--only: nothing: no such check or section"),
    "a misspelled check": ((*GOOD, "--only", "session.open"), "did you mean session.opens?"),
    "a misspelled section": ((*GOOD, "--only", "7 Error"), "did you mean 7 Errors?"),
    "a check of another profile": ((*GOOD, "--only", "console.host"), "use --suite all"),
    "a missing report": (("--verify", "/nowhere"), "--verify: /nowhere: No such file"),
    "a report that is none": (("--verify", __file__), "it is not a JSON report"),
    "no username": ((NOWHERE, "--region", "r"), "--username"),
    "a password in the URL": (("http://u:p@127.0.0.1:1", *GOOD[1:]), "BASE_URL"),
    "a password as a flag": ((*GOOD, "--password", "p"), "unknown option --password"),
    "an unknown suite": ((*GOOD, "--suite", "most"), "--suite"),
    "a profile of the configuration": ((*GOOD, "--profile", "all"), "unknown option --profile: use --suite"),
    "five domains": ((*GOOD, *["--domain-id", "1"] * 5), "--domain-id"),
    "the same account twice": ((*GOOD, "--other-username", "demo"), "--other-username"),
    "a password file without its username": ((*GOOD, "--other-password-file", "f"), "--other-username"),
    "a zero timeout": ((*GOOD, "--timeout", "0"), "--timeout"),
    "an infinite timeout": ((*GOOD, "--timeout", "inf"), "--timeout"),
    "a timeout that is not a number": ((*GOOD, "--timeout", "soon"), "--timeout"),
    "both --insecure and --ca-file": ((*GOOD, "--insecure", "--ca-file", "f"), "--ca-file"),
    "a missing CA file": ((*GOOD, "--ca-file", "/nowhere.pem"), "--ca-file: /nowhere.pem: No such file or directory"),
    "a CA file without certificates": ((*GOOD, "--ca-file", __file__), "--ca-file"),
    "a region that is not UTF-8": ((*GOOD, "--region", "\udcff"), "--region: must be valid UTF-8"),
    "a name that is not UTF-8": ((*GOOD, "--other-username", "\udcff"), "--other-username: must be valid UTF-8"),
    "a domain that is not UTF-8": ((*GOOD, "--domain-id", "\udcff"), "--domain-id: must be valid UTF-8"),
    "a missing password file": ((*GOOD, "--password-file", "/nowhere"), "/nowhere: No such file"),
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


@pytest.mark.parametrize(("length", "exit_code"), [(1024, 3), (1025, 2)])
def test_too_long_password_is_rejected(capsys: Captured, tmp_path: Path, length: int, exit_code: int) -> None:
    (tmp_path / "password").write_text("x" * length)
    assert run_in_process(*GOOD, "--password-file", str(tmp_path / "password")) == exit_code
    is_reported = "the password of demo must have 1 to 1024 characters\n" in capsys.readouterr().err
    assert is_reported == (exit_code == 2)


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
        """The table has more lines than the terminal."""
        variables = {**PASSWORDS, "LINES": "6", "COLUMNS": "100"}
        terminal = Terminal(tmp_path, "conformance", *account(server.base), *DOMAINS, **variables)
        assert terminal.end() == 0
        screen = pyte.HistoryScreen(100, 6, history=1000)
        pyte.Stream(screen).feed(terminal.shown)
        above = ["".join(line[column].data for column in range(100)) for line in screen.history.top]
        sections = [line.partition("  ")[2] for line in (*above, *screen.display) if line.startswith("interface  ")]
        assert len(sections) == len(set(sections)) == len({check.section for check in INTERFACE}) > 6

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


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        ((), 2, "缺少参数：BASE_URL, --username"),
        (("ftp://x", "--username", "demo"), 2, "BASE_URL：须为形如 https://console.example.com 的控制台地址"),
        ((NOWHERE, "--username", "demo"), 2, "没有 demo 的密码：请用 --password-file、设置 CLOUDCONSOLE_PASSWORD，或"),
        (("--only", "x", "--list"), 2, "--only：x：在 interface 中没有此检查或节；参见 --list，或使用 --suite all"),
        (("--verify", "/nonexistent"), 2, "--verify：/nonexistent：没有此文件或目录"),
        ((NOWHERE, "--timeout", "0"), 2, "--timeout：须为大于 0 且不超过 300 的秒数"),
    ],
)
def test_errors_are_also_in_chinese(arguments: tuple[str, ...], code: int, problem: str) -> None:
    done = command("conformance", *arguments, LC_ALL="zh_CN.UTF-8")
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(f"cloudconsole: {problem}")


def test_unreachable_console_is_reported_in_chinese() -> None:
    done = conformance(NOWHERE, "--lang", "zh")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"cloudconsole: {NOWHERE}：无法连接：")


def test_list_has_chinese_titles() -> None:
    done = command("conformance", "--list", "--lang", "zh")
    assert "  must   session.opens：GET /api/ 设置 csrftoken 和 sessionid 两个 Cookie。\n" in done.stdout
