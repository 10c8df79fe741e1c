"""The documents name every action, error, setting and dependency there is."""

import tomllib
from dataclasses import fields
from datetime import UTC
from pathlib import Path

import pytest

from cloudconsole.operator.cloudfile.load import read_cloud_file
from cloudconsole.operator.cloudfile.problems import CloudFileError
from cloudconsole.server.settings import Settings
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.errors import ApiError

ROOT = Path(__file__).parents[2]
API = (ROOT / "docs/api.md").read_text()
RUNNING = (ROOT / "docs/running.md").read_text()


@pytest.mark.parametrize("error", ApiError.__subclasses__(), ids=lambda error: error.error)
def test_every_error_is_documented_with_its_code(error: type[ApiError]) -> None:
    rows = [line for line in API.splitlines() if line.startswith("|") and f"`{error.error}`" in line]
    assert len(rows) == 1
    assert str(error.code) in rows[0].split("|")[1]


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.name)
def test_every_action_is_documented(action: object) -> None:
    name = getattr(action, "name")  # noqa: B009
    assert f"\n### {name}\n" in API


@pytest.mark.parametrize("setting", fields(Settings), ids=lambda setting: setting.name)
def test_every_setting_is_documented_with_its_default(setting: object) -> None:
    name, default, metadata = (getattr(setting, part) for part in ("name", "default", "metadata"))
    row = next(line for line in RUNNING.splitlines() if line.startswith(f"| `CLOUDCONSOLE_{name.upper()}`"))
    shown = "" if default in (None, ()) else f"`{str(default).lower() if isinstance(default, bool) else default}`"
    assert [cell.strip() for cell in row.split("|")[2:4]] == ["`--" + name.replace("_", "-") + "`", shown]
    assert metadata["help"] in row.replace("`", "")


def test_every_dependency_earns_its_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = [
        project["project"]["dependencies"],
        project["project"]["optional-dependencies"]["server"],
        project["dependency-groups"]["dev"],
    ]
    table = (ROOT / "ARCHITECTURE.md").read_text().partition("## Dependencies")[2].lower()
    for requirement in (requirement for group in groups for requirement in group):
        assert requirement.partition(">")[0].lower() in table


def test_nothing_refers_to_a_place_outside_the_project() -> None:
    for document in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]:
        text = document.read_text()
        for target in (part.partition(")")[0] for part in text.split("](")[1:]):
            place = target.partition("#")[0]
            assert not place or place.startswith("http") or (document.parent / place).exists(), (document.name, target)


CLOUD_FILE = (ROOT / "docs/cloud-file.md").read_text()


def _block(document: str, begin: str) -> str:
    (block,) = (part.partition("\n")[2] for part in document.split("```") if part.startswith(begin))
    return block


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The document's cloud file beside its password file."""
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/demo").write_text("a password\n")
    file = tmp_path / "cloud.yaml"
    file.write_text(_block(CLOUD_FILE, "yaml\n"))
    return file


def test_the_example_of_a_cloud_file_has_no_problems(example: Path) -> None:
    model, passwords = read_cloud_file(example, UTC)
    assert [tenant.name for tenant in model.tenants] == ["demo"]
    assert passwords == {"demo": "a password"}


def test_problems_are_listed_as_the_document_shows_them(example: Path) -> None:
    (example.parent / "secrets/demo").unlink()
    example.write_text(example.read_text().replace("kind: volume, unit: gb", "kind: volume, unit: vcpu"))
    with pytest.raises(CloudFileError) as refused:
        read_cloud_file(example, UTC)
    shown = _block(CLOUD_FILE, "\ncloud.yaml:")
    assert str(refused.value).replace(f"{example.parent}/", "") == shown.strip()
