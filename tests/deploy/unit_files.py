"""Parse the systemd units."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
UNITS: Final = ROOT / "deploy/systemd"
SERVICES: Final = ("cloudconsole", "cloudconsole-migrate", "cloudconsole-backup", "cloudconsole-prune")
TIMERS: Final = {"cloudconsole-backup": "03:00", "cloudconsole-prune": "04:00"}
DROP_INS: Final = ("own-tls",)
PROGRAM: Final = "/opt/cloudconsole/bin/cloudconsole"
SETTINGS_FILE: Final = "/etc/cloudconsole/cloudconsole.toml"


def read_unit(file: Path) -> dict[str, list[str]]:
    """Return the values of each directive, in order; directive names are unique across sections here."""
    values: dict[str, list[str]] = {}
    for line in file.read_text().splitlines():
        if line and not line.startswith(("#", "[")):
            name, _, value = line.partition("=")
            values.setdefault(name, []).append(value)
    return values


def service(name: str) -> dict[str, list[str]]:
    return read_unit(UNITS / f"{name}.service")


def drop_in(name: str) -> dict[str, list[str]]:
    return read_unit(UNITS / f"drop-ins/{name}.conf")
