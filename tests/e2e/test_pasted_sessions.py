"""Example sessions to paste: those that `serve` prints work unchanged, and the documents show the same."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cloudconsole.server.commands.banner import curl_session, python_session
from tests.harness import RunningServer, clean_environment

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
HTTP_API = ROOT / "docs/guide/http-api.md"
CURL_TITLE = "Example session with curl:\n\n"
PYTHON_TITLE = "The same in Python, standard library only:\n\n"

needs_curl = pytest.mark.skipif(
    shutil.which("curl") is None and os.environ.get("CI") != "true", reason="curl is not installed"
)


def run(*command: str, text: str) -> str:
    """Run a program with this text as input and return its output; it must not print errors."""
    done = subprocess.run(
        command, input=text, env=clean_environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def printed_curl_session(banner: str) -> str:
    return banner.partition(CURL_TITLE)[2].partition(PYTHON_TITLE)[0]


def printed_python_session(banner: str) -> str:
    return banner.partition(PYTHON_TITLE)[2]


def code_block(document: Path, language: str, containing: str) -> str:
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", document.read_text(), re.DOTALL | re.MULTILINE)
    (block,) = [block for block in blocks if containing in block]
    return str(block)


@needs_curl
def test_printed_curl_session_returns_the_usage(server: RunningServer) -> None:
    envelope = json.loads(run("bash", "-eu", text=printed_curl_session(server.banner)))
    assert envelope["code"] == 200
    assert envelope["data"]["maxTotalInstances"] == 20
    assert envelope["data"]["totalInstancesUsed"] == 4


@needs_curl
def test_printed_curl_session_works_in_a_plain_shell(server: RunningServer) -> None:
    envelope = json.loads(run("sh", text=printed_curl_session(server.banner)))
    assert envelope["data"]["totalInstancesUsed"] == 4


def test_printed_python_session_returns_the_flavors(server: RunningServer) -> None:
    printed = run(sys.executable, "-I", "-", text=printed_python_session(server.banner))
    assert (
        printed
        == str(
            {"vcpus": [1, 2, 4, 8, 16], "ram": [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536]},
        )
        + "\n"
    )


def test_readme_shows_the_printed_curl_session() -> None:
    here = "http://127.0.0.1:8000"
    assert code_block(README, "sh", "jar=$(mktemp)") == curl_session(here, f"{here}/v3")


def test_http_api_page_shows_the_printed_python_session() -> None:
    here = "http://127.0.0.1:8000"
    assert code_block(HTTP_API, "python", "CookieJar") == python_session(here, f"{here}/v3")
