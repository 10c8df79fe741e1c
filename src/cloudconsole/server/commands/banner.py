"""What `cloudconsole serve` says at its start: where it is, and two sessions to paste."""

import json
import os
from typing import NamedTuple

from cloudconsole.operator.sample import SAMPLE_PASSWORDS
from cloudconsole.server.config.identity_endpoints import LOCAL
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.cookies import OPERATOR_PATH
from cloudconsole.server.net import connectable_address, is_loopback
from cloudconsole.server.test_mode.runtime import ServerRuntime

CURL_SESSION = """\
base={base}
region={region}
jar=$(mktemp)
curl -sS -c "$jar" -o /dev/null "$base/api/"
token=$(awk '$6 == "csrftoken" {{ print $7 }}' "$jar")
curl -sS -b "$jar" -c "$jar" "$base/auth/login/" -d "csrfmiddlewaretoken=$token" \\
  -d "region=$region" -d username={username} -d password={password}
curl -sS -b "$jar" "$base/api/" -H "X-CSRFToken: $token" -d action=GetUsageLimits; echo
"""

PYTHON_SESSION = """\
import json, urllib.parse, urllib.request
from http.cookiejar import CookieJar

base, region = "{base}", "{region}"
jar = CookieJar()
session = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))

session.open(base + "/api/")
token = next(cookie.value for cookie in jar if cookie.name == "csrftoken")
login = dict(csrfmiddlewaretoken=token, region=region, username="{username}", password="{password}")
session.open(base + "/auth/login/", urllib.parse.urlencode(login).encode())
headers = {{"X-CSRFToken": token, "Content-Type": "application/json"}}
call = urllib.request.Request(base + "/api/", json.dumps(dict(action="GetFlavors")).encode(), headers)
print(json.load(session.open(call))["data"]["configs"])
"""


def curl_session(base: str, region: str, username: str = "demo") -> str:
    return CURL_SESSION.format(base=base, region=region, username=username, password=SAMPLE_PASSWORDS[username])


def python_session(base: str, region: str, username: str = "demo") -> str:
    return PYTHON_SESSION.format(base=base, region=region, username=username, password=SAMPLE_PASSWORDS[username])


class StartInfo(NamedTuple):
    """A console about to serve."""

    settings: Settings
    port: int
    runtime: ServerRuntime
    sample_accounts: list[str]
    """Those that still have the sample's passwords."""
    is_empty: bool
    """Whether there are no accounts at all."""
    is_temporary: bool
    """Whether the data folder goes with the console."""

    @property
    def listens(self) -> str:
        """Where it can be called from this machine, whatever others call it by."""
        return f"{self.settings.own_scheme}://{connectable_address(self.settings.host)}:{self.port}"

    @property
    def base(self) -> str:
        return self.settings.public_origin or self.listens

    @property
    def regions(self) -> list[str]:
        """What login accepts; those of the console's own accounts first."""
        endpoints = sorted(self.settings.identity, key=lambda endpoint: endpoint.kind != LOCAL)
        return [endpoint.address for endpoint in endpoints] or [f"{self.base}/v3"]


def print_banner(start: StartInfo) -> str:
    """The lines to print, for people."""
    settings, base, regions = start.settings, start.base, start.regions
    lines = [f"Cloud Console serves on {base}", f"region to send at login: {' or '.join(regions)}"]
    lines.append(f"pages for tenants: {base}/")
    if settings.admin_ui:
        lines.append(f"pages for operators: {base}{OPERATOR_PATH}")
    if not is_loopback(settings.host):
        lines.append(f"listening on {settings.host} port {start.port}, for other machines too")
    if start.is_empty:
        lines.append(
            "The store has no accounts yet: cloudconsole init makes the first operator; --sample loads a sample cloud."
        )
    lines += start.runtime.describe()
    kept = "is temporary" if start.is_temporary else f"stays in {settings.store.location}"
    lines.append(f"Stop with Ctrl-C; the data {kept}")
    if start.sample_accounts and settings.has_local_accounts:
        accounts, first, region = start.sample_accounts, start.sample_accounts[0], regions[0]
        lines += ["sample accounts:", *(f"  {name} / {SAMPLE_PASSWORDS[name]}" for name in accounts)]
        lines += ["", "A first session with curl:", "", curl_session(base, region, first)]
        lines += ["The same in Python, with nothing but the standard library:", "", python_session(base, region, first)]
    return "\n".join(lines) + "\n"


def ready_line(start: StartInfo) -> str:
    """The same for a program: one line of JSON."""
    told = {
        "address": start.base,
        "listens": start.listens,
        "region": start.regions[0],
        "pid": os.getpid(),
        "data": start.settings.store.location,
        "accounts": [{"username": name, "password": SAMPLE_PASSWORDS[name]} for name in start.sample_accounts],
    }
    return json.dumps(told, ensure_ascii=False) + "\n"
