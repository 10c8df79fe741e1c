"""Commands that get a panel's data outside the browser: they work as shown, and by keyboard."""

import json
import os
import subprocess
import sys
from ast import literal_eval
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from cloudconsole import Console
from tests.browser.conftest import PASSWORDS
from tests.browser.extensions import open_without
from tests.browser.helpers import (
    PHONE,
    ConsoleBrowser,
    assert_accessible,
    screenshot,
    serve_modules,
    tab_to,
    wait_until_loaded,
)

NOVEMBER = {"start_at": "2026-11-01", "end_at": "2026-11-30", "limit": 1000}
ESTIMATE = {"items": [{"res_type": "instance", "count": 3, "flavor": "4"}, {"res_type": "floating_ip", "count": 1}]}

# By page and name of the data: action and fields.
DATA: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "": {
        "Quotas": ("GetUsageLimits", {}),
        "Costs": ("GetForecast", {}),
        "News": ("GetNews", {}),
        "Common URLs": ("GetUrlList", {}),
    },
    "costs?by=node": {
        "This month": ("GetForecast", {}),
        "Last twelve months": ("GetBillingReportList4NearlyYear", {}),
        "Cost at the current rate": ("GetConsumptionsEstimated", {}),
        "Monthly breakdown": ("GetConsumptionsByQuery", NOVEMBER),
        "Prices": ("GetPrices", {}),
    },
    "flavors?items=instance*3*4+floating_ip*1": {"Flavors": ("GetFlavors", {}), "Estimate": ("GetEstimate", ESTIMATE)},
    "domain": {"Domains": ("GetDomains", {"limit": 1000})},
    "domain/206813": {"www.example-demo.com": ("GetDomainDetail", {"domainId": "206813"})},
}


def open_commands(page: Page, name: str) -> dict[str, str]:
    page.get_by_role("button", name=f"for {name}: curl, Python, CLI").click()
    dialog = page.get_by_role("dialog", name=f"{name}: get this data yourself")
    sections = dialog.locator("[data-command]").all()
    return {each.get_attribute("data-command") or "": each.locator("code").inner_text() for each in sections}


def all_commands(page: Page) -> Iterator[tuple[dict[str, str], str, dict[str, Any]]]:
    """Yield the commands of every panel of every page, with action and fields."""
    for address, panels in DATA.items():
        page.goto(f"/#/{address}")
        wait_until_loaded(page)
        expect(page.locator(".commands-button:visible")).to_have_count(len(panels))
        for name, (action, fields) in panels.items():
            yield open_commands(page, name), action, fields
            page.keyboard.press("Escape")


def run(program: list[str], tmp_path: Path, password: str = PASSWORDS["demo"]) -> str:
    """Run a program as a user would, with the password at its prompt."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": str(tmp_path), "LANG": "C.UTF-8", "TMPDIR": str(tmp_path)}
    if program[-1].startswith("cloudconsole"):
        environment["CLOUDCONSOLE_PASSWORD"] = password
    completed = subprocess.run(
        program, input=f"{password}\n", env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_curl_commands_print_the_data(browser: ConsoleBrowser, client: Console, tmp_path: Path, shell: str) -> None:
    for commands, action, fields in all_commands(browser.open_signed_in()):
        assert PASSWORDS["demo"] not in commands["curl"]
        assert json.loads(run([shell, "-c", commands["curl"]], tmp_path))["data"] == client.call(action, **fields)
    assert list(tmp_path.iterdir()) == [], "the cookies are removed"


def test_curl_commands_stop_after_a_failed_login(browser: ConsoleBrowser, tmp_path: Path) -> None:
    page = browser.open_signed_in()
    command = open_commands(page, "Quotas")["curl"]
    done = subprocess.run(["sh", "-c", command], input="wrong\n", cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert '"invalid_credentials"' in done.stderr
    assert done.stderr.endswith("\n")
    assert run(["sh", "-c", command], tmp_path).endswith("}\n")


def test_cli_commands_print_the_data(browser: ConsoleBrowser, client: Console, tmp_path: Path) -> None:
    for commands, action, fields in all_commands(browser.open_signed_in()):
        command = commands["CLI"]
        assert run(["sh", "-c", command], tmp_path).count("\n") > 1
        if action == "GetConsumptionsByQuery":
            # Grouped, as the page shows them.
            bills = client.call("GetBillingReportList4NearlyYear")
            assert run(["sh", "-c", command], tmp_path).splitlines()[-1].split() == ["total", bills[-1]["total"]]
        else:
            assert json.loads(run(["sh", "-c", f"{command} --output json"], tmp_path)) == client.call(action, **fields)


def test_python_programs_print_the_data(browser: ConsoleBrowser, client: Console, tmp_path: Path) -> None:
    for commands, action, fields in all_commands(browser.open_signed_in()):
        printed = run([sys.executable, "-c", commands["Python"]], tmp_path).removeprefix("Password: ")
        assert literal_eval(printed) == client.call(action, **fields)


def test_commands_of_a_looked_up_domain_print_it(browser: ConsoleBrowser, client: Console, tmp_path: Path) -> None:
    page = open_without(browser, ["GetDomains"], "/#/domain/206813")
    expect(page.get_by_role("search").get_by_label("Domain ID")).to_have_value("206813")
    commands = open_commands(page, "www.example-demo.com")
    expected = client.call("GetDomainDetail", domainId="206813")
    assert json.loads(run(["sh", "-c", commands["curl"]], tmp_path))["data"] == expected
    printed = run([sys.executable, "-c", commands["Python"]], tmp_path).removeprefix("Password: ")
    assert literal_eval(printed) == expected
    assert json.loads(run(["sh", "-c", f"{commands['CLI']} --output json"], tmp_path)) == expected


def test_commands_are_for_what_the_page_shows(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/costs?month=2026-02&by=resource")
    assert "--from 2026-02-01 --to 2026-02-28 --by resource" in open_commands(page, "Monthly breakdown")["CLI"]
    expect(page.get_by_role("dialog")).to_contain_text("one page of up to 1,000 items")
    page.keyboard.press("Escape")
    page.get_by_label("By node").check()
    assert "--by node" in open_commands(page, "Monthly breakdown")["CLI"]
    page.goto("/#/flavors")
    button = page.get_by_role("button", name="for Estimate")
    expect(page.get_by_role("button", name="for Flavors")).to_be_visible()
    expect(button).to_be_hidden()
    page.get_by_role("button", name="Add m1.tiny to the estimate").click()
    assert '"flavor": "1"' in open_commands(page, "Estimate")["curl"]


def test_long_values_are_broken_and_the_package_is_named(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/flavors?items=instance*3*4+volume*2*100+image*1*20&node=hk-1")
    wait_until_loaded(page)
    commands = open_commands(page, "Estimate")
    for name, text in commands.items():
        assert max(map(len, text.splitlines())) <= 100, name
    expect(page.get_by_role("dialog").get_by_text("pip install ./cloudconsole-*.whl")).to_be_visible()


SHOW = """async (request) => {
  const { commandsFor } = await import("/modules/components/commands.js");
  return commandsFor(request);
}"""


def test_parameters_and_usernames_are_quoted(browser: ConsoleBrowser, tmp_path: Path) -> None:
    page = browser.open_signed_in(bypass_csp=True)
    serve_modules(page)
    fields: dict[str, Any] = {
        "items": [{"res_type": "volume", "size": 5, "type": 'it\'s $HOME "x" \\ `id` 云', "count": 2}],
        "hours": 7,
    }
    with Console(browser.console.address, username="demo", password=PASSWORDS["demo"]) as client:
        expected = client.call("GetEstimate", **fields)
    commands = page.evaluate(SHOW, {"action": "GetEstimate", "fields": fields})
    assert json.loads(run(["sh", "-c", commands["curl"]], tmp_path))["data"] == expected
    assert (
        literal_eval(run([sys.executable, "-c", commands["Python"]], tmp_path).removeprefix("Password: ")) == expected
    )
    assert json.loads(run(["sh", "-c", commands["CLI"]], tmp_path)) == expected
    page.evaluate("""() => {
      const stored = JSON.parse(localStorage["cloudconsole.account"]);
      localStorage["cloudconsole.account"] = JSON.stringify({ ...stored, username: "o'x; touch $HOME/made" });
    }""")
    commands = page.evaluate(SHOW, {"action": "GetNews", "cli": ["news"]})
    assert json.loads(run(["sh", "-c", f"{commands['curl']} | head -c 0; echo '{{}}'"], tmp_path)) == {}
    assert not (tmp_path / "made").exists()


def test_the_dialog_works_by_keyboard(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in(permissions=["clipboard-read", "clipboard-write"])
    button = page.get_by_role("button", name="for Quotas")
    button.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Close")).to_be_focused()
    tab_to(page, "curl")
    copy = dialog.get_by_role("button", name="Copy CLI")
    copy.focus()
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("button", name="Copied CLI")).to_be_visible()
    shown = dialog.locator("[data-command=CLI] code").inner_text()
    assert page.evaluate("navigator.clipboard.readText()") == shown
    assert shown.splitlines()[1].strip() == f"--url={browser.console.address} \\"
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert_accessible(page)
    page.set_viewport_size(PHONE)
    assert_accessible(page)
    screenshot(page, "overview-commands")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(button).to_be_focused()
