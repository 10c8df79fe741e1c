"""Documents: examples and links are valid, and the generated ones are up to date."""

import re
import tomllib
from datetime import UTC
from pathlib import Path

import pytest
from tools.build_docs import DOCUMENTS

from cloudconsole.operator.cloud_file.loader import read_cloud_file
from cloudconsole.operator.errors import CloudFileError
from cloudconsole.server.config.loader import load_settings
from cloudconsole.server.config.settings import SETTINGS, Settings
from tests.docs.code_blocks import ROOT, blocks

SAMPLE = (ROOT / "docs/reference/cloudconsole.toml").read_text()


def load(folder: Path, text: str) -> Settings:
    file = folder / "cloudconsole.toml"
    file.write_text(text)
    return load_settings({}, {"config": str(file)})


def test_uncommented_sample_file_gives_the_defaults(tmp_path: Path) -> None:
    uncommented = re.sub(r"^#(?=[a-z])", "", SAMPLE, flags=re.MULTILINE)
    assert load(tmp_path, uncommented) == Settings()
    with_default = {name for name, setting in SETTINGS.items() if setting.default is not None}
    assert set(tomllib.loads(uncommented)) == with_default


def test_every_example_in_the_sample_file_is_valid(tmp_path: Path) -> None:
    settings = load(tmp_path, "\n".join(re.findall(r"^# for example: (.*)$", SAMPLE, re.MULTILINE)))
    changed = {name for name, setting in SETTINGS.items() if getattr(settings, name) != setting.default}
    assert changed == {name for name, setting in SETTINGS.items() if setting.default in (None, ())}


@pytest.mark.parametrize(
    "document", ["reference/settings", "operations/deployment", "operations/openstack", "operations/postgresql"]
)
def test_every_settings_file_in_a_document_is_valid(document: str, tmp_path: Path) -> None:
    examples = blocks(f"docs/{document}.md", "toml")
    assert examples
    for block in examples:
        assert load(tmp_path, block) != Settings()


def _anchors(document: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_link_target_exists() -> None:
    for document in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)]*)\)", document.read_text()):
            path, _, anchor = target.partition("#")
            if path.startswith("http"):
                continue
            linked = document.parent / path if path else document
            assert linked.exists(), (document.name, target)
            assert not anchor or anchor in _anchors(linked), (document.name, target)


CLOUD_FILE = "docs/operations/cloud-file.md"


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The documented cloud file, with its password file."""
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/demo").write_text("a password\n")
    file = tmp_path / "cloud.yaml"
    (content,) = blocks(CLOUD_FILE, "yaml")
    file.write_text(content)
    return file


def test_example_cloud_file_is_valid(example: Path) -> None:
    model, passwords = read_cloud_file(example, UTC)
    assert [tenant.name for tenant in model.tenants] == ["demo"]
    assert passwords == {"demo": "a password"}


def test_problems_are_listed_as_documented(example: Path) -> None:
    (example.parent / "secrets/demo").unlink()
    example.write_text(example.read_text().replace("kind: volume, unit: gb", "kind: volume, unit: vcpu"))
    with pytest.raises(CloudFileError) as error:
        read_cloud_file(example, UTC)
    assert f"\n{error.value}\n".replace(f"{example.parent}/", "") in (ROOT / CLOUD_FILE).read_text()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_generated_document_is_up_to_date(name: str) -> None:
    assert DOCUMENTS[name]() == (ROOT / name).read_text("utf-8"), "run: make docs"
