"""The console page contains all its files, and its policy allows exactly them."""

from importlib.resources import files

import pytest

from cloudconsole.server.http.bundle import BundleError
from cloudconsole.server.http.console_page import build_page
from cloudconsole.server.http.static import SOURCES
from tests.harness import InProcessTransport
from tests.server.http.helpers import Page


def policy_of(sources: dict[str, bytes]) -> dict[str, list[str]]:
    _, value = build_page(sources).policy
    return {name: rest for name, *rest in (each.split() for each in value.decode().split(";"))}


def test_the_page_refers_to_no_file_and_its_policy_allows_none(transport: InProcessTransport) -> None:
    reply = transport.send("GET", "/", [])
    page = Page(reply.body.decode())
    for tag, attributes in page.tags:
        assert "src" not in attributes
        assert not {name for name in attributes if name == "style" or name.startswith("on")}
        if tag == "link":
            assert (attributes["href"] or "").startswith("data:image/svg+xml,%3Csvg")
    assert (reply.header("content-security-policy") or "").encode() == build_page(SOURCES).policy[1]
    policy = policy_of(SOURCES)
    allowed = policy["script-src"] + policy["style-src"]
    assert len(allowed) == 3
    assert all(each.startswith("'sha256-") for each in allowed)
    assert (policy["default-src"], policy["img-src"], policy["connect-src"]) == (["'none'"], ["data:"], ["'self'"])
    assert (policy["require-trusted-types-for"], policy["trusted-types"]) == (["'script'"], ["'none'"])


@pytest.mark.parametrize(
    ("path", "directive"),
    [("theme.js", "script-src"), ("console/main.js", "script-src"), ("console/costs.css", "style-src")],
)
def test_the_policy_follows_the_content(path: str, directive: str) -> None:
    before, after = policy_of(SOURCES), policy_of({**SOURCES, path: SOURCES[path] + b"\n"})
    assert {name for name in before if before[name] != after[name]} == {directive}
    assert build_page(SOURCES).tag != build_page({**SOURCES, path: SOURCES[path] + b"\n"}).tag


@pytest.mark.parametrize("path", ["theme.js", "console/main.js", "console/costs.css"])
@pytest.mark.parametrize("content", ["</script>", "</STYLE", "<!-- comment", "\r"])
def test_content_that_would_end_its_element_is_an_error(path: str, content: str) -> None:
    with pytest.raises(BundleError, match="cannot be inline"):
        build_page({**SOURCES, path: SOURCES[path] + content.encode()})


def test_braces_of_the_files_are_no_placeholders() -> None:
    page = build_page({**SOURCES, "theme.js": b"const theme = {icon};", "console/costs.css": b"{script}"}).body
    assert b"<script>const theme = {icon};</script>" in page
    assert b"{script}</style>" in page


def test_the_template_is_not_served_as_it_is() -> None:
    template = (files("cloudconsole") / "web/console/index.html").read_bytes()
    assert b"{theme}" in template
    assert b"{theme}" not in build_page(SOURCES).body
