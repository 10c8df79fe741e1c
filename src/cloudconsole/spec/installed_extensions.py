"""Extensions that installed packages register, found without importing them."""

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "cloudconsole.extensions"
"""The entry-point group. Each entry point has the name of its action."""


class InstalledExtension(NamedTuple):
    name: str
    package: str
    version: str
    entry_point: "EntryPoint"

    def __str__(self) -> str:
        return f"{self.name} of {self.package} {self.version}"


def installed_extensions() -> list[InstalledExtension]:
    """Return all of them by name; two packages may register the same name."""
    # Imported late: few processes need it, and it takes a tenth of a second.
    from importlib.metadata import entry_points

    found = [
        InstalledExtension(point.name, point.dist.name, point.dist.version, point)
        for point in entry_points(group=GROUP)
        if point.dist is not None
    ]
    return sorted(found, key=lambda extension: (extension.name, extension.package))
