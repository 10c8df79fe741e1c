"""Start-up output of `cloudconsole serve`: URLs and example sessions to paste."""

import json
import os
from typing import NamedTuple

from cloudconsole.operator.sample import SAMPLE_PASSWORDS
from cloudconsole.server.config.identity_endpoints import LOCAL
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.cookies import OPERATOR_PATH
from cloudconsole.server.ip_addresses import connectable_address, is_loopback
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
    """State of a console at start-up, as the banner shows it."""

    settings: Settings
    port: int
    runtime: ServerRuntime
    sample_accounts: list[str]
    """Accounts that still have the sample's passwords."""
    is_empty: bool
    """Whether the store has no accounts."""
    is_temporary: bool
    """Whether the data directory is deleted on exit."""

    @property
    def listens(self) -> str:
        """URL that works on this machine, even behind a proxy."""
        return f"{self.settings.own_scheme}://{connectable_address(self.settings.host)}:{self.port}"

    @property
    def base(self) -> str:
        return self.settings.public_origin or self.listens

    @property
    def regions(self) -> list[str]:
        """Regions that login accepts, those of local accounts first."""
        endpoints = sorted(self.settings.identity, key=lambda endpoint: endpoint.kind != LOCAL)
        return [endpoint.address for endpoint in endpoints] or [f"{self.base}/v3"]


def print_banner(start: StartInfo) -> str:
    """Return the start-up text for a terminal."""
    settings, base, regions = start.settings, start.base, start.regions
    lines = [f"Cloud Console serves on {base}", f"login region: {' or '.join(regions)}"]
    lines.append(f"tenant UI: {base}/")
    if settings.admin_ui:
        lines.append(f"admin UI: {base}{OPERATOR_PATH}")
    if not is_loopback(settings.host):
        lines.append(f"listening on {settings.host} port {start.port}, reachable from other machines")
    if start.is_empty:
        lines.append(
            "The store has no accounts: run cloudconsole init to create an operator, or use --sample for sample data."
        )
    lines += start.runtime.describe()
    data = "is temporary" if start.is_temporary else f"stays in {settings.store.location}"
    lines.append(f"Press Ctrl-C to stop; the data {data}")
    if start.sample_accounts and settings.has_local_accounts:
        accounts, first, region = start.sample_accounts, start.sample_accounts[0], regions[0]
        lines += ["sample accounts:", *(f"  {name} / {SAMPLE_PASSWORDS[name]}" for name in accounts)]
        lines += ["", "Example session with curl:", "", curl_session(base, region, first)]
        lines += ["The same in Python, standard library only:", "", python_session(base, region, first)]
    return "\n".join(lines) + "\n"


def ready_line(start: StartInfo) -> str:
    """Return the start-up information as one line of JSON."""
    info = {
        "address": start.base,
        "listens": start.listens,
        "region": start.regions[0],
        "pid": os.getpid(),
        "data": start.settings.store.location,
        "accounts": [{"username": name, "password": SAMPLE_PASSWORDS[name]} for name in start.sample_accounts],
    }
    return json.dumps(info, ensure_ascii=False) + "\n"
