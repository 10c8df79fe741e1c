"""Errors are one line with an exit code; `-v` adds details, and no secret is ever printed."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from cloudconsole.cli.runner import describe_error
from cloudconsole.client import ConnectionFailed
from tests.cli.users import PASSWORD, CliUser, Result
from tests.client.scripted_server import OPENED, Canned, ScriptedServer, envelope
from tests.harness import CERTIFICATES, RunningServer, clean_environment, running_server

NOWHERE = "http://127.0.0.1:1"
ACCOUNT = {"CLOUDCONSOLE_USERNAME": "demo", "CLOUDCONSOLE_PASSWORD": PASSWORD}


@pytest.fixture(scope="module")
def secure_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """An HTTPS server with a certificate that only the tests trust."""
    certificate = ("--tls-certificate", str(CERTIFICATES / "ec.pem"), "--tls-key", str(CERTIFICATES / "ec-key.pem"))
    with running_server(tmp_path_factory.mktemp("secure"), *certificate) as running:
        yield running


def options(base: str, username: str = "demo") -> list[str]:
    return ["--url", base, "--username", username, "--timeout", "120"]


def assert_one_line(done: Result, code: int, message: str) -> None:
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith(f"cloudconsole: {message}")
    assert done.err.count("\n") == 1
    assert "s3cret" not in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("domain", "1"), 1, "There is no domain with this ID."),
        (("call", "GetEverything"), 1, "Unknown action. cloudconsole actions lists "),
        (("call", "GetDomainDetail"), 1, "The field 'domainId' is required."),
        (("call", "GetDomainDetail", "domainId=a=b:=c"), 1, "There is no domain with this ID."),
        (("flavors", "--vcpus", "3"), 1, "--vcpus 3: not offered; available: 1, 2, 4, 8, 16"),
        (("flavors", "--vcpus", "3", "--output", "json"), 1, "--vcpus 3: not offered; available: 1, 2, 4, 8, 16"),
        (("flavors", "--ram", "3"), 1, "--ram 3: not offered; available: 512, 1024, 2048, 4096, 8192, 16384, 32768"),
        (("flavors", "--vcpus", "4", "--ram", "512"), 1, "--ram 512: not offered with 4 cores; available: 4096, "),
        (("costs", "--plot", "--output", "json"), 2, "--plot"),
        (("usage", "--watch", "--output", "csv"), 2, "--watch requires --output json"),
        (("usage", "--watch"), 2, "--watch requires --output json, or a terminal"),
    ],
)
def test_rejected_request_is_one_line(demo_user: CliUser, arguments: tuple[str, ...], code: int, message: str) -> None:
    assert_one_line(demo_user.run(*arguments), code, message)


def test_wrong_credentials_exit_with_1(cli_user: CliUser, server: RunningServer) -> None:
    done = cli_user.run("login", *options(server.base, "nobody"), "-v", CLOUDCONSOLE_PASSWORD="wr0ng-secret")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("cloudconsole: The username or password is wrong, or the account is disabled.\n")
    assert "wr0ng-secret" not in done.err
    assert not cli_user.sessions_file.exists()


def test_url_with_a_path_too_many_is_named(cli_user: CliUser, server: RunningServer) -> None:
    done = cli_user.run("usage", *options(f"{server.base}/console"), CLOUDCONSOLE_PASSWORD=PASSWORD)
    text = f"the server at {server.base}/console responded with status 404, but not as a console does: check the URL\n"
    assert_one_line(done, 1, text)


NO_PASSWORD = ("--username", "demo", "--password-file", "/dev/null")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("usage",), "no console URL"),
        (("usage", "--url", NOWHERE), "no username"),
        (("usage", *options(NOWHERE)), "no password for demo"),
        (("usage", "--url", "http://user:s3cret@console.example.com"), "argument --url: must be a URL"),
        (("usage", "--url", "http://256.256.256.256", *NO_PASSWORD), "http://256.256.256.256: must be a URL"),
        (("usage", "--url", "http://h/" + "x" * 70_000, *NO_PASSWORD), "http://h/xxx"),
        (("domain", "\udcff"), "an argument or environment variable is not valid UTF-8"),
        (("usage", "--timeout", "0"), "argument --timeout: must be a number of seconds"),
        (("usage", "--timeout", "nan"), "argument --timeout: must be a number of seconds"),
        (("usage", "--watch", "soon"), "argument --watch: must be a number of seconds"),
        (("usage", "--watch", "0.4"), "argument --watch: must be at least 0.5 seconds"),
        (("usage", "--password", "s3cret"), "unknown option --password (did you mean --password-file?)"),
        (("usage", "--user", "demo"), "unknown option --user (did you mean --username?)"),
        (("usage", *options(NOWHERE), *NO_PASSWORD, "--ca-file", "not/there.pem"), "not/there.pem: No such file"),
        (
            ("usage", *options(NOWHERE), *NO_PASSWORD, "--ca-file", __file__),
            f"{__file__}: contains no PEM certificate\n",
        ),
        (("flavors", "--vcpus", "0"), "argument --vcpus: must be an integer of at least 1"),
        (("flavors", "--ram", "-1"), "argument --ram: must be an integer of at least 1"),
        (("call",), "the following arguments are required: ACTION; "),
        (("login",), "no console URL"),
        (("call", "GetNews", "--output", "csv"), "argument -o/--output: invalid choice: 'csv'"),
        (("call", "GetNews", "--timeout", "5", "-x"), "unexpected argument: -x"),
        (("call", "GetNews", "domainId"), "domainId: must be name=text"),
        (("call", "GetNews", "=x"), "=x: must be name=text"),
        (("call", "GetNews", ":=1"), ":=1: must be name=text"),
        (("call", "GetNews", "a=1", "a=2"), "a: given twice"),
        (("call", "GetNews", "action=GetNews"), "action: given twice"),
        (("call", "GetNews", "a:={"), "a: the value after := is not valid JSON"),
        (("completion", "tcsh"), "argument SHELL: invalid choice: 'tcsh'"),
        (("uasge",), "unknown command 'uasge' (did you mean usage?)"),
        (("quotas",), "unknown command 'quotas' (did you mean usage?)"),
        (("help", "quotas"), "unknown command 'quotas' (did you mean usage?)"),
        (("forecast",), "unknown command 'forecast' (did you mean costs forecast?)"),
        (("frobnicate",), "unknown command 'frobnicate'; see cloudconsole --help"),
        (("--url", "http://h", "completion", "bash"), "completion has no option --url; see cloudconsole completion -"),
        (("--timeout", "5", "profile", "list"), "profile has no option --timeout; see cloudconsole profile --help"),
        (("-v", "profile", "list"), "profile has no option -v; see cloudconsole profile --help"),
        (
            ("costs", "--from", "2024-01-01", "--to", "2025-01-01"),
            "--from must not be after --to, and a period has at most 366 days",
        ),
        (("costs", "--from", "2026-01-02", "--to", "2026-01-01"), "--from must not be after --to, and a period has"),
        (("--output", "xml", "usage"), "argument -o/--output: invalid choice: 'xml'"),
        (("--output", "json", "login"), "login has no option --output"),
        (("--vcpus", "4", "flavors"), "unknown option --vcpus: put a command's options after the command"),
        (("usage", "--lang", "zh"), "未指定控制台"),
        (("usage", "--lang", "zh", "--outptu", "json"), "此处没有选项 --outptu（是否想用 --output？）"),
        (("usage", "--lang", "zh", "--output", "xml"), "-o/--output：'xml' 不可用"),
        (("usage", "--lang", "zh", "--timeout"), "--timeout：需要一个值"),
        (("domain", "--lang", "zh"), "缺少参数：ID"),
        (("domain", "--lang", "zh", "1", "2"), "2：此处不应出现"),
    ],
)
def test_usage_error_is_one_line(cli_user: CliUser, arguments: tuple[str, ...], message: str) -> None:
    assert_one_line(cli_user.run(*arguments), 2, message)


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"CLOUDCONSOLE_URL": "console"}, "CLOUDCONSOLE_URL: must be a URL"),
        ({"CLOUDCONSOLE_USERNAME": "\udcff"}, "an argument or environment variable is not valid UTF-8"),
        ({"CLOUDCONSOLE_REGION": "\udcff"}, "an argument or environment variable is not valid UTF-8"),
        ({"http_proxy": "http://[::1"}, "invalid proxy"),
        ({"http_proxy": "ftp://u:s3cret@proxy"}, "invalid proxy"),
        ({"ALL_PROXY": "socks5://127.0.0.1:1"}, "Using SOCKS proxy"),
        ({"SSL_CERT_FILE": "/not/there"}, "cannot set up TLS: No such file"),
        ({"SSLKEYLOGFILE": "/not/there"}, "cannot set up TLS: No such file"),
    ],
)
def test_invalid_variable_is_a_usage_error(cli_user: CliUser, variables: dict[str, str], message: str) -> None:
    done = cli_user.run("usage", **{"CLOUDCONSOLE_URL": "https://127.0.0.1:1", **ACCOUNT, **variables})
    assert_one_line(done, 2, message)


def test_connection_failure_exits_with_3(cli_user: CliUser) -> None:
    done = cli_user.run("usage", *options(NOWHERE)[:-1], "1", CLOUDCONSOLE_PASSWORD=PASSWORD)
    assert_one_line(done, 3, f"cannot reach {NOWHERE}: ")


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ("https://127.0.0.1:{secure}", "the certificate is not trusted: self-signed certificate; pass the "),
        ("https://127.0.0.1:{plain}", "the server does not speak TLS on this port: wrong version number; check "),
    ],
)
def test_tls_failure_says_what_to_do(
    cli_user: CliUser,
    secure_server: RunningServer,
    server: RunningServer,
    base: str,
    message: str,
) -> None:
    url = base.format(secure=secure_server.base.rpartition(":")[2], plain=server.base.rpartition(":")[2])
    done = cli_user.run("urls", "--url", url, "--username", "demo", **ACCOUNT)
    assert_one_line(done, 3, f"cannot reach {url}: {message}")
    assert "_ssl.c" not in done.err


@pytest.mark.parametrize(
    ("openssl", "message"),
    [
        (
            "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: Hostname mismatch, certificate is not valid "
            "for 'a'. (_ssl.c:1006)",
            "the certificate belongs to another host: Hostname mismatch, certificate is not valid for 'a'; "
            "check the URL",
        ),
        (
            "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: certificate has expired (_ssl.c:1006)",
            "the certificate is not valid now: certificate has expired; check this machine's clock, or have the "
            "certificate renewed",
        ),
        (
            "[SSL: TLSV1_ALERT_INTERNAL_ERROR] tlsv1 alert internal error (_ssl.c:1006)",
            "TLS failed: tlsv1 alert internal error",
        ),
        ("[SSL] record layer failure (_ssl.c:1006)", "TLS failed: record layer failure"),
        ("[Errno 111] Connection refused", "Connection refused"),
    ],
)
def test_openssl_message_is_put_into_words(openssl: str, message: str) -> None:
    assert (
        describe_error(ConnectionFailed(f"cannot reach https://a: {openssl}")) == f"cannot reach https://a: {message}"
    )


@pytest.mark.parametrize(
    ("url", "why"), [(NOWHERE, "连接被拒绝"), ("http://console.invalid", ""), ("https://{secure}", "证书不受信任")]
)
def test_connection_failure_is_explained_in_chinese(
    cli_user: CliUser, secure_server: RunningServer, url: str, why: str
) -> None:
    url = url.format(secure=secure_server.base.partition("://")[2])
    done = cli_user.run("urls", "--url", url, "--username", "demo", "--lang", "zh", **ACCOUNT)
    assert_one_line(done, 3, f"无法连接 {url}：{why}")
    assert "Errno" not in done.err


@pytest.mark.parametrize("trust", [("--ca-file", "ca.pem"), ("--insecure",)])
def test_login_saves_ca_file_but_not_insecure(
    cli_user: CliUser, secure_server: RunningServer, trust: tuple[str, ...]
) -> None:
    (cli_user.home / "ca.pem").write_bytes((CERTIFICATES / "ec.pem").read_bytes())
    assert cli_user.run("login", *options(secure_server.base), *trust, CLOUDCONSOLE_PASSWORD=PASSWORD).code == 0
    assert cli_user.saved_sessions()["ca_file"] == (str(cli_user.home / "ca.pem") if len(trust) == 2 else None)
    code, timeout = (0, "120") if len(trust) == 2 else (3, "1")
    assert cli_user.run("urls", "--timeout", timeout).code == code


@pytest.mark.parametrize(
    ("opening", "code", "message"),
    [
        (envelope({"regions": ["http://a", "http://b"]}, headers=OPENED.headers), 2, "--region is required"),
        (Canned(200, b"<html>", OPENED.headers), 2, "--region is required"),
        (Canned(404, b"<h1>Not Found</h1>"), 1, "the server at http://127.0.0.1:"),
        (
            Canned(502, b"<h1>Bad Gateway</h1>", [("Retry-After", "86400")]),
            1,
            "the console responded with status 502\n",
        ),
    ],
)
def test_missing_region_and_other_servers_are_one_line_errors(
    cli_user: CliUser, opening: Canned, code: int, message: str
) -> None:
    with ScriptedServer() as scripted:
        scripted.opening = [opening]
        done = cli_user.run("usage", *options(scripted.base), CLOUDCONSOLE_PASSWORD=PASSWORD)
    assert_one_line(done, code, message)


def test_verbose_adds_error_details(demo_user: CliUser, server: RunningServer) -> None:
    done = demo_user.run("domain", "1", "-v")
    first, *details = done.err.splitlines()
    assert first == "cloudconsole: There is no domain with this ID."
    shown = dict(line.removeprefix("cloudconsole:   ").split(": ", 1) for line in details)
    assert shown.pop("request ID")
    assert shown == {"code": "404", "error": "domain_not_found", "field": "domainId", "address": server.base}


def test_verbose_adds_the_cause(cli_user: CliUser) -> None:
    with ScriptedServer() as scripted:
        scripted.actions = [envelope({}, code=401)]
        done = cli_user.run("usage", *options(scripted.base), "--region", "r", "-v", CLOUDCONSOLE_PASSWORD=PASSWORD)
    assert "cloudconsole:   cause: LoginRequired: so it is" in done.err


@pytest.mark.parametrize("arguments", [("usage",), ("whoami",), ("domain", "1"), ("call", "GetNews", "--timeout", "9")])
def test_no_command_prints_a_secret(demo_user: CliUser, arguments: tuple[str, ...]) -> None:
    secrets = [PASSWORD, *(cookie["value"] for cookie in demo_user.saved_sessions()["sessions"][0]["cookies"])]
    assert len(secrets) == 3
    done = demo_user.run(*arguments, "-v", CLOUDCONSOLE_PASSWORD=PASSWORD)
    for secret in secrets:
        assert secret not in done.out + done.err


def test_password_of_another_account_is_not_sent(cli_user: CliUser, server: RunningServer) -> None:
    """The profile names the console; the variables hold another account's password."""
    cli_user.write_profiles(f'default = "a"\n[profiles.a]\nurl = "{server.base}"\nusername = "demo"\n')
    before = server.log().count("/auth/login/")
    for variables in (
        {"CLOUDCONSOLE_USERNAME": "bob", "CLOUDCONSOLE_PASSWORD": "b0b"},
        {"CLOUDCONSOLE_URL": NOWHERE, "CLOUDCONSOLE_PASSWORD": "b0b", "CLOUDCONSOLE_PROFILE": ""},
        {"OS_USERNAME": "bob", "OS_PASSWORD": "b0b", "OS_AUTH_URL": "http://identity.example"},
    ):
        done = cli_user.run("usage", "--profile", "a", **variables)
        assert done.code == 2
        assert "ignored because it may belong to another account: " in done.err
    assert server.log().count("/auth/login/") == before


def run_program(cli_user: CliUser, program: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    environment = clean_environment(**cli_user.environment(**variables))
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)


INTERRUPTED_IN_A_FINALIZER = """
import os, signal, threading
from cloudconsole.cli import completion, main

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)

def run(arguments):
    Finalized()
    threading.Event().wait(300)

completion.run = run
raise SystemExit(main.main(["completion", "bash"]))
"""


def test_an_interrupt_in_a_finalizer_is_not_lost(cli_user: CliUser) -> None:
    done = run_program(cli_user, INTERRUPTED_IN_A_FINALIZER)
    assert (done.returncode, done.stderr) == (130, "")


FAILING_COMMAND = """
from cloudconsole.cli import completion, main
def run(arguments): raise RuntimeError("some\\nthing")
completion.run = run
raise SystemExit(main.main(["completion", "bash"]))
"""


@pytest.mark.parametrize("variable", ["", "1"])
def test_internal_error_is_one_line_unless_debugging(cli_user: CliUser, variable: str) -> None:
    done = run_program(cli_user, FAILING_COMMAND, CLOUDCONSOLE_DEBUG=variable)
    message = r"cloudconsole: internal error: RuntimeError: some\nthing (set CLOUDCONSOLE_DEBUG=1 for a traceback)"
    assert done.returncode == 1
    assert ("Traceback" in done.stderr) if variable else (done.stderr == f"{message}\n")


INTERRUPTED = """
import runpy, sys
class Interrupted:
    def find_spec(self, name, *_):
        if name == "cloudconsole.cli.main":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
runpy.run_module("cloudconsole", run_name="__main__")
"""


def test_ctrl_c_while_loading_is_silent(cli_user: CliUser) -> None:
    """Simulated by interrupting the first import, since a signal cannot be timed that precisely."""
    done = run_program(cli_user, INTERRUPTED)
    assert (done.returncode, done.stderr) == (130, "")
