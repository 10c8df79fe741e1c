"""How the console page is composed of its files."""

from importlib.resources import files

import pytest

from cloudconsole.server.http.bundle import BundleError
from cloudconsole.server.http.console_page import build_page
from cloudconsole.server.http.static import SOURCES


def policy_of(sources: dict[str, bytes]) -> dict[str, list[str]]:
    _, value = build_page(sources).policy
    return {name: rest for name, *rest in (each.split() for each in value.decode().split(";"))}


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
