"""Extension of Schemathesis: send each request in a session of the sample's tenant, and each logout in its own."""

import os
from typing import Any

import requests
import schemathesis

BASE = os.environ["BASE_URL"]


@schemathesis.auth(refresh_interval=None)
class SessionAuth:
    def get(self, _case: schemathesis.Case, _context: object) -> dict[str, str]:
        return log_in()

    def set(self, case: schemathesis.Case, cookies: dict[str, str], _context: object) -> None:
        cookies = log_in() if case.path == "/auth/logout/" else cookies
        case.cookies.update(cookies)
        case.headers["X-CSRFToken"] = cookies["csrftoken"]


def log_in() -> dict[str, Any]:
    with requests.Session() as client:
        client.get(f"{BASE}/api/").raise_for_status()
        form = {
            "csrfmiddlewaretoken": client.cookies["csrftoken"],
            "region": f"{BASE}/v3",
            "username": "demo",
            "password": "console-demo",
        }
        client.post(f"{BASE}/auth/login/", data=form).raise_for_status()
        return client.cookies.get_dict()


@schemathesis.hook
def map_body(_context: object, body: Any) -> Any:
    """Send items in forms that are JSON, and periods of one day: the document cannot describe either."""
    if isinstance(body, dict) and isinstance(body.get("start_at"), str):
        body = {**body, "end_at": body["start_at"]}
    if isinstance(body, dict) and isinstance(body.get("items"), str):
        return {**body, "items": '[{"res_type": "loadbalance"}]'}
    return body
