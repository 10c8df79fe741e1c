"""Normalising of identity URLs and project references."""

import re
from string import ascii_letters, digits

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudconsole.core.identity_urls_and_projects import normalise_project, normalise_region
from tests.core.test_origins import NAMES, PORTS, SCHEMES

PATHS = st.lists(st.text(ascii_letters + digits + "-._~", min_size=1, max_size=8), max_size=3).map(
    lambda parts: "".join(f"/{part}" for part in parts)
)


@pytest.mark.parametrize(
    ("text", "project"),
    [
        ("p@https://id.example.com", "p@https://id.example.com"),
        ("p@HTTPS://Id.Example.com:443/v3/", "p@https://id.example.com"),
        ("A_b-9@http://id.example.com:5000/Identity/v3", "A_b-9@http://id.example.com:5000/Identity"),
        ("p@https://[0:0::1]/v3/v3", "p@https://[::1]"),
        ("a" * 64 + "@https://id.example.com///", "a" * 64 + "@https://id.example.com"),
    ],
)
def test_project_is_normalised(text: str, project: str) -> None:
    assert normalise_project(text) == project


@given(st.text("ab/v3:.@ ", max_size=30))
def test_normalising_a_project_is_idempotent(rest: str) -> None:
    try:
        project = normalise_project(f"p@https://id.example.com{rest}")
    except ValueError:
        return
    assert normalise_project(project) == project


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "p",
            "must be a project ID, an @ and the URL of its identity service, such as https://identity.example.com/v3",
        ),
        ("", "must be a project ID, an @"),
        ("@https://id.example.com", "must have a project ID of 1 to 64 letters, digits, - or _ before the @"),
        ("p!@https://id.example.com", "must have a project ID of 1 to 64 letters"),
        ("a b@https://id.example.com", "must have a project ID of 1 to 64 letters"),
        ("é@https://id.example.com", "must have a project ID of 1 to 64 letters"),
        ("a\n@https://id.example.com", "must have a project ID of 1 to 64 letters"),
        ("a" * 65 + "@https://id.example.com", "must have a project ID of 1 to 64 letters"),
        ("p@", "must have the URL of an identity service after the @, such as https://identity.example.com/v3"),
        ("p@id.example.com", "must have the URL"),
        ("p@ftp://id.example.com", "must have the URL"),
        ("p@https://ann@id.example.com", "must have the URL"),
        ("p@https://id.example.com/?a=b", "must have the URL"),
        ("p@https://id.example.com/" + "a" * 2000, "must have the URL"),
    ],
)
def test_invalid_project_is_rejected_with_a_message(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        normalise_project(text)


@given(SCHEMES, NAMES, PORTS, PATHS, st.sampled_from(["", "/"]), st.sampled_from(["", "/v3"]))
def test_identity_url_is_normalised(scheme: str, name: str, port: int, path: str, slash: str, version: str) -> None:
    normalised = normalise_region(f"{scheme}://{name.lower()}:{port}{path}/v3")
    assert normalised is not None
    assert normalised.endswith(path)
    variant = f"{scheme.upper()}://{name.swapcase()}:{port}{path}{version}{slash}"
    if not path.endswith("/v3"):
        assert normalise_region(variant) == normalised


@given(SCHEMES, NAMES, PATHS, PATHS)
def test_identity_urls_with_different_paths_differ(scheme: str, name: str, first: str, second: str) -> None:
    one, other = (normalise_region(f"{scheme}://{name}{path}/v3") for path in (first, second))
    assert (one == other) == (first == second)


@given(SCHEMES, NAMES, st.sampled_from("?#@\\ \t\r\n\x00\x7f"), st.integers(0, 40))
def test_identity_url_with_forbidden_character_is_rejected(
    scheme: str, name: str, character: str, position: int
) -> None:
    text = f"{scheme}://{name}:5000/identity/v3"
    assert normalise_region(text[:position] + character + text[position:]) is None
