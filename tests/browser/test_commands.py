"""Commands that get a panel's data outside the browser: they work as shown, and by keyboard."""

import json
import os
import subprocess
import sys
from ast import literal_eval
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from cloudconsole import Console
from tests.browser.conftest import PASSWORDS
from tests.browser.helpers import PHONE, ConsoleBrowser, assert_accessible, screenshot, serve_modules, tab_to

PANELS = {
    "Quotas": "GetUsageLimits",
    "Costs": "GetConsumptionsEstimated",
    "News": "GetNews",
    "Common URLs": "GetUrlList",
}


def open_commands(page: Page, panel: str) -> dict[str, str]:
    page.get_by_role("region", name=panel, exact=True).get_by_role("button", name=f"for {panel}").click()
    dialog = page.get_by_role("dialog", name=f"{panel}: get this data yourself")
    sections = dialog.locator("[data-command]").all()
    return {each.get_attribute("data-command") or "": each.locator("code").inner_text() for each in sections}


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
    page = browser.open_signed_in()
    for panel, action in PANELS.items():
        command = open_commands(page, panel)["curl"]
        assert PASSWORDS["demo"] not in command
        assert json.loads(run([shell, "-c", command], tmp_path))["data"] == client.call(action)
        page.keyboard.press("Escape")
    assert list(tmp_path.iterdir()) == [], "the cookies are removed"


def test_cli_commands_print_the_data(browser: ConsoleBrowser, client: Console, tmp_path: Path) -> None:
    page = browser.open_signed_in()
    for panel, action in PANELS.items():
        command = open_commands(page, panel)["CLI"]
        assert run(["sh", "-c", command], tmp_path).count("\n") > 1
        assert json.loads(run(["sh", "-c", f"{command} --output json"], tmp_path)) == client.call(action)
        page.keyboard.press("Escape")


def test_python_programs_print_the_data(browser: ConsoleBrowser, client: Console, tmp_path: Path) -> None:
    page = browser.open_signed_in()
    for panel, action in PANELS.items():
        program = open_commands(page, panel)["Python"]
        printed = run([sys.executable, "-c", program], tmp_path).removeprefix("Password: ")
        assert literal_eval(printed) == client.call(action)
        page.keyboard.press("Escape")


SHOW = """async ([action, fields, cli]) => {
  const { commandsFor } = await import("/modules/components/commands.js");
  return commandsFor(action, fields, cli);
}"""


def test_parameters_and_usernames_are_quoted(browser: ConsoleBrowser, tmp_path: Path) -> None:
    page = browser.open_signed_in()
    serve_modules(page)
    fields: dict[str, Any] = {
        "items": [{"res_type": "volume", "size": 5, "type": 'it\'s $HOME "x" \\ `id` 云', "count": 2}],
        "hours": 7,
    }
    with Console(browser.console.address, username="demo", password=PASSWORDS["demo"]) as client:
        expected = client.call("GetEstimate", **fields)
    commands = page.evaluate(SHOW, ["GetEstimate", fields, None])
    assert json.loads(run(["sh", "-c", commands["curl"]], tmp_path))["data"] == expected
    assert (
        literal_eval(run([sys.executable, "-c", commands["Python"]], tmp_path).removeprefix("Password: ")) == expected
    )
    assert json.loads(run(["sh", "-c", commands["CLI"]], tmp_path)) == expected
    page.evaluate("""() => {
      const stored = JSON.parse(localStorage["cloudconsole.account"]);
      localStorage["cloudconsole.account"] = JSON.stringify({ ...stored, username: "o'x; touch $HOME/made" });
    }""")
    commands = page.evaluate(SHOW, ["GetNews", {}, ["news"]])
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
