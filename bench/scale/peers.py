"""Comparable products, each in its documented setup on one core: moto, Skyline and Horizon."""

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

from bench.measurements import InvalidRun
from bench.raw_http import HOST, build_request, fetch
from bench.servers import FASTEST_UVICORN_FLAGS, ROOT, Server, clean_environment, free_port, run_server
from bench.wrk import Workload
from lab.install import install_environment

VENV: Final = ROOT / ".venv-bench-scale"
REQUIREMENTS: Final = ROOT / "requirements" / "bench-scale.txt"
PYTHON: Final = VENV / "bin" / "python"

_MOTO_AUTHORIZATION: Final = (
    "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260101/us-east-1/sts/aws4_request, SignedHeaders=host, Signature=none"
)
_SKYLINE_SETTINGS: Final = """
default:
  database_url: sqlite:///{directory}/skyline.db
  log_dir: {directory}
  debug: false
  secret_key: {key}
openstack:
  keystone_url: http://127.0.0.1:9/v3/
"""


def versions(requirements: str) -> str:
    """Return the locked versions."""
    names = {"skyline-apiserver": "Skyline", "moto": "moto", "horizon": "Horizon"}
    found = {name: re.search(rf"^{name}==(\S+)", requirements, re.MULTILINE) for name in names}
    return ", ".join(f"{names[name]} {version[1]}" for name, version in found.items() if version)


class Peer(Struct, frozen=True):
    """A product and a request that it serves without a backend."""

    name: str
    server: Server
    workload: Workload


def install() -> None:
    """Install the products and Horizon's static files into their own environment, again when the lock changes."""
    stamp, digest = VENV / "installed", hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return
    sys.stderr.write(f"  installing the compared products into {VENV.name}; libsass is compiled if it has no wheel\n")
    try:
        install_environment(VENV, REQUIREMENTS)
    except subprocess.CalledProcessError as error:
        raise InvalidRun(f"installing the compared products failed: {error}") from error
    shutil.rmtree(_horizon_directory(), ignore_errors=True)
    _horizon_directory().mkdir()
    for command in (("collectstatic", "--noinput"), ("compress", "--force")):
        done = subprocess.run(
            [str(VENV / "bin" / "django-admin"), *command, "-v0"],
            env=clean_environment() | _horizon_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise InvalidRun(f"building Horizon's static files failed: {done.stderr[-500:]}")
    stamp.write_text(digest)


@contextmanager
def moto() -> Iterator[Peer]:
    """Run its server with default options; request an action of the AWS query protocol."""
    port = free_port()
    body = "Action=GetCallerIdentity&Version=2011-06-15"
    headers = {"Authorization": _MOTO_AUTHORIZATION, "Content-Type": "application/x-www-form-urlencoded"}
    command = [str(VENV / "bin" / "moto_server"), "-H", HOST, "-p", str(port)]
    with run_server("moto", command, port, program=PYTHON) as server:
        yield _peer("moto, GetCallerIdentity", server, build_request("POST", "/", headers, body), b"<Arn>arn:aws:sts:")


@contextmanager
def skyline() -> Iterator[Peer]:
    """Run its API server under uvicorn; request its public configuration.

    The routes that need neither a login nor Keystone all return settings.
    """
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="bench-skyline-") as directory:
        settings = _SKYLINE_SETTINGS.format(directory=directory, key=secrets.token_hex(16))
        (Path(directory) / "skyline.yaml").write_text(settings)
        fastest = [flag for flag in FASTEST_UVICORN_FLAGS if flag not in ("--lifespan", "off")]
        command = ["-m", "uvicorn", "skyline_apiserver.main:app", "--port", str(port), *fastest]
        with run_server("Skyline", command, port, environment={"OS_CONFIG_DIR": directory}, program=PYTHON) as server:
            request = build_request("GET", "/api/v1/config", {})
            yield _peer("Skyline, public configuration", server, request, b'"default_region":"')


@contextmanager
def horizon() -> Iterator[Peer]:
    """Run it under gunicorn; request its sign-in page."""
    port = free_port()
    command = [
        *("-m", "gunicorn", "openstack_dashboard.wsgi:application", "--workers", "1", "--worker-class", "gthread"),
        *("--threads", "2", "--keep-alive", "75", "--log-level", "warning", "--bind", f"{HOST}:{port}"),
    ]
    with run_server("Horizon", command, port, environment=_horizon_environment(), program=PYTHON) as server:
        request = build_request("GET", "/auth/login/", {})
        yield _peer("Horizon, sign-in page", server, request, b'<input type="password" name="password"')


def _peer(name: str, server: Server, request: bytes, expected: bytes) -> Peer:
    """Accept responses that contain `expected`: some products put a token or a request id into each response."""
    response = fetch(server.port, request)
    if response.status != 200 or expected not in response.body:
        raise InvalidRun(f"{name} sends an unexpected response: {response.status} {response.body[:300]!r}")
    return Peer(name, server, Workload(request, expected, is_substring=True))


def _horizon_directory() -> Path:
    return VENV / "horizon"


def _horizon_environment() -> dict[str, str]:
    return {
        "BENCH_HORIZON_FOLDER": str(_horizon_directory()),
        "BENCH_HORIZON_KEY": secrets.token_hex(32),
        "DJANGO_SETTINGS_MODULE": "openstack_dashboard.settings",
        "PYTHONPATH": str(Path(__file__).with_name("horizon")),
        "PYTHONWARNINGS": "ignore",
    }
