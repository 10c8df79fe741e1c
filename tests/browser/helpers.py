"""How tests look at pages: as people with browsers of all kinds do."""

import os
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Response, ViewportSize, expect

from cloudconsole.testing import ConsoleServer

DESKTOP: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 360, "height": 740}
SIZES = {"desktop": DESKTOP, "phone": PHONE}
LOOKS = [
    ("en-GB", "light", "desktop"),
    ("zh-CN", "light", "phone"),
    ("en-GB", "dark", "phone"),
    ("zh-CN", "dark", "desktop"),
]
"""Locale, theme and size: every pair of two of them is looked at."""
SHOTS = os.environ.get("BROWSER_SHOTS")
"""A folder for screenshots, where somebody wants to look, too."""

PATIENCE = 15_000
"""Milliseconds: for a machine that has much else to do."""

_AXE = Axe()
_LOST = "Failed to load resource: "


expect.set_options(timeout=PATIENCE)


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
        page.set_default_timeout(PATIENCE)
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
        # A call that is refused or lost is told by the browser, too, and is no fault of the page; a file of its own is.
        is_call = message.text.startswith(_LOST) and "/web/" not in message.location["url"]
        if message.type in ("error", "warning") and not is_call:
            self.complaints.append(message.text)

    def close(self) -> None:
        for context in self._contexts:
            context.close()
        assert self.complaints == []


def sign_in(page: Page, username: str = "demo", password: str | None = None) -> None:
    """Fill in a sign-in, a tenant's or an operator's, in whichever language it is, and send it."""
    page.locator("[name=username]").fill(username)
    page.locator("[name=password]").fill(password or f"console-{username}")
    region = page.locator("[name=region]")
    if region.count():
        # Until the page knows the regions, there is nothing to send.
        expect(region).to_be_enabled()
    page.keyboard.press("Enter")


def signed_in(eyes: Eyes, path: str = "/", username: str = "demo", **options: Any) -> Page:
    """A page of a new browser, looked at by an account, with all that belongs to it there."""
    page = eyes.open(path, **options)
    sign_in(page, username)
    settled(page)
    return page


def settled(page: Page) -> None:
    """Wait until somebody is signed in and no panel loads any more."""
    expect(page.get_by_role("navigation").first).to_be_visible()
    expect(page.locator("[aria-busy=true]")).to_have_count(0)


def tab_to(page: Page, name: str, backwards: bool = False) -> None:
    """Press Tab until the keyboard is on what has this name."""
    for _ in range(60):
        page.keyboard.press("Shift+Tab" if backwards else "Tab")
        focused = page.locator(":focus")
        if focused.count() and name in (focused.get_attribute("aria-label"), focused.inner_text().strip()):
            return
    raise AssertionError(f"Tab never came to {name}")


def faults_of(page: Page) -> str:
    """What axe finds wrong with the page as it is; empty where nothing is."""
    results = _AXE.run(page, options={"resultTypes": ["violations"]})
    return "" if results.violations_count == 0 else results.generate_report()


def is_cut_off(page: Page) -> bool:
    """Whether something is wider than the window, so that one must scroll sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


SPACING = """
* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important }
p { margin-bottom: 2em !important }
"""
"""The widest setting that people may give to text without anything being lost."""


def space_out(page: Page) -> None:
    """Set the text as wide as some need it, on the narrowest window there is."""
    page.set_viewport_size({"width": 320, "height": 740})
    page.evaluate(
        """rules => {
          const sheet = new CSSStyleSheet();
          sheet.replaceSync(rules);
          document.adoptedStyleSheets = [sheet];
        }""",
        SPACING,
    )


def look_well(page: Page, name: str, size: str) -> None:
    """Nothing is wrong with the page at this size, nothing is cut off at any, and there is a picture of each."""
    for kind, viewport in SIZES.items():
        page.set_viewport_size(viewport)
        # As it is once it was painted at this size, and not on the way there.
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert not is_cut_off(page)
        if kind == size:
            faults = faults_of(page)
            assert not faults, faults
        shoot(page, f"{name}-{kind}")


def shoot(page: Page, name: str) -> None:
    """Keep a picture for whoever wants to look."""
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / f"{name}.png", full_page=True)
