"""The page at `/`: the console to look at. All that is in it comes by script from the interface."""

from html import escape
from typing import Final

from cloudconsole.server.http.assets import ASSETS, PAGE_POLICY, Assets
from cloudconsole.server.http.documents import HTML
from cloudconsole.server.http.front import Front
from cloudconsole.server.http.kept import keep
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Response

_FILE: Final = "console/index.html"


def _page(assets: Assets) -> bytes:
    """The page's file, with the addresses of all its modules: loaded at once, not one import after the other."""
    modules = sorted(path for path in assets.contents if path.startswith("console/") and path.endswith(".js"))
    preloads = "".join(f'<link rel="modulepreload" href="{escape(assets.address(path))}">\n' for path in modules)
    page = assets.contents[_FILE].decode()
    return page.replace("<!-- modules -->\n", preloads).replace("{web}", assets.root).encode()


_PAGE: Final = keep(_page(ASSETS), HTML, PAGE_POLICY)


async def show_console(request: Request, _front: Front) -> Response:
    return _PAGE.answer(request)
