"""What `cloudconsole serve` says at its start: where it is, and two sessions to paste."""

from cloudconsole.operator.sample import SAMPLE_PASSWORDS
from cloudconsole.server.settings import Settings

CURL_SESSION = """\
base={base}
jar=$(mktemp)
curl -s -c "$jar" -o /dev/null "$base/api/"
token=$(awk '$6 == "csrftoken" {{ print $7 }}' "$jar")
curl -s -b "$jar" -c "$jar" "$base/auth/login/" -d "csrfmiddlewaretoken=$token" \\
  -d "region={region}" -d username=demo -d password=console-demo
curl -s -b "$jar" "$base/api/" -H "X-CSRFToken: $token" -d action=GetUsageLimits
"""

PYTHON_SESSION = """\
import json, urllib.parse, urllib.request
from http.cookiejar import CookieJar

base, region = "{base}", "{region}"
jar = CookieJar()
session = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))

session.open(base + "/api/")
token = next(cookie.value for cookie in jar if cookie.name == "csrftoken")
login = dict(csrfmiddlewaretoken=token, region=region, username="demo", password="console-demo")
session.open(base + "/auth/login/", urllib.parse.urlencode(login).encode())
headers = {{"X-CSRFToken": token, "Content-Type": "application/json"}}
call = urllib.request.Request(base + "/api/", json.dumps(dict(action="GetFlavors")).encode(), headers)
print(json.load(session.open(call))["data"]["configs"])
"""


def curl_session(base: str, region: str) -> str:
    return CURL_SESSION.format(base=base, region=region)


def python_session(base: str, region: str) -> str:
    return PYTHON_SESSION.format(base=base, region=region)


def welcome(settings: Settings, port: int, *, with_sample: bool) -> str:
    base = settings.public_origin or f"http://{_reachable(settings.host)}:{port}"
    region = settings.identity[0] if settings.identity else f"{base}/v3"
    lines = [f"Cloud Console serves on {base}", f"region to send at login: {region}"]
    if with_sample:
        lines += [
            "sample accounts:",
            *(f"  {name} / {password}" for name, password in SAMPLE_PASSWORDS.items()),
        ]
        lines += ["", "A first session with curl:", "", curl_session(base, region)]
        lines += [
            "The same in Python, with nothing but the standard library:",
            "",
            python_session(base, region),
        ]
    return "\n".join(lines) + "\n"


def _reachable(host: str) -> str:
    """A host that this machine's own callers can use."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    return f"[{host}]" if ":" in host else host
