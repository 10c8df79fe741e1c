"""Example sessions to paste: those that `serve` prints work unchanged, and the documents show the same."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from cloudconsole.server.commands.banner import curl_session, python_session
from tests.docs.code_blocks import blocks
from tests.harness import RunningServer, clean_environment

CURL_TITLE = "Example session with curl:\n\n"
PYTHON_TITLE = "The same in Python, standard library only:\n\n"

FLAVORS = {"vcpus": [1, 2, 4, 8, 16], "ram": [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536]}

needs_curl = pytest.mark.skipif(
    shutil.which("curl") is None and os.environ.get("CI") != "true", reason="curl is not installed"
)


def run(*command: str, text: str) -> str:
    """Run a program with this text as input and return its output; it must not print errors."""
    done = subprocess.run(command, input=text, env=clean_environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@needs_curl
def test_printed_curl_session_returns_the_usage(server: RunningServer) -> None:
    printed = server.banner.partition(CURL_TITLE)[2].partition(PYTHON_TITLE)[0]
    envelope = json.loads(run("sh", "-eu", text=printed))
    assert envelope["code"] == 200
    assert envelope["data"]["maxTotalInstances"] == 20
    assert envelope["data"]["totalInstancesUsed"] == 4


def test_printed_python_session_returns_the_flavors(server: RunningServer) -> None:
    printed = run(sys.executable, "-I", "-", text=server.banner.partition(PYTHON_TITLE)[2])
    assert printed == f"{FLAVORS}\n"


def test_documents_show_the_printed_sessions() -> None:
    here = "http://127.0.0.1:8000"
    assert curl_session(here, f"{here}/v3") in blocks("README.md", "sh")
    assert python_session(here, f"{here}/v3") in blocks("docs/guide/http-api.md", "python")
