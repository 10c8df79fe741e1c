"""The page on the Python client, and the README: every example program works unchanged."""

import re
import subprocess
import sys

import pytest

from tests.docs.code_blocks import blocks
from tests.fork_server import MAX_WAIT_SECONDS
from tests.harness import RunningServer, clean_environment

PROGRAMS = [*blocks("README.md", "python"), *blocks("docs/guide/python-client.md", "python")]
PRINTED = [
    "16 1131.6834\n",
    "4 of 20 hosts, 16 free\n(4096, 8192, 16384)\ninstance 915.408\nimage 7.1064\nvolume 209.169\n",
    "0.203125 Sixteen-core configurations for everyone\n",
    r"There is no domain with this ID\. 404 domain_not_found domainId [0-9a-f]{16}" + "\n",
    "4\n",
]


@pytest.mark.parametrize(("program", "printed"), list(zip(PROGRAMS, PRINTED, strict=True)))
def test_every_program_prints_the_expected_output(server: RunningServer, program: str, printed: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program.replace("http://127.0.0.1:8000", server.base)],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=MAX_WAIT_SECONDS,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout == printed or re.fullmatch(printed, done.stdout), done.stdout
