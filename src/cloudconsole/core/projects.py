"""The projects of an OpenStack that tenants are: `ID@ADDRESS`, the address being that of the identity service."""

import re
from typing import Final

from cloudconsole.core.addresses import normalise_region

_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_EXAMPLE: Final = "https://identity.example.com/v3"


def normalise_project(text: str) -> str:
    """A project in the one form in which it is kept and compared; a ValueError says why it is none."""
    project_id, sign, address = text.partition("@")
    if not sign:
        raise ValueError(f"must be a project's id, an @ and the address of its identity service, such as {_EXAMPLE}")
    if not _ID.fullmatch(project_id):
        raise ValueError("must have 1 to 64 letters, digits, - or _ before the @: the project's id")
    region = _settled(address)
    if region is None:
        raise ValueError(f"must have the address of an identity service behind the @, such as {_EXAMPLE}")
    return f"{project_id}@{region}"


def _settled(address: str) -> str | None:
    """The address in one form, which stays as it is when it is read again, whatever it ended with."""
    region = normalise_region(address)
    return region if region is None or region == address else _settled(region)
