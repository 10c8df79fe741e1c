"""What a console's operator does, by the admin command."""

import json
from pathlib import Path
from typing import Any

from tests.e2e.processes import command
from tests.harness import RunningServer

DOMAIN = "4711"
"""A domain of the tenant that the console made for the project acme."""


def data_of(console: RunningServer) -> Path:
    return console.log_file.parent / "data"


def operate(console: RunningServer, *arguments: str) -> Any:
    done = command("admin", *arguments, "--data", str(data_of(console)), "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def publish(console: RunningServer) -> None:
    """News and an address for all, and an address and a domain for acme, whose people have logged in before."""
    operate(console, "news", "add", "--title", "A new region", "--url", "https://example.com/news")
    address = ("url", "add", "--type", "link", "--url")
    operate(console, *address, "https://example.com/all")
    operate(console, *address, "https://example.com/acme", "--tenant", "acme")
    domain = {"name": "www.example.com", "service-areas": "hk;ov", "service-type": "web", "status": "Deployed"}
    flags = [text for name, value in domain.items() for text in (f"--{name}", value)]
    operate(console, "domain", "add", DOMAIN, "--tenant", "acme", "--cname", "www.example.com.cdn.example", *flags)
