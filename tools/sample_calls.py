"""Every action called at a real console, in process, over a part of the sample cloud at a fixed moment."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import urlencode

import yaml

from cloudconsole.operator.cloud_file import load
from cloudconsole.operator.sample import SAMPLE_FILE, SAMPLE_PASSWORDS
from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.operations import OPEN
from cloudconsole.store.sqlite.engine import opened
from cloudconsole.store.sqlite.store import prepare

BASE: Final = "http://127.0.0.1:8000"
PARAMETERS: Final = {"domainId": "206813"}
MOMENT: Final = datetime(2026, 11, 15, 12, 20, tzinfo=UTC).timestamp()
MOST_ITEMS: Final = 3
"""Of what all tenants share: enough to see its shape."""

Call = tuple[str, str, dict[str, str], bytes]


class FixedClock:
    def now(self) -> float:
        return MOMENT


def recorded_examples() -> str:
    """What was sent and answered, by the names of actions and operations, as JSON."""
    with TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        _fill(data, Path(folder) / "cloud.yaml")
        console = Console(Settings(data=data, access_log=False), FixedClock())
        try:
            examples = asyncio.run(_call_all(console))
        finally:
            console.close()
    return json.dumps(examples, ensure_ascii=False, indent=1) + "\n"


def _fill(data: Path, file: Path) -> None:
    cloud = yaml.safe_load(SAMPLE_FILE.read_text("utf-8"))
    for shared in ("flavors", "news", "urls"):
        cloud[shared] = cloud[shared][:MOST_ITEMS]
    file.write_text(yaml.safe_dump(cloud, allow_unicode=True), "utf-8")
    prepare(data)
    with opened(data, "cloud") as engine:
        load(engine, file, zone=UTC, now=int(MOMENT), actor="documents")


async def _call_all(console: Console) -> dict[str, Any]:
    cookies, answer = await _send(console, ("GET", "/api/", {}, b""))
    examples = {OPEN.name: {"body": {}, "answer": json.loads(answer)}}
    token = cookies["csrftoken"]
    user = {"username": "demo", "password": SAMPLE_PASSWORDS["demo"]}
    login = {"csrfmiddlewaretoken": token, **user, "region": f"{BASE}/v3"}
    form = {"cookie": _cookie_header(cookies), "content-type": "application/x-www-form-urlencoded"}
    given, _ = await _send(console, ("POST", "/auth/login/", form, urlencode(login).encode()))
    headers = {"cookie": _cookie_header(given), "x-csrftoken": token, "content-type": "application/json"}
    for action in ACTIONS:
        body = {"action": action.name, **{name: PARAMETERS[name] for name in action.parameters}}
        _, answer = await _send(console, ("POST", "/api/", headers, json.dumps(body).encode()))
        examples[action.name] = {"body": body, "answer": json.loads(answer)}
    return examples


async def _send(console: Console, call: Call) -> tuple[dict[str, str], bytes]:
    """The cookies that a call sets, and its answer, which must be good."""
    method, path, headers, body = call
    pairs = {"host": BASE.partition("//")[2], "content-length": str(len(body)), **headers}
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "http_version": "1.1",
        "scheme": "http",
        "client": ("127.0.0.1", 50000),
        "headers": [(name.encode(), value.encode()) for name, value in pairs.items()],
    }
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body}

    async def send(message: Any) -> None:
        sent.append(message)

    await console(scope, receive, send)
    answer = b"".join(message["body"] for message in sent[1:])
    if sent[0]["status"] != 200:
        raise RuntimeError(f"{method} {path}: {answer.decode()}")
    lines = [value.decode().partition(";")[0] for name, value in sent[0]["headers"] if name == b"set-cookie"]
    return {line.partition("=")[0]: line.partition("=")[2] for line in lines}, answer


def _cookie_header(cookies: dict[str, str]) -> str:
    return "; ".join(f"{name}={value}" for name, value in cookies.items())
