"""How tests look at pages: as people with browsers of all kinds do."""

import os
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Response

from cloudconsole.testing import ConsoleServer

DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 360, "height": 740}
SHOTS = os.environ.get("BROWSER_SHOTS")
"""A folder for screenshots, where somebody wants to look, too."""

_AXE = Axe()
_REFUSED = "Failed to load resource: the server responded with a status of"


class Eyes:
    """A browser of one's own: its pages, what they complained of, and every answer they got."""

    def __init__(self, chromium: Browser, console: ConsoleServer) -> None:
        self.console = console
        self.answers: list[Response] = []
        self.complaints: list[str] = []
        self._chromium = chromium
        self._contexts: list[BrowserContext] = []

    def open(self, path: str = "/", **options: Any) -> Page:
        """A page in a new browser, which knows nothing yet; options are those of a browser context."""
        options = {"locale": "en-GB", "viewport": DESKTOP, **options}
        context = self._chromium.new_context(base_url=self.console.address, reduced_motion="reduce", **options)
        self._contexts.append(context)
        return self.open_tab(context, path)

    def open_tab(self, context: BrowserContext, path: str = "/") -> Page:
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("response", lambda answer: self.answers.append(answer))
        page.goto(path)
        return page

    def statuses(self, path: str = "/api/") -> list[int]:
        """The statuses of all answers to posts to a path so far."""
        return [
            answer.status
            for answer in self.answers
            if answer.request.method == "POST" and answer.url == self.console.address + path
        ]

    def _note(self, message: ConsoleMessage) -> None:
        # A refused call is told by the browser, too, and is no fault of the page.
        if message.type in ("error", "warning") and not message.text.startswith(_REFUSED):
            self.complaints.append(message.text)

    def close(self) -> None:
        for context in self._contexts:
            context.close()
        assert self.complaints == []


def sign_in(page: Page, username: str = "demo", password: str | None = None) -> None:
    """Fill in the tenant's sign-in and send it."""
    page.get_by_label("Username").fill(username)
    page.get_by_label("Password", exact=True).fill(password or f"console-{username}")
    page.get_by_role("button", name="Sign in").click()


def faults_of(page: Page) -> str:
    """What axe finds wrong with the page as it is; empty where nothing is."""
    results = _AXE.run(page, options={"resultTypes": ["violations"]})
    return "" if results.violations_count == 0 else results.generate_report()


def is_cut_off(page: Page) -> bool:
    """Whether something is wider than the window, so that one must scroll sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


def shoot(page: Page, name: str) -> None:
    """Keep a picture for whoever wants to look."""
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / f"{name}.png", full_page=True)
