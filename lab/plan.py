"""The plan of a lab: folder, virtual environment, regions and ports, and the paths and URLs derived from them."""

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
    """A lab, running or not."""

    folder: Path
    venv: Path
    regions: tuple[str, ...]
    ports: dict[str, int]

    @property
    def identity(self) -> str:
        """Keystone's URL, as consoles are configured with it."""
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
        """MariaDB's socket, for the lab's own commands."""
        return self.folder / "mariadb.sock"

    def program(self, name: str) -> str:
        """Path of a program in the virtual environment."""
        return str(self.venv / "bin" / name)

    def database(self, name: str) -> str:
        """SQLAlchemy URL of a database."""
        return f"mysql+pymysql://root@{HOST}:{self.ports['mariadb']}/{name}?charset=utf8mb4"

    def broker(self, region: str) -> str:
        return f"rabbit://lab:{BROKER_PASSWORD}@{HOST}:{self.ports['rabbitmq']}/{region.lower()}"

    def configuration(self, region: str, project: str) -> Path:
        """Return the configuration file of a service, such as nova, in a region."""
        return self.etc / region / project / ("glance-api.conf" if project == "glance" else f"{project}.conf")

    def data(self, region: str, project: str) -> Path:
        return self.folder / "data" / region / project

    def log(self, service: str) -> Path:
        return self.folder / "log" / f"{service}.log"

    def write(self, more: dict[str, Any]) -> None:
        """Write the state file of a ready lab atomically."""
        state = {
            "folder": str(self.folder),
            "venv": str(self.venv),
            "identity": self.identity,
            "regions": list(self.regions),
            "ports": self.ports,
            **more,
        }
        temporary = self.folder / "state.json.new"
        temporary.write_text(json.dumps(state, indent=2) + "\n")
        temporary.replace(self.folder / "state.json")


def read(folder: Path) -> Plan | None:
    """Return the plan of the ready lab in a folder, if there is one."""
    try:
        state = json.loads((folder / "state.json").read_bytes())
    except FileNotFoundError:
        return None
    return Plan(folder, Path(state["venv"]), tuple(state["regions"]), state["ports"])


def region_databases(region: str) -> list[str]:
    """Names of the databases of a region."""
    projects = ("placement", "nova_api", "nova", "nova_cell0", "cinder", "glance", "neutron", "octavia")
    return [f"{region.lower()}_{project}" for project in projects]
