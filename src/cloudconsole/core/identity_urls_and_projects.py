"""Normalise the URLs of identity endpoints, and references to their projects."""

import re
from typing import Final

from cloudconsole.core.origins import split_url


def normalise_region(text: str) -> str | None:
    """Return the normalised identity URL, without a trailing slash and a final `/v3`; None if invalid."""
    url = split_url(text)
    if url is None:
        return None
    scheme, netloc, path = url
    return f"{scheme}://{netloc}{path.removesuffix('/').removesuffix('/v3').removesuffix('/')}"


_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_EXAMPLE: Final = "https://identity.example.com/v3"


def normalise_project(text: str) -> str:
    """Return the canonical form of a project reference, or raise ValueError."""
    project_id, separator, url = text.partition("@")
    if not separator:
        raise ValueError(f"must be a project ID, an @ and the URL of its identity service, such as {_EXAMPLE}")
    if not _ID.fullmatch(project_id):
        raise ValueError("must have a project ID of 1 to 64 letters, digits, - or _ before the @")
    region = _normalise_fully(url)
    if region is None:
        raise ValueError(f"must have the URL of an identity service after the @, such as {_EXAMPLE}")
    return f"{project_id}@{region}"


def _normalise_fully(url: str) -> str | None:
    """Normalise repeatedly, so that the result does not change when it is read again."""
    region = normalise_region(url)
    return region if region is None or region == url else _normalise_fully(region)
