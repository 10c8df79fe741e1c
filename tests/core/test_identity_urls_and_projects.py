"""Normalising of identity URLs and project references."""

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


@given(st.text(max_size=60))
def test_invalid_project_is_rejected_with_a_message(text: str) -> None:
    with pytest.raises(ValueError, match=r"^must "):
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


@given(st.text(max_size=100))
def test_normalising_never_raises(text: str) -> None:
    assert normalise_region(text) is None or "//" in text
