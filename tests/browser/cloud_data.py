"""How tests change the cloud that a console shows: as its operator would, while it serves."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from playwright.sync_api import Page

from cloudconsole.operator.sample import SAMPLE_FILE
from cloudconsole.testing import ConsoleServer
from tests.warm import run_warm

Cloud = dict[str, Any]


def admin(console: ConsoleServer, *arguments: str) -> None:
    """`cloudconsole admin` on the console's store; it is all as before with the next reset."""
    ended = run_warm(["admin", *arguments, "--data", str(console.data)], {})
    assert ended.returncode == 0, ended.stderr


def change_cloud(console: ConsoleServer, folder: Path, change: Callable[[Cloud, Cloud], None]) -> None:
    """Load the sample's cloud after a change, which gets it and its first tenant, that of `demo`."""
    cloud = yaml.safe_load(SAMPLE_FILE.read_text())
    change(cloud, cloud["tenants"][0])
    file = folder / "cloud.yaml"
    file.write_text(yaml.safe_dump(cloud, allow_unicode=True))
    admin(console, "load", str(file), "--force")


HOSTILE = [
    "<img src=x onerror=\"document.body.dataset.ran='1'\">",
    "</script><script>document.body.dataset.ran='1'</script>",
    "\"'><svg/onload=document.body.dataset.ran=1>",
    "{{7*7}} ${7*7} {names} %s",
    "Wor" + "d" * 250,
]
"""Texts that try to be more than text, and one that does not fit anywhere."""


def ran_scripts(page: Page) -> bool:
    """Whether one of the hostile texts came to life."""
    return bool(page.evaluate("'ran' in document.body.dataset"))
