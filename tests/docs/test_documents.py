"""The documents name every setting and dependency there is; what they show works."""

import re
import tomllib
from datetime import UTC
from pathlib import Path

import pytest

from cloudconsole.operator.cloud_file.loader import read_cloud_file
from cloudconsole.operator.errors import CloudFileError
from cloudconsole.server.config.loader import load_settings
from cloudconsole.server.config.settings import SETTINGS, Setting, Settings

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=lambda setting: setting.name)
def test_every_setting_is_documented_with_what_it_may_be(setting: Setting) -> None:
    document = (ROOT / "docs/reference/settings.md").read_text()
    (row,) = (line for line in document.splitlines() if line.startswith(f"| `{setting.name}` |"))
    assert row.endswith(f"| {setting.kind.requirement} | {setting.help} |")


def test_the_sample_file_with_every_line_in_force_gives_the_defaults(tmp_path: Path) -> None:
    sample = (ROOT / "docs/reference/cloudconsole.toml").read_text()
    file = tmp_path / "cloudconsole.toml"
    file.write_text(re.sub(r"^#(?=[a-z])", "", sample, flags=re.MULTILINE))
    assert load_settings({}, {"config": str(file)}) == Settings()
    with_default = {name for name, setting in SETTINGS.items() if setting.default is not None}
    assert set(tomllib.loads(file.read_text())) == with_default


def test_every_example_of_the_sample_file_can_be_used(tmp_path: Path) -> None:
    sample = (ROOT / "docs/reference/cloudconsole.toml").read_text()
    examples = re.findall(r"^# for example: (.*)$", sample, re.MULTILINE)
    file = tmp_path / "cloudconsole.toml"
    file.write_text("\n".join(examples))
    settings = load_settings({}, {"config": str(file)})
    changed = {name for name, setting in SETTINGS.items() if getattr(settings, name) != setting.default}
    assert changed == {name for name, setting in SETTINGS.items() if setting.default in (None, ())}


@pytest.mark.parametrize(
    "document", ["reference/settings", "operations/deployment", "operations/openstack", "operations/postgresql"]
)
def test_every_settings_file_in_a_document_can_be_used(document: str, tmp_path: Path) -> None:
    blocks = re.findall(r"^```toml\n(.*?)^```", (ROOT / f"docs/{document}.md").read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        (tmp_path / "cloudconsole.toml").write_text(block)
        assert load_settings({}, {"config": str(tmp_path / "cloudconsole.toml")}) != Settings()


def _anchors(document: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_link_leads_to_a_file_and_a_heading() -> None:
    for document in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)]*)\)", document.read_text()):
            path, _, anchor = target.partition("#")
            if path.startswith("http"):
                continue
            linked = document.parent / path if path else document
            assert linked.exists(), (document.name, target)
            assert not anchor or anchor in _anchors(linked), (document.name, target)


CLOUD_FILE = (ROOT / "docs/operations/cloud-file.md").read_text()


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
