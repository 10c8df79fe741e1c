"""Normalising of project references."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudconsole.core.identity_urls_and_projects import normalise_project


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
