"""Record example requests and responses from an in-process console with a part of the sample cloud."""

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
from cloudconsole.server.http.request import Headers, Request
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.extensions import EXTENSIONS
from cloudconsole.spec.operations import OPEN_SESSION
from cloudconsole.store.sqlite.engine import opened
from cloudconsole.store.sqlite.store import prepare

BASE: Final = "http://127.0.0.1:8000"
PARAMETERS: Final[dict[str, dict[str, Any]]] = {
    "GetDomainDetail": {"domainId": "206813"},
    "GetDomains": {"limit": 2},
    "GetEstimate": {
        "items": [
            {"res_type": "instance", "flavor": "m1.medium", "count": 2, "region": "hk-1"},
            {"res_type": "volume", "size": 100, "region": "hk-1"},
        ],
        "hours": 48,
    },
    "GetCostExport": {"month": "2026-10", "format": "csv", "limit": 2},
}
NOW: Final = datetime(2026, 11, 15, 12, 20, tzinfo=UTC).timestamp()
MAX_ITEMS: Final = 3
"""Maximum number of flavors, news and URLs in an example."""

SentRequest = tuple[str, str, dict[str, str], bytes]


class FixedClock:
    def now(self) -> float:
        return NOW


def recorded_examples() -> str:
    """Return request bodies and responses by action or operation, as JSON."""
    with TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        _load_sample(data, Path(folder) / "cloud.yaml")
        console = Console(Settings(data=data, access_log=False), FixedClock())
        try:
            examples = asyncio.run(_call_all(console))
        finally:
            console.close()
    return json.dumps(examples, ensure_ascii=False, indent=1) + "\n"


def _load_sample(data: Path, file: Path) -> None:
    cloud = yaml.safe_load(SAMPLE_FILE.read_text("utf-8"))
    for shared in ("flavors", "news", "urls"):
        cloud[shared] = cloud[shared][:MAX_ITEMS]
    file.write_text(yaml.safe_dump(cloud, allow_unicode=True), "utf-8")
    prepare(data)
    with opened(data, "cloud") as engine:
        load(engine, file, zone=UTC, now=int(NOW), actor="documents")


async def _call_all(console: Console) -> dict[str, Any]:
    cookies, response = await _send(console, ("GET", "/api/", {}, b""))
    examples = {OPEN_SESSION.name: {"body": {}, "response": json.loads(response)}}
    token = cookies["csrftoken"]
    user = {"username": "demo", "password": SAMPLE_PASSWORDS["demo"]}
    login = {"csrfmiddlewaretoken": token, **user, "region": f"{BASE}/v3"}
    form = {"cookie": _cookie_header(cookies), "content-type": "application/x-www-form-urlencoded"}
    session, _ = await _send(console, ("POST", "/auth/login/", form, urlencode(login).encode()))
    headers = {"cookie": _cookie_header(session), "x-csrftoken": token, "content-type": "application/json"}
    for action in (*ACTIONS, *EXTENSIONS):
        body = {"action": action.name, **PARAMETERS.get(action.name, {})}
        _, response = await _send(console, ("POST", "/api/", headers, json.dumps(body).encode()))
        examples[action.name] = {"body": body, "response": json.loads(response)}
    return examples


async def _send(console: Console, sent: SentRequest) -> tuple[dict[str, str], bytes]:
    """Send a request that must succeed; return the cookies it sets and the response body."""
    method, path, headers, body = sent
    pairs = {"host": BASE.partition("//")[2], "content-length": str(len(body)), **headers}
    head = Headers([(name.encode(), value.encode()) for name, value in pairs.items()])
    response = await console.handle(Request(head, method, path, peer="127.0.0.1", body=body, body_complete=True))
    if response is None or response.status != 200:
        raise RuntimeError(f"{method} {path}: {response}")
    lines = [value.decode().partition(";")[0] for name, value in response.headers if name == b"set-cookie"]
    return {line.partition("=")[0]: line.partition("=")[2] for line in lines}, response.body


def _cookie_header(cookies: dict[str, str]) -> str:
    return "; ".join(f"{name}={value}" for name, value in cookies.items())
