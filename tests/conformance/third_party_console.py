"""A third-party console: it conforms to the interface, and differs from ours wherever the interface leaves a choice."""

import json
import secrets
from typing import Any
from urllib.parse import parse_qs

USAGE = [
    "maxTotalInstances totalInstancesUsed maxTotalCores totalCoresUsed maxTotalRAMSize totalRAMUsed maxTotalVolumes",
    "totalVolumesUsed maxTotalVolumeGigabytes totalGigabytesUsed maxTotalSnapshots totalSnapshotsUsed",
    "maxTotalFloatingIps totalFloatingIpsUsed maxSecurityGroups totalSecurityGroupsUsed maxSecurityGroupRules",
    "maxTotalKeypairs maxPersonality maxPersonalitySize maxImageMeta maxServerMeta",
]
DOMAIN = {
    "domainId": "7",
    "domainName": "www.example.org",
    "comment": "",
    "serviceAreas": "hk",
    "serviceType": "vod",
    "enabled": True,
    "cname": "x.example.net",
    "status": "Waiting",
    "cacheBehaviors": [],
    "visitControlRules": [],
    "originConfig": {"originIps": ["2001:db8::1"], "advOriginConfigs": None, "originDomainName": {"name": "o"}, "y": 1},
    "queryStringSettings": None,
    "tags": ["more", "than", "asked"],
}
DATA: dict[str, Any] = {
    "GetUsageLimits": {**dict.fromkeys(" ".join(USAGE).split(), -1), "maxTotalPorts": 5},
    "GetFlavors": {
        "flavors": [{"id": "9", "name": "huge", "vcpus": 4, "ram": 8, "disk": 0, "gpu": None}],
        "configs": {"vcpus": [4, 2], "ram": [16, 8], "disk": [0]},
        "limits": {"4": [8], "2": []},
    },
    "GetUrlList": [{"url": "https://example.org/", "type": "Tor", "id": "url-0a1b2c3d"}],
    "GetNews": [{"date": "2030-01-02 03:04:05", "url": "/n", "title": "", "author": "x"}],
    "GetConsumptionsEstimated": [
        {"res_type": "volume", "hour": "0", "day": "1", "month": "31.0", "year": "365.250", "unit": "USD"},
        {"res_type": "image", "hour": "0.1", "day": "3", "month": "90", "year": "1"},
    ],
}


class ThirdPartyConsole:
    """Accepts only forms, sends HTTP 200 for errors, HTML at /api/, 302 at login, and a new csrftoken after it."""

    def __init__(self) -> None:
        self._sessions: dict[str, str] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        fields = {name: values[-1] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}
        cookies = dict(pair.split("=", 1) for pair in headers.get("cookie", "").split("; ") if "=" in pair)
        status, sent, content = self._respond(scope["method"], scope["path"], headers, fields, cookies)
        pairs = [(name.encode(), value.encode()) for name, value in sent]
        await send({"type": "http.response.start", "status": status, "headers": pairs})
        await send({"type": "http.response.body", "body": content})

    def _respond(
        self, method: str, path: str, headers: dict[str, str], fields: dict[str, str], cookies: dict[str, str]
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        if (method, path) == ("GET", "/api/"):
            return 200, [*_cookies(secrets.token_urlsafe(24)), ("content-type", "text/html")], b"<h1>Hello</h1>"
        if (method, path) == ("POST", "/auth/login/"):
            valid = fields.get("csrfmiddlewaretoken") == cookies.get("csrftoken")
            if not valid or fields.get("password") != "a secret" or "keystone" not in fields.get("region", ""):
                return 200, [("content-type", "text/html")], b"<form>try again, %b</form>" % json.dumps(fields).encode()
            token = secrets.token_urlsafe(24)
            self._sessions[cookies["sessionid"]] = token
            return 302, [("location", "/home"), *_cookies(token)[:1]], b""
        if (method, path) != ("POST", "/api/"):
            return 404, [("content-type", "text/html")], b"<h1>404</h1>"
        token = self._sessions.get(cookies.get("sessionid", ""), "")
        if not token or headers.get("x-csrftoken") != token:
            return 302, [("location", "/login")], b""
        return 200, [("content-type", "text/json")], json.dumps(_result(fields)).encode()


def _cookies(token: str) -> list[tuple[str, str]]:
    return [
        ("set-cookie", f"csrftoken={token}; expires=Fri, 01-Jan-2100 00:00:00 GMT; path=/"),
        ("set-cookie", f"sessionid={secrets.token_urlsafe(24)}; Path=/; httponly"),
    ]


def _result(fields: dict[str, str]) -> dict[str, Any]:
    action = fields.get("action", "")
    data = DOMAIN if action == "GetDomainDetail" and fields.get("domainId") == "7" else DATA.get(action)
    if data is None:
        return {"code": 422, "message": "参数错误"}
    return {"code": 200, "message": "成功", "data": data, "took": 0.3}
