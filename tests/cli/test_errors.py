"""What goes wrong is one line with an exit code; `-v` tells more, and nothing ever tells a secret."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.users import PASSWORD, Person
from tests.client.scripted_server import ScriptedServer, envelope
from tests.fork_server import run_warm
from tests.harness import CERTIFICATES, RunningServer, clean_environment, running_server

NOWHERE = "http://127.0.0.1:1"


@pytest.fixture(scope="module")
def secure_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """By https, with a certificate that nobody but the tests trusts."""
    certificate = ("--tls-certificate", str(CERTIFICATES / "ec.pem"), "--tls-key", str(CERTIFICATES / "ec-key.pem"))
    with running_server(tmp_path_factory.mktemp("secure"), *certificate) as running:
        yield running


def given(base: str, username: str = "demo") -> list[str]:
    return ["--url", base, "--username", username, "--timeout", "5"]


def test_done_is_0(demo_person: Person) -> None:
    assert demo_person.run("urls").code == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("domain", "1"), "There is no domain with this ID."),
        (("call", "GetEverything"), "Unknown action."),
        (("call", "GetDomainDetail"), "The field 'domainId' is required."),
    ],
)
def test_what_the_service_refuses_is_1(demo_person: Person, arguments: tuple[str, ...], told: str) -> None:
    done = demo_person.run(*arguments)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"cloudconsole: {told}")
    assert done.err.count("\n") == 1


def test_wrong_credentials_are_1(person: Person, server: RunningServer) -> None:
    done = person.run("login", *given(server.base, "nobody"), CLOUDCONSOLE_PASSWORD="wr0ng-secret")
    assert done.code == 1
    assert done.err == "cloudconsole: The username or password is wrong, or the account is disabled.\n"
    assert not person.sessions_file.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("usage",),
        ("usage", "--url", NOWHERE),
        ("usage", *given(NOWHERE)),
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
        ("usage", *given(NOWHERE), "--ca-file", "not/there.pem", "--password-file", "/dev/null"),
        ("flavors", "--vcpus", "0"),
        ("flavors", "--ram", "-1"),
        ("domain",),
        ("call",),
        ("completion", "tcsh"),
        ("unheard-of",),
    ],
)
def test_wrong_usage_is_2(person: Person, arguments: tuple[str, ...]) -> None:
    done = person.run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("cloudconsole: ")
    assert done.err.count("\n") == 1
    assert "s3cret" not in done.err


def test_a_wrong_variable_is_2(person: Person) -> None:
    done = person.run("usage", CLOUDCONSOLE_URL="console")
    assert done.code == 2
    assert done.err.startswith("cloudconsole: CLOUDCONSOLE_URL: must be a URL")


def test_no_connection_is_3(person: Person) -> None:
    done = person.run("usage", *given(NOWHERE)[:-1], "1", CLOUDCONSOLE_PASSWORD=PASSWORD)
    assert (done.code, done.out) == (3, "")
    assert done.err == f"cloudconsole: cannot reach {NOWHERE}: [Errno 111] Connection refused\n"


def test_an_untrusted_certificate_is_3(person: Person, secure_server: RunningServer) -> None:
    done = person.run("usage", *given(secure_server.base)[:-1], "1", CLOUDCONSOLE_PASSWORD=PASSWORD)
    assert done.code == 3
    assert "certificate" in done.err


@pytest.mark.parametrize("trust", [("--ca-file", str(CERTIFICATES / "ec.pem")), ("--insecure",)])
def test_a_certificate_can_be_trusted(person: Person, secure_server: RunningServer, trust: tuple[str, ...]) -> None:
    done = person.run("usage", *given(secure_server.base), *trust, CLOUDCONSOLE_PASSWORD=PASSWORD)
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("trust", [("--ca-file", "ca.pem"), ("--insecure",)])
def test_what_a_login_trusted_is_kept_but_not_that_it_trusted_anyone(
    person: Person, secure_server: RunningServer, trust: tuple[str, ...]
) -> None:
    (person.folder / "ca.pem").write_bytes((CERTIFICATES / "ec.pem").read_bytes())
    assert person.run("login", *given(secure_server.base), *trust, CLOUDCONSOLE_PASSWORD=PASSWORD).code == 0
    assert person.kept()["ca_file"] == (str(person.folder / "ca.pem") if len(trust) == 2 else None)
    assert person.run("urls", "--timeout", "1").code == (0 if len(trust) == 2 else 3)


def test_a_ca_file_without_a_certificate_is_told(person: Person, secure_server: RunningServer) -> None:
    (person.folder / "ca.pem").write_text("nothing\n")
    done = person.run("usage", *given(secure_server.base), "--ca-file", "ca.pem", CLOUDCONSOLE_PASSWORD=PASSWORD)
    assert (done.code, done.err) == (2, "cloudconsole: ca.pem: contains no PEM certificate\n")


def test_several_regions_are_told_to_choose_from(person: Person, tmp_path_factory: pytest.TempPathFactory) -> None:
    more = ("--identity", "http://identity.example/v3,http://other.example/v3")
    with running_server(tmp_path_factory.mktemp("regions"), *more) as server:
        done = person.run("usage", *given(server.base), CLOUDCONSOLE_PASSWORD=PASSWORD)
        assert done.code == 2
        assert done.err.startswith("cloudconsole: --region is required; the console offers: http://identity")
        region = ("--region", "http://identity.example/v3")
        assert person.run("usage", *given(server.base), *region, CLOUDCONSOLE_PASSWORD=PASSWORD).code == 0


def test_something_else_than_a_console_is_told(person: Person) -> None:
    server = "import http.server as h; s = h.HTTPServer(('127.0.0.1', 0), h.SimpleHTTPRequestHandler)"
    server += "; print(s.server_port, flush=True); s.serve_forever()"
    process = subprocess.Popen(
        [sys.executable, "-c", server], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=person.folder
    )
    try:
        assert process.stdout is not None
        base = f"http://127.0.0.1:{process.stdout.readline().strip()}"
        done = person.run("usage", *given(base), CLOUDCONSOLE_PASSWORD=PASSWORD)
    finally:
        process.kill()
        process.communicate()
    assert done.code == 1
    assert done.err.startswith("cloudconsole: ")
    assert done.err.count("\n") == 1


def test_details_come_with_v(demo_person: Person, server: RunningServer) -> None:
    done = demo_person.run("domain", "1", "-v")
    first, *details = done.err.splitlines()
    assert first == "cloudconsole: There is no domain with this ID."
    told = dict(line.removeprefix("cloudconsole:   ").split(": ", 1) for line in details)
    assert told.pop("request id")
    assert told == {"code": "404", "error": "domain_not_found", "field": "domainId", "address": server.base}


def test_the_cause_comes_with_v(person: Person) -> None:
    with ScriptedServer() as other:
        other.actions = [envelope({}, code=401)]
        done = person.run("usage", *given(other.base), "--region", "r", "-v", CLOUDCONSOLE_PASSWORD=PASSWORD)
    assert "cloudconsole:   cause: LoginRequired: so it is" in done.err


def test_a_proxy_that_cannot_be_used_is_told(person: Person, server: RunningServer) -> None:
    done = person.run(
        "usage", *given(server.base), CLOUDCONSOLE_PASSWORD=PASSWORD, ALL_PROXY="socks5://127.0.0.1:1", NO_PROXY=""
    )
    assert done.code == 2
    assert "SOCKS" in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [("usage",), ("whoami",), ("domain", "1"), ("call", "Nope"), ("call", "GetNews", "--timeout", "9")]
)
def test_nothing_tells_a_secret(demo_person: Person, arguments: tuple[str, ...]) -> None:
    secrets = [PASSWORD, *(cookie["value"] for cookie in demo_person.kept()["sessions"][0]["cookies"])]
    assert len(secrets) == 3
    done = demo_person.run(*arguments, "-v", CLOUDCONSOLE_PASSWORD=PASSWORD)
    for secret in secrets:
        assert secret not in done.out + done.err


def test_a_refused_login_does_not_tell_the_password(person: Person, server: RunningServer) -> None:
    for base in (server.base, NOWHERE):
        done = person.run("login", *given(base)[:-1], "1", "-v", CLOUDCONSOLE_PASSWORD="wr0ng-secret")
        assert done.code in (1, 3)
        assert "wr0ng-secret" not in done.out + done.err


def test_a_password_of_another_account_stays_at_home(person: Person, server: RunningServer) -> None:
    """A profile's console, and variables that are of someone else: theirs is not sent there."""
    person.has_profiles(f'default = "a"\n[profiles.a]\nurl = "{server.base}"\nusername = "demo"\n')
    before = server.log().count("/auth/login/")
    for variables in (
        {"CLOUDCONSOLE_USERNAME": "bob", "CLOUDCONSOLE_PASSWORD": "b0b"},
        {"CLOUDCONSOLE_URL": NOWHERE, "CLOUDCONSOLE_PASSWORD": "b0b", "CLOUDCONSOLE_PROFILE": ""},
        {"OS_USERNAME": "bob", "OS_PASSWORD": "b0b", "OS_AUTH_URL": "http://identity.example"},
    ):
        done = person.run("usage", "--profile", "a", **variables)
        assert done.code == 2
        assert "ignored because it may belong to another account: " in done.err
    assert server.log().count("/auth/login/") == before


@pytest.mark.parametrize(
    "arguments",
    [("usage",), ("costs", "--output", "csv"), ("costs", "--plot"), ("call", "GetNews"), ("whoami",)],
)
def test_an_output_that_cannot_be_written_is_one_line(demo_person: Person, arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = run_warm(arguments, clean_environment(**demo_person.environment()), stdout=full.fileno())
    assert (done.returncode, done.stderr) == (1, "cloudconsole: output: No space left on device\n")


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"http_proxy": "http://[::1"}, "invalid proxy"),
        ({"http_proxy": "ftp://u:s3cret@proxy"}, "invalid proxy"),
        ({"SSL_CERT_FILE": "/not/there"}, "cannot set up TLS: No such file"),
        ({"SSLKEYLOGFILE": "/not/there"}, "cannot set up TLS: No such file"),
    ],
)
def test_variables_of_the_network_that_cannot_be_used_are_told(
    person: Person, variables: dict[str, str], told: str
) -> None:
    done = person.run("usage", *given("https://127.0.0.1:1"), CLOUDCONSOLE_PASSWORD=PASSWORD, **variables)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"cloudconsole: {told}")
    assert done.err.count("\n") == 1
    assert "s3cret" not in done.err


@pytest.mark.parametrize(
    ("closed", "arguments", "code", "told"),
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
def test_a_closed_stream_is_no_fault(
    demo_person: Person, closed: int, arguments: tuple[str, ...], code: int, told: str
) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}>&-', "sh", sys.executable, "-m", "cloudconsole", *arguments],
        env=clean_environment(**demo_person.environment()),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr[: len(told) or None]) == (code, told)


FAULTY = """
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


def test_an_interrupt_in_a_finalizer_is_not_lost(person: Person) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IN_A_FINALIZER],
        env=clean_environment(**person.environment()),
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.parametrize("variable", ["", "1"])
def test_a_fault_of_ours_is_one_line_unless_asked_for(person: Person, variable: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FAULTY],
        env=clean_environment(**person.environment(CLOUDCONSOLE_DEBUG=variable)),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    told = r"cloudconsole: internal error: RuntimeError: some\nthing (set CLOUDCONSOLE_DEBUG=1 for a traceback)"
    assert done.returncode == 1
    assert ("Traceback" in done.stderr) if variable else (done.stderr == f"{told}\n")


INTERRUPTED = """
import runpy, sys
class Interrupted:
    def find_spec(self, name, *_):
        if name == "cloudconsole.cli.main":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
runpy.run_module("cloudconsole", run_name="__main__")
"""


def test_ctrl_c_while_loading_is_silent(person: Person) -> None:
    """In the first milliseconds, which no test can hit: so the first thing that is loaded is interrupted."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        env=clean_environment(**person.environment()),
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (130, b"")
