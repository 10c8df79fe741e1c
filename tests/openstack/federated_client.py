"""Clients that log in as users of the cloud, and the config of consoles that use it."""

from collections.abc import Mapping
from pathlib import Path
from shutil import copytree
from typing import Any

from lab.cloud import Lab, User

from tests.harness import ApiClient, Reply, Transport


class FederatedClient(ApiClient):
    """Logs in as a user of the cloud, with the correct password unless another is given."""

    def __init__(self, transport: Transport, lab: Lab) -> None:
        super().__init__(transport)
        self._lab = lab

    def try_login_as(self, user: str | User, password: str | None = None) -> Reply:
        """Try to log in; `user` is the name of one of the lab's users, or another user."""
        if isinstance(user, str):
            user = self._lab.users.get(user, User(user, "-", None))
        return self.login(user.name, password or user.password, region=self._lab.identity)

    def log_in_as(self, user: str | User) -> "FederatedClient":
        reply = self.try_login_as(user)
        assert reply.status == 200, reply.body
        return self

    def data(self, action: str, **parameters: Any) -> Any:
        return self.call(action, **parameters).data


def prepare_console(
    lab: Lab, directory: Path, store: Path, endpoint: str, settings: Mapping[str, str | int]
) -> list[str]:
    """Create the data directory and config file of a console that uses the cloud, and return its flags."""
    copytree(store, directory / "data")
    regions = ", ".join(f'"{region}"' for region in lab.regions)
    lines = [
        *(f"{name} = {value!r}" for name, value in settings.items()),
        "[[identity]]",
        f'address = "{lab.identity}"',
        'kind = "keystone"',
        *([] if "regions" in endpoint else [f"regions = [{regions}]"]),
        endpoint,
    ]
    file = directory / "cloudconsole.toml"
    file.write_text("\n".join(lines) + "\n")
    return ["--config", str(file)]
