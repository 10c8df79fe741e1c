"""Open pages of a console that lacks some of the extensions."""

import json
from typing import Any

from playwright.sync_api import Page

from tests.browser.helpers import ConsoleBrowser, sign_in, wait_until_loaded

_DROP = """
const send = fetch;
window.fetch = async (path, options) => {
  const response = await send(path, options);
  if (path !== "/api/" || (options.method ?? "GET") !== "GET") return response;
  const body = await response.json();
  const missing = ACTIONS.filter((name) => !body.data.extensions.includes(name));
  if (missing.length > 0) throw new Error(`unknown: ${missing}`);
  body.data.extensions = body.data.extensions.filter((name) => !ACTIONS.includes(name));
  return new Response(JSON.stringify(body), { headers: response.headers });
};
"""


def open_without(browser: ConsoleBrowser, actions: list[str], path: str, **options: Any) -> Page:
    """Open a page, signed in, as on a console whose `extensions` lack these actions."""
    # The reference calls no action, so it can be left for the page after the change.
    page = browser.open("/docs/", **options)
    page.context.add_init_script(_DROP.replace("ACTIONS", json.dumps(actions)))
    page.goto(path)
    sign_in(page)
    wait_until_loaded(page)
    return page
