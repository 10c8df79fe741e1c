"""What a cluster needs on the machine."""

from pathlib import Path

import pytest

from cluster import __main__ as command
from cluster import install


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What would have been installed; the rule for Debian has to be there meanwhile."""
    packages: list[str] = []
    rule = tmp_path / "common" / "creation"

    def note(missing: list[str]) -> None:
        assert [file.read_text() for file in rule.iterdir()] == ["create_main_cluster = false\n"]
        packages.extend(missing)

    monkeypatch.setattr(install, "CREATION", rule)
    monkeypatch.setattr(install, "install_packages", note)
    return packages


def having(monkeypatch: pytest.MonkeyPatch, *there: str) -> None:
    monkeypatch.setattr(
        install, "PACKAGES", {name: lambda name=name: name in there for name in ("postgresql", "nginx")}
    )


@pytest.mark.parametrize(
    ("there", "missing"), [((), ["postgresql", "nginx"]), (("nginx",), ["postgresql"]), (("postgresql", "nginx"), [])]
)
def test_what_is_missing_is_installed(
    monkeypatch: pytest.MonkeyPatch, installed: list[str], there: tuple[str, ...], missing: list[str]
) -> None:
    having(monkeypatch, *there)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert command.main(["install"]) == 0
    assert installed == missing


def test_only_root_can_install(
    monkeypatch: pytest.MonkeyPatch, installed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    having(monkeypatch, "nginx")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert command.main(["install"]) == 1
    assert "only root can install them: postgresql" in capsys.readouterr().err
    assert not installed


def test_the_rule_goes_and_what_was_there_stays(tmp_path: Path) -> None:
    kept = tmp_path / "creation" / "kept.conf"
    with install.no_cluster_made(tmp_path / "made" / "creation"):
        assert list((tmp_path / "made" / "creation").iterdir())
    assert not (tmp_path / "made").exists()
    kept.parent.mkdir()
    kept.write_text("ssl = on\n")
    with install.no_cluster_made(kept.parent):
        pass
    assert list(kept.parent.iterdir()) == [kept]
