"""Static assets: URLs by hash, immutable caching, and no other files."""

import pytest

from cloudconsole.server.http.static import ASSETS, Assets
from tests.harness import InProcessTransport, Reply

MODULE = ASSETS.address("console/main.js")


def get(transport: InProcessTransport, path: str) -> Reply:
    return transport.send("GET", path, [])


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("console/main.js", "text/javascript; charset=utf-8"),
        ("theme.css", "text/css; charset=utf-8"),
        ("icon.svg", "image/svg+xml"),
    ],
)
def test_assets_have_their_content_type_and_are_immutable(
    transport: InProcessTransport, path: str, content_type: str
) -> None:
    reply = get(transport, ASSETS.address(path))
    assert (reply.status, reply.header("content-type"), reply.body) == (200, content_type, ASSETS.contents[path])
    assert reply.header("cache-control") == "public, max-age=31536000, immutable"
    assert reply.header("x-content-type-options") == "nosniff"


@pytest.mark.parametrize(
    "path",
    [
        "/web/",
        "/web/0000000000000000/console/main.js",
        ASSETS.root,
        ASSETS.root + "console/index.html",
        ASSETS.root + "console/../console/main.js",
        ASSETS.root + "console//main.js",
        ASSETS.root + "../../server/app.py",
        MODULE.upper(),
        MODULE + "\0",
    ],
)
def test_other_paths_are_not_found(transport: InProcessTransport, path: str) -> None:
    reply = get(transport, path)
    assert (reply.status, reply.error) == (404, "not_found")
    assert reply.header("cache-control") == "no-store"


def test_asset_urls_change_with_any_file() -> None:
    before = Assets({"a.js": b"1", "b.js": b"2"})
    roots = {Assets(changed).root for changed in ({"a.js": b"1", "b.js": b"3"}, {"a.js": b"12"}, {"a.js": b"1"})}
    assert len(roots | {before.root}) == 4


def test_a_missing_asset_has_no_url() -> None:
    with pytest.raises(KeyError):
        ASSETS.address("console/nothing.js")
