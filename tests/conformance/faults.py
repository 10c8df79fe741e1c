"""All faults, and which check catches them; the reference of checks lists them, too."""

from collections.abc import Mapping

from tests.conformance.extended_faults import FAULTS as EXTENDED_FAULTS
from tests.conformance.extension_faults import FAULTS as EXTENSION_FAULTS
from tests.conformance.faulty_console import Fault
from tests.conformance.foreign_console import FAULTS as CONNECTION_FAULTS
from tests.conformance.interface_faults import FAULTS as INTERFACE_FAULTS

FAULTS: tuple[Fault, ...] = (*INTERFACE_FAULTS, *EXTENDED_FAULTS, *EXTENSION_FAULTS)


def faults_by_check() -> Mapping[str, list[str]]:
    """Return the names of the faults that each check catches."""
    names: dict[str, list[str]] = {}
    pairs = [(fault.caught_by, fault.name) for fault in FAULTS]
    pairs += [(fault.caught_by, fault.name) for fault in CONNECTION_FAULTS]
    for check, name in pairs:
        names.setdefault(check, []).append(name)
    return names
