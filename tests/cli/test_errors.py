"""Errors are one line with an exit code; `-v` adds details, and no secret is ever printed."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.users import PASSWORD, CliUser
from tests.client.scripted_server import ScriptedServer, envelope
from tests.fork_server import run_forked
from tests.harness import CERTIFICATES, RunningServer, clean_environment, running_server

NOWHERE = "http://127.0.0.1:1"


@pytest.fixture(scope="module")
def secure_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """An HTTPS server with a certificate that only the tests trust."""
    certificate = ("--tls-certificate", str(CERTIFICATES / "ec.pem"), "--tls-key", str(CERTIFICATES / "ec-key.pem"))
    with running_server(tmp_path_factory.mktemp("secure"), *certificate) as running:
        yield running


def options(base: str, username: str = "demo") -> list[str]:
    return ["--url", base, "--username", username, "--timeout", "5"]


def test_success_exits_with_0(demo_user: CliUser) -> None:
    assert demo_user.run("urls").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("domain", "1"), "There is no domain with this ID."),
        (("call", "GetEverything"), "Unknown action."),
        (("call", "GetDomainDetail"), "The field 'domainId' is required."),
    ],
)
def test_rejected_request_exits_with_1(demo_user: CliUser, arguments: tuple[str, ...], message: str) -> None:
    done = demo_user.run(*arguments)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"cloudconsole: {message}")
    assert done.err.count("\n") == 1


def test_wrong_credentials_exit_with_1(cli_user: CliUser, server: RunningServer) -> None:
    done = cli_user.run("login", *options(server.base, "nobody"), CLOUDCONSOLE_PASSWORD="wr0ng-secret")
    assert done.code == 1
    assert done.err == "cloudconsole: The username or password is wrong, or the account is disabled.\n"
    assert not cli_user.sessions_file.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("usage",),
        ("usage", "--url", NOWHERE),
        ("usage", *options(NOWHERE)),
        ("usage", "--url", "console.example.com"),
        ("usage", "--url", "http://user:s3cret@console.example.com"),
        ("usage", "--url", "http://console.example.com/?a=1"),
        ("usage", "--url", "http://[console"),
        ("usage", "--url", "http://256.256.256.256", "--username", "demo", "--password-file", "/dev/null"),
        ("usage", "--url", "http://h/" + "x" * 70_000, "--username", "demo", "--password-file", "/dev/null"),
        ("domain", "\udcff"),
        ("call", "\udcff"),
        ("call", "GetNews", "a=\udcff"),
        ("usage", "--timeout", "0"),
        ("usage", "--timeout", "nan"),
        ("usage", "--watch", "soon"),
        ("usage", "--watch", "0.4"),
        ("call", "GetNews", "--output", "csv"),
        ("call", "GetNews", "--timeout", "5", "-x"),
        ("usage", "--output", "xml"),
        ("usage", "--password", "s3cret"),
        ("usage", *options(NOWHERE), "--ca-file", "not/there.pem", "--password-file", "/dev/null"),
        ("flavors", "--vcpus", "0"),
        ("flavors", "--ram", "-1"),
        ("domain",),
        ("call",),
        ("completion", "tcsh"),
        ("unheard-of",),
    ],
)
def test_usage_error_exits_with_2(cli_user: CliUser, arguments: tuple[str, ...]) -> None:
    done = cli_user.run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("cloudconsole: ")
    assert done.err.count("\n") == 1
    assert "s3cret" not in done.err


def test_invalid_variable_exits_with_2(cli_user: CliUser) -> None:
    done = cli_user.run("usage", CLOUDCONSOLE_URL="console")
    assert done.code == 2
    assert done.err.startswith("cloudconsole: CLOUDCONSOLE_URL: must be a URL")


def test_connection_failure_exits_with_3(cli_user: CliUser) -> None:
    done = cli_user.run("usage", *options(NOWHERE)[:-1], "1", CLOUDCONSOLE_PASSWORD=PASSWORD)
    assert (done.code, done.out) == (3, "")
    assert done.err == f"cloudconsole: cannot reach {NOWHERE}: [Errno 111] Connection refused\n"


def test_untrusted_certificate_exits_with_3(cli_user: CliUser, secure_server: RunningServer) -> None:
    done = cli_user.run("usage", *options(secure_server.base)[:-1], "1", CLOUDCONSOLE_PASSWORD=PASSWORD)
    assert done.code == 3
    assert "certificate" in done.err


@pytest.mark.parametrize("trust", [("--ca-file", str(CERTIFICATES / "ec.pem")), ("--insecure",)])
def test_certificate_can_be_trusted_by_option(
    cli_user: CliUser, secure_server: RunningServer, trust: tuple[str, ...]
) -> None:
    done = cli_user.run("usage", *options(secure_server.base), *trust, CLOUDCONSOLE_PASSWORD=PASSWORD)
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("trust", [("--ca-file", "ca.pem"), ("--insecure",)])
def test_login_saves_ca_file_but_not_insecure(
    cli_user: CliUser, secure_server: RunningServer, trust: tuple[str, ...]
) -> None:
    (cli_user.home / "ca.pem").write_bytes((CERTIFICATES / "ec.pem").read_bytes())
    assert cli_user.run("login", *options(secure_server.base), *trust, CLOUDCONSOLE_PASSWORD=PASSWORD).code == 0
    assert cli_user.saved_sessions()["ca_file"] == (str(cli_user.home / "ca.pem") if len(trust) == 2 else None)
    assert cli_user.run("urls", "--timeout", "1").code == (0 if len(trust) == 2 else 3)


def test_ca_file_without_a_certificate_is_rejected(cli_user: CliUser, secure_server: RunningServer) -> None:
    (cli_user.home / "ca.pem").write_text("nothing\n")
    done = cli_user.run("usage", *options(secure_server.base), "--ca-file", "ca.pem", CLOUDCONSOLE_PASSWORD=PASSWORD)
    assert (done.code, done.err) == (2, "cloudconsole: ca.pem: contains no PEM certificate\n")


def test_missing_region_lists_the_available_ones(cli_user: CliUser, tmp_path_factory: pytest.TempPathFactory) -> None:
    regions = ("--identity", "http://identity.example/v3,http://other.example/v3")
    with running_server(tmp_path_factory.mktemp("regions"), *regions) as server:
        done = cli_user.run("usage", *options(server.base), CLOUDCONSOLE_PASSWORD=PASSWORD)
        assert done.code == 2
        assert done.err.startswith("cloudconsole: --region is required; the console offers: http://identity")
        region = ("--region", "http://identity.example/v3")
        assert cli_user.run("usage", *options(server.base), *region, CLOUDCONSOLE_PASSWORD=PASSWORD).code == 0


def test_server_that_is_not_a_console_is_a_one_line_error(cli_user: CliUser) -> None:
    server = "import http.server as h; s = h.HTTPServer(('127.0.0.1', 0), h.SimpleHTTPRequestHandler)"
    server += "; print(s.server_port, flush=True); s.serve_forever()"
    process = subprocess.Popen(
        [sys.executable, "-c", server], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=cli_user.home
    )
    try:
        assert process.stdout is not None
        base = f"http://127.0.0.1:{process.stdout.readline().strip()}"
        done = cli_user.run("usage", *options(base), CLOUDCONSOLE_PASSWORD=PASSWORD)
    finally:
        process.kill()
        process.communicate()
    assert done.code == 1
    assert done.err.startswith("cloudconsole: ")
    assert done.err.count("\n") == 1


def test_verbose_adds_error_details(demo_user: CliUser, server: RunningServer) -> None:
    done = demo_user.run("domain", "1", "-v")
    first, *details = done.err.splitlines()
    assert first == "cloudconsole: There is no domain with this ID."
    shown = dict(line.removeprefix("cloudconsole:   ").split(": ", 1) for line in details)
    assert shown.pop("request id")
    assert shown == {"code": "404", "error": "domain_not_found", "field": "domainId", "address": server.base}


def test_verbose_adds_the_cause(cli_user: CliUser) -> None:
    with ScriptedServer() as scripted:
        scripted.actions = [envelope({}, code=401)]
        done = cli_user.run("usage", *options(scripted.base), "--region", "r", "-v", CLOUDCONSOLE_PASSWORD=PASSWORD)
    assert "cloudconsole:   cause: LoginRequired: so it is" in done.err


def test_unsupported_proxy_is_a_usage_error(cli_user: CliUser, server: RunningServer) -> None:
    done = cli_user.run(
        "usage", *options(server.base), CLOUDCONSOLE_PASSWORD=PASSWORD, ALL_PROXY="socks5://127.0.0.1:1", NO_PROXY=""
    )
    assert done.code == 2
    assert "SOCKS" in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [("usage",), ("whoami",), ("domain", "1"), ("call", "Nope"), ("call", "GetNews", "--timeout", "9")]
)
def test_no_command_prints_a_secret(demo_user: CliUser, arguments: tuple[str, ...]) -> None:
    secrets = [PASSWORD, *(cookie["value"] for cookie in demo_user.saved_sessions()["sessions"][0]["cookies"])]
    assert len(secrets) == 3
    done = demo_user.run(*arguments, "-v", CLOUDCONSOLE_PASSWORD=PASSWORD)
    for secret in secrets:
        assert secret not in done.out + done.err


def test_failed_login_does_not_print_the_password(cli_user: CliUser, server: RunningServer) -> None:
    for base in (server.base, NOWHERE):
        done = cli_user.run("login", *options(base)[:-1], "1", "-v", CLOUDCONSOLE_PASSWORD="wr0ng-secret")
        assert done.code in (1, 3)
        assert "wr0ng-secret" not in done.out + done.err


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


@pytest.mark.parametrize(
    "arguments",
    [("usage",), ("costs", "--output", "csv"), ("costs", "--plot"), ("call", "GetNews"), ("whoami",)],
)
def test_unwritable_output_is_a_one_line_error(demo_user: CliUser, arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = run_forked(arguments, clean_environment(**demo_user.environment()), stdout=full.fileno())
    assert (done.returncode, done.stderr) == (1, "cloudconsole: output: No space left on device\n")


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"http_proxy": "http://[::1"}, "invalid proxy"),
        ({"http_proxy": "ftp://u:s3cret@proxy"}, "invalid proxy"),
        ({"SSL_CERT_FILE": "/not/there"}, "cannot set up TLS: No such file"),
        ({"SSLKEYLOGFILE": "/not/there"}, "cannot set up TLS: No such file"),
    ],
)
def test_invalid_network_variables_are_usage_errors(cli_user: CliUser, variables: dict[str, str], message: str) -> None:
    done = cli_user.run("usage", *options("https://127.0.0.1:1"), CLOUDCONSOLE_PASSWORD=PASSWORD, **variables)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"cloudconsole: {message}")
    assert done.err.count("\n") == 1
    assert "s3cret" not in done.err


@pytest.mark.parametrize(
    ("closed", "arguments", "code", "message"),
    [
        (0, ("urls",), 0, ""),
        (0, ("usage", "--username", "nobody"), 2, "cloudconsole: no password"),
        (1, ("urls",), 1, "cloudconsole: output: "),
        (1, ("costs", "--plot"), 1, "cloudconsole: output: "),
        (1, ("--help",), 0, "usage: cloudconsole"),
        (1, ("usage", "--nope"), 2, "cloudconsole: unknown option --nope"),
        (2, ("domain", "1"), 1, ""),
        (2, ("usage", "--nope"), 2, ""),
    ],
)
def test_closed_stream_causes_no_crash(
    demo_user: CliUser, closed: int, arguments: tuple[str, ...], code: int, message: str
) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}>&-', "sh", sys.executable, "-m", "cloudconsole", *arguments],
        env=clean_environment(**demo_user.environment()),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr[: len(message) or None]) == (code, message)


FAILING_COMMAND = """
import sys
from cloudconsole.cli import main
from cloudconsole.cli import completion
def run(arguments): raise RuntimeError("some\\nthing")
completion.run = run
raise SystemExit(main.main(["completion", "bash"]))
"""


INTERRUPTED_IN_A_FINALIZER = """
import os, signal, time
from cloudconsole.cli import completion, main

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)

def run(arguments):
    Finalized()
    time.sleep(60)

completion.run = run
raise SystemExit(main.main(["completion", "bash"]))
"""


def test_an_interrupt_in_a_finalizer_is_not_lost(cli_user: CliUser) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IN_A_FINALIZER],
        env=clean_environment(**cli_user.environment()),
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.parametrize("variable", ["", "1"])
def test_internal_error_is_one_line_unless_debugging(cli_user: CliUser, variable: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FAILING_COMMAND],
        env=clean_environment(**cli_user.environment(CLOUDCONSOLE_DEBUG=variable)),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
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
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        env=clean_environment(**cli_user.environment()),
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (130, b"")
