"""The files of the pages: found by their hash, kept for good, and nothing beside them."""

import pytest

from cloudconsole.server.http.static import ASSETS, Assets
from tests.harness import InProcess, Reply

MODULE = ASSETS.address("console/main.js")


def get(wire: InProcess, path: str) -> Reply:
    return wire.send("GET", path, [])


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("console/main.js", "text/javascript; charset=utf-8"),
        ("theme.css", "text/css; charset=utf-8"),
        ("icon.svg", "image/svg+xml"),
    ],
)
def test_each_comes_as_what_it_is_and_is_kept_for_good(wire: InProcess, path: str, content_type: str) -> None:
    reply = get(wire, ASSETS.address(path))
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
def test_nothing_else_is_there(wire: InProcess, path: str) -> None:
    reply = get(wire, path)
    assert (reply.status, reply.error) == (404, "not_found")
    assert reply.header("cache-control") == "no-store"


def test_an_address_changes_with_any_file() -> None:
    before = Assets({"a.js": b"1", "b.js": b"2"})
    roots = {Assets(changed).root for changed in ({"a.js": b"1", "b.js": b"3"}, {"a.js": b"12"}, {"a.js": b"1"})}
    assert len(roots | {before.root}) == 4


def test_a_file_that_is_not_there_has_no_address() -> None:
    with pytest.raises(KeyError):
        ASSETS.address("console/nothing.js")
