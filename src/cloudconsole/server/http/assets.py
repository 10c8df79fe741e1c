"""The files that our pages are made of, at addresses that change with any of them: a copy is good for good."""

import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from cloudconsole.server.http.front import Front
from cloudconsole.server.http.kept import FOR_GOOD, Kept, keep
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Response
from cloudconsole.server.http.routes import Endpoint, Route, Routes
from cloudconsole.server.metrics.layout import OTHER

_TYPES: Final = {
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
}

PAGE_POLICY: Final = (
    b"content-security-policy",
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    b"frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
)
"""Of a page made of these files alone: what is not among them does not run, and text cannot become markup."""


class Assets:
    def __init__(self, contents: Mapping[str, bytes]) -> None:
        """Contents by path; those of no known type, such as a page's own file, are not served by themselves."""
        self.contents = contents
        whole = hashlib.sha256()
        for path, content in sorted(contents.items()):
            whole.update(b"%b\0%d\0%b" % (path.encode(), len(content), content))
        self.root: Final = f"/web/{whole.hexdigest()[:16]}/"
        """One root for all: modules find each other by their relative paths, and old ones never meet new ones."""

    def address(self, path: str) -> str:
        if path not in self.contents:
            raise KeyError(path)
        return self.root + path

    @cached_property
    def routes(self) -> Routes:
        """An answer for each, compressed once in a process, however many consoles it makes."""
        return {
            self.root + path: {"GET": Route(OTHER, _show(keep(content, _TYPES[suffix], caching=FOR_GOOD)))}
            for path, content in self.contents.items()
            if (suffix := path[path.rfind(".") :]) in _TYPES
        }


def _show(asset: Kept) -> Endpoint:
    async def show(request: Request, _front: Front) -> Response:
        return asset.answer(request)

    return show


def _files(folder: Traversable, path: str = "") -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _files(entry, f"{path}{entry.name}/")
        else:
            yield path + entry.name, entry.read_bytes()


ASSETS: Final = Assets(dict(_files(files("cloudconsole") / "web")))
