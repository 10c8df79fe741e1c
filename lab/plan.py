"""What one lab is: its folder, its environment, its regions and its ports; all paths and addresses follow from it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
REGIONS = ("RegionOne", "RegionTwo")
ADMIN_PASSWORD = "adminpw"
SERVICE_PASSWORD = "servicepw"
BROKER_PASSWORD = "brokerpw"


@dataclass(frozen=True)
class Plan:
    """A lab that runs, ran or is about to."""

    folder: Path
    venv: Path
    regions: tuple[str, ...]
    ports: dict[str, int]

    @property
    def identity(self) -> str:
        """The address of Keystone, as a console is pointed at it."""
        return f"{self.keystone}/v3"

    @property
    def keystone(self) -> str:
        return f"http://{HOST}:{self.ports['keystone']}"

    @property
    def etc(self) -> Path:
        return self.folder / "etc"

    @property
    def certificates(self) -> Path:
        return self.etc / "certificates"

    @property
    def socket(self) -> Path:
        """Where MariaDB listens for the lab's own commands."""
        return self.folder / "mariadb.sock"

    def program(self, name: str) -> str:
        """A program of the lab's environment."""
        return str(self.venv / "bin" / name)

    def database(self, name: str) -> str:
        """A database's address, as the services are configured with it."""
        return f"mysql+pymysql://root@{HOST}:{self.ports['mariadb']}/{name}?charset=utf8mb4"

    def broker(self, region: str) -> str:
        return f"rabbit://lab:{BROKER_PASSWORD}@{HOST}:{self.ports['rabbitmq']}/{region.lower()}"

    def configuration(self, region: str, project: str) -> Path:
        """The configuration file of one of a region's projects, such as nova."""
        return self.etc / region / project / ("glance-api.conf" if project == "glance" else f"{project}.conf")

    def data(self, region: str, project: str) -> Path:
        return self.folder / "data" / region / project

    def log(self, service: str) -> Path:
        return self.folder / "log" / f"{service}.log"

    def write(self, more: dict[str, Any]) -> None:
        """Leave word of a lab that is ready; the file is there whole or not at all."""
        known = {
            "folder": str(self.folder),
            "venv": str(self.venv),
            "identity": self.identity,
            "regions": list(self.regions),
            "ports": self.ports,
            **more,
        }
        half = self.folder / "state.json.new"
        half.write_text(json.dumps(known, indent=2) + "\n")
        half.replace(self.folder / "state.json")


def read(folder: Path) -> Plan | None:
    """The plan of the lab that was made ready in a folder, if there is one."""
    try:
        known = json.loads((folder / "state.json").read_bytes())
    except FileNotFoundError:
        return None
    return Plan(folder, Path(known["venv"]), tuple(known["regions"]), known["ports"])


def region_databases(region: str) -> list[str]:
    """The names of the databases that a region has for itself."""
    projects = ("placement", "nova_api", "nova", "nova_cell0", "cinder", "glance", "neutron", "octavia")
    return [f"{region.lower()}_{project}" for project in projects]
