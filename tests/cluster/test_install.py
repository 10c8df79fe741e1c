"""Installing Debian packages."""

from pathlib import Path

import pytest

from cluster import __main__ as command
from cluster import install


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Packages that would be installed; the rule against creating a cluster must exist meanwhile."""
    packages: list[str] = []
    rule = tmp_path / "common" / "creation"

    def fake_install(missing: list[str]) -> None:
        assert [file.read_text() for file in rule.iterdir()] == ["create_main_cluster = false\n"]
        packages.extend(missing)

    monkeypatch.setattr(install, "CREATE_CLUSTER_DIR", rule)
    monkeypatch.setattr(install, "install_packages", fake_install)
    return packages


def with_installed(monkeypatch: pytest.MonkeyPatch, *present: str) -> None:
    monkeypatch.setattr(
        install, "PACKAGES", {name: lambda name=name: name in present for name in ("postgresql", "nginx")}
    )


@pytest.mark.parametrize(
    ("present", "missing"), [((), ["postgresql", "nginx"]), (("nginx",), ["postgresql"]), (("postgresql", "nginx"), [])]
)
def test_missing_packages_are_installed(
    monkeypatch: pytest.MonkeyPatch, installed: list[str], present: tuple[str, ...], missing: list[str]
) -> None:
    with_installed(monkeypatch, *present)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert command.main(["install"]) == 0
    assert installed == missing


def test_only_root_can_install(
    monkeypatch: pytest.MonkeyPatch, installed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with_installed(monkeypatch, "nginx")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert command.main(["install"]) == 1
    assert "only root can install them: postgresql" in capsys.readouterr().err
    assert not installed


def test_the_rule_is_removed_and_existing_files_stay(tmp_path: Path) -> None:
    existing = tmp_path / "creation" / "existing.conf"
    with install.without_default_cluster(tmp_path / "made" / "creation"):
        assert list((tmp_path / "made" / "creation").iterdir())
    assert not (tmp_path / "made").exists()
    existing.parent.mkdir()
    existing.write_text("ssl = on\n")
    with install.without_default_cluster(existing.parent):
        pass
    assert list(existing.parent.iterdir()) == [existing]
