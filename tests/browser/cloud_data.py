"""Change the cloud of a running console, as an operator would."""

from collections.abc import Callable
from tempfile import NamedTemporaryFile
from typing import Any

import yaml
from playwright.sync_api import Page

from cloudconsole.operator.sample import SAMPLE_FILE
from cloudconsole.testing import ConsoleServer
from tests.fork_server import run_forked

Cloud = dict[str, Any]


def admin(console: ConsoleServer, *arguments: str) -> None:
    """Run `cloudconsole admin` on the console's store. The next reset undoes it."""
    result = run_forked(["admin", *arguments, "--data", str(console.data)], {})
    assert result.returncode == 0, result.stderr


def load_cloud(console: ConsoleServer, change: Callable[[Cloud, Cloud], None]) -> None:
    """Load the sample cloud after `change`, which receives the cloud and the tenant `demo`."""
    cloud = yaml.safe_load(SAMPLE_FILE.read_text())
    change(cloud, cloud["tenants"][0])
    with NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(cloud, file, allow_unicode=True)
        file.flush()
        admin(console, "load", file.name, "--force")


HOSTILE = [
    "<img src=x onerror=\"document.body.dataset.ran='1'\">",
    "</script><script>document.body.dataset.ran='1'</script>",
    "\"'><svg/onload=document.body.dataset.ran=1>",
    "{{7*7}} ${7*7} {names} %s",
    "Wor" + "d" * 250,
]
"""Injection attempts, and a word that is too long for any layout."""


def script_executed(page: Page) -> bool:
    """Whether one of the hostile texts was executed as a script."""
    return bool(page.evaluate("'ran' in document.body.dataset"))
