"""Open pages, sign in, check accessibility and layout, take screenshots."""

import os
from importlib.resources import files
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    APIResponse,
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Response,
    Route,
    ViewportSize,
    expect,
)

from cloudconsole.testing import ConsoleServer

DESKTOP: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 360, "height": 740}
SIZES = {"desktop": DESKTOP, "phone": PHONE}
SCREENSHOT_DIR = os.environ.get("BROWSER_SHOTS")
"""Where screenshots are saved, if set."""

TIMEOUT_MS = 120_000
"""Generous, for a busy machine."""

_AXE = Axe()
_LOAD_ERROR = "Failed to load resource: "

expect.set_options(timeout=TIMEOUT_MS)


class ConsoleBrowser:
    """Browser contexts for one console, with their responses and developer-console errors."""

    def __init__(self, chromium: Browser, console: ConsoleServer) -> None:
        self.console = console
        self.responses: list[Response] = []
        self.console_errors: list[str] = []
        self._chromium = chromium
        self._contexts: list[BrowserContext] = []

    def open(self, path: str = "/", **options: Any) -> Page:
        """Open a page in a new browser context with these options."""
        options = {"locale": "en-GB", "viewport": DESKTOP, **options}
        context = self._chromium.new_context(base_url=self.console.address, reduced_motion="reduce", **options)
        self._contexts.append(context)
        return self.open_tab(context, path)

    def open_tab(self, context: BrowserContext, path: str = "/") -> Page:
        page = context.new_page()
        page.set_default_timeout(TIMEOUT_MS)
        page.on("console", self._record)
        page.on("pageerror", lambda error: self.console_errors.append(str(error)))
        page.on("response", lambda response: self.responses.append(response))
        page.goto(path)
        return page

    def open_signed_in(self, path: str = "/", username: str = "demo", **options: Any) -> Page:
        """Open a page in a new context, sign in and wait until it is loaded."""
        page = self.open(path, **options)
        sign_in(page, username)
        wait_until_loaded(page)
        return page

    def statuses(self, path: str = "/api/", without: str = "") -> list[int]:
        """The statuses of all POST requests to a path so far, except those of one action."""
        return [
            response.status
            for response in self.responses
            if response.request.method == "POST"
            and response.url == self.console.address + path
            and not (without and f'"{without}"' in (response.request.post_data or ""))
        ]

    def _record(self, message: ConsoleMessage) -> None:
        # Browsers log failed API requests, which tests provoke. A missing asset is a bug.
        is_api_error = message.text.startswith(_LOAD_ERROR) and "/web/" not in message.location["url"]
        if message.type in ("error", "warning") and not is_api_error:
            self.console_errors.append(message.text)

    def close(self) -> None:
        for context in self._contexts:
            context.close()
        assert self.console_errors == []


def sign_in(page: Page, username: str = "demo", password: str | None = None) -> None:
    """Submit the sign-in form of tenants or operators, in any language."""
    page.locator("[name=username]").fill(username)
    page.locator("[name=password]").fill(password or f"console-{username}")
    region = page.locator("[name=region]")
    if region.count():
        # The form is disabled until the regions are loaded.
        expect(region).to_be_enabled()
    page.keyboard.press("Enter")


def wait_until_loaded(page: Page) -> None:
    """Wait until the user is signed in and all panels are loaded."""
    expect(page.get_by_role("navigation").first).to_be_visible()
    expect(page.locator("[aria-busy=true]")).to_have_count(0)


class HeldResponse:
    """The next response to an action, which the page receives only when it is released."""

    def __init__(self, page: Page, action: str) -> None:
        self._action = action
        self._held: tuple[Route, APIResponse] | None = None
        page.route("**/api/", self._hold)

    def _hold(self, route: Route) -> None:
        body = route.request.post_data_json if route.request.method == "POST" else None
        if self._held or not body or body.get("action") != self._action:
            route.fallback()
        else:
            self._held = route, route.fetch()

    def release(self) -> None:
        assert self._held
        route, response = self._held
        route.fulfill(response=response)


def wait_until_painted(page: Page) -> None:
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def stop_clock(page: Page) -> None:
    """From now on, timers of the page run only when the test moves its clock."""
    page.clock.install(time="2026-11-15T12:20:00Z")
    page.clock.pause_at("2026-11-15T12:20:01Z")


def tab_to(page: Page, name: str, backwards: bool = False) -> None:
    """Press Tab until the element with this name has the focus."""
    for _ in range(60):
        page.keyboard.press("Shift+Tab" if backwards else "Tab")
        focused = page.locator(":focus")
        if focused.count() and name in (focused.get_attribute("aria-label"), focused.inner_text().strip()):
            return
    raise AssertionError(f"Tab never reached {name}")


_FINISH_TRANSITIONS = """
() => document.getAnimations()
  .filter((each) => each instanceof CSSTransition)
  .forEach((each) => each.finish())
"""


def axe_violations(page: Page) -> str:
    """The accessibility problems that axe reports; empty if there are none."""
    # Colors in transition have less contrast. A transition that is not rendered never ends by itself.
    page.evaluate(_FINISH_TRANSITIONS)
    results = _AXE.run(page, options={"resultTypes": ["violations"]})
    return "" if results.violations_count == 0 else results.generate_report()


def overflows(page: Page) -> bool:
    """Whether the page scrolls horizontally."""
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


def assert_accessible(page: Page) -> None:
    """Check that axe reports no problems and the page does not scroll horizontally."""
    assert (axe_violations(page), overflows(page)) == ("", False)


def screenshot(page: Page, name: str) -> None:
    """Save a screenshot if a folder is set."""
    if SCREENSHOT_DIR:
        page.screenshot(path=Path(SCREENSHOT_DIR) / f"{name}.png", full_page=True)


def serve_modules(page: Page) -> None:
    """Let the page import modules of the console's script on their own, from `/modules/`.

    It must be opened with `bypass_csp`, because its policy allows no other script.
    """

    def serve(route: Route) -> None:
        path = route.request.url.partition("/modules/")[2]
        source = files("cloudconsole").joinpath(f"web/console/{path}").read_text()
        route.fulfill(body=source, content_type="text/javascript")

    page.route("**/modules/**", serve)
