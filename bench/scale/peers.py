"""Other programs that people know, each as it is run, on one core: moto, Skyline and Horizon."""

import hashlib
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench.client import HOST, ask, plain_request
from bench.figures import Refused
from bench.load import Load
from bench.servers import ROOT, UVICORN_AT_ITS_FASTEST, Server, clean_environment, free_port, started
from lab.install import install_environment

VENV: Final = ROOT / ".venv-bench-scale"
REQUIREMENTS: Final = ROOT / "requirements" / "bench-scale.txt"
PYTHON: Final = VENV / "bin" / "python"

_MOTO_CALLER: Final = (
    "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260101/us-east-1/sts/aws4_request, SignedHeaders=host, Signature=none"
)
_SKYLINE_SETTINGS: Final = """
default:
  database_url: sqlite:///{folder}/skyline.db
  log_dir: {folder}
  debug: false
  secret_key: {key}
openstack:
  keystone_url: http://127.0.0.1:9/v3/
"""


def versions(requirements: str) -> str:
    """What is installed, out of the lock."""
    names = {"skyline-apiserver": "Skyline", "moto": "moto", "horizon": "Horizon"}
    found = {name: re.search(rf"^{name}==(\S+)", requirements, re.MULTILINE) for name in names}
    return ", ".join(f"{names[name]} {version[1]}" for name, version in found.items() if version)


class Peer(Struct, frozen=True):
    """A program of others, and a call that it answers without asking anyone."""

    name: str
    server: Server
    load: Load


def install() -> None:
    """An environment of their own, made anew when its lock has changed; Horizon's static files are prepared in it."""
    stamp, digest = VENV / "installed", hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return
    sys.stderr.write(f"  installing what is compared with into {VENV.name}: where libsass has no wheel, it is built\n")
    try:
        install_environment(VENV, REQUIREMENTS)
    except subprocess.CalledProcessError as problem:
        raise Refused(f"what is compared with cannot be installed: {problem}") from problem
    shutil.rmtree(_horizon_folder(), ignore_errors=True)
    _horizon_folder().mkdir()
    for command in (("collectstatic", "--noinput"), ("compress", "--force")):
        done = subprocess.run(
            [str(VENV / "bin" / "django-admin"), *command, "-v0"],
            env=clean_environment() | _horizon_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise Refused(f"Horizon's files could not be prepared: {done.stderr[-500:]}")
    stamp.write_text(digest)


@contextmanager
def moto() -> Iterator[Peer]:
    """Its server as it comes, answering an action of the AWS query protocol."""
    port = free_port()
    body = "Action=GetCallerIdentity&Version=2011-06-15"
    headers = {"Authorization": _MOTO_CALLER, "Content-Type": "application/x-www-form-urlencoded"}
    command = [str(VENV / "bin" / "moto_server"), "-H", HOST, "-p", str(port)]
    with started("moto", command, port, program=PYTHON) as server:
        yield _peer("moto, GetCallerIdentity", server, plain_request("POST", "/", headers, body), b"<Arn>arn:aws:sts:")


@contextmanager
def skyline() -> Iterator[Peer]:
    """Its API server under uvicorn, as its own script runs it, with an open route: its public configuration.

    Of its routes that need no login, those that ask no Keystone do the same: they make a record of settings.
    """
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="bench-skyline-") as folder:
        settings = _SKYLINE_SETTINGS.format(folder=folder, key=secrets.token_hex(16))
        (Path(folder) / "skyline.yaml").write_text(settings)
        fastest = [flag for flag in UVICORN_AT_ITS_FASTEST if flag not in ("--lifespan", "off")]
        command = ["-m", "uvicorn", "skyline_apiserver.main:app", "--port", str(port), *fastest]
        with started("Skyline", command, port, environment={"OS_CONFIG_DIR": folder}, program=PYTHON) as server:
            request = plain_request("GET", "/api/v1/config", {})
            yield _peer("Skyline, its open configuration", server, request, b'"default_region":"')


@contextmanager
def horizon() -> Iterator[Peer]:
    """Its sign-in page, under gunicorn."""
    port = free_port()
    command = [
        *("-m", "gunicorn", "openstack_dashboard.wsgi:application", "--workers", "1", "--worker-class", "gthread"),
        *("--threads", "2", "--keep-alive", "75", "--log-level", "warning", "--bind", f"{HOST}:{port}"),
    ]
    with started("Horizon", command, port, environment=_horizon_environment(), program=PYTHON) as server:
        request = plain_request("GET", "/auth/login/", {})
        yield _peer("Horizon, the sign-in page", server, request, b'<input type="password" name="password"')


def _peer(name: str, server: Server, request: bytes, has: bytes) -> Peer:
    """`has` is what makes an answer the right one: of some programs, each differs in a number or a token."""
    reply = ask(server.port, request)
    if reply.status != 200 or has not in reply.body:
        raise Refused(f"{name} does not answer as it should: {reply.status} {reply.body[:300]!r}")
    return Peer(name, server, Load(request, has, is_partial=True))


def _horizon_folder() -> Path:
    return VENV / "horizon"


def _horizon_environment() -> dict[str, str]:
    return {
        "BENCH_HORIZON_FOLDER": str(_horizon_folder()),
        "BENCH_HORIZON_KEY": secrets.token_hex(32),
        "DJANGO_SETTINGS_MODULE": "openstack_dashboard.settings",
        "PYTHONPATH": str(Path(__file__).with_name("horizon")),
        "PYTHONWARNINGS": "ignore",
    }
