"""Users of the cloud before a console, and how a console is pointed at the cloud."""

from collections.abc import Mapping
from pathlib import Path
from shutil import copytree
from typing import Any

from lab.cloud import Lab, User

from tests.harness import Caller, Reply, Wire


class Guest(Caller):
    """Somebody of the cloud; the password is the right one unless another is given."""

    def __init__(self, wire: Wire, lab: Lab) -> None:
        super().__init__(wire)
        self._lab = lab

    def try_as(self, who: str | User, password: str | None = None) -> Reply:
        """`who` is one of the lab's users by the name, or another."""
        user = self._lab.users.get(who, User(who, "-", None)) if isinstance(who, str) else who
        return self.login(user.name, password or user.password, region=self._lab.identity)

    def enter(self, who: str | User) -> "Guest":
        reply = self.try_as(who)
        assert reply.status == 200, reply.body
        return self

    def data(self, action: str, **parameters: Any) -> Any:
        return self.call(action, **parameters).data


def point_at(lab: Lab, folder: Path, store: Path, endpoint: str, settings: Mapping[str, str | int]) -> list[str]:
    """A store and a settings file for a console before the cloud; the flags that name them."""
    copytree(store, folder / "data")
    regions = ", ".join(f'"{region}"' for region in lab.regions)
    lines = [
        *(f"{name} = {value!r}" for name, value in settings.items()),
        "[[identity]]",
        f'address = "{lab.identity}"',
        'kind = "keystone"',
        *([] if "regions" in endpoint else [f"regions = [{regions}]"]),
        endpoint,
    ]
    file = folder / "cloudconsole.toml"
    file.write_text("\n".join(lines) + "\n")
    return ["--config", str(file)]
