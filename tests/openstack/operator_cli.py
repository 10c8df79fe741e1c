"""Operator changes through the admin command."""

import json
from pathlib import Path
from typing import Any

from tests.e2e.processes import command
from tests.harness import RunningServer

DOMAIN = "4711"
"""A domain of the tenant that the console created for the project acme."""


def data_dir(console: RunningServer) -> Path:
    return console.log_file.parent / "data"


def run_admin(console: RunningServer, *arguments: str) -> Any:
    done = command("admin", *arguments, "--data", str(data_dir(console)), "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def publish_content(console: RunningServer) -> None:
    """Publish news and a URL for all, and a URL and a domain for acme, whose users must have logged in once."""
    run_admin(console, "news", "add", "--title", "A new region", "--url", "https://example.com/news")
    add_url = ("url", "add", "--type", "link", "--url")
    run_admin(console, *add_url, "https://example.com/all")
    run_admin(console, *add_url, "https://example.com/acme", "--tenant", "acme")
    domain = {"name": "www.example.com", "service-areas": "hk;ov", "service-type": "web", "status": "Deployed"}
    flags = [text for name, value in domain.items() for text in (f"--{name}", value)]
    run_admin(console, "domain", "add", DOMAIN, "--tenant", "acme", "--cname", "www.example.com.cdn.example", *flags)
